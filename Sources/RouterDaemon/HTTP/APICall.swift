import HTTPTypes
import RouteModel
import RouterAPI

/// One request of a client that was let in, read as far as the route table goes.
struct APICall: Sendable {
    let operation: APIOperation
    /// The values of the path, in order.
    let values: [String]
    let query: [String: [String]]
    let fields: HTTPFields
    let body: [UInt8]
    let client: ServiceClient
    private let reader: RequestReader

    /// Throws `requestInvalid` for a parameter that the operation does not have, or that is not what it should be.
    init(
        operation: APIOperation, values: [String], query: String, fields: HTTPFields, body: [UInt8],
        client: ServiceClient, reader: RequestReader
    ) throws {
        self.operation = operation
        self.values = values
        self.fields = fields
        self.body = body
        self.client = client
        self.reader = reader
        self.query = try Self.parsed(query)
        let known = operation.parameters
        var places = 0
        for parameter in known {
            switch parameter.place {
            case .path:
                try reader.check([values[places]], of: parameter)
                places += 1
            case .query: try reader.check(list(parameter.name), of: parameter)
            case .header:
                let given = HTTPField.Name(parameter.name).flatMap { fields[$0] }
                try reader.check(given.map { [$0] } ?? [], of: parameter)
            }
        }
        for name in self.query.keys.sorted() where !known.contains(where: { $0.place == .query && $0.name == name }) {
            throw Self.invalid("there is no parameter “\(name.prefix(64))” here")
        }
    }

    func body<Value: Decodable>(_ type: Value.Type) throws -> Value { try reader.body(type, of: operation, body) }

    /// The value of a query's parameter.
    func value(_ name: String) -> String? { query[name]?.last }

    /// All values of a query's parameter; those of “topics” are separated by commas.
    func list(_ name: String) -> [String] {
        let values = query[name] ?? []
        return name == "topics" ? values.flatMap { $0.split(separator: ",").map(String.init) } : values
    }

    func flag(_ name: String) -> Bool { value(name) == "true" }
    func number(_ name: String) -> Int? { value(name).flatMap { Int($0) } }

    /// The session that the path names; nil for the only one.
    var session: SessionID? { values[0] == RouterClient.onlySession ? nil : SessionID(rawValue: values[0]) }

    /// The version that the change is meant for. Throws `requestInvalid`.
    func version() throws -> Int? {
        guard let text = fields[.ifMatch] else { return nil }
        if text == "*" { return nil }
        var bare = text[...]
        if bare.hasPrefix("W/") { bare = bare.dropFirst(2) }
        if bare.count >= 2, bare.hasPrefix("\""), bare.hasSuffix("\"") { bare = bare.dropFirst().dropLast() }
        guard let version = Int(bare), version >= 0 else {
            throw Self.invalid("If-Match must be the entity tag of a queue, such as \"12\"")
        }
        return version
    }

    private static func parsed(_ query: String) throws -> [String: [String]] {
        var result: [String: [String]] = [:]
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let plain = pair.map { RequestText.decoded($0.replacing("+", with: " ")) }
            guard let name = plain[0], let value = plain.count > 1 ? plain[1] : "" else {
                throw invalid("the query is not percent-encoded as it should be")
            }
            result[name, default: []].append(value)
        }
        return result
    }

    static func invalid(_ message: String) -> RouterError {
        RouterError(
            .requestInvalid, message, hint: "See /api/v1/openapi.json for what is asked for", scope: .command,
            retry: .afterUserAction)
    }
}
