import AirPlayBackend
import Foundation
import Pacing
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

/// Runs that begin before their queue is full.
extension AirPlay2SessionTests {
    /// As soon as the engine would have it.
    static func soon(_ session: any RouteSession, fromFrame frame: Int64 = 0) throws -> Timeline {
        guard case .push(let needs) = session.descriptor.delivery else { throw CancellationError() }
        #expect(needs.startLeadNanoseconds == 350_000_000)
        #expect(needs.leadNanoseconds == 2_000_000_000)
        return Timeline(
            hostNanoseconds: SystemHostClock().now() + needs.startLeadNanoseconds + 60_000_000,
            mediaTime: MediaTime(frames: frame, sampleRate: 44_100))
    }

    static func play(soon feed: SignalFeed, on session: any RouteSession) async throws {
        try await session.load(
            .push(PushMedia(feed: feed, fromFrame: 0)), timeline: try soon(session), autoplay: true)
    }

    @Test(
        "A8 A run begins soon: every sample is heard from the first on, with losses too",
        arguments: [("", 0), ("", 0.03), ("&clock=ntp", 0.1)])
    func soon(query: String, loss: Double) async throws {
        let room = try await AirPlay2Room(query: query) { $0.faults.dropAudio = loss }
        let session = try await room.open()
        let feed = SignalFeed(frames: 352 * 400)
        try await Self.play(soon: feed, on: session)
        #expect(await ShairportSyncTests.finished(session))
        let statistics = try #require(session as? AirPlayRouteSession).statistics
        await session.end(.stop)
        await room.receiver.stop()
        #expect(room.exactFrames(feed.frames) == Int(feed.frames))
        let record = await room.receiver.record()
        #expect(record.lostFrames == 0)
        #expect(record.droppedPackets > 0 || loss == 0)
        #expect(statistics.skipped == 0 && statistics.resendsMissed == 0)
        await room.stop()
    }

    @Test("A8 A buffered run begins soon, and after a pause as well")
    func bufferedSoon() async throws {
        let room = try await AirPlay2Room(query: "&stream=buffered")
        let session = try await room.open()
        guard case .push(let needs) = session.descriptor.delivery else { throw CancellationError() }
        #expect(needs.startLeadNanoseconds == 800_000_000)
        await session.end(.stop)
        await room.stop()
    }

    @Test("A1 A RAOP run begins soon, plays on soon after a pause, and loses nothing", arguments: [0, 0.1])
    func raopSoon(loss: Double) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "raop-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = SimulatedRAOPConfiguration(name: "Room", port: 0)
        configuration.recordingFolder = folder
        configuration.faults.dropAudio = loss
        let receiver = SimulatedRAOPReceiver(configuration)
        let port = try await receiver.start()
        let provider = AirPlayProvider(clock: SystemHostClock(), pacer: try Pacer())
        let session = try await provider.open(
            provider.endpoint(from: DeviceURI("raop://127.0.0.1:\(port)?name=Room&am=Speaker1,1")),
            options: OpenOptions())
        #expect(await receiver.record().requests.contains("RECORD"), "before anybody waits for sound")
        let feed = SignalFeed(frames: 352 * 400)
        try await Self.play(soon: feed, on: session)
        #expect(await eventually { await receiver.record().renderedFrames > 60_000 })
        _ = try await session.perform(.pause)
        let before = await receiver.record()
        #expect(before.lostFrames == 0)
        let from: Int64 = 352 * 250
        _ = try await session.perform(.play(try Self.soon(session, fromFrame: from), fromFrame: from))
        #expect(await ShairportSyncTests.finished(session))
        await session.end(.stop)
        await receiver.stop()
        let record = await receiver.record()
        #expect(record.lostFrames == 0)
        #expect(record.requests.count { $0 == "RECORD" } == 1)
        let heard = try Data(contentsOf: folder.appending(path: "Room.wav")).dropFirst(44)
        #expect(Self.exact(heard, from: 0, count: 40_000))
        #expect(Self.exact(heard, from: from, count: Int(feed.frames - from)))
    }

    /// Whether so many frames of the signal are heard in one piece.
    static func exact(_ heard: Data, from first: Int64, count: Int) -> Bool {
        var signal = Data(capacity: count * 4)
        for frame in first..<(first + Int64(count)) {
            let (left, right) = SignalFeed.samples(frame)
            for sample in [left, right] { withUnsafeBytes(of: sample.littleEndian) { signal.append(contentsOf: $0) } }
        }
        return heard.range(of: signal) != nil
    }
}
