import GRDB
import RouteModel

extension RouterStore {
    public func route(forAnyOf keys: [StrongKey]) async throws -> RouteID? {
        try await read("look up a route") { db in
            // Keys come strongest first, and so does the answer where two of them name different routes.
            for key in keys {
                if let id = try String.fetchOne(
                    db, sql: "SELECT route FROM routeKey WHERE kind = ? AND value = ?",
                    arguments: [key.kind.rawValue, key.value])
                {
                    return RouteID(rawValue: id)
                }
            }
            return nil
        }
    }

    public func remember(route: RouteID, name: String, keys: [StrongKey]) async throws {
        try await write("remember a route") { db in
            try db.execute(
                sql: """
                    INSERT INTO route (id, name) VALUES (?, ?)
                    ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE name <> excluded.name
                    """, arguments: [route.rawValue, name])
            for key in keys {
                try db.execute(
                    sql: """
                        INSERT INTO routeKey (kind, value, route) VALUES (?, ?, ?)
                        ON CONFLICT (kind, value) DO UPDATE SET route = excluded.route WHERE route <> excluded.route
                        """, arguments: [key.kind.rawValue, key.value, route.rawValue])
            }
        }
    }

    public func volume(of route: RouteID) async throws -> VolumeState? {
        try await read("read a volume") { db in
            try Row.fetchOne(db, sql: "SELECT level, muted FROM volume WHERE route = ?", arguments: [route.rawValue])
                .map { VolumeState(level: VolumePosition($0["level"]), muted: $0["muted"]) }
        }
    }

    public func saveVolume(_ volume: VolumeState, of route: RouteID) async throws {
        try await write("save a volume") { db in
            try db.execute(
                sql: """
                    INSERT INTO volume (route, level, muted) VALUES (?, ?, ?)
                    ON CONFLICT (route) DO UPDATE SET level = excluded.level, muted = excluded.muted
                    """, arguments: [route.rawValue, volume.level.value, volume.muted])
        }
    }

    public func lastLevel(of route: RouteID) async throws -> VolumePosition? {
        try await read("read a volume") { db in
            try Double.fetchOne(db, sql: "SELECT level FROM lastLevel WHERE route = ?", arguments: [route.rawValue])
                .map { VolumePosition($0) }
        }
    }

    public func saveLastLevel(_ level: VolumePosition, of route: RouteID) async throws {
        try await write("save a volume") { db in
            try db.execute(
                sql: """
                    INSERT INTO lastLevel (route, level) VALUES (?, ?)
                    ON CONFLICT (route) DO UPDATE SET level = excluded.level
                    """, arguments: [route.rawValue, level.value])
        }
    }
}
