import RouteModel

/// The words after `router`, made so that the argument parser reads them as people mean them: it knows no value that
/// begins with a dash, and no option whose value may be missing.
enum CommandWords {
    /// Nouns and verbs of which a word such as `-5` or `-10s` is a value and no flag.
    private static let takeNegative: Set<String> = ["volume", "seek", "group", "rooms", "queue"]

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
    static let bare: Set<String> = ["--quiet", "--no-progress", "--no-wait", "--strict", "--yes", "--verbose"]
    private static let bareLetters = "qvy"

    /// Flags of every command that stand before the verb, put behind it: the parser takes them only there.
    private static func verbFirst(_ words: [String]) -> [String] {
        var index = 0
        while index < words.count, words[index].hasPrefix("-") {
            guard let length = flag(words[index...]) else { return words }
            index += length
        }
        guard index > 0, index < words.count else { return words }
        let verb = words[index...]
        let end = verb.firstIndex(of: "--") ?? verb.endIndex
        return Array(verb[..<end] + words[..<index] + verb[end...])
    }

    /// How many words the first flag has with its value; nil where it is none of every command.
    private static func flag(_ words: ArraySlice<String>) -> Int? {
        guard let word = words.first else { return nil }
        let next = words.dropFirst().first
        if word == "--wait" { return next.flatMap(WaitCondition.init) == nil ? 1 : 2 }
        if bare.contains(word) || word.count > 1 && word.dropFirst().allSatisfy(bareLetters.contains) { return 1 }
        if let sign = word.firstIndex(of: "=") {
            return valued.contains(String(word[..<sign])) || word.hasPrefix("--wait=") ? 1 : nil
        }
        return valued.contains(word) && next != nil ? 2 : nil
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
