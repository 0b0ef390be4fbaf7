import Foundation
import PeerSupport
import RouterTestKit
import Testing

/// `router play` to a Cast receiver that shares no code with ours.
@Suite(
    "C3 C8 router play to an independent Cast receiver",
    .enabled(if: PeerProgram.absence == nil, "\(PeerProgram.absence ?? "")"))
struct CastAcceptanceTests {
    @Test("the file is fetched in ranges, plays, advances, finishes, exit 0", arguments: [false, true])
    func plays(launchStatus: Bool) async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 5)
        let receiver = try PeerProgram(
            "minimal_cast_receiver.py", ["--until-eof", "--piece", "30000"] + (launchStatus ? ["--launch-status"] : []))
        let uri = "cast://127.0.0.1:\(try await receiver.start())"
        let result = try await RouterProcess.run(["play", file.path, "--device", uri, "-o", "ndjson"])
        #expect(result.status == 0, "\(result.errors)")
        let sum = try await Command.run("sha256sum", [file.path]).output.prefix(64)
        let fetched = try #require(await receiver.events("fetched").last)
        #expect(fetched["sha256"] as? String == String(sum))
        #expect((fetched["ranges"] as? [any Sendable] ?? []).count > 1)
        #expect((fetched["statuses"] as? [any Sendable] ?? []).allSatisfy { $0 as? Int == 206 })
        let states = await receiver.events("status").compactMap { $0["playerState"] as? String }
        #expect(states.contains("PLAYING") && states.last == "IDLE")
        #expect(await receiver.events("status").last?["idleReason"] as? String == "FINISHED")
        // What a program that follows sees: the position moves on.
        #expect(result.output.contains("\"media\":\"playing\""))
        let times = await receiver.events("status").compactMap { line in
            (line["currentTime"] as? Double) ?? (line["currentTime"] as? Int).map(Double.init)
        }
        #expect((times.max() ?? 0) > 4.5, "\(times)")
        await receiver.stop()
    }

    @Test("a receiver that cannot play it says why, exit 6 or 5")
    func loadFails() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 4)
        let receiver = try PeerProgram("minimal_cast_receiver.py", ["--until-eof", "--load-failed", "104"])
        let uri = "cast://127.0.0.1:\(try await receiver.start())"
        let result = try await RouterProcess.run(["play", file.path, "--device", uri])
        #expect([5, 6].contains(result.status), "\(result.errors)")
        #expect(result.errors.contains("hint:"), "\(result.errors)")
        await receiver.stop()
    }

    @Test("a receiver that never answers ends in words and in time")
    func neverAnswers() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 4)
        let receiver = try PeerProgram("minimal_cast_receiver.py", ["--until-eof", "--never-answer"])
        let uri = "cast://127.0.0.1:\(try await receiver.start())"
        let result = try await RouterProcess.run(["play", file.path, "--device", uri], within: .seconds(60))
        #expect(result.status == 5, "\(result.errors)")
        #expect(result.errors.contains("hint:"), "\(result.errors)")
        await receiver.stop()
    }
}
