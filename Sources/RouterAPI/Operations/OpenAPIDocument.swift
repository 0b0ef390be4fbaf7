import Foundation
import RouteModel

/// The OpenAPI 3.1 document of the API, made from the route table and the types: `Protocols/api/openapi.json`.
public enum OpenAPIDocument {
    /// Every named type of the API. Throws `SchemaReader.Unreadable` for one that cannot be read.
    static func components() throws -> [String: JSONSchema] {
        let reader = SchemaReader()
        for operation in RouteTable.operations {
            if let request = operation.request { _ = try reader.schema(of: request) }
            if let response = operation.response { _ = try reader.schema(of: response) }
        }
        for payload in APIEvent.payloads { _ = try reader.schema(of: payload.type) }
        _ = try reader.schema(of: Problem.self)
        return reader.components
    }

    /// As text, the same each time.
    public static func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(try document()), as: UTF8.self) + "\n"
    }

    static func document() throws -> JSONValue {
        let reader = SchemaReader()
        var paths: [String: [String: JSONValue]] = [:]
        for operation in RouteTable.operations {
            paths[operation.path, default: [:]][operation.method.lowercased()] = try entry(operation, reader)
        }
        var events: [String: JSONValue] = [:]
        for payload in APIEvent.payloads { events[payload.name] = try reader.schema(of: payload.type).document }
        _ = try reader.schema(of: Problem.self)
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "router", "version": "1",
                "description": .string(
                    "Plays to AirPlay and Google Cast receivers as one system. Times are in seconds, levels from 0 "
                        + "to 1, instants in nanoseconds of the router's monotonic clock."),
            ],
            "paths": .object(paths.mapValues { .object($0) }),
            "components": [
                "schemas": .object(reader.components.mapValues(\.document)),
                "securitySchemes": ["token": ["type": "http", "scheme": "bearer"]],
            ],
            "security": [.object([:]), ["token": []]],
            // The data of each event of `followEvents`, by its name.
            "x-events": .object(events),
        ]
    }

    private static func entry(_ operation: APIOperation, _ reader: SchemaReader) throws -> JSONValue {
        var entry: [String: JSONValue] = [
            "operationId": .string(operation.id.rawValue), "summary": .string(operation.summary),
            "responses": .object(try responses(operation, reader)),
        ]
        if !operation.parameters.isEmpty { entry["parameters"] = .array(operation.parameters.map(parameter)) }
        if let request = operation.request {
            entry["requestBody"] = [
                "required": true,
                "content": ["application/json": ["schema": try reader.schema(of: request).document]],
            ]
        }
        return .object(entry)
    }

    private static func parameter(_ parameter: APIOperation.Parameter) -> JSONValue {
        var entry: [String: JSONValue] = [
            "name": .string(parameter.name), "in": .string(parameter.place.rawValue),
            "required": .bool(parameter.required), "schema": parameter.schema.document,
            "description": .string(parameter.summary),
        ]
        if parameter.name == "topics" {
            entry["style"] = "form"
            entry["explode"] = false
        }
        return .object(entry)
    }

    private static func responses(_ operation: APIOperation, _ reader: SchemaReader) throws -> [String: JSONValue] {
        var done: [String: JSONValue] = ["description": "Done."]
        if let response = operation.response {
            done["content"] = ["application/json": ["schema": try reader.schema(of: response).document]]
        } else if operation.contentType != "application/json" {
            let schema: JSONValue = operation.contentType.contains("json") ? ["type": "object"] : ["type": "string"]
            done["content"] = .object([operation.contentType: ["schema": schema]])
        }
        let problem: JSONValue = [
            "description": "What went wrong.",
            "content": ["application/problem+json": ["schema": try reader.schema(of: Problem.self).document]],
        ]
        var responses: [String: JSONValue] = [String(operation.status): .object(done), "default": problem]
        if operation.parameters.contains(where: { $0.name == "Prefer" }) {
            responses["202"] = [
                "description": "It goes on; ask for it at /api/v1/work/{id}.",
                "content": ["application/json": ["schema": try reader.schema(of: PendingWork.self).document]],
            ]
        }
        return responses
    }
}

/// Reads requests by the document: what is not in it is refused before anything is done.
public struct RequestReader: Sendable {
    private let components: [String: JSONSchema]
    private let schemas: [OperationID: JSONSchema]

    /// Throws `SchemaReader.Unreadable`.
    public init() throws {
        let reader = SchemaReader()
        var schemas: [OperationID: JSONSchema] = [:]
        for operation in RouteTable.operations {
            if let request = operation.request { schemas[operation.id] = try reader.schema(of: request) }
        }
        self.schemas = schemas
        components = reader.components
    }

    /// Throws `requestInvalid`, saying what is wrong and where.
    public func body<Value: Decodable>(_ type: Value.Type, of operation: APIOperation, _ bytes: [UInt8]) throws -> Value
    {
        let value: JSONValue
        do {
            value = try JSONReader.read(bytes)
        } catch let failure as JSONReader.Failure {
            throw Self.invalid("the body is no JSON: \(failure.message), at byte \(failure.offset)")
        }
        let check = SchemaCheck(components: components)
        if let schema = schemas[operation.id], let problem = check.problem(value, schema) {
            throw Self.invalid(problem)
        }
        do {
            return try APIJSON.decode(type, from: bytes)
        } catch {
            throw Self.invalid("the body cannot be read as \(type)")
        }
    }

    /// The value of a parameter as JSON would have it. Throws `requestInvalid`.
    public func check(_ values: [String], of parameter: APIOperation.Parameter) throws {
        if case .array(let element, let most) = parameter.schema {
            guard values.count <= most ?? .max else { throw Self.invalid("\(parameter.name) stands too often") }
            for value in values { try check(value, element, parameter.name) }
        } else {
            guard values.count <= 1 else { throw Self.invalid("\(parameter.name) stands twice") }
            for value in values { try check(value, parameter.schema, parameter.name) }
        }
        if parameter.required, values.isEmpty { throw Self.invalid("\(parameter.name) is missing") }
    }

    private func check(_ text: String, _ schema: JSONSchema, _ name: String) throws {
        let value: JSONValue =
            switch schema {
            case .boolean: text == "true" ? true : text == "false" ? false : .string(text)
            case .integer, .number: Int(text).map { .number(Double($0)) } ?? .string(text)
            default: .string(text)
            }
        if let problem = SchemaCheck(components: components).problem(value, schema, at: "“\(name)”") {
            throw Self.invalid(problem)
        }
    }

    static func invalid(_ message: String) -> RouterError {
        RouterError(
            .requestInvalid, message, hint: "See /api/v1/openapi.json for what is asked for", scope: .command,
            retry: .afterUserAction)
    }
}
