import ArgumentParser
import Foundation
import RouteModel
import Testing

@testable import RouterCommands

@Suite("R2 CLI rooms, groups, transfer, announce, pairing, sessions")
struct HouseVerbTests {
    private let script = SampleHouse.script()

    @Test("rooms are listed and shown; an empty list says why")
    func rooms() async throws {
        let plain = try await VerbRun(["rooms", "-o", "plain"], script)
        #expect(
            plain.output == [
                "Kitchen\tthis device\tauto\tready\t", "Kids\tthis device\tauto\tready\t",
                "Den\tthis device\tauto\tready\t", "Upstairs\tKids, Attic\tauto\t1 of 2 there\tup",
            ])
        #expect(try await VerbRun(["rooms", "list", "-o", "json"], script).decoded([Room].self) == SampleHouse.rooms)
        let shown = try await VerbRun(["rooms", "show", "kitchen"], script)
        #expect(shown.output.first == "Kitchen" && shown.output.last == "  playing “Blue”")
        let empty = try await VerbRun(["rooms"])
        #expect(empty.status == 0 && empty.output.isEmpty && empty.errors.contains { $0.contains("hint:") })
        #expect(try await VerbRun(["rooms", "show", "Kitchn"], script).status == 3)
    }

    @Test("a room is made with all that it can have")
    func create() async throws {
        let run = try await VerbRun(
            [
                "rooms", "create", "Ground Floor", "Kitchen", "Hall", "--alias", "down", "--prefer", "airplay",
                "--volume-limit", "60", "--offset", "-20ms", "--quiet-hours", "22:00-07:00 at 30 %",
                "--start-volume", "at most 40 %", "--volume-curve", "decibel 50 taper 2",
            ], script)
        #expect(run.status == 0, "\(run.errors)")
        let room = try #require(run.router.savedRooms.first)
        #expect(room.0.name == "Ground Floor" && room.0.devices == ["Kitchen", "Hall"] && room.replacing == nil)
        #expect(room.0.aliases == ["down"] && room.0.via == .airplay && room.0.volumeLimit?.percent == 60)
        #expect(room.0.offsetMilliseconds == -20)
        #expect(room.0.quietHours == QuietHours(from: 1320, to: 420, limit: VolumePosition(0.3)))
        #expect(room.0.startVolume == .cap(VolumePosition(0.4)))
        #expect(room.0.volumeCurve == .decibel(range: 50, taper: 2))
        #expect(run.output == ["Made the room Ground Floor of Kitchen and Hall"])
        #expect(run.errors.contains { $0.contains("no device called “Hall” is there now") })
        #expect(try await VerbRun(["rooms", "create", "upstairs", "Den"], script).status == 78)
        for words in [
            ["@x", "Den"], ["X"], ["X", "Den", "--offset", "20"], ["X", "Den", "--quiet-hours", "late"],
            ["X", "Den", "--volume-limit", "101"], ["X", "Den", "--start-volume", "loud"],
            ["X", "Den", "--alias", "@x"],
        ] {
            #expect(throws: (any Error).self) {
                try RouterCommand.parseAsRoot(CommandWords.complete(["rooms", "create"] + words))
            }
        }
    }

    @Test("a room that was made is changed; a device, and a room of the file, are not")
    func change() async throws {
        let added = try await VerbRun(["rooms", "add", "up", "Den"], script)
        #expect(added.router.savedRooms.first?.0.devices == ["Kids", "Attic", "Den"])
        #expect(added.router.savedRooms.first?.replacing == "Upstairs")
        let less = try await VerbRun(["rooms", "remove", "Upstairs", "attic"], script)
        #expect(less.router.savedRooms.first?.0.devices == ["Kids"] && less.output == ["Upstairs is Kids now"])
        #expect(try await VerbRun(["rooms", "remove", "Upstairs", "Kids", "Attic"], script).status == 78)
        #expect(try await VerbRun(["rooms", "remove", "Upstairs", "Den"], script).status == 3)
        #expect(try await VerbRun(["rooms", "remove", "Upstairs"], script).status == 64)
        #expect(try await VerbRun(["rooms", "remove", "Upstairs", "--yes"], script).router.removed == ["Upstairs"])
        #expect(
            try await VerbRun(["rooms", "prefer", "Upstairs", "cast"], script).router.savedRooms.first?.0.via == .cast)
        let renamed = try await VerbRun(["rooms", "rename", "Upstairs", "Attic"], script)
        #expect(
            renamed.router.savedRooms.first?.0.name == "Attic"
                && renamed.router.savedRooms.first?.replacing == "Upstairs")
        let device = try await VerbRun(["rooms", "rename", "Den", "Study"], script)
        #expect(device.status == 78 && device.errors.last?.contains("rooms create") == true)
        var file = script
        file.rooms[3].stored = nil
        file.rooms[3].configured = true
        let configured = try await VerbRun(["rooms", "prefer", "Upstairs", "cast"], file)
        #expect(configured.status == 78 && configured.errors[0].contains("configuration file"))
    }

    @Test(
        "a device's name changes and removes no room that holds it, nor does the beginning of a room's name",
        arguments: [
            ["remove"], ["remove", "--yes"], ["prefer", "cast"], ["add", "Den"], ["set", "--volume-limit", "60"],
            ["rename", "Study"],
        ])
    func deviceOfARoom(_ verb: [String]) async throws {
        // Kids is in Upstairs now, and no room by itself; Attic is away.
        var script = script
        script.rooms.removeAll { $0.name == "Kids" }
        for (word, said) in [
            ("Kids", "Kids is a device in the room Upstairs"), ("rt-kids", "Kids is a device in the room Upstairs"),
            ("attic", "attic is a device in the room Upstairs"), ("Upst", "did you mean “Upstairs”"),
        ] {
            let run = try await VerbRun(["rooms", verb[0], word] + verb.dropFirst(), script)
            #expect(run.status == 3 && run.errors[0].contains(said), "\(run.errors)")
            #expect(run.errors.last?.contains("hint:") == true)
            #expect(run.router.savedRooms.isEmpty && run.router.removed.isEmpty)
        }
        let own = try await VerbRun(["rooms", verb[0], "rt-den"] + verb.dropFirst(), script)
        #expect(own.status == 78 && own.errors[0].contains("only by itself"), "\(own.errors)")
    }

    @Test("a room's limit, quiet hours, offset and other names are changed in place, and taken out")
    func set() async throws {
        var script = script
        script.rooms[3].volumeLimit = VolumePosition(percent: 80)
        script.rooms[3].via = .cast
        let words = [
            "--volume-limit", "60", "--quiet-hours", "22:00-07:00 at 30 %", "--offset", "-20ms", "--alias", "x",
            "--start-volume", "last", "--volume-curve", "table 0 5 100",
        ]
        let run = try await VerbRun(["rooms", "set", "up"] + words, script)
        #expect(run.status == 0 && run.output == ["Changed the room Upstairs"], "\(run.errors)")
        var wanted = script.rooms[3]
        wanted.volumeLimit = VolumePosition(percent: 60)
        wanted.quietHours = QuietHours(from: 1320, to: 420, limit: VolumePosition(0.3))
        wanted.offsetMilliseconds = -20
        wanted.aliases = ["x"]
        wanted.startVolume = .last
        wanted.volumeCurve = .table([0, 0.05, 1])
        #expect(run.router.savedRooms.first?.0 == wanted && run.router.savedRooms.first?.replacing == "Upstairs")
        script.rooms[3] = wanted
        let shown = try await VerbRun(["rooms", "show", "Upstairs"], script).output
        #expect(shown.contains("  volume curve table 0 5 100"))
        #expect(shown.contains("  begins as loud as it was last set") && shown.contains("  never louder than 60 %"))
        let out = try await VerbRun(
            [
                "rooms", "set", "Upstairs", "--volume-limit", "", "--quiet-hours", "", "--alias", "", "--start-volume",
                "", "--volume-curve", "",
            ], script)
        (wanted.volumeLimit, wanted.quietHours, wanted.aliases, wanted.startVolume) = (nil, nil, [], nil)
        wanted.volumeCurve = nil
        #expect(out.router.savedRooms.first?.0 == wanted)
        #expect(try await VerbRun(["rooms", "set", "Den", "--volume-limit", "60"], script).status == 78)
        for wrong in [
            [], ["--volume-limit", "101"], ["--volume-limit", "-5"], ["--quiet-hours", "late"], ["--offset", "20"],
            ["--alias", "@x"], ["--start-volume", "101"], ["--start-volume", "lst"],
            ["--volume-curve", "airplay"],
        ] {
            #expect(throws: (any Error).self, "\(wrong)") {
                try RouterCommand.parseAsRoot(CommandWords.complete(["rooms", "set", "Upstairs"] + wrong))
            }
        }
    }

    @Test("groups are made of rooms that are there, changed and dissolved")
    func groups() async throws {
        #expect(try await VerbRun(["group"], script).output == ["GROUP  ROOMS      TRIMS", "upper  Kids, Den  Den 50"])
        let made = try await VerbRun(["group", "create", "all", "kitchen", "De"], script)
        #expect(made.output == ["Made the group all of Kitchen and Den"])
        #expect(try await VerbRun(["group", "create", "Upper", "Den"], script).status == 78)
        #expect(try await VerbRun(["group", "create", "new", "Cellar"], script).status == 3)
        #expect(
            try await VerbRun(["group", "add", "upper", "Kitchen"], script).output == [
                "upper is Kids, Den and Kitchen now"
            ])
        #expect(try await VerbRun(["group", "remove", "upper", "den"], script).output == ["upper is Kids now"])
        #expect(try await VerbRun(["group", "remove", "upper", "den", "kids"], script).status == 78)
        #expect(try await VerbRun(["group", "dissolve", "upper"], script).status == 64)
        #expect(try await VerbRun(["group", "dissolve", "upper", "--yes"], script).router.removed == ["upper"])
    }

    @Test("a group's volume is the master where it plays alone, and each room by its trim elsewhere")
    func groupVolume() async throws {
        let alone = SampleHouse.script([SampleHouse.session("se-1", ["Kids", "Den"])])
        #expect(
            try await VerbRun(["group", "volume", "upper", "40"], alone).router.commands.map(\.command)
                == [.setVolume(VolumePosition(0.4), room: nil)])
        let mixed = SampleHouse.script([SampleHouse.session("se-1", ["Kitchen", "Kids", "Den"])])
        #expect(
            try await VerbRun(["group", "volume", "upper", "40"], mixed).router.commands.map(\.command)
                == [.setVolume(VolumePosition(0.4), room: "Kids"), .setVolume(VolumePosition(0.2), room: "Den")])
        #expect(
            try await VerbRun(["group", "trim", "upper", "Den", "60"], alone).router.commands.map(\.command)
                == [.trim(0.6, room: "Den")])
        // The session's own level is that of its loudest room, which is no room of the group.
        var heard = mixed
        heard.sessions[0].volume = VolumeState(level: VolumePosition(0.9))
        heard.effect = { command, session in
            guard case .setVolume(let level, let room?) = command else { return }
            for index in session.members.indices where session.members[index].name == room {
                session.members[index].volume = VolumeState(level: level)
            }
        }
        let told = try await VerbRun(["group", "volume", "upper", "60"], heard)
        #expect(told.output == ["upper (Kids and Den) is at 60 %"], "\(told.errors)")
        #expect(try await VerbRun(["group", "volume", "upper", "mute"], heard).output.first?.contains("muted") == true)
        #expect(try await VerbRun(["group", "trim", "upper", "Den", "60"], script).router.commands.isEmpty)
        #expect(try await VerbRun(["group", "volume", "upper", "40"], script).status == 3)
    }

    private static func transferred(_ losses: [String] = []) -> TransferResult {
        TransferResult(
            from: ["Kitchen"], to: ["Den"], method: .load, title: "Blue", position: MediaTime(seconds: 83),
            losses: losses, session: SampleHouse.session("se-1", ["Den"]))
    }

    @Test(
        "C6 each kind of transfer",
        arguments: [
            ([], TransferRequest.Kind.move, "“Blue” goes on in Den at 1:23"),
            (["--expand"], .expand, "“Blue” plays in Den at 1:23"),
            (["--shrink"], .shrink, "“Blue” plays on in Den at 1:23"),
            (["--copy"], .copy, "“Blue” plays in Den at 1:23 by itself"),
        ])
    func transfer(_ words: [String], _ kind: TransferRequest.Kind, _ said: String) async throws {
        var script = script
        script.transferred = .success(Self.transferred())
        let run = try await VerbRun(["transfer", "Den"] + words, script)
        #expect(run.status == 0 && run.output == [said])
        #expect(run.router.transfers == [TransferRequest(kind, session: SessionID(rawValue: "se-1"), rooms: ["Den"])])
    }

    @Test("C6 losses are told; a preflight does nothing else")
    func losses() async throws {
        var script = script
        script.transferred = .success(Self.transferred(["no subtitles"]))
        let run = try await VerbRun(["transfer", "@group:upper", "--preflight"], script)
        #expect(run.router.transfers.first?.preflight == true && run.router.transfers.first?.rooms == ["@group:upper"])
        #expect(run.errors == ["note: in Den: no subtitles"] && run.output == ["“Blue” can go on in Den at 1:23"])
        #expect(
            try await VerbRun(["transfer", "Den", "-o", "json"], script).decoded(TransferResult.self)
                == Self.transferred(["no subtitles"]))
        #expect(throws: (any Error).self) { try RouterCommand.parseAsRoot(["transfer", "Den", "--copy", "--expand"]) }
        #expect(throws: (any Error).self) { try RouterCommand.parseAsRoot(["transfer"]) }
    }

    @Test("an announcement says room by room what came of it")
    func announce() async throws {
        var script = script
        script.announced = .success(
            AnnounceReport(
                title: "gong",
                rooms: [
                    .init(room: "Kitchen", said: true, restored: .resumed),
                    .init(room: "Den", said: true, restored: .nothing),
                ]))
        let run = try await VerbRun(
            ["announce", "gong.wav", "--on", "@all", "--volume", "40", "--priority", "low", "--deadline", "20s"], script
        )
        #expect(
            run.output == ["Kitchen: said “gong”; what played plays on", "Den: said “gong”; nothing played there"])
        let request = try #require(run.router.announcements.first)
        #expect(request.rooms == ["@all"] && request.volume?.percent == 40)
        #expect(request.priority == .low && request.deadline == MediaTime(seconds: 20))
        script.announced = .success(
            AnnounceReport(
                title: "gong",
                rooms: [
                    .init(room: "Kitchen", said: true, restored: .resumed),
                    .init(room: "Den", said: false, restored: .nothing, error: RouterError(.routeLost, "gone")),
                ]))
        let partial = try await VerbRun(["announce", "gong.wav"], script)
        #expect(partial.status == 8 && partial.errors.contains { $0.contains("gone") })
        #expect(throws: (any Error).self) { try RouterCommand.parseAsRoot(["announce", "a", "--deadline", "11m"]) }
    }

    @Test(
        "what is no more is told in a document, too",
        arguments: [
            (["rooms", "remove", "up", "--yes"], Change(.removed, .room, "Upstairs")),
            (["group", "dissolve", "upper", "--yes"], Change(.removed, .group, "upper")),
            (["queue", "saved", "--remove", "sunday", "--yes"], Change(.removed, .queue, "Sunday")),
            (["pair", "remove", "TV", "--yes"], Change(.removed, .pairing, "TV")),
            (["pair", "finish", "pr-1", "--cancel"], Change(.cancelled, .pairing, "pr-1")),
            (["devices", "forget", "Den", "--yes"], Change(.forgotten, .device, "Den")),
            (["session", "end", "se-1"], Change(.ended, .session, "se-1")),
            (["session", "end", "se-1", "--forget"], Change(.forgotten, .session, "se-1")),
        ])
    func changes(_ words: [String], _ change: Change) async throws {
        var script = script
        script.saved = [SavedQueue(name: "Sunday", items: [], saved: 0)]
        let run = try await VerbRun(words + ["-o", "json"], script)
        let document = try run.decoded(OutputValue.self)
        #expect(
            document
                == .object([
                    "change": .text(change.change.rawValue), "kind": .text(change.kind.rawValue),
                    "name": .text(change.name),
                ]))
        #expect(try await VerbRun(words + ["-q"], script).output == [change.name])
        let told = try await VerbRun(words, script)
        #expect(told.output.count == 1 && told.output[0].contains(" "), "\(told.output)")
    }

    @Test("play --wait ended ends as the session did")
    func playToTheEnd() async throws {
        var script = script
        let session = SampleHouse.session("se-1", ["Kitchen", "Den"])
        script.sessions = [session]
        script.played = .success(session)
        var over = session
        over.connection = .ended
        over.media = .stopped
        let words = ["play", "a", "--wait", "ended"]
        script.told = [.session(over)]
        let fine = try await VerbRun(words, script)
        #expect(fine.status == 0 && fine.errors.isEmpty)
        let error = RouterError(.routeLost, "Den was lost", hint: "Look")
        over.members[1].error = error
        script.told = [.session(over)]
        let partial = try await VerbRun(words, script)
        #expect(partial.status == 8 && partial.errors.contains { $0.contains("Den was lost") })
        over.members[0].error = error
        over.connection = .failed
        script.told = [.session(over)]
        #expect(try await VerbRun(words, script).status == error.code.exitStatus)
        let json = try await VerbRun(words + ["-o", "json"], script)
        #expect(json.status == 5)
        #expect(try json.decoded(SessionSnapshot.self) == over)
        // Another daemon, which knows nothing of it.
        script.told = [.snapshot(routes: RouteList(routes: [], discovery: []), sessions: [])]
        let cutShort = try await VerbRun(words, script)
        #expect(cutShort.status == 5 && cutShort.errors.contains { $0.contains("cut short") }, "\(cutShort.errors)")
    }

    @Test("R6 a pairing that one begins and another finishes")
    func pairing() async throws {
        var script = script
        script.pairing = PairingProgress(id: "pr-1", device: "TV", kind: .pin, state: .waiting, prompt: "Look at TV")
        let begun = try await VerbRun(["pair", "start", "TV"], script)
        #expect(begun.output == ["pr-1"] && begun.errors[0] == "Look at TV")
        #expect(begun.errors[1].contains("router pair finish pr-1"))
        script.codes = [.success(PairingProgress(id: "pr-1", device: "TV", kind: .pin, state: .done, prompt: "Paired"))]
        let done = try await VerbRun(["pair", "finish", "pr-1", " 1234 "], script)
        #expect(done.output == ["TV knows this router now"] && done.router.given == ["1234"])
        script.codes = [.failure(RouterError(.authFailed, "wrong", hint: "Begin again"))]
        #expect(try await VerbRun(["pair", "finish", "pr-1", "1"], script).status == 4)
        #expect(try await VerbRun(["pair", "finish", "pr-1", "--cancel"], script).router.cancelled == 1)
        #expect(try await VerbRun(["pair", "remove", "TV"], script).status == 64)
        #expect(try await VerbRun(["pair", "remove", "TV", "--yes"], script).router.removed == ["TV"])
    }

    @Test("C5 sessions that play and those that were cut short are listed together, shown and ended")
    func sessions() async throws {
        var script = script
        script.left = [
            RejoinableSession(
                id: SessionID(rawValue: "se-9"), rooms: ["Den"], queue: script.sessions[0].queue,
                position: MediaTime(seconds: 5), playing: false)
        ]
        #expect(try await VerbRun(["session", "list", "-q"], script).output == ["se-1", "se-9"])
        #expect(
            try await VerbRun(["session", "-o", "plain"], script).output == [
                "se-1\tKitchen\tBlue\t0:10\t1/3\tplaying", "se-9\tDen\tBlue\t0:05\t1/3\twas paused",
            ])
        #expect(try await VerbRun(["session", "show"], script).output.last == "  session se-1")
        #expect(
            try await VerbRun(["session", "show", "-o", "json"], script).decoded(SessionSnapshot.self)
                == script.sessions[0])
        script.played = .success(SampleHouse.session("se-9", ["Den"]))
        #expect(try await VerbRun(["session", "join"], script).router.rejoined == [SessionID(rawValue: "se-9")])
        let ended = try await VerbRun(["session", "end", "se-9", "--forget"], script)
        #expect(ended.router.ended.map(\.0.rawValue) == ["se-9"] && ended.router.ended.map(\.1) == [.leave])
        #expect(try await VerbRun(["session", "end"], script).status == 3)
    }

    @Test("with a daemon, play returns once it plays, and a bare play goes on with what is paused")
    func play() async throws {
        var script = script
        var session = SampleHouse.session("se-3", ["Kitchen", "Den"])
        session.members[1].protocol = .cast
        script.played = .success(session)
        let run = try await VerbRun(
            ["play", "a.flac", "-r", "Kitchen", "--on", "@group:upper", "--context", "--on-failure", "retry=2"], script)
        #expect(run.output == ["Playing “Blue” by Joni in Kitchen (AirPlay 1 (RAOP)) and Den (Google Cast)"])
        let request = try #require(run.router.requests.first)
        // A group goes by its name: its trims are the router's to look up.
        #expect(request.rooms == ["Kitchen", "@group:upper"])
        #expect(request.context == true && request.failurePolicy == .retry(2))
        let wrong = try await VerbRun(["play", "a", "--on", "@group:lower"], script)
        #expect(wrong.status == 3 && wrong.router.requests.isEmpty)
        var without = script
        without.groups = [RoomGroup(name: "bare", rooms: [])]
        let bare = try await VerbRun(["play", "a", "--on", "@group:bare"], without)
        #expect(bare.status == 3 && bare.router.requests.isEmpty)
        #expect(try await VerbRun(["play", "a"], script, defaultRoom: "Den").router.requests.first?.rooms == ["Den"])
        var passed = session
        passed.queue.items[0].failure = "broken"
        script.played = .success(passed)
        let less = try await VerbRun(["play", "a"], script)
        #expect(less.status == 0 && less.output == run.output)
        #expect(less.errors.first?.contains("1 of 3 items did not play") == true, "\(less.errors)")
        session.members[1].error = RouterError(.routeLost, "gone")
        script.played = .success(session)
        let partial = try await VerbRun(["play", "a"], script)
        #expect(partial.status == 8 && partial.errors == ["Kitchen: played", "Den: failed: gone"])
        #expect(throws: (any Error).self) { try RouterCommand.parseAsRoot(["play", "a", "--saved", "b"]) }
    }

    @Test("a bare play takes up what was cut short in the room that is named, and nothing in its place")
    func playOn() async throws {
        let queue = script.sessions[0].queue
        func left(_ id: String, _ rooms: [String]) -> RejoinableSession {
            RejoinableSession(
                id: SessionID(rawValue: id), rooms: rooms, queue: queue,
                position: MediaTime(seconds: 5), playing: true)
        }
        var script = script
        script.sessions = []
        script.played = .success(SampleHouse.session("se-9", ["Den"]))
        script.left = [left("se-9", ["Den"])]
        for words in [
            [], ["-r", "den"], ["-r", "De"], ["-r", "rt-den"], ["--on", "@all"], ["--on", "@group:upper"],
        ] {
            let run = try await VerbRun(["play"] + words, script)
            #expect(run.status == 0 && run.router.rejoined.map(\.rawValue) == ["se-9"], "\(words) \(run.errors)")
        }
        for isDaemon in [true, false] {
            for words in [["-r", "Kitchen"], ["-r", "Den", "-r", "Kitchen"], ["-r", "Cellar"]] {
                let run = try await VerbRun(["play"] + words + ["-o", "json"], script, isDaemon: isDaemon)
                #expect(run.status == 3 && run.router.rejoined.isEmpty, "\(words)")
                let error = try JSONDecoder().decode(RouterError.self, from: Data(run.errors[0].utf8))
                #expect(error.code == .routeNotFound && !error.candidates.isEmpty, "\(error)")
            }
        }
        script.left.append(left("se-8", ["Kitchen", "Upstairs (Kids)"]))
        for words in [["-r", "Kitchen"], ["-r", "up"], ["-r", "Kitchen", "-r", "Upstairs"]] {
            #expect(try await VerbRun(["play"] + words, script).router.rejoined.map(\.rawValue) == ["se-8"], "\(words)")
        }
        #expect(try await VerbRun(["play", "-r", "Den", "-r", "Kitchen"], script).status == 3)
        // Also while something else plays.
        script.sessions = [SampleHouse.session("se-1", ["Kids"])]
        #expect(try await VerbRun(["play", "-r", "Den"], script).router.rejoined.map(\.rawValue) == ["se-9"])
        #expect(try await VerbRun(["play", "-r", "Cellar"], script).status == 3)
        script.sessions = []
        script.left = []
        let nothing = try await VerbRun(["play", "-r", "Kitchen", "-o", "json"], script)
        #expect(nothing.status == 64 && nothing.errors.count == 1 && nothing.errors[0].hasPrefix("{"))
    }

    @Test(
        "--timeout is the end of waiting, in this process too",
        arguments: [["play", "a"], ["play"], ["session", "join"], ["announce", "gong.wav"]], [true, false])
    func timeout(_ words: [String], isDaemon: Bool) async throws {
        var script = script
        script.sessions = []
        script.left = [
            RejoinableSession(
                id: SessionID(rawValue: "se-9"), rooms: ["Den"], queue: self.script.sessions[0].queue,
                position: MediaTime(seconds: 5), playing: false)
        ]
        script.hangs = true
        let run = try await VerbRun(words + ["--timeout", "20ms", "-o", "json"], script, isDaemon: isDaemon)
        #expect(
            run.status == 124 && run.errors.count == 1 && run.errors[0].contains("took longer than"), "\(run.errors)")
    }

    @Test("devices: one is shown with all that it can do")
    func devices() async throws {
        let shown = try await VerbRun(["devices", "show", "kitchen"], script)
        #expect(shown.output.first == "Kitchen  rt-kitchen" && shown.output.last == "  in time with others: none")
        #expect(
            try await VerbRun(["devices", "show", "Kitchen", "-o", "json"], script).decoded(Route.self)
                == SampleHouse.routes[0])
        #expect(try await VerbRun(["devices", "show", "Cellar"], script).status == 3)
        #expect(try await VerbRun(["devices", "forget", "Den"], script).status == 64)
        let forgotten = try await VerbRun(["devices", "forget", "Den", "--yes"], script)
        #expect(forgotten.router.removed == ["Den"] && forgotten.output == ["Den is forgotten"])
        for (words, fields) in [
            (["devices"], "name,busyWith,model"), (["queue", "list"], "title,failure,context"),
            (["session", "list"], "id,volume,announcement"),
        ] {
            let run = try await VerbRun(words + ["--fields", fields, "-o", "json"], self.script)
            #expect(run.status == 0, "\(words) \(run.errors)")
        }
        #expect(try await VerbRun(["queue", "list", "--fields", "failures"], self.script).status == 64)
        let listed = try await VerbRun(["devices", "--fields", "name,presence", "-o", "yaml"], script)
        #expect(listed.output.prefix(2) == ["- name: Kitchen", "  presence: present"])
        var script = script
        script.rooms[3].devices = ["Kids"]
        script.routes[2].presence = .stale
        script.routes.append(Route(id: RouteID(rawValue: "rt-attic"), name: "Attic", endpoints: []))
        let table = try await VerbRun(["devices"], script)
        #expect(
            table.output == [
                "NAME     KIND    VIA      STATE    VOLUME  ALIAS         MODEL  ADDRESS         ID",
                "Kitchen  device  AirPlay  present  40                           10.0.0.10:5000  rt-kitchen",
                "Kids     device  AirPlay  present          Upstairs, up         10.0.0.7:5000   rt-kids",
                "Den      device  AirPlay  stale                                 10.0.0.6:5000   rt-den",
            ])
        #expect(table.errors == ["1 hidden: Attic (it names no way to play); --all shows it"])
        #expect(try await VerbRun(["devices", "--all", "-q"], script).output.last == "rt-attic")
    }
}
