import Foundation
import PeerSupport
import RouterTestKit
import Testing

/// Receivers and senders that are killed: a room comes back on the beat, and no receiver is left busy.
@Suite("R5 killed and started again", .serialized, .timeLimit(.minutes(5)))
struct HardEndsTests {
    /// `router simulate` with one receiver, which keeps its address and port over a kill.
    private final class Receiver {
        let folder: URL
        let kind: String
        private let spec: [String]
        private var process: RouterProcess?
        private var starts = 0

        /// - Parameter kind: raop, or the timing of AirPlay 2.
        init(_ kind: String, in folder: URL) {
            self.kind = kind
            self.folder = folder
            let place = "Attic@\(kind == "ptp" ? "127.0.8.1" : "127.0.0.1"):\(Int.random(in: 30_000..<32_000))"
            spec = kind == "raop" ? ["--raop", place] : ["--airplay2", "\(place)?timing=\(kind)"]
        }

        private var recordings: URL { folder.appendingPathComponent("heard-\(starts)") }

        /// Answers its URI.
        func start() async throws -> String {
            starts += 1
            let process = try RouterProcess(["simulate"] + spec + ["--record", recordings.path])
            self.process = process
            try #require(await eventually { process.output.contains("\n") || !process.isRunning })
            let line = try JSONSerialization.jsonObject(with: Data(process.output.utf8)) as? [String: Any]
            return try #require(line?["uri"] as? String, "\(process.errors)")
        }

        func kill() async {
            guard let process else { return }
            Foundation.kill(process.processIdentifier, SIGKILL)
            _ = await process.outcome()
            self.process = nil
        }

        func stop() async {
            process?.interrupt()
            _ = await process?.outcome(within: .seconds(10))
        }

        /// What this process has heard: when the tone's first frame would have been, by each mark, in host nanoseconds.
        func origins() throws -> [Double] {
            guard
                let room = try? RoomClock(
                    wav: recordings.appendingPathComponent("Attic.wav"),
                    journal: recordings.appendingPathComponent("Attic.ndjson"))
            else { return [] }
            let samples = try Recording.samples(wav: recordings.appendingPathComponent("Attic.wav"))
            return room.marks.compactMap { mark in
                for place in stride(from: mark.frame, to: samples.count / 2, by: 441) {
                    if let frame = PositionTone.frame(samples[place * 2], samples[place * 2 + 1]) {
                        return Double(mark.hostNanoseconds)
                            - Double(frame - Int64(place - mark.frame)) * 1e9 / 44_100
                    }
                }
                return nil
            }
        }

        /// What makes it take connections and say nothing.
        var mute: [String] { spec + ["--fault", "never-answer"] }

        func events(_ word: String) -> Int {
            let journal = recordings.appendingPathComponent("Attic.ndjson")
            let text = (try? String(contentsOf: journal, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").count { $0.contains("\"event\":\"\(word)\"") }
        }

        /// Waits until so many seconds have been heard.
        func hears(_ seconds: Int) async -> Bool {
            await eventually(within: .seconds(seconds + 40)) { [self] in events("clock") > seconds }
        }
    }

    private static func tone(_ seconds: Int) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ends-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try PositionTone.write(seconds: seconds, to: folder.appendingPathComponent("tone.wav").path)
        return folder
    }

    private static func median(_ values: [Double]) -> Double {
        values.isEmpty ? .nan : values.sorted()[values.count / 2]
    }

    private static let kinds = ["raop", "ntp"]

    // MARK: The receiver

    @Test("R5 the receiver is killed and started again: the room comes in on the beat", arguments: kinds)
    func receiver(_ kind: String) async throws { try await receiverIsKilled(kind) }

    @Test("R5 so does one that follows our PTP clock", .enabled(if: Lab.isInside, Lab.reason))
    func receiverOfPTP() async throws { try await receiverIsKilled("ptp") }

    private func receiverIsKilled(_ kind: String) async throws {
        let folder = try Self.tone(120)
        defer { try? FileManager.default.removeItem(at: folder) }
        let receiver = Receiver(kind, in: folder)
        let uri = try await receiver.start()
        let play = try RouterProcess([
            "play", folder.appendingPathComponent("tone.wav").path, "--device", uri,
        ])
        #expect(await receiver.hears(2), "\(play.errors)")
        let before = try receiver.origins()
        await receiver.kill()
        #expect(await eventually { play.errors.contains("the connection is lost") })
        _ = try await receiver.start()
        #expect(await receiver.hears(2), "\(play.errors)")
        let after = try receiver.origins()
        let apart = abs(Self.median(before) - Self.median(after)) / 1e6
        print("\(kind): after the receiver was killed, it is \(String(format: "%.3f", apart)) ms from its beat")
        #expect(apart <= 1, "\(apart) ms")
        #expect(play.errors.components(separatedBy: "the connection is lost").count == 2, "\(play.errors)")
        #expect(play.errors.contains("connected again"), "\(play.errors)")
        play.interrupt()
        #expect(await play.outcome(within: .seconds(20)).status == 130)
        await receiver.stop()
    }

    @Test("R5 a receiver that is gone for good: Ctrl-C ends the wait at once, also while a silent one is being asked")
    func interrupted() async throws {
        for successor in [nil, "mute"] {
            let folder = try Self.tone(60)
            defer { try? FileManager.default.removeItem(at: folder) }
            let receiver = Receiver("raop", in: folder)
            let uri = try await receiver.start()
            let play = try RouterProcess([
                "play", folder.appendingPathComponent("tone.wav").path, "--device", uri,
            ])
            #expect(await receiver.hears(1), "\(play.errors)")
            await receiver.kill()
            #expect(await eventually { play.errors.contains("the connection is lost") })
            let mute = try successor.map { _ in try RouterProcess(["simulate"] + receiver.mute) }
            if let mute {
                #expect(await eventually { mute.errors.contains("request") || mute.errors.contains("connected") })
            }
            play.interrupt()
            let outcome = await play.outcome(within: .seconds(10))
            #expect(outcome.status == 130, "\(outcome.errors)")
            #expect(outcome.errors.contains("5 minutes"), "\(outcome.errors)")
            mute?.interrupt()
            _ = await mute?.outcome(within: .seconds(10))
        }
    }

    @Test("R5 a receiver that does not come back before the music is over: said so, exit 5")
    func neverBack() async throws {
        let folder = try Self.tone(6)
        defer { try? FileManager.default.removeItem(at: folder) }
        let receiver = Receiver("raop", in: folder)
        let uri = try await receiver.start()
        let play = try RouterProcess(["play", folder.appendingPathComponent("tone.wav").path, "--device", uri])
        #expect(await receiver.hears(1), "\(play.errors)")
        await receiver.kill()
        let outcome = await play.outcome(within: .seconds(30))
        #expect(outcome.status == 5, "\(outcome.errors)")
        #expect(outcome.errors.contains("did not come back by the end of the music"), "\(outcome.errors)")
        #expect(outcome.errors.components(separatedBy: "did not come back").count == 2, "\(outcome.errors)")
    }

    // MARK: The sender

    @Test(
        "R5 the sender is killed: the receiver is not left busy, and the next process goes on in time", arguments: kinds
    )
    func sender(_ kind: String) async throws { try await senderIsKilled(kind) }

    @Test("R5 so it is with one that follows our PTP clock", .enabled(if: Lab.isInside, Lab.reason))
    func senderOfPTP() async throws { try await senderIsKilled("ptp") }

    private func senderIsKilled(_ kind: String) async throws {
        let folder = try Self.tone(120)
        defer { try? FileManager.default.removeItem(at: folder) }
        let receiver = Receiver(kind, in: folder)
        let uri = try await receiver.start()
        let state = ["XDG_STATE_HOME": folder.appendingPathComponent("state").path]
        let first = try RouterProcess(
            ["play", folder.appendingPathComponent("tone.wav").path, "--device", uri], environment: state)
        #expect(await receiver.hears(3), "\(first.errors)")
        kill(first.processIdentifier, SIGKILL)
        _ = await first.outcome()
        let before = try receiver.origins()
        let second = try RouterProcess(["session", "join"], environment: state)
        #expect(await receiver.hears(before.count + 1), "\(second.errors)")
        let after = Array(try receiver.origins().dropFirst(before.count))
        // On the beat of the first: the place in the music is where it would have been without the crash.
        let apart = abs(Self.median(before) - Self.median(after)) / 1e6
        print(
            "\(kind): after the sender was killed, the music goes on \(String(format: "%.3f", apart)) ms from its beat")
        #expect(apart < 5, "\(apart) ms")
        #expect(receiver.events("busy") == 0)
        second.interrupt()
        #expect(await second.outcome(within: .seconds(20)).status == 130)
        await receiver.stop()
    }

    @Test(
        "R5 the sender is killed: shairport-sync is not left busy, and the next process goes on in time",
        .enabled(if: ShairportSync.missing == nil))
    func senderOfShairport() async throws {
        let folder = try Self.tone(120)
        defer { try? FileManager.default.removeItem(at: folder) }
        let tap = OutputTap()
        let receiver = try await ShairportSync(output: tap.writing)
        defer { receiver.stop() }
        let state = ["XDG_STATE_HOME": folder.appendingPathComponent("state").path]
        let first = try RouterProcess(
            ["play", folder.appendingPathComponent("tone.wav").path, "--device", "raop://127.0.0.1:\(receiver.port)"],
            environment: state)
        #expect(await eventually(within: .seconds(30)) { tap.heard.count > 250 })
        kill(first.processIdentifier, SIGKILL)
        _ = await first.outcome()
        let before = tap.heard
        let second = try RouterProcess(["session", "join"], environment: state)
        #expect(await eventually(within: .seconds(30)) { tap.heard.count > before.count + 250 }, "\(second.errors)")
        let after = Array(tap.heard.dropFirst(before.count + 60))
        let apart = abs(Self.median(before.suffix(120).map(\.origin)) - Self.median(after.map(\.origin))) / 1e6
        print("after the sender was killed, the music goes on \(String(format: "%.3f", apart)) ms from its beat")
        #expect(apart < 5, "\(apart) ms")
        second.interrupt()
        #expect(await second.outcome(within: .seconds(20)).status == 130)
    }
}
