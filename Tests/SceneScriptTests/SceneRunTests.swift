import RouteModel
import RouterTestKit
import Testing

@testable import SceneScript

/// A house, a host that runs scenes in it, and time that a test turns.
struct SceneRig: Sendable {
    let clock: TestClock
    let house: FakeHouse
    let host: SceneHost
    let notices = NoticeBox()

    init(
        _ rooms: [String] = ["Kitchen", "Bath"], files contents: [String: String] = [:],
        schedules: (any ScheduleStoring)? = nil, clock: TestClock = TestClock()
    ) {
        self.clock = clock
        house = FakeHouse(rooms, clock: clock)
        host = SceneHost(
            router: house, clock: clock, files: files(contents), schedules: schedules,
            tell: { [notices] in await notices.add($0) })
    }

    init(house: FakeHouse, host: SceneHost, clock: TestClock) {
        self.clock = clock
        self.house = house
        self.host = host
    }

    /// Runs the host as long as `body` does.
    func run(_ body: @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await host.run() }
            let result: Result<Void, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            group.cancelAll()
            try result.get()
        }
    }

    func start(_ text: String, path: String = "main.yaml", values: [String: String] = [:]) async throws -> SceneRun {
        try await host.startScene(SceneRequest(text: text, path: path, values: values, workingDirectory: "/scenes"))
    }

    /// Has time pass until a run is over; nil where it does not end.
    func ended(_ run: SceneRun, step: Double = 0.25) async throws -> SceneRun {
        _ = try await clock.pass(step: step, busy: { await house.calls.count }) {
            try await host.sceneRun(run.id).state != .running
        }
        let run = try await host.sceneRun(run.id)
        try #require(run.state != .running, "\(run.steps)")
        return run
    }

    /// A whole run of a scene.
    func play(_ text: String, values: [String: String] = [:], step: Double = 0.25) async throws -> SceneRun {
        let result = RunBox()
        try await run { await result.set(try await ended(try await start(text, values: values), step: step)) }
        return try #require(await result.run)
    }
}

actor NoticeBox {
    private(set) var all: [Notice] = []
    func add(_ notice: Notice) { all.append(notice) }
}

actor RunBox {
    private(set) var run: SceneRun?
    func set(_ run: SceneRun) { self.run = run }
}

extension SceneRun {
    var results: [String] { steps.map { "\($0.id) \($0.result.rawValue)" } }
}

@Suite struct SceneRunTests {
    @Test("R4 each verb becomes the router's own command") func verbs() async throws {
        let rig = SceneRig()
        let run = try await rig.play(
            scene(
                """
                - {play: {media: [a.mp3, b.mp3, c.mp3], item: 2, volume: 20%, start: 5s}, target: kitchen}
                - {queue: {append: d.mp3}, target: kitchen}
                - {queue: {shuffle: true}, target: kitchen}
                - {queue: {save: Evening}, target: kitchen}
                - {seek: 1m, target: kitchen}
                - {seek: -10s, target: kitchen}
                - {volume: 40%, target: kitchen}
                - {volume: -10%, target: kitchen}
                - {volume: mute, target: kitchen}
                - {group: {join: bath}, target: kitchen}
                - {volume: 10%, target: bath}
                - {volume: 15%, target: [kitchen, bath]}
                - {announce: {media: bell.wav, volume: 50%}, target: [kitchen, bath]}
                - {pause: , target: kitchen}
                - {resume: , target: kitchen}
                - {stop: , target: bath}
                - {transfer: bath, target: kitchen}
                - {stop: , target: bath}
                """))
        #expect(run.state == .done)
        #expect(run.steps.allSatisfy { $0.result == .done }, "\(run.steps)")
        #expect(
            await rig.house.calls == [
                "play b.mp3 c.mp3 in Kitchen", "insert a.mp3", "append d.mp3", "shuffle true", "save Evening",
                "seek 60",
                "seekBy -10", "volume 40%", "step -10%", "mute", "join Bath", "volume 10% Bath", "volume 15%",
                "announce bell.wav in Kitchen+Bath at 50%", "pause", "resume", "leave Bath", "transfer move Bath",
                "stop",
            ])
        #expect(run.steps.map(\.target).prefix(2) == ["Kitchen", "Kitchen"])
        #expect(run.exitStatus == 0)
    }

    @Test("R4 what fails in one session keeps the others from nothing, and what was cut short is no failure")
    func oneOfSeveral() async throws {
        func busyRig() async -> SceneRig {
            let rig = SceneRig()
            await rig.house.personPlays("x.mp3", in: "Kitchen")
            await rig.house.personPlays("y.mp3", in: "Bath")
            return rig
        }
        var rig = await busyRig()
        await rig.house.fails("pause", RouterError(.routeUnreachable, "no"), times: 1)
        let paused = try await rig.play(scene("- {pause: , target: [kitchen, bath]}"))
        #expect(paused.state == .failed)
        #expect(await rig.house.calls.filter { $0 == "pause" }.count == 2)
        rig = await busyRig()
        await rig.house.isLeft(in: "Kitchen")
        let run = try await rig.play(
            scene("- {pause: , target: [kitchen, bath]}\n- {stop: , target: [kitchen, bath]}"))
        #expect(run.state == .done, "\(run.steps)")
        #expect(await rig.house.calls.sorted() == ["end stop", "pause", "pause", "stop", "stop"])
        #expect(await rig.house.sessions().isEmpty)
    }

    @Test("R4 a fade is waited for, and time is the injected clock's") func fade() async throws {
        let rig = SceneRig()
        let began = rig.clock.now()
        let run = try await rig.play(
            scene(
                """
                - {play: a.mp3, target: [kitchen, bath]}
                - {volume: {level: 0%, fade: 10m}, target: kitchen}
                - delay: 90s
                - {stop: , target: [kitchen, bath]}
                """), step: 5)
        #expect(run.state == .done)
        #expect(await rig.house.calls == ["play a.mp3 in Kitchen+Bath", "fade 0% 600s Kitchen", "stop"])
        #expect(run.steps[1].result == .done)
        #expect(run.steps[1].duration ?? 0 >= 600 && run.steps[2].duration ?? 0 >= 90)
        #expect(rig.clock.now() - began >= 690_000_000_000)
    }

    @Test("R4 an error stops the scene, and finally is done all the same; the report cites the line")
    func stops() async throws {
        let rig = SceneRig()
        await rig.house.fails("pause", RouterError(.routeLost, "Kitchen is gone", hint: "Look"))
        let run = try await rig.play(
            scene(
                "- {play: a.mp3, target: [kitchen, bath]}\n- {pause: , target: kitchen}\n- {log: never}",
                finally: "- {stop: , target: kitchen}"))
        #expect(run.state == .failed && run.exitStatus == 1)
        #expect(run.results == ["steps[0] done", "steps[1] failed", "finally[0] done"])
        #expect(run.steps[1].detail == "main.yaml:8: Kitchen is gone")
        #expect(run.steps[1].error?.code == .routeLost && run.steps[1].line == 8 && run.steps[1].column == 6)
    }

    @Test("R4 a step of finally that fails keeps no other from being done") func finallyGoesOn() async throws {
        let rig = SceneRig()
        await rig.house.fails("pause", RouterError(.routeLost, "Kitchen is gone"))
        let run = try await rig.play(
            scene(
                "- {play: a.mp3, target: [kitchen, bath]}",
                finally: "- {pause: , target: kitchen}\n- {stop: , target: kitchen}\n- {stop: , target: bath}"))
        #expect(run.state == .partial)
        #expect(run.results == ["steps[0] done", "finally[0] failed", "finally[1] done", "finally[2] done"])
    }

    @Test("R4 continue goes on and ends as partial, retry tries again, fallback does other steps")
    func policies() async throws {
        let rig = SceneRig()
        let error = RouterError(.routeUnreachable, "no answer")
        await rig.house.fails("play a.mp3", error, times: 2)
        await rig.house.fails("pause", error)
        await rig.house.fails("shuffle", error)
        let run = try await rig.play(
            scene(
                """
                - {play: a.mp3, target: [kitchen, bath], on_error: {retry: {times: 2, backoff: 2s}}}
                - {pause: , target: kitchen, on_error: continue}
                - queue: {shuffle: true}
                  target: kitchen
                  on_error: {fallback: [{log: not shuffled}]}
                - {log: end}
                """))
        #expect(run.state == .partial && run.exitStatus == 8)
        #expect(
            run.results == [
                "steps[0] done", "steps[1] failed", "steps[2] failed", "steps[2].fallback[0] done", "steps[3] done",
            ])
        #expect(run.steps[0].duration ?? 0 >= 6, "two pauses, the second twice as long")
        #expect(await rig.house.calls.count { $0 == "play a.mp3 in Kitchen+Bath" } == 3)
    }

    @Test("R4 a retry that fails to the end tells how often, and does what it says then") func retries() async throws {
        let rig = SceneRig()
        await rig.house.fails("play", RouterError(.routeUnreachable, "no answer"), times: 9)
        let run = try await rig.play(
            scene("- {play: a.mp3, target: [kitchen, bath], on_error: {retry: {times: 1, then: continue}}}"))
        #expect(run.state == .partial)
        #expect(run.steps[0].detail == "main.yaml:7: no answer (tried 2 times)")
    }

    @Test("R4 what the defaults say of retries is for each step, and blocks begin nothing anew") func blockPolicies()
        async throws
    {
        let rig = SceneRig()
        await rig.house.fails("play", RouterError(.routeUnreachable, "no answer"), times: 99)
        let block = "- repeat: {times: 2, steps: [{parallel: [{play: a.mp3, target: [kitchen, bath]}]}]}"
        func text(_ policy: String, _ steps: String) -> String {
            scene(steps, head: "defaults: {on_error: \(policy)}\n", finally: block)
        }
        let run = try await rig.play(scene(block, head: "defaults: {on_error: {retry: {times: 2, backoff: 1s}}}\n"))
        #expect(run.state == .failed)
        #expect(await rig.house.calls.count == 3)

        let steps = """
            - {id: plain, pause: , target: [kitchen, bath]}
            - {id: many, parallel: [{log: x}]}
            - {id: round, repeat: {times: 2, steps: [{log: x}]}}
            - {id: choice, when: {if: bath.present, then: [{log: x}]}}
            - {id: inner, run_scene: inner.yaml}
            - {id: stated, parallel: [{log: x}], on_error: {retry: {times: 1}}}
            """
        let second = MediaTime(seconds: 1)
        for (policy, plain, blocks, last) in [
            (
                "{retry: {times: 2, then: continue}}", .retry(times: 2, backoff: second, then: .continue), .continue,
                .continue
            ),
            ("{retry: {times: 2}}", .retry(times: 2, backoff: second, then: .stop), .stop, .continue),
            ("{fallback: [{log: x}]}", nil, .stop, .continue), ("continue", .continue, .continue, .continue),
        ] as [(String, SceneErrorPolicy?, SceneErrorPolicy, SceneErrorPolicy)] {
            let (read, diagnostics) = SceneParser.parse(text(policy, steps), path: "x")
            let policies = (read?.steps ?? []).map(\.onError)
            try #require(policies.count == 6, "\(diagnostics)")
            if let plain { #expect(policies[0] == plain) }
            #expect(policies[1...4].allSatisfy { $0 == blocks }, "\(policy): \(policies)")
            #expect(policies[5] == .retry(times: 1, backoff: second, then: .stop))
            #expect(read?.finally.map(\.onError) == [last])
        }
    }

    @Test("R4 a step that takes too long is timed out, and what it began is cancelled") func timeouts() async throws {
        let rig = SceneRig()
        await rig.house.hangs("play")
        let run = try await rig.play(scene("- {play: a.mp3, target: [kitchen, bath], timeout: 3s}"))
        #expect(run.state == .timedOut && run.exitStatus == 124)
        #expect(run.steps[0].result == .timedOut && run.steps[0].duration ?? 0 >= 3)
        #expect(run.steps[0].error?.message == "it took longer than 3s")
    }

    @Test("R4 results tell accepted, unverified and refused apart") func outcomes() async throws {
        let rig = SceneRig()
        await rig.house.answers("pause", .unverified)
        await rig.house.answers("seekBy", .accepted)
        await rig.house.answers("seek", .unsupported)
        let run = try await rig.play(
            scene(
                """
                - {play: a.mp3, target: [kitchen, bath]}
                - {pause: , target: kitchen}
                - {seek: +5s, target: kitchen}
                - {seek: 5s, target: kitchen, on_error: continue}
                - {resume: , target: kitchen}
                """))
        #expect(run.steps.map(\.result) == [.done, .doneUnverified, .doneUnverified, .failed, .done])
        #expect(run.steps[3].error?.code == .unsupported)
        #expect(run.steps[4].detail == "it plays already")
    }

    @Test("R4 optional rooms that are not there are skipped, and fallbacks take their place") func absent() async throws
    {
        let rig = SceneRig()
        let run = try await rig.play(
            """
            version: 1
            name: Test
            targets:
              patio: {rooms: Patio, optional: true}
              porch: {rooms: Porch, fallback: Bath}
              both: {rooms: [Kitchen, Bath]}
            steps:
              - {play: a.mp3, target: [both, patio]}
              - {pause: , target: patio}
              - {volume: 20%, target: porch}
              - {stop: , target: [porch, both]}
              - {stop: , target: both}
            """)
        #expect(
            run.results == [
                "steps[0] done", "steps[1] skipped", "steps[2] done", "steps[3] done", "steps[4] skipped",
            ])
        #expect(run.steps[1].detail?.contains("Patio") == true)
        #expect(run.steps[2].detail == "Bath in place of porch")
        #expect(run.steps[4].detail == "nothing plays in Kitchen, Bath")
        #expect(await rig.house.calls == ["play a.mp3 in Kitchen+Bath", "volume 20% Bath", "stop"])
    }

    @Test("R4 wait_for sees what happens, and gives up in time") func waiting() async throws {
        let rig = SceneRig()
        let text = scene(
            """
            - {play: [a.mp3, b.mp3], target: [kitchen, bath]}
            - {id: item, wait_for: kitchen.item changes, timeout: 10m}
            - {id: place, wait_for: kitchen.position >= 30s and bath.upcoming == 0, timeout: 10m}
            - {id: never, wait_for: kitchen.volume > 90%, timeout: 20s, on_error: continue}
            - {id: clock, wait_for: day == weekday or day == weekend, timeout: 5s}
            """)
        try await rig.run {
            let run = try await rig.start(text)
            #expect(try await eventually { try await rig.host.sceneRun(run.id).steps.contains { $0.id == "item" } })
            await rig.house.itemEnds(in: "Kitchen")
            let ended = try await rig.ended(run, step: 1)
            #expect(ended.state == .partial)
            #expect(ended.steps.map(\.result) == [.done, .done, .done, .timedOut, .done])
            #expect(ended.steps[2].duration ?? 0 >= 25)
        }
    }

    @Test("R4 when chooses by state, time of day and presence") func choices() async throws {
        let rig = SceneRig(clock: TestClock(wall: wall(2026, 11, 22, 21, 30)))
        let run = try await rig.play(
            scene(
                """
                - when: {if: kitchen.state == stopped, then: [{play: a.mp3, target: kitchen}]}
                - when: {if: time < 20:00, then: [{log: day}], else: [{log: evening}]}
                - when: {if: day == sunday and kitchen.item == a.mp3 and bath.present, then: [{log: yes}]}
                - when: {if: bath.volume > 0%, then: [{log: loud}], else: [{log: no volume where nothing plays}]}
                """))
        #expect(
            run.steps.filter { $0.verb == "log" }.map(\.detail) == ["evening", "yes", "no volume where nothing plays"])
    }

    @Test("R4 repeat goes round so often, until a condition, or for a time; parallel joins all or the first")
    func blocks() async throws {
        let rig = SceneRig()
        let run = try await rig.play(
            scene(
                """
                - {play: [a.mp3], target: [kitchen, bath]}
                - {volume: 10%, target: [kitchen, bath]}
                - repeat:
                    until: kitchen.volume >= 30%
                    times: 50
                    steps:
                      - {volume: +10%, target: [kitchen, bath]}
                - repeat: {always: true, for: 1m, steps: [{delay: 20s}]}
                - repeat: {times: 3, steps: [{log: round}]}
                - id: race
                  parallel:
                    join: any
                    steps:
                      - {id: slow, delay: 1h}
                      - {id: fast, delay: 2s}
                - parallel:
                    - {id: one, delay: 4s}
                    - {id: two, delay: 6s}
                """), step: 1)
        #expect(run.state == .done, "\(run.steps)")
        let details = Dictionary(run.steps.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        #expect(details["steps[2]"]?.detail == "2 times" && details["steps[3]"]?.detail == "3 times")
        #expect(details["steps[4]"]?.detail == "3 times" && run.steps.count { $0.detail == "round" } == 1)
        #expect(details["slow"]?.result == .cancelled && details["fast"]?.result == .done)
        #expect(details["race"]?.duration ?? 99 < 60)
        #expect(details["steps[6]"]?.duration ?? 99 < 9, "both at the same time")
    }

    @Test("R4 run_scene runs another with its own targets, and its finally after an error") func inner() async throws {
        let inner = """
            version: 1
            name: Inner
            vars: {what: x.mp3}
            targets: {here: Bath}
            steps:
              - play: $what
              - seek: 9s
            finally:
              - stop:
            """
        let rig = SceneRig(files: ["/scenes/inner.yaml": inner])
        await rig.house.fails("seek", RouterError(.unsupported, "no seeking"))
        let run = try await rig.play(
            scene(
                "- {run_scene: {path: inner.yaml, set: {what: y.mp3}}, on_error: continue}\n"
                    + "- {play: a.mp3, target: [kitchen, bath]}"))
        #expect(run.state == .partial)
        #expect(await rig.house.calls == ["play y.mp3 in Bath", "seek 9", "stop", "play a.mp3 in Kitchen+Bath"])
        #expect(
            run.results == [
                "steps[0] failed", "steps[0]>steps[0] done", "steps[0]>steps[1] failed", "steps[0]>finally[0] done",
                "steps[1] done",
            ])
        #expect(run.steps[0].error?.causes == ["inner.yaml:7: seek"])
    }

    @Test("R4 a snapshot is its own scene's: one inside may have the same name") func innerSnapshot() async throws {
        let inner =
            "version: 1\nname: I\ntargets: {here: Bath}\nsteps:\n  - snapshot: before\n  - play: x.mp3\n"
            + "  - restore: before\n"
        let rig = SceneRig(files: ["/scenes/inner.yaml": inner])
        let run = try await rig.play(
            scene(
                """
                - {play: a.mp3, target: kitchen}
                - {snapshot: before, target: kitchen}
                - {volume: 90%, target: [kitchen]}
                - run_scene: inner.yaml
                - restore: before
                - {when: {if: bath.state == stopped, then: [{log: quiet}]}}
                """))
        #expect(run.state == .done && run.steps.last?.detail == "quiet", "\(run.steps)")
        #expect(run.steps.filter { $0.verb == "restore" }.map(\.target) == ["Bath", "Kitchen"])
        #expect(await rig.house.volume("Kitchen") == 50)
    }
}
