import Foundation
import RouteModel
import RouterTestKit
import Testing

@testable import SceneScript

/// The samples, checked and run in a house in memory; `EndToEndTests` runs them on simulated receivers.
@Suite struct SceneSampleTests {
    private static let folder = repository.appending(path: "Samples/Scenes")

    static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".yaml") }.sorted()
    }()

    private static let rooms = ["Kitchen", "Lounge", "Bedroom", "Patio"]

    private func request(_ name: String, values: [String: String] = [:]) throws -> SceneRequest {
        SceneRequest(
            text: try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8), path: name,
            values: values, workingDirectory: Self.folder.path)
    }

    @Test("R4 there are six samples at least") func enough() { #expect(Self.names.count >= 6) }

    @Test("R4 a sample is right, with its media, and in the house", arguments: names)
    func checks(name: String) async throws {
        let request = try request(name)
        let alone = await SceneChecker().check(request)
        #expect(alone.diagnostics.isEmpty, "\(alone.diagnostics)")
        let house = FakeHouse(Self.rooms, clock: TestClock())
        _ = try await house.play(PlayRequest(what: ["a.mp3"], rooms: ["Kitchen"], workingDirectory: "/m"))
        let there = await SceneChecker().check(request, router: house)
        #expect(there.diagnostics.isEmpty, "\(there.diagnostics)")
        #expect(there.plan?.steps.isEmpty == false)
    }

    private func run(
        _ name: String, at time: Double = wall(2026, 11, 23, 6, 45), values: [String: String] = [:], step: Double = 5,
        before: @Sendable (FakeHouse) async throws -> Void = { _ in }
    ) async throws -> (run: SceneRun, calls: [String], house: FakeHouse) {
        let rig = SceneRig(Self.rooms, clock: TestClock(wall: time))
        let host = SceneHost(router: rig.house, clock: rig.clock)
        try await before(rig.house)
        await rig.house.forgetCalls()
        let request = try request(name, values: values)
        let box = RunBox()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await host.run() }
            let run = try await host.startScene(request)
            _ = try await rig.clock.pass(step: step, busy: { await rig.house.calls.count }) {
                try await host.sceneRun(run.id).state != .running
            }
            await box.set(try await host.sceneRun(run.id))
            group.cancelAll()
        }
        let run = try #require(await box.run)
        return (run, await rig.house.calls, rig.house)
    }

    @Test("R4 morning") func morning() async throws {
        let (run, calls, house) = try await run("morning.yaml", step: 20)
        #expect(run.state == .done, "\(run.steps)")
        #expect(
            calls == [
                "play music/morning.mp3 in Bedroom", "fade 35% 600s Bedroom".replacing(" Bedroom", with: ""),
                "join Kitchen", "fade 0% 30s", "stop",
            ])
        #expect(await house.session("Kitchen") == nil)
        #expect(await house.session("Bedroom") == nil)
    }

    @Test("R4 party") func party() async throws {
        let (run, calls, _) = try await run("party.yaml")
        #expect(run.state == .done, "\(run.steps)")
        #expect(calls.prefix(2) == ["play music/party.mp3 music/dance.mp3 in Lounge+Kitchen", "join Patio"])
        // At the same time, and so in any order.
        let parallel = Set(calls.dropFirst(2))
        #expect(calls.count == 5)
        #expect(parallel.contains("volume 60% Lounge") && parallel.contains("volume 45% Kitchen"))
        #expect(parallel.contains { $0.hasPrefix("playNext") && $0.contains("music/lounge.mp3") }, "\(calls)")
    }

    @Test("R4 doorbell, by day and by night", arguments: [(12, 50), (23, 15)])
    func doorbell(hour: Int, level: Int) async throws {
        let (run, calls, _) = try await run("doorbell.yaml", at: wall(2026, 11, 23, hour, 0))
        #expect(run.state == .done)
        #expect(calls == ["announce music/chime.mp3 in Kitchen+Lounge+Bedroom+Patio at \(level)%"])
    }

    @Test("R4 bedtime") func bedtime() async throws {
        let (run, calls, house) = try await run("bedtime.yaml", step: 20) { house in
            _ = try await house.play(PlayRequest(what: ["a.mp3"], rooms: ["Kitchen"], workingDirectory: "/m"))
        }
        #expect(run.state == .done, "\(run.steps)")
        #expect(
            calls == [
                "pause", "play music/evening.mp3 in Bedroom", "fade 0% 1200s", "pause", "volume 25%", "stop",
            ])
        #expect(await house.session("Kitchen")?.media == .paused)
        #expect(await house.session("Bedroom") == nil)
    }

    @Test("R4 follow me") func followMe() async throws {
        let (run, calls, _) = try await run("follow-me.yaml", values: ["to": "patio"]) { house in
            _ = try await house.play(PlayRequest(what: ["a.mp3"], rooms: ["Kitchen"], workingDirectory: "/m"))
        }
        #expect(run.state == .done, "\(run.steps)")
        #expect(calls == ["transfer move Patio"])
    }

    @Test("R4 opening hours") func openingHours() async throws {
        let (run, calls, house) = try await run("opening-hours.yaml", at: wall(2026, 11, 23, 16, 0), step: 25)
        #expect(run.state == .done, "\(run.steps)")
        #expect(
            calls == [
                "play music/lounge.mp3 in Lounge", "announce music/chime.mp3 in Lounge at 45%", "stop",
            ])
        #expect(await house.session("Lounge") == nil)
        #expect(abs((run.ended ?? 0) - wall(2026, 11, 23, 18, 0)) < 60)
    }
}
