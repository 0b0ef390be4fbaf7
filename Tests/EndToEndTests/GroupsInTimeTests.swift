import Foundation
import PeerSupport
import RouteModel
import RouterCore
import RouterTestKit
import Testing

/// Two real shairport-sync 3.3.8, compared by what comes out of them: with each other only, for 3.3.8 writes a second
/// early.
@Suite(
    "R5 rooms in time, by their sound", .serialized, .enabled(if: ShairportSync.missing == nil),
    .timeLimit(.minutes(15)))
struct GroupsInTimeTests {
    private static var isLong: Bool { ProcessInfo.processInfo.environment["ROUTER_LONG"] == "1" }

    private static func tone(_ seconds: Int) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("groups-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try PositionTone.write(seconds: seconds, to: folder.appendingPathComponent("tone.wav").path)
        return folder
    }

    /// Waits until both have been heard for so many pieces from now on, and compares those.
    private static func skew(_ one: OutputTap, _ other: OutputTap, seconds: Int, _ what: String) async -> Skew {
        let pieces = seconds * 120
        // What was in the pipes belongs to before.
        let (first, second) = (one.heard.count + 40, other.heard.count + 40)
        let came = await eventually(within: .seconds(seconds + 30)) {
            one.heard.count >= first + pieces && other.heard.count >= second + pieces
        }
        guard came else { return Skew([]) }
        let (heard, beside) = (Array(one.heard[first...]), Array(other.heard[second...]))
        let skew = Skew(earliest: heard, beside)
        print("skew of two shairport-sync, \(what): \(skew); as they wrote: \(Skew(heard, beside))")
        #expect(heard.unheard == 0 && beside.unheard == 0, "\(what): \(heard.unheard), \(beside.unheard) frames")
        return skew
    }

    @Test("R5 two real receivers: after the start, a pause, a seek, and the death and return of one")
    func real() async throws {
        let folder = try Self.tone(355)
        defer { try? FileManager.default.removeItem(at: folder) }
        let taps = [OutputTap(), OutputTap()]
        let receivers = [
            try await ShairportSync(output: taps[0].writing), try await ShairportSync(output: taps[1].writing),
        ]
        defer { for receiver in receivers { receiver.stop() } }
        let rig = try GroupRig([
            "raop://127.0.0.1:\(receivers[0].port)?name=Kitchen", "raop://127.0.0.1:\(receivers[1].port)?name=Bath",
        ])
        _ = try await rig.engine.play(
            PlayRequest(what: [folder.appendingPathComponent("tone.wav").path], rooms: ["Kitchen", "Bath"]))
        let start = await Self.skew(taps[0], taps[1], seconds: 4, "after the start")
        #expect(start.median <= 1, "\(start)")

        _ = try await rig.engine.perform(.pause, session: nil, origin: .cli)
        _ = try await rig.engine.perform(.play, session: nil, origin: .cli)
        let paused = await Self.skew(taps[0], taps[1], seconds: 4, "after a pause")
        #expect(paused.median <= 1, "\(paused)")

        _ = try await rig.engine.perform(.seek(to: MediaTime(seconds: 2)), session: nil, origin: .cli)
        let sought = await Self.skew(taps[0], taps[1], seconds: 4, "after a seek")
        #expect(sought.median <= 1, "\(sought)")

        receivers[1].kill()
        let before = taps[0].heard.count
        #expect(
            await eventually { await rig.engine.sessions().last?.members.last?.connection == .suspended })
        try await receivers[1].restart()
        let silent = taps[1].heard.count
        #expect(await eventually(within: .seconds(40)) { taps[1].heard.count > silent + 10 })
        let returned = await Self.skew(taps[0], taps[1], seconds: 4, "after the death and return of one")
        #expect(returned.median <= 1, "\(returned)")
        // The other one has heard every frame meanwhile.
        let kitchen = Array(taps[0].heard[before...])
        #expect(kitchen.unheard == 0, "\(kitchen.unheard) frames")

        if Self.isLong {
            let long = await Self.skew(taps[0], taps[1], seconds: 300, "over five minutes")
            #expect(long.median <= 1, "\(long)")
        }
        await rig.end()
    }

    @Test("R5 an offset of 7 ms is heard as one of 7 ms: what is measured is there")
    func offset() async throws {
        let folder = try Self.tone(30)
        defer { try? FileManager.default.removeItem(at: folder) }
        let taps = [OutputTap(), OutputTap()]
        let receivers = [
            try await ShairportSync(output: taps[0].writing), try await ShairportSync(output: taps[1].writing),
        ]
        defer { for receiver in receivers { receiver.stop() } }
        let rig = try GroupRig(
            [
                "raop://127.0.0.1:\(receivers[0].port)?name=Kitchen",
                "raop://127.0.0.1:\(receivers[1].port)?name=Bath",
            ], offsets: ["Bath": 7])
        _ = try await rig.engine.play(
            PlayRequest(what: [folder.appendingPathComponent("tone.wav").path], rooms: ["Kitchen", "Bath"]))
        let skew = await Self.skew(taps[0], taps[1], seconds: 4, "with 7 ms between them")
        #expect(abs(skew.median - 7) <= 1, "\(skew)")
        await rig.end()
    }
}
