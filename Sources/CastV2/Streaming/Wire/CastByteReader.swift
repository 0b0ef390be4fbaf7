/// Takes big-endian numbers from the front of bytes; nil when there are too few left.
struct CastByteReader {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }
    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func byte() -> UInt8? { rest.popFirst() }
    mutating func uint16() -> UInt16? { number() }
    mutating func uint32() -> UInt32? { number() }
    mutating func uint64() -> UInt64? { number() }

    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    private mutating func number<Number: FixedWidthInteger>() -> Number? {
        bytes(Number.bitWidth / 8).map { $0.reduce(0) { $0 << 8 | Number($1) } }
    }
}

extension [UInt8] {
    mutating func appendBigEndian(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
