import Foundation
import RouterTestKit
import SimulatedReceivers
import Subprocess
import Testing

/// Senders of other projects play to the simulated Cast receiver. Judged by what they report and by what the receiver
/// itself saw and heard.
@Suite(.serialized)
struct CastSendersTests {
    private struct Report: Decodable {
        struct Step: Decodable {
            var step: String
            var reached: Bool
            var state: String?
            var position: Double?
            var duration: Double?
            var title: String?
            var idle_reason: String?
            var volume: Double?
            var app: String?
        }
        var steps: [Step]
        var failed: String?

        subscript(_ name: String) -> Step? { steps.first { $0.step == name } }
    }

    @Test("R8 pychromecast plays, pauses, seeks, sets volume and stops", .timeLimit(.minutes(2)))
    func pychromecast() async throws {
        guard let python = await PeerPrograms.python(with: "pychromecast", for: "pychromecast plays to us") else {
            return
        }
        try await withReceiver(named: "for pychromecast") { receiver, port in
            let tune = try await Tune.make(seconds: 12, as: "flac")
            defer { tune.remove() }
            let result = try await run(
                .path(.init(python)),
                arguments: [
                    PeerPrograms.script("pychromecast_session.py"), "127.0.0.1", String(port), tune.path, "audio/flac",
                ],
                output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
            let report = try JSONDecoder().decode(Report.self, from: Data(result.standardOutput.utf8))
            #expect(report.failed == nil, "\(result.standardError)")
            #expect(report.steps.filter { !$0.reached }.map(\.step) == [])
            #expect(report["playing"]?.title == "A tune")
            #expect(abs((report["playing"]?.duration ?? 0) - 12) < 0.1)
            #expect(report["playing"]?.app == "Default Media Receiver")
            #expect(report["stopped"]?.idle_reason == "CANCELLED")

            let record = await receiver.record()
            #expect(record.loads.count == 1)
            #expect(record.contents.map(\.sha256) == [tune.sha256])
            #expect(record.fetches.allSatisfy { $0.status == 206 && $0.failure == nil })
            #expect(record.pauses.count == 1 && record.pauses[0] > 0.9)
            #expect(record.seeks == [6])
            #expect(record.events("volume").compactMap { $0["level"]?.double }.contains(0.4))
            #expect(record.words.contains("stop") && record.words.contains("appStopped"))
            try expectHeard(record)
        }
    }

    /// Runs a receiver on free ports while the body runs.
    private func withReceiver(
        named name: String, host: String = "127.0.0.1", port: Int = 0, httpPort: Int? = 0,
        _ body: (SimulatedCastReceiver, Int) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-cast-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = SimulatedCastConfiguration(name: name, host: host, port: port, httpPort: httpPort)
        configuration.recordingFolder = folder
        let receiver = try SimulatedCastReceiver(configuration)
        let ports = try await receiver.start()
        do {
            try await body(receiver, ports.port)
        } catch {
            await receiver.stop()
            throw error
        }
        await receiver.stop()
    }

    /// The recording holds just what the clock allowed, and it is the tune.
    private func expectHeard(_ record: SimulatedCastRecord) throws {
        let played = record.intervals.reduce(0) { $0 + Double($1.hostEnd - $1.hostStart) / 1e9 }
        #expect(abs(Double(record.heardFrames) / 44_100 - played) < 0.05)
        let wav = try Data(contentsOf: try #require(record.recording))
        #expect(wav.count == 44 + record.heardFrames * 4)
        let loud = stride(from: 44, to: wav.count - 1, by: 2).contains { index in
            abs(Int(Int16(bitPattern: UInt16(wav[index]) | UInt16(wav[index + 1]) << 8))) > 1_000
        }
        #expect(loud)
    }
}
