import ArgumentParser
import Foundation
import RouteModel
import Synchronization
import Testing

@testable import RouterCommands

@Suite("What is typed: dashes, times, templates, settings")
struct CommandWordsTests {
    @Test(
        "values that begin with a dash are values where a verb takes them, and what is no number stays a flag",
        arguments: [
            (["volume", "-5"], ["volume", "−5"]), (["seek", "-10s", "-r", "Den"], ["seek", "−10s", "-r", "Den"]),
            (["config", "set", "media.port", "-1"], ["config", "set", "media.port", "−1"]),
            (["volume", "-q"], ["volume", "-q"]), (["play", "-5"], ["play", "-5"]),
            (["volume", "--", "-5"], ["volume", "--", "-5"]), (["pause", "--wait"], ["pause", "--wait=observed"]),
            (["pause", "--wait", "paused"], ["pause", "--wait", "paused"]), ([], []),
            (["-o", "json", "status"], ["status", "-o", "json"]),
            (
                ["-qv", "--config", "/x", "queue", "move", "3", "--last"],
                ["queue", "move", "3", "--last", "-qv", "--config", "/x"]
            ),
            (["--output=json", "play", "--", "-x"], ["play", "--output=json", "--", "-x"]),
            (["--wait", "play", "a"], ["play", "a", "--wait=observed"]),
            (["--wait", "ended", "play", "a"], ["play", "a", "--wait", "ended"]),
            (["--yes", "simulate", "--cast"], ["simulate", "--cast", "Simulated Cast", "--yes"]),
            (["-o", "json"], ["-o", "json"]), (["-o"], ["-o"]), (["-r", "Den", "status"], ["status", "-r", "Den"]),
            (["--room=Den", "-o", "json", "queue", "next", "a"], ["queue", "next", "a", "--room=Den", "-o", "json"]),
            (["--on", "@all", "queue"], ["queue", "--on", "@all"]), (["-r", "Den"], ["-r", "Den"]),
            (["-r", "Den", "pley"], ["pley", "-r", "Den"]), (["-r", "Den", "rooms"], ["-r", "Den", "rooms"]),
            (["--help", "play"], ["--help", "play"]), (["--", "play"], ["--", "play"]), (["-"], ["-"]),
        ])
    func complete(_ words: [String], _ completed: [String]) {
        #expect(CommandWords.complete(words) == completed)
    }

    @Test("flags of every command are known before the verb, all of them")
    func leading() throws {
        struct Help: Decodable {
            struct Name: Decodable { var kind, name: String }
            struct Argument: Decodable {
                var kind: String
                var names: [Name]?
            }
            struct Command: Decodable {
                var commandName: String
                var arguments: [Argument]?
                var subcommands: [Command]?
            }
            var command: Command
        }
        let help = try JSONDecoder().decode(Help.self, from: Data(RouterCommand._dumpHelp().utf8))
        let config = help.command.subcommands?.first { $0.commandName == "config" }
        // It takes nothing of its own.
        let path = try #require(config?.subcommands?.first { $0.commandName == "path" }?.arguments)
        var count = 0
        for argument in path {
            for name in argument.names ?? [] where !["help", "h", "version"].contains(name.name) {
                let flag = (name.kind == "long" ? "--" : "-") + name.name
                let value = argument.kind == "option" && flag != "--wait" ? ["x"] : []
                let completed = CommandWords.complete([flag] + value + ["config", "path"])
                #expect(completed.prefix(2) == ["config", "path"], "\(flag)")
                count += 1
            }
        }
        #expect(count >= 20)
    }

    @Test("a first word that is no command is told with what is near")
    func unknown() {
        let names = RouterProgram.commandNames
        #expect(CommandWords.unknownCommand(["pley"], among: names)?.message.contains("did you mean “play”") == true)
        #expect(CommandWords.unknownCommand(["frobnicate"], among: names)?.hint != nil)
        for words in [["play"], ["previous"], ["--help"], [], ["help"]] {
            #expect(CommandWords.unknownCommand(words, among: names) == nil)
        }
    }

    @Test(
        "a wrong use is one object for programs, and words for people; it exits 64",
        arguments: [
            ["volume", "200"], ["pley"], ["-r", "Den", "session", "list"], ["-r", "Den", "rooms"],
            ["play", "--detach"],
            ["pause", "--nonsense"], ["announce"],
        ])
    func wrongUse(_ words: [String]) async throws {
        func told(_ words: [String]) async -> (text: String, isError: Bool) {
            let printed = Mutex<[(String, Int32)]>([])
            let console = Console(
                writingTo: .init(columns: 100) { text, descriptor in printed.withLock { $0.append((text, descriptor)) }
                })
            #expect(await RouterProgram.run(words, console) == 64)
            return printed.withLock { ($0.map(\.0).joined(), $0.allSatisfy { $0.1 == 2 }) }
        }
        for format in [["-o", "json"], ["--output=yaml"], ["-qo", "ndjson"]] {
            for words in [words + format, format + words] {
                let (text, isError) = await told(words)
                #expect(isError && text.split(separator: "\n").count == 1, "\(text)")
                let error = try JSONDecoder().decode(RouterError.self, from: Data(text.utf8))
                #expect(error.code.rawValue == "usage" && !error.message.isEmpty && error.hint != nil, "\(error)")
            }
        }
        let (text, isError) = await told(words)
        #expect(isError && !text.hasPrefix("{") && text.lowercased().hasPrefix("error:"), "\(text)")
    }

    @Test(
        "an empty argument is told before anything is done",
        arguments: [
            (["session", "end", ""], "an argument is empty"), ([""], "an argument is empty"),
            (["queue", "remove", "1", ""], "an argument is empty"), (["play", "--", ""], "an argument is empty"),
            (["devices", "forget", "--yes", ""], "an argument is empty"),
            (["pair", "-qy", ""], "an argument is empty"),
            (["play", "a", "--room=Den", ""], "an argument is empty"),
            (["-o", "json", "announce", ""], "an argument is empty"),
            (["pause", "-r", ""], "the name after -r is empty"), (["-r", "", "pause"], "the name after -r is empty"),
            (["pause", "--room="], "the name after --room is empty"),
            (["pause", "--on", ""], "the name after --on is empty"),
            (["config", "set", "default_room", ""], nil), (["cast", "message", "TV", "urn:x-cast:a", ""], nil),
            (["rooms", "set", "Den", "--alias", ""], nil), (["---completion", "play", "--", "room", ""], nil),
            (["play", "--", "--room="], nil), (["volume", "-5"], nil), ([], nil),
        ] as [([String], String?)])
    func emptyWords(_ words: [String], _ said: String?) {
        let error = CommandWords.emptyWord(CommandWords.complete(words))
        #expect(error?.message == said)
        #expect(error == nil || error?.hint != nil)
    }

    @Test("an empty argument exits 64, in words and as a document")
    func emptyWordEnds() async throws {
        func told(_ words: [String]) async -> String {
            let printed = Mutex<[String]>([])
            let console = Console(writingTo: .init(columns: 100) { text, _ in printed.withLock { $0.append(text) } })
            #expect(await RouterProgram.run(words, console) == 64)
            return printed.withLock { $0.joined() }
        }
        let text = await told(["volume", ""])
        #expect(text.contains("an argument is empty"), "\(text)")
        let document = await told(["volume", "", "-o", "json"])
        let error = try JSONDecoder().decode(RouterError.self, from: Data(document.utf8))
        #expect(error.code.rawValue == "usage" && error.message == "an argument is empty")
    }

    @Test(
        "lengths of time",
        arguments: [
            ("500ms", 0.5), ("10s", 10), ("2m", 120), ("1h", 3600), ("7", 7), ("1.5s", 1.5), ("0", nil), ("-1s", nil),
            ("s", nil), ("25h", nil), ("1e3", nil), ("", nil), ("10 s", nil),
        ])
    func delays(_ text: String, _ seconds: Double?) {
        #expect(Delay(argument: text)?.seconds == seconds)
    }

    @Test("a template shows fields as it says, and tells what is wrong with it")
    func templates() throws {
        let values: [String: OutputValue] = [
            "a": .number(83.4), "b": .text("x\u{1b}y"), "c": .list([.text("1"), .integer(2)]), "d": .number(0.455),
        ]
        func line(_ template: String) throws -> String {
            try OutputTemplate(template).line { values[$0] ?? .null }
        }
        #expect(try line("{{a|time}} {{ b }}|{{c}}|{{none}}|{{d|percent}}") == "1:23 x y|1, 2||46")
        #expect(try line("{{c|json}}\\t{{b|upper}}\\n") == "[\"1\",2]\tX Y\n")
        #expect(try line("no field }} {") == "no field }} {")
        for wrong in ["{{a", "{{}}", "{{a|b}}", "{{ |time}}"] {
            #expect(throws: OutputTemplate.Problem.self) { try OutputTemplate(wrong) }
        }
    }

    @Test(
        "YAML that every reader takes for what it is",
        arguments: [
            (OutputValue.text("Kitchen"), "Kitchen"), (.text("no"), "\"no\""), (.text("1:30"), "\"1:30\""),
            (.text(""), "\"\""), (.text("a: b"), "\"a: b\""), (.text("# x"), "\"# x\""), (.text("0x1F"), "\"0x1F\""),
            (.text("Küche"), "\"Küche\""), (.text("a\nb"), "\"a\\nb\""), (.null, "null"), (.boolean(true), "true"),
            (.integer(3), "3"), (.list([]), "[]"), (.object([:]), "{}"), (.text("trailing "), "\"trailing \""),
        ])
    func scalars(_ value: OutputValue, _ text: String) { #expect(YAMLText.lines(value) == [text]) }

    @Test("YAML of lists and objects in each other")
    func blocks() {
        let value = OutputValue.list([
            .object(["b": .list([.integer(1), .object(["c": .null])]), "a": .text("x")]),
            .list([.integer(1), .integer(2)]),
        ])
        #expect(
            YAMLText.lines(value) == ["- a: x", "  b:", "    - 1", "    - c: null", "- - 1", "  - 2"])
    }

    @Test("numbers of nanoseconds keep every digit")
    func digits() throws {
        let value = try OutputValue(of: ["now": Int64(1_234_567_890_123_456_789)])
        #expect(value == .object(["now": .integer(1_234_567_890_123_456_789)]))
        #expect(value.value(at: ["now"])?.line == "1234567890123456789" && value.value(at: ["then"]) == nil)
    }

    @Test(
        "one setting is changed in the file, and the rest stays as it was written",
        arguments: [
            (["name"], "House", "version: 1\n", "version: 1\nname: House\n"),
            (
                ["name"], "House", "version: 1\nname: old # mine\nrooms: []\n",
                "version: 1\nname: House # mine\nrooms: []\n"
            ),
            (["name"], nil, "version: 1\nname: old\n# end\n", "version: 1\n# end\n"),
            (["media", "port"], nil, "version: 1\nmedia:\n  port: 70\nname: x\n", "version: 1\nname: x\n"),
            (["media", "port"], nil, "media:\n  port: 70\n  ffmpeg: x\n", "media:\n  ffmpeg: x\n"),
            (["media", "port"], "80", "version: 1\n", "version: 1\nmedia:\n  port: 80\n"),
            (
                ["media", "port"], "80", "media:\n    # why\n    ffmpeg: x\n\n# rooms\nrooms: []\n",
                "media:\n    # why\n    ffmpeg: x\n    port: 80\n\n# rooms\nrooms: []\n"
            ),
            (["media", "port"], "80", "media:\n  port: 70\nname: port: 1\n", "media:\n  port: 80\nname: port: 1\n"),
            (
                ["name"], "House", "rooms:\n- name: Den\n  devices: [x]\n",
                "rooms:\n- name: Den\n  devices: [x]\nname: House\n"
            ),
        ] as [([String], String?, String, String)])
    func settings(_ keys: [String], _ value: String?, _ before: String, _ after: String) {
        #expect(ConfigurationFile.changed(before, keys, value) == after)
    }

    @Test("config set writes a valid file with 0600, and leaves it alone where it would not be valid")
    func configurationFile() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("config-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("router/config.yaml").path
        let file = ConfigurationFile(path: path)
        try file.set(.defaultRoom, to: "Living Room")
        try file.set(.mediaPort, to: "7800")
        #expect(
            try String(contentsOfFile: path, encoding: .utf8)
                == "version: 1\ndefault_room: Living Room\nmedia:\n  port: 7800\n")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let error = #expect(throws: RouterError.self) { try file.set(.mediaPort, to: "loud") }
        #expect(error?.code == .configuration && error?.message.hasPrefix(path + ":") == true)
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("port: 7800"))
        try file.set(.defaultRoom, to: "")
        #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("default_room"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/router") == ["config.yaml"])
    }

    @Test("config set writes through a link, which stays one")
    func linkedConfiguration() throws {
        let manager = FileManager.default
        let folder = manager.temporaryDirectory.appendingPathComponent("config-\(UUID().uuidString)").path
        defer { try? manager.removeItem(atPath: folder) }
        try manager.createDirectory(atPath: folder + "/dotfiles", withIntermediateDirectories: true)
        try manager.createSymbolicLink(atPath: folder + "/config.yaml", withDestinationPath: "link")
        try manager.createSymbolicLink(atPath: folder + "/link", withDestinationPath: folder + "/dotfiles/router.yaml")
        let file = ConfigurationFile(path: folder + "/config.yaml")
        // One that leads nowhere yet, and then to a file.
        for room in ["Den", "Kitchen"] {
            try file.set(.defaultRoom, to: room)
            #expect(try manager.destinationOfSymbolicLink(atPath: folder + "/config.yaml") == "link")
            let kept = try String(contentsOfFile: folder + "/dotfiles/router.yaml", encoding: .utf8)
            #expect(kept == "version: 1\ndefault_room: \(room)\n")
        }
        #expect(try manager.contentsOfDirectory(atPath: folder + "/dotfiles") == ["router.yaml"])
        try manager.createSymbolicLink(atPath: folder + "/around", withDestinationPath: "around")
        #expect(throws: RouterError.self) { try ConfigurationFile(path: folder + "/around").set(.name, to: "x") }
    }

    @Test("names that were seen are kept for the shell, and rubbish is no names")
    func cache() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cache-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let cache = CompletionCache(path: folder.appendingPathComponent("router/names.json").path)
        #expect(cache.words(.rooms).isEmpty)
        cache.remember(rooms: SampleHouse.rooms)
        cache.remember(devices: SampleHouse.routes)
        #expect(cache.words(.rooms) == ["Kitchen", "Kids", "Den", "Upstairs", "up"])
        #expect(cache.words(.devices) == ["Kitchen", "Kids", "Den"])
        try Data("[1".utf8).write(to: URL(fileURLWithPath: cache.path))
        #expect(cache.words(.rooms).isEmpty)
        // A pipe to which nobody writes holds no shell up.
        unlink(cache.path)
        #expect(mkfifo(cache.path, 0o600) == 0)
        #expect(cache.words(.rooms).isEmpty)
    }

    @Test("nobody listens at a file, at a path that is too long, or at none")
    func sockets() {
        for path in ["/", "/dev/null", "/nonexistent/router.sock", String(repeating: "x", count: 300)] {
            #expect(UnixSocket.listener(at: path) == nil)
        }
    }

    @Test("a device or a configuration of one's own is nothing for a daemon; a host is")
    func sides() throws {
        for words in [["--device", "cast://h"], ["--config", "/x"], []] {
            let environment = ["XDG_RUNTIME_DIR": "/nonexistent"]
            guard case .here = RouterConnection.side(try GlobalOptions.parse(words), environment: environment) else {
                Issue.record("\(words) went to a daemon")
                continue
            }
        }
        if case .here = RouterConnection.side(try GlobalOptions.parse(["--host", "nas"]), environment: [:]) {
            Issue.record("--host was passed over")
        }
    }

    @Test(
        "router api: the path as it is asked for",
        arguments: [
            ("rooms", "/api/v1/rooms"), ("/rooms", "/api/v1/rooms"), ("/api/v1/rooms", "/api/v1/rooms"),
            ("/metrics", "/metrics"),
        ])
    func paths(_ path: String, _ full: String) { #expect(APICommand.fullPath(path) == full) }
}
