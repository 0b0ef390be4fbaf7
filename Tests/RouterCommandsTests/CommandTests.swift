import ArgumentParser
import RouteBackend
import RouteModel
import Testing

@testable import RouterCommands

@Suite("The command: what it takes, and how it teaches")
struct CommandTests {
    static let subcommands: [any ParsableCommand.Type] = RouterCommand.configuration.subcommands

    @Test("the subcommands of this version")
    func list() {
        let names = Self.subcommands.compactMap { $0.configuration.commandName }
        #expect(
            names
                == [
                    "play", "pause", "toggle", "stop", "next", "prev", "seek", "volume", "status", "watch", "queue",
                    "session", "transfer", "announce", "devices", "rooms", "group", "pair", "doctor", "scene",
                    "schedule", "cast", "daemon",
                    "config", "api", "simulate", "demo", "completions",
                ])
    }

    @Test("every help has a sentence on what it is for, an example, and a sentence for each option")
    func help() throws {
        for command in Self.subcommands {
            let name = try #require(command.configuration.commandName)
            let help = RouterCommand.helpMessage(for: command, columns: 100)
            #expect(!command.configuration.abstract.isEmpty)
            #expect(help.contains("  router \(name)"), "\(name) shows no example")
            for option in help.split(separator: "\n") where option.hasPrefix("  -") {
                // A long name has its text in the next line.
                let words = option.split(separator: " ", omittingEmptySubsequences: true)
                #expect(words.count > 2 || option.contains(">"), "\(name): \(option)")
            }
        }
        let main = RouterCommand.helpMessage(columns: 100)
        for command in Self.subcommands { #expect(main.contains(command.configuration.commandName ?? "?")) }
        #expect(main.contains("  router play"))
    }

    @Test("no help line is wider than 80 columns as it was written")
    func helpWidth() {
        for command in Self.subcommands {
            for line in command.configuration.discussion.split(separator: "\n") where line.hasPrefix("  ") {
                #expect(line.count <= 80, "\(line)")
            }
        }
    }

    @Test("completions are there for each shell and know the commands", arguments: CompletionsCommand.Shell.allCases)
    func completions(_ shell: CompletionsCommand.Shell) {
        let script = shell.script
        for command in Self.subcommands { #expect(script.contains(command.configuration.commandName ?? "?")) }
        for option in ["room", "via", "explain", "device", "volume"] { #expect(script.contains(option), "\(option)") }
        #expect(script.contains("router"))
        // There is no option for it: it would be in the shell's history.
        #expect(!script.contains("--password") && !script.contains("-l 'password'") && !script.contains("-l password"))
    }

    @Test(
        "what is wrong on the command line is told, and exits 64",
        arguments: [
            (["play", "--volume", "30"], "--volume is for what is begun anew"),
            (["play", "-r", "Den", "--via", "cast"], "--via is for"), (["play", "--start", "1:00"], "--start is for"),
            (["play", "--shuffle"], "--shuffle is for"), (["play", "--no-picture"], "--no-picture is for"),
            (["play", "--detach"], "Say what to play"), (["play", "a", "--volume", "101"], "0 to 100"),
            (["play", "a", "--rate", "3"], "0.5 to 2"), (["play", "a", "--repeat", "twice"], "repeat"),
            (["play", "a", "--volume", "-1"], "0 to 100"), (["play", "a", "--volume", "loud"], "volume"),
            (["play", "a", "--start", "1:99"], "not a time"), (["play", "a", "--via", "dlna"], "airplay"),
            (["play", "a", "--password", "x"], "password"), (["devices", "-o", "xml"], "ndjson"),
            (["plai"], "plai"), (["simulate", "--cast", "a/b"], "a/b"), (["simulate", "--cast", "TV@h:x"], "TV@h:x"),
            (["simulate", "--fault", "lose=101"], "lose=101"), (["simulate", "--port", "65001"], "65000"),
            (["simulate", "--fault", "TV:busy"], "no receiver “TV”"),
            (["simulate", "--cast", "A", "--cast", "A"], "a name of its own"),
            (["completions", "csh"], "bash"),
        ])
    func wrong(_ arguments: [String], _ words: String) throws {
        let error = try #require(throws: (any Error).self) { try RouterCommand.parseAsRoot(arguments) }
        #expect(RouterCommand.exitCode(for: error).rawValue == 64)
        #expect(RouterCommand.fullMessage(for: error).contains(words), "\(RouterCommand.fullMessage(for: error))")
    }

    @Test(
        "a number below nothing is a value and out of range, and not missing",
        arguments: [
            (["play", "a", "--volume", "-5"], "not -5"), (["play", "a", "--start", "-5"], "“-5” is not a time"),
            (["play", "a", "--rate", "-1"], "not -1"), (["play", "a", "--timeout", "-3s"], "'-3s' is invalid"),
            (["play", "a", "--subtitle-scale", "-1"], "not -1"), (["announce", "a", "--volume", "-5"], "not -5"),
            (["announce", "a", "--deadline", "-5s"], "'-5s' is invalid"),
            (["pause", "--within", "-2s"], "'-2s' is invalid"),
            (["volume", "10", "--fade", "-2s"], "'-2s' is invalid"),
            (["queue", "history", "--limit", "-1"], "--limit is"), (["watch", "--count", "-1"], "--count is"),
            (["simulate", "--port", "-1"], "not -1"),
        ])
    func negative(_ arguments: [String], _ words: String) throws {
        let error = try #require(throws: (any Error).self) { try RouterCommand.parseAsRoot(arguments) }
        #expect(RouterCommand.exitCode(for: error).rawValue == 64)
        let message = RouterCommand.message(for: error)
        #expect(message.contains(words) && !message.contains("Missing value"), "\(message)")
    }

    @Test("the help of queue remove says when undo cannot take it back")
    func removeHelp() {
        #expect(RouterCommand.helpMessage(for: QueueRemoveCommand.self, columns: 400).contains("the session has ended"))
    }

    @Test("play takes its request from the command line")
    func play() throws {
        let command = try #require(
            try RouterCommand.parseAsRoot([
                "play", "a.flac", "b/", "-r", "Kitchen", "--room", "Living Room", "--via", "cast", "--volume", "30",
                "--start", "1:23", "--device", "cast://h", "-q", "-vv", "-o", "ndjson",
            ]) as? PlayCommand)
        #expect(command.what == ["a.flac", "b/"] && command.target.room == ["Kitchen", "Living Room"])
        #expect(command.via == .cast && command.volume == 30 && command.start == "1:23")
        #expect(command.options.device == ["cast://h"] && command.options.quiet && command.options.verbose == 2)
        #expect(command.options.output == .ndjson && !command.options.speaks)
    }

    @Test("-q, -o and --device are taken by every command that has something to list", arguments: ["devices", "rooms"])
    func globalFlags(_ name: String) throws {
        _ = try RouterCommand.parseAsRoot([name, "-q", "-o", "json", "--device", "cast://h", "--color", "never", "-v"])
    }

    @Test("a bare router says that nothing plays, and how to begin")
    func bare() throws {
        _ = try #require(try RouterCommand.parseAsRoot([]) as? StatusCommand)
        _ = try #require(try RouterCommand.parseAsRoot(["-o", "json", "-r", "Kitchen"]) as? StatusCommand)
        let lines = StatusCommand.idle(rooms: [])
        #expect(lines.count == 4 && lines[0].hasPrefix("Nothing is playing"))
        #expect(lines[1].contains("router devices") && lines[2].contains("router play"))
        #expect(lines[3].contains("router daemon run"))
        #expect(StatusCommand.idle(rooms: ["Living Room"])[2].contains("-r \"Living Room\""))
    }

    @Test("nobody is asked for a password where there is no terminal, or no need")
    func noPrompt() async {
        #expect(await PasswordPrompt().ask("Kitchen", announced: false) == nil)
    }
}
