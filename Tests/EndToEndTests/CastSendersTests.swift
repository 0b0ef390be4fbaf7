import Foundation
import RouterTestKit
import SimulatedReceivers
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
        var exit: Int?
        var said: String?

        subscript(_ name: String) -> Step? { steps.first { $0.step == name } }
    }

    /// pychromecast, and with it catt, writes its TLS connection from two threads without a lock; when it is answered
    /// within microseconds it spoils the connection now and then. No device is that quick.
    private static let deviceDelay = Duration.milliseconds(60)

    @Test("R8 pychromecast plays, pauses, seeks, sets volume and stops", .timeLimit(.minutes(2)))
    func pychromecast() async throws {
        let python = try await PeerPrograms.python(with: "pychromecast", for: "pychromecast plays to us")
        try await withReceiver(named: "for pychromecast") {
            $0.faults.answerDelay = Self.deviceDelay
        } _: { receiver, port in
            let tune = try await Tune.make(seconds: 12, as: "flac")
            defer { tune.remove() }
            let arguments = ["127.0.0.1", String(port), tune.path, "audio/flac"]
            guard let report = try await session(python, "pychromecast_session.py", arguments, receiver) else { return }
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
            let levels = record.events("volume").compactMap { $0["level"]?.double }
            #expect(levels.contains(0.4))
            #expect(record.words.contains("stop") && record.words.contains("appStopped"))
            try expectHeard(record)
        }
    }

    @Test("R8 catt plays a local file, pauses, seeks, sets volume and stops", .timeLimit(.minutes(4)))
    func catt() async throws {
        let purpose = "catt plays to us"
        let catt = try PeerPrograms.find("catt", for: purpose)
        let python = try await PeerPrograms.python(with: "catt", for: purpose)
        // catt takes an address without a port: the standard ports of an address that nobody else uses.
        let host = "127.0.7.13"
        try await withReceiver(named: "for catt", host: host, port: 8009, httpPort: 8008) {
            $0.faults.answerDelay = Self.deviceDelay
        } _: { receiver, _ in
            let tune = try await Tune.make(seconds: 40, as: "mp3")
            defer { tune.remove() }
            let subtitles = URL(fileURLWithPath: tune.path).deletingPathExtension().appendingPathExtension("srt")
            try "1\n00:00:00,100 --> 00:00:02,000\nA word\n".write(to: subtitles, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(at: subtitles) }
            let arguments = [catt, host, tune.path, subtitles.path]
            let report = try await session(python, "catt_session.py", arguments, receiver)
            guard let report else { return }
            #expect(report.exit == 0, "\(report.said ?? "")")
            #expect(abs((report["playing"]?.duration ?? 0) - 40) < 0.2)
            #expect(report["volume"]?.volume == 0.4)

            let record = await receiver.record()
            #expect(record.loads.map(\.sender).isEmpty == false)
            #expect(record.contents.map(\.sha256) == [tune.sha256])
            #expect(record.fetches.allSatisfy { [200, 206].contains($0.status) && $0.failure == nil })
            // The subtitles too were fetched and read.
            #expect(record.events("cue").compactMap { $0["text"]?.string } == ["A word"])
            #expect(record.seeks == [20])
            #expect(record.pauses.count == 1)
            #expect(record.level == 0.4)
            #expect(record.words.contains("stop") || record.words.contains("appStopped"))
            try expectHeard(record)
        }
    }

    @Test("R8 pychromecast goes through a queue with subtitles at a group", .timeLimit(.minutes(2)))
    func pychromecastQueue() async throws {
        let python = try await PeerPrograms.python(with: "pychromecast", for: "pychromecast's queue at a group")
        let tune = try await Tune.make(seconds: 30, as: "flac")
        defer { tune.remove() }
        let text = URL(fileURLWithPath: tune.path).deletingPathExtension().appendingPathExtension("vtt")
        try "WEBVTT\n\n00:00.000 --> 00:02.000\nA word\n".write(to: text, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: text) }
        try await withReceiver(named: "group for pychromecast") {
            $0.faults.answerDelay = Self.deviceDelay
            $0.group = SimulatedCastGroup(members: [.init(id: "a", name: "A"), .init(id: "b", name: "B")])
        } _: { receiver, port in
            let arguments = ["127.0.0.1", String(port), tune.path, "audio/flac", text.path]
            guard try await session(python, "pychromecast_queue.py", arguments, receiver) != nil else { return }
            let record = await receiver.record()
            #expect(record.events("queue").compactMap { $0["change"]?.string } == ["INSERT"])
            #expect(record.events("cue").isEmpty == false)
            #expect(record.events("rate").first?["rate"]?.double == 1.5)
        }
    }

    @Test("R8 VLC plays a file, pauses, seeks and stops", .timeLimit(.minutes(4)))
    func vlc() async throws {
        let purpose = "VLC plays to us"
        let vlc = try PeerPrograms.find("vlc", for: purpose)
        let python = try PeerPrograms.find("python3", for: purpose)
        try await withReceiver(named: "for VLC") { receiver, port in
            let tune = try await Tune.make(seconds: 40, as: "mp3")
            defer { tune.remove() }
            let journal = try #require(await receiver.record().journal)
            let report = try await session(
                python, "vlc_session.py", [vlc, "127.0.0.1", String(port), tune.path, journal.path], receiver)
            guard report != nil else { return }
            // Now and then VLC leaves without a word; as on a real device, what plays goes on then.
            receiver.control(.pressPause)
            let isStill = await eventually {
                ["PAUSED", "IDLE"].contains(await receiver.record().playerState ?? "IDLE")
            }
            #expect(isStill)
            let record = await receiver.record()
            #expect(record.words.contains("challenged"))
            #expect(record.loads.first?.sender == "sender-vlc")
            #expect(record.loads.first?.request["media"]?["contentType"]?.string == "audio/x-matroska")
            #expect(record.pauses.isEmpty == false)
            try expectHeard(record)
        }
    }

    /// Runs a session script and reads its report; what fails is recorded as an issue with the receiver's story.
    private func session(
        _ python: String, _ script: String, _ arguments: [String], _ receiver: SimulatedCastReceiver
    ) async throws -> Report? {
        let result = try await PeerPrograms.run(python, [PeerPrograms.script(script)] + arguments)
        guard result.succeeded, let report = try? JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
        else {
            Issue.record("\(result.output)\n\(result.errors)\n\(await receiver.record().words)")
            return nil
        }
        let failures = report.steps.filter { !$0.reached }.map(\.step)
        guard report.failed == nil, failures == [] else {
            Issue.record("\(result.output)\n\(result.errors)\n\(await receiver.record().words)")
            return nil
        }
        return report
    }

    /// Runs a receiver on free ports while the body runs.
    private func withReceiver(
        named name: String, host: String = "127.0.0.1", port: Int = 0, httpPort: Int? = 0,
        _ change: (inout SimulatedCastConfiguration) -> Void = { _ in },
        _ body: (SimulatedCastReceiver, Int) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-cast-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = SimulatedCastConfiguration(name: name, host: host, port: port, httpPort: httpPort)
        configuration.recordingFolder = folder
        change(&configuration)
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
