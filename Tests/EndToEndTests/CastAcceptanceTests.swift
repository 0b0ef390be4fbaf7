import Foundation
import PeerSupport
import RouterTestKit
import Testing

/// `router play` to a Cast receiver that shares no code with ours.
@Suite("C3 C8 router play to an independent Cast receiver", .enabled(if: MinimalCastReceiver.missing == nil))
struct CastAcceptanceTests {
    @Test("the file is fetched in ranges, plays, advances, finishes, exit 0", arguments: [false, true])
    func plays(launchStatus: Bool) async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 5)
        let receiver = try await MinimalCastReceiver(launchStatus ? ["--launch-status"] : [])
        defer { receiver.stop() }
        let result = try await RouterProcess.run(["play", file.path, "--device", receiver.uri, "-o", "ndjson"])
        #expect(result.status == 0, "\(result.errors)")
        let sum = try await Command.run("sha256sum", [file.path]).output.prefix(64)
        let fetched = try #require(receiver.events("fetched").last)
        #expect(fetched["sha256"] as? String == String(sum))
        #expect((fetched["ranges"] as? [String] ?? []).count > 1)
        #expect((fetched["statuses"] as? [Int] ?? []).allSatisfy { $0 == 206 })
        let states = receiver.events("status").compactMap { $0["playerState"] as? String }
        #expect(states.contains("PLAYING") && states.last == "IDLE")
        #expect(receiver.events("status").last?["idleReason"] as? String == "FINISHED")
        // What a program that follows sees: the position moves on.
        let positions = result.output.matches(of: /"time":([0-9.]+)/).compactMap { Double($0.1) }
        #expect(!positions.isEmpty)
    }

    @Test("a receiver that cannot play it says why, exit 6 or 5")
    func loadFails() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 4)
        let receiver = try await MinimalCastReceiver(["--load-failed", "104"])
        defer { receiver.stop() }
        let result = try await RouterProcess.run(["play", file.path, "--device", receiver.uri])
        #expect([5, 6].contains(result.status), "\(result.errors)")
        #expect(result.errors.contains("hint:"), "\(result.errors)")
    }

    @Test("a receiver that never answers ends in words and in time")
    func neverAnswers() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 4)
        let receiver = try await MinimalCastReceiver(["--never-answer"])
        defer { receiver.stop() }
        let result = try await RouterProcess.run(["play", file.path, "--device", receiver.uri], within: .seconds(60))
        #expect(result.status == 5, "\(result.errors)")
        #expect(result.errors.contains("hint:"), "\(result.errors)")
    }
}
