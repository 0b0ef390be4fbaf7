import Foundation
import PeerSupport
import RouterTestKit
import Testing

/// The built `router simulate`, played to by the built `router play` and by senders of other projects.
@Suite("R8 router simulate", .serialized)
struct SimulateCommandTests {
    /// What one receiver printed when it listened.
    private struct Line: Decodable {
        var event: String
        var name: String
        var kind: String
        var `protocol`: String
        var uri: String
        var host: String
        var port: Int
        var id: String
        var recording: String?
        var journal: String?
    }

    private struct Report: Decodable {
        struct Step: Decodable {
            var step: String
            var reached: Bool
        }
        var steps: [Step]
        var failed: String?
    }

    /// The lines of a process, when there are as many as receivers.
    private func lines(_ process: RouterProcess, _ count: Int) async throws -> [Line] {
        let isThere = await eventually {
            process.output.filter { $0 == "\n" }.count >= count || !process.isRunning
        }
        try #require(isThere && process.isRunning, "\(process.output)\(process.errors)")
        return try process.output.split(separator: "\n").prefix(count).map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
    }

    private func events(of journal: String?) throws -> [[String: Any]] {
        try String(contentsOfFile: try #require(journal), encoding: .utf8).split(separator: "\n").compactMap {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
    }

    @Test("one line of JSON for each receiver; router play plays to both; recordings, journals and the root are there")
    func playsToBoth() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 4)
        let heard = sound.folder.appendingPathComponent("heard")
        let root = sound.folder.appendingPathComponent("root.pem")
        let process = try RouterProcess([
            "simulate", "--cast", "--raop", "Kitchen", "--port", "0", "--record", heard.path, "--root-out", root.path,
        ])
        let lines = try await lines(process, 2)
        #expect(lines.map(\.name) == ["Simulated Cast", "Kitchen"])
        #expect(lines.map(\.kind) == ["cast", "raop"])
        #expect(lines.allSatisfy { $0.event == "listening" && $0.host == "127.0.0.1" && $0.port > 0 && !$0.id.isEmpty })
        #expect(lines[1].uri == "raop://127.0.0.1:\(lines[1].port)?name=Kitchen")
        #expect(lines.map(\.recording) == ["Simulated Cast", "Kitchen"].map { heard.path + "/\($0).wav" })
        #expect(lines.map(\.journal) == ["Simulated Cast", "Kitchen"].map { heard.path + "/\($0).ndjson" })
        #expect(try String(contentsOf: root, encoding: .utf8).hasPrefix("-----BEGIN CERTIFICATE-----\n"))
        let attributes = try FileManager.default.attributesOfItem(atPath: root.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o644)

        let played = try await RouterProcess.run([
            "play", file.path, "--device", lines[0].uri, "--device", lines[1].uri,
        ])
        #expect(played.status == 0, "\(played.errors)")
        process.interrupt()
        let ended = await process.outcome(within: .seconds(20))
        #expect(ended.status == 0, "\(ended.errors)")
        // What happened went to standard error, and nothing but the two lines to standard output.
        #expect(ended.output.split(separator: "\n").count == 2, "\(ended.output)")
        #expect(ended.errors.contains("Kitchen: record"), "\(ended.errors)")

        for line in lines {
            let samples = try Recording.samples(wav: URL(fileURLWithPath: try #require(line.recording)))
            let seconds = Recording.seconds(of: TwoTones.tones, in: samples)
            #expect(seconds.values.reduce(0, +) > 3.5, "\(line.name): \(seconds)")
            #expect(samples.count / 2 < 6 * 48_000)
        }
        let kitchen = try events(of: lines[1].journal).compactMap { $0["event"] as? String }
        #expect(kitchen.contains("announce") && kitchen.contains("teardown"), "\(kitchen)")
        let television = try events(of: lines[0].journal).compactMap { $0["event"] as? String }
        #expect(television.contains("load"), "\(television)")
    }

    @Test("-o ndjson tells what happens on standard output; a password that nobody knows is refused in words, exit 4")
    func faults() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 4)
        let process = try RouterProcess([
            "simulate", "--raop", "Kitchen", "--cast", "TV", "--port", "0", "--fault", "Kitchen:wrong-password",
            "--fault", "TV:load-failed=104", "-o", "ndjson",
        ])
        let lines = try await lines(process, 2)
        let refused = try await RouterProcess.run(
            ["play", file.path, "--device", lines[1].uri], environment: ["ROUTER_PASSWORD": "guess"])
        #expect(refused.status == 4, "\(refused.errors)")
        let failed = try await RouterProcess.run(["play", file.path, "--device", lines[0].uri])
        #expect([5, 6].contains(failed.status), "\(failed.errors)")
        process.interrupt()
        let ended = await process.outcome(within: .seconds(20))
        #expect(ended.status == 0)
        let told = try ended.output.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(told.contains { $0["receiver"] as? String == "Kitchen" && $0["event"] as? String == "request" })
        #expect(told.contains { $0["receiver"] as? String == "TV" && $0["event"] as? String == "load" })
        #expect(!ended.errors.contains("Kitchen: "), "\(ended.errors)")
    }

    @Test("A7 the way that an AirPlay 2 receiver wants is found before sound, and the next process goes it at once")
    func remembered() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 2)
        let state = ["XDG_STATE_HOME": sound.folder.appendingPathComponent("state").path]
        let process = try RouterProcess([
            "simulate", "--airplay2", "Den?timing=ntp&record=after", "--port", "0", "--fault", "cseq=missing",
            "--fault", "challenge=1",
        ])
        let line = try #require(try await lines(process, 1).first)
        var told: [String] = []
        for _ in 1...2 {
            let played = try await RouterProcess.run(["play", file.path, "--device", line.uri], environment: state)
            #expect(played.status == 0, "\(played.errors)")
            told.append(played.output + played.errors)
        }
        #expect(told[0].contains("it wants its stream in another order"), "\(told[0])")
        #expect(!told[1].contains("another order"), "\(told[1])")
        process.interrupt()
        #expect(await process.outcome(within: .seconds(20)).status == 0)
    }

    @Test("pychromecast plays, pauses, seeks, sets volume and stops on router simulate --cast", .timeLimit(.minutes(2)))
    func pychromecast() async throws {
        let python = try await PeerPrograms.python(with: "pychromecast", for: "pychromecast plays to router simulate")
        let tune = try await Tune.make(seconds: 12, as: "flac")
        defer { tune.remove() }
        let heard = FileManager.default.temporaryDirectory.appendingPathComponent("router-heard-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: heard) }
        // As quick as a device and no quicker: pychromecast writes its connection from two threads without a lock.
        let process = try RouterProcess([
            "simulate", "--cast", "--port", "0", "--record", heard.path, "--fault", "slow=0.06",
        ])
        let line = try #require(try await lines(process, 1).first)
        let played = try await PeerPrograms.run(
            python,
            [PeerPrograms.script("pychromecast_session.py"), "127.0.0.1", String(line.port), tune.path, "audio/flac"])
        let report = try JSONDecoder().decode(
            Report.self, from: Data(try #require(played.output.split(separator: "\n").last, "\(played.errors)").utf8))
        #expect(report.failed == nil, "\(played.errors)")
        for step in report.steps { #expect(step.reached, "\(step.step)") }
        #expect(
            Set(report.steps.map(\.step)).isSuperset(of: ["playing", "paused", "sought", "volume", "stopped"]))
        process.interrupt()
        #expect(await process.outcome(within: .seconds(20)).status == 0)
        // The receiver's own record says the same.
        let words = try events(of: line.journal).compactMap { $0["event"] as? String }
        for word in ["load", "pause", "seek", "volume", "stop"] { #expect(words.contains(word), "\(words)") }
        let samples = try Recording.samples(wav: URL(fileURLWithPath: try #require(line.recording)))
        #expect(samples.contains { abs(Int($0)) > 1_000 })
    }
}
