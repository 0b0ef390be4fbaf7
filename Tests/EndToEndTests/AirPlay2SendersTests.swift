import Foundation
import RouterTestKit
import SimulatedReceivers
import Testing

/// A sender of another project plays to the simulated AirPlay 2 receiver. Judged by the receiver's own recording.
@Suite(.serialized)
struct AirPlay2SendersTests {
    /// Without a latency of its own: pyatv hangs up when its own 1.5 s have passed, whatever the receiver adds to them.
    private let configuration: SimulatedAirPlay2Configuration = {
        var configuration = SimulatedAirPlay2Configuration(name: "for pyatv", port: 0, timing: [.ntp])
        configuration.ntpLatencyFrames = 0
        return configuration
    }()

    @Test(
        "R8 A1 pyatv pairs for a connection and plays by AirPlay 2 and NTP: heard bit for bit, with title and picture",
        .timeLimit(.minutes(3)))
    func transient() async throws {
        let python = try await PeerPrograms.python(with: "pyatv", for: "pyatv plays to the AirPlay 2 receiver")
        let tune = try await Tune.make(seconds: 4, as: "flac")
        defer { tune.remove() }
        let picture = try await makePicture()
        defer { try? FileManager.default.removeItem(atPath: picture) }
        try await withReceiver(configuration) { receiver, port, wav in
            let outcome = try await play(
                tune.path, by: python, to: port, receiver, ["AIRPLAY_PICTURE=\(picture)"])
            #expect(outcome.succeeded, "\(outcome.output) \(outcome.errors)")
            let record = await receiver.record()
            #expect(record.sessions.map(\.clock) == [.ntp])
            #expect(record.sessions.allSatisfy { $0.isEncrypted && $0.name == "pyatv" })
            #expect(record.streams.map(\.kind) == [.realtime])
            #expect(record.streams.first?.audioFormat == 0x800)
            #expect(record.eventConnections == 1)
            #expect(record.metadata.contains { $0.title == "A tune" && $0.artist == "Somebody" })
            #expect(record.artwork.map { $0.bytes.prefix(2) == [0xFF, 0xD8] } == true)
            #expect(record.volumes.contains { abs($0 - -18) < 0.01 }, "40 % of 30 dB")
            #expect(record.feedbacks >= 2)
            #expect(record.timingExchanges >= 3)
            #expect(record.lostFrames == 0 && record.undecodablePackets == 0)
            try await expectWhole(wav, tune)
        }
    }

    @Test("R6 A1 pyatv pairs by the code on the screen, comes back by pair-verify and plays", .timeLimit(.minutes(3)))
    func code() async throws {
        let python = try await PeerPrograms.python(with: "pyatv", for: "pyatv pairs with the AirPlay 2 receiver")
        let tune = try await Tune.make(seconds: 3, as: "flac")
        defer { tune.remove() }
        var configuration = configuration
        configuration.pairing = .code(.fixed("3141"))
        try await withReceiver(configuration) { receiver, port, wav in
            // Whoever has no code is turned away before any sound.
            let refused = try await play(tune.path, by: python, to: port, receiver)
            #expect(!refused.succeeded)
            #expect(await receiver.record().sessions.isEmpty)
            #expect(await receiver.record().refusals.contains { $0.hasSuffix(" 470") })

            let outcome = try await play(tune.path, by: python, to: port, receiver, ["AIRPLAY_PIN=3141"])
            #expect(outcome.succeeded, "\(outcome.output) \(outcome.errors)")
            #expect(await receiver.pairings().controllers.count == 1)
            #expect(await receiver.record().sessions.map(\.isEncrypted) == [true])
            try await expectWhole(wav, tune)
        }
    }

    @Test(
        "R8 A1 pyatv plays to a receiver that loses a tenth of all packets and opens its event port late",
        .timeLimit(.minutes(3)))
    func losses() async throws {
        let python = try await PeerPrograms.python(with: "pyatv", for: "pyatv plays to a receiver with faults")
        let tune = try await Tune.make(seconds: 4, as: "flac")
        defer { tune.remove() }
        var configuration = configuration
        configuration.faults.dropAudio = 0.1
        configuration.faults.eventPortDelay = 1.5
        try await withReceiver(configuration) { receiver, port, wav in
            let outcome = try await play(tune.path, by: python, to: port, receiver)
            #expect(outcome.succeeded, "\(outcome.output) \(outcome.errors)")
            let record = await receiver.record()
            #expect(record.eventConnections == 1, "it tried again")
            #expect(record.droppedPackets > 20 && record.recoveredPackets > 20)
            #expect(record.lostFrames == 0, "everything was sent again in time")
            try await expectWhole(wav, tune)
        }
    }

    @Test(
        "R8 A10 a button at the receiver goes out on the event channel, and pyatv answers it", .timeLimit(.minutes(3)))
    func button() async throws {
        let python = try await PeerPrograms.python(with: "pyatv", for: "pyatv hears buttons")
        let tune = try await Tune.make(seconds: 4, as: "flac")
        defer { tune.remove() }
        var configuration = configuration
        configuration.buttons = [.init(after: 1, .pause), .init(after: 1.5, .next)]
        try await withReceiver(configuration) { receiver, port, _ in
            let outcome = try await play(tune.path, by: python, to: port, receiver)
            #expect(outcome.succeeded, "\(outcome.output) \(outcome.errors)")
            let answers = await receiver.record().eventAnswers
            #expect(answers == Array(repeating: .init(status: 200, repeatsSequence: true), count: 2))
        }
    }

    @Test(
        "R8 A10 pyatv controls a simulated Apple TV over the stream for remote control: MRP as another reads it",
        .timeLimit(.minutes(3)))
    func remoteControl() async throws {
        let python = try await PeerPrograms.python(with: "pyatv", for: "pyatv controls the Apple TV")
        var configuration = configuration
        configuration.pairing = .code(.fixed("3141"))
        configuration.model = "AppleTV14,1"
        configuration.dataSpeaker = SimulatedMRPDevice(
            name: "for pyatv",
            playing: .init(
                title: "東京は夜の七時", artist: "Пицикато", album: "Nr. 5", duration: 240, elapsed: 12))
        try await withReceiver(configuration) { receiver, port, _ in
            let outcome = try await PeerPrograms.run(
                python,
                [PeerPrograms.script("pyatv_mrp.py"), "127.0.0.1", String(port), "3141"]
                    + receiver.airPlayRecord.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
            #expect(outcome.succeeded, "\(outcome.output) \(outcome.errors)")
            let report = try #require(
                JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
            #expect(report["title"] as? String == "東京は夜の七時")
            #expect(report["artist"] as? String == "Пицикато")
            #expect(report["album"] as? String == "Nr. 5")
            #expect(report["total"] as? Int == 240)
            #expect((report["position"] as? Int).map { (12...20).contains($0) } == true, "\(report)")
            #expect(report["state"] as? String == "Playing")
            #expect(report["app"] as? String == "Player")
            #expect(report["volume"] as? Double == 50)
            #expect(report["paused"] as? String == "Paused")
            #expect(report["sought"] as? Int == 60)
            #expect(report["turned"] as? Double == 25)
            let device = try #require(await receiver.speaker(as: SimulatedMRPDevice.self))
            #expect(device.pressed == [2, 45, 5])
            #expect(device.heard.prefix(4) == [15, 38, 16, 24])
            #expect(device.volume == 0.25)
            #expect(await receiver.record().sessions.map(\.isRemoteControlOnly) == [true])
        }
    }

    // MARK: Steps

    private func withReceiver(
        _ configuration: SimulatedAirPlay2Configuration,
        _ body: (SimulatedAirPlay2Receiver, _ port: Int, _ wav: String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-airplay2-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = configuration
        configuration.recordingFolder = folder
        let receiver = SimulatedAirPlay2Receiver(configuration)
        let port = try await receiver.start()
        do {
            try await body(receiver, port, folder.appending(path: "\(configuration.name).wav").path)
        } catch {
            await receiver.stop()
            throw error
        }
        await receiver.stop()
    }

    private func play(
        _ file: String, by python: String, to port: Int, _ receiver: SimulatedAirPlay2Receiver, _ given: [String] = []
    ) async throws -> PeerPrograms.Outcome {
        let record = await receiver.raopRecord.merging(await receiver.airPlayRecord) { first, _ in first }
        return try await PeerPrograms.run(
            "env",
            given + [python, PeerPrograms.script("pyatv_airplay2.py"), "127.0.0.1", String(port), file]
                + record.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
    }

    /// The recording is the tune, sample for sample, and then nothing but the silence by which pyatv fills up.
    private func expectWhole(_ wav: String, _ tune: Tune) async throws {
        let source = try await samples(of: tune.path)
        let heard = try await samples(of: wav)
        let isExact = heard.starts(with: source)
        #expect(isExact, "\(heard.count / 2) frames heard of \(source.count / 2)")
        #expect(heard.dropFirst(source.count).allSatisfy { $0 == 0 })
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
}
