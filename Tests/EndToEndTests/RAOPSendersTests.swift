import Foundation
import RouterTestKit
import SimulatedReceivers
import Subprocess
import Testing

/// A sender of another project plays to the simulated AirPlay 1 speaker. Judged by the speaker's own recording.
@Suite(.serialized)
struct RAOPSendersTests {
    /// Without a latency of its own: pyatv hangs up when its own 1.5 s have passed, whatever the speaker says of its own, and
    /// what would have been heard after that is cut off.
    private let configuration = SimulatedRAOPConfiguration(name: "for pyatv", port: 0, latencyFrames: 0)

    @Test(
        "R8 A1 pyatv plays a tagged FLAC: heard bit for bit, with title, artist, picture and volume",
        .timeLimit(.minutes(2)))
    func pyatv() async throws {
        let python = try await PeerPrograms.python(with: "pyatv", for: "pyatv plays to the simulated speaker")
        let tune = try await Tune.make(seconds: 4, as: "flac")
        defer { tune.remove() }
        let picture = try await makePicture()
        defer { try? FileManager.default.removeItem(atPath: picture) }
        try await withSpeaker(configuration) { speaker, port, wav in
            let outcome = try await play(tune.path, by: python, to: port, picture: picture)
            #expect(outcome.succeeded, "\(outcome.output) \(outcome.errors)")
            let record = await speaker.record()
            #expect(record.announcements.map(\.codec) == [.pcm])
            #expect(record.metadata.contains { $0.title == "A tune" && $0.artist == "Somebody" })
            #expect(record.artwork?.mimeType == "image/jpeg")
            #expect(record.artwork.map { $0.bytes.prefix(2) == [0xFF, 0xD8] } == true)
            #expect(record.volumes.contains { abs($0 - -18) < 0.01 }, "40 % of 30 dB")
            #expect(record.timingExchanges >= 3)
            #expect(record.lostFrames == 0)
            let source = try await samples(of: tune.path)
            let heard = try await samples(of: wav)
            #expect(source.count == 4 * 44_100 * 2)
            let isExact = heard.starts(with: source)
            #expect(isExact, "\(heard.count / 2) frames")
            #expect(heard.count - source.count < 44_100, "what follows is the silence by which pyatv fills up")
            #expect(heard.dropFirst(source.count).allSatisfy { $0 == 0 })
        }
    }

    @Test("R8 A1 pyatv plays an MP3 behind a password, with a tenth of all packets lost", .timeLimit(.minutes(2)))
    func pyatvPasswordAndLoss() async throws {
        let python = try await PeerPrograms.python(with: "pyatv", for: "pyatv plays behind a password")
        let tune = try await Tune.make(seconds: 4, as: "mp3")
        defer { tune.remove() }
        var configuration = configuration
        configuration.password = "open sesame"
        configuration.faults.dropAudio = 0.1
        try await withSpeaker(configuration) { speaker, port, wav in
            let refused = try await play(tune.path, by: python, to: port, password: "wrong")
            #expect(!refused.succeeded)
            #expect(await speaker.record().announcements.isEmpty)

            let outcome = try await play(tune.path, by: python, to: port, password: "open sesame")
            #expect(outcome.succeeded, "\(outcome.output) \(outcome.errors)")
            let record = await speaker.record()
            #expect(record.challenges >= 2)
            #expect(record.droppedPackets > 20)
            #expect(record.recoveredPackets > 20)
            #expect(record.lostFrames == 0, "everything was sent again in time")
            // Left 440 Hz, right 660 Hz, over the whole length.
            let heard = try await samples(of: wav)
            try #require(heard.count >= 4 * 88_200)
            for second in 0..<4 {
                let part = Array(heard[(second * 88_200)..<((second + 1) * 88_200)])
                #expect(abs(crossings(part, channel: 0) - 440) <= 2)
                #expect(abs(crossings(part, channel: 1) - 660) <= 2)
            }
        }
    }

    // MARK: Steps

    private func withSpeaker(
        _ configuration: SimulatedRAOPConfiguration,
        _ body: (SimulatedRAOPReceiver, _ port: Int, _ wav: String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-raop-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = configuration
        configuration.recordingFolder = folder
        let speaker = SimulatedRAOPReceiver(configuration)
        let port = try await speaker.start()
        let wav = folder.appending(path: "\(configuration.name).wav").path
        do {
            try await body(speaker, port, wav)
        } catch {
            await speaker.stop()
            throw error
        }
        await speaker.stop()
    }

    private func play(_ file: String, by python: String, to port: Int, password: String? = nil, picture: String? = nil)
        async throws -> PeerPrograms.Outcome
    {
        let given =
            (password.map { ["RAOP_PASSWORD=\($0)"] } ?? []) + (picture.map { ["RAOP_PICTURE=\($0)"] } ?? [])
        return try await PeerPrograms.run(
            "env",
            given + [python, PeerPrograms.script("pyatv_raop.py"), "127.0.0.1", String(port), file]
                + ["et=0", "cn=0,1", "md=0,1,2", "ch=2", "sr=44100", "ss=16"])
    }

    private func makePicture() async throws -> String {
        let picture = FileManager.default.temporaryDirectory.appending(path: "router-\(UUID().uuidString).jpg").path
        let outcome = try await PeerPrograms.run(
            "ffmpeg",
            ["-nostdin", "-v", "error", "-f", "lavfi", "-i", "color=red:size=64x64", "-frames:v", "1", picture])
        try #require(outcome.succeeded, "\(outcome.errors)")
        return picture
    }

    private func samples(of file: String) async throws -> [Int16] {
        let raw = FileManager.default.temporaryDirectory.appending(path: "router-\(UUID().uuidString).s16").path
        defer { try? FileManager.default.removeItem(atPath: raw) }
        let outcome = try await PeerPrograms.run(
            "ffmpeg",
            ["-nostdin", "-v", "error", "-i", file, "-map", "0:a", "-f", "s16le", "-ar", "44100", "-ac", "2", raw])
        try #require(outcome.succeeded, "\(outcome.errors)")
        return try Data(contentsOf: URL(filePath: raw)).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
    }

    /// How often a channel rises through zero.
    private func crossings(_ samples: [Int16], channel: Int) -> Int {
        let values = stride(from: channel, to: samples.count, by: 2).map { samples[$0] }
        return zip(values, values.dropFirst()).count { $0 < 0 && $1 >= 0 }
    }
}
