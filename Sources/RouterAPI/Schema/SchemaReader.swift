import RouteModel

/// Reads the schema of a type from the way it decodes itself, so that the document can never say anything else.
///
/// A type is decoded from an imaginary document that has every field; what it asks for is what it is made of. Named
/// types become components of the document.
final class SchemaReader {
    /// What an imaginary value is and looks like.
    struct Sample<Value> {
        var schema: JSONSchema
        var value: Value
    }

    /// A type of which no sample can be made: a defect of the product, found by the test of the document.
    struct Unreadable: Error, CustomStringConvertible {
        var description: String
    }

    private(set) var components: [String: JSONSchema] = [:]
    private var samples: [ObjectIdentifier: Any] = [:]
    /// What is being read: a type that asks for itself would never end.
    private var underWay: Set<ObjectIdentifier> = []

    func schema<Value: Decodable>(of type: Value.Type) throws -> JSONSchema { try sample(of: type).schema }

    func sample<Value: Decodable>(of type: Value.Type) throws -> Sample<Value> {
        if let sample = SchemaTable.samples[ObjectIdentifier(type)] {
            guard let value = sample.value as? Value else { throw Unreadable(description: "\(type) in the table") }
            return Sample(schema: sample.schema, value: value)
        }
        if let list = type as? any ReadableList.Type {
            guard let value = list.init() as? Value else { throw Unreadable(description: "\(type)") }
            return Sample(schema: try list.schema(by: self), value: value)
        }
        if let identifier = type as? any StringIdentifier.Type {
            guard let value = identifier.init(rawValue: "x") as? Value else { throw Unreadable(description: "\(type)") }
            return Sample(schema: .string(lengths: nil), value: value)
        }
        if let words = type as? any CaseIterable.Type, let cases = Self.words(words) {
            guard let value = cases.first?.value as? Value else { throw Unreadable(description: "\(type)") }
            return Sample(schema: .words(cases.map(\.word)), value: value)
        }
        let name = Self.name(of: type)
        if let value = samples[ObjectIdentifier(type)] as? Value {
            return Sample(schema: .reference(name), value: value)
        }
        guard underWay.insert(ObjectIdentifier(type)).inserted else {
            throw Unreadable(description: "\(type) asks for itself: give it a sample in SchemaTable")
        }
        defer { underWay.remove(ObjectIdentifier(type)) }
        let (schema, value) = try readComponent(type)
        // A type that is one bare value needs no name.
        guard let schema else { return try Sample(schema: bare(type), value: value) }
        components[name] = schema
        samples[ObjectIdentifier(type)] = value
        return Sample(schema: .reference(name), value: value)
    }

    private func readComponent<Value: Decodable>(_ type: Value.Type) throws -> (JSONSchema?, Value) {
        guard let tagged = type as? any TaggedCodable.Type else {
            let reading = Reading(self)
            let value = try type.init(from: reading)
            guard reading.single == nil else { return (nil, value) }
            let refined = (type as? any RefinedSchema.Type)?.refinements ?? [:]
            let properties = reading.properties.map {
                JSONSchema.Property($0.name, refined[$0.name] ?? $0.schema, required: $0.required)
            }
            return (.object(properties), value)
        }
        let refined = (type as? any RefinedSchema.Type)?.refinements ?? [:]
        var variants: [JSONSchema.Variant] = []
        var first: Value?
        for tag in tagged.tags {
            let reading = Reading(self, tag: tag)
            let value = try type.init(from: reading)
            first = first ?? value
            let properties = reading.properties.filter { $0.name != "type" }.map {
                JSONSchema.Property($0.name, refined["\(tag).\($0.name)"] ?? $0.schema, required: $0.required)
            }
            variants.append(JSONSchema.Variant(tag, properties))
        }
        guard let first else { throw Unreadable(description: "\(type) has no tags") }
        return (.tagged(variants), first)
    }

    private func bare<Value: Decodable>(_ type: Value.Type) throws -> JSONSchema {
        let reading = Reading(self)
        _ = try type.init(from: reading)
        guard let schema = reading.single else { throw Unreadable(description: "\(type)") }
        return schema
    }

    private static func words(_ type: any CaseIterable.Type) -> [(word: String, value: Any)]? {
        func all<Words: CaseIterable>(_ type: Words.Type) -> [(word: String, value: Any)]? {
            let words = type.allCases.compactMap { value in
                ((value as? any RawRepresentable)?.rawValue as? String).map { (word: $0, value: value as Any) }
            }
            return words.isEmpty ? nil : words
        }
        return all(type)
    }

    /// `RouterError.Scope` is `RouterErrorScope`.
    static func name(of type: any Any.Type) -> String {
        String(reflecting: type).split(separator: ".").dropFirst().joined()
    }
}

/// Lists and maps, which are asked for by their elements.
private protocol ReadableList {
    init()
    static func schema(by reader: SchemaReader) throws -> JSONSchema
}

extension Array: ReadableList where Element: Decodable {
    fileprivate static func schema(by reader: SchemaReader) throws -> JSONSchema {
        .array(try reader.schema(of: Element.self), atMost: nil)
    }
}

extension Dictionary: ReadableList where Key == String, Value: Decodable {
    fileprivate static func schema(by reader: SchemaReader) throws -> JSONSchema {
        .map(try reader.schema(of: Value.self))
    }
}

/// One value being read.
private final class Reading: Decoder {
    let reader: SchemaReader
    let tag: String?
    var properties: [JSONSchema.Property] = []
    var single: JSONSchema?
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ reader: SchemaReader, tag: String? = nil) {
        self.reader = reader
        self.tag = tag
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Fields<Key>(reading: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw SchemaReader.Unreadable(description: "a list without a type of its own")
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { Single(reading: self) }

    /// A field is asked for.
    func read<Value: Decodable>(_ type: Value.Type, _ key: any CodingKey, required: Bool) throws -> Value {
        if key.stringValue == "type", let tag = tag as? Value { return tag }
        let sample = try reader.sample(of: type)
        if !properties.contains(where: { $0.name == key.stringValue }) {
            properties.append(JSONSchema.Property(key.stringValue, sample.schema, required: required))
        }
        return sample.value
    }

    private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let reading: Reading
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        func contains(_ key: Key) -> Bool { true }
        func decodeNil(forKey key: Key) throws -> Bool { false }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try reading.read(type, key, required: true)
        }
        func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
            try reading.read(type, key, required: true)
        }
        func decode(_ type: String.Type, forKey key: Key) throws -> String {
            try reading.read(type, key, required: true)
        }
        func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
            try reading.read(type, key, required: true)
        }
        func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try reading.read(type, key, required: true) }
        func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
            try reading.read(type, key, required: true)
        }
        func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
            try reading.read(type, key, required: false)
        }
        func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
            try reading.read(type, key, required: false)
        }
        func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
            try reading.read(type, key, required: false)
        }
        func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
            try reading.read(type, key, required: false)
        }
        func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
            try reading.read(type, key, required: false)
        }
        func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
            try reading.read(type, key, required: false)
        }
        func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
            try reading.read(type, key, required: false)
        }
        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> {
            throw SchemaReader.Unreadable(description: "“\(key.stringValue)” has no type of its own")
        }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            throw SchemaReader.Unreadable(description: "“\(key.stringValue)” has no type of its own")
        }
        func superDecoder() throws -> any Decoder { reading }
        func superDecoder(forKey key: Key) throws -> any Decoder { reading }
    }

    private struct Single: SingleValueDecodingContainer {
        let reading: Reading
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { false }
        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            let sample = try reading.reader.sample(of: type)
            reading.single = sample.schema
            return sample.value
        }
        func decode(_ type: Bool.Type) throws -> Bool { try any(type) }
        func decode(_ type: String.Type) throws -> String { try any(type) }
        func decode(_ type: Double.Type) throws -> Double { try any(type) }
        func decode(_ type: Int.Type) throws -> Int { try any(type) }
        func decode(_ type: Int64.Type) throws -> Int64 { try any(type) }

        private func any<Value: Decodable>(_ type: Value.Type) throws -> Value {
            let sample = try reading.reader.sample(of: type)
            reading.single = sample.schema
            return sample.value
        }
    }
}
