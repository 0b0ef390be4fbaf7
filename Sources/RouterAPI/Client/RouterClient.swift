import RouteModel

/// A router that is a daemon in another process: commands go there, and its state and events come back.
///
/// It holds no connection but while something is asked. Where no daemon answers, everything throws `daemonUnavailable`.
public struct RouterClient: Sendable {
    public let place: RouterPlace
    let token: APIToken?

    public init(_ place: RouterPlace, token: APIToken? = nil) {
        self.place = place
        self.token = token
    }

    /// How the daemon is doing. Throws `daemonUnavailable` where there is none.
    public func status() async throws -> DaemonStatus { try await call(.getStatus) }

    public func capabilities() async throws -> APICapabilities { try await call(.getCapabilities) }

    /// What the daemon has logged of late, oldest first.
    ///
    /// - Parameters:
    ///   - component: a glob: `CastV2*`.
    ///   - level: the least severe that is given.
    ///   - limit: 1 to 1,000.
    public func logs(component: String? = nil, level: String? = nil, limit: Int = 200) async throws -> [LogLine] {
        var query = [("limit", String(limit))]
        if let component { query.append(("component", component)) }
        if let level { query.append(("level", level)) }
        return try await call(.getLogs, query: query)
    }

    /// Any request by its method and path, as `router api` makes it: the status and the body, whatever they are.
    ///
    /// Throws `daemonUnavailable`.
    public func send(method: String, path: String, body: [UInt8]? = nil) async throws -> (status: Int, body: [UInt8]) {
        var request = HTTPExchange.Request(method: method.uppercased(), path: path, body: body)
        // A daemon takes a write without a body only from who says what it would be: a page of another site cannot.
        let writes = body != nil || !["GET", "HEAD"].contains(request.method)
        request.fields = fields(writes ? [("Content-Type", "application/json")] : [])
        let (head, bytes) = try await HTTPExchange(place: place).answer(request)
        return (head.status, bytes)
    }

    // MARK: Calls

    func call<Value: Decodable>(
        _ id: OperationID, _ values: [String] = [], query: [(String, String)] = [], body: (any Encodable)? = nil,
        fields: [(String, String)] = []
    ) async throws -> Value {
        let bytes = try await exchange(id, values, query: query, body: body, fields: fields)
        do {
            return try APIJSON.decode(Value.self, from: bytes)
        } catch {
            throw RouterError(
                .protocolViolation, "the daemon's answer to \(id.rawValue) cannot be read",
                hint: "Run the daemon and this command in the same version", causes: [String(describing: error)])
        }
    }

    func ask(
        _ id: OperationID, _ values: [String] = [], query: [(String, String)] = [], body: (any Encodable)? = nil
    ) async throws {
        _ = try await exchange(id, values, query: query, body: body, fields: [])
    }

    private func exchange(
        _ id: OperationID, _ values: [String], query: [(String, String)], body: (any Encodable)?,
        fields: [(String, String)]
    ) async throws -> [UInt8] {
        guard let operation = RouteTable.operation(id) else {
            throw RouterError(.internal, "there is no operation \(id.rawValue)")
        }
        let query = query.map { "\($0.0)=\(RequestText.encoded($0.1))" }.joined(separator: "&")
        var request = HTTPExchange.Request(
            method: operation.method, path: operation.path(values) + (query.isEmpty ? "" : "?" + query))
        request.fields = self.fields(fields)
        if let body {
            request.body = Array(try APIJSON.encode(body))
            request.fields.append((name: "Content-Type", value: "application/json"))
        }
        let (head, bytes) = try await HTTPExchange(place: place).answer(request)
        guard (200..<300).contains(head.status) else { throw Self.error(head, bytes) }
        return bytes
    }

    func fields(_ more: [(String, String)]) -> [(name: String, value: String)] {
        var fields = more.map { (name: $0.0, value: $0.1) }
        if let token { fields.append((name: "Authorization", value: "Bearer \(token.revealed)")) }
        return fields
    }

    /// The daemon's error as it was thrown there; a stranger's answer by its status.
    static func error(_ head: HTTPExchange.Head, _ body: [UInt8]) -> RouterError {
        if let problem = try? APIJSON.decode(Problem.self, from: body) { return problem.error }
        return RouterError(
            .protocolViolation, "what answers there is no router's daemon (status \(head.status))",
            hint: "Check the address given with --host", retry: .afterUserAction)
    }
}
