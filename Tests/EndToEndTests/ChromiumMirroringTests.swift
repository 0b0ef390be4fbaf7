import Foundation
import PeerSupport
import Testing

/// Debian's Chromium as a sender: it finds the simulated receiver by mDNS, verifies its device authentication and mirrors
/// a tab, all in a lab of its own.
@Suite("R5 C2 Chromium mirrors to router simulate", .serialized)
struct ChromiumMirroringTests {
    private struct Report: Decodable {
        struct Step: Decodable {
            var step: String
            var reached: Bool
        }
        var steps: [Step]
        var failed: String?
        var crashed: Bool
    }

    private struct Event: Decodable {
        struct Stream: Decodable {
            var codec: String
            var encrypted: Bool
        }
        struct Counts: Decodable {
            var frames: Int
            var missed: Int
            var undecodable: Int
        }
        var event: String
        var app: String?
        var streams: [Stream]?
        var middle: [Int]?
        var mean: [Int]?
        var width: Int?
        var audio: Counts?
        var video: Counts?
        var lostFrames: Int?
        var unsentFrames: Int?
        var lostDatagrams: Int?
        var pictures: Int?
    }

    private struct Outcome {
        var report: Report
        var events: [Event]
        /// Interleaved, 48 kHz.
        var samples: [Int16]
        /// What Chromium wrote of casting.
        var log: String
        /// The last it wrote of anything.
        var end: String

        func events(_ word: String) -> [Event] { events.filter { $0.event == word } }
    }

    /// Runs `peers/chromium_mirroring.py`, and once more from the start where Chromium's process ended by itself: seen once,
    /// in CI, for a reason that is not known. A second such end counts.
    private func run(_ arguments: [String]) async throws -> Outcome {
        let outcome = try await attempt(arguments)
        guard outcome.report.crashed else { return outcome }
        print("Chromium ended by itself (\(outcome.report.failed ?? "")), so it is run again. The end of its log:")
        print(outcome.end)
        return try await attempt(arguments)
    }

    /// One run in `lab.sh --ethernet`, which prints what it did.
    private func attempt(_ arguments: [String]) async throws -> Outcome {
        for program in ["chromium", "Xvfb", "unshare", "avahi-daemon"] where !Command.exists(program) {
            try Test.cancel("Chromium as a sender: \(program) is not installed; Tests/setup.sh tests does it")
        }
        guard getuid() == 0 else { try Test.cancel("Chromium as a sender: Tests/lab.sh needs root") }
        let python = try PeerPrograms.find("python3", for: "Chromium as a sender")
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-chromium-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let lab = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "lab.sh").path
        let run = try await PeerPrograms.run(
            lab,
            [
                "--ethernet", "--", python, PeerPrograms.script("chromium_mirroring.py"), RouterProcess.path,
                folder.path,
            ] + arguments)
        print(run.output)
        let log = (try? String(contentsOf: folder.appending(path: "chromium.log"), encoding: .utf8)) ?? ""
        let last = try #require(run.output.split(separator: "\n").last, "\(run.errors)")
        let journal = try String(contentsOf: folder.appending(path: "Fernseher.ndjson"), encoding: .utf8)
        let recording = folder.appending(path: "Fernseher-streaming.wav")
        let lines = log.split(separator: "\n")
        return Outcome(
            report: try JSONDecoder().decode(Report.self, from: Data(last.utf8)),
            events: try journal.split(separator: "\n").map {
                try JSONDecoder().decode(Event.self, from: Data($0.utf8))
            },
            samples: (try? Recording.samples(wav: recording)) ?? [],
            log: lines.filter { $0.contains("cast") }.suffix(20).joined(separator: "\n"),
            end: lines.suffix(40).joined(separator: "\n"))
    }

    /// The tone fills what Chromium sent. Looked at in steps of 10 ms, so that a packet that Chromium leaves out (on a busy
    /// machine dozens of them) costs its own time only, and none of what was recorded around it.
    private func expectTone(_ tone: Int, in outcome: Outcome, leftOut: Int = 0) {
        let heard = Recording.seconds(of: [tone], in: outcome.samples, rate: 48_000, window: 0.01)[tone] ?? 0
        let recorded = Double(outcome.samples.count) / 96_000
        let sent = recorded - Double(leftOut) / 48_000
        let found = "heard \(tone) Hz for \(heard) s of \(recorded) s recorded, of which \(sent) s were sent"
        print(found)
        #expect(recorded > 4)
        #expect(sent > 1, "\(found)")
        #expect(heard > 0.8 * sent, "\(found)")
    }

    @Test(
        "R5 C2 found by mDNS, verified under the test root, a tab of a known colour and tone mirrored, stopped",
        .timeLimit(.minutes(4)))
    func mirrors() async throws {
        let outcome = try await run(["--seconds", "6", "--colour", "30,160,90", "--tone", "880"])
        #expect(outcome.report.failed == nil, "\(outcome.log)")
        for step in outcome.report.steps { #expect(step.reached, "\(step.step)") }
        #expect(outcome.report.steps.map(\.step).contains("found and verified"))
        #expect(outcome.events("launch").map(\.app) == ["0F5096E8"])
        let streams = try #require(outcome.events("streamStarted").first?.streams)
        #expect(streams.map(\.codec) == ["opus", "vp8"])
        #expect(streams.allSatisfy { $0.encrypted })
        let end = try #require(outcome.events("streamEnded").first)
        #expect(end.audio?.undecodable == 0 && end.video?.undecodable == 0)
        #expect((end.audio?.frames ?? 0) > 200)
        expectTone(880, in: outcome, leftOut: end.unsentFrames ?? 0)
        // The first pictures may be of the page before it was drawn.
        let pictures = outcome.events("picture")
        let right = pictures.filter { picture in
            zip(picture.middle ?? [], [30, 160, 90]).allSatisfy { abs($0 - $1) <= 8 } && picture.middle?.count == 3
        }
        print(
            "\(right.count) of \(pictures.count) pictures have the page's colour; the last: \(pictures.last?.mean ?? [])"
        )
        #expect(pictures.count > 20)
        #expect(Double(right.count) > 0.8 * Double(pictures.count))
        #expect(zip(pictures.last?.mean ?? [], [30, 160, 90]).allSatisfy { abs($0 - $1) <= 10 })
    }

    @Test(
        "R5 5 % of Chromium's datagrams lost and some reordered: repaired, and the tone is whole",
        .timeLimit(.minutes(4)))
    func repairs() async throws {
        let outcome = try await run([
            "--seconds", "6", "--colour", "200,60,40", "--tone", "660", "--fault", "stream-lose=5", "--fault",
            "stream-reorder=2",
        ])
        #expect(outcome.report.failed == nil, "\(outcome.log)")
        let end = try #require(outcome.events("streamEnded").first)
        let lost = try #require(end.lostDatagrams)
        #expect(lost > 10)
        // Chromium itself leaves frames out while a repair takes longer than a third of the delay.
        print(
            "\(lost) datagrams lost; \(end.audio?.missed ?? -1) frames of sound and \(end.video?.missed ?? -1) pictures given up; "
                + "\(end.lostFrames ?? -1) samples lost, \(end.unsentFrames ?? -1) left out by Chromium")
        #expect((end.audio?.missed ?? .max) <= lost / 5)
        #expect(end.video?.undecodable == 0)
        expectTone(660, in: outcome, leftOut: end.unsentFrames ?? 0)
        #expect(zip(outcome.events("picture").last?.mean ?? [], [200, 60, 40]).allSatisfy { abs($0 - $1) <= 10 })
    }

    @Test("C2 under another root Chromium asks, refuses the device and does not list it", .timeLimit(.minutes(4)))
    func otherRoot() async throws {
        let outcome = try await run(["--wrong-root"])
        #expect(outcome.report.failed == nil, "\(outcome.log)")
        #expect(outcome.report.steps.map(\.step) == ["page", "challenged", "refused", "no sender joined"])
        #expect(outcome.report.steps.allSatisfy { $0.reached })
        #expect(outcome.events("senderJoined").isEmpty && outcome.events("launch").isEmpty)
        #expect(outcome.log.contains("AUTHENTICATION_ERROR"), "\(outcome.log)")
    }
}
