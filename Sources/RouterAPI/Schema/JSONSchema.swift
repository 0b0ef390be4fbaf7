/// The part of JSON Schema (2020-12) that the API's types need: read from the types by `SchemaReader`, written into the
/// OpenAPI document, and what a request's body is checked by before it is decoded.
public indirect enum JSONSchema: Sendable, Hashable {
    case anything
    case boolean
    case integer(ClosedRange<Int>?)
    /// Seconds, levels and rates.
    case number(ClosedRange<Double>?)
    /// Lengths are in Unicode scalars.
    case string(lengths: ClosedRange<Int>?)
    case words([String])
    case array(JSONSchema, atMost: Int?)
    /// Any keys, each with a value like this.
    case map(JSONSchema)
    case object([Property])
    /// One of several objects, told apart by `type`.
    case tagged([Variant])
    /// One of several objects, told apart by their keys.
    case choice([JSONSchema])
    /// A named schema of the document.
    case reference(String)

    public struct Property: Sendable, Hashable {
        public var name: String
        public var schema: JSONSchema
        public var required: Bool

        public init(_ name: String, _ schema: JSONSchema, required: Bool = true) {
            self.name = name
            self.schema = schema
            self.required = required
        }
    }

    public struct Variant: Sendable, Hashable {
        public var tag: String
        public var properties: [Property]

        public init(_ tag: String, _ properties: [Property] = []) {
            self.tag = tag
            self.properties = properties
        }
    }

    /// As it stands in the document.
    var document: JSONValue {
        switch self {
        case .anything: [:]
        case .boolean: ["type": "boolean"]
        case .integer(let range):
            Self.bounded("integer", range.map { (Double($0.lowerBound), Double($0.upperBound)) })
        case .number(let range): Self.bounded("number", range.map { ($0.lowerBound, $0.upperBound) })
        case .string(let lengths):
            lengths.map {
                [
                    "type": "string", "minLength": .number(Double($0.lowerBound)),
                    "maxLength": .number(Double($0.upperBound)),
                ]
            } ?? ["type": "string"]
        case .words(let words): ["type": "string", "enum": .array(words.map { .string($0) })]
        case .array(let element, let most):
            most.map { ["type": "array", "items": element.document, "maxItems": .number(Double($0))] }
                ?? ["type": "array", "items": element.document]
        case .map(let value): ["type": "object", "additionalProperties": value.document]
        case .object(let properties): Self.object(properties, tag: nil)
        case .tagged(let variants):
            ["oneOf": .array(variants.map { Self.object($0.properties, tag: $0.tag) })]
        case .choice(let choices): ["oneOf": .array(choices.map(\.document))]
        case .reference(let name): ["$ref": .string("#/components/schemas/\(name)")]
        }
    }

    private static func bounded(_ type: String, _ range: (Double, Double)?) -> JSONValue {
        guard let range else { return ["type": .string(type)] }
        return ["type": .string(type), "minimum": .number(range.0), "maximum": .number(range.1)]
    }

    private static func object(_ properties: [Property], tag: String?) -> JSONValue {
        var fields = Dictionary(
            properties.map { ($0.name, $0.schema.document) }, uniquingKeysWith: { first, _ in first })
        var required = properties.filter(\.required).map(\.name)
        if let tag {
            fields["type"] = ["type": "string", "const": .string(tag)]
            required.insert("type", at: 0)
        }
        var result: [String: JSONValue] = [
            "type": "object", "properties": .object(fields), "additionalProperties": false,
        ]
        if !required.isEmpty { result["required"] = .array(required.map { .string($0) }) }
        return .object(result)
    }
}
