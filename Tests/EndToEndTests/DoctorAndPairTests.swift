import Foundation
import PeerSupport
import RouterTestKit
import SimulatedReceivers
import Testing

/// `router doctor` and `router pair` as a person runs them, at simulated receivers over real sockets.
@Suite("R6 router doctor and router pair", .serialized)
struct DoctorAndPairTests {
    private struct Finding: Decodable {
        var check: String
        var result: String
        var message: String
        var cure: String?
        var code: String?
    }

    /// A home of its own for several commands, gone at the end.
    private final class Home: Sendable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-surface-\(UUID().uuidString)")
        var state: [String: String] { ["XDG_STATE_HOME": folder.path] }

        init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: folder) }
    }

    private func doctor(_ uri: String) async throws -> (status: Int32, findings: [Finding]) {
        let outcome = try await RouterProcess.run(["doctor", "--device", uri, "-o", "json"])
        let findings = try JSONDecoder().decode([Finding].self, from: Data(outcome.output.utf8))
        return (outcome.status, findings)
    }

    private func withReceiver(
        _ configuration: SimulatedAirPlay2Configuration,
        _ body: (SimulatedAirPlay2Receiver, _ uri: String) async throws -> Void
    ) async throws {
        let receiver = SimulatedAirPlay2Receiver(configuration)
        let port = try await receiver.start()
        let record = await receiver.airPlayRecord
        var uri = URLComponents()
        (uri.scheme, uri.host, uri.port) = ("airplay", configuration.host, port)
        uri.queryItems =
            [URLQueryItem(name: "name", value: configuration.name)]
            + record.sorted { $0.key < $1.key }.map { URLQueryItem(name: $0.key, value: $0.value) }
        do {
            try await body(receiver, uri.string ?? "")
        } catch {
            await receiver.stop()
            throw error
        }
        await receiver.stop()
    }

    @Test("R6 doctor of a healthy AirPlay 1 speaker: every step is gone through, the tone was heard, exit 0")
    func healthy() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-doctor-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let speaker = SimulatedRAOPReceiver(
            SimulatedRAOPConfiguration(name: "Kitchen", port: 0, recordingFolder: folder))
        let port = try await speaker.start()
        let (status, findings) = try await doctor("raop://127.0.0.1:\(port)?name=Kitchen")
        await speaker.stop()
        #expect(status == 0, "\(findings)")
        for check in ["found", "connection", "pairing", "timing", "sound"] {
            #expect(findings.contains { $0.check == check && $0.result == "ok" }, "\(check): \(findings)")
        }
        let heard = try Recording.samples(wav: folder.appending(path: "Kitchen.wav"))
        let seconds = Recording.seconds(of: [440], in: heard, window: 0.05)[440] ?? 0
        #expect((0.7...1.1).contains(seconds), "\(seconds)")
        #expect((heard.max() ?? 0) < 800, "it is quiet")
    }

    @Test("R6 doctor of a speaker that is never told the time: not heard, with the firewall's rule, exit 6")
    func noTiming() async throws {
        var configuration = SimulatedRAOPConfiguration(name: "Kitchen", port: 0)
        configuration.faults.ignoresTiming = true
        let speaker = SimulatedRAOPReceiver(configuration)
        let port = try await speaker.start()
        let (status, findings) = try await doctor("raop://127.0.0.1:\(port)?name=Kitchen")
        await speaker.stop()
        #expect(status == 6)
        let timing = try #require(findings.first { $0.check == "timing" })
        #expect(timing.result == "failed" && timing.cure?.contains("ufw allow proto udp from 127.0.0.1") == true)
        #expect(findings.contains { $0.check == "sound" && $0.result == "failed" })
    }

    @Test("R6 doctor where nobody listens exits 5 and says which port; of a name that is nobody's, 3")
    func nobody() async throws {
        let (status, findings) = try await doctor("raop://127.0.0.1:9")
        #expect(status == 5)
        let failed = try #require(findings.last)
        #expect(failed.check == "connection" && failed.code == "routeUnreachable")
        #expect(failed.message.contains("127.0.0.1:9") && failed.cure != nil)
        let unknown = try await RouterProcess.run(["doctor", "Bath", "--device", "raop://127.0.0.1:9", "-o", "plain"])
        #expect(unknown.status == 3)
        #expect(unknown.output.contains("failed\tfound\t"), "\(unknown.output)")
        #expect(!unknown.output.contains("\u{1b}"))
    }

    @Test(
        "R6 a code by pipe: refused, taken, kept for the owner alone, played with, listed and removed; no secret in any log"
    )
    func pairByCode() async throws {
        let home = try Home()
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 2)
        let configuration = SimulatedAirPlay2Configuration(
            name: "TV", host: "127.0.0.1", port: 0, timing: [.ntp], pairing: .code(.fixed("73194682")))
        try await withReceiver(configuration) { receiver, uri in
            let unpaired = try await RouterProcess.run(
                ["play", file.path, "--device", uri], environment: home.state)
            #expect(unpaired.status == 4 && unpaired.errors.contains("router pair TV"), "\(unpaired.errors)")

            let wrong = try await RouterProcess.run(
                ["pair", "--device", uri], environment: home.state, input: "11111111\n")
            #expect(wrong.status == 4 && wrong.errors.contains("not its code"), "\(wrong.errors)")
            let none = try await RouterProcess.run(["pair", "--device", uri], environment: home.state)
            #expect(none.status == 130 && none.errors.contains("no code was given"), "\(none.errors)")

            let paired = try await RouterProcess.run(
                ["pair", "--device", uri, "--log", "*=trace"], environment: home.state, input: "73194682\n")
            #expect(paired.status == 0 && paired.errors.contains("knows this router now"), "\(paired.errors)")
            #expect(await receiver.pairings().controllers.count == 1)
            let listed = try await RouterProcess.run(["pair", "list", "-o", "plain"], environment: home.state)
            #expect(listed.output.hasPrefix("TV\tcode\t20"), "\(listed.output)")

            let played = try await RouterProcess.run(
                ["play", file.path, "--device", uri, "--log", "*=trace"], environment: home.state)
            #expect(played.status == 0, "\(played.errors.suffix(2000))")
            #expect(await receiver.record().sessions.map(\.isEncrypted) == [true])

            // What only the two of us know, as text and as the bytes of the store say it.
            let keys = try await secrets(in: home.folder)
            #expect(!keys.isEmpty)
            for log in [paired.errors, played.errors] {
                // It does say what went over the wire.
                #expect(log.contains("trace AirPlay") && log.contains("pair-"), "\(log.suffix(2000))")
                for secret in keys + ["73194682"] { #expect(!log.lowercased().contains(secret)) }
            }

            let removed = try await RouterProcess.run(
                ["pair", "remove", "TV", "--yes", "--device", uri], environment: home.state)
            #expect(removed.status == 0 && removed.output.contains("is forgotten"), "\(removed)")
            #expect(await receiver.pairings().controllers.isEmpty)
        }
        let again = try await RouterProcess.run(["pair", "remove", "TV", "--yes"], environment: home.state)
        #expect(again.status == 3)
    }

    @Test("R6 a password by pipe, and none from the command line; removed when it is away, with what is left to do")
    func pairByPassword() async throws {
        let home = try Home()
        let configuration = SimulatedAirPlay2Configuration(
            name: "Bath", host: "127.0.0.1", port: 0, timing: [.ntp], pairing: .password("open sesame"))
        try await withReceiver(configuration) { _, uri in
            let refused = try await RouterProcess.run(
                ["pair", "--device", uri, "--pin", "open sesame"], environment: home.state)
            #expect(refused.status == 78 && refused.errors.contains("--pin"), "\(refused.errors)")
            let paired = try await RouterProcess.run(
                ["pair", "--device", uri], environment: home.state, input: "open sesame\n")
            #expect(paired.status == 0, "\(paired.errors)")
        }
        let removed = try await RouterProcess.run(["pair", "remove", "Bath", "--yes"], environment: home.state)
        #expect(removed.status == 0, "\(removed.errors)")
        #expect(removed.errors.contains("could not be told"), "\(removed.errors)")
        let listed = try await RouterProcess.run(["pair", "list", "-o", "json"], environment: home.state)
        #expect(listed.output.filter { !$0.isWhitespace } == "[]")
    }

    @Test("R6 the older pairing with a code, and a play with what it left")
    func pairTheOlderWay() async throws {
        let home = try Home()
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 1)
        let configuration = SimulatedAirPlay2Configuration(
            name: "Old", host: "127.0.0.1", port: 0, timing: [.ntp], pairing: .legacy(.code(.fixed("4321"))))
        try await withReceiver(configuration) { receiver, uri in
            let paired = try await RouterProcess.run(
                ["pair", "--device", uri], environment: home.state, input: "4321\n")
            #expect(paired.status == 0, "\(paired.errors)")
            let played = try await RouterProcess.run(["play", file.path, "--device", uri], environment: home.state)
            #expect(played.status == 0, "\(played.errors)")
            #expect(await receiver.record().sessions.count == 1)
        }
    }

    @Test("R6 a device that has had too many tries says for how long")
    func backOff() async throws {
        let home = try Home()
        var configuration = SimulatedAirPlay2Configuration(
            name: "TV", host: "127.0.0.1", port: 0, timing: [.ntp], pairing: .code(.fixed("1234")))
        configuration.pairing.backOff = [30]
        try await withReceiver(configuration) { _, uri in
            _ = try await RouterProcess.run(["pair", "--device", uri], environment: home.state, input: "1111\n")
            let refused = try await RouterProcess.run(
                ["pair", "--device", uri], environment: home.state, input: "1234\n")
            #expect(refused.status != 0 && refused.errors.contains("30 seconds"), "\(refused.errors)")
        }
    }

    /// The keys in the store, as hexadecimal digits and base64 in lower case; every file beside it is for its owner alone.
    private func secrets(in folder: URL) async throws -> [String] {
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            .compactMap { $0 as? URL }
        for file in files {
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(file.lastPathComponent)")
        }
        let store = try #require(files.first { $0.pathExtension == "sqlite" })
        let script = """
            import base64, sqlite3, sys
            db = sqlite3.connect(sys.argv[1])
            keys = [row[0] for row in db.execute("SELECT seed FROM identity UNION ALL SELECT secret FROM pairing")]
            for key in keys:
                # What a pairing left is of several parts: any stretch of it would be too much.
                for part in [key[n:n + 16] for n in range(0, len(key) - 15, 8)]:
                    print(part.hex())
                    print(base64.b64encode(part).decode().rstrip("=")[:-2])
            """
        let outcome = try await PeerPrograms.run("python3", ["-c", script, store.path])
        try #require(outcome.succeeded, "\(outcome.errors)")
        return outcome.output.split(separator: "\n").map { $0.lowercased() }
    }
}
