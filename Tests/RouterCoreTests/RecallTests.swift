import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("C5 C10 what a restart leaves of sessions", .timeLimit(.minutes(2)))
struct RecallTests {
    /// A process that is gone without a word, and the next one with the same store.
    private func afterACrash(
        of first: @escaping @Sendable (House) async throws -> Void, house make: (InMemoryStore) -> House,
        then next: @escaping @Sendable (House) async throws -> Void
    ) async throws {
        try await House.afterACrash(of: make) { crashed, store in
            try await first(crashed)
            try await make(store).live { try await next($0) }
        }
    }

    private static func pair(_ store: InMemoryStore) -> House {
        let house = House(store: store, recallsSessions: true) { airplay, cast in
            [cast.endpoint(named: "Lounge", host: "10.0.0.2"), cast.endpoint(named: "Den", host: "10.0.0.3")]
        }
        for name in ["one", "two", "three", "four"] { house.media.add(name, seconds: 600) }
        return house
    }

    @Test("the queue of a session that has ended is shown by the next process, with how it ended and its rooms")
    func ended() async throws {
        let store = InMemoryStore()
        let first = Self.pair(store)
        let before = try await first.live { house in
            let session = try await house.play(["one", "two"], in: ["Lounge"])
            _ = try await house.engine.perform(.next, session: nil, origin: .api)
            try await house.engine.end(session: session.id, reason: .stop)
            return try #require(await house.session())
        }
        try await Self.pair(store).live { house in
            let shown = try #require(await house.engine.sessions().first { $0.id == before.id })
            #expect(shown.connection == .ended && shown.media == .stopped && shown.stopReason == .cancelled)
            #expect(shown.queue.items.map(\.id) == before.queue.items.map(\.id))
            #expect(shown.queue.current == before.queue.current)
            #expect(shown.members.map(\.name) == ["Lounge"] && shown.members.map(\.protocol) == [.cast])
            // It can be kept under a name still, and is among the first that a reader of events is told.
            #expect(try await house.engine.saveQueue(session: before.id, as: "kept").items.count == 2)
            for await event in await house.engine.events() {
                guard case .snapshot(_, let sessions) = event.body else { continue }
                #expect(sessions.map(\.id).contains(before.id))
                break
            }
        }
    }

    @Test(
        "R5 where a process was killed as it moved what plays, that goes on where it was, and stops in the new room",
        arguments: [false, true])
    func movedHalfway(_ isEnded: Bool) async throws {
        let left = LatestValue<RouteSessionUpdate?>(nil)
        try await afterACrash(
            of: { house in
                _ = try await house.play(["one", "two"], in: ["Lounge"])
                #expect(await house.turn(seconds: 3) { await house.store.sessionsToRejoin().count == 1 })
                Task { try await house.engine.transfer(session: nil, to: ["Den"]) }
                #expect(await eventually { house.cast.session(named: "Den")?.state.loaded != nil })
                left.set(house.cast.session(named: "Den")?.state)
                let record = try #require(await house.store.sessionsToRejoin().first)
                #expect(record.members.map(\.name) == ["Lounge"] && record.moving?.map(\.name) == ["Den"])
                #expect(record.playing)
            }, house: Self.pair,
            then: { house in
                house.cast.keeps(try #require(left.value), on: house.cast.endpoint(named: "Den", host: "10.0.0.3"))
                let id = try #require(try await house.engine.sessionsToRejoin().first?.id)
                let lounge = house.cast.endpoint(named: "Lounge", host: "10.0.0.2")
                house.cast.refuse(lounge, with: RouterError(.routeUnreachable, "off", scope: .route))
                await #expect(throws: RouterError.self) { _ = try await house.engine.rejoin(id) }
                await othersHaveRun()
                #expect(house.cast.sought.isEmpty, "it is heard nowhere else yet")
                house.cast.accept(lounge)
                if isEnded {
                    try await house.engine.end(session: id, reason: .stop)
                    return #expect(house.cast.session(named: "Den")?.asked == [.end(.stop)])
                }
                _ = try await house.engine.rejoin(id)
                let now = try #require(await house.engine.sessions().first)
                #expect(now.members.map(\.name) == ["Lounge"] && now.media == .playing)
                #expect(await eventually { house.cast.session(named: "Den")?.asked == [.end(.stop)] })
                #expect(await eventually { await house.store.sessionsToRejoin().map(\.moving) == [nil] })
            })
    }

    @Test("a process that does not stay shows none of them")
    func lone() async throws {
        let store = InMemoryStore()
        try await House.twoWithQueues(store: store).live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
        }
        try await House.twoWithQueues(store: store).live { house in
            #expect(await house.engine.sessions().isEmpty)
        }
    }

    @Test("one that was cut short is shown as suspended; to play is to take it up, and what is forgotten has ended")
    func cutShort() async throws {
        try await afterACrash(
            of: { house in
                _ = try await house.play(["one", "two"], in: ["Lounge"])
                #expect(await house.turn(seconds: 3) { await house.store.sessionsToRejoin().count == 1 })
            }, house: Self.pair,
            then: { house in
                let shown = try #require(await house.engine.sessions().first)
                #expect(shown.connection == .suspended && shown.media == .playing)
                #expect(shown.members.map(\.name) == ["Lounge"])
                #expect(shown.queue.items.count == 2)
                do {
                    _ = try await house.engine.perform(.next, session: shown.id, origin: .api)
                    Issue.record("a command reached a session that nobody runs")
                } catch let error as RouterError { #expect(error.code == .unavailable) }
                let result = try await house.engine.perform(.play, session: shown.id, origin: .api)
                #expect(!result.outcome.isError)
                let now = try #require(await house.engine.sessions().first)
                #expect(now.id == shown.id && now.connection == .connected)
                #expect(try house.lounge().loadedTokens.count == 1)
            })
        try await afterACrash(
            of: { house in
                _ = try await house.play(["one", "two"], in: ["Lounge"])
                #expect(await house.turn(seconds: 3) { await house.store.sessionsToRejoin().count == 1 })
            }, house: Self.pair,
            then: { house in
                let shown = try #require(await house.engine.sessions().first)
                try await house.engine.end(session: shown.id, reason: .leave)
                #expect(await house.engine.sessions().first?.connection == .ended)
                #expect(try await house.engine.sessionsToRejoin().isEmpty)
            })
    }

    @Test("one that was cut short says what it needs, and is over once something else plays in its rooms")
    func replaced() async throws {
        try await afterACrash(
            of: { house in
                _ = try await house.play(["one", "two"], in: ["Lounge"])
                #expect(await house.turn(seconds: 3) { await house.store.sessionsToRejoin().count == 1 })
            }, house: Self.pair,
            then: { house in
                let left = try #require(await house.engine.sessions().first).id
                await #expect(throws: RouterEngine.notTakenUp(left)) {
                    _ = try await house.engine.edit(
                        .append(["three"]), session: left, ifVersion: nil, workingDirectory: "/")
                }
                await #expect(throws: RouterEngine.notTakenUp(left)) {
                    _ = try await house.engine.join(session: left, rooms: ["Den"])
                }
                let other = try await house.play(["three"], in: ["Lounge"]).id
                let shown = await house.engine.sessions()
                #expect(shown.first { $0.id == left }?.connection == .ended)
                #expect(shown.filter(\.isActive).map(\.id) == [other])
            })
    }

    /// What was told, in order.
    private actor Told {
        private(set) var notices: [Notice] = []
        func add(_ notice: Notice) { notices.append(notice) }
    }

    private func recovering(
        _ house: House, _ body: @escaping @Sendable (Told) async throws -> Void
    ) async throws {
        let told = Told()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await SessionRecovery(router: house.engine, clock: house.clock) { await told.add($0) }.run()
            }
            try await body(told)
            group.cancelAll()
        }
    }

    private static let silent = RouterError(.routeUnreachable, "Lounge does not answer", scope: .route)

    @Test("C10 a device that does not answer at the start is tried again, told once, and taken up when it is there")
    func triedAgain() async throws {
        try await afterACrash(
            of: { house in
                _ = try await house.play(["one", "two"], in: ["Lounge"])
                #expect(await house.turn(seconds: 3) { await house.store.sessionsToRejoin().count == 1 })
            }, house: Self.pair,
            then: { house in
                house.cast.refuse(house.loungeEndpoint, with: Self.silent)
                try await recovering(house) { told in
                    #expect(await house.turn(seconds: 60) { house.cast.opened.count >= 4 })
                    #expect(await told.notices.map(\.severity) == [.warning])
                    // Between the tries it is what it was: to play is to take it up.
                    #expect(
                        await house.turn(seconds: 60) {
                            await house.engine.sessions().first?.connection == .suspended
                        })
                    #expect(await told.notices.first?.message.contains("does not answer") == true)
                    house.cast.accept(house.loungeEndpoint)
                    #expect(
                        await house.turn(seconds: 60) {
                            await house.engine.sessions().first?.connection == .connected
                        })
                    #expect(await eventually { await told.notices.last?.severity == .info })
                }
            })
    }

    @Test("C10 it is given up after five minutes, and not taken up where something else plays by then")
    func givenUp() async throws {
        let crash: @Sendable (House) async throws -> Void = { house in
            _ = try await house.play(["one", "two"], in: ["Lounge", "Den"])
            #expect(await house.turn(seconds: 3) { await house.store.sessionsToRejoin().count == 1 })
        }
        let refuse: @Sendable (House) -> Void = { house in
            house.cast.refuse(house.loungeEndpoint, with: Self.silent)
            house.cast.refuse(house.cast.endpoint(named: "Den", host: "10.0.0.3"), with: Self.silent)
        }
        try await afterACrash(
            of: crash, house: Self.pair,
            then: { house in
                refuse(house)
                try await recovering(house) { told in
                    #expect(await eventually { await told.notices.count == 1 })
                    #expect(await house.turn(seconds: 400) { await told.notices.count == 2 })
                    #expect(await told.notices.last?.hint?.contains("router session join") == true)
                    let tries = house.cast.opened.count
                    house.clock.advance(seconds: 100)
                    await othersHaveRun()
                    #expect(house.cast.opened.count == tries)
                    let left = try await house.engine.sessionsToRejoin().count
                    #expect(left == 1)
                }
            })
        try await afterACrash(
            of: crash, house: Self.pair,
            then: { house in
                refuse(house)
                try await recovering(house) { told in
                    #expect(await eventually { await told.notices.count == 1 })
                    house.cast.accept(house.loungeEndpoint)
                    let mine = try await house.play(["three"], in: ["Lounge"])
                    #expect(await house.turn(seconds: 60) { await told.notices.count == 2 })
                    #expect(await told.notices.last?.message.contains("plays something else") == true)
                    let running = await house.engine.sessions().filter { $0.connection == .connected }
                    #expect(running.map(\.id) == [mine.id])
                }
            })
        try await afterACrash(
            of: crash, house: Self.pair,
            then: { house in
                // Before the first try, too.
                let mine = try await house.play(["three"], in: ["Lounge"])
                try await recovering(house) { told in
                    #expect(
                        await eventually {
                            await told.notices.first?.message.contains("plays something else") == true
                        })
                    let running = await house.engine.sessions().filter { $0.connection == .connected }
                    #expect(running.map(\.id) == [mine.id])
                }
            })
    }

    @Test("C10 a device that is seen again is tried at once")
    func seenAgain() async throws {
        let discovery = InMemoryDiscovery()
        let record = ServiceRecord(
            key: .init(type: "_fake-cast._tcp", name: "Lounge"), hostName: "h", addresses: ["10.0.0.2"], port: 8009,
            txt: [:])
        discovery.appear(record)
        let make: (InMemoryStore) -> House = { store in
            let house = House(store: store, browsing: discovery, recallsSessions: true) { _, _ in [] }
            for name in ["one", "two"] { house.media.add(name, seconds: 600) }
            return house
        }
        try await afterACrash(
            of: { house in
                _ = try await house.play(["one", "two"], in: ["Lounge"])
                #expect(await house.turn(seconds: 3) { await house.store.sessionsToRejoin().count == 1 })
                discovery.vanish(record.key)
            }, house: make,
            then: { house in
                let endpoint = try #require(house.cast.endpoint(from: record))
                house.cast.refuse(endpoint, with: Self.silent)
                try await recovering(house) { told in
                    #expect(await house.turn(seconds: 60) { house.cast.opened.count >= 6 })
                    house.cast.accept(endpoint)
                    let now = house.clock.now()
                    discovery.appear(record)
                    #expect(await eventually { await house.engine.sessions().first?.connection == .connected })
                    #expect(house.clock.now() == now)
                }
            })
    }

    @Test("previous leads back through what was played before the restart, step by step")
    func previous() async throws {
        try await afterACrash(
            of: { house in
                let ids = try await house.play(["one", "two", "three", "four"], in: ["Lounge"]).queue.items.map(\.id)
                for command in [RemoteCommand.jump(ids[2]), .next, .previous, .jump(ids[1])] {
                    _ = try await house.engine.perform(command, session: nil, origin: .api)
                }
                #expect(
                    await house.turn(seconds: 3) { await house.store.sessionsToRejoin().first?.played?.count == 2 })
            }, house: Self.pair,
            then: { house in
                let id = try #require(await house.engine.sessions().first).id
                let ids = try await house.engine.rejoin(id).queue.items.map(\.id)
                for expected in [ids[2], ids[0]] {
                    _ = try await house.engine.perform(.previous, session: nil, origin: .api)
                    #expect(await house.engine.sessions().first?.queue.current == expected)
                }
            })
    }

    @Test("the master and the trims are as they were, also where the group was turned to nothing")
    func volumes() async throws {
        try await afterACrash(
            of: { house in
                _ = try await house.play(["one"], in: ["Lounge", "Den"])
                for command in [
                    RemoteCommand.setVolume(VolumePosition(0.8), room: "Lounge"),
                    .setVolume(VolumePosition(0.2), room: "Den"), .setVolume(VolumePosition(0), room: nil),
                    .linkVolumes(true),
                ] { _ = try await house.engine.perform(command, session: nil, origin: .api) }
                #expect(
                    await house.turn(seconds: 3) {
                        let record = await house.store.sessionsToRejoin().first
                        return record?.silencedMaster != nil && record?.volumesLinked == true
                    })
            }, house: Self.pair,
            then: { house in
                for name in ["Lounge", "Den"] {
                    house.cast.keeps(
                        RouteSessionUpdate(volume: VolumeState(level: VolumePosition(0))),
                        on: house.cast.endpoint(named: name, host: name == "Den" ? "10.0.0.3" : "10.0.0.2"))
                }
                let id = try #require(await house.engine.sessions().first).id
                #expect(await house.engine.sessions().first?.volumesLinked == true)
                let after = try await house.engine.rejoin(id)
                #expect(after.volumesLinked == true)
                #expect(after.volume?.level.value == 0)
                #expect(after.members.map { ($0.trim ?? 0).rounded(to: 3) } == [1, 0.25])
                _ = try await house.engine.perform(
                    .setVolume(VolumePosition(0.4), room: nil), session: nil, origin: .api)
                let members = try #require(await house.session()).members
                #expect(members.map { ($0.volume?.level.value ?? 0).rounded(to: 3) } == [0.4, 0.1])
            })
    }

    @Test("a trim that was written by no sane process is passed over")
    func brokenVolumes() {
        #expect(GroupVolume(master: .nan, trims: [0: 1], silenced: nil) == GroupVolume())
        #expect(GroupVolume(master: 0.5, trims: [0: 7], silenced: nil) == GroupVolume())
        #expect(GroupVolume(master: 2, trims: [0: 1], silenced: nil) == GroupVolume())
        let loud = GroupVolume(master: 0.5, trims: [0: 0.5, 1: 0.25], silenced: 0.9)
        #expect(loud.master == 0.25 && loud.trims == [0: 1, 1: 0.5] && loud.silenced == nil)
    }
}

extension Double {
    fileprivate func rounded(to digits: Int) -> Double {
        let scale = digits == 3 ? 1000.0 : 1
        return (self * scale).rounded() / scale
    }
}
