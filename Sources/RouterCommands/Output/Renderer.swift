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
    /// Tab-separated, nothing cut, no header.
    case plain
}

/// How a thing becomes a row of a list, and its one quiet value (`-q`).
protocol ListDisplayable: Encodable {
    static var header: [String] { get }
    var row: [String] { get }
    var quietValue: String { get }
}

/// The one place where lists are put on the screen.
struct Renderer {
    let format: OutputFormat
    let quiet: Bool
    /// Columns of the terminal; nil where the output is none, and nothing is left out.
    var columns: Int?

    /// On a console.
    func render<Item: ListDisplayable>(_ items: [Item], on console: Console) throws {
        for (index, line) in try lines(items).enumerated() {
            console.out(index == 0 && hasHeader ? console.styled(line, .dim) : line)
        }
    }

    private var hasHeader: Bool { format == .table && !quiet }

    func lines<Item: ListDisplayable>(_ items: [Item]) throws -> [String] {
        if quiet { return items.map { Console.clean($0.quietValue) } }
        return switch format {
        case .json: [try Self.json(items)]
        case .ndjson: try items.map { try Self.jsonLine($0) }
        case .plain: items.map { $0.row.map(Console.clean).joined(separator: "\t") }
        case .table: table(items)
        }
    }

    private func table<Item: ListDisplayable>(_ items: [Item]) -> [String] {
        guard !items.isEmpty else { return [] }
        let rows = [Item.header] + items.map { $0.row.map(Console.clean) }
        var widths = Item.header.map { _ in 0 }
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
