/// One tagged item of Apple's media access protocol: how RAOP carries titles
/// (`Protocols/airplay/README.md`, “Metadata”).
public struct DMAPItem: Sendable, Hashable {
    /// Four ASCII characters.
    public var tag: String
    public var value: Value

    public enum Value: Sendable, Hashable {
        /// Of a tag that is not known to be a container: the bytes as they came.
        case bytes([UInt8])
        case container([DMAPItem])
    }

    public init(_ tag: String, _ bytes: [UInt8]) {
        self.tag = tag
        value = .bytes(bytes)
    }

    public init(_ tag: String, _ text: String) { self.init(tag, Array(text.utf8)) }

    public init(_ tag: String, _ number: some FixedWidthInteger) {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(number)
        self.init(tag, bytes)
    }

    public init(_ tag: String, _ items: [DMAPItem]) {
        self.tag = tag
        value = .container(items)
    }

    public var text: String? {
        guard case .bytes(let bytes) = value else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A number of 1 to 8 bytes.
    public var number: UInt64? {
        guard case .bytes(let bytes) = value, (1...8).contains(bytes.count) else { return nil }
        return bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The first item of that tag inside a container.
    public subscript(tag: String) -> DMAPItem? {
        guard case .container(let items) = value else { return nil }
        return items.first { $0.tag == tag }
    }

    public func encoded() -> [UInt8] {
        let content: [UInt8] =
            switch value {
            case .bytes(let bytes): bytes
            case .container(let items): items.flatMap { $0.encoded() }
            }
        var bytes = Array(tag.utf8.prefix(4))
        bytes += [UInt8](repeating: 0x20, count: 4 - bytes.count)
        bytes.appendBigEndian(UInt32(content.count))
        return bytes + content
    }
}

public enum DMAPDecodingError: Error, Sendable, Hashable {
    case tooLong(limit: Int)
    case tooDeep(limit: Int)
    case tooManyItems(limit: Int)
    /// An item says it is longer than what holds it.
    case truncated
    case malformedTag
}

/// Reads DMAP from a whole body.
public struct DMAPDecoder: Sendable {
    public struct Limits: Sendable, Hashable {
        public var bytes: Int
        public var depth: Int
        public var items: Int

        public init(bytes: Int = 1024 * 1024, depth: Int = 8, items: Int = 4096) {
            self.bytes = bytes
            self.depth = depth
            self.items = items
        }
    }

    /// Tags whose value is a list of items.
    public static let containerTags: Set<String> = [
        "mlit", "mlcl", "mcon", "mdcl", "msrv", "adbs", "cmst", "cmgt", "casp",
    ]

    public var limits: Limits

    public init(limits: Limits = Limits()) { self.limits = limits }

    public func decode(_ bytes: [UInt8]) throws(DMAPDecodingError) -> [DMAPItem] {
        guard bytes.count <= limits.bytes else { throw .tooLong(limit: limits.bytes) }
        var count = 0
        return try items(bytes[...], depth: 1, count: &count)
    }

    private func items(
        _ bytes: ArraySlice<UInt8>, depth: Int, count: inout Int
    ) throws(DMAPDecodingError) -> [DMAPItem] {
        guard depth <= limits.depth else { throw .tooDeep(limit: limits.depth) }
        var items: [DMAPItem] = []
        var rest = bytes
        while !rest.isEmpty {
            guard rest.count >= 8 else { throw .truncated }
            count += 1
            guard count <= limits.items else { throw .tooManyItems(limit: limits.items) }
            let tagBytes = rest.prefix(4)
            guard tagBytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { throw .malformedTag }
            let tag = String(decoding: tagBytes, as: UTF8.self)
            let length = rest.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | Int($1) }
            let content = rest.dropFirst(8)
            guard length <= content.count else { throw .truncated }
            let value = content.prefix(length)
            if Self.containerTags.contains(tag) {
                items.append(DMAPItem(tag, try self.items(value, depth: depth + 1, count: &count)))
            } else {
                items.append(DMAPItem(tag, Array(value)))
            }
            rest = content.dropFirst(length)
        }
        return items
    }
}
