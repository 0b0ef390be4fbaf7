import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("R4 what happens while something is announced", .timeLimit(.minutes(2)))
struct AnnounceMeanwhileTests {
    private static func house(
        _ rooms: [Room] = [], store: InMemoryStore = InMemoryStore(), queueOnDevice: Bool = false
    ) -> House {
        let house = House(rooms: rooms, store: store, queueOnDevice: queueOnDevice) { airplay, cast in
            [
                airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Bath", host: "10.0.0.2"),
                cast.endpoint(named: "Lounge", host: "10.0.0.3"), cast.endpoint(named: "Den", host: "10.0.0.4"),
            ]
        }
        for name in ["one", "two"] { house.media.add(name, seconds: 600) }
        house.media.add("bell", seconds: 3)
        return house
    }

    /// An announcement under way.
    private struct Saying {
        let task: Task<AnnounceReport, any Error>
        private let over = LatestValue(false)

        init(
            _ house: House, _ rooms: [String], volume: Double? = nil, priority: AnnounceRequest.Priority = .high,
            deadline: Double = 600
        ) {
            task = Task { [over] in
                defer { over.set(true) }
                return try await house.engine.announce(
                    AnnounceRequest(
                        what: "bell", rooms: rooms, volume: volume.map { VolumePosition($0) }, priority: priority,
                        deadline: MediaTime(seconds: deadline)))
            }
        }

        var isOver: Bool { over.value }

        func rooms() async throws -> [AnnounceReport.RoomReport] { try await task.value.rooms }
    }

    private func device(_ name: String, _ house: House) -> FakeRouteSession? {
        house.airplay.session(named: name) ?? house.cast.session(named: name)
    }

    private func loads(_ name: String, _ house: House) -> Int {
        device(name, house)?.asked.count { if case .load = $0 { true } else { false } } ?? 0
    }

    private func levels(_ name: String, _ house: House) -> [Double] {
        device(name, house)?.asked.compactMap { if case .volume(let volume) = $0 { volume.level.value } else { nil } }
            ?? []
    }

    /// Waits until the device has been loaded so many times.
    private func has(_ count: Int, _ name: String, _ house: House) async -> Bool {
        await eventually { loads(name, house) >= count }
    }

    private func seconds(_ seconds: Double, _ house: House) {
        house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds)
        house.clock.advance(seconds: seconds)
    }

    /// Turns the clock, and lets everybody do what is due on the way.
    private func pass(_ seconds: Double, _ house: House) async {
        for _ in 0..<Int(seconds * 2) {
            await othersHaveRun()
            house.clock.advance(seconds: 0.5)
        }
        await othersHaveRun()
    }

    // MARK: People at the device

    @Test("a knob that is turned at the device stays where it was turned to", arguments: ["Kitchen", "Lounge"])
    func knob(room: String) async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: [room])
            seconds(10, house)
            let saying = Saying(house, [room], volume: 0.8)
            #expect(await has(2, room, house))
            #expect(await eventually { levels(room, house) == [0.8] })
            let device = try #require(self.device(room, house))
            await othersHaveRun()
            // What it is told is no turn of its knob.
            #expect(await house.session()?.volume?.level.value == 0.5)
            device.reports { $0.volume = VolumeState(level: VolumePosition(0.2)) }
            #expect(await eventually { await house.session()?.volume?.level.value == 0.2 })
            device.reachesEnd()
            #expect(try await saying.rooms().map(\.restored) == [.resumed])
            #expect(levels(room, house).allSatisfy { $0 != 0.5 })
            #expect(device.state.volume?.level.value == 0.2)
            #expect(await house.session()?.volume?.level.value == 0.2)
        }
    }

    @Test("a volume that a device sends as a command stays, and one that it only says back is none")
    func knobByCommand() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            seconds(10, house)
            let saying = Saying(house, ["Kitchen"], volume: 0.8)
            #expect(await has(2, "Kitchen", house))
            #expect(await eventually { levels("Kitchen", house) == [0.8] })
            let kitchen = try #require(device("Kitchen", house))
            kitchen.presses(.setVolume(VolumePosition(0.8), room: nil))
            await pass(1, house)
            #expect(await house.session()?.volume?.level.value == 0.5)
            kitchen.presses(.setVolume(VolumePosition(0.3), room: nil))
            #expect(await house.turn(seconds: 2) { levels("Kitchen", house).last == 0.3 })
            kitchen.reachesEnd()
            #expect(try await saying.rooms().map(\.restored) == [.resumed])
            #expect(levels("Kitchen", house).last == 0.3)
            #expect(await house.session()?.volume?.level.value == 0.3)
        }
    }

    @Test("a button at the device counts as it does any other time: pause ends it, and what played stays paused")
    func button() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            seconds(10, house)
            let saying = Saying(house, ["Kitchen"])
            #expect(await has(2, "Kitchen", house))
            device("Kitchen", house)?.presses(.pause)
            let isOver = await eventually { saying.isOver }
            #expect(isOver)
            // Not what is paused there by now.
            if !isOver { device("Kitchen", house)?.reachesEnd() }
            #expect(try await saying.rooms().map(\.restored) == [.overruled])
            #expect(await house.session()?.media == .paused)
        }
    }

    @Test("the knob of a room where nothing plays stays too; untouched, it goes back")
    func idleKnob() async throws {
        try await Self.house().live { house in
            for turned in [true, false] {
                let saying = Saying(house, ["Den"], volume: 0.8)
                #expect(await eventually { device("Den", house).map { !$0.isClosed } ?? false })
                #expect(await has(1, "Den", house))
                let den = try #require(device("Den", house))
                #expect(await eventually { den.state.volume?.level.value == 0.8 })
                if turned { den.reports { $0.volume = VolumeState(level: VolumePosition(0.3)) } }
                den.reachesEnd()
                #expect(try await saying.rooms().map(\.said) == [true])
                #expect(levels("Den", house) == (turned ? [0.8] : [0.8, 0.5]))
            }
        }
    }

    // MARK: Others of the same session

    @Test("a second one in another room of the same session waits for the first, and is said")
    func otherRoomOfSession() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            seconds(10, house)
            let first = Saying(house, ["Kitchen"])
            #expect(await has(2, "Kitchen", house))
            let second = Saying(house, ["Bath"])
            await othersHaveRun()
            #expect(loads("Bath", house) == 1 && !second.isOver)
            device("Kitchen", house)?.reachesEnd()
            #expect(try await first.rooms().map(\.said) == [true])
            #expect(await has(2, "Bath", house))
            device("Bath", house)?.reachesEnd()
            let rooms = try await second.rooms()
            #expect(rooms.map(\.said) == [true] && rooms.map(\.restored) == [.resumed])
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("a second one whose time is over before the first ends says so, and nothing is interrupted for it")
    func waitsInVain() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            seconds(10, house)
            let first = Saying(house, ["Kitchen"])
            #expect(await has(2, "Kitchen", house))
            let second = Saying(house, ["Bath"], deadline: 5)
            #expect(await eventually { await house.engine.announcements.count == 2 })
            #expect(await house.turn(seconds: 8) { second.isOver })
            let rooms = try await second.rooms()
            #expect(rooms.map(\.said) == [false] && rooms.map(\.error?.code) == [.timeout])
            #expect(loads("Bath", house) == 1)
            device("Kitchen", house)?.reachesEnd()
            #expect(try await first.rooms().map(\.said) == [true])
        }
    }

    @Test(
        "the end of the queue in the other room does not cut it off; after it the session is over",
        arguments: [false, true])
    func otherRoomEnds(endsEarly: Bool) async throws {
        try await Self.house().live { house in
            let snapshot = try await house.play(["one"], in: ["Lounge", "Den"])
            let (lounge, den) = (try #require(device("Lounge", house)), try #require(device("Den", house)))
            if endsEarly {
                _ = try await house.engine.edit(
                    .settings([snapshot.queue.items[0].id], QueueItemSettings(end: MediaTime(seconds: 20))),
                    session: nil, ifVersion: nil, workingDirectory: "/")
            }
            for session in [lounge, den] { session.reports(position: MediaTime(seconds: 15)) }
            #expect(await eventually { await house.session()?.anchor?.time.seconds == 15 })
            let saying = Saying(house, ["Lounge"], deadline: 60)
            #expect(await has(2, "Lounge", house))
            if !endsEarly { den.reachesEnd() }
            await pass(10, house)
            #expect(!saying.isOver)
            #expect(await house.session()?.announcement != nil)
            if endsEarly { #expect(den.asked.contains(.perform(.stop))) }
            lounge.reachesEnd()
            let rooms = try await saying.rooms()
            #expect(rooms.map(\.said) == [true] && rooms.map(\.restored) == [.nothing])
            #expect(await house.turn(seconds: 5) { await house.session()?.connection == .ended })
            #expect(await house.session()?.stopReason == .finished)
            #expect(loads("Lounge", house) == 2)
        }
    }

    // MARK: Who else wants the room

    @Test("with low priority, a room that has heard it is free at once, and the one that waits still hears it")
    func playsAfterItsPart() async throws {
        try await Self.house().live { house in
            let items = try await house.play(["one", "two"], in: ["Kitchen"]).queue.items
            seconds(10, house)
            let saying = Saying(house, ["Kitchen", "Den"], priority: .low)
            #expect(await has(1, "Den", house))
            device("Den", house)?.reachesEnd()
            #expect(await eventually { device("Den", house)?.isClosed ?? false })
            let played = LatestValue(false)
            let playing = Task {
                _ = try await house.play(["two"], in: ["Den"])
                played.set(true)
            }
            #expect(await eventually(within: .seconds(5)) { played.value })
            #expect(!saying.isOver)
            house.clock.advance(seconds: 590)
            #expect(await has(2, "Kitchen", house))
            #expect(await house.engine.sessions().contains { $0.queue.current == items[1].id })
            device("Kitchen", house)?.reachesEnd()
            #expect(try await saying.rooms().map(\.said) == [true, true])
            try await playing.value
        }
    }

    @Test("a room that is just being connected for it is given to whoever plays there")
    func playsWhileOpening() async throws {
        try await Self.house().live { house in
            let gate = house.cast.holdsOpening(of: house.cast.endpoint(named: "Den", host: "10.0.0.4"))
            let saying = Saying(house, ["Den"])
            #expect(await eventually { house.cast.opened.count == 1 })
            _ = try await house.play(["one"], in: ["Den"])
            gate.finish()
            let rooms = try await saying.rooms()
            #expect(rooms.map(\.said) == [false] && rooms.map(\.error?.code) == [.commandSuperseded])
            #expect(house.cast.overlaps == 0)
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("one that waits for the end of the item is over when it is cancelled, and nothing is interrupted")
    func cancelledWhileWaiting() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            seconds(10, house)
            let saying = Saying(house, ["Kitchen"], priority: .low)
            #expect(await eventually { await house.engine.announcements.count == 1 })
            await othersHaveRun()
            saying.task.cancel()
            #expect(await eventually(within: .seconds(5)) { await house.engine.announcements.count == 0 })
            house.clock.advance(seconds: 600)
            await othersHaveRun()
            #expect(loads("Kitchen", house) == 1)
            #expect(device("Kitchen", house)?.asked.contains(.perform(.pause)) == false)
        }
    }

    // MARK: After a crash

    @Test("C5 killed during one, what played is taken up where it was, and the clip comes into no queue")
    func killed() async throws {
        let saying = try await House.afterACrash(of: { Self.house(store: $0, queueOnDevice: true) }) { crashed, store in
            let before = try await crashed.play(["one", "two"], in: ["Lounge"])
            let lounge = try #require(device("Lounge", crashed))
            lounge.reports(position: MediaTime(seconds: 30))
            #expect(await eventually { await crashed.session()?.anchor?.time.seconds == 30 })
            let saying = Saying(crashed, ["Lounge"])
            #expect(await has(2, "Lounge", crashed))
            let left = lounge.state
            #expect(left.loaded != lounge.loadedTokens.first)

            try await Self.house(store: store, queueOnDevice: true).live { house in
                var state = left
                state.calls = 0
                house.cast.keeps(state, on: house.cast.endpoint(named: "Lounge", host: "10.0.0.3"))
                let after = try await house.engine.rejoin(before.id)
                #expect(after.queue.items.map(\.id) == before.queue.items.map(\.id))
                #expect(after.queue.current == before.queue.current)
                #expect(after.position?.seconds == 30)
                #expect(house.cast.session(named: "Lounge")?.loadedTokens == [lounge.loadedTokens[0]])
            }
            return saying
        }
        _ = try? await saying.task.value
    }

    @Test("R5 a room that is lost during one and comes back holding the clip plays its queue on")
    func lostWithClip() async throws {
        try await Self.house(queueOnDevice: true).live { house in
            let before = try await house.play(["one", "two"], in: ["Lounge"]).queue
            let lounge = try #require(device("Lounge", house))
            let saying = Saying(house, ["Lounge"])
            #expect(await has(2, "Lounge", house))
            var state = lounge.state
            state.calls = 0
            house.cast.keeps(state, on: house.cast.endpoint(named: "Lounge", host: "10.0.0.3"))
            lounge.isLost()
            #expect(try await saying.rooms().map(\.restored) == [.failed])
            #expect(await house.turn(seconds: 30) { house.cast.opened.count == 2 })
            #expect(await has(1, "Lounge", house))
            #expect(await house.session()?.queue.items.map(\.id) == before.items.map(\.id))
            #expect(await house.session()?.queue.current == before.current)
        }
    }
}
