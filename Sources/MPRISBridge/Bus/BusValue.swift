/// A value as it goes over the bus, with its type: what MPRIS uses, and no more.
indirect enum BusValue: Sendable, Hashable {
    case boolean(Bool)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    /// An object's path.
    case path(String)
    case strings([String])
    case paths([String])
    /// `a{sv}`.
    case dictionary([String: BusValue])
    case dictionaries([[String: BusValue]])
    case variant(BusValue)
    /// Of another type than these, or too large: passed over in reading, never written.
    case other(String)

    var signature: String {
        switch self {
        case .boolean: "b"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .path: "o"
        case .strings: "as"
        case .paths: "ao"
        case .dictionary: "a{sv}"
        case .dictionaries: "aa{sv}"
        case .variant: "v"
        case .other(let signature): signature
        }
    }
}

extension BusValue {
    /// The text of a string or a path.
    var text: String? {
        switch self {
        case .string(let text), .path(let text): text
        case .variant(let inner): inner.text
        default: nil
        }
    }

    /// A list of texts; one text is a list of one, as some players write it.
    var texts: [String] {
        switch self {
        case .strings(let texts), .paths(let texts): texts
        case .variant(let inner): inner.texts
        default: text.map { [$0] } ?? []
        }
    }

    /// Any number, as some players write another type than they should. Nil where it is none or not finite.
    var number: Double? {
        switch self {
        case .int32(let value): Double(value)
        case .uint32(let value): Double(value)
        case .int64(let value): Double(value)
        case .uint64(let value): Double(value)
        case .double(let value): value.isFinite ? value : nil
        case .variant(let inner): inner.number
        default: nil
        }
    }

    var flag: Bool? {
        switch self {
        case .boolean(let value): value
        case .variant(let inner): inner.flag
        default: nil
        }
    }

    var fields: [String: BusValue] {
        switch self {
        case .dictionary(let fields): fields
        case .variant(let inner): inner.fields
        default: [:]
        }
    }
}
