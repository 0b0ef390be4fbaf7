import RouteModel

/// The words after `router`, made so that the argument parser reads them as people mean them: it knows no value that
/// begins with a dash, and no option whose value may be missing.
enum CommandWords {
    /// Nouns and verbs of which a word such as `-5` or `-10s` is a value and no flag.
    private static let takeNegative: Set<String> = ["volume", "seek", "group", "rooms", "queue"]

    static func complete(_ words: [String]) -> [String] {
        let words = SimulateArguments.complete(words)
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
