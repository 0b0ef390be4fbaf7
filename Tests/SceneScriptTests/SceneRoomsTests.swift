import RouteModel
import RouterTestKit
import Testing

@testable import SceneScript

/// Rooms of several devices, whose members the engine calls `Kitchen (Left)`; and what selectors mean.
@Suite struct SceneRoomsTests {
    private func rig() async -> SceneRig {
        let rig = SceneRig(["Left", "Right", "Bath"])
        await rig.house.has(room: "Kitchen", devices: ["Left", "Right"])
        return rig
    }

    private func awaitStep(_ id: String, _ run: SceneRun, _ rig: SceneRig) async throws {
        try #require(
            try await eventually {
                try await rig.host.sceneRun(run.id).steps.contains { $0.id == id && $0.result == .running }
            })
    }

    @Test(
        "R4 a person who takes over a room of several devices, or one device of it, wins",
        arguments: [
            RemoteCommand.pause, .stop, .setVolume(VolumePosition(0.9), room: "Kitchen"),
            .setVolume(VolumePosition(0.9), room: "kitchen (left)"),
            .setVolume(VolumePosition(0.9), room: "rt-Left"),
        ])
    func lease(command: RemoteCommand) async throws {
        let rig = await rig()
        try await rig.run {
            let run = try await rig.start(
                scene(
                    "- {play: a.mp3, target: kitchen}\n- {play: b.mp3, target: bath}\n- {delay: 10s}\n"
                        + "- {volume: 5%, target: [kitchen, bath]}"))
            try await awaitStep("steps[2]", run, rig)
            await rig.house.person(command, in: "Kitchen")
            let ended = try await rig.ended(run)
            #expect(ended.steps[3].detail?.hasPrefix("elsewhere, ") == true, "\(ended.steps[3])")
            #expect(await rig.house.volume("Bath") == 5)
            #expect(await rig.house.volume("Kitchen (Left)") != 5)
        }
    }

    @Test("R4 a room that fails in a group or a transfer, while others play, makes the scene partial")
    func lostRoom() async throws {
        for step in ["{group: {join: [bath, kitchen]}, target: left}", "{transfer: {to: [bath, left]}, target: left}"] {
            let rig = SceneRig(["Left", "Kitchen", "Bath"])
            await rig.house.loses("Bath")
            try await rig.run {
                let text =
                    "version: 1\nname: S\ntargets: {left: Left, kitchen: Kitchen, bath: Bath}\nsteps:\n"
                    + "  - {play: a.mp3, target: left}\n  - \(step)\n"
                let ended = try await rig.ended(try await rig.start(text))
                #expect(ended.state == .partial, "\(step): \(ended.steps)")
                #expect(ended.steps[1].detail?.contains("Bath: no answer") == true, "\(ended.steps[1])")
            }
        }
    }

    @Test("R4 somebody who plays something else in a room of several devices takes it over") func takenOver()
        async throws
    {
        let rig = await rig()
        try await rig.run {
            let run = try await rig.start(
                scene(
                    "- {play: a.mp3, target: kitchen}\n- {play: b.mp3, target: bath}\n- {delay: 10s}\n"
                        + "- {stop: , target: kitchen}"))
            try await awaitStep("steps[2]", run, rig)
            await rig.house.personPlays("theirs.mp3", in: "Kitchen")
            #expect(try await rig.ended(run).results.last == "steps[3] superseded")
        }
    }

    @Test("R4 an item that ends in a room of several devices starts the room's schedule") func itemEnds() async throws {
        let rig = await rig()
        let text = "version: 1\nname: S\nsteps:\n  - log: ended\n"
        try await rig.run {
            try await rig.host.saveSchedule(
                SceneSchedule(
                    id: "end", trigger: .itemEnds(room: "Kitchen"), scene: SceneRequest(text: text, path: "s.yaml")))
            try #require(await eventually { await rig.house.readerCount > 0 })
            _ = try await rig.house.play(
                PlayRequest(what: ["a", "b"], rooms: ["Kitchen"], workingDirectory: "/m"))
            await rig.house.itemEnds(in: "Kitchen")
            #expect(try await eventually { try await rig.host.sceneRuns().map(\.startedBy) == ["end"] })
        }
    }

    @Test("R4 restore plays and joins a room of several devices by its own name, each as loud as it was")
    func restore() async throws {
        let rig = await rig()
        try await rig.run {
            let session = try await rig.house.play(
                PlayRequest(what: ["a.mp3"], rooms: ["Kitchen", "Bath"], workingDirectory: "/m"))
            for (room, level) in [("Kitchen (Left)", 0.3), ("Kitchen (Right)", 0.6)] {
                _ = try await rig.house.perform(
                    .setVolume(VolumePosition(level), room: room), session: session.id, origin: .cli)
            }
            await rig.house.forgetCalls()
            let left = try await rig.ended(
                try await rig.start(
                    scene(
                        """
                        - {snapshot: s, target: [kitchen, bath]}
                        - {group: {leave: kitchen}, target: bath}
                        - {volume: 90%, target: bath}
                        - restore: s
                        """)))
            #expect(left.state == .done, "\(left.steps)")
            #expect(
                await rig.house.calls == [
                    "leave Kitchen", "volume 90%", "join Kitchen", "seek 0", "volume 30% Kitchen (Left)",
                    "volume 60% Kitchen (Right)", "volume 50% Bath",
                ])
            await rig.house.forgetCalls()
            let replaced = try await rig.ended(
                try await rig.start(
                    scene(
                        "- {snapshot: s, target: [kitchen, bath]}\n- {play: bell.wav, target: [kitchen, bath]}\n"
                            + "- restore: s")))
            #expect(replaced.state == .done, "\(replaced.steps)")
            #expect(await rig.house.calls.contains("play /m/a.mp3 in Bath+Kitchen"))
        }
    }

    @Test("R4 a room of several devices is captured by its own name, once") func capture() async throws {
        let rig = await rig()
        let session = try await rig.house.play(
            PlayRequest(what: ["a.mp3"], rooms: ["Kitchen", "Bath"], workingDirectory: "/m"))
        for (room, level) in [("Kitchen (Left)", 0.3), ("Kitchen (Right)", 0.6), ("Bath", 0.2)] {
            _ = try await rig.house.perform(
                .setVolume(VolumePosition(level), room: room), session: session.id, origin: .cli)
        }
        let text = try await SceneCapture.capture(rig.house)
        let check = await SceneChecker(files: files()).check(
            SceneRequest(text: text, path: "c.yaml", workingDirectory: "/"), router: rig.house)
        #expect(check.diagnostics.isEmpty, "\(text)\n\(check.diagnostics)")
        #expect(check.rooms == ["Kitchen", "Bath"])
        #expect(
            check.plan?.steps.map(\.command) == [
                "play /m/a.mp3", "set the volume to 60%", "set the volume to 20%",
            ])
    }

    @Test("R4 one device of a room is stopped and turned down alone") func oneDevice() async throws {
        let rig = await rig()
        let run = try await rig.play(
            """
            version: 1
            name: Test
            targets: {kitchen: Kitchen, left: Left}
            steps:
              - {play: a.mp3, target: kitchen}
              - {volume: 20%, target: left}
              - {volume: 40%, target: kitchen}
              - {stop: , target: left}
            """)
        #expect(run.state == .done, "\(run.steps)")
        #expect(
            await rig.house.calls == [
                "play a.mp3 in Kitchen", "volume 20% Kitchen (Left)", "volume 40%", "leave Kitchen (Left)",
            ])
    }

    @Test("R4 of two devices of one name each is reached by its id, whatever is done to it") func shared() async throws
    {
        let rig = SceneRig(["Lamp", "Bath"])
        await rig.house.has(twin: "Lamp", id: "rt-other")
        let run = try await rig.play(
            """
            version: 1
            name: Test
            targets: {one: rt-Lamp, other: rt-other, bath: Bath}
            steps:
              - {play: a.mp3, target: [one, other]}
              - {snapshot: before, target: [one, other]}
              - {volume: 20%, target: other}
              - {announce: bell.wav, target: other}
              - {stop: , target: one}
              - {group: {join: [one, bath]}, target: other}
              - {transfer: one, target: other}
              - {transfer: one, target: one}
              - restore: before
            """)
        #expect(run.state == .done && run.steps[7].detail == "it plays there already", "\(run.steps)")
        #expect(
            await rig.house.calls == [
                "play a.mp3 in rt-Lamp+rt-other", "volume 20% rt-other", "announce bell.wav in rt-other",
                "leave rt-Lamp", "join rt-Lamp+Bath", "transfer move rt-Lamp", "join rt-other", "seek 0",
                "volume 50% rt-Lamp", "volume 50% rt-other",
            ])
        let text = try await SceneCapture.capture(rig.house)
        let check = await SceneChecker(files: files()).check(
            SceneRequest(text: text, path: "c.yaml", workingDirectory: "/"), router: rig.house)
        #expect(
            check.diagnostics.isEmpty && check.scene?.targets.flatMap(\.rooms) == ["rt-Lamp", "rt-other"], "\(text)")
        #expect(try await SceneHouse.look(rig.house).places("@all").map(\.selector) == ["rt-Lamp", "Bath", "rt-other"])
    }

    @Test(
        "R4 a room of several that is not there is told, and counts where the scene names it and cannot do without",
        arguments: [
            ("[Kitchen, Bath]", SceneRun.State.partial), ("{rooms: [Kitchen, Bath], optional: true}", .done),
            ("\"@all\"", .done), ("Wet", .partial), ("\"@group:Wet\"", .done),
        ])
    func lacking(target: String, state: SceneRun.State) async throws {
        let rig = SceneRig(["Kitchen", "Bath"])
        await rig.house.has(group: RoomGroup(name: "Wet", rooms: ["Bath", "Kitchen"]))
        await rig.house.disappears("Bath")
        for steps in [
            "  - {play: a.mp3, target: house}\n",
            "  - {play: a.mp3, target: kitchen}\n  - {group: {join: house}, target: kitchen}\n",
            "  - {play: a.mp3, target: kitchen}\n  - {transfer: house, target: kitchen}\n",
        ] {
            let text = "version: 1\nname: S\ntargets:\n  kitchen: Kitchen\n  house: \(target)\nsteps:\n\(steps)"
            let host = SceneHost(router: rig.house, clock: rig.clock, files: files())
            let one = SceneRig(house: rig.house, host: host, clock: rig.clock)
            let run = try await one.play(text)
            #expect(run.state == state, "\(run.steps)")
            #expect(run.steps.last?.detail?.contains("Bath is not there just now") == true, "\(run.steps)")
            let check = await SceneChecker(files: files()).check(
                SceneRequest(text: text, path: "s.yaml", workingDirectory: "/"), router: rig.house)
            let found = check.diagnostics.filter { $0.code != "unused-target" }
            #expect(found.map { "\($0.severity) \($0.code)" } == (state == .done ? [] : ["warning absent"]))
        }
    }

    @Test("R4 an item changes in the room that is asked after: elsewhere, or in silence, nothing does") func changes()
        async throws
    {
        let rig = SceneRig()
        _ = try await rig.house.play(PlayRequest(what: ["a.mp3", "b.mp3"], rooms: ["Kitchen"]))
        let before = await rig.house.sessions()
        func changed(_ room: String) async throws -> Bool? {
            let now = try await SceneHouse.look(rig.house)
            return now.holds(
                SceneComparison(subject: .target("room", .item), comparison: .changes, value: .text("")),
                targets: ["room": try now.places(room)], time: (minutes: 0, day: 1), before: before)
        }
        func all() async throws -> [Bool?] { [try await changed("Kitchen"), try await changed("Bath")] }
        #expect(try await all() == [false, false])
        let run = try await rig.play(
            scene("- {wait_for: bath.item changes, timeout: 5s}\n- {pause: , target: kitchen}"))
        #expect(run.state == .timedOut)
        await rig.house.itemEnds(in: "Kitchen")
        #expect(try await all() == [true, false])
        await rig.house.personPlays("c.mp3", in: "Bath")
        await rig.house.person(.stop, in: "Kitchen")
        #expect(try await all() == [true, true])
    }

    // MARK: Selectors

    private func names(_ selector: String, _ house: FakeHouse) async throws -> [String] {
        try await SceneHouse.look(house).places(selector).map(\.name)
    }

    @Test("R4 two devices of one name are ambiguous, unless a person made one of them a room") func twins() async throws
    {
        let house = FakeHouse(["Lamp", "Bath"], clock: TestClock())
        await house.has(twin: "Lamp", id: "rt-other")
        let error = await #expect(throws: RouterError.self) { _ = try await names("lamp", house) }
        #expect(error?.code == .routeAmbiguous && error?.candidates.count == 2)
        #expect(try await names("rt-other", house) == ["Lamp"])
        #expect(try await SceneHouse.look(house).places("rt-other")[0].routes == [RouteID(rawValue: "rt-other")])
        await house.has(room: "Lamp", devices: ["Bath"])
        #expect(try await SceneHouse.look(house).places("Lamp")[0].routes == [RouteID(rawValue: "rt-Bath")])
    }

    @Test("R4 groups are found whatever the case, and by their names where no room has it") func groups() async throws {
        let house = FakeHouse(["Kitchen", "Bath"], clock: TestClock())
        await house.has(group: RoomGroup(name: "Wet", rooms: ["Bath", "Kitchen"]))
        await house.has(group: RoomGroup(name: "Bath", rooms: ["Kitchen"]))
        for selector in ["@group:Wet", "@group:wet", "@GROUP:WET", "wet"] {
            #expect(try await names(selector, house) == ["Bath", "Kitchen"], "\(selector)")
        }
        #expect(try await names("bath", house) == ["Bath"])
        #expect(try await names("@ALL", house) == ["Kitchen", "Bath"])
        let error = await #expect(throws: RouterError.self) { _ = try await names("@group:Dry", house) }
        #expect(error?.candidates == ["@group:Wet", "@group:Bath"])
    }

    @Test("R4 the beginning of an alias or an id is enough, where it is the only one") func beginnings() async throws {
        let house = FakeHouse(["Kitchen", "Bath"], clock: TestClock())
        await house.has(twin: "Lamp", id: "rt-0a1b")
        await house.has(room: "Bath", devices: ["Bath"], alias: "Washroom")
        #expect(try await names("rt-0a", house) == ["Lamp"])
        #expect(try await names("wash", house) == ["Bath"])
        #expect(try await names("kit", house) == ["Kitchen"])
        await house.has(twin: "Kite", id: "rt-0a2c")
        for selector in ["kit", "rt-0a"] {
            let error = await #expect(throws: RouterError.self) { _ = try await names(selector, house) }
            #expect(error?.code == .routeAmbiguous && error?.candidates.count == 2, "\(selector)")
        }
    }
}
