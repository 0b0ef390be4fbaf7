import Foundation
import RouteModel

/// What `-o` takes.
enum OutputFormat: String, Sendable, CaseIterable {
    /// Columns for people.
    case table
    /// One JSON document.
    case json
    /// One JSON object a line.
    case ndjson
    /// One YAML document.
    case yaml
    /// Tab-separated, nothing cut, no header.
    case plain

    /// Whether people read it, and not programs.
    var isForPeople: Bool { self == .table || self == .plain }
}

/// How a thing becomes a row of a list, and its one quiet value (`-q`).
protocol ListDisplayable: Encodable {
    static var header: [String] { get }
    var row: [String] { get }
    var quietValue: String { get }
    /// Names for `--fields` and `--format` beside those of its document.
    var facts: [String: OutputValue] { get }
    /// Names of its document that may have no value, where that is the document of something in it.
    static var optionalNames: Set<String> { get }
    /// Shown, and not there any more.
    var isGrey: Bool { get }
}

extension ListDisplayable {
    var facts: [String: OutputValue] { [:] }
    static var optionalNames: Set<String> { [] }
    var isGrey: Bool { false }
}

/// The one place where lists and documents are put on the screen.
struct Renderer {
    var format: OutputFormat
    let quiet: Bool
    /// Columns of the terminal; nil where the output is none, and nothing is left out.
    var columns: Int?
    /// What `--fields` asks for, in order; empty: everything.
    var fields: [String] = []
    var template: OutputTemplate?

    /// On a console.
    func render<Item: ListDisplayable>(_ items: [Item], on console: Console) throws {
        for (index, line) in try lines(items).enumerated() {
            let isHeader = index == 0 && hasHeader
            let isGrey = hasHeader && index > 0 && items.indices.contains(index - 1) && items[index - 1].isGrey
            console.out(isHeader || isGrey ? console.styled(line, .dim) : line)
        }
    }

    /// One thing: `words` for people, else its document.
    func render<Item: ListDisplayable>(
        one item: Item, on console: Console, words: (Console) -> [String]
    ) throws {
        guard format == .table, !quiet, template == nil, fields.isEmpty else {
            for line in try lines(one: item) { console.out(line) }
            return
        }
        for line in words(console) { console.out(line) }
    }

    private var hasHeader: Bool { format == .table && !quiet && template == nil }

    func lines<Item: ListDisplayable>(_ items: [Item]) throws -> [String] {
        if quiet { return items.map { Console.clean($0.quietValue) } }
        if let template {
            return try items.map { item in
                let reader = try FieldReader(item)
                return try template.line { try reader.value($0) }
            }
        }
        if !fields.isEmpty { return try chosen(items) }
        return switch format {
        case .json: [try Self.json(items)]
        case .ndjson: try items.map { try Self.jsonLine($0) }
        case .yaml: YAMLText.lines(try OutputValue(of: items))
        case .plain: items.map { $0.row.map(Console.clean).joined(separator: "\t") }
        case .table: table(Item.header, items.map { $0.row.map(Console.clean) })
        }
    }

    /// Some of a list that never ends: without a header, and as JSON an object a line, for one document would never be
    /// whole.
    func more<Item: ListDisplayable>(_ items: [Item]) throws -> [String] {
        guard !items.isEmpty else { return [] }
        var each = self
        switch format {
        case .json: each.format = .ndjson
        case .table where hasHeader:
            return try items.map { item in
                let reader = try fields.isEmpty ? nil : FieldReader(item)
                let cells = try reader.map { reader in try fields.map { try reader.value($0).line } } ?? item.row
                return cells.map(Console.clean).joined(separator: "  ")
            }
        default: break
        }
        return try each.lines(items)
    }

    /// One document, and no list of one.
    private func lines<Item: ListDisplayable>(one item: Item) throws -> [String] {
        guard !quiet, template == nil else { return try lines([item]) }
        switch format {
        case .json, .yaml:
            let value = fields.isEmpty ? try OutputValue(of: item) : try object(item)
            return format == .json ? [try Self.json(value)] : YAMLText.lines(value)
        case .table, .plain, .ndjson: return try lines([item])
        }
    }

    /// The fields that were asked for, of each.
    private func chosen<Item: ListDisplayable>(_ items: [Item]) throws -> [String] {
        switch format {
        case .json: return [try Self.json(try items.map { try object($0) })]
        case .ndjson: return try items.map { try Self.jsonLine(try object($0)) }
        case .yaml: return YAMLText.lines(.list(try items.map { try object($0) }))
        case .table, .plain:
            let rows = try items.map { item in
                let reader = try FieldReader(item)
                return try fields.map { Console.clean(try reader.value($0).line) }
            }
            return format == .plain
                ? rows.map { $0.joined(separator: "\t") } : table(fields.map { $0.uppercased() }, rows)
        }
    }

    private func object<Item: ListDisplayable>(_ item: Item) throws -> OutputValue {
        let reader = try FieldReader(item)
        return .object(
            Dictionary(try fields.map { ($0, try reader.value($0)) }, uniquingKeysWith: { first, _ in first }))
    }

    private func table(_ header: [String], _ items: [[String]]) -> [String] {
        guard !items.isEmpty else { return [] }
        let rows = [header] + items
        var widths = header.map { _ in 0 }
        for row in rows {
            for (column, text) in row.enumerated() { widths[column] = max(widths[column], TerminalText.width(text)) }
        }
        // A narrow terminal loses columns from the right, and then the end of the first; a pipe loses nothing.
        var shown = widths.count
        if let columns {
            while shown > 1, widths[..<shown].reduce(0, { $0 + $1 + 2 }) - 2 > columns { shown -= 1 }
        }
        return rows.map { row in
            let cells = row[..<shown].enumerated().map { TerminalText.padded($1, to: widths[$0] + 2) }
            var line = cells.joined()
            while line.last == " " { line.removeLast() }
            return columns.map { TerminalText.cut(line, to: $0) } ?? line
        }
    }

    /// One document in a format for programs, as it is.
    static func document(_ value: some Encodable, _ format: OutputFormat) throws -> String {
        switch format {
        case .yaml: YAMLText.lines(try OutputValue(of: value)).joined(separator: "\n")
        case .json: try json(value)
        case .ndjson, .table, .plain: try jsonLine(value)
        }
    }

    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    static func jsonLine(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

/// Looks up what `--fields` and `--format` name: a path of the document, a name of its kind's own, or a column.
struct FieldReader {
    private let document: OutputValue
    private let facts: [String: OutputValue]
    private let columns: [String: String]
    /// Also those that have no value now.
    private let known: Set<String>

    init<Item: ListDisplayable>(_ item: Item) throws {
        document = try OutputValue(of: item)
        facts = item.facts
        columns = Dictionary(
            zip(Item.header.map { $0.lowercased() }, item.row), uniquingKeysWith: { first, _ in first })
        var known = Set(facts.keys).union(columns.keys).union(Mirror(reflecting: item).children.compactMap(\.label))
        known.formUnion(Item.optionalNames)
        if case .object(let fields) = document { known.formUnion(fields.keys) }
        // A column of marks has no name.
        self.known = known.subtracting([""])
    }

    /// Null for a field that has no value. Throws `UsageError` for one that there is not.
    func value(_ name: String) throws -> OutputValue {
        let path = name.split(separator: ".")
        if let value = facts[name] ?? document.value(at: path) ?? columns[name.lowercased()].map({ .text($0) }) {
            return value
        }
        guard let first = path.first.map(String.init), known.contains(first) else {
            let near = NearNames.of(name, among: known.sorted()).first
            throw UsageError(
                "there is no field “\(name)” here",
                hint: near.map { "Did you mean “\($0)”?" } ?? "There are \(known.sorted().joined(separator: ", "))")
        }
        return .null
    }
}
