import RouteBackend
import RouteModel
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
