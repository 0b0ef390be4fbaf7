import Foundation
import PeerSupport
import RouterTestKit
import SimulatedReceivers
import Testing

/// What a person reads, and the exit status, for everything that can be wrong on the way in.
@Suite("C21 bad input ends in a sentence, a hint and a status")
struct BadInputTests {
    /// A case: what is run, and how it must end.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var arguments: [String]
        var status: Int32
        /// What the message must hold.
        var says: String
        var environment: [String: String] = [:]
    }

    /// `FOLDER` is replaced by a folder with the files of `makeFiles`.
    static let cases = [
        Case(
            testDescription: "no such file", arguments: ["play", "FOLDER/nope.flac", "--device", "cast://127.0.0.1:1"],
            status: 3, says: "nope.flac"),
        Case(
            testDescription: "text named .mp3",
            arguments: ["play", "FOLDER/text.mp3", "--device", "raop://127.0.0.1:RAOP"], status: 6, says: "text.mp3"),
        Case(
            testDescription: "an empty folder", arguments: ["play", "FOLDER/empty", "--device", "cast://127.0.0.1:1"],
            status: 3, says: "empty"),
        Case(
            testDescription: "a playlist with nothing left",
            arguments: ["play", "FOLDER/gone.m3u", "--device", "cast://127.0.0.1:1"], status: 3, says: "gone.m3u"),
        Case(
            testDescription: "nowhere to keep a room",
            arguments: ["rooms", "create", "Den", "Kitchen", "--device", "cast://127.0.0.1:1?name=Kitchen"],
            status: 70, says: "/proc/router", environment: ["XDG_STATE_HOME": "/proc"]),
        Case(
            testDescription: "events by api", arguments: ["api", "get", "events"], status: 64, says: "never ends"),
        Case(
            testDescription: "unknown room",
            arguments: [
                "play", "FOLDER/song.flac", "--device", "cast://127.0.0.1:1?name=Kitchen", "--room", "Kitchin",
            ], status: 3, says: "did you mean “Kitchen”"),
        Case(
            testDescription: "two rooms of one prefix",
            arguments: [
                "play", "FOLDER/song.flac", "--device", "cast://127.0.0.1:1?name=Bedroom", "--device",
                "cast://127.0.0.2:1?name=Bedside", "--room", "bed",
            ], status: 3, says: "Bedroom or Bedside"),
        Case(
            testDescription: "port closed",
            arguments: ["play", "FOLDER/song.flac", "--device", "cast://127.0.0.1:1"], status: 5, says: "127.0.0.1:1"),
        Case(
            testDescription: "RAOP port closed",
            arguments: ["play", "FOLDER/song.flac", "--device", "raop://127.0.0.1:1"], status: 5, says: "127.0.0.1"),
        Case(
            testDescription: "a host name that does not resolve",
            arguments: ["play", "FOLDER/song.flac", "--device", "raop://no-such-host.invalid"], status: 5,
            says: "no-such-host.invalid"),
        Case(
            testDescription: "ffmpeg not installed",
            arguments: ["play", "FOLDER/song.flac", "--device", "raop://127.0.0.1:RAOP"], status: 78, says: "ffmpeg",
            environment: ["PATH": "/nonexistent"]),
        Case(
            testDescription: "a URI of no known protocol",
            arguments: ["play", "FOLDER/song.flac", "--device", "dlna://127.0.0.1"], status: 78, says: "dlna"),
        Case(
            testDescription: "a password on the command line",
            arguments: ["play", "FOLDER/song.flac", "--device", "raop://127.0.0.1?password=sesame"], status: 78,
            says: "must not hold a password"),
        Case(
            testDescription: "--via of a protocol that the device lacks",
            arguments: ["play", "FOLDER/song.flac", "--device", "cast://127.0.0.1:1", "--via", "airplay"], status: 6,
            says: "AirPlay"),
        Case(
            testDescription: "--detach of what only this process can play",
            arguments: ["play", "FOLDER/song.flac", "--device", "cast://127.0.0.1:1", "--detach"], status: 6,
            says: "without this command"),
        Case(
            testDescription: "nothing to play", arguments: ["play", "--device", "cast://127.0.0.1:1"], status: 64,
            says: "what to play"),
        Case(
            testDescription: "a volume beyond the scale",
            arguments: ["play", "FOLDER/song.flac", "--device", "cast://127.0.0.1:1", "--volume", "300"], status: 64,
            says: "0 to 100"),
        Case(
            testDescription: "a configuration file with an unknown key",
            arguments: ["rooms", "--config", "FOLDER/bad.yaml"], status: 78, says: "bad.yaml:2:1"),
        Case(
            testDescription: "a configuration file that is not there",
            arguments: ["rooms", "--config", "FOLDER/none.yaml"], status: 78, says: "none.yaml"),
        Case(
            testDescription: "no Avahi, and a room to be discovered",
            arguments: ["play", "FOLDER/song.flac", "--room", "Kitchen"], status: 78, says: "Avahi",
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"]),
    ]

    @Test("each has its message and status", arguments: cases)
    func table(_ wrong: Case) async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        try await makeFiles(sound)
        let speaker = SimulatedRAOPReceiver(SimulatedRAOPConfiguration(port: 0))
        let port = try await speaker.start()
        let result = try await RouterProcess.run(
            wrong.arguments.map {
                $0.replacingOccurrences(of: "FOLDER", with: sound.folder.path)
                    .replacingOccurrences(of: "RAOP", with: "\(port)")
            }, environment: wrong.environment)
        await speaker.stop()
        #expect(result.status == wrong.status, "\(result.errors)")
        #expect(result.errors.contains(wrong.says), "\(result.errors)")
        #expect(wrong.status == 64 || result.errors.contains("hint:"), "\(result.errors)")
        #expect(!result.errors.contains("sesame"))
        #expect(result.output.isEmpty, "data only on standard output: \(result.output)")
    }

    private func makeFiles(_ sound: TwoTones) async throws {
        _ = try await sound.file("song.flac", seconds: 2)
        for (name, text) in [
            ("text.mp3", "This is no music.\n"), ("gone.m3u", "one.mp3\ntwo.mp3\n"),
            ("bad.yaml", "version: 1\nroms: []\n"),
        ] {
            try Data(text.utf8).write(to: sound.folder.appendingPathComponent(name))
        }
        try FileManager.default.createDirectory(
            at: sound.folder.appendingPathComponent("empty"), withIntermediateDirectories: true)
    }

    @Test("errors under -o json are one object, of the same shape as everywhere")
    func json() async throws {
        let result = try await RouterProcess.run(["play", "/nope.flac", "--device", "cast://127.0.0.1:1", "-o", "json"])
        #expect(result.status == 3)
        let object = try JSONSerialization.jsonObject(with: Data(result.errors.utf8)) as? [String: Any]
        #expect(object?["code"] as? String == "mediaNotFound")
        #expect(object?["hint"] is String)
    }

    @Test("an empty list says why and what to try")
    func emptyList() async throws {
        let result = try await RouterProcess.run(
            ["devices"], environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"])
        #expect(result.status == 0)
        #expect(result.errors.contains("Avahi") && result.errors.contains("hint:"), "\(result.errors)")
    }

    @Test("a playlist with missing entries plays the others and says which are missing")
    func missingEntries() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        _ = try await sound.file("song.flac", seconds: 2)
        let list = sound.folder.appendingPathComponent("list.m3u")
        try Data("gone.mp3\nsong.flac\n".utf8).write(to: list)
        let speaker = SimulatedRAOPReceiver(SimulatedRAOPConfiguration(port: 0, recordingFolder: sound.folder))
        let port = try await speaker.start()
        let result = try await RouterProcess.run(["play", list.path, "--device", "raop://127.0.0.1:\(port)"])
        await speaker.stop()
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.contains("gone.mp3"), "\(result.errors)")
        let heard = try Recording.samples(wav: sound.folder.appendingPathComponent("Simulated Speaker.wav"))
        #expect(heard.count / 2 >= 2 * 44_100)
    }

    @Test("a truncated FLAC plays as far as it goes, and the break is told")
    func truncated() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 6)
        let data = try Data(contentsOf: file)
        try data.prefix(data.count * 2 / 3).write(to: file)
        let speaker = SimulatedRAOPReceiver(SimulatedRAOPConfiguration(port: 0, recordingFolder: sound.folder))
        let port = try await speaker.start()
        let result = try await RouterProcess.run(["play", file.path, "--device", "raop://127.0.0.1:\(port)"])
        await speaker.stop()
        #expect(result.status == 1, "\(result.errors)")
        #expect(result.errors.contains("song.flac") || result.errors.contains("Zwei"), "\(result.errors)")
        let heard = try Recording.samples(wav: sound.folder.appendingPathComponent("Simulated Speaker.wav"))
        #expect(Recording.seconds(of: TwoTones.tones, in: heard)[TwoTones.tones[0]] ?? 0 > 2.5)
    }

    @Test("frames of length 0 and 4 GiB are a broken protocol, not a hang", arguments: [UInt32(0), UInt32.max])
    func frameLengths(_ length: UInt32) async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 2)
        var configuration = SimulatedCastConfiguration(name: "Broken", port: 0, httpPort: nil)
        configuration.faults.firstFrameLength = length
        let receiver = try SimulatedCastReceiver(configuration)
        let ports = try await receiver.start()
        let result = try await RouterProcess.run(["play", file.path, "--device", "cast://127.0.0.1:\(ports.port)"])
        await receiver.stop()
        #expect(result.status == 1, "\(result.errors)")
        #expect(result.errors.contains("hint:"), "\(result.errors)")
    }

    @Test("TLS that isn't Cast", .enabled(if: Command.exists("openssl"), "openssl is not installed"))
    func otherTLS() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 2)
        let server = try PeerProgram("tls_that_is_not_cast.py", ["--until-eof"])
        let port = try await server.start()
        let result = try await RouterProcess.run(["play", file.path, "--device", "cast://127.0.0.1:\(port)"])
        await server.stop()
        #expect([1, 5].contains(result.status), "\(result.errors)")
        #expect(result.errors.contains("Cast"), "\(result.errors)")
    }

    @Test("a host that is down, or swallows packets, is told in time", .enabled(if: Lab.isInside, Lab.reason))
    func hostDown() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 2)
        let down = try await RouterProcess.run(["play", file.path, "--device", "raop://10.99.0.1"])
        #expect(down.status == 5, "\(down.errors)")
        for rule in [
            "add table inet silent", "add chain inet silent in { type filter hook input priority 0; }",
            "add rule inet silent in tcp dport 8009 drop",
        ] {
            try #require(try await Command.run("nft", [rule]).status == 0)
        }
        let silent = try await RouterProcess.run(
            ["play", file.path, "--device", "cast://127.0.0.1"], within: .seconds(40))
        _ = try await Command.run("nft", ["delete table inet silent"])
        #expect(silent.status == 5, "\(silent.errors)")
        #expect(silent.errors.contains("hint:"), "\(silent.errors)")
    }
}
