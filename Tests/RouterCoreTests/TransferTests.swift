import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("C6 what plays in one room goes on in another", .timeLimit(.minutes(2)))
struct TransferTests {
    /// Asks for a transfer, and turns the clock until it is through.
    private func move(_ house: House, to rooms: [String]) async throws -> TransferResult {
        let moving = Task { try await house.engine.transfer(session: nil, to: rooms) }
        let done = LatestValue(false)
        let waiting = Task {
            _ = await moving.result
            done.set(true)
        }
        #expect(await house.turn(seconds: 20) { done.value })
        await waiting.value
        return try await moving.value
    }

    private func code(_ body: () async throws -> Void) async -> RouterError.Code? {
        do {
            try await body()
            return nil
        } catch { return (error as? RouterError)?.code }
    }

    private func den(_ house: House) throws -> FakeRouteSession { try #require(house.cast.session(named: "Den")) }

    @Test("position, queue, shuffle and repeat come along, the volume does not, and the old room ends last")
    func moves() async throws {
        try await House.twoWithQueues().live { house in
            let first = try await house.play(["one", "two", "three", "four"], in: ["Lounge"])
            _ = try await house.engine.perform(.shuffle(true), session: nil, origin: .cli)
            _ = try await house.engine.perform(.repeatMode(.all), session: nil, origin: .cli)
            let lounge = try house.lounge()
            lounge.reports(position: MediaTime(seconds: 4))
            #expect(await eventually { await house.session()?.anchor?.time.seconds == 4 })
            let before = try #require(await house.session()?.queue)
            let result = try await move(house, to: ["Den"])
            #expect(result.from == ["Lounge"] && result.to == ["Den"])
            #expect(result.method == .load)
            // It may have played on for a moment, until it was held.
            #expect((4...5).contains(result.position.seconds))
            #expect(result.losses == [])
            let den = try den(house)
            let now = try #require(await house.session())
            #expect(now.id == first.id)
            #expect(now.members.map(\.name) == ["Den"])
            #expect(now.media == .playing && now.connection == .connected)
            #expect(now.queue.items.map(\.id) == before.items.map(\.id))
            #expect(now.queue.original == before.original && now.queue.repeatMode == .all)
            #expect(lounge.asked.contains(.perform(.pause)))
            #expect(lounge.asked.last == .end(.transfer))
            #expect(!den.asked.contains { if case .volume = $0 { true } else { false } })
            #expect(den.loadedTokens == lounge.loadedTokens)
            #expect(await house.holds(2, in: den))
            // And it goes on from there as ever.
            den.goesOn()
            #expect(await eventually { await house.session()?.queue.current == before.items[1].id })
            #expect(await house.store.sessionsToRejoin().first?.rejoin.values.sorted() == ["app/Den"])
        }
    }

    @Test("what is paused stays paused, by load and by the device's own means", arguments: [false, true])
    func paused(stores: Bool) async throws {
        try await House.twoWithQueues().live { house in
            if stores { house.cast.storesSessions() }
            _ = try await house.play(["one"], in: ["Lounge"])
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            let result = try await move(house, to: ["Den"])
            #expect(result.method == (stores ? .session : .load))
            #expect(try den(house).state.media == .paused)
            #expect(await house.session()?.media == .paused)
            _ = try await house.engine.perform(.play, session: nil, origin: .cli)
            #expect(try den(house).state.media == .playing)
        }
    }

    @Test("a device that stores what it plays has another one resume it, and the queue is filled on from there")
    func resumed() async throws {
        try await House.twoWithQueues().live { house in
            house.cast.storesSessions()
            _ = try await house.play(["one", "two", "three"], in: ["Lounge"])
            let lounge = try house.lounge()
            let result = try await move(house, to: ["Den"])
            #expect(result.method == .session)
            let den = try den(house)
            #expect(lounge.asked.contains(.store))
            #expect(den.loadedTokens.isEmpty)
            #expect(den.asked.first == .resume(lounge.loadedTokens[0]))
            #expect(await house.holds(2, in: den))
        }
    }

    @Test("a target that does not take it leaves it where it was, playing, and the item is not held to be bad")
    func refused() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(["one", "two"], in: ["Lounge"])
            house.cast.refuseLoads(
                house.cast.endpoint(named: "Den", host: "10.0.0.3"),
                with: RouterError(.mediaNotFound, "no such file", scope: .item))
            let lounge = try house.lounge()
            #expect(await code { _ = try await move(house, to: ["Den"]) } == .mediaNotFound)
            let now = try #require(await house.session())
            #expect(now.members.map(\.name) == ["Lounge"])
            #expect(now.media == .playing && now.connection == .connected)
            #expect(now.queue.items.allSatisfy { $0.failure == nil })
            #expect(lounge.state.media == .playing)
            #expect(try den(house).asked.last == .end(.stop))
            // Still the one that it was.
            lounge.goesOn()
            #expect(await eventually { await house.session()?.queue.current == now.queue.items[1].id })
        }
    }

    @Test("a target that cannot be reached does not so much as pause what plays")
    func unreachable() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            house.cast.refuse(
                house.cast.endpoint(named: "Den", host: "10.0.0.3"),
                with: RouterError(.routeUnreachable, "off", scope: .route))
            #expect(await code { _ = try await house.engine.transfer(session: nil, to: ["Den"]) } == .routeUnreachable)
            #expect(try house.lounge().asked.filter { $0 == .perform(.pause) }.isEmpty)
        }
    }

    @Test("what plays in the room that is moved to is not ended before that can be reached")
    func unreachableAndBusy() async throws {
        try await House.twoWithQueues().live { house in
            let other = try await house.play(["two"], in: ["Den"])
            let mine = try await house.play(["one"], in: ["Lounge"])
            let den = house.cast.endpoint(named: "Den", host: "10.0.0.3")
            house.cast.refuse(den, with: RouterError(.routeUnreachable, "off", scope: .route))
            let refused = await code { _ = try await house.engine.transfer(session: mine.id, to: ["Den"]) }
            #expect(refused == .routeUnreachable)
            let sessions = await house.engine.sessions()
            #expect(sessions.first { $0.id == other.id }?.connection == .connected)
            house.cast.accept(den)
            async let moved = house.engine.transfer(session: mine.id, to: ["Den"])
            #expect(
                await house.turn(seconds: 20) {
                    let sessions = await house.engine.sessions()
                    return sessions.first { $0.id == other.id }?.stopReason == .replaced
                        && sessions.first { $0.id == mine.id }?.members.map(\.name) == ["Den"]
                })
            _ = try await moved
        }
    }

    @Test("what cannot be moved is refused in words: no room, the same room, nothing that plays")
    func refusals() async throws {
        try await House.twoWithQueues().live { house in
            #expect(await code { _ = try await house.engine.transfer(session: nil, to: ["Den"]) } == .routeNotFound)
            _ = try await house.play(["one"], in: ["Lounge"])
            #expect(await code { _ = try await house.engine.transfer(session: nil, to: []) } == .configuration)
            #expect(await code { _ = try await house.engine.transfer(session: nil, to: ["Lounge"]) } == .routeBusy)
            #expect(await code { _ = try await house.engine.transfer(session: nil, to: ["Bath"]) } == .routeNotFound)
            try house.lounge().isLost()
            #expect(await eventually { await house.session()?.connection == .suspended })
            #expect(await code { _ = try await house.engine.transfer(session: nil, to: ["Den"]) } == .unavailable)
        }
    }

    @Test("between the worlds: from packets to a URL and back, the place and the queue kept, the losses told")
    func crossing() async throws {
        try await House.kitchenAndLounge().live { house in
            let items = try await house.play(["one", "two"], in: ["Kitchen"]).queue.items
            house.clock.advance(seconds: 5)
            let there = try await move(house, to: ["Lounge"])
            // Two seconds of the five went by before the first was heard.
            #expect((2.93...4).contains(there.position.seconds))
            #expect(there.losses == ["short gaps between tracks"])
            let lounge = try house.lounge()
            #expect(lounge.loadedTokens.count == 1)
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            #expect(kitchen.asked.last == .end(.transfer))
            lounge.reports(position: MediaTime(seconds: 6))
            #expect(await eventually { await house.session()?.anchor?.time.seconds == 6 })
            let back = try await move(house, to: ["Kitchen"])
            #expect(back.losses == ["stops when this sender stops"])
            #expect((5.9...7).contains(back.position.seconds))
            let again = try #require(house.airplay.session(named: "Kitchen"))
            #expect(again.descriptor.endpoint.name == "Kitchen" && house.airplay.sessions.count == 2)
            #expect(lounge.asked.last == .end(.transfer))
            let second = items[1].id
            #expect(await house.turn(seconds: 14) { await house.session()?.queue.current == second })
            #expect(await house.session()?.members.map(\.name) == ["Kitchen"])
        }
    }

    @Test("packets go on from where they were, after a target that did not take over")
    func pushGoesBack() async throws {
        try await House.kitchenAndLounge().live { house in
            let items = try await house.play(["one", "two"], in: ["Kitchen"]).queue.items
            house.cast.refuseLoads(
                house.cast.endpoint(named: "Lounge", host: "10.0.0.2"),
                with: RouterError(.timeout, "too slow", scope: .route))
            house.clock.advance(seconds: 5)
            #expect(await code { _ = try await move(house, to: ["Lounge"]) } == .timeout)
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            #expect(await house.session()?.media == .playing)
            #expect(house.media.feeds.count == 1)
            #expect(kitchen.asked.contains { if case .perform(.play) = $0 { true } else { false } })
            #expect(await house.turn(seconds: 14) { await house.session()?.queue.current == items[1].id })
        }
    }

    @Test("a stop during the transfer ends both ends of it")
    func stopped() async throws {
        try await House.twoWithQueues().live { house in
            let id = try await house.play(["one"], in: ["Lounge"]).id
            let moving = Task { try await house.engine.transfer(session: nil, to: ["Den"]) }
            #expect(await eventually { house.cast.session(named: "Den")?.loadedTokens.count == 1 })
            try await house.engine.end(session: id, reason: .stop)
            #expect(await code { _ = try await moving.value } == .cancelled)
            #expect(try house.lounge().asked.last == .end(.stop))
            #expect(try den(house).asked.last == .end(.stop))
            #expect(await house.session()?.connection == .ended)
            #expect(await house.store.sessionsToRejoin().isEmpty)
        }
    }

    @Test("a target that is lost in the middle: it goes on where it was")
    func targetLost() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let moving = Task { try await house.engine.transfer(session: nil, to: ["Den"]) }
            #expect(await eventually { house.cast.session(named: "Den")?.loadedTokens.count == 1 })
            try den(house).isLost()
            #expect(await code { _ = try await moving.value } == .routeLost)
            #expect(await house.session()?.members.map(\.name) == ["Lounge"])
            #expect(await house.session()?.media == .playing)
            #expect(try house.lounge().state.media == .playing)
        }
    }

    @Test("a source that is lost in the middle: it goes on where it was to go")
    func sourceLost() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let moving = Task { try await house.engine.transfer(session: nil, to: ["Den"]) }
            #expect(await eventually { house.cast.session(named: "Den")?.loadedTokens.count == 1 })
            let lounge = try house.lounge()
            lounge.isLost()
            await othersHaveRun()
            house.clock.advance(seconds: 2)
            #expect(try await moving.value.to == ["Den"])
            #expect(await house.session()?.members.map(\.name) == ["Den"])
            #expect(lounge.asked.last == .end(.lost))
        }
    }

    @Test("both are lost: the session waits for the old room, as it would have without a transfer")
    func bothLost() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let moving = Task { try await house.engine.transfer(session: nil, to: ["Den"]) }
            #expect(await eventually { house.cast.session(named: "Den")?.loadedTokens.count == 1 })
            try house.lounge().isLost()
            await othersHaveRun()
            try den(house).isLost()
            #expect(await code { _ = try await moving.value } == .routeLost)
            #expect(await eventually { await house.session()?.connection == .suspended })
            #expect(await house.session()?.members.map(\.name) == ["Lounge"])
        }
    }

    @Test("what would be lost is told: subtitles, speed, keeping in time")
    func losses() {
        func endpoint(_ capabilities: RouteCapabilities) -> Endpoint {
            Endpoint(
                id: EndpointID(rawValue: "x"), protocol: .cast, name: "X", host: "10.0.0.9", port: 1, strongKeys: [],
                origin: .discovered, capabilities: capabilities)
        }
        func candidate(_ endpoint: Endpoint, _ losses: [String] = []) -> RouteChoice.Candidate {
            RouteChoice.Candidate(endpoint: endpoint, usable: true, reasons: [], losses: losses)
        }
        let screen = endpoint(
            RouteCapabilities(available: [.tracks, .rate, .gapless, .continuesWithoutSender, .video], sync: .loose))
        let speaker = endpoint(RouteCapabilities(available: [.gapless], sync: .loose))
        let source = TransferSource(
            item: .url("http://x/film.mp4"), rooms: ["X"], routes: [], endpoints: [screen], showsText: true, rate: 1.5)
        #expect(source.losses(by: [candidate(screen)]).isEmpty)
        #expect(
            source.losses(by: [candidate(speaker, ["no picture"])]) == [
                "no subtitles", "normal speed only", "no picture", "stops when this sender stops",
            ])
        #expect(source.losses(by: [candidate(screen), candidate(screen)]) == ["the rooms are held in time loosely"])
    }
}

@Suite("C6 what somebody else moves", .timeLimit(.minutes(2)))
struct MovedElsewhereTests {
    private static func record(_ name: String, _ host: String, busy: Bool = false) -> ServiceRecord {
        ServiceRecord(
            key: ServiceRecord.Key(type: "_fake-cast._tcp", name: name), hostName: "\(name).local", addresses: [host],
            port: 1, txt: busy ? ["rs": "playing"] : [:], interface: nil)
    }

    /// Two devices that a person has named, which have no records to tell whether they are busy.
    private static func twoNamed() -> House {
        let house = House(queueOnDevice: true) { _, cast in
            [("Lounge", "10.0.0.2"), ("Den", "10.0.0.3")].map { name, host in
                var endpoint = cast.endpoint(named: name, host: host)
                endpoint.origin = .stated
                return endpoint
            }
        }
        for name in ["one", "two", "three"] { house.media.add(name, seconds: 10) }
        return house
    }

    @Test("a session follows what another sender has moved, and says so once")
    func follows() async throws {
        try await Self.twoNamed().live { house in
            let first = try await house.play(["one", "two", "three"], in: ["Lounge"])
            let lounge = try house.lounge()
            #expect(await house.holds(2, in: lounge))
            let notices = await Notices(house.engine)
            var state = lounge.state
            state.calls = 0
            state.position = ReportedPosition(time: MediaTime(seconds: 5), instant: house.clock.now(), rate: 1)
            house.cast.keeps(state, on: house.cast.endpoint(named: "Den", host: "10.0.0.3"))
            lounge.reports {
                $0.media = .stopped
                $0.stopReason = .cancelled
            }
            #expect(await eventually { await house.session()?.members.map(\.name) == ["Den"] })
            #expect(await eventually { await house.session()?.connection == .connected })
            let now = try #require(await house.session())
            #expect(now.id == first.id && now.queue.items.map(\.id) == first.queue.items.map(\.id))
            #expect(now.anchor?.time.seconds == 5 && now.media == .playing)
            let den = try #require(house.cast.session(named: "Den"))
            #expect(den.loadedTokens.isEmpty)
            #expect(await eventually { lounge.asked.last == .end(.lost) })
            #expect(await eventually { await notices.count { $0.message.contains("was moved to Den") } == 1 })
            #expect(await notices.count { $0.message.contains("stopped by another sender") } == 0)
            den.goesOn()
            #expect(await eventually { await house.session()?.queue.current == first.queue.items[1].id })
        }
    }

    @Test("nobody has it: the session ends as it would have", arguments: [true, false])
    func ends(stopped: Bool) async throws {
        try await Self.twoNamed().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let notices = await Notices(house.engine)
            try house.lounge().reports {
                if stopped {
                    $0.media = .stopped
                    $0.stopReason = .cancelled
                } else {
                    $0.connection = .ended
                    $0.stopReason = .superseded
                }
            }
            #expect(
                await eventually { await house.session()?.connection == (stopped ? .ended : .failed) })
            #expect(house.cast.sought.count == 1)
            let words = stopped ? "stopped by another sender" : "something else plays there now"
            #expect(await eventually { await notices.count { $0.message.contains(words) } == 1 })
        }
    }

    @Test("only devices that seem busy or have just changed are asked, each once")
    func asksFew() async throws {
        let discovery = InMemoryDiscovery()
        let house = House(browsing: discovery, queueOnDevice: true) { _, cast in
            [cast.endpoint(named: "Lounge", host: "10.0.0.2")]
        }
        house.media.add("one", seconds: 60)
        try await house.live { house in
            for number in 10..<30 { discovery.appear(Self.record("Room \(number)", "10.0.0.\(number)")) }
            _ = try await house.engine.routes(settle: true)
            _ = try await house.play(["one"], in: ["Lounge"])
            // All of them were new just now; by then they are old.
            house.clock.advance(seconds: 60)
            let lounge = try house.lounge()
            var state = lounge.state
            state.calls = 0
            house.cast.keeps(state, on: house.cast.endpoint(named: "Room 17", host: "10.0.0.17"))
            lounge.reports {
                $0.media = .stopped
                $0.stopReason = .cancelled
            }
            #expect(await eventually { await house.session()?.connection == .suspended })
            await othersHaveRun()
            #expect(house.cast.sought.isEmpty)
            // Its record changes a moment later.
            discovery.appear(Self.record("Room 17", "10.0.0.17", busy: true))
            #expect(await eventually { await house.session()?.members.map(\.name) == ["Room 17"] })
            #expect(house.cast.sought == [EndpointID(rawValue: "cast:10.0.0.17:1")])
        }
    }

    @Test("a stop while it is looked for ends it")
    func stoppedMeanwhile() async throws {
        let discovery = InMemoryDiscovery()
        let house = House(browsing: discovery) { _, cast in [cast.endpoint(named: "Lounge", host: "10.0.0.2")] }
        house.media.add("one", seconds: 60)
        try await house.live { house in
            discovery.appear(Self.record("Den", "10.0.0.3"))
            _ = try await house.engine.routes(settle: true)
            let id = try await house.play(["one"], in: ["Lounge"]).id
            house.clock.advance(seconds: 60)
            try house.lounge().reports {
                $0.media = .stopped
                $0.stopReason = .cancelled
            }
            #expect(await eventually { await house.session()?.connection == .suspended })
            try await house.engine.end(session: id, reason: .stop)
            #expect(await eventually { await house.session()?.connection == .ended })
            #expect(await house.session()?.members.first?.error == nil)
            discovery.appear(Self.record("Den", "10.0.0.3", busy: true))
            house.clock.advance(seconds: 10)
            await othersHaveRun()
            #expect(house.cast.sessions.count == 1)
        }
    }
}
