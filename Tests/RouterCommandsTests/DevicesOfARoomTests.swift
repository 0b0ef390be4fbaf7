import RouteModel
import Testing

@testable import RouterCommands

@Suite("R2 CLI rooms of several devices")
struct DevicesOfARoomTests {
    /// The living room has two devices, and the den plays along.
    private var script: ScriptedRouter.Script {
        var session = SampleHouse.session("se-1", ["Left", "Right", "Den"])
        for (index, device) in ["Left", "Right"].enumerated() {
            session.members[index].name = "Living Room (\(device))"
            session.members[index].room = "Living Room"
        }
        var script = SampleHouse.script([session])
        script.rooms.append(
            Room(
                name: "Living Room", devices: ["Left", "Right"],
                routes: [RouteID(rawValue: "rt-left"), RouteID(rawValue: "rt-right")], stored: true))
        script.groups = [RoomGroup(name: "below", rooms: ["Living Room", "Kitchen"], trims: ["Living Room": 0.5])]
        return script
    }

    @Test("the room's own name means all its devices")
    func name() async throws {
        let run = try await VerbRun(["volume", "20", "-r", "living room"], script)
        #expect(
            run.router.commands.map(\.command)
                == ["Left", "Right"].map { .setVolume(VolumePosition(0.2), room: "Living Room (\($0))") })
    }

    @Test("a device's own name means that one alone, and one of two at an address is not guessed")
    func device() async throws {
        var script = script
        script.routes += [SampleHouse.route("Left", "rt-left"), SampleHouse.route("Right", "rt-right")]
        let run = try await VerbRun(["volume", "20", "-r", "left"], script)
        #expect(
            run.router.commands.map(\.command) == [.setVolume(VolumePosition(0.2), room: "Living Room (Left)")])
        script.routes[3].endpoints[0].host = "10.9.9.9"
        script.routes[4].endpoints[0].host = "10.9.9.9"
        let guessed = try await VerbRun(["volume", "20", "-r", "10.9.9.9"], script)
        #expect(guessed.status == 3 && guessed.router.commands.isEmpty, "\(guessed.errors)")
    }

    @Test("a group sets it once, by the trim of its room")
    func group() async throws {
        let volume = try await VerbRun(["group", "volume", "below", "40"], script)
        #expect(volume.router.commands.map(\.command) == [.setVolume(VolumePosition(0.2), room: "Living Room")])
        var both = script
        both.groups[0].rooms = ["Living Room", "Den"]
        let trim = try await VerbRun(["group", "trim", "below", "living room", "60"], both)
        #expect(trim.router.commands.map(\.command) == [.trim(0.6, room: "Living Room")])
        // Two devices of one room are nothing to trim against each other.
        let alone = try await VerbRun(["group", "trim", "below", "living room", "60"], script)
        #expect(alone.router.commands.isEmpty && alone.status == 0, "\(alone.errors)")
    }

    @Test("the effect shows where all its devices are as loud as was said")
    func effect() throws {
        let before = script.sessions[0]
        let command = RemoteCommand.setVolume(VolumePosition(0.2), room: "Living Room")
        var now = before
        #expect(CommandEffect(command, before: before).isSeen(in: now) == false)
        for index in 0..<2 { now.members[index].volume = VolumeState(level: VolumePosition(0.2)) }
        #expect(CommandEffect(command, before: before).isSeen(in: now) == true)
    }

    @Test("where something plays is for the router to say, and a queue that is loaded goes to rooms, not devices")
    func playing() async throws {
        var script = script
        script.played = .success(script.sessions[0])
        for selector in ["@active", "@all"] {
            let run = try await VerbRun(["play", "a.flac", "--on", selector, "-r", "Den"], script)
            #expect(run.router.requests.first?.rooms == ["Den", selector])
        }
        script.saved = [SavedQueue(name: "Sunday", items: [], saved: 0)]
        let loaded = try await VerbRun(["queue", "load", "Sunday"], script)
        #expect(loaded.router.requests.first?.rooms == ["Living Room", "Den"])
    }

    @Test("history is found by the room, which was recorded by its devices")
    func history() async throws {
        var script = script
        script.history = script.sessions[0].queue.items.prefix(2).enumerated().map { index, item in
            PlayRecord(
                id: 2 - index, session: script.sessions[0].id, item: item,
                rooms: [["Living Room (Left)", "Living Room (Right)"], ["Kitchen"]][index], started: 0)
        }
        for words in [["-r", "Living Room"], ["--on", "@active"]] {
            let run = try await VerbRun(["queue", "history", "-q"] + words, script)
            #expect(run.output == ["ITEM01"], "\(words)")
        }
    }
}
