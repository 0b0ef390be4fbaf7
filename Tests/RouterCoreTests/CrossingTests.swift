import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("news and commands that cross each other", .timeLimit(.minutes(1)))
struct CrossingNewsTests {
    static let push = MediaDelivery.push(
        PushRequirements(format: AudioPacketFormat(codec: .alac), leadNanoseconds: House.lead))
    static let pull = MediaDelivery.pull(PullRequirements(receiverAddress: "127.0.0.1"))

    func engine(
        _ providers: [any RouteProvider], _ endpoints: [Endpoint], _ clock: ManualClock, _ media: FakeMedia
    ) -> RouterEngine {
        RouterEngine(
            providers: providers, browsing: nil, media: media, store: InMemoryStore(), clock: clock,
            configuration: EngineConfiguration(stated: endpoints))
    }

    func run(_ engine: RouterEngine, _ body: () async throws -> Void) async throws {
        let task = Task { await engine.run() }
        do { try await body() } catch { Issue.record("\(error)") }
        await engine.shutdown()
        await task.value
    }

    @Test("a fetched item that ends before load returns ends the session")
    func shortPull() async throws {
        let clock = ManualClock()
        let media = FakeMedia()
        media.add("one", seconds: 0.1)
        let cast = ScriptedProvider(family: .cast, delivery: Self.pull) { session in
            session.latest.update {
                $0.media = .stopped
                $0.stopReason = .finished
            }
            // The engine hears of it before load is back.
            await othersHaveRun()
        }
        let maker = FakeProvider(family: .cast, delivery: Self.pull, clock: clock)
        let engine = engine([cast], [maker.endpoint(named: "Lounge", host: "h")], clock, media)
        try await run(engine) {
            _ = try await engine.play(PlayRequest(what: ["one"], rooms: ["Lounge"]))
            #expect(await eventually { await engine.sessions().last?.connection == .ended })
        }
    }

    @Test("a device lost in its first load gives way to the next endpoint")
    func lostInLoad() async throws {
        let clock = ManualClock()
        let media = FakeMedia()
        media.add("one", seconds: 10)
        let airplay = ScriptedProvider(family: .airplay, delivery: Self.push) { session in
            let error = RouterError(.routeLost, "gone", scope: .route)
            session.latest.update {
                $0.connection = .failed
                $0.error = error
            }
            session.latest.finish()
            await othersHaveRun()
            throw error
        }
        let cast = ScriptedProvider(family: .cast, delivery: Self.pull) { _ in }
        let a = FakeProvider(family: .airplay, delivery: Self.push, clock: clock)
        let c = FakeProvider(family: .cast, delivery: Self.pull, clock: clock)
        let engine = engine(
            [airplay, cast], [a.endpoint(named: "Both", host: "h"), c.endpoint(named: "Both", host: "h", port: 2)],
            clock, media)
        try await run(engine) {
            let snapshot = try await engine.play(PlayRequest(what: ["one"], rooms: ["Both"]))
            #expect(snapshot.members.first?.protocol == .cast)
        }
    }

    @Test("a room that opens while the others load is loaded too, and gets its volume")
    func opensDuringLoad() async throws {
        let clock = ManualClock()
        let media = FakeMedia()
        media.add("one", seconds: 10)
        let slow = Latch()
        let loading = Latch()
        let cast = ScriptedProvider(family: .cast, delivery: Self.pull, openGate: ["Slow": slow]) { session in
            if session.descriptor.endpoint.name == "Fast" { await loading.wait() }
        }
        let maker = FakeProvider(family: .cast, delivery: Self.pull, clock: clock)
        let engine = engine(
            [cast], [maker.endpoint(named: "Fast", host: "h1"), maker.endpoint(named: "Slow", host: "h2")], clock,
            media)
        try await run(engine) {
            async let playing = engine.play(PlayRequest(what: ["one"], rooms: ["Fast", "Slow"]))
            #expect(await eventually { cast.session("Fast") != nil })
            while cast.session("Fast")?.asked.isEmpty ?? true {
                clock.advance(seconds: 1)
                await othersHaveRun()
            }
            slow.open()
            #expect(await eventually { cast.session("Slow") != nil })
            await othersHaveRun()
            loading.open()
            _ = try await playing
            #expect(await eventually { cast.session("Slow")?.asked.contains("load") ?? false })
        }
    }

    @Test("pause straight after going on keeps the place")
    func pauseAfterResume() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            house.clock.advance(seconds: 7)
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            let first = await house.session()?.anchor?.time
            _ = try await house.engine.perform(.play, session: nil, origin: .cli)
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            let second = await house.session()?.anchor?.time
            #expect(first == second)
        }
    }

    @Test("a room that joins late and tells no volume is given one, as the others are")
    func lateVolume() async throws {
        let clock = ManualClock()
        let media = FakeMedia()
        media.add("one", seconds: 100)
        let slow = Latch()
        let airplay = ScriptedProvider(family: .airplay, delivery: Self.push, openGate: ["Slow": slow], readback: .none)
        {
            _ in
        }
        let maker = FakeProvider(family: .airplay, delivery: Self.push, clock: clock)
        let engine = engine(
            [airplay], [maker.endpoint(named: "Fast", host: "h1"), maker.endpoint(named: "Slow", host: "h2")], clock,
            media)
        try await run(engine) {
            async let playing = engine.play(PlayRequest(what: ["one"], rooms: ["Fast", "Slow"]))
            #expect(await eventually { airplay.session("Fast") != nil })
            while airplay.session("Fast")?.asked.isEmpty ?? true {
                clock.advance(seconds: 1)
                await othersHaveRun()
            }
            _ = try await playing
            #expect(airplay.session("Fast")?.asked.contains("volume") ?? false)
            slow.open()
            #expect(await eventually { airplay.session("Slow")?.asked.contains("load") ?? false })
            #expect(await eventually { airplay.session("Slow")?.asked.contains("volume") ?? false })
        }
    }

    @Test("a session that gives one room away stops the others")
    func replaced() async throws {
        let clock = ManualClock()
        let media = FakeMedia()
        media.add("one", seconds: 100)
        let cast = ScriptedProvider(family: .cast, delivery: Self.pull) { _ in }
        let maker = FakeProvider(family: .cast, delivery: Self.pull, clock: clock)
        let engine = engine(
            [cast], [maker.endpoint(named: "A", host: "h1"), maker.endpoint(named: "B", host: "h2")], clock, media)
        try await run(engine) {
            _ = try await engine.play(PlayRequest(what: ["one"], rooms: ["A", "B"]))
            let b = cast.session("B")
            _ = try await engine.play(PlayRequest(what: ["one"], rooms: ["A"]))
            #expect(b?.asked.contains("end stop") ?? false, "\(b?.asked ?? [])")
            let first = await engine.sessions().first { $0.members.count == 2 }
            #expect(first?.stopReason == .replaced)
        }
    }

    @Test("a first item that cannot be played is passed over by a fetching room too")
    func firstBroken() async throws {
        try await House.kitchenAndLounge().live { house in
            house.media.add("bad", failing: RouterError(.mediaUnsupported, "no audio"))
            do {
                let snapshot = try await house.play(["bad", "one"], in: ["Lounge"])
                #expect(snapshot.connection == .connected)
            } catch { Issue.record("\(error)") }
        }
    }
}

@Suite("rooms of both kinds stay together, and refusals are told", .timeLimit(.minutes(1)))
struct TogetherTests {
    @Test("a seek that loses the pushed room does not stand still for ever")
    func laneDeadlock() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one", "two"], in: ["Kitchen", "Lounge"])
            house.clock.advance(seconds: 3)
            let lounge = try #require(house.cast.session(named: "Lounge"))
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            #expect(await eventually { lounge.asked.count >= 2 })
            lounge.reachesEnd()
            await othersHaveRun()
            kitchen.failLoads(with: RouterError(.routeLost, "gone", scope: .route))
            let done = LatestValue(false)
            let engine = house.engine
            let seek = Task {
                _ = try? await engine.perform(.seek(to: MediaTime(seconds: 5)), session: nil, origin: .cli)
                done.set(true)
            }
            #expect(await eventually { done.value })
            _ = seek
        }
    }

    @Test("after a pause a fetching room goes on with the timeline, not before it")
    func resumeTogether() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Lounge"])
            let lounge = try #require(house.cast.session(named: "Lounge"))
            house.clock.advance(seconds: 4)
            #expect(await eventually { lounge.asked.contains { if case .perform(.play) = $0 { true } else { false } } })
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            let before = lounge.asked.count
            _ = try await house.engine.perform(.play, session: nil, origin: .cli)
            // The clock stands still: the pushed room is heard two seconds from now.
            await othersHaveRun()
            #expect(lounge.asked.count == before, "\(lounge.asked.dropFirst(before))")
        }
    }

    @Test("a command that the device refused is not called a success")
    func refusedCommand() async throws {
        let clock = ManualClock()
        let media = FakeMedia()
        media.add("one", seconds: 100)
        let cast = RefusingProvider()
        let maker = FakeProvider(
            family: .cast, delivery: .pull(PullRequirements(receiverAddress: "127.0.0.1")), clock: clock)
        let engine = RouterEngine(
            providers: [cast], browsing: nil, media: media, store: InMemoryStore(), clock: clock,
            configuration: EngineConfiguration(stated: [maker.endpoint(named: "A", host: "h1")]))
        let running = Task { await engine.run() }
        _ = try await engine.play(PlayRequest(what: ["one"], rooms: ["A"]))
        let result = try await engine.perform(.pause, session: nil, origin: .cli)
        #expect(result.outcome == .unsupported)
        #expect(await engine.sessions().last?.media == .playing)
        await engine.shutdown()
        await running.value
    }
}

@Suite("ids, memory and what a stop leaves behind", .timeLimit(.minutes(1)))
struct LeftBehindTests {
    func endpoint(_ id: String, _ kind: RouteProtocol, _ name: String, _ keys: [StrongKey]) -> Endpoint {
        Endpoint(
            id: EndpointID(rawValue: id), protocol: kind, name: name, host: "10.0.0.9",
            port: kind == .cast ? 8009 : 5000,
            strongKeys: keys, origin: .discovered,
            capabilities: RouteCapabilities(available: [.playAudioStream], sync: .none))
    }

    @Test("routes that part have ids of their own")
    func split() {
        var registry = RouteRegistry()
        registry.update(endpoint("raop:1", .raop, "TV", [StrongKey(.mac, "aabbccddeeff")]))
        registry.update(endpoint("cast:1", .cast, "TV", [StrongKey(.castID, "c1")]))
        #expect(registry.routes.count == 1)
        registry.update(endpoint("cast:1", .cast, "Den", [StrongKey(.castID, "c1")]))
        #expect(registry.routes.count == 2)
        #expect(Set(registry.routes.map(\.id)).count == 2)
    }

    @Test("a route without a strong key keeps its id")
    func keyless() {
        var registry = RouteRegistry()
        registry.update(endpoint("raop:kitchen", .raop, "Kitchen", []))
        let first = registry.routes.map(\.id)
        registry.expire(now: 1)
        registry.update(
            Endpoint(
                id: EndpointID(rawValue: "x"), protocol: .raop, name: "X", host: "10.0.0.3", port: 1, strongKeys: [],
                origin: .discovered, capabilities: RouteCapabilities()))
        #expect(registry.routes.contains { $0.id == first[0] })
    }

    @Test("a device that was busy once is not put last for ever")
    func busyOnce() async throws {
        let house = House { airplay, cast in
            [
                airplay.endpoint(named: "Both", host: "10.0.0.1", port: 1),
                cast.endpoint(named: "Both", host: "10.0.0.1", port: 2),
            ]
        }
        house.media.add("one", seconds: 10)
        try await house.live { house in
            house.airplay.refuse(
                house.airplay.endpoint(named: "Both", host: "10.0.0.1", port: 1),
                with: RouterError(.routeBusy, "busy", scope: .route))
            _ = try await house.play(["one"], in: ["Both"])
            let choice = try await house.engine.explain(PlayRequest(what: ["one"], rooms: ["Both"]))
            #expect(
                choice.first?.chosen?.endpoint.protocol == .raop, "\(choice.first?.candidates.first?.reasons ?? [])")
        }
    }

    @Test("next while paused stays paused in a fetching room, as it does in a pushed one")
    func nextWhilePaused() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one", "two"], in: ["Lounge"])
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            _ = try await house.engine.perform(.next, session: nil, origin: .cli)
            #expect(await house.session()?.media == .paused)
        }
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one", "two"], in: ["Kitchen"])
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            _ = try await house.engine.perform(.next, session: nil, origin: .cli)
            #expect(await house.session()?.media == .paused)
        }
    }

    @Test("a stop in the middle of a pause leaves no session to rejoin")
    func ghost() async throws {
        let clock = ManualClock()
        let media = FakeMedia()
        media.add("one", seconds: 100)
        let store = InMemoryStore()
        let gate = Latch()
        let cast = SlowPauseProvider(gate)
        let maker = FakeProvider(
            family: .cast, delivery: .pull(PullRequirements(receiverAddress: "127.0.0.1")), clock: clock)
        let engine = RouterEngine(
            providers: [cast], browsing: nil, media: media, store: store, clock: clock,
            configuration: EngineConfiguration(stated: [maker.endpoint(named: "A", host: "h1")]))
        let running = Task { await engine.run() }
        _ = try await engine.play(PlayRequest(what: ["one"], rooms: ["A"]))
        async let pausing = engine.perform(.pause, session: nil, origin: .cli)
        await othersHaveRun()
        _ = try await engine.perform(.stop, session: nil, origin: .cli)
        gate.open()
        _ = try? await pausing
        #expect(await engine.sessions().last?.media == .stopped)
        #expect(await store.sessionsToRejoin().isEmpty)
        await engine.shutdown()
        await running.value
    }
}
