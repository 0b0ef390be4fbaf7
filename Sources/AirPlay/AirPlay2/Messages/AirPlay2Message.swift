/// A body that is a binary property list (`Protocols/airplay/README.md`, “AirPlay 2 messages”). Encoded by one side and
/// decoded by the other; keys that aren't known are passed over.
public protocol AirPlay2Message: Sendable, Hashable {
    /// Throws where a key that must be there is missing, or one is of a wrong type or out of range.
    init(_ list: PropertyList) throws(AirPlay2MessageError)
    var propertyList: PropertyList { get }
}

extension AirPlay2Message {
    public init(body: [UInt8]) throws(AirPlay2MessageError) {
        let list: PropertyList
        do { list = try PropertyList(parsing: body) } catch { throw .notAPropertyList(error) }
        try self.init(list)
    }

    public var body: [UInt8] { propertyList.encoded() }
}

extension PropertyList {
    /// The `Content-Type` of the binary form.
    public static let contentType = "application/x-apple-binary-plist"
}

/// Why a body is not the message that it should be. It holds no value of it.
public enum AirPlay2MessageError: Error, Sendable, Hashable {
    case notAPropertyList(PropertyListError)
    /// It is a list, but not one of keys, or not one of items.
    case wrongShape
    case missing(key: String)
    case wrongType(key: String)
    case outOfRange(key: String)
    case tooMany(key: String, limit: Int)
}

/// Takes values out of a dictionary by key: nil where a key is missing, an error where it is of another type.
struct PropertyListFields {
    private let items: [String: PropertyList]

    init(_ list: PropertyList) throws(AirPlay2MessageError) {
        guard case .dictionary(let items) = list else { throw .wrongShape }
        self.items = items
    }

    func has(_ key: String) -> Bool { items[key] != nil }

    func string(_ key: String) throws(AirPlay2MessageError) -> String? { try value(key, \.string) }
    func real(_ key: String) throws(AirPlay2MessageError) -> Double? {
        guard let value = try value(key, \.real) else { return nil }
        guard value.isFinite else { throw .outOfRange(key: key) }
        return value
    }
    func bool(_ key: String) throws(AirPlay2MessageError) -> Bool? { try value(key, \.bool) }
    func data(_ key: String) throws(AirPlay2MessageError) -> [UInt8]? { try value(key, \.data) }
    func integer(_ key: String) throws(AirPlay2MessageError) -> Int64? { try value(key, \.integer) }

    /// Of 64 bits, however signed.
    func bits(_ key: String) throws(AirPlay2MessageError) -> UInt64? {
        try integer(key).map { UInt64(bitPattern: $0) }
    }

    /// Of 32 bits; some write them as signed.
    func uint32(_ key: String) throws(AirPlay2MessageError) -> UInt32? {
        guard let value = try integer(key) else { return nil }
        guard (Int64(Int32.min)...Int64(UInt32.max)).contains(value) else { throw .outOfRange(key: key) }
        return UInt32(truncatingIfNeeded: value)
    }

    func integer(_ key: String, in range: ClosedRange<Int64>) throws(AirPlay2MessageError) -> Int? {
        guard let value = try integer(key) else { return nil }
        guard range.contains(value) else { throw .outOfRange(key: key) }
        return Int(value)
    }

    /// Of 16 bits; some write them as signed. Nil too where it is 0, which means none.
    func port(_ key: String) throws(AirPlay2MessageError) -> Int? {
        guard let item = items[key] else { return nil }
        guard item.integer != nil else { throw .wrongType(key: key) }
        guard let port = item.port else { throw .outOfRange(key: key) }
        return port == 0 ? nil : port
    }

    func array(_ key: String, limit: Int) throws(AirPlay2MessageError) -> [PropertyList]? {
        guard let array = try value(key, \.array) else { return nil }
        guard array.count <= limit else { throw .tooMany(key: key, limit: limit) }
        return array
    }

    func strings(_ key: String, limit: Int) throws(AirPlay2MessageError) -> [String]? {
        guard let array = try array(key, limit: limit) else { return nil }
        var strings: [String] = []
        for item in array {
            guard let string = item.string else { throw .wrongType(key: key) }
            strings.append(string)
        }
        return strings
    }

    func list(_ key: String) -> PropertyList? { items[key] }

    private func value<Value>(
        _ key: String, _ path: KeyPath<PropertyList, Value?>
    ) throws(AirPlay2MessageError) -> Value? {
        guard let item = items[key] else { return nil }
        guard let value = item[keyPath: path] else { throw .wrongType(key: key) }
        return value
    }
}

/// What must be there.
func required<Value>(_ key: String, _ value: Value?) throws(AirPlay2MessageError) -> Value {
    guard let value else { throw .missing(key: key) }
    return value
}

/// Collects what there is to say.
struct PropertyListBuilder {
    private(set) var items: [String: PropertyList] = [:]

    subscript(key: String) -> PropertyList? {
        get { items[key] }
        set { items[key] = newValue }
    }

    mutating func set(_ key: String, _ value: String?) { if let value { items[key] = .string(value) } }
    mutating func set(_ key: String, _ value: Int?) { if let value { items[key] = .integer(Int64(value)) } }
    mutating func set(_ key: String, _ value: UInt32?) { if let value { items[key] = .integer(Int64(value)) } }
    mutating func set(_ key: String, bits value: UInt64?) {
        if let value { items[key] = .integer(Int64(bitPattern: value)) }
    }
    mutating func set(_ key: String, _ value: Double?) { if let value { items[key] = .real(value) } }
    mutating func set(_ key: String, _ value: Bool?) { if let value { items[key] = .bool(value) } }
    mutating func set(_ key: String, _ value: [UInt8]?) { if let value { items[key] = .data(value) } }
    mutating func set(_ key: String, _ value: [String]?) {
        if let value { items[key] = .array(value.map { .string($0) }) }
    }

    var list: PropertyList { .dictionary(items) }
}
