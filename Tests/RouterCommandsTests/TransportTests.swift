import ArgumentParser
import RouteModel
import Testing

@testable import RouterCommands

@Suite("CLI transport: pause, seek, volume and the like")
struct TransportTests {
    private let two = [SampleHouse.session("se-1", ["Kitchen"]), SampleHouse.session("se-2", ["Den", "Kids"])]

    @Test(
        "each verb is one command to the only session, by the command line",
        arguments: [
            (["pause"], RemoteCommand.pause), (["toggle"], .toggle), (["stop"], .stop), (["next"], .next),
            (["prev"], .previous), (["previous"], .previous), (["seek", "1:23"], .seek(to: MediaTime(seconds: 83))),
            (["seek", "+30"], .seekBy(MediaTime(seconds: 30))), (["seek", "-10s"], .seekBy(MediaTime(seconds: -10))),
            (["seek", "+0"], .seekBy(.zero)), (["seek", "+0.0s"], .seekBy(.zero)),
            (["seek", "50%"], .seek(to: MediaTime(seconds: 100))),
            (["volume", "45"], .setVolume(.init(0.45), room: nil)),
            (["volume", "-5"], .stepVolume(-0.05, room: nil)), (["volume", "+5"], .stepVolume(0.05, room: nil)),
            (["volume", "mute"], .mute(true, room: nil)), (["volume", "unmute"], .mute(false, room: nil)),
            (["queue", "shuffle"], .toggleShuffle), (["queue", "shuffle", "off"], .shuffle(false)),
            (["queue", "repeat", "all"], .repeatMode(.all)),
            (["queue", "jump", "2"], .jump(.init(rawValue: "ITEM02"))),
        ])
    func commands(_ words: [String], _ command: RemoteCommand) async throws {
        let run = try await VerbRun(words, SampleHouse.script())
        #expect(run.status == 0, "\(run.errors)")
        #expect(
            run.router.commands
                == [.init(command: command, session: SessionID(rawValue: "se-1"), origin: .cli)])
        #expect(run.output.count == 1 && run.output[0].contains("Kitchen"), "\(run.output)")
    }

    @Test(
        "C7 --if-item and --within go with the command",
        arguments: [
            (["pause", "--if-item", "2"], "ITEM02", nil), (["stop", "--if-item", "current"], "ITEM01", nil),
            (["next", "--if-item", "Blue", "--within", "1.5"], "ITEM01", 1.5),
            (["toggle", "--within", "500ms"], nil, 0.5), (["prev", "--within", "10m"], nil, 600),
            // What is in the queue no more does not play.
            (["seek", "1:23", "--if-item", "01arz3ndektsv4rrffq69g5fav"], "01ARZ3NDEKTSV4RRFFQ69G5FAV", nil),
        ] as [([String], String?, Double?)])
    func terms(_ words: [String], _ item: String?, _ seconds: Double?) async throws {
        let run = try await VerbRun(words, SampleHouse.script())
        #expect(run.status == 0, "\(run.errors)")
        let terms = CommandTerms(
            expected: item.map(ItemID.init(rawValue:)), within: seconds.map { MediaTime(seconds: $0) })
        #expect(run.router.commands.map(\.terms) == [terms])
    }

    @Test("C7 another item, and a time that was too short, are told as such")
    func termsFailed() async throws {
        var script = SampleHouse.script()
        script.outcome = .success(.superseded)
        let other = try await VerbRun(["pause", "--if-item", "1", "-o", "json"], script)
        #expect(other.status == 1)
        #expect(other.errors.contains { $0.contains("commandSuperseded") }, "\(other.errors)")
        #expect(
            try await VerbRun(["pause", "--if-item", "1"], script).errors.contains { $0.contains("another item plays") }
        )
        script.outcome = .success(.timedOut)
        let late = try await VerbRun(["pause", "--within", "2"], script)
        #expect(late.status == 124 && late.errors.contains { $0.contains("could not be begun") })
        script.outcome = .success(.unverified)
        let unseen = try await VerbRun(["pause", "--within", "2"], script)
        #expect(unseen.status == 0)
        #expect(try await VerbRun(["pause", "--within", "2", "--strict"], script).status == 124)
        for wrong in [["pause", "--within", "0"], ["pause", "--within", "11m"], ["pause", "--if-item", ""]] {
            #expect(throws: (any Error).self, "\(wrong)") { try RouterCommand.parseAsRoot(wrong) }
        }
        let unknown = try await VerbRun(["pause", "--if-item", "Nothing"], SampleHouse.script())
        #expect(unknown.status == 3 && unknown.router.commands.isEmpty)
    }

    @Test("a person is told what became of it in a sentence, a program in a document")
    func output() async throws {
        #expect(try await VerbRun(["pause"], SampleHouse.script()).output == ["Paused “Blue” in Kitchen"])
        let json = try await VerbRun(["pause", "-o", "json"], SampleHouse.script())
        let reports = try json.decoded([OutputValue].self)
        #expect(reports.count == 1 && reports[0].value(at: ["verified"]) == .boolean(true))
        #expect(reports[0].value(at: ["outcome"]) == .text("succeeded"))
        #expect(try await VerbRun(["pause", "-q"], SampleHouse.script()).output == ["se-1"])
        #expect(
            try await VerbRun(["pause", "-o", "plain"], SampleHouse.script()).output
                == ["Kitchen\tpause\tsucceeded\tplaying\t40\tBlue\tse-1"])
        #expect(
            try await VerbRun(["volume", "30", "--format", "{{rooms}}: {{outcome|upper}}"], SampleHouse.script()).output
                == ["Kitchen: SUCCEEDED"])
    }

    @Test("with two sessions and none named it is an error with both, and nothing is done")
    func ambiguous() async throws {
        let run = try await VerbRun(["pause"], SampleHouse.script(two))
        #expect(run.status == 3 && run.router.commands.isEmpty && run.output.isEmpty)
        #expect(run.errors.contains { $0.contains("Kitchen, Den and Kids") }, "\(run.errors)")
        #expect(run.errors.contains { $0.contains("hint:") && $0.contains("--on @active") })
    }

    @Test(
        "a selector is that room or an error; the default room is taken where nothing is said",
        arguments: [
            (["-r", "Kitchen"], ["se-1"]), (["-r", "den"], ["se-2"]), (["-r", "De"], ["se-2"]),
            (["-r", "rt-kids"], ["se-2"]), (["-r", "se-2"], ["se-2"]), (["-r", "up"], ["se-2"]),
            (["--on", "@active"], ["se-1", "se-2"]), (["--on", "@all"], ["se-1", "se-2"]),
            (["--on", "@group:upper"], ["se-2"]), (["--on", "@default"], ["se-2"]), ([], ["se-2"]),
            (["-r", "Kitchen", "-r", "Den", "-r", "Kids"], ["se-1", "se-2"]),
        ])
    func selectors(_ words: [String], _ sessions: [String]) async throws {
        let run = try await VerbRun(["pause"] + words, SampleHouse.script(two), defaultRoom: "Den")
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.router.commands.map { $0.session?.rawValue } == sessions)
    }

    @Test(
        "what is not there, or could be two, is told with what is near",
        arguments: [
            ("Kitchn", "did you mean “Kitchen”?"), ("Ki", "could be"), ("Cellar", "no room or device called"),
            ("@group:uper", "did you mean “upper”?"), ("@default", "no default room"),
        ])
    func notFound(_ word: String, _ words: String) async throws {
        let run = try await VerbRun(["pause", "-r", word], SampleHouse.script(two))
        #expect(run.status == 3 && run.router.commands.isEmpty)
        #expect(run.errors.joined(separator: "\n").contains(words), "\(run.errors)")
        #expect(run.errors.last?.contains("hint:") == true)
        let json = try await VerbRun(["pause", "-r", word, "-o", "json"], SampleHouse.script(two))
        #expect(json.output.isEmpty && json.errors.count == 1 && json.errors[0].hasPrefix("{"))
    }

    @Test("where a room is silent another one's session is not taken")
    func silentRoom() async throws {
        let run = try await VerbRun(["pause", "-r", "Den"], SampleHouse.script())
        #expect(run.status == 3 && run.router.commands.isEmpty)
        #expect(run.errors[0].contains("nothing is playing in Den"))
        let nothing = try await VerbRun(["pause"], SampleHouse.script([]))
        #expect(nothing.status == 3 && nothing.errors[0].contains("nothing is playing"))
        let here = try await VerbRun(["pause"], SampleHouse.script([]), isDaemon: false)
        #expect(here.errors.contains { $0.contains("router daemon run") })
    }

    @Test(
        "each way that a command can end has its exit status and a hint",
        arguments: [
            (CommandOutcome.superseded, Int32(1)), (.noSuchContent, 6), (.noActionableItem, 6), (.deviceNotFound, 3),
            (.unsupported, 6), (.denied, 6), (.timedOut, 5), (.failed(RouterError(.routeBusy, "busy", hint: "x")), 1),
        ])
    func outcomes(_ outcome: CommandOutcome, _ status: Int32) async throws {
        var script = SampleHouse.script()
        script.outcome = .success(outcome)
        let run = try await VerbRun(["next"], script)
        #expect(run.status == status && run.output.isEmpty)
        #expect(run.errors.last?.contains("hint:") == true, "\(run.errors)")
    }

    @Test("to pause what is paused already is done")
    func already() async throws {
        var script = SampleHouse.script([SampleHouse.session("se-1", ["Kitchen"], media: .paused)])
        script.outcome = .success(.noActionableItem)
        #expect(try await VerbRun(["pause"], script).status == 0)
        #expect(try await VerbRun(["next"], script).status == 6)
    }

    @Test("what was only taken is waited for; seen it is done, unseen it is said, and --strict makes it 124")
    func observed() async throws {
        var script = SampleHouse.script()
        script.outcome = .success(.accepted)
        script.effect = { _, session in session.media = .paused }
        let seen = try await VerbRun(["pause", "-o", "json"], script)
        #expect(seen.status == 0 && seen.text.contains(#""verified" : true"#))
        script.effect = { _, _ in }
        let unseen = try await VerbRun(["pause", "--timeout", "20ms"], script)
        #expect(unseen.status == 0 && unseen.errors.contains { $0.contains("does not show yet") }, "\(unseen.errors)")
        #expect(try await VerbRun(["pause", "--timeout", "20ms", "--strict"], script).status == 124)
        let json = try await VerbRun(["pause", "--no-wait", "-o", "json"], script)
        #expect(json.status == 0 && json.text.contains(#""verified" : false"#))
    }

    @Test("one session failed and another did not: 8; all of them: the first one's status")
    func partial() async throws {
        var script = SampleHouse.script(two)
        script.failing = [SessionID(rawValue: "se-2")]
        let some = try await VerbRun(["pause", "--on", "@all"], script)
        #expect(some.status == 8 && some.output == ["Paused “Blue” in Kitchen"])
        #expect(some.errors.first?.contains("gone") == true)
        script.failing = [SessionID(rawValue: "se-1"), SessionID(rawValue: "se-2")]
        #expect(try await VerbRun(["pause", "--on", "@all"], script).status == 5)
    }

    @Test(
        "rooms that are only some of a session leave it, and the others play on; every other command is all of theirs")
    func someRooms() async throws {
        let script = SampleHouse.script(two)
        let stopped = try await VerbRun(["stop", "-r", "Den"], script)
        #expect(stopped.status == 0 && stopped.output == ["Stopped “Blue” in Den; it plays on in Kids"])
        #expect(stopped.router.commands.isEmpty && stopped.router.left.map(\.rooms) == [["Den"]])
        #expect(stopped.router.left.map(\.session) == [two[1].id])
        let json = try await VerbRun(["stop", "-r", "Den", "-o", "json"], script).decoded([OutputValue].self)
        #expect(json[0].value(at: ["rooms"]) == .list([.text("Den")]))
        #expect(json[0].value(at: ["playsOn"]) == .list([.text("Kids")]))
        #expect(json[0].value(at: ["state"]) == .text("stopped"))
        for words in [["-r", "se-2"], ["-r", "Den", "-r", "Kids"], ["--on", "@group:upper"]] {
            let whole = try await VerbRun(["stop"] + words, script)
            #expect(whole.router.left.isEmpty && whole.router.commands.map(\.command) == [.stop], "\(words)")
            #expect(whole.output == ["Stopped “Blue” in Den and Kids"])
        }
        // A room that is lost does not play on.
        var lost = script
        lost.sessions[1].members[1].error = RouterError(.routeLost, "gone")
        #expect(try await VerbRun(["stop", "-r", "Den"], lost).router.commands.map(\.command) == [.stop])
        // A room of two devices is called by its name, one of them by its own.
        var split = SampleHouse.session("se-1", ["Den", "Hall (A)", "Hall (B)"])
        for index in 1...2 { split.members[index].room = "Hall" }
        let hall = try await VerbRun(["stop", "-r", "Hall"], SampleHouse.script([split]))
        #expect(hall.router.left.map(\.rooms) == [["Hall"]])
        let device = try await VerbRun(["stop", "-r", "Hall (A)"], SampleHouse.script([split]))
        #expect(device.router.left.map(\.rooms) == [["Hall (A)"]])
        #expect(device.output == ["Stopped “Blue” in Hall (A); it plays on in Den and Hall (B)"])
        var failing = script
        failing.failing = [two[1].id]
        #expect(try await VerbRun(["stop", "-r", "Den", "-r", "Kitchen"], failing).status == 8)
        let unless = try await VerbRun(["stop", "-r", "Den", "--if-item", "1"], script)
        #expect(unless.status == 64 && unless.router.left.isEmpty && unless.errors[0].contains("Kids would play on"))
        #expect(try await VerbRun(["pause", "-r", "Den", "--if-item", "1-2"], script).status == 64)
        let paused = try await VerbRun(["pause", "-r", "Den"], script)
        #expect(paused.output == ["Paused “Blue” in Den and Kids"])
        let next = try await VerbRun(["next", "-r", "Den", "-o", "json"], script).decoded([OutputValue].self)
        #expect(next[0].value(at: ["rooms"]) == .list([.text("Den"), .text("Kids")]))
        #expect(try await VerbRun(["volume", "20", "-r", "Den"], script).output == ["Den is at 40 %"])
    }

    @Test("a place that one of several sessions does not have is that one's failure")
    func partialSeek() async throws {
        var script = SampleHouse.script(two)
        script.sessions[1].anchor?.duration = nil
        script.sessions[1].queue.items[0].metadata.duration = nil
        let run = try await VerbRun(["seek", "50%", "--on", "@active"], script)
        #expect(run.status == 8 && run.output.count == 1 && run.output[0].contains("Kitchen"), "\(run.output)")
        #expect(run.errors[0].contains("length of what plays is not known"))
        #expect(run.router.commands.map(\.session) == [two[0].id])
    }

    @Test("of several rooms together the master is set, one named by itself, and a fade takes its time")
    func volumes() async throws {
        let script = SampleHouse.script([two[1]])
        #expect(
            try await VerbRun(["volume", "20"], script).router.commands.map(\.command)
                == [.setVolume(VolumePosition(0.2), room: nil)])
        #expect(
            try await VerbRun(["volume", "20", "-r", "Den"], script).router.commands.map(\.command)
                == [.setVolume(VolumePosition(0.2), room: "Den")])
        #expect(
            try await VerbRun(["volume", "20", "-r", "Den", "-r", "Kids"], script).router.commands.map(\.command)
                == [.setVolume(VolumePosition(0.2), room: nil)])
        #expect(
            try await VerbRun(["volume", "0", "--fade", "30s"], script).router.commands.map(\.command)
                == [.fade(to: VolumePosition(0), over: MediaTime(seconds: 30), room: nil)])
        let linked = try await VerbRun(["volume", "link", "-r", "Den", "--no-wait"], script)
        #expect(linked.router.commands.map(\.command) == [.linkVolumes(true)], "it is no one room's")
        #expect(linked.output == ["Who turns one device now turns all that play together"])
        #expect(
            try await VerbRun(["volume", "unlink"], script).router.commands.map(\.command) == [.linkVolumes(false)])
        let shown = try await VerbRun(["volume", "-o", "plain"], script)
        #expect(shown.output == ["Den\t40\t\t\t", "Kids\t40\t\t\t"] && shown.router.commands.isEmpty)
    }

    @Test(
        "what is no place and no volume exits 64, before anything is asked",
        arguments: [
            (["seek", "1:99"], "no place"), (["seek", "-"], "no place"), (["seek", "101%"], "no place"),
            (["volume", "101"], "no volume"), (["volume", "loud"], "no volume"), (["volume", "+"], "no volume"),
            (["volume", "+5", "--fade", "3s"], "--fade needs a level"),
            (["volume", "linked"], "no volume"), (["volume", "link", "--fade", "3s"], "--fade needs a level"),
            (["volume", "5", "--fade", "2h"], "an hour"),
            (["pause", "--on", "@both"], "no selector"), (["pause", "-r", ""], "a name"),
            (["pause", "--wait", "ended", "--no-wait"], "opposites"), (["pause", "--timeout", "0s"], "timeout"),
            (["pause", "--format", "{{title"], "never closed"),
            (["pause", "--format", "{{title|tiem}}"], "did you mean “time”"),
            (["pause", "--fields", ","], "names no field"), (["pause", "--fields", "a", "--format", "b"], "not both"),
            (["announce", "a", "--no-wait"], "--no-wait is not"),
            (["transfer", "Den", "--no-wait"], "--no-wait is not"),
            (["play", "a", "--no-wait"], "--no-wait is not"), (["session", "join", "--no-wait"], "--no-wait is not"),
            (["pause", "--host", "a b"], "no host"), (["queue", "shuffle", "maybe"], "toggle"),
            (["watch", "--events", "notise"], "did you mean “notice”"),
        ])
    func wrong(_ words: [String], _ said: String) throws {
        let error = try #require(throws: (any Error).self) {
            try RouterCommand.parseAsRoot(CommandWords.complete(words))
        }
        #expect(RouterCommand.exitCode(for: error).rawValue == 64)
        #expect(RouterCommand.fullMessage(for: error).contains(said), "\(RouterCommand.fullMessage(for: error))")
    }

    @Test("a part of what has no known length is no place to go to")
    func liveSeek() async throws {
        var session = SampleHouse.session("se-1", ["Kitchen"])
        session.anchor?.duration = nil
        session.queue.items[0].metadata.duration = nil
        let run = try await VerbRun(["seek", "50%"], SampleHouse.script([session]))
        #expect(run.status == 6 && run.errors.last?.contains("hint:") == true)
    }

    @Test("status is two lines for each session, or says that nothing plays")
    func status() async throws {
        let run = try await VerbRun(["status"], SampleHouse.script(two))
        #expect(
            run.output == [
                "▶ Blue – Joni", "  Kitchen · 0:10/3:20 · volume 40 · next “Green”", "▶ Blue – Joni",
                "  Den and Kids · 0:10/3:20 · volume 40 · next “Green”",
            ])
        #expect(try await VerbRun(["status"], SampleHouse.script([])).output[0].hasPrefix("Nothing is playing"))
        #expect(
            try await VerbRun(["status", "-o", "json"], SampleHouse.script(two)).decoded([SessionSnapshot].self) == two)
        #expect(
            try await VerbRun(["status", "--format", "{{title}} {{position|time}} {{volume}}"], SampleHouse.script())
                .output
                == ["Blue 0:10 40"])
        #expect(
            try await VerbRun(["status", "--fields", "rooms,state", "-o", "plain"], SampleHouse.script(two)).output
                == ["Kitchen\tplaying", "Den, Kids\tplaying"])
        let unknown = try await VerbRun(["status", "--fields", "titel"], SampleHouse.script())
        #expect(unknown.status == 64 && unknown.errors.contains { $0.contains("Did you mean “title”?") })
    }

    @Test("watch: the full state first, then what changes, a second snapshot only after “reconnected”")
    func watch() async throws {
        var script = SampleHouse.script()
        let list = RouteList(routes: [], discovery: [])
        script.told = [
            .session(script.sessions[0]), .notice(Notice(.info, "careful")), .snapshot(routes: list, sessions: []),
        ]
        let run = try await VerbRun(["watch", "--count", "5"], script)
        let names = ["snapshot", "session.changed", "notice", "reconnected", "snapshot"]
        #expect(try run.output.map(VerbRun.event) == names.map { .text($0) })
        let some = try await VerbRun(["watch", "--count", "2", "--events", "notice,snapshot"], script)
        #expect(try some.output.map(VerbRun.event) == [.text("snapshot"), .text("notice")])
        let template = try await VerbRun(["watch", "--count", "2", "--format", "{{sequence}} {{event}}"], script)
        #expect(template.output == ["0 snapshot", "1 session.changed"])
    }

    @Test("--wait stays until what it names is so")
    func wait() throws {
        let before = SampleHouse.session("se-1", ["Kitchen"])
        var now = before
        #expect(SessionWaiter.isMet(.playing, before: before, now: now))
        #expect(
            !SessionWaiter.isMet(.paused, before: before, now: now)
                && !SessionWaiter.isMet(.item, before: before, now: now))
        now.queue.current = now.queue.items[1].id
        #expect(SessionWaiter.isMet(.item, before: before, now: now))
        // What has stopped is on its way: how it ended is known at its end.
        now.media = .stopped
        #expect(!SessionWaiter.isMet(.ended, before: before, now: now))
        now.connection = .ended
        #expect(
            SessionWaiter.isMet(.ended, before: before, now: now)
                && SessionWaiter.isMet(.ended, before: before, now: nil))
        #expect(!SessionWaiter.isMet(.paused, before: before, now: nil))
        for words in [["pause", "--wait"], ["pause", "--wait", "-r", "Kitchen"], ["pause", "--wait=observed"]] {
            let command = try RouterCommand.parseAsRoot(CommandWords.complete(words)) as? PauseCommand
            #expect(command?.options.wait == .observed)
        }
    }
}
