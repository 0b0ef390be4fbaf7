import RouteBackend
import RouteModel
import RouterTestKit
import Synchronization
import Testing

@testable import RouterCore

@Suite("volume of several rooms", .timeLimit(.minutes(2)))
struct VolumeTests {
    /// A clock on the wall that a test sets.
    private final class Wall: Sendable {
        let minute = Mutex(12 * 60)
        var now: Int { minute.withLock { $0 } }
        func set(_ hour: Int, _ minute: Int) { self.minute.withLock { $0 = hour * 60 + minute } }
    }

    private static func rooms(_ rooms: [Room] = [], wall: Wall? = nil) -> House {
        let house = House(rooms: rooms, localMinute: { wall?.now ?? 720 }) {
            airplay, cast in
            [
                airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Bath", host: "10.0.0.2"),
                cast.endpoint(named: "Lounge", host: "10.0.0.3"),
            ]
        }
        for name in ["one", "two"] { house.media.add(name, seconds: 7200) }
        return house
    }

    private func device(_ name: String, _ house: House) throws -> FakeRouteSession {
        try #require(house.airplay.session(named: name) ?? house.cast.session(named: name))
    }

    private static func levels(_ session: FakeRouteSession) -> [Double] {
        session.asked.compactMap { if case .volume(let volume) = $0 { volume.level.value } else { nil } }
    }

    @discardableResult
    private func command(
        _ command: RemoteCommand, _ house: House, from origin: CommandOrigin = .cli
    ) async throws -> CommandOutcome {
        // Apart from the one before: what comes in a short row is a case of its own.
        house.clock.advance(nanoseconds: CommandCoalescer.windowNanoseconds)
        return try await house.engine.perform(command, session: nil, origin: origin).outcome
    }

    /// Waits until so many volumes and seeks have come to the session.
    private func come(_ count: Int, _ house: House) async -> Bool {
        await eventually { await house.engine.running.first?.coalescer.count == count }
    }

    private func member(_ name: String, _ house: House) async throws -> SessionMember {
        try #require(await house.session()?.members.first { $0.name == name })
    }

    private func notices(_ house: House) async -> NoticeReader { NoticeReader(await house.engine.events()) }

    private struct NoticeReader {
        private var events: AsyncStream<RouterEvent>.Iterator
        init(_ events: AsyncStream<RouterEvent>) { self.events = events.makeAsyncIterator() }

        mutating func next(_ part: String) async -> Notice? {
            while let event = await events.next() {
                if case .notice(let notice) = event.body, notice.message.contains(part) { return notice }
            }
            return nil
        }
    }

    private func close(_ one: Double?, _ other: Double) -> Bool { abs((one ?? -1) - other) < 1e-6 }

    @Test("R5 the master moves all rooms and keeps their trims; one room's volume is its own trim")
    func masterAndTrims() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath", "Lounge"])
            #expect(await house.session()?.volume?.level.value == 0.5)
            try await command(.setVolume(VolumePosition(0.25), room: "Bath"), house)
            #expect(try await close(member("Bath", house).trim, 0.5))
            try await command(.setVolume(VolumePosition(0.8), room: nil), house)
            #expect(Self.levels(try device("Kitchen", house)) == [0.8])
            #expect(close(Self.levels(try device("Bath", house)).last, 0.4))
            #expect(Self.levels(try device("Lounge", house)) == [0.8])
            for level in [0, 1, 0.8] { try await command(.setVolume(VolumePosition(level), room: nil), house) }
            #expect(try await close(member("Bath", house).volume?.level.value, 0.4))
            #expect(await house.session()?.volume?.level.value == 0.8)
        }
    }

    @Test("R5 a knob that is turned changes that room's trim; above the master it raises that, and nobody else")
    func knob() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            let (kitchen, bath) = (try device("Kitchen", house), try device("Bath", house))
            kitchen.reports { $0.volume = VolumeState(level: VolumePosition(0.25)) }
            #expect(await eventually { (try? await self.member("Kitchen", house).trim) == 0.5 })
            #expect(await house.session()?.volume?.level.value == 0.5)
            bath.reports { $0.volume = VolumeState(level: VolumePosition(1)) }
            #expect(await eventually { await house.session()?.volume?.level.value == 1 })
            #expect(try await close(member("Kitchen", house).trim, 0.25))
            #expect(Self.levels(kitchen).isEmpty && Self.levels(bath).isEmpty)
        }
    }

    @Test("a command for the trim is against the loudest; a room alone has none")
    func trimCommand() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            #expect(try await command(.trim(0.5, room: "Kitchen"), house) == .succeeded)
            #expect(close(Self.levels(try device("Kitchen", house)).last, 0.25))
            #expect(Self.levels(try device("Bath", house)).isEmpty)
            #expect(try await command(.trim(0.5, room: "Attic"), house) == .deviceNotFound)
            await #expect(throws: RouterError.self) { try await command(.trim(1.5, room: "Kitchen"), house) }
            _ = try await house.engine.leave(session: nil, rooms: ["Bath"])
            #expect(await house.session()?.volume?.level.value == 0.25)
            let error = await #expect(throws: RouterError.self) {
                try await command(.trim(0.5, room: "Kitchen"), house)
            }
            #expect(error?.code == .unavailable)
        }
    }

    @Test("R5 who joins keeps its level, and who leaves changes nobody's")
    func joinAndLeave() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            try await command(.setVolume(VolumePosition(0.2), room: nil), house)
            _ = try await house.engine.join(session: nil, rooms: ["Bath"])
            #expect(Self.levels(try device("Bath", house)).isEmpty)
            #expect(await eventually { await house.session()?.volume?.level.value == 0.5 })
            #expect(try await close(member("Kitchen", house).trim, 0.4))
            _ = try await house.engine.leave(session: nil, rooms: ["Bath"])
            #expect(await close(house.session()?.volume?.level.value, 0.2))
            #expect(Self.levels(try device("Kitchen", house)) == [0.2])
        }
    }

    @Test("a limit holds in a group, alone and at the start, and is said")
    func limits() async throws {
        let rooms = [Room(name: "Bath", devices: ["Bath"], volumeLimit: VolumePosition(0.4), configured: true)]
        try await Self.rooms(rooms).live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            #expect(Self.levels(try device("Bath", house)) == [0.4], "it was at a half, and may not be")
            try await command(.setVolume(VolumePosition(0.9), room: nil), house)
            #expect(try await member("Bath", house).volume?.level.value == 0.4)
            #expect(try await member("Bath", house).volumeLimit?.value == 0.4)
            #expect(try await member("Kitchen", house).volume?.level.value == 0.9)
            var told = await notices(house)
            try await command(.setVolume(VolumePosition(0.9), room: "Bath"), house)
            #expect(await told.next("limit of 40 %") != nil)
            // Turned up at the device, it is turned down again.
            let bath = try device("Bath", house)
            for _ in 1...2 {
                let before = Self.levels(bath).count
                bath.reports { $0.volume = VolumeState(level: VolumePosition(0.7)) }
                // At once for the first time, after a pause for the next.
                #expect(await house.turn(seconds: 5) { Self.levels(bath).count > before })
                #expect(Self.levels(bath).last == 0.4)
                #expect(await told.next("turned down") != nil)
            }
        }
    }

    @Test("quiet hours hold from their first minute to their last, and turn down what plays as they begin")
    func quietHours() async throws {
        let wall = Wall()
        wall.set(21, 59)
        var room = Room(name: "Bath", devices: ["Bath"], configured: true)
        room.quietHours = try QuietHours("22:00-07:00 at 30 %")
        try await Self.rooms([room], wall: wall).live { house in
            _ = try await house.play(["one"], in: ["Bath", "Kitchen"])
            let bath = try device("Bath", house)
            try await command(.setVolume(VolumePosition(0.6), room: nil), house)
            #expect(Self.levels(bath) == [0.6])
            wall.set(22, 0)
            #expect(await house.turn(seconds: 60) { Self.levels(bath).last == 0.3 })
            #expect(try await member("Kitchen", house).volume?.level.value == 0.6)
            try await command(.setVolume(VolumePosition(0.5), room: nil), house)
            #expect(Self.levels(bath).last == 0.3)
            wall.set(7, 0)
            try await command(.setVolume(VolumePosition(0.5), room: nil), house)
            #expect(Self.levels(bath).last == 0.5)
        }
    }

    @Test("C17 a desktop's full volume is a quarter more, and is said; a person's word is done")
    func longestStep() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            var told = await notices(house)
            try await command(.setVolume(VolumePosition(1), room: nil), house, from: .mpris)
            #expect(Self.levels(try device("Kitchen", house)) == [0.75])
            #expect(await told.next("75 %")?.message.contains("100 %") == true)
            try await command(.setVolume(VolumePosition(0.1), room: nil), house, from: .mpris)
            #expect(Self.levels(try device("Kitchen", house)).last == 0.1)
            try await command(.setVolume(VolumePosition(1), room: nil), house)
            #expect(Self.levels(try device("Kitchen", house)).last == 1)
        }
    }

    @Test("two people drag one slider: the last word counts, and what is between is superseded")
    func dragging() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            let kitchen = try device("Kitchen", house)
            try await command(.setVolume(VolumePosition(0.1), room: nil), house)
            let outcomes = try await withThrowingTaskGroup(of: (Int, CommandOutcome).self) { group in
                for step in 2...6 {
                    group.addTask {
                        let origin: CommandOrigin = step.isMultiple(of: 2) ? .cli : .web
                        let level = RemoteCommand.setVolume(VolumePosition(Double(step) / 10), room: nil)
                        return (step, try await house.engine.perform(level, session: nil, origin: origin).outcome)
                    }
                    // In this order.
                    #expect(await self.come(step, house))
                }
                house.clock.advance(nanoseconds: CommandCoalescer.windowNanoseconds)
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            #expect(outcomes[6] == .succeeded)
            #expect((2...5).allSatisfy { outcomes[$0] == .superseded })
            #expect(Self.levels(kitchen) == [0.1, 0.6])
        }
    }

    @Test("steps in a row are all done, as one")
    func steps() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            try await command(.stepVolume(0.05, room: nil), house)
            async let second = house.engine.perform(.stepVolume(0.05, room: nil), session: nil, origin: .cli)
            #expect(await come(2, house))
            house.clock.advance(nanoseconds: CommandCoalescer.windowNanoseconds)
            #expect(try await second.outcome == .succeeded)
            #expect(close(Self.levels(try device("Kitchen", house)).last, 0.6))
        }
    }

    @Test("mute keeps the level; who turns the group up leaves the one room muted that somebody muted")
    func mute() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            try await command(.mute(true, room: "Bath"), house)
            #expect(try await member("Bath", house).volume == VolumeState(level: VolumePosition(0.5), muted: true))
            #expect(await house.session()?.volume?.muted == false)
            try await command(.setVolume(VolumePosition(0.7), room: nil), house)
            #expect(try await member("Bath", house).volume == VolumeState(level: VolumePosition(0.7), muted: true))
            try await command(.mute(true, room: nil), house)
            #expect(await house.session()?.volume?.muted == true)
            try await command(.stepVolume(0.05, room: nil), house)
            #expect(await house.session()?.volume?.muted == false)
        }
    }

    @Test("R4 a fade is even, takes its time, and ends where it was to")
    func fade() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            let kitchen = try device("Kitchen", house)
            try await command(.setVolume(VolumePosition(0.25), room: "Bath"), house)
            let fade = RemoteCommand.fade(to: VolumePosition(0), over: MediaTime(seconds: 100), room: nil)
            #expect(try await command(fade, house) == .accepted)
            let begun = house.clock.now()
            for step in 1...50 {
                #expect(await eventually { house.clock.isAwaited(begun + Int64(step) * 2_000_000_000) })
                house.clock.advance(seconds: 2)
                #expect(await eventually { Self.levels(kitchen).count == step }, "\(Self.levels(kitchen))")
                // What the device says of it is not to come two seconds late, as a hand at its knob would.
                await othersHaveRun()
            }
            #expect(close(Self.levels(kitchen)[24], 0.25))
            #expect(Self.levels(kitchen).last == 0)
            let bath = try device("Bath", house)
            #expect(await eventually { Self.levels(bath).last == 0 })
            #expect(await eventually { await house.session()?.volume?.level.value == 0 })
            // The trims are still there.
            try await command(.setVolume(VolumePosition(0.5), room: nil), house)
            #expect(close(Self.levels(try device("Bath", house)).last, 0.25))
        }
    }

    @Test("any other volume ends a fade: a person's, and a knob's", arguments: [true, false])
    func fadeEnds(byKnob: Bool) async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            let kitchen = try device("Kitchen", house)
            try await command(.fade(to: VolumePosition(0), over: MediaTime(seconds: 100), room: nil), house)
            #expect(await house.turn(seconds: 20) { Self.levels(kitchen).count >= 2 })
            if byKnob {
                kitchen.reports { $0.volume = VolumeState(level: VolumePosition(0.9)) }
                #expect(await eventually { await house.session()?.volume?.level.value == 0.9 })
            } else {
                try await command(.stepVolume(0.2, room: nil), house)
            }
            let count = Self.levels(kitchen).count
            house.clock.advance(seconds: 30)
            await othersHaveRun()
            house.clock.advance(seconds: 30)
            await othersHaveRun()
            #expect(Self.levels(kitchen).count == count)
            await #expect(throws: RouterError.self) {
                try await command(.fade(to: VolumePosition(0), over: MediaTime(seconds: 3601), room: nil), house)
            }
        }
    }

    @Test("a seek in a row goes to the last place only; one for an item that has gone is superseded")
    func seeks() async throws {
        try await Self.rooms().live { house in
            let items = try await house.play(["one", "two"], in: ["Lounge"]).queue.items
            let lounge = try device("Lounge", house)
            try await command(.seek(to: MediaTime(seconds: 5)), house)
            async let second = house.engine.perform(.seek(to: MediaTime(seconds: 50)), session: nil, origin: .cli)
            #expect(await come(2, house))
            async let third = house.engine.perform(.seekBy(MediaTime(seconds: 10)), session: nil, origin: .cli)
            #expect(await come(3, house))
            house.clock.advance(nanoseconds: CommandCoalescer.windowNanoseconds)
            #expect(try await [second.outcome, third.outcome] == [.superseded, .succeeded])
            let places = lounge.asked.compactMap { call -> Double? in
                if case .perform(.seek(let time, _)) = call { time.seconds } else { nil }
            }
            #expect(places == [5, 60])
            async let stale = house.engine.perform(.seek(to: MediaTime(seconds: 70)), session: nil, origin: .cli)
            #expect(await come(4, house))
            _ = try await house.engine.perform(.next, session: nil, origin: .cli)
            house.clock.advance(nanoseconds: CommandCoalescer.windowNanoseconds)
            #expect(try await stale.outcome == .superseded)
            #expect(await house.session()?.queue.current == items[1].id)
        }
    }

    @Test("steps that come before the last one is heard add up")
    func seekSteps() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            try await command(.seek(to: MediaTime(seconds: 60)), house)
            for place in [61.0, 62, 63] {
                try await command(.seekBy(MediaTime(seconds: 1)), house)
                #expect(await house.session()?.anchor?.time.seconds == place)
            }
        }
    }

    @Test("a seek while the first item is loaded is where that begins")
    func heldSeek() async throws {
        try await Self.rooms().live { house in
            let slow = house.airplay.endpoint(named: "Kitchen", host: "10.0.0.1")
            let gate = house.airplay.holdsOpening(of: slow)
            async let playing = house.play(["one"], in: ["Kitchen"])
            #expect(await eventually { await house.session() != nil })
            async let seek = house.engine.perform(.seek(to: MediaTime(seconds: 42)), session: nil, origin: .cli)
            #expect(await eventually { await house.engine.running.first?.heldSeek == MediaTime(seconds: 42) })
            gate.finish()
            _ = try await playing
            #expect(try await seek.outcome == .succeeded)
            let kitchen = try device("Kitchen", house)
            let loads = kitchen.asked.filter { if case .load = $0 { true } else { false } }
            #expect(loads.count == 1)
            #expect(await house.session()?.anchor?.time == MediaTime(seconds: 42))
        }
    }
}
