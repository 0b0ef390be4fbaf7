import Foundation
import RouteModel
import Testing

@testable import SceneScript

@Suite struct SceneCheckTests {
    private func check(
        _ text: String, _ router: (any RouterControlling)? = nil, files contents: [String: String] = [:],
        others: @escaping @Sendable (String) -> Bool = { _ in true }
    ) async -> SceneCheck {
        await SceneChecker(files: files(contents, others: others)).check(
            SceneRequest(text: text, path: "main.yaml", workingDirectory: "/scenes"), router: router)
    }

    @Test("R4 media that is not there is told of, and URLs are not looked for") func media() async {
        let text = scene(
            """
            - {play: [a.mp3, gone.mp3, 'https://example.org/x.mp3'], target: kitchen}
            - {announce: /else/gone.wav, target: bath}
            - {queue: {append: [~/gone2.mp3]}, target: kitchen}
            """)
        let check = await check(text) { !$0.contains("gone") }
        #expect(check.diagnostics.places == ["7:6 missing-media", "8:6 missing-media", "9:6 missing-media"])
        #expect(check.diagnostics[0].message == "there is no file or folder gone.mp3" && check.plan == nil)
    }

    @Test("R4 a scene that runs itself, by whatever way, is told of") func cycles() async {
        let other = "version: 1\nname: Other\nsteps:\n  - run_scene: ./sub/../main.yaml\n"
        let check = await check(
            scene("- run_scene: other.yaml\n- {play: a.mp3, target: [kitchen, bath]}"),
            files: ["/scenes/other.yaml": other])
        #expect(
            check.diagnostics.map(\.summary) == [
                "other.yaml:4:5: error[cycle]: the scene runs itself: main.yaml > other.yaml > main.yaml"
            ])
        #expect(check.diagnostics[0].source == "  - run_scene: ./sub/../main.yaml")
    }

    @Test("R4 errors of a scene inside are told with its own lines") func nested() async {
        let text = scene(
            "- run_scene: bad.yaml\n- run_scene: none.yaml\n- run_scene: {path: good.yaml, set: {level: 5}}\n"
                + "- {play: a.mp3, target: [kitchen, bath]}")
        let good =
            "version: 1\nname: G\nvars:\n  level: {type: level, default: 5%}\ntargets: {k: Kitchen}\n"
            + "steps:\n  - volume: $level\n"
        let check = await check(
            text, files: ["/scenes/bad.yaml": "version: 1\nname: B\nsteps:\n  - pley: x\n", "/scenes/good.yaml": good],
            others: { _ in true })
        #expect(
            Set(check.diagnostics.map { "\($0.path):\($0.span.line) \($0.code)" }) == [
                "bad.yaml:4 unknown-key", "main.yaml:7 invalid-scene", "main.yaml:8 missing-scene", "good.yaml:4 value",
                "good.yaml:7 level", "main.yaml:9 invalid-scene",
            ])
    }

    @Test("R4 rooms are looked for, with the nearest name") func rooms() async {
        let house = FakeHouse(["Kitchen", "Bathroom"], clock: TestClock())
        let text = """
            version: 1
            name: Test
            targets:
              kitchen: kitchen
              bath: Bath
              attic: Atik
              hall: {rooms: Hall, optional: true}
              porch: {rooms: Porch, fallback: Kitchen}
              away: Kitchn
            steps:
              - {play: a.mp3, target: [kitchen, bath, attic, hall, porch]}
              - {wait_for: away.present, timeout: 5s}
            """
        let found = await check(text, house).diagnostics
        #expect(
            found.map { "\($0.span.line) \($0.severity) \($0.code)" } == [
                "6 error unknown-room", "7 warning absent", "9 warning absent",
            ])
        #expect(found[2].help == "Did you mean “Kitchen”?")
        await house.disappears("Bathroom")
        let absent = await check(text.replacing("attic: Atik", with: "attic: Kitchen"), house)
        #expect(absent.diagnostics.map { "\($0.span.line) \($0.code)" } == ["5 absent", "7 absent", "9 absent"])
        #expect(absent.scene != nil && absent.rooms == ["Kitchen"])
    }

    @Test("R4 what a room cannot do is a warning") func capabilities() async {
        let house = FakeHouse(clock: TestClock())
        await house.cannot("Kitchen", .seek)
        await house.cannot("Bath", .pause, .unavailable(reason: "an ad plays"))
        let check = await check(
            scene("- {seek: 10s, target: [kitchen, bath]}\n- {pause: , target: [kitchen, bath]}"), house)
        #expect(check.diagnostics.map(\.message) == ["Kitchen cannot seek", "Bath cannot pause now: an ad plays"])
        #expect(check.plan?.steps.map(\.warnings) == [["Kitchen cannot seek"], ["Bath cannot pause now: an ad plays"]])
    }

    @Test("R4 the plan names rooms, commands and times, inside blocks and other scenes too") func plan() async throws {
        let house = FakeHouse(clock: TestClock())
        await house.has(group: RoomGroup(name: "Wet", rooms: ["Bath", "Kitchen"]))
        let text = """
            version: 1
            name: Test
            targets: {all: "@group:Wet", kitchen: Kitchen}
            steps:
              - {play: {media: [a.mp3], volume: 20%}, target: all}
              - when:
                  if: kitchen.state == playing
                  then:
                    - {volume: {level: 0%, fade: 20m}, target: kitchen}
              - run_scene: other.yaml
            """
        let other = "version: 1\nname: Other\nsteps:\n  - delay: 90s\n"
        let plan = try #require(await check(text, house, files: ["/scenes/other.yaml": other]).plan)
        #expect(
            plan.steps.map(\.command) == [
                "play a.mp3 at 20%", "where a condition holds", "fade to 0% over 20m", "run the scene other.yaml",
                "wait 1m30s",
            ])
        #expect(plan.steps.map(\.target) == ["Bath, Kitchen", nil, "Kitchen", nil, nil])
        #expect(plan.steps.map(\.expected) == [nil, nil, 1200, nil, 90])
        #expect(plan.steps.map(\.depth) == [0, 0, 1, 0, 1])
        #expect(plan.steps.map(\.id).last == "steps[2]>steps[0]")
    }

    @Test("R4 a hundred warnings hide no error, of the scene, of its rooms or of one that it runs") func hidden() async
    {
        let unused = (0..<150).map { "  v\($0): x\n" }.joined()
        let head = "vars:\n\(unused)"
        let bad = "version: 1\nname: B\nsteps:\n  - pley: x\n"
        let text = scene(
            "- {play: gone.mp3, target: [kitchen, bath]}\n- run_scene: bad.yaml", head: head)
        let check = await check(text, files: ["/scenes/bad.yaml": bad]) { !$0.contains("gone") }
        #expect(check.scene == nil && check.diagnostics.count == SceneLimits.diagnostics)
        #expect(
            Set(check.diagnostics.errors.map(\.code)) == ["missing-media", "unknown-key", "invalid-scene"])

        let steps = (0..<150).map { "- {log: never, on_error: {fallback: [{log: x\($0)}]}}" }.joined(separator: "\n")
        let parsed = SceneParser.parse("version: 1\nname: T\nsteps:\n\(steps)", path: "t.yaml")
        #expect(parsed.diagnostics.count == SceneLimits.diagnostics && parsed.scene != nil)
        let findings = SceneFindings(SceneSource("x", path: "t.yaml"))
        for number in 0..<150 { findings.warning("w", "\(number)", at: SceneSpan(line: 1, column: 1)) }
        for number in 0..<150 { findings.error("e", "\(number)", at: SceneSpan(line: 1, column: 1)) }
        findings.warning("w", "last", at: SceneSpan(line: 1, column: 1))
        #expect(findings.all.count == SceneLimits.diagnostics && findings.all.errors.count == SceneLimits.diagnostics)
    }

    @Test("R4 without a router the rest is checked still") func offline() async {
        let check = await check(scene("- {play: a.mp3, target: [kitchen, bath]}"))
        #expect(check.diagnostics.isEmpty && check.plan?.steps.map(\.target) == ["kitchen, bath"])
    }
}
