/// Writes the binary form: equal strings once, keys in order, so that equal lists give equal bytes.
struct BinaryPropertyListWriter {
    private enum Object {
        case scalar([UInt8])
        case array([Int])
        case dictionary(keys: [Int], items: [Int])
    }

    private var objects: [Object] = []
    private var strings: [String: Int] = [:]

    mutating func write(_ list: PropertyList) -> [UInt8] {
        let root = add(list)
        let referenceSize = Self.size(of: objects.count)
        var bytes = BinaryPropertyListReader.magic
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            switch object {
            case .scalar(let scalar): bytes += scalar
            case .array(let items):
                bytes += Self.head(0xA0, count: items.count)
                for item in items { bytes += Self.number(item, size: referenceSize) }
            case .dictionary(let keys, let items):
                bytes += Self.head(0xD0, count: keys.count)
                for reference in keys + items { bytes += Self.number(reference, size: referenceSize) }
            }
        }
        let table = bytes.count
        let offsetSize = Self.size(of: table)
        for offset in offsets { bytes += Self.number(offset, size: offsetSize) }
        bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
        for number in [objects.count, root, table] { bytes += Self.number(number, size: 8) }
        return bytes
    }

    private mutating func add(_ list: PropertyList) -> Int {
        if case .string(let text) = list, let known = strings[text] { return known }
        let index = objects.count
        objects.append(.scalar([]))
        switch list {
        case .bool(let value): objects[index] = .scalar([value ? 0x09 : 0x08])
        case .integer(let value): objects[index] = .scalar(Self.integer(value))
        case .real(let value): objects[index] = .scalar([0x23] + Self.bits(value))
        case .date(let value): objects[index] = .scalar([0x33] + Self.bits(value))
        case .data(let value): objects[index] = .scalar(Self.head(0x40, count: value.count) + value)
        case .string(let text):
            strings[text] = index
            objects[index] = .scalar(Self.string(text))
        case .array(let items):
            var references: [Int] = []
            for item in items { references.append(add(item)) }
            objects[index] = .array(references)
        case .dictionary(let items):
            let sorted = items.sorted { $0.key < $1.key }
            var keys: [Int] = []
            var references: [Int] = []
            for item in sorted { keys.append(add(.string(item.key))) }
            for item in sorted { references.append(add(item.value)) }
            objects[index] = .dictionary(keys: keys, items: references)
        }
        return index
    }

    private static func string(_ text: String) -> [UInt8] {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return head(0x50, count: text.utf8.count) + text.utf8 }
        let units = Array(text.utf16)
        return head(0x60, count: units.count) + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }

    /// Negative numbers take 8 bytes: shorter ones have no sign.
    private static func integer(_ value: Int64) -> [UInt8] {
        switch value {
        case 0...0xFF: [0x10, UInt8(value)]
        case 0x100...0xFFFF: [0x11] + number(Int(value), size: 2)
        case 0x1_0000...0xFFFF_FFFF: [0x12] + number(Int(value), size: 4)
        default: [0x13] + number(Int(value), size: 8)
        }
    }

    private static func head(_ kind: UInt8, count: Int) -> [UInt8] {
        count < 15 ? [kind | UInt8(count)] : [kind | 0x0F] + integer(Int64(count))
    }

    private static func bits(_ value: Double) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(value.bitPattern)
        return bytes
    }

    private static func number(_ value: Int, size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: value >> ((size - 1 - $0) * 8)) }
    }

    /// Bytes that hold every index below a count.
    private static func size(of count: Int) -> Int {
        switch count {
        case ...0xFF: 1
        case ...0xFFFF: 2
        case ...0xFFFF_FFFF: 4
        default: 8
        }
    }
}
