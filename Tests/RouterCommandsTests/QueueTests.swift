import ArgumentParser
import Foundation
import RouteModel
import Testing

@testable import RouterCommands

@Suite("CLI queue: items by place, id and title, and every change of them")
struct QueueTests {
    private static let session = SampleHouse.session("se-1", ["Kitchen"])
    private var queue: QueueSnapshot { Self.session.queue }

    private func script(_ after: Int = 3) -> ScriptedRouter.Script {
        var script = SampleHouse.script([Self.session])
        script.edited = .success(SampleHouse.session("se-1", ["Kitchen"], items: after).queue)
        return script
    }

    private static func id(_ number: Int) -> ItemID { ItemID(rawValue: "ITEM0\(number)") }

    @Test(
        "a change goes to the session with the version that was seen, where it speaks of items that were",
        arguments: [
            (["add", "a.flac", "b/"], QueueEdit.append(["a.flac", "b/"]), nil),
            (["add", "a", "--replace"], .replaceUpcoming(["a"]), nil),
            (["add", "a", "--before", "2"], .insert(["a"], before: id(2)), 1), (["next", "a"], .playNext(["a"]), nil),
            (["add", "a", "--no-picture"], .append(["a"], settings: QueueItemSettings(externalPlayback: false)), nil),
            (
                ["add", "a", "--picture", "--replace"],
                .replaceUpcoming(["a"], settings: QueueItemSettings(externalPlayback: true)), nil
            ),
            (
                ["add", "a", "--before", "2", "--no-picture"],
                .insert(["a"], before: id(2), settings: QueueItemSettings(externalPlayback: false)), 1
            ),
            (["next", "a", "--picture"], .playNext(["a"], settings: QueueItemSettings(externalPlayback: true)), nil),
            (["move", "3", "--before", "current"], .move([id(3)], before: id(1)), 1),
            (["move", "1-2", "--last"], .move([id(1), id(2)], before: nil), 1),
            (["remove", "ITEM02", "red"], .remove([id(2), id(3)]), 1), (["remove", "last"], .remove([id(3)]), 1),
            (["clear"], .clearUpcoming, nil), (["clear", "--all", "--yes"], .clear, nil), (["undo"], .undo, nil),
            (["policy", "retry=3"], .failurePolicy(.retry(3)), nil), (["policy", "stop"], .failurePolicy(.stop), nil),
        ] as [([String], QueueEdit, Int?)])
    func edits(_ words: [String], _ edit: QueueEdit, _ version: Int?) async throws {
        let run = try await VerbRun(["queue"] + words, script())
        #expect(run.status == 0, "\(run.errors)")
        let folder = FileManager.default.currentDirectoryPath
        #expect(
            run.router.edits
                == [.init(edit: edit, session: SessionID(rawValue: "se-1"), version: version, folder: folder)])
        #expect(run.output.count == 1)
        let json = try await VerbRun(["queue"] + words + ["-o", "json"], script())
        #expect(try json.decoded(QueueSnapshot.self) == script().edited.get())
    }

    @Test("an empty word is no item, not even the only one")
    func noWord() throws {
        let one = SampleHouse.session("se-1", ["Kitchen"], items: 1).queue
        #expect(throws: UsageError.self) { try QueuePlace(queue: one).items([""]) }
        #expect(throws: UsageError.self) { try QueuePlace(queue: one).item("") }
    }

    @Test("what was added is counted")
    func counted() async throws {
        #expect(
            try await VerbRun(["queue", "add", "x"], script(5)).output == ["Added 2 items to the queue of Kitchen"])
        #expect(try await VerbRun(["queue", "next", "x"], script(4)).output == ["1 item next in Kitchen"])
        #expect(
            try await VerbRun(["queue", "add", "x", "--replace"], script(5)).output
                == ["Put 2 items in place of what was to come"])
    }

    @Test(
        "words that mean no item, or several",
        arguments: [
            ("0", 3, "items 1 to 3"), ("4", 3, "items 1 to 3"), ("2-9", 3, "items 1 to 3"),
            ("\(Int.min)", 3, "items 1 to 3"), ("\(Int.max)", 3, "items 1 to 3"), ("3-1", 64, "backwards"),
            ("Bleu", 3, "no item"), ("nothing", 3, "no item"),
        ])
    func noItem(_ word: String, _ status: Int32, _ words: String) async throws {
        let run = try await VerbRun(["queue", "remove", "--", word], script())
        #expect(run.status == status && run.router.edits.isEmpty)
        #expect(run.errors[0].contains(words), "\(run.errors)")
        #expect(run.errors.last?.contains("hint:") == true)
    }

    @Test("titles that begin alike are told, and an item is not moved before itself")
    func alike() async throws {
        var script = script()
        script.sessions[0].queue.items[1].metadata.title = "Blue in Green"
        let run = try await VerbRun(["queue", "remove", "blu"], script)
        #expect(run.status == 3 && run.errors.contains { $0.contains("one of: Blue, Blue in Green") }, "\(run.errors)")
        #expect(try await VerbRun(["queue", "move", "2-3", "--before", "3"], script).status == 64)
    }

    @Test("an item whose title has been learnt is found by the name of its file still")
    func byFile() throws {
        var queue = SampleHouse.session("se-1", ["Kitchen"], items: 2).queue
        queue.items[1].source = .file(path: "/music/03-foo.flac")
        queue.items[1].metadata.title = "Foo"
        #expect(try QueuePlace(queue: queue).items(["03-f"]) == [queue.items[1].id])
        #expect(try QueuePlace(queue: queue).items(["foo"]) == [queue.items[1].id])
    }

    @Test("a conflict is told as the router tells it")
    func conflict() async throws {
        var script = script()
        script.edited = .failure(RouterError(.queueConflict, "the queue has changed", hint: "Look again"))
        let run = try await VerbRun(["queue", "remove", "1"], script)
        #expect(run.status == 1 && run.errors == ["error: the queue has changed", "  hint: Look again"])
    }

    @Test("the list marks what was played, what plays and what failed; json is the queue itself")
    func list() async throws {
        var script = script()
        script.sessions[0].queue.current = Self.id(2)
        script.sessions[0].queue.items[2].failure = "broken"
        #expect(
            try await VerbRun(["queue"], script).output == [
                "NO     TITLE  ARTIST  LENGTH  ID      NOTE", "1   ✓  Blue   Joni    3:20    ITEM01",
                "2   ▶  Green  Joni    3:20    ITEM02", "3   ✗  Red    Joni    3:20    ITEM03  broken",
            ])
        let json = try await VerbRun(["queue", "list", "-o", "json"], script)
        #expect(try json.decoded(QueueSnapshot.self) == script.sessions[0].queue)
        #expect(try await VerbRun(["queue", "list", "-q"], script).output == ["ITEM01", "ITEM02", "ITEM03"])
        #expect(
            try await VerbRun(["queue", "list", "--format", "{{number}} {{mark}} {{duration|time}}"], script).output
                == ["1 played 3:20", "2 current 3:20", "3 failed 3:20"])
        let lines = try await VerbRun(["queue", "list", "-o", "ndjson"], script)
        #expect(lines.output.count == 3)
    }

    @Test("a queue is there after its end, and an empty one says so")
    func stopped() async throws {
        var script = SampleHouse.script([SampleHouse.session("se-1", ["Kitchen"], media: .stopped)])
        #expect(try await VerbRun(["queue", "-q"], script).output.count == 3)
        script.sessions[0].queue.items = []
        let empty = try await VerbRun(["queue"], script)
        #expect(empty.status == 0 && empty.output.isEmpty && empty.errors[0] == "The queue is empty.")
    }

    @Test("with nothing playing, the last queue of each room is meant, however the sessions are called")
    func lastOfARoom() async throws {
        func over(_ id: String, _ rooms: [String], _ items: Int) -> SessionSnapshot {
            var session = SampleHouse.session(id, rooms, media: .stopped, items: items)
            session.connection = .ended
            return session
        }
        func record(_ id: Int, _ session: SessionSnapshot) -> PlayRecord {
            PlayRecord(
                id: id, session: session.id, item: session.queue.items[0], rooms: session.roomNames,
                started: Double(id))
        }
        let (old, new, den) = (over("se-1", ["Kitchen"], 1), over("se-2", ["Kitchen"], 2), over("se-0", ["Den"], 3))
        var script = SampleHouse.script([old, new])
        script.history = [record(3, new), record(1, old)]
        #expect(try await VerbRun(["queue", "-q"], script).output.count == 2)
        script.history = [record(3, old), record(1, new)]
        #expect(try await VerbRun(["queue", "-q"], script).output.count == 1)
        script.sessions = [den, old, new]
        script.history.append(record(2, den))
        #expect(try await VerbRun(["queue", "-q", "-r", "Kitchen"], script).output.count == 1)
        #expect(try await VerbRun(["queue", "-q", "-r", "Den"], script).output.count == 3)
        let either = try await VerbRun(["queue"], script)
        #expect(either.status == 3 && either.errors[0].contains("nothing is playing"), "\(either.errors)")
        #expect(either.errors.contains { $0.contains("Kitchen") && $0.contains("Den") })
        let saved = try await VerbRun(["queue", "save", "Sunday", "-r", "Kitchen"], script)
        #expect(saved.output == ["Kept 1 item as “Sunday”"])
        for words in [["jump", "1"], ["add", "x"], ["remove", "1"], ["undo"], ["add", "x", "-r", "Den"]] {
            let run = try await VerbRun(["queue"] + words, script)
            #expect(run.status != 0 && run.router.edits.isEmpty && run.router.commands.isEmpty)
            #expect(run.errors[0].contains("over") && run.errors[1].contains("router play"), "\(run.errors)")
        }
        // One that has stopped, and is there, is changed.
        var there = den
        there.connection = .connected
        script.sessions = [old, there]
        script.edited = .success(there.queue)
        #expect(try await VerbRun(["queue", "undo"], script).router.edits.map(\.session) == [there.id])
    }

    @Test("what cannot be undone asks a person, and needs --yes where there is none")
    func asks() async throws {
        let none = try await VerbRun(["queue", "clear", "--all"], script())
        #expect(none.status == 64 && none.router.edits.isEmpty && none.errors.contains { $0.contains("--yes") })
        let no = try await VerbRun(["queue", "clear", "--all"], script(), answer: false)
        #expect(no.status == 130 && no.router.edits.isEmpty)
        #expect(try await VerbRun(["queue", "clear", "--all"], script(), answer: true).router.edits.count == 1)
    }

    @Test("queues are kept, listed, played and forgotten by name")
    func saved() async throws {
        var script = script()
        let kept = try await VerbRun(["queue", "save", "Sunday"], script)
        #expect(kept.output == ["Kept 3 items as “Sunday”"])
        script.saved = [SavedQueue(name: "Sunday", items: Array(queue.items), saved: 0)]
        #expect(try await VerbRun(["queue", "save", "Sunday"], script).status == 64)
        #expect(
            try await VerbRun(["queue", "saved", "-o", "plain"], script).output == ["Sunday\t3\t10:00\t1970-01-01"])
        script.played = .success(Self.session)
        let played = try await VerbRun(["queue", "load", "sunday", "--shuffle"], script)
        #expect(
            played.router.requests.map(\.savedQueue) == ["Sunday"] && played.router.requests[0].rooms == ["Kitchen"])
        #expect(
            played.router.requests[0].shuffle
                && played.output == ["Playing “Blue” by Joni in Kitchen (AirPlay 1 (RAOP))"])
        let slip = try await VerbRun(["queue", "load", "Sundae"], script)
        #expect(slip.status == 3 && slip.errors[0].contains("did you mean “Sunday”?"))
        #expect(
            try await VerbRun(["queue", "saved", "--remove", "Sunday", "--yes"], script).router.removed == ["Sunday"])
    }

    @Test("history is the latest first, of some rooms only where they are named")
    func history() async throws {
        var script = script()
        script.history = [
            PlayRecord(
                id: 2, session: Self.session.id, item: queue.items[1], rooms: ["Den"], started: 60, stopped: 70,
                reason: .finished, furthest: MediaTime(seconds: 9)),
            PlayRecord(id: 1, session: Self.session.id, item: queue.items[0], rooms: ["Kitchen"], started: 0),
        ]
        let all = try await VerbRun(["queue", "history", "-o", "plain"], script)
        #expect(
            all.output == [
                "\(LocalTime.minute(60))\tGreen\tJoni\t0:09\tfinished\tDen",
                "\(LocalTime.minute(0))\tBlue\tJoni\t0:00\tplaying\tKitchen",
            ])
        #expect(
            try await VerbRun(["queue", "history", "-r", "Kitchen", "--format", "{{title}}"], script).output == ["Blue"]
        )
        #expect(try await VerbRun(["queue", "history", "--limit", "1", "-q"], script).output == ["ITEM02"])
    }

    @Test("standard input cannot be queued")
    func standardInput() {
        for words in [
            ["queue", "add", "-"], ["queue", "next", "pcm://-?rate=48000"], ["queue", "move", "1"], ["queue", "add"],
        ] {
            #expect(throws: (any Error).self) { try RouterCommand.parseAsRoot(words) }
        }
    }
}
