/// Reads the binary form (`Protocols/airplay/README.md`, “Property lists”). Pure; every length and reference is checked
/// before it is followed.
///
/// One object may be referred to many times, so a few bytes can stand for a list without end: what is counted against
/// the limits is the list as it unfolds, not the bytes.
struct BinaryPropertyListReader {
    static let magic = Array("bplist00".utf8)
    private static let trailerLength = 32

    private let bytes: [UInt8]
    private let offsetSize: Int
    private let referenceSize: Int
    private let objectCount: Int
    private let offsetTable: Int
    private let root: Int
    private var values = 0
    private var payload = 0

    init(_ bytes: [UInt8]) throws(PropertyListError) {
        let trailer = bytes.count - Self.trailerLength
        guard trailer >= Self.magic.count, bytes.starts(with: Self.magic) else { throw .malformed }
        self.bytes = bytes
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let count = Self.number(bytes[(trailer + 8)..<(trailer + 16)]),
            let root = Self.number(bytes[(trailer + 16)..<(trailer + 24)]),
            let table = Self.number(bytes[(trailer + 24)..<(trailer + 32)]),
            count > 0, root < count, table >= Self.magic.count, table <= trailer,
            count <= (trailer - table) / offsetSize
        else { throw .malformed }
        objectCount = count
        self.root = root
        offsetTable = table
    }

    mutating func read() throws(PropertyListError) -> PropertyList { try object(root, depth: 0) }

    private mutating func object(_ index: Int, depth: Int) throws(PropertyListError) -> PropertyList {
        guard depth < PropertyList.maximumDepth else { throw .tooDeep }
        values += 1
        guard values <= PropertyList.maximumValues else { throw .tooManyValues }
        guard index < objectCount else { throw .malformed }
        let entry = offsetTable + index * offsetSize
        guard let offset = Self.number(bytes[entry..<(entry + offsetSize)]), offset >= Self.magic.count,
            offset < offsetTable
        else { throw .malformed }
        let (kind, low) = (bytes[offset] >> 4, Int(bytes[offset] & 0x0F))
        switch kind {
        case 0x0 where low == 8: return .bool(false)
        case 0x0 where low == 9: return .bool(true)
        case 0x1: return .integer(try integer(try body(after: offset, 1 << low)))
        case 0x2 where low == 2:
            return .real(Double(Float(bitPattern: UInt32(try bits(try body(after: offset, 4))))))
        case 0x2 where low == 3: return .real(Double(bitPattern: try bits(try body(after: offset, 8))))
        case 0x3 where low == 3: return .date(Double(bitPattern: try bits(try body(after: offset, 8))))
        case 0x4:
            let (start, count) = try length(at: offset)
            return .data(Array(try spend(start, count)))
        case 0x5:
            let (start, count) = try length(at: offset)
            return .string(String(decoding: try spend(start, count), as: UTF8.self))
        case 0x6:
            let (start, count) = try length(at: offset)
            guard count <= bytes.count / 2 else { throw .malformed }
            let units = try spend(start, count * 2)
            return .string(
                String(
                    decoding: stride(from: units.startIndex, to: units.endIndex, by: 2).map {
                        UInt16(units[$0]) << 8 | UInt16(units[$0 + 1])
                    }, as: UTF16.self))
        case 0xA:
            let (start, count) = try length(at: offset)
            var items: [PropertyList] = []
            for reference in try references(start, count) { items.append(try object(reference, depth: depth + 1)) }
            return .array(items)
        case 0xD:
            let (start, count) = try length(at: offset)
            let keys = try references(start, count)
            let items = try references(start + count * referenceSize, count)
            var dictionary: [String: PropertyList] = [:]
            for (key, item) in zip(keys, items) {
                guard case .string(let name) = try object(key, depth: depth + 1) else { throw .malformed }
                dictionary[name] = try object(item, depth: depth + 1)
            }
            return .dictionary(dictionary)
        default: throw .malformed
        }
    }

    /// Where an object's content begins and how many elements it has: in the low half of its first byte, or, where that
    /// is 15, as an integer behind it.
    private func length(at offset: Int) throws(PropertyListError) -> (start: Int, count: Int) {
        let low = Int(bytes[offset] & 0x0F)
        guard low == 15 else { return (offset + 1, low) }
        guard offset + 1 < offsetTable, bytes[offset + 1] >> 4 == 1 else { throw .malformed }
        let size = 1 << Int(bytes[offset + 1] & 0x0F)
        guard size <= 8, let count = Self.number(try body(after: offset + 1, size)), count <= bytes.count else {
            throw .malformed
        }
        return (offset + 2 + size, count)
    }

    private func body(after offset: Int, _ count: Int) throws(PropertyListError) -> ArraySlice<UInt8> {
        try slice(offset + 1, count)
    }

    private func slice(_ start: Int, _ count: Int) throws(PropertyListError) -> ArraySlice<UInt8> {
        guard count >= 0, start <= offsetTable, count <= offsetTable - start else { throw .malformed }
        return bytes[start..<(start + count)]
    }

    /// Bytes that are copied out.
    private mutating func spend(_ start: Int, _ count: Int) throws(PropertyListError) -> ArraySlice<UInt8> {
        let slice = try slice(start, count)
        payload += count
        guard payload <= PropertyList.maximumLength else { throw .tooLong(payload) }
        return slice
    }

    private func references(_ start: Int, _ count: Int) throws(PropertyListError) -> [Int] {
        // Before anything is allocated for them.
        guard count <= PropertyList.maximumValues else { throw .tooManyValues }
        let slice = try slice(start, count * referenceSize)
        var result: [Int] = []
        result.reserveCapacity(count)
        for index in stride(from: slice.startIndex, to: slice.endIndex, by: referenceSize) {
            guard let reference = Self.number(slice[index..<(index + referenceSize)]) else { throw .malformed }
            result.append(reference)
        }
        return result
    }

    /// Of 1, 2 and 4 bytes without a sign, of 8 with one; of 16 what fits into 64 bits either way.
    private func integer(_ bytes: ArraySlice<UInt8>) throws(PropertyListError) -> Int64 {
        switch bytes.count {
        case 1, 2, 4, 8: return Int64(bitPattern: try bits(bytes))
        case 16:
            let (high, low) = (try bits(bytes.prefix(8)), try bits(bytes.suffix(8)))
            guard high == 0 || (high == .max && low >> 63 == 1) else { throw .integerOutOfRange }
            return Int64(bitPattern: low)
        default: throw .malformed
        }
    }

    private func bits(_ bytes: ArraySlice<UInt8>) throws(PropertyListError) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Nil where it is no index.
    private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
        Int(exactly: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
