import Foundation
import PeerSupport
import RouterTestKit
import SimulatedReceivers
import Testing

/// `router cast auth` and what follows for `router play`, as a person meets them.
@Suite("C21 router cast auth", .timeLimit(.minutes(3)))
struct CastIdentityCommandTests {
    typealias Mode = SimulatedCastConfiguration.AuthenticationMode

    private func withDevice(
        _ mode: Mode, host: String = "127.0.0.1", recordingTo folder: URL? = nil,
        _ body: (SimulatedCastReceiver, String) async throws -> Void
    ) async throws {
        var configuration = SimulatedCastConfiguration(name: "Kitchen", port: 0, httpPort: nil)
        configuration.host = host
        configuration.authentication = mode
        configuration.recordingFolder = folder
        let device = try SimulatedCastReceiver(configuration)
        let port = try await device.start().port
        let address = host.contains(":") ? "[\(host)]" : host
        do {
            try await body(device, "cast://\(address):\(port)?name=Kitchen&id=\(configuration.deviceID)")
        } catch {
            await device.stop()
            throw error
        }
        await device.stop()
    }

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-cast-auth-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    @Test("a key is kept, another one refused with exit 4 by auth and by play, and accepted by --accept")
    func pinning() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 2)
        try await withFolder { state in
            let environment = ["XDG_STATE_HOME": state.path]
            func auth(_ uri: String, _ more: String...) async throws -> RouterProcess.Outcome {
                try await RouterProcess.run(["cast", "auth", uri] + more, environment: environment)
            }
            try await withDevice(.valid) { _, uri in
                let first = try await auth(uri, "-o", "json")
                #expect(first.status == 0, "\(first.errors)")
                #expect(first.output.contains(#""verdict" : "firstSeen""#), "\(first.output)")
                #expect(first.output.contains(#""notAfter" : "2"#), "dates as text: \(first.output)")
                let again = try await auth(uri)
                #expect(again.status == 0, "\(again.errors)")
                #expect(
                    again.output.contains("pinned") && again.output.contains("sound and picture"), "\(again.output)")
            }
            try await withDevice(.newKey) { device, uri in
                let changed = try await auth(uri, "-o", "json")
                #expect(changed.status == 4, "\(changed.output)")
                #expect(changed.output.contains(#""verdict" : "changed""#))
                #expect(changed.errors.contains("authFailed"))
                let play = try await RouterProcess.run(["play", file.path, "--device", uri], environment: environment)
                #expect(play.status == 4, "\(play.errors)")
                #expect(play.errors.contains("another key than before"), "\(play.errors)")
                #expect(play.errors.contains("--accept"), "\(play.errors)")
                #expect(await device.record().loads.isEmpty)
                #expect(try await auth(uri, "--accept").status == 0)
                let played = try await RouterProcess.run(
                    ["play", file.path, "--device", uri], environment: environment)
                #expect(played.status == 0, "\(played.errors)")
            }
        }
    }

    @Test("with a root the chain is checked, and each fault ends with exit 4 and its name")
    func roots() async throws {
        try await withFolder { folder in
            let root = folder.appending(path: "root.pem")
            for (mode, words) in [
                (Mode.intermediate, "verified"), (.audioOnly, "sound only"), (.expired, "certificateExpired"),
                (.untrusted, "untrusted"), (.silent, "silent"), (.text, "notBinary"), (.revoked, "revoked"),
            ] {
                try await withDevice(mode) { device, uri in
                    try Data(device.rootCertificatePEM.utf8).write(to: root)
                    let result = try await RouterProcess.run(["cast", "auth", uri, "--root", root.path])
                    let holds = [.intermediate, .audioOnly].contains(mode)
                    #expect(result.status == (holds ? 0 : 4), "\(mode): \(result.output) \(result.errors)")
                    #expect(result.output.contains(words), "\(mode): \(result.output)")
                    #expect(holds || result.errors.contains("error:") && result.errors.contains("hint:"))
                }
            }
        }
    }

    @Test(
        "what is given wrongly is told in a line",
        arguments: [
            (["--root", "/nowhere.pem"], Int32(78), "cannot be read"), (["--accept", "--root", "a"], 64, "--accept"),
            (["--crl", "/nowhere.crl"], 78, "root"),
        ])
    func wrong(arguments: [String], status: Int32, words: String) async throws {
        let result = try await RouterProcess.run(["cast", "auth", "cast://127.0.0.1:9"] + arguments)
        #expect(result.status == status, "\(result.errors)")
        #expect(result.errors.contains(words), "\(result.errors)")
    }

    @Test("C1 a device named by an IPv6 address plays a file of this machine to its end")
    func ipv6() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 3)
        try await withDevice(.valid, host: "::1", recordingTo: sound.folder) { device, uri in
            let result = try await RouterProcess.run(["play", file.path, "--device", uri])
            #expect(result.status == 0, "\(result.errors)")
            #expect(await device.record().loads.first?.url.hasPrefix("http://[::1]:") == true)
        }
        let heard = try Recording.samples(wav: sound.folder.appendingPathComponent("Kitchen.wav"))
        #expect(heard.count / 2 > 2 * 44_100)
    }

    @Test("C1 C23 devices --app asks each device and lists those that can run it")
    func apps() async throws {
        try await withDevice(.valid) { _, uri in
            func listed(_ app: String) async throws -> String {
                let result = try await RouterProcess.run(["devices", "--device", uri, "--app", app, "-o", "json"])
                #expect(result.status == 0, "\(result.errors)")
                return result.output
            }
            #expect(try await listed("CC1AD845").contains("Kitchen"))
            #expect(try await !listed("00000000").contains("Kitchen"))
            let wrong = try await RouterProcess.run(["devices", "--app", "a/b"])
            #expect(wrong.status == 64)
        }
    }
}

/// In the lab, with a real Avahi daemon.
@Suite(
    "C1 C20 devices that come, move and go", .enabled(if: Lab.isInside, Lab.reason), .timeLimit(.minutes(3)),
    .serialized)
struct CastDiscoveryLabTests {
    /// `avahi-publish`, for as long as the value lives.
    private final class Publication {
        private let process = Process()

        init(_ arguments: [String]) throws {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = ["avahi-publish"] + arguments
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
        }

        /// The daemon takes back what its client published, however the client ended.
        func withdraw() { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

        deinit { withdraw() }
    }

    private static let id = "abcdef00112233445566778899aabbcc"

    private func publishGroup(_ leader: Int, port: Int) throws -> Publication {
        try Publication([
            "-s", "-H", "leader\(leader).local", "Google-Cast-Group-\(Self.id)", "_googlecast._tcp", String(port),
            "id=\(Self.id)", "fn=Downstairs", "md=Google Cast Group", "ca=36", "ve=05", "st=0",
        ])
    }

    private func group(_ host: String) throws -> SimulatedCastReceiver {
        var configuration = SimulatedCastConfiguration(name: "Downstairs", port: 0, httpPort: nil)
        configuration.host = host
        configuration.id = Self.id
        return try SimulatedCastReceiver(configuration)
    }

    @Test("a group whose leader changed is played to by its name, at its new place, and keeps its id")
    func movedGroup() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 2)
        let state = sound.folder.appending(path: "state").path
        let (first, second) = (try group("10.77.0.1"), try group("10.77.0.2"))
        let (port1, port2) = (try await first.start().port, try await second.start().port)
        let names = [
            try Publication(["-a", "-R", "leader1.local", "10.77.0.1"]),
            try Publication(["-a", "-R", "leader2.local", "10.77.0.2"]),
        ]
        func router(_ arguments: String...) async throws -> RouterProcess.Outcome {
            try await RouterProcess.run(arguments, environment: ["XDG_STATE_HOME": state])
        }
        func place() async throws -> String {
            let list = try await router("devices", "-o", "plain")
            return list.output.split(separator: "\n").first { $0.contains("Downstairs") }.map(String.init) ?? ""
        }
        let watch = try RouterProcess(["devices", "--watch", "-o", "ndjson"], environment: ["XDG_STATE_HOME": state])
        #expect(await eventually { watch.output.contains("snapshot") })

        let before = try publishGroup(1, port: port1)
        #expect(await eventually { (try? await place().contains("10.77.0.1:\(port1)")) == true })
        let list = try await place()
        #expect(list.contains("group"))
        let played = try await router("play", file.path, "--room", "Downstairs")
        #expect(played.status == 0, "\(played.errors)")
        #expect(await first.record().loads.count == 1)

        before.withdraw()
        let after = try publishGroup(2, port: port2)
        #expect(await eventually { (try? await place().contains("10.77.0.2:\(port2)")) == true })
        #expect(try await place().split(separator: "\t").last == list.split(separator: "\t").last)
        let again = try await router("play", file.path, "--room", "Downstairs")
        #expect(again.status == 0, "\(again.errors)")
        #expect(await second.record().loads.count == 1)
        #expect(await first.record().loads.count == 1)
        #expect(await eventually { watch.output.contains("10.77.0.1") && watch.output.contains("10.77.0.2") })
        watch.interrupt()
        #expect(await watch.outcome(within: .seconds(15)).status == 0)
        for line in watch.output.split(separator: "\n") {
            #expect((try? JSONSerialization.jsonObject(with: Data(line.utf8))) != nil)
        }
        after.withdraw()
        for name in names { name.withdraw() }
        await first.stop()
        await second.stop()
    }

    @Test("C20 the first device is greeted once, in the words of the configuration")
    func firstRunHint() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let device = try group("10.77.0.3")
        let port = try await device.start().port
        let name = try Publication(["-a", "-R", "leader3.local", "10.77.0.3"])
        let service = try publishGroup(3, port: port)
        func devices() async throws -> RouterProcess.Outcome {
            try await RouterProcess.run(
                ["devices"], environment: ["XDG_STATE_HOME": sound.folder.path],
                configuration: "version: 1\nhint: Sing along\n")
        }
        var first = try await devices()
        for _ in 0..<5 where !first.output.contains("Downstairs") { first = try await devices() }
        #expect(first.output.contains("Downstairs"), "\(first.output) \(first.errors)")
        #expect(first.errors.contains("Sing along"), "\(first.errors)")
        let second = try await devices()
        #expect(second.output.contains("Downstairs"))
        #expect(!second.errors.contains("Sing along"))
        service.withdraw()
        name.withdraw()
        await device.stop()
    }
}
