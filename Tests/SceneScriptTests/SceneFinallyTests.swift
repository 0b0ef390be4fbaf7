import Foundation
import RouteModel
import RouterTestKit
import Testing

@testable import SceneScript

/// What a scene says under `finally` is done however it ends: by itself, by an error, cancelled or timed out.
@Suite struct SceneFinallyTests {
    private static let alarm = """
        version: 1
        name: Alarm
        targets: {here: Bath}
        steps:
          - play: alarm.mp3
          - volume: 90%
          - delay: 1h
        finally:
          - volume: 20%
          - log: quiet again
        """

    private func rig(_ inner: String = alarm, others: [String: String] = [:]) -> SceneRig {
        SceneRig(files: ["/scenes/alarm.yaml": inner].merging(others) { first, _ in first })
    }

    /// A scene without targets of its own.
    private func alone(_ steps: String, finally: String = "") -> String {
        scene(steps, finally: finally).replacing("targets:\n  kitchen: Kitchen\n  bath: Bath\n", with: "")
    }

    private func awaitStep(_ id: String, _ run: SceneRun, _ rig: SceneRig) async throws {
        try #require(
            try await eventually {
                try await rig.host.sceneRun(run.id).steps.contains { $0.id == id && $0.result == .running }
            })
    }

    @Test("R4 a scene that another one runs puts things in order when its step takes too long") func timeout()
        async throws
    {
        let rig = rig()
        let run = try await rig.play(
            alone("- {run_scene: alarm.yaml, timeout: 2m, on_error: continue}\n- log: on"), step: 5)
        #expect(run.state == .partial)
        #expect(
            run.results == [
                "steps[0] timedOut", "steps[0]>steps[0] done", "steps[0]>steps[1] done", "steps[0]>steps[2] cancelled",
                "steps[0]>finally[0] done", "steps[0]>finally[1] done", "steps[1] done",
            ])
        #expect(await rig.house.volume("Bath") == 20)
    }

    @Test("R4 a scene that another one runs puts things in order when that is cancelled, before its own finally")
    func cancel() async throws {
        let rig = rig()
        try await rig.run {
            let run = try await rig.start(alone("- run_scene: alarm.yaml", finally: "- log: last"))
            try await awaitStep("steps[0]>steps[2]", run, rig)
            try await rig.host.cancelScene(run.id)
            let ended = try await rig.ended(run)
            #expect(ended.state == .cancelled)
            #expect(
                ended.results.suffix(3) == [
                    "steps[0]>finally[0] done", "steps[0]>finally[1] done", "finally[0] done",
                ])
            #expect(await rig.house.volume("Bath") == 20)
        }
    }

    @Test("R4 a scene that another one runs puts things in order when the host ends") func shutdown() async throws {
        let rig = rig()
        try await rig.run {
            let run = try await rig.start(alone("- run_scene: alarm.yaml"))
            try await awaitStep("steps[0]>steps[2]", run, rig)
            await rig.host.shutdown()
            #expect(await rig.house.volume("Bath") == 20)
        }
    }

    @Test("R4 a scene that another one runs puts things in order when another branch was first") func race()
        async throws
    {
        let rig = rig()
        let run = try await rig.play(
            alone("- parallel:\n    join: any\n    steps:\n      - run_scene: alarm.yaml\n      - delay: 5s"))
        #expect(run.state == .done, "\(run.results)")
        #expect(await rig.house.volume("Bath") == 20)
        #expect(await rig.house.calls == ["play alarm.mp3 in Bath", "volume 90%", "volume 20%"])
    }

    @Test("R4 what a scene inside does at the end has ten seconds after a cancellation, and none after a second one")
    func limits() async throws {
        let slow = Self.alarm.replacing("- log: quiet again", with: "- delay: 1h")
        let rig = rig(slow)
        let text = alone("- run_scene: alarm.yaml", finally: "- log: last")
        try await rig.run {
            let run = try await rig.start(text)
            try await awaitStep("steps[0]>steps[2]", run, rig)
            try await rig.host.cancelScene(run.id)
            let ended = try await rig.ended(run, step: 1)
            #expect(ended.state == .cancelled)
            #expect(ended.results.suffix(2) == ["steps[0]>finally[1] cancelled", "finally[0] done"])
            let slow = ended.steps.first { $0.id == "steps[0]>finally[1]" }
            #expect(
                slow?.duration ?? 99 <= SceneHost.lastSeconds + 1 && slow?.duration ?? 0 >= SceneHost.lastSeconds - 1)

            let second = try await rig.start(text)
            try await awaitStep("steps[0]>steps[2]", second, rig)
            try await rig.host.cancelScene(second.id)
            try await awaitStep("steps[0]>finally[1]", second, rig)
            let before = rig.clock.now()
            try await rig.host.cancelScene(second.id)
            #expect(try await eventually { try await rig.host.sceneRun(second.id).state == .cancelled })
            #expect(rig.clock.now() == before, "no time passes for it")
        }
    }

    @Test("R4 what scenes inside one another do at the end is done from the inside out") func nested() async throws {
        let middle = "version: 1\nname: M\nsteps:\n  - run_scene: alarm.yaml\nfinally:\n  - log: middle\n"
        let rig = rig(others: ["/scenes/middle.yaml": middle])
        let run = try await rig.play(alone("- {run_scene: middle.yaml, timeout: 1m, on_error: continue}"), step: 5)
        #expect(
            run.results.suffix(3) == [
                "steps[0]>steps[0]>finally[0] done", "steps[0]>steps[0]>finally[1] done", "steps[0]>finally[0] done",
            ])
    }

    @Test(
        "R4 whatever the defaults say of errors, a step of finally that fails keeps no other from being done",
        arguments: ["stop", "{retry: {times: 1, backoff: 1s}}", "{fallback: [{seek: 5s, target: kitchen}]}"])
    func defaults(policy: String) async throws {
        let rig = SceneRig()
        await rig.house.fails("pause", RouterError(.routeLost, "Kitchen is gone"), times: 9)
        await rig.house.fails("seek", RouterError(.unsupported, "no"), times: 9)
        let run = try await rig.play(
            scene(
                "- {play: a.mp3, target: [kitchen, bath]}", head: "defaults: {on_error: \(policy)}\n",
                finally: "- {pause: , target: kitchen}\n- {stop: , target: kitchen}"
            ))
        #expect(run.state == .partial)
        #expect(run.results.last == "finally[1] done", "\(run.results)")
    }

    @Test("R4 a retry in finally goes on afterwards, unless it says that it stops") func retries() {
        let text = scene(
            "- {play: a.mp3, target: [kitchen, bath], on_error: {retry: {times: 1}}}",
            finally: "- {pause: , target: kitchen, on_error: {retry: {times: 1}}}\n"
                + "- {stop: , target: kitchen, on_error: {retry: {times: 1, then: stop}}}")
        let read = SceneParser.parse(text, path: "x").scene
        let policies = ((read?.steps ?? []) + (read?.finally ?? [])).map(\.onError)
        let second = MediaTime(seconds: 1)
        #expect(
            policies == [
                .retry(times: 1, backoff: second, then: .stop), .retry(times: 1, backoff: second, then: .continue),
                .retry(times: 1, backoff: second, then: .stop),
            ])
    }
}
