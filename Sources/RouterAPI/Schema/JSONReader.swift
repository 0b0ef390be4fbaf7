/// Reads a JSON document (RFC 8259) with a strict eye: one document, no key twice, no unpaired surrogate, and no deeper
/// than `maximumDepth`.
struct JSONReader {
    /// Objects and arrays inside each other.
    static let maximumDepth = 32

    struct Failure: Error, Equatable {
        var message: String
        /// Bytes before the place.
        var offset: Int
    }

    private let bytes: [UInt8]
    private var at = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Throws `Failure`.
    static func read(_ bytes: [UInt8]) throws -> JSONValue {
        var reader = JSONReader(bytes)
        // A byte order mark is no part of JSON.
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.at == bytes.count else { throw reader.failure("there is something after the document") }
        return value
    }

    private func failure(_ message: String) -> Failure { Failure(message: message, offset: at) }

    private mutating func skipSpace() {
        while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) { at += 1 }
    }

    private mutating func take(_ byte: Character) -> Bool {
        guard at < bytes.count, bytes[at] == byte.asciiValue else { return false }
        at += 1
        return true
    }

    private mutating func word(_ text: StaticString, _ value: JSONValue) throws -> JSONValue {
        let wanted = text.withUTF8Buffer { Array($0) }
        guard bytes[at...].starts(with: wanted) else { throw failure("a value is expected") }
        at += wanted.count
        return value
    }

    private mutating func value(depth: Int) throws -> JSONValue {
        guard depth <= Self.maximumDepth else {
            throw failure("objects and arrays are more than \(Self.maximumDepth) deep")
        }
        skipSpace()
        guard at < bytes.count else { throw failure("the document ends too early") }
        switch bytes[at] {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func object(depth: Int) throws -> JSONValue {
        at += 1
        var fields: [String: JSONValue] = [:]
        skipSpace()
        if take("}") { return .object(fields) }
        repeat {
            skipSpace()
            guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { throw failure("a key is expected") }
            let key = try string()
            skipSpace()
            guard take(":") else { throw failure("a colon is expected") }
            guard fields.updateValue(try value(depth: depth + 1), forKey: key) == nil else {
                throw failure("the key “\(key.prefix(64))” stands twice")
            }
            skipSpace()
        } while take(",")
        guard take("}") else { throw failure("a comma or } is expected") }
        return .object(fields)
    }

    private mutating func array(depth: Int) throws -> JSONValue {
        at += 1
        var values: [JSONValue] = []
        skipSpace()
        if take("]") { return .array(values) }
        repeat {
            values.append(try value(depth: depth + 1))
            skipSpace()
        } while take(",")
        guard take("]") else { throw failure("a comma or ] is expected") }
        return .array(values)
    }

    private mutating func digits() -> Int {
        let start = at
        while at < bytes.count, (0x30...0x39).contains(bytes[at]) { at += 1 }
        return at - start
    }

    private mutating func number() throws -> Double {
        let start = at
        _ = take("-")
        let first = at
        let whole = digits()
        guard whole > 0 else { throw failure("a value is expected") }
        guard whole == 1 || bytes[first] != 0x30 else { throw failure("a number begins with 0") }
        if take("."), digits() == 0 { throw failure("digits are expected") }
        if take("e") || take("E") {
            _ = take("+") || take("-")
            guard digits() > 0 else { throw failure("digits are expected") }
        }
        guard let number = Double(String(decoding: bytes[start..<at], as: UTF8.self)), number.isFinite else {
            throw failure("the number is too large")
        }
        return number
    }

    private mutating func string() throws -> String {
        at += 1
        var text: [UInt8] = []
        while true {
            guard at < bytes.count else { throw failure("a string has no end") }
            let byte = bytes[at]
            switch byte {
            case UInt8(ascii: "\""):
                at += 1
                guard let string = String(validating: text, as: UTF8.self) else {
                    throw failure("a string is not UTF-8")
                }
                return string
            case UInt8(ascii: "\\"):
                at += 1
                text += Array(String(try escape()).utf8)
            case 0..<0x20: throw failure("a control character stands in a string")
            default:
                text.append(byte)
                at += 1
            }
        }
    }

    private mutating func escape() throws -> Unicode.Scalar {
        guard at < bytes.count else { throw failure("a string has no end") }
        let byte = bytes[at]
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let high = try unit()
            if let scalar = Unicode.Scalar(high) { return scalar }
            // A pair of surrogates (RFC 8259, section 7).
            guard high < 0xDC00, take("\\"), take("u") else { throw failure("a surrogate stands alone") }
            let low = try unit()
            guard (0xDC00...0xDFFF).contains(low),
                let scalar = Unicode.Scalar(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
            else { throw failure("a surrogate stands alone") }
            return scalar
        default: throw failure("there is no such escape")
        }
    }

    private mutating func unit() throws -> UInt32 {
        guard at + 4 <= bytes.count, bytes[at..<(at + 4)].allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let unit = UInt32(String(decoding: bytes[at..<(at + 4)], as: UTF8.self), radix: 16)
        else { throw failure("four hexadecimal digits are expected") }
        at += 4
        return unit
    }
}
