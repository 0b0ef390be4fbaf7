import Foundation
import RouteModel

/// What `--format` takes: text with names in braces, `{{title}} in {{rooms}}`, and a way to show each: `{{position|time}}`.
struct OutputTemplate: Sendable, Equatable {
    enum Filter: String, Sendable, CaseIterable {
        /// Seconds as 1:23.
        case time
        /// 0 to 1 as 0 to 100.
        case percent
        case json
        case upper
    }

    enum Part: Sendable, Equatable {
        case text(String)
        case field(String, Filter?)
    }

    private(set) var parts: [Part] = []

    /// Throws what is wrong with it, in words.
    init(_ source: String) throws(Problem) {
        var rest = source[...]
        while let open = rest.range(of: "{{") {
            parts.append(.text(Self.unescaped(rest[..<open.lowerBound])))
            guard let close = rest.range(of: "}}", range: open.upperBound..<rest.endIndex) else {
                throw Problem(words: "“{{” is never closed with “}}”")
            }
            parts.append(try Self.field(rest[open.upperBound..<close.lowerBound]))
            rest = rest[close.upperBound...]
        }
        parts.append(.text(Self.unescaped(rest)))
        parts.removeAll { $0 == .text("") }
    }

    struct Problem: Error, Equatable { var words: String }

    private static func field(_ inner: Substring) throws(Problem) -> Part {
        let halves = inner.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard let name = halves.first, !name.isEmpty else {
            throw Problem(words: "“{{\(inner)}}” names no field")
        }
        guard halves.count == 2 else { return .field(name, nil) }
        guard let filter = Filter(rawValue: halves[1]) else {
            let near = NearNames.of(halves[1], among: Filter.allCases.map(\.rawValue)).first
            throw Problem(
                words: "“\(halves[1])” is no way to show a field; "
                    + (near.map { "did you mean “\($0)”?" }
                        ?? "there are \(Filter.allCases.map(\.rawValue).joined(separator: ", "))"))
        }
        return .field(name, filter)
    }

    private static func unescaped(_ text: Substring) -> String {
        String(text).replacing("\\n", with: "\n").replacing("\\t", with: "\t")
    }

    /// - Parameter value: what a field's name stands for.
    func line(_ value: (String) throws -> OutputValue) rethrows -> String {
        try parts.map { part in
            switch part {
            case .text(let text): text
            case .field(let name, let filter): Self.show(try value(name), filter)
            }
        }.joined()
    }

    private static func show(_ value: OutputValue, _ filter: Filter?) -> String {
        let seconds: Double? =
            switch value {
            case .integer(let value): Double(value)
            case .number(let value): value
            default: nil
            }
        let text =
            switch filter {
            case .time: seconds.map { ClockTime.format(MediaTime(seconds: $0)) } ?? value.line
            case .percent: seconds.map { String(VolumePosition($0).percent) } ?? value.line
            case .json: (try? Renderer.jsonLine(value)) ?? ""
            case .upper: value.line.uppercased()
            case nil: value.line
            }
        return Console.clean(text)
    }
}
