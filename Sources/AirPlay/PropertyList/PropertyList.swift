import CPlist
import Glibc

/// A property list, as AirPlay 2 sends them in their binary form (`Protocols/airplay/README.md`, “Property lists”).
public indirect enum PropertyList: Sendable, Hashable {
    case dictionary([String: PropertyList])
    case array([PropertyList])
    case string(String)
    /// Unsigned 64-bit numbers above `Int64.max` are kept, and written, by their bits.
    case integer(Int64)
    case real(Double)
    case bool(Bool)
    case data([UInt8])
    /// Seconds since 2001-01-01, as Apple counts them.
    case date(Double)

    /// Bytes that may be read, of the list and of its strings and data together.
    public static let maximumLength = 4 << 20
    /// How deep lists may be in lists.
    public static let maximumDepth = 32
    /// Values in a list and all lists within it, keys counted.
    public static let maximumValues = 1 << 16

    /// Reads the binary form, and the XML one.
    public init(parsing bytes: [UInt8]) throws(PropertyListError) {
        guard bytes.count <= Self.maximumLength else { throw .tooLong(bytes.count) }
        if bytes.starts(with: BinaryPropertyListReader.magic) {
            var reader = try BinaryPropertyListReader(bytes)
            self = try reader.read()
        } else {
            self = try Self.readXML(bytes)
        }
    }

    /// The binary form. Equal lists give equal bytes.
    public func encoded() -> [UInt8] {
        var writer = BinaryPropertyListWriter()
        return writer.write(self)
    }

    private static func readXML(_ bytes: [UInt8]) throws(PropertyListError) -> PropertyList {
        try checkNesting(bytes)
        var root: plist_t?
        bytes.withUnsafeBytes { buffer in
            plist_from_xml(buffer.bindMemory(to: CChar.self).baseAddress, UInt32(bytes.count), &root)
        }
        guard let root else { throw .malformed }
        defer { plist_free(root) }
        return try read(root, depth: 0)
    }

    /// libplist goes down as deep as the text does, and frees what it read by recursion: so the depth is checked before.
    private static func checkNesting(_ bytes: [UInt8]) throws(PropertyListError) {
        guard bytes.first(where: { $0 > 0x20 }) == 0x3C else { throw .malformed }
        var depth = 0
        var elements = 0
        for index in bytes.indices where bytes[index] == 0x3C {
            elements += 1
            guard elements <= 2 * maximumValues else { throw .tooManyValues }
            let rest = bytes[(index + 1)...]
            if rest.starts(with: "array".utf8) || rest.starts(with: "dict".utf8) {
                // `<dict/>` has nothing in it.
                guard let end = rest.firstIndex(of: 0x3E), bytes[end - 1] != 0x2F else { continue }
                depth += 1
                guard depth <= maximumDepth else { throw .tooDeep }
            } else if rest.starts(with: "/array".utf8) || rest.starts(with: "/dict".utf8) {
                depth -= 1
            }
        }
    }

    private static func read(_ node: plist_t, depth: Int) throws(PropertyListError) -> PropertyList {
        guard depth < maximumDepth else { throw .tooDeep }
        switch plist_get_node_type(node) {
        case PLIST_BOOLEAN:
            var value: UInt8 = 0
            plist_get_bool_val(node, &value)
            return .bool(value != 0)
        case PLIST_UINT:
            var value: UInt64 = 0
            plist_get_uint_val(node, &value)
            return .integer(Int64(bitPattern: value))
        case PLIST_REAL:
            var value = 0.0
            plist_get_real_val(node, &value)
            return .real(value)
        case PLIST_STRING:
            var length: UInt64 = 0
            guard let text = plist_get_string_ptr(node, &length) else { throw .malformed }
            let bytes = UnsafeRawBufferPointer(start: text, count: Int(length))
            return .string(String(decoding: bytes, as: UTF8.self))
        case PLIST_DATA:
            var length: UInt64 = 0
            guard let data = plist_get_data_ptr(node, &length) else { return .data([]) }
            return .data(Array(UnsafeRawBufferPointer(start: data, count: Int(length))))
        case PLIST_DATE:
            var (seconds, microseconds): (Int32, Int32) = (0, 0)
            plist_get_date_val(node, &seconds, &microseconds)
            return .date(Double(seconds) + Double(microseconds) / 1_000_000)
        case PLIST_ARRAY:
            var items: [PropertyList] = []
            for index in 0..<plist_array_get_size(node) {
                guard let item = plist_array_get_item(node, index) else { throw .malformed }
                items.append(try read(item, depth: depth + 1))
            }
            return .array(items)
        case PLIST_DICT:
            var items: [String: PropertyList] = [:]
            var iterator: plist_dict_iter?
            plist_dict_new_iter(node, &iterator)
            defer { free(iterator) }
            while true {
                var key: UnsafeMutablePointer<CChar>?
                var value: plist_t?
                plist_dict_next_item(node, iterator, &key, &value)
                guard let key else { break }
                defer { free(key) }
                guard let value else { throw .malformed }
                items[String(cString: key)] = try read(value, depth: depth + 1)
            }
            return .dictionary(items)
        default: throw .malformed
        }
    }
}

/// Why bytes are no property list.
public enum PropertyListError: Error, Sendable, Hashable {
    case tooLong(Int)
    case malformed
    case tooDeep
    case tooManyValues
    /// Of more than 64 bits.
    case integerOutOfRange
}

extension PropertyList {
    /// The value of a key; nil where there is none, or this is no dictionary.
    public subscript(key: String) -> PropertyList? {
        guard case .dictionary(let items) = self else { return nil }
        return items[key]
    }

    public var array: [PropertyList]? {
        guard case .array(let items) = self else { return nil }
        return items
    }

    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// Of an integer, or a real without a fraction.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .real(let value): Int64(exactly: value)
        default: nil
        }
    }

    public var real: Double? {
        switch self {
        case .real(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }

    /// Of a bool, or 0 and 1.
    public var bool: Bool? {
        switch self {
        case .bool(let value): value
        case .integer(0): false
        case .integer(1): true
        default: nil
        }
    }

    public var data: [UInt8]? {
        guard case .data(let bytes) = self else { return nil }
        return bytes
    }

    /// A port: some receivers send them as signed 16-bit numbers. Nil where it is none.
    public var port: Int? {
        guard let value = integer, (-32_768...65_535).contains(value) else { return nil }
        return Int(value & 0xFFFF)
    }
}
