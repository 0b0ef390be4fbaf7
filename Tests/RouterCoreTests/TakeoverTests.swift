import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("rooms that several people want at once", .timeLimit(.minutes(2)))
struct TakeoverTests {
    private static func house(store: InMemoryStore = InMemoryStore()) -> House {
        let house = House(store: store) { airplay, cast in
            [
                airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Bath", host: "10.0.0.2"),
                cast.endpoint(named: "Lounge", host: "10.0.0.3"), cast.endpoint(named: "Den", host: "10.0.0.4"),
                cast.endpoint(named: "Attic", host: "10.0.0.5"),
            ]
        }
        for name in ["one", "two", "three"] { house.media.add(name, seconds: 600) }
        return house
    }

    /// What plays.
    private func titles(_ house: House) async -> [String] {
        await house.engine.sessions().filter { $0.connection == .connected }.compactMap { $0.currentItem?.title }
    }

    /// Something under way, and whether it is over.
    private struct Doing<Value: Sendable> {
        let task: Task<Value, any Error>
        private let over = LatestValue(false)

        init(_ body: @escaping @Sendable () async throws -> Value) {
            task = Task { [over] in
                defer { over.set(true) }
                return try await body()
            }
        }

        var isOver: Bool { over.value }
        func value() async throws -> Value { try await task.value }

        func code() async -> RouterError.Code? {
            do {
                _ = try await task.value
                return nil
            } catch { return (error as? RouterError)?.code }
        }
    }

    @Test("what was asked for last is what plays, also where that was ready before; what is left is another's")
    func overtaken() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            for rooms in [["Lounge"], ["Lounge", "Den"]] {
                let gate = house.media.holdsFacts(of: "three")
                let slow = Doing { try await house.play(["three"], in: rooms) }
                #expect(await eventually { house.media.areFactsAwaited(of: "three") })
                let quick = try await house.play(["two"], in: ["Lounge"])
                gate.finish()
                if rooms.count == 1 {
                    #expect(await slow.code() == .commandSuperseded)
                } else {
                    #expect(try await slow.value().members.map(\.name) == ["Den"])
                }
                let now = await house.engine.sessions().first { $0.id == quick.id }
                #expect(now?.connection == .connected && now?.members.map(\.connection) == [.connected])
                house.media.forgetsAwaited()
            }
        }
    }

    @Test("what plays goes on where nothing of what is to come instead can be played")
    func nothingToPlay() async throws {
        try await Self.house().live { house in
            house.media.add("bad", failing: RouterError(.mediaUnsupported, "it is broken", scope: .item))
            let before = try await house.play(["one", "two", "three"], in: ["Kitchen"])
            let refused = Doing { try await house.play(["bad"], in: ["Kitchen"]) }
            #expect(await refused.code() == .mediaUnsupported)
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            #expect(!kitchen.asked.contains { if case .end = $0 { true } else { false } })
            #expect(await house.session()?.id == before.id && house.airplay.sessions.count == 1)
            _ = try await house.play(["bad", "two"], in: ["Kitchen"])
            #expect(await eventually { await titles(house) == ["Title of two"] })
        }
    }

    @Test("what comes next has its titles before its turn")
    func upcomingTitles() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one", "two", "three", "one"], in: ["Kitchen"])
            #expect(
                await eventually {
                    await house.session()?.queue.items.map(\.metadata.title)
                        == ["one", "two", "three", "one"].map { "Title of \($0)" }
                })
        }
    }

    @Test("who presses play again while the room is still being connected to does not have it connected to twice")
    func playsAgain() async throws {
        try await Self.house().live { house in
            let kitchen = house.airplay.endpoint(named: "Kitchen", host: "10.0.0.1")
            for round in 1...20 {
                let gate = house.airplay.holdsOpening(of: kitchen)
                defer { gate.finish() }
                let count = house.airplay.opened.count
                let first = Doing { try await house.play(["one"], in: ["Kitchen"]) }
                #expect(await eventually { house.airplay.opened.count == count + 1 })
                _ = try await house.play(["two"], in: ["Kitchen"])
                #expect(await first.code() == .cancelled)
                #expect(house.airplay.overlaps == 0, "\(round)")
                #expect(house.airplay.sessions.count { !$0.isClosed } == 1)
            }
        }
    }

    @Test("two people who press play in one room at the same moment: the room is never had by both")
    func twoPlays() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            let first = try #require(house.airplay.session(named: "Kitchen"))
            let gate = first.holdsEnd()
            let second = Doing { try await house.play(["two"], in: ["Kitchen"]) }
            #expect(await eventually { first.asked.contains(.end(.replaced)) })
            let third = Doing { try await house.play(["three"], in: ["Kitchen"]) }
            await othersHaveRun()
            #expect(house.airplay.sessions.count == 1, "it was taken before it was free")
            gate.finish()
            #expect(await eventually { second.isOver && third.isOver })
            #expect(house.airplay.overlaps == 0)
            #expect(house.airplay.sessions.count { !$0.isClosed } == 1)
            #expect(await eventually { await house.engine.running.count == 1 })
            #expect(await third.code() == nil)
            #expect(await titles(house) == ["Title of three"])
        }
    }

    @Test(
        "what is moved to a room, and what is played there meanwhile: the later one has it, and the room is open once")
    func moveAndPlay() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let gate = house.cast.holdsOpening(of: house.cast.endpoint(named: "Den", host: "10.0.0.4"))
            let move = Doing { try await house.engine.transfer(session: nil, to: ["Den"]) }
            #expect(await eventually { house.cast.opened.count == 2 })
            let play = Doing { try await house.play(["two"], in: ["Den"]) }
            await othersHaveRun()
            #expect(house.cast.opened.count == 2)
            gate.finish()
            #expect(await house.turn(seconds: 20) { move.isOver && play.isOver })
            #expect(house.cast.overlaps == 0)
            #expect(await play.code() == nil)
            #expect(house.cast.session(named: "Den")?.isClosed == false)
        }
    }

    @Test("C5 a session that is taken up twice at the same moment is taken up once")
    func twoRejoins() async throws {
        try await House.afterACrash(of: { Self.house(store: $0) }) { crashed, store in
            let id = try await crashed.play(["one", "two"], in: ["Lounge"]).id
            try await Self.house(store: store).live { house in
                async let first = house.engine.rejoin(id)
                async let second = house.engine.rejoin(id)
                let ids = try await [first.id, second.id]
                #expect(ids == [id, id])
                #expect(house.cast.opened.count == 1)
            }
        }
    }

    @Test("R5 a room that joins while what plays is moved is not in its way, and comes in where it is by then")
    func joinDuringMove() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let gate = try #require(house.cast.session(named: "Lounge")).holdsCommand()
            let move = Doing { try await house.engine.transfer(session: nil, to: ["Den"]) }
            #expect(
                await eventually { house.cast.session(named: "Lounge")?.asked.contains(.perform(.pause)) ?? false })
            // It is still being connected when the move is through.
            let slow = house.cast.holdsOpening(of: house.cast.endpoint(named: "Attic", host: "10.0.0.5"))
            let join = Doing { try await house.engine.join(session: nil, rooms: ["Attic"]) }
            #expect(await eventually { house.cast.opened.count == 3 })
            gate.finish()
            #expect(await house.turn(seconds: 20) { move.isOver })
            #expect(await move.code() == nil)
            #expect(!join.isOver)
            slow.finish()
            #expect(await house.turn(seconds: 20) { join.isOver })
            #expect(await join.code() == nil)
            #expect(await house.session()?.members.map(\.name).sorted() == ["Attic", "Den"])
            #expect(await eventually { await house.session()?.members.map(\.media) == [.playing, .playing] })
        }
    }

    @Test("R5 a room of another session that does not answer is left to it", arguments: [false, true])
    func notTaken(expands: Bool) async throws {
        try await Self.house().live { house in
            let first = try await house.play(["one"], in: ["Kitchen", "Bath"]).id
            let second = try await house.play(["two"], in: ["Lounge"]).id
            house.airplay.refuse(
                house.airplay.endpoint(named: "Bath", host: "10.0.0.2"), with: RouterError(.routeUnreachable, "off"))
            let bath = try #require(house.airplay.session(named: "Bath"))
            await #expect(throws: RouterError.self) {
                if expands {
                    _ = try await house.engine.transfer(TransferRequest(.expand, session: second, rooms: ["Bath"]))
                } else {
                    _ = try await house.engine.join(session: second, rooms: ["Bath"])
                }
            }
            let names = await house.engine.sessions().first { $0.id == first }?.members.map(\.name)
            #expect(names == ["Kitchen", "Bath"])
            #expect(!bath.isClosed)
            #expect(await house.engine.sessions().first { $0.id == second }?.members.map(\.name) == ["Lounge"])
        }
    }

    @Test("R5 a room of another session that takes one sender at a time is taken from it")
    func takenFromExclusive() async throws {
        try await Self.house().live { house in
            house.airplay.isExclusive()
            let first = try await house.play(["one"], in: ["Kitchen", "Bath"]).id
            let second = try await house.play(["two"], in: ["Lounge"]).id
            let joined = try await house.engine.join(session: second, rooms: ["Bath"])
            #expect(joined.members.map(\.name) == ["Lounge", "Bath"])
            #expect(await house.engine.sessions().first { $0.id == first }?.members.map(\.name) == ["Kitchen"])
            #expect(house.airplay.overlaps == 0)
        }
    }

    @Test("a start whose session was ended before its rooms were opened says so, and does not wait for ever")
    func endedBeforeOpening() async throws {
        try await Self.house().live { house in
            let gate = house.media.holdsFeed()
            let first = Doing { try await house.play(["one"], in: ["Kitchen"]) }
            #expect(await eventually { house.media.isFeedAwaited })
            _ = try await house.play(["two"], in: ["Kitchen"])
            gate.finish()
            #expect(await eventually(within: .seconds(5)) { first.isOver })
            if first.isOver { #expect(await first.code() == .cancelled) }
            #expect(house.airplay.opened.count == 1)
            #expect(await titles(house) == ["Title of two"])
        }
    }

    @Test("a stop while a room is being opened ends the start, also where the room comes up after it")
    func stoppedWhileOpening() async throws {
        try await Self.house().live { house in
            let gate = house.cast.holdsOpening(of: house.cast.endpoint(named: "Den", host: "10.0.0.4"))
            let play = Doing { try await house.play(["one"], in: ["Den"]) }
            #expect(await eventually { house.cast.opened.count == 1 })
            let id = try #require(await house.session()?.id)
            try await house.engine.end(session: id, reason: .stop)
            gate.finish()
            #expect(await house.turn(seconds: 10) { play.isOver })
            if play.isOver { #expect(await play.code() == .cancelled) }
            #expect(house.cast.sessions.allSatisfy { $0.isClosed })
        }
    }

    @Test("once the engine has been shut down nothing begins any more, and nobody waits for it")
    func afterShutdown() async throws {
        try await Self.house().live { house in
            await house.engine.shutdown()
            let play = Doing { try await house.play(["one"], in: ["Kitchen"]) }
            let announcement = Doing {
                try await house.engine.announce(AnnounceRequest(what: "one", rooms: ["Kitchen"]))
            }
            #expect(await eventually(within: .seconds(5)) { play.isOver })
            #expect(await eventually(within: .seconds(5)) { announcement.isOver })
            if play.isOver { #expect(await play.code() == .cancelled) }
            if announcement.isOver { #expect(await announcement.code() == .cancelled) }
            #expect(house.airplay.sessions.allSatisfy { $0.isClosed })
        }
    }

    @Test("once the engine has been shut down a name that is not known is not looked for, for ever")
    func lookupAfterShutdown() async throws {
        let house = House(browsing: InMemoryDiscovery()) { _, _ in [] }
        try await house.live { house in
            await house.engine.shutdown()
            let play = Doing { try await house.play(["one"], in: ["Cellar"]) }
            #expect(await eventually(within: .seconds(5)) { play.isOver })
        }
    }
}
