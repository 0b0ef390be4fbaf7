import Foundation
import GRDB
import RouteModel

/// Rooms and groups that commands made.
extension RouterStore {
    public func rooms() async throws -> [Room] { try await contents("room", of: Room.self, doing: "read the rooms") }

    public func saveRoom(_ room: Room, replacing name: String?) async throws {
        let content = try text(room, doing: "save a room")
        try await write("save a room") { db in
            if let name, name != room.name {
                try db.execute(sql: "DELETE FROM room WHERE name = ?", arguments: [name])
            }
            try db.execute(
                sql: "INSERT OR REPLACE INTO room (name, content) VALUES (?, ?)", arguments: [room.name, content])
        }
    }

    public func removeRoom(_ name: String) async throws {
        try await write("remove a room") { db in
            try db.execute(sql: "DELETE FROM room WHERE name = ?", arguments: [name])
        }
    }

    public func roomGroups() async throws -> [RoomGroup] {
        try await contents("roomGroup", of: RoomGroup.self, doing: "read the groups")
    }

    public func saveRoomGroup(_ group: RoomGroup) async throws {
        let content = try text(group, doing: "save a group")
        try await write("save a group") { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO roomGroup (name, content) VALUES (?, ?)",
                arguments: [group.name, content])
        }
    }

    public func removeRoomGroup(_ name: String) async throws {
        try await write("remove a group") { db in
            try db.execute(sql: "DELETE FROM roomGroup WHERE name = ?", arguments: [name])
        }
    }

    /// What a later version wrote in a form that is not known here is passed over.
    private func contents<Value: Decodable & Sendable>(
        _ table: String, of type: Value.Type, doing what: String
    ) async throws -> [Value] {
        let texts = try await read(what) { db in
            try String.fetchAll(db, sql: "SELECT content FROM \(table) ORDER BY name")
        }
        return texts.compactMap { try? JSONDecoder().decode(Value.self, from: Data($0.utf8)) }
    }

    private func text(_ value: some Encodable, doing what: String) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        } catch {
            throw RouterError.storage(
                StoreFault.content("it has no JSON form"), doing: what, path: file?.path)
        }
    }
}
