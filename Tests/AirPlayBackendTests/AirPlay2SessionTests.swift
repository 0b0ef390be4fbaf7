import AirPlay
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

@testable import AirPlayBackend

/// Against the simulated AirPlay 2 receiver, whose server side is written apart from ours.
@Suite("AirPlay 2 sessions", .serialized, .timeLimit(.minutes(2)))
struct AirPlay2SessionTests {
    @Test(
        "A8 Every sample arrives, by PTP and by NTP, and the room is known to play",
        arguments: ["", "&clock=ntp", "&record=after"])
    func everySample(query: String) async throws {
        let room = try await AirPlay2Room(query: query)
        let session = try await room.open()
        let feed = SignalFeed(frames: 352 * 250 + 100)
        try await ShairportSyncTests.play(feed, on: session)
        try await session.present(ShairportSyncTests.nowPlaying(feed))
        #expect(await eventually { await Self.latest(session)?.proof?.certainty == .known })
        #expect(await ShairportSyncTests.finished(session))
        let record = await room.receiver.record()
        await session.end(.stop)
        await room.receiver.stop()
        #expect(room.exactFrames(feed.frames) == Int(feed.frames))
        #expect(record.sessions.first?.isEncrypted == true)
        #expect(record.sessions.first?.clock == (query.contains("ntp") ? .ntp : .ptp))
        #expect(record.metadata.last?.title == "Title ü")
        #expect(record.feedbacks > 0)
        #expect(record.lostPackets == 0)
        // Nothing is touched that nobody asked for.
        #expect(record.volumes.isEmpty)
        #expect(await room.receiver.record().teardowns == 1)
        let order = record.requests.filter { $0 == "RECORD" || $0 == "SETUP" }
        #expect(order == (query.contains("after") ? ["SETUP", "SETUP", "RECORD"] : ["SETUP", "RECORD", "SETUP"]))
        #expect(room.story.facts[AirPlay2FallBack.fact]?.contains(query.contains("ntp") ? "ntp" : "ptp") == true)
        await room.stop()
    }

    @Test("A8 Pause is quick, and playing on begins at the frame asked for")
    func pause() async throws {
        let room = try await AirPlay2Room()
        let session = try await room.open()
        let feed = SignalFeed(frames: 44_100 * 60)
        try await ShairportSyncTests.play(feed, on: session)
        #expect(await eventually { await room.receiver.record().renderedFrames > 10_000 })
        #expect(try await session.perform(.pause) == .succeeded)
        #expect(await room.receiver.record().flushes.count == 1)
        let before = await room.receiver.record().renderedFrames
        let from: Int64 = 352 * 1000
        let timeline = ShairportSyncTests.timeline(from)
        #expect(try await session.perform(.play(timeline, fromFrame: from)) == .succeeded)
        #expect(await eventually { await room.receiver.record().renderedFrames > before + 30_000 })
        await session.end(.stop)
        await room.receiver.stop()
        #expect(room.exactFrames(4000) == 4000)
        #expect(room.exactFrames(from + 8000, from: from) == 8000)
        await room.stop()
    }

    @Test("R6 A device with a code wants to be paired, is paired, and knows us then")
    func code() async throws {
        let room = try await AirPlay2Room { $0.pairing = .code(.fixed("1234")) }
        var error = await #expect(throws: RouterError.self) { _ = try await room.open() }
        #expect(error?.code == .authRequired)
        #expect(error?.hint?.contains("router pair Room") == true)
        let flow = try await room.provider.pairing(with: room.endpoint, options: room.options())
        #expect(flow.kind == .pin)
        guard case .needsCode(let prompt) = try await flow.begin() else {
            Issue.record("no code was asked for")
            return
        }
        #expect(prompt.contains("Room"))
        error = await #expect(throws: RouterError.self) { _ = try await flow.supply(Secret("4321")) }
        #expect(error?.code == .authFailed)
        _ = try await flow.begin()
        guard case .done(let credentials) = try await flow.supply(Secret("1234")) else {
            Issue.record("the pairing is not done")
            return
        }
        await flow.end()
        let session = try await room.open(credentials: credentials)
        await session.end(.stop)
        #expect(await room.receiver.record().sessions.last?.isEncrypted == true)
        try await room.provider.unpair(room.endpoint, options: room.options(credentials: credentials))
        error = await #expect(throws: RouterError.self) { _ = try await room.open(credentials: credentials) }
        #expect(error?.code == .authRequired)
        await room.stop()
    }

    @Test("R6 A password takes the place of the code")
    func password() async throws {
        let room = try await AirPlay2Room { $0.pairing = .password("open sesame") }
        var error = await #expect(throws: RouterError.self) { _ = try await room.open() }
        #expect(error?.code == .authRequired)
        #expect(error?.hint?.contains("ROUTER_PASSWORD") == true)
        error = await #expect(throws: RouterError.self) { _ = try await room.open(password: "wrong") }
        #expect(error?.code == .authFailed)
        #expect(error?.description.contains("wrong") == false)
        let session = try await room.open(password: "open sesame")
        await session.end(.stop)
        await room.stop()
    }

    @Test("R6 Access control keeps us out in words")
    func accessControl() async throws {
        let room = try await AirPlay2Room { $0.pairing = .accessControl() }
        let error = await #expect(throws: RouterError.self) { _ = try await room.open() }
        #expect(error?.code == .authFailed)
        #expect(error?.message.contains("access control") == true)
        await room.stop()
    }

    @Test("A8 A device without PTP is given the time by NTP, and what worked is tried first next time")
    func memory() async throws {
        let room = try await AirPlay2Room { $0.timing = [.ntp] }
        let first = try await room.open()
        await first.end(.stop)
        let way = try #require(room.story.facts[AirPlay2FallBack.fact])
        #expect(way.hasPrefix("ntp"))
        let second = try await room.open(learnt: [AirPlay2FallBack.fact: way])
        await second.end(.stop)
        #expect(await room.receiver.record().refusals.isEmpty)
        await room.stop()
    }

    @Test("A8 Where our clock's ports are taken, NTP is tried and the cure is told; it is not remembered")
    func clockPortsTaken() async throws {
        let room = try await AirPlay2Room()
        let holder = try PTPClockService(ports: room.receiver.configuration.ptpPorts)
        try await holder.start()
        let session = try await room.open()
        #expect(room.story.phases.contains { $0.contains("held by another PTP program") && $0.contains("NTP") })
        #expect(await room.receiver.record().sessions.last?.clock == .ntp)
        #expect(room.story.facts[AirPlay2FallBack.fact] == nil)
        await session.end(.stop)
        await holder.stop()
        await room.stop()
    }

    @Test("A8 RECORD goes where the device wants it")
    func recordOrder() async throws {
        let room = try await AirPlay2Room { $0.recordOrder = .after }
        let session = try await room.open()
        #expect(room.story.facts[AirPlay2FallBack.fact]?.contains("after") == true)
        await session.end(.stop)
        await room.stop()
    }

    @Test(
        "A8 A busy device, one that hangs up and one that refuses are told apart",
        arguments: [(453, RouterError.Code.routeBusy), (500, .protocolViolation)])
    func refusals(status: Int, code: RouterError.Code) async throws {
        let room = try await AirPlay2Room {
            $0.faults.isBusy = status == 453
            if status != 453 { $0.faults.refusals = ["SETUP": status] }
        }
        let error = await #expect(throws: RouterError.self) { _ = try await room.open() }
        #expect(error?.code == code)
        await room.stop()
    }

    @Test("A8 A device that dies is told once, with the reason")
    func killed() async throws {
        let room = try await AirPlay2Room()
        let session = try await room.open()
        try await ShairportSyncTests.play(SignalFeed(frames: 44_100 * 60), on: session)
        let updates = session.updates()
        await room.receiver.dropConnections()
        var last: RouteSessionUpdate?
        for await update in updates { last = update }
        #expect(last?.connection == .failed)
        #expect(last?.error?.code == .routeLost)
        await session.end(.stop)
        await room.stop()
    }

    @Test("A8 Volume: as the device says, never touched at first, set when asked, and changed at the device")
    func volume() async throws {
        let room = try await AirPlay2Room {
            $0.initialVolume = -12
            $0.faults.refusesEarlyVolume = true
        }
        let session = try await room.open()
        #expect(session.descriptor.volume.readback == .polled)
        #expect(await Self.latest(session)?.volume == VolumeState(level: VolumePosition(0.6)))
        // Before the stream it waits.
        try await session.setVolume(VolumeState(level: VolumePosition(0.5)))
        #expect(await room.receiver.record().volumes.isEmpty)
        try await ShairportSyncTests.play(SignalFeed(frames: 44_100 * 60), on: session)
        #expect(await room.receiver.record().volumes == [-15])
        await room.receiver.turnKnob(to: -6)
        #expect(await eventually { await Self.latest(session)?.volume == VolumeState(level: VolumePosition(0.8)) })
        await session.end(.stop)
        await room.stop()
    }

    @Test("A8 A device deaf to our clock is doubtful, with the firewall rule")
    func deaf() async throws {
        let room = try await AirPlay2Room {
            $0.faults.isDeafToPTP = true
            $0.timing = [.ptp]
        }
        let session = try await room.open()
        try await ShairportSyncTests.play(SignalFeed(frames: 44_100 * 60), on: session)
        #expect(await eventually { await Self.latest(session)?.proof?.certainty == .doubtful })
        #expect(await Self.latest(session)?.proof?.hint != nil)
        await session.end(.stop)
        await room.stop()
    }

    @Test("A10 A button on the device comes as a command of ours")
    func button() async throws {
        let room = try await AirPlay2Room()
        let session = try await room.open()
        let commands = session.deviceCommands()
        #expect(await eventually { await room.receiver.record().eventConnections == 1 })
        await room.receiver.press(.next)
        var first: RemoteCommand?
        for await command in commands {
            first = command
            break
        }
        #expect(first == .next)
        await session.end(.stop)
        await room.stop()
    }

    @Test("A8 A buffered stream is sent ahead, anchored once on our clock, and forgotten on pause")
    func buffered() async throws {
        let room = try await AirPlay2Room(query: "&stream=buffered") { $0.faults.anchorRefusals = 1 }
        let session = try await room.open()
        guard case .push(let push) = session.descriptor.delivery else {
            Issue.record("it fetches")
            return
        }
        #expect(push.format.codec == .aac)
        #expect(push.format.framesPerPacket == 1024)
        try await session.load(
            .push(PushMedia(feed: OpaqueFeed(packets: 400), fromFrame: 0)), timeline: ShairportSyncTests.timeline(0),
            autoplay: true)
        var record = await room.receiver.record()
        #expect(record.streams.map(\.kind) == [.buffered])
        let anchor = try #require(record.anchors.last)
        #expect(anchor.rate == 1)
        #expect(anchor.rtpTime != nil && anchor.senderNanoseconds != nil)
        // Well ahead of what is due.
        #expect(await eventually { await room.receiver.record().audioPackets > 100 })
        #expect(try await session.perform(.pause) == .succeeded)
        record = await room.receiver.record()
        #expect(record.anchors.last?.rate == 0)
        #expect(record.bufferedFlushes.count == 1)
        #expect(record.unknownCodecPackets == 0)
        await session.end(.stop)
        await room.stop()
    }

    private static func latest(_ session: any RouteSession) async -> RouteSessionUpdate? {
        for await update in session.updates() { return update }
        return nil
    }
}

/// Packets that nobody has to understand.
private struct OpaqueFeed: AudioFeed {
    var packets: Int64
    var sampleRate: Int { 44_100 }

    func packets(_ format: AudioPacketFormat, from frame: Int64) -> any AudioPacketCursor {
        Cursor(next: frame / Int64(format.framesPerPacket), end: packets, size: format.framesPerPacket)
    }

    func retained() -> Range<Int64> { 0..<(packets * 1024) }

    actor Cursor: AudioPacketCursor {
        private var number: Int64
        private let end: Int64
        private let size: Int

        init(next: Int64, end: Int64, size: Int) {
            number = next
            self.end = end
            self.size = size
        }

        func next() -> AudioPacket? {
            guard number < end else { return nil }
            defer { number += 1 }
            return AudioPacket(
                frame: number * Int64(size), frameCount: size, payload: [0x21, 0x10, UInt8(number & 0xFF)])
        }
    }
}
