import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("C7 commands for one item, and until an instant", .timeLimit(.minutes(2)))
struct CommandTermsTests {
    private func perform(
        _ command: RemoteCommand, _ house: House, for item: ItemID? = nil, within seconds: Double? = nil
    ) async throws -> CommandOutcome {
        let terms = CommandTerms(expected: item, within: seconds.map { MediaTime(seconds: $0) })
        return try await house.engine.perform(command, session: nil, origin: .cli, terms: terms).outcome
    }

    private static let commands: [RemoteCommand] = [
        .play, .pause, .toggle, .stop, .next, .previous, .seek(to: MediaTime(seconds: 2)),
        .seekBy(MediaTime(seconds: 2)), .setVolume(VolumePosition(0.2), room: nil), .stepVolume(0.1, room: nil),
        .mute(true, room: nil), .shuffle(true), .repeatMode(.all),
    ]

    @Test("what is meant for another item is superseded, and reaches no device", arguments: commands)
    func anotherItem(_ command: RemoteCommand) async throws {
        try await House.kitchenAndLounge().live { house in
            let ids = try await house.play(["one", "two"], in: ["Lounge"]).queue.items.map(\.id)
            #expect(await eventually { await house.session()?.queue.items.last?.metadata.title != nil })
            let before = (try house.lounge().asked.count, await house.session()?.queue)
            #expect(try await perform(command, house, for: ids[1]) == .superseded)
            #expect(try await perform(command, house, for: ids[1], within: 5) == .superseded)
            #expect(try house.lounge().asked.count == before.0)
            let after = await house.session()
            #expect(after?.queue == before.1 && after?.connection == .connected)
            #expect(try await perform(command, house, for: ids[0]) != .superseded)
        }
    }

    @Test("which item plays is looked at when its turn comes, and not when it was given")
    func atItsTurn() async throws {
        try await House.kitchenAndLounge().live { house in
            let ids = try await house.play(["one", "two"], in: ["Lounge"]).queue.items.map(\.id)
            let lounge = try house.lounge()
            let gate = lounge.holdsCommand()
            async let seek = perform(.seek(to: MediaTime(seconds: 3)), house)
            #expect(await eventually { lounge.asked.last == .perform(.seek(to: MediaTime(seconds: 3), resume: true)) })
            async let next = perform(.next, house)
            await othersHaveRun()
            async let pause = perform(.pause, house, for: ids[0])
            await othersHaveRun()
            gate.finish()
            #expect(try await seek == .succeeded)
            #expect(try await next == .succeeded)
            #expect(try await pause == .superseded)
            let after = await house.session()
            #expect(after?.media == .playing && after?.queue.current == ids[1])
        }
    }

    @Test("by its deadline what was begun is unverified and goes on, and what was not is never done")
    func deadline() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one", "two"], in: ["Lounge"])
            let lounge = try house.lounge()
            let gate = lounge.holdsCommand()
            async let pause = perform(.pause, house, within: 2)
            #expect(await eventually { lounge.asked.last == .perform(.pause) })
            async let next = perform(.next, house, within: 2)
            await othersHaveRun()
            house.clock.advance(seconds: 1)
            await othersHaveRun()
            #expect(await house.session()?.media == .playing)
            house.clock.advance(seconds: 1)
            #expect(try await pause == .unverified)
            #expect(try await next == .timedOut)
            gate.finish()
            #expect(await eventually { await house.session()?.media == .paused })
            // Behind both of them.
            #expect(try await perform(.repeatMode(.all), house) == .succeeded)
            let queue = await house.session()?.queue
            #expect(queue?.current == queue?.items[0].id)
            #expect(await house.engine.running.first?.begun == [])
        }
    }

    @Test("what ends in time ends as it does without a deadline, and nothing of the deadline is left")
    func inTime() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one", "two"], in: ["Lounge"])
            let sleepers = house.clock.sleepers
            #expect(try await perform(.pause, house, within: 600) == .succeeded)
            #expect(try await perform(.play, house, within: 600) == .succeeded)
            #expect(try await perform(.next, house, within: 0.1) == .succeeded)
            #expect(try await perform(.next, house, within: 5) == .noSuchContent)
            for _ in 0..<20 { #expect(try await perform(.shuffle(false), house, within: 600) == .succeeded) }
            // Each of them would be one more; what is written now and then has its own.
            #expect(await eventually { house.clock.sleepers < sleepers + 10 })
            #expect(await house.engine.running.first?.begun == [])
            try house.lounge().failCommands(with: RouterError(.routeBusy, "not now"))
            let error = await #expect(throws: RouterError.self) { try await perform(.pause, house, within: 5) }
            #expect(error?.code == .routeBusy)
            #expect(await house.engine.running.first?.begun == [])
        }
    }

    @Test("a step that another one takes along is seen by its effect, or is unverified")
    func observed() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let lounge = try house.lounge()
            lounge.reports { $0.volume = VolumeState(level: VolumePosition(0.3)) }
            #expect(await eventually { await house.session()?.members[0].volume?.level.value == 0.3 })
            house.clock.advance(seconds: 1)
            #expect(try await perform(.stepVolume(0.1, room: nil), house, within: 5) == .succeeded)
            // These two come within the time in which steps are added up.
            async let first = perform(.stepVolume(0.1, room: nil), house, within: 5)
            #expect(await eventually { await house.engine.running.first?.coalescer.count == 2 })
            async let second = perform(.stepVolume(0.1, room: nil), house, within: 5)
            #expect(await eventually { await house.engine.running.first?.coalescer.count == 3 })
            house.clock.advance(nanoseconds: CommandCoalescer.windowNanoseconds)
            #expect(try await first == .succeeded)
            #expect(try await second == .succeeded)
            #expect(
                await eventually { abs((await house.session()?.members[0].volume?.level.value ?? 0) - 0.6) < 0.001 })
        }
    }

    @Test("commands under terms take the place of their like alone")
    func coalesced() {
        var coalescer = CommandCoalescer()
        let item = ItemID(rawValue: "A")
        let seek = RemoteCommand.seekBy(MediaTime(seconds: 1))
        _ = coalescer.enter(seek, .seek, at: 0)
        let plain = coalescer.enter(seek, .seek, at: 1)
        let other = CommandCoalescer.Kind.wanted(.seek, expected: item, timed: false)
        _ = coalescer.enter(seek, other, at: 2)
        let expected = coalescer.enter(seek, other, at: 3)
        #expect(coalescer.enter(seek, .wanted(.seek, expected: item, timed: true), at: 4).until == nil)
        #expect(coalescer.leave(plain, at: CommandCoalescer.windowNanoseconds) == seek)
        #expect(coalescer.leave(expected, at: CommandCoalescer.windowNanoseconds + 2) == seek)
    }

    @Test("a time out of range is refused", arguments: [0, -1, 0.05, 600.5, 1e9])
    func range(_ seconds: Double) async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let error = await #expect(throws: RouterError.self) { try await perform(.pause, house, within: seconds) }
            #expect(error?.code == .configuration && error?.hint != nil)
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("a session that was cut short is taken up for the item that it was at only")
    func suspended() async throws {
        func house(_ store: InMemoryStore) -> House {
            let house = House(store: store, recallsSessions: true) { _, cast in
                [cast.endpoint(named: "Lounge", host: "10.0.0.2")]
            }
            for name in ["one", "two"] { house.media.add(name, seconds: 600) }
            return house
        }
        let store = InMemoryStore()
        let crashed = house(store)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await crashed.engine.run() }
            let session = try await crashed.play(["one", "two"], in: ["Lounge"])
            let ids = session.queue.items.map(\.id)
            #expect(await crashed.turn(seconds: 3) { await store.sessionsToRejoin().count == 1 })
            try await house(store).live { (house) async throws -> Void in
                #expect(await house.engine.sessions().first?.connection == .suspended)
                func play(for item: ItemID) async throws -> CommandOutcome {
                    let terms = CommandTerms(expected: item, within: MediaTime(seconds: 30))
                    return try await house.engine.perform(.play, session: session.id, origin: .cli, terms: terms)
                        .outcome
                }
                #expect(try await play(for: ids[1]) == .superseded)
                #expect(await house.engine.sessions().first?.connection == .suspended)
                #expect(try await play(for: ids[0]) == .succeeded)
                #expect(await house.session()?.media == .playing)
            }
            group.cancelAll()
        }
    }
}
