import RouteModel
import RouterTestKit
import Testing

@testable import SceneScript

@Suite struct SceneHostTests {
    private static let long = "- {play: a.mp3, target: kitchen}\n- {delay: 10m}\n- {pause: , target: kitchen}"

    private func started(_ rig: SceneRig, _ run: SceneRun, _ id: String) async throws {
        try #require(
            try await eventually {
                try await rig.host.sceneRun(run.id).steps.contains { $0.id == id && $0.result == .running }
            })
    }

    /// `long`, and a bath that it does not touch.
    private func kitchenScene(_ steps: String, head: String = "", finally: String = "") -> String {
        scene(steps, head: head, finally: finally).replacing("  bath: Bath\n", with: "")
    }

    @Test(
        "R4 a person's command on a target supersedes later steps on it, and on no other",
        arguments: [
            CommandOrigin.cli, .api, .web, .mpris, .device(RouteID(rawValue: "rt-Kitchen")), .otherSender,
        ])
    func lease(origin: CommandOrigin) async throws {
        let rig = SceneRig()
        try await rig.run {
            let run = try await rig.start(
                scene(
                    """
                    - {play: a.mp3, target: kitchen}
                    - {play: b.mp3, target: bath}
                    - {delay: 10s}
                    - {volume: 5%, target: [kitchen, bath]}
                    - {stop: , target: kitchen}
                    """))
            try await started(rig, run, "steps[2]")
            await rig.house.person(.setVolume(VolumePosition(0.9), room: "Kitchen"), in: "Kitchen", origin: origin)
            let ended = try await rig.ended(run)
            #expect(ended.state == .done)
            #expect(ended.steps.map(\.result) == [.done, .done, .done, .done, .superseded])
            #expect(ended.steps[3].detail?.hasPrefix("elsewhere, ") == true)
            #expect(await rig.house.volume("Kitchen") == 90)
            #expect(await rig.house.volume("Bath") == 5)
        }
    }

    @Test("R4 a person who stops what a scene plays wins, though the end is told before the command") func stopped()
        async throws
    {
        let rig = SceneRig()
        try await rig.run {
            let run = try await rig.start(kitchenScene(Self.long + "\n- {play: b.mp3, target: kitchen}"))
            try await started(rig, run, "steps[1]")
            await rig.house.person(.stop, in: "Kitchen")
            let ended = try await rig.ended(run, step: 10)
            #expect(ended.steps.map(\.result) == [.done, .done, .superseded, .superseded])
            #expect(await rig.house.session("Kitchen") == nil)
        }
    }

    @Test("R4 commands of scenes, of the router and refused ones take nothing over; nor any where it is exclusive")
    func keepsLease() async throws {
        for (origin, exclusive) in [(CommandOrigin.scene, false), (.system, false), (.cli, true)] {
            let rig = SceneRig()
            try await rig.run {
                let run = try await rig.start(
                    kitchenScene(Self.long, head: exclusive ? "exclusive: true\n" : ""))
                try await started(rig, run, "steps[1]")
                await rig.house.person(.next, in: "Kitchen", origin: origin)
                let ended = try await rig.ended(run, step: 10)
                #expect(ended.steps.map(\.result) == [.done, .done, .done], "\(origin)")
            }
        }
    }

    @Test("R4 somebody who plays something else takes the room over; a scene's own new sessions do not")
    func takenOver() async throws {
        let rig = SceneRig()
        try await rig.run {
            let run = try await rig.start(
                kitchenScene("- {play: x.mp3, target: kitchen}\n" + Self.long + "\n- {stop: , target: kitchen}"))
            try await started(rig, run, "steps[2]")
            await rig.house.personPlays("theirs.mp3", in: "Kitchen")
            let ended = try await rig.ended(run, step: 10)
            #expect(ended.steps.map(\.result) == [.done, .done, .done, .superseded, .superseded])
            #expect(await rig.house.session("Kitchen")?.currentItem?.title == "theirs.mp3")
        }
    }

    @Test("R4 cancelling does finally, within a time; cancelling again ends that too") func cancelling() async throws {
        let rig = SceneRig()
        let text = kitchenScene(Self.long, finally: "- {stop: , target: kitchen}\n- {delay: 1h}\n- {log: never}")
        try await rig.run {
            let run = try await rig.start(text)
            try await started(rig, run, "steps[1]")
            try await rig.host.cancelScene(run.id)
            let ended = try await rig.ended(run, step: 1)
            #expect(ended.state == .cancelled && ended.exitStatus == 130)
            #expect(
                ended.results == [
                    "steps[0] done", "steps[1] cancelled", "finally[0] done", "finally[1] cancelled",
                ])
            #expect(ended.steps[3].duration ?? 99 <= SceneHost.lastSeconds + 1)

            let second = try await rig.start(text)
            try await started(rig, second, "steps[1]")
            try await rig.host.cancelScene(second.id)
            try await started(rig, second, "finally[1]")
            let before = rig.clock.now()
            try await rig.host.cancelScene(second.id)
            #expect(try await eventually { try await rig.host.sceneRun(second.id).state == .cancelled })
            #expect(rig.clock.now() == before, "no time passes for it")
            try await rig.host.cancelScene(second.id)
        }
    }

    @Test("R4 scenes on one room go one after the other, and those on others at once") func queueing() async throws {
        let rig = SceneRig()
        try await rig.run {
            let first = try await rig.start(kitchenScene(Self.long))
            try await started(rig, first, "steps[1]")
            let second = try await rig.start(kitchenScene("- {play: b.mp3, target: kitchen}"))
            let third = try await rig.start(kitchenScene("- {play: c.mp3, target: kitchen}"))
            let elsewhere = try await rig.start(
                kitchenScene("- {play: d.mp3, target: bath}").replacing("kitchen: Kitchen", with: "bath: Bath"))
            #expect(try await eventually { try await rig.host.sceneRun(elsewhere.id).state == .done })
            #expect(try await rig.host.sceneRun(second.id).steps.isEmpty)
            #expect(try await eventually { try await rig.host.sceneRun(third.id).waitsFor == ["Test", "Test"] })
            #expect(try await rig.host.sceneRun(first.id).waitsFor == nil)
            try await rig.host.cancelScene(second.id)
            #expect(try await eventually { try await rig.host.sceneRun(second.id).state == .cancelled })
            #expect(try await eventually { try await rig.host.sceneRun(third.id).waitsFor == ["Test"] })
            #expect(try await rig.ended(third, step: 10).waitsFor == nil)
            #expect(try await rig.host.sceneRun(first.id).state == .done)
            #expect(await rig.house.calls.last == "play c.mp3 in Kitchen")
            #expect(await !rig.house.calls.contains("play b.mp3 in Kitchen"))
            #expect(try await rig.host.sceneRuns().map(\.id) == [elsewhere.id, third.id, second.id, first.id])
        }
    }

    @Test("R4 an announcement waits for no other scene, and takes nothing over from it") func announces() async throws {
        let rig = SceneRig()
        try await rig.run {
            let first = try await rig.start(kitchenScene(Self.long))
            try await started(rig, first, "steps[1]")
            let bell = try await rig.start(
                kitchenScene("- {announce: bell.wav, target: kitchen}", head: "when_busy: refuse\n"))
            #expect(try await eventually { try await rig.host.sceneRun(bell.id).state == .done })
            #expect(try await rig.host.sceneRun(first.id).state == .running)
            let ended = try await rig.ended(first, step: 10)
            #expect(ended.steps.map(\.result) == [.done, .done, .done])
        }
    }

    @Test("R4 a scene that does not wait is refused while another holds its room") func refused() async throws {
        let rig = SceneRig()
        try await rig.run {
            let first = try await rig.start(kitchenScene(Self.long))
            try await started(rig, first, "steps[1]")
            let error = await #expect(throws: RouterError.self) {
                _ = try await rig.start(
                    kitchenScene("- {play: b.mp3, target: kitchen}", head: "when_busy: refuse\n"))
            }
            #expect(error?.code == .routeBusy && error?.message == "the scene “Test” holds Kitchen")
            try await rig.host.cancelScene(first.id)
            _ = try await rig.ended(first)
            let again = try await rig.start(
                kitchenScene("- {play: b.mp3, target: kitchen}", head: "when_busy: refuse\n"))
            #expect(try await rig.ended(again).state == .done)
        }
    }

    @Test("R4 a wrong scene does not begin, and its diagnostics are the causes") func invalid() async throws {
        let rig = SceneRig()
        try await rig.run { () async throws in
            let error = await #expect(throws: RouterError.self) {
                _ = try await rig.start(scene("- {play: a.mp3, target: [kitchen, bath]}\n- {pley: x}"))
            }
            #expect(error?.code == .sceneInvalid && error?.causes.count == 1)
            #expect(error?.causes.first?.hasPrefix("main.yaml:8:6: error[unknown-key]") == true)
            #expect(try await rig.host.sceneRuns().isEmpty)
            let unknown = await #expect(throws: RouterError.self) { _ = try await rig.host.sceneRun("sc-1") }
            #expect(unknown?.code == .routeNotFound)
        }
    }

    @Test("R4 the last fifty runs are kept, and their states are told in order") func keeps() async throws {
        let rig = SceneRig()
        try await rig.run {
            let updates = await rig.host.sceneUpdates()
            for _ in 0..<(SceneHost.kept + 5) {
                let run = try await rig.start("version: 1\nname: L\nsteps:\n  - log: x\n")
                try #require(try await eventually { try await rig.host.sceneRun(run.id).state == .done })
            }
            #expect(try await rig.host.sceneRuns().count == SceneHost.kept)
            var states: [String] = []
            for await run in updates {
                states.append("\(run.state) \(run.steps.map(\.result.rawValue))")
                if run.state == .done { break }
            }
            #expect(
                states == [
                    "running []", "running [\"running\"]", "running [\"done\"]", "done [\"done\"]",
                ])
        }
    }

    @Test("R4 a cancellation, and the host's end, let finally go on for its time only also where it is under way")
    func hurries() async throws {
        let rig = SceneRig()
        try await rig.run {
            let text = kitchenScene("- {log: x}", finally: "- {delay: 1h}\n- {log: never}")
            let run = try await rig.start(text)
            try await started(rig, run, "finally[0]")
            try await rig.host.cancelScene(run.id)
            let ended = try await rig.ended(run, step: 1)
            #expect(ended.state == .cancelled && ended.results == ["steps[0] done", "finally[0] cancelled"])
            #expect(ended.steps[1].duration ?? 99 <= SceneHost.lastSeconds + 1)

            let last = try await rig.start(text)
            try await started(rig, last, "finally[0]")
            async let over: Void = rig.host.shutdown()
            #expect(try await rig.ended(last, step: 1).state == .cancelled)
            await over
        }
    }

    @Test("R4 ending the host does what scenes say under finally, and lets nobody begin") func shutdown() async throws {
        let rig = SceneRig()
        try await rig.run {
            let run = try await rig.start(kitchenScene(Self.long, finally: "- {stop: , target: kitchen}"))
            try await started(rig, run, "steps[1]")
            await rig.host.shutdown()
            #expect(try await rig.host.sceneRun(run.id).results.last == "finally[0] done")
            let error = await #expect(throws: RouterError.self) { _ = try await rig.start(kitchenScene("- log: x")) }
            #expect(error?.code == .unavailable)
        }
        await rig.host.shutdown()
    }

    @Test("R4 cancelling the host ends every run, also those that wait for their turn") func cancelled() async throws {
        let rig = SceneRig()
        try await rig.run {
            let first = try await rig.start(kitchenScene(Self.long))
            try await started(rig, first, "steps[1]")
            _ = try await rig.start(kitchenScene(Self.long))
        }
        #expect(try await rig.host.sceneRuns().map(\.state) == [.cancelled, .cancelled])
    }

    // MARK: Snapshots

    @Test("R4 restore makes membership, then queue and position, then volume, then play state as they were")
    func restore() async throws {
        let rig = SceneRig(["Kitchen", "Bath", "Attic"])
        try await rig.run {
            _ = try await rig.house.play(
                PlayRequest(what: ["a.mp3", "b.mp3"], rooms: ["Kitchen", "Bath"], workingDirectory: "/m"))
            await rig.house.itemEnds(in: "Kitchen")
            let id = try #require(await rig.house.session("Kitchen")?.id)
            _ = try await rig.house.perform(.seek(to: MediaTime(seconds: 30)), session: id, origin: .cli)
            _ = try await rig.house.perform(.setVolume(VolumePosition(0.4), room: "Kitchen"), session: id, origin: .cli)
            _ = try await rig.house.perform(.pause, session: id, origin: .cli)
            await rig.house.forgetCalls()
            let run = try await rig.start(
                """
                version: 1
                name: Test
                targets: {all: [Kitchen, Bath, Attic], bath: Bath, kitchen: Kitchen}
                steps:
                  - {snapshot: before, target: all}
                  - {group: {leave: bath}, target: kitchen}
                  - {play: c.mp3, target: bath}
                  - {volume: 90%, target: all}
                  - {resume: , target: kitchen}
                  - restore: before
                """)
            let ended = try await rig.ended(run)
            #expect(ended.state == .done, "\(ended.steps)")
            let calls = await rig.house.calls
            let restored = calls.drop { !$0.hasPrefix("join") }
            #expect(
                Array(restored) == [
                    "join Bath", "seek 30", "volume 40% Kitchen", "volume 50% Bath", "pause",
                ])
            let session = try #require(await rig.house.session("Bath"))
            #expect(session.id == id && session.media == .paused && session.currentItem?.title == "b.mp3")
            #expect(await rig.house.session("Attic") == nil)
        }
    }

    @Test("R4 what was replaced is played again from its place, and where nothing played nothing does")
    func restoreReplaced() async throws {
        let rig = SceneRig(["Kitchen", "Bath"])
        try await rig.run {
            _ = try await rig.house.play(
                PlayRequest(
                    what: ["a.mp3", "b.mp3", "http://x/c.mp3"], rooms: ["Kitchen"], workingDirectory: "/m",
                    repeatMode: .all))
            await rig.house.itemEnds(in: "Kitchen")
            await rig.house.forgetCalls()
            let run = try await rig.start(
                scene(
                    """
                    - {snapshot: before, target: [kitchen, bath]}
                    - {play: bell.wav, target: [kitchen, bath]}
                    - {delay: 3s}
                    - restore: before
                    """))
            let ended = try await rig.ended(run)
            #expect(ended.state == .done, "\(ended.steps)")
            #expect(
                await rig.house.calls == [
                    "play bell.wav in Kitchen+Bath", "leave Bath", "play /m/b.mp3 http://x/c.mp3 in Kitchen",
                    "insert /m/a.mp3", "volume 50% Kitchen", "resume",
                ])
            let session = try #require(await rig.house.session("Kitchen"))
            #expect(session.queue.repeatMode == .all && session.currentItem?.title == "b.mp3")
            #expect(await rig.house.session("Bath") == nil)
        }
    }

    @Test("R4 restore takes out who joined, and lets the others play on") func restoreMembers() async throws {
        let rig = SceneRig()
        let run = try await rig.play(
            scene(
                """
                - {play: a.mp3, target: kitchen}
                - {snapshot: s, target: kitchen}
                - {group: {join: bath}, target: kitchen}
                - restore: s
                """))
        #expect(run.state == .done, "\(run.steps)")
        #expect(await rig.house.calls.prefix(3) == ["play a.mp3 in Kitchen", "join Bath", "leave Bath"])
        #expect(await rig.house.session("Bath") == nil)
        #expect(await rig.house.session("Kitchen") != nil)
    }

    @Test("R4 a person who took a room over is not overruled by restore") func restoreOverruled() async throws {
        let rig = SceneRig()
        try await rig.run {
            let run = try await rig.start(
                kitchenScene(
                    "- {play: a.mp3, target: kitchen}\n- {snapshot: s, target: kitchen}\n- {delay: 5s}",
                    finally: "- restore: s"))
            try await started(rig, run, "steps[2]")
            await rig.house.person(.pause, in: "Kitchen")
            let ended = try await rig.ended(run)
            #expect(ended.results.last == "finally[0] superseded" && ended.state == .done)
            #expect(await rig.house.session("Kitchen")?.media == .paused)
        }
    }
}
