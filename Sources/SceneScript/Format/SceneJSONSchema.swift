import Foundation

/// The format as a JSON schema (draft 2020-12), for editors that complete and check YAML by one. Made of `SceneShape`,
/// which the parser goes by too; what one schema cannot say (names, conditions, bounds of loops) is the parser's alone.
public enum SceneJSONSchema {
    /// The document, as `Protocols/api/scene.schema.json` holds it.
    public static func document() throws -> String {
        var definitions: [String: Value] = [:]
        for shape in SceneShape.allCases { definitions[shape.rawValue] = object(shape) }
        definitions["steps"] = .object([
            "type": .text("array"), "minItems": .number(1), "items": reference("step"),
        ])
        let root: Value = .object([
            "$schema": .text("https://json-schema.org/draft/2020-12/schema"),
            "title": .text("A scene of the router, version 1"), "$ref": .text("#/$defs/scene"),
            "$defs": .object(definitions),
        ])
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(root), as: UTF8.self) + "\n"
    }

    private indirect enum Value: Encodable {
        case text(String)
        case number(Int)
        case boolean(Bool)
        case list([Value])
        case object([String: Value])

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .number(let number): try container.encode(number)
            case .boolean(let value): try container.encode(value)
            case .list(let values): try container.encode(values)
            case .object(let entries): try container.encode(entries)
            }
        }
    }

    private static func reference(_ name: String) -> Value { .object(["$ref": .text("#/$defs/\(name)")]) }

    private static func object(_ shape: SceneShape) -> Value {
        var properties: [String: Value] = [:]
        for field in shape.fields {
            var schema = schema(field.kind)
            if case .object(var entries) = schema {
                entries["description"] = .text(field.summary)
                schema = .object(entries)
            }
            properties[field.name] = schema
        }
        var result: [String: Value] = [
            "type": .text("object"), "properties": .object(properties), "additionalProperties": .boolean(false),
        ]
        let required = shape.fields.filter(\.required).map { Value.text($0.name) }
        if !required.isEmpty { result["required"] = .list(required) }
        if shape == .step {
            // Exactly one verb.
            result["oneOf"] = .list(
                SceneShape.verbs.map { .object(["required": .list([.text($0.name)])]) })
        }
        if shape == .policy || shape == .queue { result["maxProperties"] = .number(1) }
        return .object(result)
    }

    private static func pattern(_ pattern: String) -> Value {
        // A variable may stand for any value.
        .object(["type": .text("string"), "pattern": .text("^(?:\(pattern)|\\$[A-Za-z][A-Za-z0-9_-]*)$")])
    }

    private static let duration = "(?: ?[0-9.]+(?:h|min|m|s|ms))+"
    private static let level = "[0-9.]+%"

    private static func schema(_ kind: SceneKind) -> Value {
        switch kind {
        case .text, .media, .condition: .object(["type": .list([.text("string"), .text("number")])])
        case .name, .target: .object(["type": .text("string"), "pattern": .text("^[A-Za-z][A-Za-z0-9_-]*$")])
        case .boolean: .object(["anyOf": .list([.object(["type": .text("boolean")]), pattern("true|false")])])
        case .duration: pattern(duration)
        case .offset: pattern("[+-]?\(duration)")
        case .level: pattern(level)
        case .change: pattern("[+-]\(level)")
        case .nothing: .object(["type": .text("null")])
        case .steps: reference("steps")
        case .number(let range):
            .object([
                "anyOf": .list([
                    .object([
                        "type": .text("integer"), "minimum": .number(range.lowerBound),
                        "maximum": .number(range.upperBound),
                    ]), pattern("[0-9]+"),
                ])
            ])
        case .choice(let names):
            // What another reader of YAML takes for a number is one for its editor too.
            .object([
                "enum": .list(names.flatMap { name in [Value.text(name)] + (Int(name).map { [.number($0)] } ?? []) })
            ])
        case .shape(let shape): reference(shape.rawValue)
        case .list(let kind): .object(["type": .text("array"), "minItems": .number(1), "items": schema(kind)])
        case .map(let kind): .object(["type": .text("object"), "additionalProperties": schema(kind)])
        case .either(let kinds): .object(["anyOf": .list(kinds.map(schema))])
        }
    }
}
