import GRDB
import RouteModel

/// The keys by which devices are known, and what a person was told once and is not told again.
extension RouterStore {
    /// The fingerprint that a device is known by, as its backend names both; nil for one that was never seen.
    public func pin(of device: String) async throws -> String? {
        try await read("read the key of a device") { db in
            try String.fetchOne(db, sql: "SELECT fingerprint FROM pin WHERE device = ?", arguments: [device])
        }
    }

    public func savePin(_ fingerprint: String, of device: String) async throws {
        try await write("keep the key of a device") { db in
            try db.execute(
                sql: """
                    INSERT INTO pin (device, fingerprint) VALUES (?, ?)
                    ON CONFLICT (device) DO UPDATE SET fingerprint = excluded.fingerprint
                    """, arguments: [device, fingerprint])
        }
    }

    public func forgetRoute(_ id: RouteID?, name: String) async throws -> Bool {
        try await write("forget a device") { db in
            // Names are compared here: the database knows the case of ASCII letters only.
            let routes = try Row.fetchAll(db, sql: "SELECT id, name FROM route").filter { row in
                row["id"] as String == id?.rawValue || (row["name"] as String).lowercased() == name.lowercased()
            }.map { $0["id"] as String }
            for route in routes {
                try db.execute(
                    sql: "DELETE FROM pin WHERE device IN (SELECT kind || ':' || value FROM routeKey WHERE route = ?)",
                    arguments: [route])
                try db.execute(sql: "DELETE FROM volume WHERE route = ?", arguments: [route])
                try db.execute(sql: "DELETE FROM lastLevel WHERE route = ?", arguments: [route])
                try db.execute(sql: "DELETE FROM routeKey WHERE route = ?", arguments: [route])
                try db.execute(sql: "DELETE FROM route WHERE id = ?", arguments: [route])
            }
            return !routes.isEmpty
        }
    }

    /// Notes that a person is told something; true only for the first who asks, in whatever process.
    public func tellOnce(_ what: String) async throws -> Bool {
        try await write("remember what was told") { db in
            try db.execute(sql: "INSERT OR IGNORE INTO told (what) VALUES (?)", arguments: [what])
            return db.changesCount > 0
        }
    }
}
