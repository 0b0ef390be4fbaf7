import GRDB
import RouteModel

extension RouterStore {
    public func endpointFailures() async throws -> [EndpointFailure] {
        try await read("read what failed before") { db in
            try Row.fetchAll(db, sql: "SELECT * FROM endpointFailure ORDER BY endpoint").map { row in
                EndpointFailure(
                    endpoint: EndpointID(rawValue: row["endpoint"]), firmware: row["firmware"],
                    code: RouterError.Code(rawValue: row["code"]), message: row["message"])
            }
        }
    }

    public func rememberFailure(_ failure: EndpointFailure) async throws {
        try await write("remember a failure") { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO endpointFailure (endpoint, firmware, code, message) VALUES (?, ?, ?, ?)",
                arguments: [
                    failure.endpoint.rawValue, failure.firmware, failure.code.rawValue, failure.message,
                ])
        }
    }

    public func forgetFailure(of endpoint: EndpointID) async throws {
        try await write("forget a failure") { db in
            try db.execute(sql: "DELETE FROM endpointFailure WHERE endpoint = ?", arguments: [endpoint.rawValue])
        }
    }

    public func learn(_ fact: String, value: String, endpoint: EndpointID, firmware: String?) async throws {
        try await write("remember a fact of a device") { db in
            try db.execute(
                sql: """
                    INSERT INTO learnt (endpoint, firmware, fact, value) VALUES (?, ?, ?, ?)
                    ON CONFLICT (endpoint, firmware, fact) DO UPDATE SET value = excluded.value
                    """, arguments: [endpoint.rawValue, firmware ?? "", fact, value])
        }
    }

    public func learnt(endpoint: EndpointID, firmware: String?) async throws -> [String: String] {
        try await read("read what was learnt of a device") { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT fact, value FROM learnt WHERE endpoint = ? AND firmware = ?",
                arguments: [endpoint.rawValue, firmware ?? ""])
            return Dictionary(uniqueKeysWithValues: rows.map { ($0["fact"] as String, $0["value"] as String) })
        }
    }
}
