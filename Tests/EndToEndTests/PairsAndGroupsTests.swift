import Foundation
import PeerSupport
import RouterTestKit
import Testing

/// Devices that are one for people, found by mDNS and played to as one.
@Suite("A7 R5 stereo pairs and groups shown as one", .serialized, .enabled(if: Lab.isInside, Lab.reason))
struct PairsAndGroupsTests {
    private struct Devices: Decodable {
        struct Route: Decodable {
            struct Endpoint: Decodable { var name: String }
            var id: String
            var name: String
            var kind: String
            var endpoints: [Endpoint]
        }
        var routes: [Route]
    }

    @Test(
        "A7 R5 two halves of a pair and two devices of a group are a room each; both of a room are sent to, in step",
        .timeLimit(.minutes(3)))
    func asOne() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pairs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let tone = folder.appendingPathComponent("tone.wav")
        try PositionTone.write(seconds: 5, to: tone.path)
        let pair = "tsid=11111111-0000-4000-8000-000000000001&gid=11111111-0000-4000-8000-000000000001"
        let group = "gid=22222222-0000-4000-8000-000000000002"
        let house = try RouterProcess([
            "simulate", "--advertise", "--record", folder.path,
            "--airplay2", "Den@10.77.0.2:7000?\(pair)&gpn=Den&igl=1",
            "--airplay2", "Den (2)@10.77.0.3:7000?\(pair)&igl=0",
            "--airplay2", "Hall@10.77.0.4:7000?\(group)&gpn=Downstairs&igl=1",
            "--airplay2", "Study@10.77.0.5:7000?\(group)&igl=0",
            "--airplay2", "Attic@10.77.0.6:7000",
        ])
        try #require(
            await eventually(within: .seconds(30)) {
                house.output.filter { $0 == "\n" }.count >= 5 || !house.isRunning
            })
        var found: [Devices.Route] = []
        _ = await eventually(within: .seconds(30)) {
            let listed = try? await RouterProcess.run(["devices", "-o", "json"])
            let list = listed.flatMap { try? JSONDecoder().decode(Devices.self, from: Data($0.output.utf8)) }
            found = list?.routes ?? []
            return found.reduce(0) { $0 + $1.endpoints.count } == 10
        }
        #expect(found.map(\.name) == ["Attic", "Den", "Downstairs"], "\(found)")
        #expect(found.map(\.kind) == ["device", "stereoPair", "group"], "\(found)")
        // AirPlay 2 and the older record of each.
        #expect(found.map(\.endpoints.count) == [2, 4, 4], "\(found)")

        for (room, names) in [("Den", ["Den", "Den (2)"]), ("Downstairs", ["Hall", "Study"])] {
            let played = try await RouterProcess.run(["play", tone.path, "--room", room])
            #expect(played.status == 0, "\(played.errors)")
            let clocks = try names.map { name in
                try RoomClock(
                    wav: folder.appendingPathComponent("\(name).wav"),
                    journal: folder.appendingPathComponent("\(name).ndjson"))
            }
            let skews = clocks[1].skews(against: clocks[0])
            print("skew of \(room): \(skews.map { Double($0) / 1e6 }) ms")
            #expect(skews.count >= 3 && skews.allSatisfy { abs($0) <= 1_000_000 }, "\(skews)")
            let heard = clocks.map { clock in clock.samples.count { $0 != 0 } }
            #expect(heard.allSatisfy { $0 >= 5 * 44_100 }, "\(heard) of \(clocks.map(\.samples.count)) samples")
        }
        // One of a group by its own name is a device that can be named, and so is a whole room in the configuration.
        let attic = try RoomClock(
            wav: folder.appendingPathComponent("Attic.wav"), journal: folder.appendingPathComponent("Attic.ndjson"))
        #expect(attic.samples.isEmpty)
        house.interrupt()
        #expect(await house.outcome(within: .seconds(20)).status == 0)
    }
}
