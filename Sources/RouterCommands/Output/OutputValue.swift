import Foundation

/// What is printed, as a document of names and values: where `--fields`, `--format` and YAML look things up.
indirect enum OutputValue: Sendable, Equatable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([OutputValue])
    case object([String: OutputValue])

    /// A value as its JSON has it.
    init(of value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        // A bare text or number is no document to every decoder.
        self = try JSONDecoder().decode([OutputValue].self, from: encoder.encode([value])).first ?? .null
    }

    /// What stands at a path such as `queue.items.0.id`; nil where there is nothing.
    func value(at path: some Sequence<Substring>) -> OutputValue? {
        var here = self
        for name in path {
            switch here {
            case .object(let fields):
                guard let next = fields[String(name)] else { return nil }
                here = next
            case .list(let values):
                guard let index = Int(name), values.indices.contains(index) else { return nil }
                here = values[index]
            default: return nil
            }
        }
        return here
    }

    /// For a cell or a line: text as it is, a list with commas, an object as JSON.
    var line: String {
        switch self {
        case .null: ""
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .number(let value): value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
        case .text(let value): value
        case .list(let values): values.map(\.line).joined(separator: ", ")
        case .object: (try? Renderer.jsonLine(self)) ?? ""
        }
    }
}

extension OutputValue: Codable {
    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Key.self) {
            var fields: [String: OutputValue] = [:]
            for key in container.allKeys {
                fields[key.stringValue] = try container.decode(OutputValue.self, forKey: key)
            }
            self = .object(fields)
        } else if var container = try? decoder.unkeyedContainer() {
            var values: [OutputValue] = []
            while !container.isAtEnd { values.append(try container.decode(OutputValue.self)) }
            self = .list(values)
        } else {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .boolean(value)
            } else if let value = try? container.decode(Int64.self) {
                // Nanoseconds have more digits than a floating-point number keeps.
                self = .integer(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let fields):
            var container = encoder.container(keyedBy: Key.self)
            for (name, value) in fields { try container.encode(value, forKey: Key(stringValue: name)) }
        case .list(let values):
            var container = encoder.unkeyedContainer()
            for value in values { try container.encode(value) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .boolean(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .number(let value): try container.encode(value)
            case .text(let value): try container.encode(value)
            case .null, .list, .object: try container.encodeNil()
            }
        }
    }
}
