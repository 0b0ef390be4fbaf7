import Foundation

/// A document as YAML in block style, keys in order. Text that another reader could take for something else is quoted.
enum YAMLText {
    static func lines(_ value: OutputValue) -> [String] {
        switch value {
        case .list(let values) where !values.isEmpty: values.flatMap { entry($0) }
        case .object(let fields) where !fields.isEmpty: fields.sorted { $0.key < $1.key }.flatMap { field($0, $1) }
        default: [scalar(value)]
        }
    }

    private static func entry(_ value: OutputValue) -> [String] {
        let inner = lines(value)
        return ["- " + inner[0]] + inner.dropFirst().map { "  " + $0 }
    }

    private static func field(_ name: String, _ value: OutputValue) -> [String] {
        let key = text(name) + ":"
        switch value {
        case .list(let values) where !values.isEmpty: return [key] + lines(value).map { "  " + $0 }
        case .object(let fields) where !fields.isEmpty: return [key] + lines(value).map { "  " + $0 }
        default: return ["\(key) \(scalar(value))"]
        }
    }

    private static func scalar(_ value: OutputValue) -> String {
        switch value {
        case .null: "null"
        case .list: "[]"
        case .object: "{}"
        case .text(let value): text(value)
        default: value.line
        }
    }

    /// Plain only where no YAML reader of any age reads a number, a boolean, a date or a mark in it.
    static func text(_ value: String) -> String {
        let isPlain =
            value.first.map { $0.isASCII && $0.isLetter } == true && value.last != " "
            && value.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || " _-./".contains($0)) }
            && !words.contains(value.lowercased())
        guard !isPlain else { return value }
        // JSON's strings are YAML's double-quoted ones.
        return (try? Renderer.jsonLine(value)) ?? "\"\""
    }

    private static let words: Set<String> = [
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity",
    ]
}
