import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("A10 buttons on devices", .timeLimit(.minutes(2)))
struct DeviceCommandTests {
    /// Two rooms that are sent packets, three files of ten seconds.
    private static func twoRooms(limit: VolumePosition? = nil) -> House {
        let house = House(rooms: limit.map { [Room(name: "Kitchen", devices: ["Kitchen"], volumeLimit: $0)] } ?? []) {
            airplay, _ in
            [airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Bath", host: "10.0.0.2")]
        }
        for name in ["one", "two", "three"] { house.media.add(name, seconds: 10) }
        return house
    }

    private func device(_ name: String, _ house: House) throws -> FakeRouteSession {
        try #require(house.airplay.session(named: name))
    }

    private func media(_ house: House) async -> MediaState? { await house.session()?.media }

    /// Reports of commands, as they are told.
    private func reports(_ events: AsyncStream<RouterEvent>) -> AsyncStream<CommandReport> {
        let (stream, continuation) = AsyncStream.makeStream(of: CommandReport.self)
        let task = Task {
            for await event in events { if case .command(let report) = event.body { continuation.yield(report) } }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    @Test("a button on one room of two acts on the session: both pause, both go on")
    func pauseAndPlay() async throws {
        try await Self.twoRooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            let (kitchen, bath) = (try device("Kitchen", house), try device("Bath", house))
            kitchen.presses(.pause)
            #expect(await eventually { await media(house) == .paused })
            #expect(kitchen.asked.contains(.perform(.pause)))
            #expect(bath.asked.contains(.perform(.pause)))
            bath.presses(.play)
            #expect(await eventually { await media(house) == .playing })
            kitchen.presses(.toggle)
            #expect(await eventually { await media(house) == .paused })
        }
    }

    @Test("next and previous move the queue, and the event says which device it was")
    func nextWithOrigin() async throws {
        try await Self.twoRooms().live { house in
            let session = try await house.play(["one", "two", "three"], in: ["Kitchen"])
            var told = reports(await house.engine.events()).makeAsyncIterator()
            let kitchen = try device("Kitchen", house)
            let route = try #require(session.members.first?.route)
            kitchen.presses(.next)
            let next = try #require(await told.next())
            #expect(next.command == .next)
            #expect(next.origin == .device(route))
            #expect(next.outcome == .succeeded)
            #expect(next.session == session.id)
            #expect(await house.session()?.queue.current == session.queue.items[1].id)
            kitchen.presses(.previous)
            #expect(await told.next()?.command == .previous)
            #expect(await house.session()?.queue.current == session.queue.items[0].id)
        }
    }

    @Test("a command of people is told with its origin as well")
    func otherOrigins() async throws {
        try await Self.twoRooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            var told = reports(await house.engine.events()).makeAsyncIterator()
            let result = try await house.engine.perform(.pause, session: nil, origin: .web)
            let report = try #require(await told.next())
            #expect(report.id == result.id)
            #expect(report.origin == .web)
        }
    }

    @Test("stop pauses and keeps the queue, and says so")
    func stop() async throws {
        try await Self.twoRooms().live { house in
            _ = try await house.play(["one", "two"], in: ["Kitchen"])
            var events = (await house.engine.events()).makeAsyncIterator()
            try device("Kitchen", house).presses(.stop)
            #expect(await eventually { await media(house) == .paused })
            #expect(await house.session()?.queue.items.count == 2)
            var notice: Notice?
            while notice == nil, let event = await events.next() {
                if case .notice(let told) = event.body { notice = told }
            }
            #expect(notice?.severity == .info)
            #expect(notice?.message.contains("Kitchen was told to stop") == true)
        }
    }

    @Test("what devices may not do is denied", arguments: [RemoteCommand.rate(1.5), .selectTracks([1]), .skipAd])
    func denied(_ command: RemoteCommand) async throws {
        try await Self.twoRooms().live { house in
            let session = try await house.play(["one"], in: ["Kitchen"])
            let route = try #require(session.members.first?.route)
            let result = try await house.engine.perform(command, session: nil, origin: .device(route))
            #expect(result.outcome == .denied)
            // Of another device there is nothing to be done.
            let stranger = try await house.engine.perform(
                .pause, session: nil, origin: .device(RouteID(rawValue: "nobody")))
            #expect(stranger.outcome == .deviceNotFound)
        }
    }

    @Test("a knob turns its own room, keeps to its limit, and many turns are one")
    func volume() async throws {
        try await Self.twoRooms(limit: VolumePosition(0.7)).live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            let (kitchen, bath) = (try device("Kitchen", house), try device("Bath", house))
            for level in [0.55, 0.6, 0.65, 0.95] { kitchen.presses(.setVolume(VolumePosition(level), room: nil)) }
            @Sendable func volumes(_ session: FakeRouteSession) -> [VolumeState] {
                session.asked.compactMap { if case .volume(let volume) = $0 { volume } else { nil } }
            }
            #expect(await house.turn(seconds: 5) { !volumes(kitchen).isEmpty })
            #expect(volumes(kitchen) == [VolumeState(level: VolumePosition(0.7))])
            #expect(volumes(bath).isEmpty)
            #expect(await eventually { await house.member("Kitchen")?.volume?.level.value == 0.7 })
            kitchen.presses(.stepVolume(-0.1, room: nil))
            kitchen.presses(.stepVolume(-0.1, room: nil))
            #expect(await house.turn(seconds: 5) { volumes(kitchen).count == 2 })
            #expect(abs((volumes(kitchen).last?.level.value ?? 0) - 0.5) < 0.001)
        }
    }

    @Test("an echo of what was set is not sent again; a turn on the device itself comes back as state")
    func echo() async throws {
        try await Self.twoRooms().live { house in
            let session = try await house.play(["one"], in: ["Kitchen"])
            let route = try #require(session.members.first?.route)
            let kitchen = try device("Kitchen", house)
            _ = try await house.engine.perform(
                .setVolume(VolumePosition(0.4), room: nil), session: nil, origin: .cli)
            // A title may be shown at any time.
            func set() -> Int { kitchen.asked.count { if case .volume = $0 { true } else { false } } }
            let before = set()
            let outcome = try await house.engine.perform(
                .setVolume(VolumePosition(0.402), room: nil), session: nil, origin: .device(route)
            ).outcome
            #expect(outcome == .succeeded)
            #expect(set() == before)
            kitchen.reports { $0.volume = VolumeState(level: VolumePosition(0.8)) }
            #expect(await eventually { await house.session()?.members.first?.volume?.level.value == 0.8 })
            #expect(set() == before, "state that comes back is not set again")
        }
    }

    @Test("what cannot be done is told as a notice, and the session goes on")
    func failure() async throws {
        try await Self.twoRooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            var told = reports(await house.engine.events()).makeAsyncIterator()
            let kitchen = try device("Kitchen", house)
            kitchen.presses(.next)
            #expect(await told.next()?.outcome == .noSuchContent)
            kitchen.presses(.pause)
            #expect(await told.next()?.outcome == .succeeded)
        }
    }

    // MARK: The queue of one device

    @Test("a row of the same becomes one; what is between keeps its place")
    func coalescing() {
        var queue = DeviceCommandQueue()
        for command in [
            RemoteCommand.seek(to: MediaTime(seconds: 1)), .seek(to: MediaTime(seconds: 2)),
            .seekBy(MediaTime(seconds: 3)), .seekBy(MediaTime(seconds: 4)), .next, .next,
            .stepVolume(0.1, room: nil), .setVolume(VolumePosition(0.3), room: nil),
        ] { queue.add(command, at: 0) }
        #expect(
            queue.waiting == [
                .seek(to: MediaTime(seconds: 2)), .seekBy(MediaTime(seconds: 7)), .next, .next,
                .setVolume(VolumePosition(0.3), room: nil),
            ])
        #expect(queue.settles)
        _ = queue.take()
        _ = queue.take()
        #expect(!queue.settles)
    }

    @Test("a toggle that comes by two ways is one; presses without end are not kept")
    func doublesAndLimit() {
        var queue = DeviceCommandQueue()
        let times = [0, DeviceCommandQueue.doublingNanoseconds - 1, DeviceCommandQueue.doublingNanoseconds]
        let taken = times.map { queue.add(.toggle, at: $0) }
        #expect(taken == [true, false, true])
        for _ in 0..<1000 { queue.add(.next, at: 0) }
        #expect(queue.waiting.count == DeviceCommandQueue.limit)
    }
}
