import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("A7 C1 devices, rooms and names")
struct RegistryAndRoomTests {
    private func endpoint(
        _ protocol: RouteProtocol, _ name: String, _ host: String, port: Int = 7000, keys: [StrongKey] = []
    ) -> Endpoint {
        Endpoint(
            id: EndpointID(rawValue: "\(`protocol`.rawValue):\(host):\(port):\(name)"), protocol: `protocol`,
            name: name, host: host, port: port, strongKeys: keys, origin: .discovered)
    }

    @Test("the two AirPlay records of a device are one route")
    func mergeByKey() {
        var registry = RouteRegistry()
        let key = StrongKey(.mac, "AABBCCDDEEFF")
        registry.update(endpoint(.airplay2, "Kitchen", "10.0.0.1", keys: [key]))
        registry.update(
            endpoint(.raop, "Kitchen", "10.0.0.9", port: 5000, keys: [StrongKey(.mac, "aabbccddeeff")]))
        #expect(registry.routes.count == 1)
        #expect(registry.routes[0].endpoints.map(\.protocol) == [.airplay2, .raop])
    }

    @Test("a device that speaks AirPlay and Cast is shown once; equal names alone are two devices")
    func mergeByHostAndName() {
        var registry = RouteRegistry()
        registry.update(endpoint(.raop, "TV", "10.0.0.1"))
        registry.update(endpoint(.cast, "tv", "10.0.0.1", port: 8009))
        registry.update(endpoint(.cast, "TV", "10.0.0.2", port: 8009))
        #expect(registry.routes.count == 2)
        #expect(registry.routes.map(\.endpoints.count).sorted() == [1, 2])
    }

    @Test("two ports of one host that a person names are two receivers, also without names")
    func statedPorts() {
        var registry = RouteRegistry()
        for port in [8009, 32_187] {
            var stated = endpoint(.cast, "10.0.0.1", "10.0.0.1", port: port)
            stated.origin = .stated
            registry.update(stated)
        }
        #expect(registry.routes.count == 2)
        #expect(Set(registry.routes.flatMap { $0.endpoints.map(\.port) }) == [8009, 32_187])
    }

    @Test("a device that says it has another service is whole once that is there")
    func expected() {
        var registry = RouteRegistry()
        var older = endpoint(.raop, "Kitchen", "10.0.0.1", keys: [StrongKey(.mac, "1")])
        older.facts["expects"] = "airplay2"
        registry.update(older)
        #expect(registry.routes.map { registry.isWhole($0.id) } == [false])
        registry.update(endpoint(.airplay2, "Kitchen", "10.0.0.1", keys: [StrongKey(.mac, "1")]))
        #expect(registry.routes.map { registry.isWhole($0.id) } == [true])
    }

    @Test("an id survives a changed address and a second protocol appearing")
    func stableID() {
        var registry = RouteRegistry()
        let key = StrongKey(.castID, "0123")
        registry.update(endpoint(.cast, "TV", "10.0.0.1", port: 8009, keys: [key]))
        let id = registry.routes[0].id
        var moved = endpoint(.cast, "Telly", "10.0.0.7", port: 8009, keys: [key])
        moved.id = EndpointID(rawValue: "cast:10.0.0.1:8009:TV")
        registry.update(moved)
        registry.update(endpoint(.raop, "Telly", "10.0.0.7"))
        #expect(registry.routes.map(\.id) == [id])
        #expect(registry.routes[0].name == "Telly")
    }

    @Test("a device that went is stale, then gone; a stated one stays")
    func expiry() {
        var registry = RouteRegistry()
        let seen = endpoint(.cast, "TV", "10.0.0.1")
        var stated = endpoint(.raop, "Kitchen", "10.0.0.2")
        stated.origin = .stated
        registry.update(seen)
        registry.update(stated)
        registry.markStale(seen.id, now: 0)
        registry.markStale(stated.id, now: 0)
        #expect(registry.routes.map(\.presence) == [.present, .stale])
        registry.expire(now: RouteRegistry.staleGraceNanoseconds)
        #expect(registry.routes.map(\.name) == ["Kitchen"])
    }

    @Test("C1 where a device is now: by its id, after a move, before one that went; a stated one stays as it was said")
    func current() throws {
        var registry = RouteRegistry()
        let key = StrongKey(.castID, "0123")
        func group(_ host: String, _ port: Int, id: String = "cast:0123") -> Endpoint {
            var endpoint = endpoint(.cast, "All", host, port: port, keys: [key])
            endpoint.id = EndpointID(rawValue: id)
            endpoint.kind = .group
            return endpoint
        }
        let old = group("10.0.0.1", 32_000)
        #expect(registry.current(old) == nil)
        registry.update(old)
        registry.update(group("10.0.0.2", 42_000))
        #expect(registry.current(old)?.address == "10.0.0.2:42000")
        // Under another id, while the first has gone.
        registry.markStale(old.id, now: 0)
        registry.update(group("10.0.0.3", 32_100, id: "cast:other"))
        #expect(registry.current(old)?.address == "10.0.0.3:32100")
        var stated = endpoint(
            .cast, "All", "10.0.0.9", port: 8009, keys: [StrongKey(.statedURI, "cast://10.0.0.9:8009")])
        stated.origin = .stated
        registry.update(stated)
        #expect(registry.current(stated)?.address == "10.0.0.9:8009")
        // Its AirPlay side is not where its Cast side is.
        #expect(registry.current(endpoint(.raop, "All", "10.0.0.1", keys: [key])) == nil)
    }

    @Test("C1 R5 a second way to play on a device comes, moves and goes with it")
    func companions() throws {
        var registry = RouteRegistry()
        let key = StrongKey(.castID, "0123")
        func device(_ host: String, origin: EndpointOrigin = .discovered) -> (Endpoint, stream: Endpoint) {
            var device = endpoint(.cast, "TV", host, port: 8009, keys: [key])
            device.id = EndpointID(rawValue: origin == .stated ? "cast:stated" : "cast:0123")
            device.origin = origin
            var stream = device
            stream.id = EndpointID(rawValue: device.id.rawValue + "+stream")
            stream.protocol = .castStreaming
            return (device, stream)
        }
        let (old, oldStream) = device("10.0.0.1")
        registry.update(old, companions: [oldStream])
        #expect(registry.routes.map { $0.endpoints.map(\.protocol) } == [[.cast, .castStreaming]])
        let (new, newStream) = device("10.0.0.2")
        registry.update(new, companions: [newStream])
        #expect(registry.current(oldStream) == newStream)
        #expect(registry.current(old) == new)
        let (stated, statedStream) = device("10.0.0.9", origin: .stated)
        registry.update(stated, companions: [statedStream])
        #expect(registry.current(statedStream) == statedStream)
        #expect(registry.current(oldStream) == newStream)
        // What goes is at its last place while the person's own word is there still.
        registry.markStale(new.id, now: 0)
        #expect(registry.current(oldStream) == statedStream)
        registry.expire(now: RouteRegistry.staleGraceNanoseconds)
        #expect(registry.routes.map { $0.endpoints.map(\.id) } == [[stated.id, statedStream.id]])
    }

    @Test(
        "C1 a group that is announced anew before its old record goes stays, at its new place; and looking is active on demand"
    )
    func movedGroup() async throws {
        let clock = ManualClock()
        let discovery = InMemoryDiscovery()
        let provider = FakeProvider(
            family: .cast, delivery: .pull(PullRequirements(receiverAddress: "127.0.0.1")), clock: clock)
        let engine = RouterEngine(
            providers: [GroupProvider(provider)], browsing: discovery, media: FakeMedia(), store: InMemoryStore(),
            clock: clock, configuration: EngineConfiguration())
        func record(_ name: String, _ host: String, _ port: Int) -> ServiceRecord {
            ServiceRecord(
                key: .init(type: "_fake-cast._tcp", name: name), hostName: "h", addresses: [host], port: port,
                txt: ["id": "0123"])
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await engine.run() }
            discovery.appear(record("one", "10.0.0.1", 32_000))
            await engine.discover(.active)
            #expect(discovery.activity == .active)
            func now() async -> [String] {
                ((try? await engine.routes(settle: false).routes) ?? []).map { route in
                    // Both ways to play on it are always there, at one place.
                    #expect(route.endpoints.map(\.protocol) == [.cast, .castStreaming])
                    #expect(Set(route.endpoints.map(\.address)).count == 1)
                    return "\(route.endpoints[0].address) \(route.presence.rawValue)"
                }
            }
            #expect(await eventually { await now() == ["10.0.0.1:32000 present"] })
            let old = try? await engine.routes(settle: false).routes.first?.endpoints
            discovery.appear(record("two", "10.0.0.2", 42_000))
            #expect(await eventually { await now() == ["10.0.0.2:42000 present"] })
            discovery.vanish(.init(type: "_fake-cast._tcp", name: "one"))
            discovery.appear(record("three", "10.0.0.3", 42_000))
            discovery.vanish(.init(type: "_fake-cast._tcp", name: "three"))
            #expect(await eventually { await now() == ["10.0.0.2:42000 present"] })
            for endpoint in old ?? [] {
                // The third may still be on its way: it comes and goes at once.
                #expect(await eventually { await engine.current(endpoint).address == "10.0.0.2:42000" })
                #expect(await engine.current(endpoint).protocol == endpoint.protocol)
            }
            discovery.vanish(.init(type: "_fake-cast._tcp", name: "two"))
            #expect(await eventually { await now() == ["10.0.0.2:42000 stale"] })
            await engine.discover(.passive)
            #expect(discovery.activity == .passive)
            await engine.shutdown()
        }
    }

    @Test("C1 a name that nobody has when looking is called complete is waited for, and three seconds at most")
    func lateAnnouncement() async throws {
        let discovery = InMemoryDiscovery()
        let upstairs = Room(name: "Upstairs", devices: ["Den"], configured: true)
        let house = House(rooms: [upstairs], browsing: discovery) { _, _ in [] }
        @Sendable func appear(_ name: String, _ host: String) {
            discovery.appear(
                ServiceRecord(
                    key: .init(type: "_fake-cast._tcp", name: name), hostName: "h", addresses: [host], port: 8009,
                    txt: [:]))
        }
        appear("Kitchen", "10.0.0.1")
        house.media.add("one", seconds: 10)
        try await house.live { house in
            async let playing = house.play(["one"], in: ["Lounge"])
            // What is known by now would have been the whole answer.
            #expect(
                await eventually {
                    await (try? house.engine.routes(settle: true))?.routes.map(\.name) == ["Kitchen"]
                })
            appear("Lounge", "10.0.0.2")
            let names = try await playing.members.map(\.name)
            #expect(names == ["Lounge"])
            // So is a room of the configuration of which no device is there yet.
            async let above = house.play(["one"], in: ["Upstairs"])
            await othersHaveRun()
            appear("Den", "10.0.0.3")
            let members = try await above.members.count
            #expect(members == 1)
            let began = house.clock.now()
            let refusal = Refusal()
            let nobody = Task {
                do {
                    _ = try await house.play(["one"], in: ["Bath"])
                } catch {
                    await refusal.set(error as? RouterError)
                }
            }
            #expect(await house.turn(seconds: 20) { await refusal.error?.code == .routeNotFound })
            await nobody.value
            #expect(house.clock.now() - began >= RouterEngine.settleNanoseconds)
            #expect(house.clock.now() - began <= RouterEngine.settleNanoseconds + 1_000_000_000)
        }
    }

    private func selector(_ names: [String]) -> RoomSelector {
        var registry = RouteRegistry()
        for (index, name) in names.enumerated() {
            registry.update(endpoint(.cast, name, "10.0.0.\(index + 1)", keys: [StrongKey(.castID, "\(index)")]))
        }
        return RoomSelector(
            rooms: RoomSelector.rooms(configured: [], routes: registry.routes), routes: registry.routes)
    }

    @Test("a whole name wins over being the beginning of another")
    func exactWins() {
        guard case .exact(let room) = selector(["Kitchen", "Kitchen Two"]).resolve("kitchen") else {
            Issue.record("not exact")
            return
        }
        #expect(room.name == "Kitchen")
    }

    @Test("two rooms of one prefix are an error with both named; an unknown one is told what was meant")
    func ambiguityAndSuggestion() {
        #expect(selector(["Bedroom", "Bedside"]).resolve("bed") == .ambiguous(["Bedroom", "Bedside"]))
        #expect(selector(["Kitchen"]).resolve("Kitchin") == .none(["Kitchen"]))
        #expect(selector(["Kitchen"]).resolve("Garage") == .none([]))
        guard case .prefix(let room) = selector(["Kitchen", "Bedroom"]).resolve("kit") else {
            Issue.record("not found by its beginning")
            return
        }
        #expect(room.name == "Kitchen")
    }

    @Test("a configured room stands for its devices, which are no rooms of their own then")
    func configuredRoom() {
        var registry = RouteRegistry()
        registry.update(endpoint(.cast, "A", "10.0.0.1"))
        registry.update(endpoint(.cast, "B", "10.0.0.2"))
        let rooms = RoomSelector.rooms(
            configured: [Room(name: "Downstairs", devices: ["a", "b"], configured: true)], routes: registry.routes)
        #expect(rooms.map(\.name) == ["Downstairs"])
        #expect(rooms[0].routes.count == 2)
    }
}

/// What a call that is still waited for was refused with.
private actor Refusal {
    private(set) var error: RouterError?

    func set(_ error: RouterError?) { self.error = error }
}

/// A backend whose endpoints have their id from the record, as a Cast device has.
private struct GroupProvider: RouteProvider {
    let base: FakeProvider

    init(_ base: FakeProvider) { self.base = base }

    var family: RouteFamily { base.family }
    var serviceTypes: [String] { base.serviceTypes }
    var uriSchemes: [String] { base.uriSchemes }

    func endpoint(from record: ServiceRecord) -> Endpoint? {
        guard var endpoint = base.endpoint(from: record), let id = record.txt["id"] else { return nil }
        endpoint.id = EndpointID(rawValue: "cast:\(id)")
        endpoint.strongKeys = [StrongKey(.castID, id)]
        return endpoint
    }

    func endpoint(from uri: DeviceURI) throws -> Endpoint { try base.endpoint(from: uri) }

    func companions(of endpoint: Endpoint) -> [Endpoint] {
        var stream = endpoint
        stream.id = EndpointID(rawValue: endpoint.id.rawValue + "+stream")
        stream.protocol = .castStreaming
        return [stream]
    }

    func open(_ endpoint: Endpoint, options: OpenOptions) async throws -> any RouteSession {
        try await base.open(endpoint, options: options)
    }
}
