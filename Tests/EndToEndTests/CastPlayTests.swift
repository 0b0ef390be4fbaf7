import Foundation
import PeerSupport
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

/// `router play` to a simulated Cast receiver: subtitles, pictures, and why something does not play.
@Suite("C12 C18 C21 what a person hands to router play reaches a Cast receiver", .serialized, .timeLimit(.minutes(5)))
struct CastPlayTests {
    /// A folder with a film of six seconds, and subtitles in it.
    private struct Film {
        let folder: URL
        var path: String { folder.appendingPathComponent("film.mkv").path }

        init(embedded: [(language: String, text: String)] = []) async throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("film-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            var arguments = [
                "-y", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc=size=64x64:rate=5:duration=6", "-f",
                "lavfi", "-i", "sine=duration=6",
            ]
            var maps = ["-map", "0", "-map", "1"]
            for (place, text) in embedded.enumerated() {
                let file = folder.appendingPathComponent("in-\(place).txt")
                try Data("1\n00:00:01,000 --> 00:00:02,000\n\(text.text)\n".utf8).write(to: file)
                arguments += ["-f", "srt", "-i", file.path]
                maps += ["-map", "\(place + 2)", "-metadata:s:s:\(place)", "language=\(text.language)"]
            }
            let made = try await Command.run(
                "ffmpeg", arguments + maps + ["-c:v", "mpeg4", "-c:a", "aac", "-c:s", "srt", path])
            #expect(made.status == 0, "\(made.errors)")
        }

        func remove() { try? FileManager.default.removeItem(at: folder) }
    }

    private func withReceiver(
        _ configure: (inout SimulatedCastConfiguration) -> Void = { _ in },
        _ body: (SimulatedCastReceiver, String) async throws -> Void
    ) async throws {
        var configuration = SimulatedCastConfiguration(name: "Lounge", port: 0, httpPort: nil)
        configure(&configuration)
        let receiver = try SimulatedCastReceiver(configuration)
        let port = try await receiver.start().port
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(receiver, "cast://127.0.0.1:\(port)?name=Lounge"))
        } catch { result = .failure(error) }
        await receiver.stop()
        try result.get()
    }

    private static let anyPort = "version: 1\nmedia:\n  port: 0\n"

    private func play(
        _ arguments: [String], _ uri: String, in folder: URL? = nil, configuration: String = anyPort
    ) async throws -> RouterProcess.Outcome {
        try await RouterProcess.run(
            ["play"] + arguments + ["--device", uri], configuration: configuration, workingDirectory: folder)
    }

    // MARK: Subtitles

    @Test("C12 a subtitle file of another encoding, shifted, is fetched as WebVTT and shown") func sidecar()
        async throws
    {
        let film = try await Film()
        defer { film.remove() }
        // windows-1252: ü, ß and an ellipsis that ISO 8859-1 lacks.
        var text = Array("1\n00:00:00,500 --> 00:00:01,500\nGr".utf8)
        text += [0xFC, 0xDF, 0x65, 0x85, 0x0A]
        try Data(text).write(to: film.folder.appendingPathComponent("film.de.srt"))
        try await withReceiver { receiver, uri in
            let result = try await play(
                ["film.mkv", "--subtitles", "film.de.srt", "--subtitle-offset", "1.5s"], uri, in: film.folder)
            #expect(result.status == 0, "\(result.errors)")
            let record = await receiver.record()
            let request = try #require(record.loads.first?.request)
            let track = try #require(request["media"]?["tracks"]?.array?.first)
            #expect(track["language"]?.string == "de" && track["trackContentType"]?.string == "text/vtt")
            #expect(request["activeTrackIds"]?.array?.compactMap(\.int) == [track["trackId"]?.int])
            let cue = try #require(record.events("cue").first)
            #expect(cue["text"]?.string == "Grüße…")
            #expect(cue["start"]?.double == 2 && cue["end"]?.double == 3)
            #expect(record.events("cueShown").first?["text"]?.string == "Grüße…")
            #expect(record.events("trackFailed").isEmpty)
        }
    }

    @Test(
        "C12 what is inside the film is offered, and chosen by its language, or not",
        arguments: [("de", "Guten Tag"), ("en", "Hello"), ("off", nil), ("fr", nil)])
    func embedded(wanted: String, shown: String?) async throws {
        let film = try await Film(embedded: [("ger", "Guten Tag"), ("eng", "Hello")])
        defer { film.remove() }
        try await withReceiver { receiver, uri in
            let result = try await play([film.path, "--subtitles", wanted], uri)
            #expect(result.status == 0, "\(result.errors)")
            let record = await receiver.record()
            let tracks = record.loads.first?.request["media"]?["tracks"]?.array ?? []
            #expect(tracks.compactMap { $0["language"]?.string } == ["de", "en"])
            #expect(record.events("cueShown").compactMap { $0["text"]?.string } == [shown].compactMap { $0 })
            let complaints = result.errors.split(separator: "\n").filter { $0.contains("no subtitles in") }
            #expect(complaints.count == (wanted == "fr" ? 1 : 0), "\(result.errors)")
        }
    }

    @Test("C12 a subtitle file that is not there is told by its name, and nothing plays") func missing() async throws {
        let film = try await Film()
        defer { film.remove() }
        try await withReceiver { receiver, uri in
            let result = try await play(["film.mkv", "--subtitles", "nope.srt"], uri, in: film.folder)
            #expect(result.status == 3, "\(result.errors)")
            #expect(result.errors.contains("nope.srt") && result.errors.contains("hint:"), "\(result.errors)")
            #expect(await receiver.record().loads.isEmpty)
        }
    }

    // MARK: Why it does not play

    @Test("C21 a device that never asked: this machine's firewall is the suspect") func neverFetched() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 4)
        try await withReceiver {
            $0.faults.loadFails = 103
        } _: { _, uri in
            let result = try await play([file.path], uri)
            #expect(result.status != 0)
            #expect(result.errors.contains("never asked for the media at 127.0.0.1"), "\(result.errors)")
            #expect(result.errors.contains("firewall"), "\(result.errors)")
        }
    }

    @Test("C21 a name that only this network knows: the public name server is at fault; as JSON too")
    func hostName() async throws {
        try await withReceiver {
            $0.refusesHostNames = true
        } _: { receiver, uri in
            let result = try await play(["http://music.lan:9/song.mp3", "-o", "json"], uri)
            #expect(await receiver.record().loads.count == 1)
            let line = try #require(result.errors.split(separator: "\n").last)
            let error = try JSONDecoder().decode(RouterError.self, from: Data(line.utf8))
            #expect(error.code == .mediaUnreachable, "\(result.errors)")
            #expect(error.message.contains("music.lan") && error.message.contains("8.8.8.8"))
            #expect(error.hint?.contains("numeric address") == true)
            #expect(result.status == error.code.exitStatus)
        }
    }

    @Test("C21 a codec that the device has no decoder for is named, with what it plays") func codec() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let folder = sound.folder
        let source = try await sound.file("song.wav", seconds: 3)
        let alac = folder.appendingPathComponent("song.m4a")
        let made = try await Command.run(
            "ffmpeg", ["-v", "error", "-nostdin", "-i", source.path, "-c:a", "alac", alac.path])
        #expect(made.status == 0, "\(made.errors)")
        try await withReceiver {
            $0.refusedContentTypes = ["audio/mp4"]
        } _: { _, uri in
            let result = try await play([alac.path], uri)
            #expect(result.status == 6, "\(result.errors)")
            #expect(result.errors.contains("ALAC"), "\(result.errors)")
            #expect(result.errors.contains("AirPlay") && result.errors.contains("MP3"), "\(result.errors)")
        }
    }

    @Test(
        "C21 an address of another server: not there, and without CORS where the app needs it",
        .enabled(if: PeerProgram.absence == nil, "\(PeerProgram.absence ?? "")"))
    func foreign() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.mp3", seconds: 4)
        let server = try PeerProgram("range_file_server.py", [file.path, "audio/mpeg"])
        let base = "http://127.0.0.1:\(try await server.start())"
        try await withReceiver { receiver, uri in
            let result = try await play(["\(base)/nope.mp3"], uri)
            #expect(result.status == 3, "\(result.errors)")
            #expect(result.errors.contains("nope.mp3") && result.errors.contains("hint:"), "\(result.errors)")
        }
        try await withReceiver {
            $0.needsOrigin = true
        } _: { receiver, uri in
            let result = try await play(["\(base)/media"], uri)
            #expect([5, 6].contains(result.status), "\(result.errors)")
            #expect(result.errors.contains("hint:"), "\(result.errors)")
            // What we serve ourselves is allowed to every app.
            let ours = try await play([file.path], uri)
            #expect(ours.status == 0, "\(ours.errors)")
        }
        await server.stop()
    }

    // MARK: Pictures

    @Test(
        "C18 the picture in a file is served by plain HTTP in the size of a screen",
        .enabled(if: Command.exists("curl")))
    func artwork() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 20)
        try await withReceiver { receiver, uri in
            let process = try RouterProcess(["play", file.path, "--device", uri], configuration: Self.anyPort)
            #expect(await eventually { await receiver.record().playerState == "PLAYING" })
            let metadata = await receiver.record().loads.first?.request["media"]?["metadata"]
            let urls = (metadata?["images"]?.array ?? []).compactMap { $0["url"]?.string }
            #expect(urls.count == 2)
            for url in urls {
                #expect(url.hasPrefix("http://127.0.0.1:"))
                let got = try await Command.run(
                    "curl", ["-s", "-o", "/dev/null", "-w", "%{http_code} %{content_type} %{size_download}", url])
                #expect(got.output.hasPrefix("200 image/jpeg "), "\(got.output)")
                #expect((Int(got.output.split(separator: " ").last ?? "") ?? 0) > 100)
            }
            let status = try await RouterProcess.run(["cast", "status", uri, "-o", "json"])
            #expect(urls.allSatisfy(status.output.contains), "\(status.output)\(status.errors)")
            process.interrupt()
            _ = await process.outcome()
        }
    }

    // MARK: The media port

    /// Listens on a port for as long as it is held.
    private final class TakenPort {
        private let descriptor: Int32

        init?(_ port: Int) {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var on: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard bound == 0, listen(descriptor, 1) == 0 else { return nil }
        }

        deinit { close(descriptor) }
    }

    @Test("C5 the media port is taken when a session is taken up again: it is said, and loaded anew where it is")
    func portTaken() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 40)
        let port = Int.random(in: 20_000...29_000)
        let configuration = "version: 1\nmedia:\n  port: \(port)\n"
        let state = ["XDG_STATE_HOME": sound.folder.appendingPathComponent("state").path]
        try await withReceiver { receiver, uri in
            let first = try RouterProcess(
                ["play", file.path, "--device", uri], environment: state, configuration: configuration)
            #expect(await eventually { await receiver.record().position > 3 })
            kill(first.processIdentifier, SIGKILL)
            _ = await first.outcome()
            let taken = try #require(TakenPort(port))
            let second = try RouterProcess(["play"], environment: state, configuration: configuration)
            #expect(await eventually { await receiver.record().loads.count == 2 }, "\(second.errors)")
            let load = try #require(await receiver.record().loads.last)
            #expect(!load.url.contains(":\(port)/"))
            #expect((load.request["currentTime"]?.double ?? 0) > 2)
            #expect(await eventually { await receiver.record().playerState == "PLAYING" })
            #expect(await eventually { second.errors.contains("port \(port) for media is taken") }, "\(second.errors)")
            second.interrupt()
            _ = await second.outcome()
            withExtendedLifetime(taken) {}
        }
    }
}
