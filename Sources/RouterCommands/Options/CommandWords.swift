import ArgumentParser
import RouteModel

/// The words after `router`, made so that the argument parser reads them as people mean them: it knows no value that
/// begins with a dash, and no option whose value may be missing.
enum CommandWords {
    /// Nouns and verbs of which a word such as `-5` or `-10s` is a value and no flag.
    private static let takeNegative: Set<String> = ["volume", "seek", "group", "rooms", "queue", "config"]

    static func complete(_ words: [String]) -> [String] {
        let words = SimulateArguments.complete(verbFirst(words))
        let negative = words.contains(where: takeNegative.contains)
        var isRest = false
        return words.enumerated().map { index, word in
            if word == "--" { isRest = true }
            guard !isRest, index > 0 else { return word }
            if word == "--wait", index + 1 == words.count || WaitCondition(rawValue: words[index + 1]) == nil {
                return "--wait=\(WaitCondition.observed.rawValue)"
            }
            return negative && isNegative(word) ? minus + word.dropFirst() : word
        }
    }

    // MARK: Flags before the verb

    /// Flags of every command that a value follows, and those that stand alone.
    static let valued: Set<String> = [
        "--device", "--config", "--host", "--output", "-o", "--fields", "--format", "--color", "--timeout", "--log",
        "--log-file",
    ]
    /// The same for rooms, which only some commands take.
    private static let rooms: Set<String> = ["--room", "-r", "--on"]
    static let bare: Set<String> = ["--quiet", "--no-progress", "--no-wait", "--strict", "--yes", "--verbose"]
    private static let bareLetters = "qvy"

    /// Flags of every command that stand before the verb, put behind it: the parser takes them only there.
    private static func verbFirst(_ words: [String]) -> [String] {
        let (flags, hasRooms) = leading(words)
        guard !flags.isEmpty, flags.endIndex < words.count else { return words }
        let verb = words[flags.endIndex...]
        if hasRooms, Verb(verb).map({ !$0.takesRooms }) ?? false { return words }
        let end = verb.firstIndex(of: "--") ?? verb.endIndex
        return Array(verb[..<end] + flags + verb[end...])
    }

    /// The flags before the first word that is none, and whether rooms are among them; none where one of them is no flag
    /// that may stand there.
    private static func leading(_ words: [String]) -> (flags: ArraySlice<String>, hasRooms: Bool) {
        var index = 0
        var hasRooms = false
        while index < words.count, words[index].hasPrefix("-") {
            guard let length = flag(words[index...]) else { return ([], false) }
            hasRooms = hasRooms || rooms.contains(name(words[index]))
            index += length
        }
        return (words[..<index], hasRooms)
    }

    private static func name(_ word: String) -> String { String(word.prefix { $0 != "=" }) }

    /// What to say of rooms before a command that is for none; nil where that is not so.
    static func misplacedRooms(_ words: [String]) -> UsageError? {
        let (flags, hasRooms) = leading(words)
        guard hasRooms, let verb = Verb(words[flags.endIndex...]), !verb.takesRooms else { return nil }
        return UsageError(
            "“\(verb.path)” is for no room, and takes no --room and no --on",
            hint: "Leave them out; “\(verb.path) --help” tells what it takes")
    }

    /// How many words the first flag has with its value; nil where it is none of every command.
    private static func flag(_ words: ArraySlice<String>) -> Int? {
        guard let word = words.first else { return nil }
        let next = words.dropFirst().first
        if word == "--wait" { return next.flatMap(WaitCondition.init) == nil ? 1 : 2 }
        if bare.contains(word) || word.count > 1 && word.dropFirst().allSatisfy(bareLetters.contains) { return 1 }
        let takesValue = valued.contains(name(word)) || rooms.contains(name(word))
        if word.contains("=") { return takesValue || word.hasPrefix("--wait=") ? 1 : nil }
        return takesValue && next != nil ? 2 : nil
    }

    // MARK: Empty words

    /// Commands that an empty word means something to: a setting that is taken out, a message without text.
    private static let takeEmpty: Set<String> = ["router config set", "router cast message"]

    /// What to say of an empty word: most come from a variable that was never set, and would mean the first thing, or the
    /// only one. Nil where there is none, or where it may be: the value of an option, which knows itself what it takes.
    static func emptyWord(_ words: [String]) -> UsageError? {
        // A shell's completion asks with the word that is still to be typed.
        if words.first?.hasPrefix("---") == true { return nil }
        if let path = Verb(words)?.path, takeEmpty.contains(path) { return nil }
        let hint = "Check the variable that it came from"
        var isRest = false
        for (index, word) in words.enumerated() {
            let before = index > 0 && !isRest ? words[index - 1] : ""
            if word == "--" { isRest = true }
            if !isRest, rooms.contains(name(word)), word == name(word) + "=" {
                return UsageError("the name after \(name(word)) is empty", hint: hint)
            }
            guard word.isEmpty else { continue }
            if rooms.contains(before) { return UsageError("the name after \(before) is empty", hint: hint) }
            if !takesNext(before) { return UsageError("an argument is empty", hint: hint) }
        }
        return nil
    }

    /// Whether the next word is the value of this one, as far as that can be told without the parser.
    private static func takesNext(_ word: String) -> Bool {
        guard word.hasPrefix("-"), word != "-", word != "--", !word.contains("="), !bare.contains(word) else {
            return false
        }
        return !word.dropFirst().allSatisfy(bareLetters.contains)
    }

    // MARK: What is known where the parser did not come to an end

    /// The command that words begin with, as far as they name one.
    struct Verb {
        /// As it is typed: “router queue list”.
        let path: String
        /// Whether it has `-r` and `--on`.
        let takesRooms: Bool

        /// Nil for words that begin with no command.
        init?(_ words: some Collection<String>) {
            var type: any ParsableCommand.Type = RouterCommand.self
            var path = ["router"]
            for word in words {
                guard let next = type.configuration.subcommands.first(where: { $0.isCalled(word) }) else { break }
                type = next
                path.append(next.configuration.commandName ?? word)
            }
            guard path.count > 1 else { return nil }
            while let usual = type.configuration.defaultSubcommand { type = usual }
            self.path = path.joined(separator: " ")
            takesRooms = Mirror(reflecting: type.init()).children.contains { $0.value is OptionGroup<TargetOptions> }
        }
    }

    /// What `-o` says, where it says something.
    static func format(_ words: [String]) -> OutputFormat {
        var result = OutputFormat.table
        for (index, word) in words.enumerated() {
            if word == "--" { break }
            let value: String
            if word.hasPrefix("--output=") || word.hasPrefix("-o=") {
                value = String(word.drop { $0 != "=" }.dropFirst())
            } else if word == "--output" || isOutputLetter(word), index + 1 < words.count {
                value = words[index + 1]
            } else {
                continue
            }
            result = OutputFormat(rawValue: value) ?? result
        }
        return result
    }

    /// `-o`, and `-qo` with the letters of other flags before it.
    private static func isOutputLetter(_ word: String) -> Bool {
        word.count > 1 && word.first == "-" && word.last == "o"
            && word.dropFirst().dropLast().allSatisfy(bareLetters.contains)
    }

    /// A dash that only people take for one.
    private static let minus = "\u{2212}"

    /// `-5`, `-10s`, `-1:30`, `-20ms`: a dash and a digit.
    private static func isNegative(_ word: String) -> Bool {
        word.first == "-" && word.dropFirst().first.map { $0.isASCII && $0.isNumber } == true
    }

    /// A value as it was typed: with the dash in place of the minus sign.
    static func typed(_ value: String) -> String {
        value.hasPrefix(minus) ? "-" + value.dropFirst() : value
    }

    /// What to say of a first word that is no command: nil where it is one, or a flag.
    static func unknownCommand(_ words: [String], among names: [String]) -> UsageError? {
        guard let first = words.first, !first.hasPrefix("-"), !names.contains(first) else { return nil }
        let near = NearNames.of(first, among: names)
        let meant = near.isEmpty ? "" : "; did you mean \(near.map { "“\($0)”" }.joined(separator: " or "))?"
        return UsageError("there is no command “\(first)”\(meant)", hint: "Run “router --help” to see what there is")
    }
}

extension ParsableCommand {
    fileprivate static func isCalled(_ word: String) -> Bool {
        configuration.commandName == word || configuration.aliases.contains(word)
    }
}
