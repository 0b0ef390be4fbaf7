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
import Testing

/// Cast Streaming against the simulated receiver, whose streaming side Chromium has proven.
@Suite("Cast Streaming to the simulated receiver", .serialized, .timeLimit(.minutes(10)))
struct StreamingTests {
    static let isLong = ProcessInfo.processInfo.environment["ROUTER_LONG"] == "1"
    static let seconds = isLong ? 60 : 6
    static let clock = SystemHostClock()

    /// Devices, each with a session on it, and the folder of their recordings.
    private func withDevices(
        _ faults: [CastStreamingFaults], query: String = "", _ body: ([Device]) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "streaming-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let pacer = try Pacer()
        let provider = CastProvider(pacer: pacer)
        var devices: [Device] = []
        for (number, faults) in faults.enumerated() {
            var configuration = SimulatedCastConfiguration(name: "Room \(number)", port: 0, httpPort: nil)
            configuration.recordingFolder = folder
            configuration.recordingName = "room-\(number)"
            configuration.faults.streaming = faults
            let receiver = try SimulatedCastReceiver(configuration)
            let port = try await receiver.start().port
            let uri = try DeviceURI("cast://127.0.0.1:\(port)?stream=1&name=Room%20\(number)\(query)")
            do {
                let session = try await provider.open(provider.endpoint(from: uri), options: OpenOptions())
                devices.append(Device(receiver: receiver, session: session))
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

        func stop() async {
            await session.end(.stop)
            await receiver.stop()
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

    private func withFeed(seconds: Int, _ body: (any AudioFeed) async throws -> Void) async throws {
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
    private static func lateness(_ record: SimulatedCastStreamingRecord, _ timeline: Timeline) throws -> [Int64] {
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

    private func play(_ feed: any AudioFeed, on devices: [Device]) async throws -> Timeline {
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

    @Test("R5 everything is heard, in time, whatever part is lost on the way", arguments: [0, 0.01, 0.05, 0.1])
    func loss(share: Double) async throws {
        var faults = CastStreamingFaults()
        faults.lose = share
        try await withDevices([faults]) { devices in
            try await withFeed(seconds: Self.seconds) { feed in
                let timeline = try await play(feed, on: devices)
                #expect(await devices[0].isFinished())
                // The last frames are heard as the session says so.
                try await Self.clock.sleep(nanoseconds: 300_000_000)
                let record = await devices[0].receiver.streamingRecord()
                let sent = devices[0].session.delivered
                let late = try Self.lateness(record, timeline)
                let worst = late.map(abs).max() ?? .max
                print(
                    "cast-streaming", "loss=\(share)", "seconds=\(Self.seconds)", "heard=\(record.heardFrames)",
                    "lost=\(record.lostFrames)", "glitches=\(record.glitches)", "missed=\(record.audio.missedFrames)",
                    "datagrams-lost=\(record.lostDatagrams)", "sent=\(sent?.packetsSent ?? 0)",
                    "resent=\(sent?.packetsResent ?? 0)", "delay=\(record.playoutDelay)ms",
                    "worst=\(worst / 1000)us")
                #expect(record.audio.missedFrames == 0 && record.lostFrames == 0 && record.glitches == 0)
                #expect(record.audio.refusedPackets == 0 && record.audio.undecodableFrames == 0)
                #expect(record.malformedDatagrams == 0)
                #expect(record.heardFrames >= Self.seconds * 48_000)
                #expect(record.playoutDelay == 400)
                #expect(late.count >= Self.seconds - 2 && worst < 1_000_000)
                #expect((share > 0) == (record.lostDatagrams > 0))
            }
        }
    }

    @Test("R5 two receivers play within a millisecond of each other, however they lose")
    func together() async throws {
        var losing = CastStreamingFaults()
        losing.lose = 0.05
        try await withDevices([CastStreamingFaults(), losing]) { devices in
            try await withFeed(seconds: Self.seconds) { feed in
                let timeline = try await play(feed, on: devices)
                for device in devices { #expect(await device.isFinished()) }
                var all: [[Int64]] = []
                for device in devices {
                    all.append(try Self.lateness(await device.receiver.streamingRecord(), timeline))
                }
                let both = all.flatMap { $0 }
                let spread = (both.max() ?? .max) - (both.min() ?? 0)
                print("cast-streaming", "receivers=2", "seconds=\(Self.seconds)", "spread=\(spread / 1000)us")
                #expect(all.allSatisfy { $0.count >= Self.seconds - 2 } && spread < 1_000_000)
            }
        }
    }

    @Test("R5 a pause stops the sound, and it goes on where it was, in time")
    func pausing() async throws {
        try await withDevices([CastStreamingFaults()]) { devices in
            let (session, receiver) = (devices[0].session, devices[0].receiver)
            try await withFeed(seconds: 4) { feed in
                _ = try await play(feed, on: devices)
                #expect(await eventually { await receiver.streamingRecord().heardFrames > 48_000 })
                #expect(try await session.perform(.pause) == .succeeded)
                let timeline = Timeline(
                    hostNanoseconds: Self.clock.now() + 2_500_000_000, mediaTime: MediaTime(seconds: 2))
                #expect(try await session.perform(.play(timeline, fromFrame: 88_200)) == .succeeded)
                #expect(await devices[0].isFinished())
                let record = await receiver.streamingRecord()
                #expect(record.glitches == 0 && record.audio.missedFrames == 0)
                let resumed = try Self.lateness(record, timeline).suffix(1)
                #expect(!resumed.isEmpty && resumed.allSatisfy { abs($0) < 1_000_000 })
            }
        }
    }

    @Test("R5 a receiver that refuses, says nothing, or is gone is told in words")
    func refusals() async throws {
        var refusing = CastStreamingFaults()
        refusing.errorCode = 7
        let refusal = await #expect(throws: RouterError.self) { try await withDevices([refusing]) { _ in } }
        #expect(refusal?.code == .unsupported && refusal?.message.contains("code 7") == true)
        try await withDevices([CastStreamingFaults()]) { devices in
            await devices[0].receiver.appCrashes()
            #expect(
                await eventually {
                    for await update in devices[0].session.updates() { return update.connection == .ended }
                    return false
                })
            await #expect(throws: RouterError.self) { try await devices[0].session.perform(.pause) }
        }
        let wrong = await #expect(throws: RouterError.self) {
            try await withDevices([CastStreamingFaults()], query: "&delay=20") { _ in }
        }
        #expect(wrong?.code == .configuration)
    }

    @Test("R5 a stopped session leaves nothing on the device")
    func stopping() async throws {
        try await withDevices([CastStreamingFaults()]) { devices in
            #expect(await eventually { await devices[0].receiver.streamingRecord().isRunning })
            await devices[0].session.end(.stop)
            #expect(await eventually { await !devices[0].receiver.streamingRecord().isRunning })
            await devices[0].session.end(.stop)
        }
    }
}
