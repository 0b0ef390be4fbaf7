import Foundation

/// A JSON value as devices send it: read with tolerance, written exactly.
///
/// Receivers send numbers as strings, null where an object belongs and one object where a list belongs
/// (`Protocols/cast` section 5), so that the accessors convert what has an obvious meaning and give nil for the rest.
public enum CastJSON: Sendable, Hashable, Codable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([CastJSON])
    case object([String: CastJSON])

    /// Reads a text; nil where it is no JSON.
    public init?(text: String) {
        guard let value = try? JSONDecoder().decode(CastJSON.self, from: Data(text.utf8)) else { return nil }
        self = value
    }

    /// The value as one line, with the keys in order.
    public var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding fails for infinite numbers only, and `number(_:)` below lets none in.
        guard let data = try? encoder.encode(self) else { return "null" }
        return String(decoding: data, as: UTF8.self)
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let object = try? container.decode([String: CastJSON].self) {
            self = .object(object)
        } else if let array = try? container.decode([CastJSON].self) {
            self = .array(array)
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else {
            // A number that no Double holds: worth no more than a missing one, and the rest of the message stays.
            self = .null
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .number(let number):
            if number.isFinite { try container.encode(number) } else { try container.encodeNil() }
        case .string(let text): try container.encode(text)
        case .array(let array): try container.encode(array)
        case .object(let object): try container.encode(object)
        }
    }

    public subscript(key: String) -> CastJSON {
        if case .object(let object) = self { object[key] ?? .null } else { .null }
    }

    public var isNull: Bool { self == .null }

    /// The text of a string. Numbers give their digits, since ids come as both.
    public var string: String? {
        switch self {
        case .string(let text): text
        case .number(let number): int.map(String.init) ?? String(number)
        default: nil
        }
    }

    /// A finite number, also out of a string.
    public var double: Double? {
        switch self {
        case .number(let number): number.isFinite ? number : nil
        case .string(let text):
            Double(text.trimmingCharacters(in: .whitespaces)).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    /// A whole number, also out of a string; one with a fraction is cut.
    public var int: Int? { double.flatMap { Int(exactly: $0.rounded(.towardZero)) } }

    /// A truth value, also out of `"true"` or 1.
    public var bool: Bool? {
        switch self {
        case .bool(let bool): bool
        case .number(let number): number != 0
        case .string(let text):
            switch text.lowercased() {
            case "true", "1": true
            case "false", "0": false
            default: nil
            }
        default: nil
        }
    }

    /// The value, or nil for null: which is how devices say that there is none.
    public var present: CastJSON? {
        // A plain nil here would be the literal of this very type: a null that is there.
        isNull ? Optional<CastJSON>.none : .some(self)
    }

    /// Whole numbers of a list, without what is none; nil where there is no list.
    public var ints: [Int]? {
        if case .array(let array) = self { array.compactMap(\.int) } else { nil }
    }

    public var object: [String: CastJSON]? {
        if case .object(let object) = self { object } else { nil }
    }

    /// The elements of a list. One object that stands where a list belongs is a list of one.
    public var elements: [CastJSON] {
        switch self {
        case .array(let array): array
        case .object: [self]
        default: []
        }
    }
}

extension CastJSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(dictionaryLiteral elements: (String, CastJSON)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
    public init(arrayLiteral elements: CastJSON...) { self = .array(elements) }
    public init(nilLiteral: ()) { self = .null }
}

extension [String: CastJSON] {
    /// Sets a key where there is something to say: devices take a missing key better than a null.
    mutating func put(_ key: String, _ value: String?) { if let value { self[key] = .string(value) } }
    mutating func put(_ key: String, _ value: Int?) { if let value { self[key] = .number(Double(value)) } }
    mutating func put(_ key: String, _ value: Double?) { if let value { self[key] = .number(value) } }
    mutating func put(_ key: String, _ value: Bool?) { if let value { self[key] = .bool(value) } }
    mutating func put(_ key: String, _ value: [Int]?) {
        if let value { self[key] = .array(value.map { .number(Double($0)) }) }
    }
    mutating func put(_ key: String, _ value: CastJSON?) { if let value { self[key] = value } }
}
