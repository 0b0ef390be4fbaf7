/// Type-length-value items of pairing (`Protocols/pairing/README.md`, “TLV8”).
///
/// A value longer than 255 bytes travels as several items of one type in a row, which are one item here. Items keep
/// their order.
public struct TLV8: Sendable, Hashable {
    public struct Item: Sendable, Hashable {
        public var tag: Tag
        public var value: [UInt8]

        public init(_ tag: Tag, _ value: [UInt8]) {
            self.tag = tag
            self.value = value
        }
    }

    public var items: [Item]

    public init(_ items: [Item] = []) { self.items = items }

    /// The first value of that type; nil where there is none.
    public subscript(tag: Tag) -> [UInt8]? { items.first { $0.tag == tag }?.value }

    /// A value of one byte; nil where there is none, or it is of another length.
    public func byte(_ tag: Tag) -> UInt8? { self[tag].flatMap { $0.count == 1 ? $0[0] : nil } }

    /// Bytes at most that a message may have: a certificate and what goes with it are well below.
    public static let maximumLength = 65_536

    /// Throws `tooLong` and `truncated`.
    public init(parsing bytes: some Collection<UInt8>) throws(TLV8Error) {
        guard bytes.count <= Self.maximumLength else { throw .tooLong(bytes.count) }
        let bytes = Array(bytes)
        var items: [Item] = []
        var position = 0
        /// The item before was full: one of the same type goes on with it.
        var open = false
        while position < bytes.count {
            guard position + 2 <= bytes.count else { throw .truncated(at: position) }
            let tag = Tag(rawValue: bytes[position])
            let length = Int(bytes[position + 1])
            guard position + 2 + length <= bytes.count else { throw .truncated(at: position) }
            let value = bytes[(position + 2)..<(position + 2 + length)]
            if open, let last = items.indices.last, items[last].tag == tag {
                items[last].value += value
            } else {
                items.append(Item(tag, Array(value)))
            }
            open = length == 255
            position += 2 + length
        }
        self.items = items
    }

    public func encoded() -> [UInt8] {
        var result: [UInt8] = []
        for item in items {
            var rest = item.value[...]
            repeat {
                let part = rest.prefix(255)
                result.append(item.tag.rawValue)
                result.append(UInt8(part.count))
                result += part
                rest = rest.dropFirst(part.count)
            } while !rest.isEmpty
        }
        return result
    }

    /// The type of an item.
    public struct Tag: RawRepresentable, Sendable, Hashable {
        public var rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let method = Tag(rawValue: 0)
        public static let identifier = Tag(rawValue: 1)
        public static let salt = Tag(rawValue: 2)
        public static let publicKey = Tag(rawValue: 3)
        public static let proof = Tag(rawValue: 4)
        public static let encryptedData = Tag(rawValue: 5)
        public static let state = Tag(rawValue: 6)
        public static let error = Tag(rawValue: 7)
        /// Seconds, little-endian.
        public static let retryDelay = Tag(rawValue: 8)
        public static let certificate = Tag(rawValue: 9)
        public static let signature = Tag(rawValue: 10)
        public static let permissions = Tag(rawValue: 11)
        public static let fragmentData = Tag(rawValue: 12)
        public static let fragmentLast = Tag(rawValue: 13)
        public static let flags = Tag(rawValue: 19)
        public static let separator = Tag(rawValue: 255)
    }
}

/// Why bytes are no TLV8.
public enum TLV8Error: Error, Sendable, Hashable {
    case tooLong(Int)
    /// An item that goes on beyond the end.
    case truncated(at: Int)
}
