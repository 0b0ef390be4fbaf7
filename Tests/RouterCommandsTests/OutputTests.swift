import ArgumentParser
import Foundation
import RouteModel
import RouterAPI
import Synchronization
import Testing

@testable import RouterCommands

@Suite("What is printed")
struct OutputTests {
    private let kitchen = Room(
        name: "Kit\tchen", aliases: ["cooking"], devices: ["Sonos"], via: .airplay, configured: true,
        routes: [RouteID(rawValue: "rt-1")])
    private let wide = Room(name: "書斎", routes: [RouteID(rawValue: "rt-2")])

    private func lines(_ format: OutputFormat, quiet: Bool = false, columns: Int? = nil) throws -> [String] {
        try Renderer(format: format, quiet: quiet, columns: columns).lines([kitchen, wide])
    }

    @Test("a table stands in columns, wide characters too, with nothing behind the last")
    func table() throws {
        #expect(
            try lines(.table) == [
                "ROOM      DEVICES      PREFERS  STATE  ALIASES", "Kit chen  Sonos        airplay  ready  cooking",
                "書斎      this device  auto     ready",
            ])
        #expect(try Renderer(format: .table, quiet: false).lines([Room]()) == [])
    }

    @Test(
        "a narrow terminal loses columns from the right, a pipe loses nothing", arguments: [1, 8, 20, 30, 40, 47, 200])
    func narrow(_ columns: Int) throws {
        let narrow = try lines(.table, columns: columns)
        let full = try lines(.table)
        #expect(narrow.count == 3)
        for (line, whole) in zip(narrow, full) {
            #expect(TerminalText.width(line) <= columns)
            #expect(columns < 10 || whole.hasPrefix(line), "\(line)")
        }
        #expect(columns < 47 || narrow == full)
    }

    @Test("plain is tab-separated with as many fields in each line, whatever is in a name")
    func plain() throws {
        let lines = try lines(.plain)
        #expect(lines == ["Kit chen\tSonos\tairplay\tready\tcooking", "書斎\tthis device\tauto\tready\t"])
    }

    @Test("json is one document and ndjson one object a line, both of the same values")
    func json() throws {
        let document = try lines(.json)
        #expect(document.count == 1)
        #expect(try JSONDecoder().decode([Room].self, from: Data(document[0].utf8)) == [kitchen, wide])
        let objects = try lines(.ndjson).map { line in
            #expect(!line.contains("\n"))
            return try JSONDecoder().decode(Room.self, from: Data(line.utf8))
        }
        #expect(objects == [kitchen, wide])
        #expect(try Renderer(format: .json, quiet: false).lines([Room]())[0].filter { !$0.isWhitespace } == "[]")
        #expect(try Renderer(format: .ndjson, quiet: false).lines([Room]()).isEmpty)
    }

    @Test(
        "a log that is followed is told without empty documents, in the form that was asked for",
        arguments: [
            (["-o", "json"], ["{a}", "{b}", "{c}"]), (["-o", "ndjson"], ["{a}", "{b}", "{c}"]),
            (["-q"], ["a", "b", "c"]), (["--fields", "text"], ["TEXT", "a", "b", "c"]),
            (["--format", "<{{text}}>"], ["<a>", "<b>", "<c>"]),
        ])
    func followed(_ words: [String], _ told: [String]) async throws {
        let printed = Mutex<[String]>([])
        let console = Console(writingTo: .init(columns: 100) { text, _ in printed.withLock { $0.append(text) } })
        let command = try #require(
            try RouterCommand.parseAsRoot(["daemon", "logs", "-f"] + words) as? DaemonLogsCommand)
        func lines(_ texts: String...) -> [LogLine] {
            texts.map { LogLine(time: Double($0.utf8.first ?? 0), level: "info", component: "X", text: $0) }
        }
        let batches = Mutex([lines("a"), lines("a", "b"), lines("b"), lines(), lines("b", "c")])
        let context = VerbContext(
            ScriptedRouter(.init()), isDaemon: true, options: command.options, console: console)
        await #expect(throws: CancellationError.self) {
            try await DaemonLogsCommand.follow(lines("a"), context, pause: .zero) {
                try batches.withLock { left in
                    guard !left.isEmpty else { throw CancellationError() }
                    return left.removeFirst()
                }
            }
        }
        let text = printed.withLock { $0.joined() }.split(separator: "\n").map(String.init)
        guard command.options.output != .table else {
            #expect(text == told)
            return
        }
        let objects = try text.map { try JSONDecoder().decode(LogLine.self, from: Data($0.utf8)) }
        #expect(objects.map { "{\($0.text)}" } == told)
    }

    @Test("quiet is one value a line in every format", arguments: OutputFormat.allCases)
    func quiet(_ format: OutputFormat) throws {
        #expect(try lines(format, quiet: true) == ["Kit chen", "書斎"])
    }

    @Test(
        "columns of a terminal",
        arguments: [
            ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("한", 2), ("🎵", 2), ("👨‍👩‍👧", 2), ("❤️", 2), ("…", 1),
            ("—", 1),
            ("", 0), ("\u{200D}", 0), ("ｱ", 1), ("Ａ", 2),
        ])
    func width(_ text: String, _ columns: Int) {
        #expect(TerminalText.width(text) == columns)
    }

    @Test("a cut never comes out wider, and says that it is one")
    func cut() {
        #expect(TerminalText.cut("Kitchen", to: 7) == "Kitchen")
        #expect(TerminalText.cut("Kitchen", to: 6) == "Kitch…")
        #expect(TerminalText.cut("日本語", to: 5) == "日本…")
        #expect(TerminalText.cut("日本語", to: 4) == "日…")
        #expect(TerminalText.cut("Kitchen", to: 1) == "…")
        #expect(TerminalText.cut("Kitchen", to: 0) == "")
    }

    @Test("cleaning takes what drives a terminal and leaves what people write")
    func clean() {
        #expect(Console.clean("a\u{1b}[31mb") == "a [31mb")
        #expect(Console.clean("a\tb\r\nc\u{7F}\u{85}\u{9B}") == "a b  c   ")
        #expect(Console.clean("a\u{202E}b\u{2066}c\u{FEFF}\u{2029}") == "a b c  ")
        for text in ["Grüße", "日本語", "👨‍👩‍👧", "می‌خواهم", "naïve — “x”"] { #expect(Console.clean(text) == text) }
    }

    @Test("an error in words: what, why and what to do")
    func errorTexts() {
        let console = Console(colour: .never)
        let error = RouterError(
            .routeLost, "lost \u{1b}[2J", hint: "Look at it", causes: ["the line broke"])
        let people = ErrorReport(console: console, format: .table, verbose: false)
        #expect(people.lines(error) == ["error: lost  [2J", "  because: the line broke", "  hint: Look at it"])
        let placed = RouterError(
            .sceneInvalid, "x.yaml has 1 error", causes: ["x.yaml:1:3: no\n    a b\u{1b}\n      ^"])
        #expect(
            people.lines(placed) == [
                "error: x.yaml has 1 error", "  because: x.yaml:1:3: no", "        a b ", "          ^",
            ])
        let programs = ErrorReport(console: console, format: .json, verbose: false)
        #expect(programs.lines(error).count == 1)
        #expect(
            (try? JSONDecoder().decode(RouterError.self, from: Data(programs.lines(error)[0].utf8))) == error)
        // An internal error's causes are for those who report it.
        let inner = RouterError(.internal, "broken", causes: ["a secret of the house"])
        #expect(people.lines(inner) == ["error: broken"])
        #expect(ErrorReport(console: console, format: .table, verbose: true).lines(inner).count == 2)
    }

    @Test("a notice is for people, and not for those who want it quiet")
    func notices() {
        let console = Console(colour: .never)
        let notice = Notice(.warning, "careful", hint: "Do this")
        #expect(
            ErrorReport(console: console, format: .plain, verbose: false).lines(notice)
                == ["warning: careful", "  hint: Do this"])
        #expect(ErrorReport(console: console, format: .json, verbose: false).lines(notice).isEmpty)
        let quiet = ErrorReport(console: console, format: .table, verbose: false, quiet: true)
        #expect(quiet.lines(notice).isEmpty && quiet.lines(Notice(.error, "broken")).count == 1)
    }
}
