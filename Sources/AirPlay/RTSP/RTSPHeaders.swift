/// Header fields of an RTSP or HTTP message: in order, names compared without regard to case.
public struct RTSPHeaders: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    public struct Field: Sendable, Hashable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    public private(set) var fields: [Field]

    public init(_ fields: [Field] = []) { self.fields = fields }

    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The first field of that name. Setting replaces all fields of that name; nil removes them.
    public subscript(name: String) -> String? {
        get { fields.first { Self.same($0.name, name) }?.value }
        set {
            guard let newValue else {
                fields.removeAll { Self.same($0.name, name) }
                return
            }
            if let index = fields.firstIndex(where: { Self.same($0.name, name) }) {
                fields[index].value = newValue
                let kept = index
                var position = -1
                fields.removeAll { field in
                    position += 1
                    return position != kept && Self.same(field.name, name)
                }
            } else {
                fields.append(Field(name: name, value: newValue))
            }
        }
    }

    /// All fields of that name: a receiver may send several `WWW-Authenticate`.
    public func all(_ name: String) -> [String] {
        fields.filter { Self.same($0.name, name) }.map(\.value)
    }

    public mutating func add(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }

    private static func same(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count
            && zip(left.utf8, right.utf8).allSatisfy { lowerCase($0) == lowerCase($1) }
    }

    private static func lowerCase(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte | 0x20 : byte }

    /// Appends the fields as lines. A line break inside a value would begin a field of its own, so it becomes a space.
    func encode(into bytes: inout [UInt8]) {
        for field in fields {
            bytes += field.name.utf8
            bytes += [0x3A, 0x20]
            bytes += field.value.utf8.map { $0 == 0x0D || $0 == 0x0A ? 0x20 : $0 }
            bytes += [0x0D, 0x0A]
        }
    }
}
