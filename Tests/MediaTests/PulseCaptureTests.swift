import Foundation
import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import Media

/// Debian's pulseaudio with null sinks, at a socket of the test's own.
final class PulseServer {
    static let programs = ["pulseaudio", "parec", "pacat", "pactl"].map { "/usr/bin/\($0)" }
    static var missing: Bool { !programs.allSatisfy { FileManager.default.isExecutableFile(atPath: $0) } }

    private let process = Process()
    private let input = Pipe()
    private let folder: ScratchFolder
    private let socket: String
    /// `parec` that knows the socket.
    let parec: String

    init(sinks: [String]) async throws {
        folder = try ScratchFolder()
        socket = folder("native")
        var lines = sinks.map { "load-module module-null-sink sink_name=\($0) rate=44100" }
        lines.append("load-module module-native-protocol-unix auth-anonymous=1 socket=\(socket)")
        let script = try folder.write("start.pa", lines.joined(separator: "\n") + "\n")
        parec = try folder.write("parec", "#!/bin/sh\nPULSE_SERVER=unix:\(socket) exec /usr/bin/parec \"$@\"\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: parec)
        // pulseaudio closes all descriptors that it inherits. Foundation takes the closing of one of them for the end of the
        // program, waits for the end in the thread that waits for all programs, and none is seen to end any more: so the
        // child is a shell, which keeps them, and ends it at the end of its own input.
        let keeping = #""$@" </dev/null & read -r; kill -9 $!; wait"#
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = [
            "-c", keeping, "bash", "/usr/bin/pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1",
            "--use-pid-file=no", "--disallow-exit=yes",
            "--file=\(script)",
        ]
        var environment = ProcessInfo.processInfo.environment
        for name in ["HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"] { environment[name] = folder.path }
        process.environment = environment
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // It is the last that is loaded.
        let socket = socket
        guard await eventually({ FileManager.default.fileExists(atPath: socket) }) else {
            throw RouterError(.internal, "pulseaudio does not start")
        }
    }

    deinit { kill() }

    func kill() {
        guard process.isRunning else { return }
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Plays samples into a sink, from a thread.
    func play(_ samples: [UInt8], into sink: String) throws {
        let file = try folder.write("\(UUID().uuidString).raw", samples)
        let (folder, socket) = (folder, socket)
        Thread.detachNewThread {
            _ = try? Self.run(
                "pacat",
                ["--playback", "--raw", "--device=\(sink)", "--format=s16le", "--rate=44100", "--channels=2", file],
                folder, socket)
        }
    }

    private static func run(
        _ program: String, _ arguments: [String], _ folder: ScratchFolder, _ socket: String
    ) throws -> [UInt8] {
        try Tools.runHere(
            "/usr/bin/env",
            ["PULSE_SERVER=unix:\(socket)", "HOME=\(folder.path)", "XDG_RUNTIME_DIR=\(folder.path)", program]
                + arguments)
    }
}

@Suite(
    "A8 the monitor of a sink", .enabled(if: !PulseServer.missing, "pulseaudio is not installed"), .serialized,
    .timeLimit(.minutes(2)))
struct PulseCaptureTests {
    private func feed(
        _ sink: String, _ server: PulseServer, _ script: FeedScript
    ) async throws -> any AudioFeed {
        var configuration = MediaConfiguration(serverPort: 0)
        configuration.parec = server.parec
        return try await library(configuration).feed(
            FeedItem(item: ItemID(rawValue: "a"), source: .live(LiveInput(.pulse, name: sink))),
            events: script.feedEvents)
    }

    /// How much of each tone is in the left channel, as a share of all its sound.
    private func shares(_ sound: [UInt8], of tones: [Double]) -> [Double] {
        let left = stride(from: 0, to: sound.count - 3, by: 4).map {
            Double(Int16(truncatingIfNeeded: Int(sound[$0]) | Int(sound[$0 + 1]) << 8))
        }
        let energy = left.map { $0 * $0 }.reduce(0, +)
        guard energy > 0 else { return tones.map { _ in 0 } }
        return tones.map { tone in
            // In short pieces: what is captured may have been corrected by a frame.
            var sum = 0.0
            for start in stride(from: 0, to: left.count - 4410, by: 4410) {
                var (sine, cosine) = (0.0, 0.0)
                for index in 0..<4410 {
                    let angle = 2 * .pi * tone * Double(index) / 44_100
                    sine += left[start + index] * sin(angle)
                    cosine += left[start + index] * cos(angle)
                }
                sum += 2 * (sine * sine + cosine * cosine) / 4410
            }
            return sum / energy
        }
    }

    private static func tone(_ frequency: Double, seconds: Int) -> [UInt8] {
        (0..<(44_100 * seconds)).flatMap { frame -> [UInt8] in
            let value = Int16(10_000 * sin(2 * .pi * frequency * Double(frame) / 44_100))
            let bytes = [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
            return bytes + bytes
        }
    }

    @Test("A8 what is played into the sink that was named is heard, and what others have is not")
    func capture() async throws {
        let server = try await PulseServer(sinks: ["alerts", "router"])
        defer { server.kill() }
        let script = FeedScript()
        let feed = try await feed("router", server, script)
        let reader = try await feed.packets(.l16, from: 0)
        _ = try await reader.next()
        // The first sink is the default one, where a desktop's alert sounds go.
        try server.play(Self.tone(1000, seconds: 6), into: "alerts")
        try server.play(Self.tone(441, seconds: 6), into: "router")
        var packets: [AudioPacket] = []
        var shares: [Double] = [0, 0]
        // The tone is there within some seconds of sound.
        while packets.count < 125 * 15, shares[0] < 0.9 {
            packets.append(try #require(try await reader.next()))
            guard packets.count % 125 == 0 else { continue }
            shares = self.shares(samples(ofL16: Array(packets.suffix(125))), of: [441, 1000])
        }
        #expect(shares[0] > 0.9, "\(shares)")
        #expect(shares[1] < 0.01, "\(shares)")
        // Nobody wants to hear late what was captured while it was paused.
        #expect(await feed.retained().isEmpty)
        server.kill()
        _ = try await drain(reader)
        #expect(await eventually { !script.errors.isEmpty })
        #expect(script.errors.first?.hint?.isEmpty == false)
        #expect(script.errors.first?.code == .itemFailed, "\(script.errors)")
    }

    @Test("A8 a sink that is not there, a server that does not answer and a missing program are told in words")
    func missing() async throws {
        let server = try await PulseServer(sinks: ["router"])
        let none = FeedScript()
        _ = try? await drain(try await feed("none", server, none).packets(.l16, from: 0))
        #expect(await eventually { none.errors.first?.code == .mediaNotFound }, "\(none.errors)")
        #expect(none.errors.first?.hint?.contains("pactl") == true)
        server.kill()
        let dead = FeedScript()
        _ = try? await drain(try await feed("router", server, dead).packets(.l16, from: 0))
        #expect(await eventually { dead.errors.first?.code == .itemFailed }, "\(dead.errors)")
        var configuration = MediaConfiguration(serverPort: 0)
        configuration.parec = "/nonexistent/parec"
        let lacking = FeedScript()
        let feed = try await library(configuration).feed(
            FeedItem(item: ItemID(rawValue: "a"), source: .live(LiveInput(.pulse, name: "router"))),
            events: lacking.feedEvents)
        _ = try? await drain(feed.packets(.l16, from: 0))
        #expect(await eventually { lacking.errors.first?.code == .dependencyMissing })
        #expect(lacking.errors.first?.hint?.contains("pulseaudio-utils") == true)
    }
}
