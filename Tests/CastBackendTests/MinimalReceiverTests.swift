import CastBackend
import CastV2
import Foundation
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import Testing

/// Against `minimal_cast_receiver.py`, which shares no code with us.
@Suite(.enabled(if: PeerProgram.absence == nil, "\(PeerProgram.absence ?? "")"), .timeLimit(.minutes(2)))
struct MinimalReceiverTests {
    @Test("C3 C8 C9 launches, hands the URL over, follows it to its end", arguments: [true, false])
    func playsToTheEnd(launchStatus: Bool) async throws {
        let receiver = try PeerProgram(
            "minimal_cast_receiver.py",
            ["--until-eof", "--duration", "1.5", "--piece", "50000"] + (launchStatus ? ["--launch-status"] : []))
        let port = try await receiver.start()
        let file = try MediaFile(bytes: 300_000)
        let server = try PeerProgram("range_file_server.py", [file.path, "audio/flac"])
        let mediaPort = try await server.start()

        let session = try await open(port)
        #expect(session.descriptor.joined == false)
        #expect(session.descriptor.delivery == .pull(PullRequirements(receiverAddress: "127.0.0.1")))
        let token = MediaToken.random()
        let watch = Watch(session)
        try await session.load(.pull(item(token, "http://127.0.0.1:\(mediaPort)/media")), timeline: nil, autoplay: true)
        #expect(await eventually { await watch.all.contains { $0.media == .playing && $0.loaded == token } })
        #expect(await eventually { await watch.last?.stopReason == .finished })
        let position = try #require(await watch.last?.position)
        #expect(position.duration == MediaTime(seconds: 1.5))
        #expect(position.rate == 0)
        await session.end(.stop)
        #expect(await eventually { await watch.last?.connection == .ended })
        #expect(await eventually { await !receiver.events("disconnected").isEmpty })

        let fetched = try #require(await receiver.events("fetched").first)
        #expect(fetched["sha256"] as? String == file.sha256)
        #expect((fetched["ranges"] as? [any Sendable])?.count == 6)
        let messages = await receiver.messages()
        #expect(
            messages == [
                "CONNECT", "GET_STATUS", "LAUNCH", "CONNECT", "LOAD", "STOP", "CLOSE",
            ])
        #expect(await receiver.events("dropped").isEmpty)
        await server.stop()
        await receiver.stop()
    }

    @Test("C3 C17 joins a running app, and pause, seek and volume are seen by the device")
    func controls() async throws {
        let receiver = try PeerProgram("minimal_cast_receiver.py", ["--until-eof", "--running", "--duration", "600"])
        let port = try await receiver.start()
        let file = try MediaFile(bytes: 10_000)
        let server = try PeerProgram("range_file_server.py", [file.path, "audio/flac"])
        let mediaPort = try await server.start()

        let session = try await open(port)
        #expect(session.descriptor.joined)
        let watch = Watch(session)
        #expect(try await session.perform(.pause) == .noActionableItem)
        try await session.load(
            .pull(item(.random(), "http://127.0.0.1:\(mediaPort)/media")), timeline: nil, autoplay: false)
        #expect(await eventually { await watch.last?.media == .paused })
        #expect(try await session.perform(.play(nil, fromFrame: 0)) == .succeeded)
        #expect(await eventually { await watch.last?.media == .playing })
        #expect(try await session.perform(.seek(to: MediaTime(seconds: 300), resume: true)) == .succeeded)
        #expect(await eventually { (await watch.last?.position?.time.seconds ?? 0) >= 300 })
        #expect(try await session.perform(.pause) == .succeeded)
        #expect(await eventually { await watch.last?.media == .paused })
        try await session.setVolume(VolumeState(level: VolumePosition(0.25), muted: true))
        #expect(
            await eventually { await watch.last?.volume == VolumeState(level: VolumePosition(0.25), muted: true) })
        #expect(try await session.perform(.stop) == .succeeded)
        #expect(await eventually { await watch.last?.stopReason == .cancelled })
        await session.end(.stop)
        // What it prints is read in order: after this line, all that it was asked is known.
        #expect(await eventually { await !receiver.events("disconnected").isEmpty })
        // The app was there before us and stays.
        #expect(await receiver.messages().filter { $0 == "STOP" }.count == 1)
        #expect(await receiver.messages().filter { $0 == "SET_VOLUME" }.count == 2)
        #expect(await !receiver.messages().contains("LAUNCH"))
        await server.stop()
        await receiver.stop()
    }

    @Test("K1 leaving keeps the device playing: nothing is stopped")
    func leaves() async throws {
        let receiver = try PeerProgram("minimal_cast_receiver.py", ["--until-eof", "--duration", "600"])
        let port = try await receiver.start()
        let file = try MediaFile(bytes: 1000)
        let server = try PeerProgram("range_file_server.py", [file.path, "audio/flac"])
        let mediaPort = try await server.start()
        let session = try await open(port)
        try await session.load(
            .pull(item(.random(), "http://127.0.0.1:\(mediaPort)/media")), timeline: nil, autoplay: true)
        await session.end(.leave)
        #expect(await eventually { await !receiver.events("disconnected").isEmpty })
        #expect(await !receiver.messages().contains("STOP"))
        await server.stop()
        await receiver.stop()
    }

    @Test("C21 a URL that nobody serves, and a code from the device, are told in words")
    func loadFails() async throws {
        let receiver = try PeerProgram("minimal_cast_receiver.py", ["--until-eof"])
        let port = try await receiver.start()
        let session = try await open(port)
        let watch = Watch(session)
        let error = await #expect(throws: RouterError.self) {
            try await session.load(.pull(item(.random(), "http://127.0.0.1:9/media")), timeline: nil, autoplay: true)
        }
        #expect(error?.code == .mediaUnreachable)
        #expect(error?.message.contains("code 301") == true)
        #expect(await eventually { await watch.last?.stopReason == .error })
        #expect(await watch.last?.connection == .connected)
        await session.end(.stop)
        await receiver.stop()
    }

    @Test("C21 a receiver that takes everything and answers nothing ends in a timeout")
    func neverAnswers() async throws {
        let receiver = try PeerProgram("minimal_cast_receiver.py", ["--until-eof", "--never-answer"])
        let port = try await receiver.start()
        let clock = ManualClock()
        let provider = CastProvider(clock: clock)
        let endpoint = try provider.endpoint(from: DeviceURI("cast://127.0.0.1:\(port)?name=Mute"))
        let opening = Task { try await provider.open(endpoint, options: OpenOptions()) }
        // Connected, once nothing waits for the connection any more but for the first silence of six seconds.
        #expect(await eventually { clock.nextDeadline == 7_000_000_000 })
        clock.advance(seconds: 6)
        #expect(await eventually { clock.nextDeadline == 9_000_000_000 })
        clock.advance(seconds: 2)
        let error = await #expect(throws: RouterError.self) { try await opening.value }
        #expect(error?.code == .timeout)
        #expect(error?.hint != nil)
        #expect(await eventually { clock.sleepers == 0 })
        await receiver.stop()
    }

    private func open(_ port: Int) async throws -> any RouteSession {
        let provider = CastProvider()
        let endpoint = try provider.endpoint(from: DeviceURI("cast://127.0.0.1:\(port)?name=Kitchen&ca=4101"))
        return try await provider.open(endpoint, options: OpenOptions())
    }

    private func item(_ token: MediaToken, _ url: String) -> PullMedia {
        PullMedia(
            token: token, url: url, contentType: "audio/flac", live: false,
            metadata: MediaMetadata(
                kind: .music, title: "Title", artist: "Artist", album: "Album",
                images: [MediaImage(url: "http://127.0.0.1/cover.jpg", width: 600, height: 600)]),
            start: .zero)
    }
}

/// The last update of a session, as an engine would see it.
actor Watch {
    private(set) var last: RouteSessionUpdate?
    private(set) var all: [RouteSessionUpdate] = []

    init(_ session: any RouteSession) {
        let updates = session.updates()
        // Ends with the session's updates, which every test ends.
        Task { for await update in updates { await self.take(update) } }
    }

    private func take(_ update: RouteSessionUpdate) {
        last = update
        all.append(update)
    }
}

/// A file of noise, for as long as it is held.
final class MediaFile: Sendable {
    let path: String
    let sha256: String

    init(bytes count: Int) throws {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        let bytes = (0..<count).map { _ -> UInt8 in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
        let url = FileManager.default.temporaryDirectory.appending(path: "cast-\(UUID().uuidString).bin")
        try Data(bytes).write(to: url)
        path = url.path
        let sum = Process()
        let output = Pipe()
        sum.executableURL = URL(filePath: "/usr/bin/sha256sum")
        sum.arguments = [path]
        sum.standardOutput = output
        try sum.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        sum.waitUntilExit()
        sha256 = String(text.prefix(64))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
