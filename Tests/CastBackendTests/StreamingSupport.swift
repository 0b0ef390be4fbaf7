import CastBackend
import Foundation
import Logging
import Media
import Pacing
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Synchronization
import Testing

/// Simulated receivers that are streamed to, and what they heard.
enum Streaming {
    static let isLong = ProcessInfo.processInfo.environment["ROUTER_LONG"] == "1"
    static let clock = SystemHostClock()

    /// Devices, each with a session on it, and the folder of their recordings.
    ///
    /// - Parameters:
    ///   - count: devices.
    ///   - configure: makes each what it is.
    static func withDevices(
        _ count: Int = 1, query: String = "", options: OpenOptions = OpenOptions(),
        identity: CastIdentityPolicy? = nil, configure: (Int, inout SimulatedCastConfiguration) -> Void = { _, _ in },
        prepare: (SimulatedCastReceiver) async throws -> Void = { _ in },
        _ body: ([Device]) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "streaming-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let pacer = try Pacer()
        let report = StreamReport()
        let provider = CastProvider(
            logger: Logger(label: "test") { _ in report }, identity: identity, pacer: pacer)
        var devices: [Device] = []
        for number in 0..<count {
            var configuration = SimulatedCastConfiguration(name: "Room \(number)", port: 0, httpPort: nil)
            configuration.recordingFolder = folder
            configuration.recordingName = "room-\(number)"
            configure(number, &configuration)
            let receiver = try SimulatedCastReceiver(configuration)
            let port = try await receiver.start().port
            let uri = try DeviceURI("cast://127.0.0.1:\(port)?stream=1&name=Room%20\(number)\(query)")
            do {
                try await prepare(receiver)
                let session = try await provider.open(provider.endpoint(from: uri), options: options)
                devices.append(Device(receiver: receiver, session: session, report: report))
            } catch {
                for device in devices { await device.stop() }
                await receiver.stop()
                throw error
            }
        }
        do {
            try await body(devices)
        } catch {
            for device in devices { await device.stop() }
            throw error
        }
        for device in devices { await device.stop() }
    }

    struct Device: Sendable {
        var receiver: SimulatedCastReceiver
        var session: any RouteSession
        var report: StreamReport

        func stop() async {
            await session.end(.stop)
            await receiver.stop()
        }

        /// Why it was lost.
        func loss() async -> RouterError? {
            for await update in session.updates() where update.connection != .connected { return update.error }
            return nil
        }

        func isFinished() async -> Bool {
            for await update in session.updates() where update.media == .stopped {
                return update.stopReason == .finished
            }
            return false
        }
    }

    /// A tone at each side, a period of which is longer than any error that could be.
    static let tones = (left: 100.0, right: 1000.0)

    static func withFeed(seconds: Int, _ body: (any AudioFeed) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "tones-\(UUID().uuidString).wav")
        defer { try? FileManager.default.removeItem(at: file) }
        try Self.wav(seconds: seconds).write(to: file)
        let media = MediaLibrary(
            configuration: MediaConfiguration(serverPort: 0), clock: Self.clock,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let feed = try await media.feed(
            FeedItem(item: ItemID(rawValue: "tones"), source: .file(path: file.path())),
            events: FeedEvents(next: { _ in nil }, started: { _, _, _ in }, ended: { _, _, _ in }))
        try await body(feed)
        await media.stop()
    }

    private static func wav(seconds: Int) -> Data {
        let frames = seconds * 44_100
        var data = Data("RIFF".utf8)
        func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
        }
        append(UInt32(36 + frames * 4))
        data.append(Data("WAVEfmt ".utf8))
        append(UInt32(16))
        for field in [1, 2] as [UInt16] { append(field) }
        append(UInt32(44_100))
        append(UInt32(176_400))
        for field in [4, 16] as [UInt16] { append(field) }
        data.append(Data("data".utf8))
        append(UInt32(frames * 4))
        for frame in 0..<frames {
            for tone in [tones.left, tones.right] {
                append(Int16(12_000 * sin(2 * .pi * tone * Double(frame) / 44_100)))
            }
        }
        return data
    }

    /// By how many nanoseconds what a receiver played was later than the timeline says, at each of its marks.
    static func lateness(_ record: SimulatedCastStreamingRecord, _ timeline: Timeline) throws -> [Int64] {
        let samples = try Recording.samples(wav: #require(record.recording))
        let span = 4_800
        return record.marks.compactMap { mark in
            guard (mark.frame + span) * 2 <= samples.count else { return nil }
            let start = Double(mark.hostNanoseconds - timeline.hostNanoseconds) / 1e9
            var (sine, cosine) = (0.0, 0.0)
            for frame in 0..<span {
                let angle = 2 * .pi * tones.left * (start + Double(frame) / 48_000)
                let sample = Double(samples[(mark.frame + frame) * 2])
                sine += sample * sin(angle)
                cosine += sample * cos(angle)
            }
            // Where there is silence, there is no phase.
            guard (sine * sine + cosine * cosine).squareRoot() > 4_000 * Double(span) / 2 else { return nil }
            return Int64(-atan2(cosine, sine) / (2 * .pi * tones.left) * 1e9)
        }
    }

    static func play(_ feed: any AudioFeed, on devices: [Device]) async throws -> Timeline {
        // How long a decoder takes to begin is no matter of the stream.
        for device in devices {
            guard case .push(let needs) = device.session.descriptor.delivery else { continue }
            _ = try await feed.packets(needs.format, from: 0).next()
        }
        let timeline = Timeline(hostNanoseconds: Self.clock.now() + 800_000_000, mediaTime: .zero)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for device in devices {
                group.addTask {
                    try await device.session.load(
                        .push(PushMedia(feed: feed, fromFrame: 0)), timeline: timeline, autoplay: true)
                }
            }
            try await group.waitForAll()
        }
        return timeline
    }
}

/// Keeps what the sender says of a stream that has ended.
final class StreamReport: LogHandler, Sendable {
    private let said = Mutex<[String]>([])

    var logLevel: Logger.Level {
        get { .debug }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    /// Of each stream that has ended, what is known of it.
    var lines: [String] { said.withLock { $0 } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        guard event.message == "stream ended", let facts = event.metadata else { return }
        let line = facts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        said.withLock { $0.append(line) }
    }
}
