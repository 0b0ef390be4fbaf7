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
    let console: Console
    let format: OutputFormat
    let quiet: Bool

    func render<Item: ListDisplayable>(_ items: [Item]) throws {
        if quiet {
            for item in items { console.out(item.quietValue) }
            return
        }
        switch format {
        case .json: console.out(try Self.json(items))
        case .ndjson: for item in items { console.out(try Self.jsonLine(item)) }
        case .plain: for item in items { console.out(item.row.map(Self.field).joined(separator: "\t")) }
        case .table: table(items)
        }
    }

    private func table<Item: ListDisplayable>(_ items: [Item]) {
        guard !items.isEmpty else { return }
        let rows = items.map { $0.row.map(Console.clean) }
        var widths = Item.header.map(\.count)
        for row in rows {
            for (column, text) in row.enumerated() { widths[column] = max(widths[column], text.count) }
        }
        // A narrow terminal loses columns from the right; a pipe loses nothing.
        var columns = widths.count
        if console.outputIsTerminal {
            while columns > 1, widths[..<columns].reduce(0, { $0 + $1 + 2 }) - 2 > console.width { columns -= 1 }
        }
        func line(_ cells: [String]) -> String {
            cells[..<columns].enumerated().map { column, text in
                column == columns - 1 ? text : text.padding(toLength: widths[column] + 2, withPad: " ", startingAt: 0)
            }.joined()
        }
        console.out(console.styled(line(Item.header), .dim))
        for row in rows { console.out(line(row)) }
    }

    private static func field(_ text: String) -> String {
        Console.clean(text).replacingOccurrences(of: "\t", with: " ")
    }

    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    static func jsonLine(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
