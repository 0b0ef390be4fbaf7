/// One frame of a data stream of type 130, inside the frames of its cipher (`Protocols/mrp`, “Frames”).
public struct MRPFrame: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// Carries messages, and is to be answered.
        case sync
        /// The answer: of the same number, and empty as a rule.
        case reply
        /// Four letters that are not known; passed over.
        case other(String)
    }

    /// Bytes of the header, which the length in it counts too.
    public static let headerLength = 32
    /// Bytes of a frame; artwork is the largest thing in use.
    public static let maximumLength = 4 * 1024 * 1024

    public var kind: Kind
    public var sequence: UInt64
    /// A property list, or nothing.
    public var payload: [UInt8]

    public init(kind: Kind, sequence: UInt64, payload: [UInt8] = []) {
        self.kind = kind
        self.sequence = sequence
        self.payload = payload
    }

    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headerLength + payload.count)
        bytes.appendBigEndian(UInt32(Self.headerLength + payload.count))
        let (type, command): (String, String?) =
            switch kind {
            case .sync: ("sync", "comm")
            case .reply: ("rply", nil)
            case .other(let letters): (letters, nil)
            }
        bytes += Self.filled(type, to: 12)
        bytes += Self.filled(command ?? "", to: 4)
        bytes.appendBigEndian(sequence)
        bytes.appendBigEndian(UInt32(0))
        return bytes + payload
    }

    private static func filled(_ text: String, to count: Int) -> [UInt8] {
        let bytes = Array(text.utf8.prefix(count))
        return bytes + [UInt8](repeating: 0, count: count - bytes.count)
    }

    /// The first frame of `bytes` and how many bytes it took; nil while it isn't whole.
    public static func decode(_ bytes: ArraySlice<UInt8>) throws(MRPDecodingError) -> (frame: MRPFrame, used: Int)? {
        guard bytes.count >= 4 else { return nil }
        let length = Int(number(bytes.prefix(4)))
        guard length >= headerLength else { throw .frameTooShort(length) }
        guard length <= maximumLength else { throw .frameTooLong(length) }
        guard bytes.count >= length else { return nil }
        let frame = bytes.prefix(length)
        let letters = String(decoding: frame.dropFirst(4).prefix { $0 != 0 }.prefix(12), as: UTF8.self)
        let kind: Kind =
            switch letters.prefix(4) {
            case "sync": .sync
            case "rply": .reply
            default: .other(letters)
            }
        return (
            MRPFrame(
                kind: kind, sequence: number(frame.dropFirst(20).prefix(8)),
                payload: Array(frame.dropFirst(headerLength))), length
        )
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// Why bytes of a data stream mean nothing. The stream is of no use after one of a frame.
public enum MRPDecodingError: Error, Sendable, Hashable {
    case frameTooShort(Int)
    case frameTooLong(Int)
    /// The payload is no property list with `params.data`.
    case malformedPayload
    /// A length inside it points beyond its end, or is no number.
    case malformedLength
    case tooManyMessages(limit: Int)
    /// No message, or one without a type.
    case malformedMessage
}
