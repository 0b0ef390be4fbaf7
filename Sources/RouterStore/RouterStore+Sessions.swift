import Foundation
import GRDB
import RouteModel

extension RouterStore {
    /// How many queues are kept beside those of sessions that may be rejoined. A finished queue stays until then.
    static let keptQueues = 50

    // MARK: - Queues

    public func saveQueue(_ queue: QueueSnapshot, session: SessionID) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let rows: [(item: String, content: String)]
        let details: String
        do {
            details = try Self.text(QueueDetails(repeatMode: queue.repeatMode, original: queue.original), encoder)
            rows = try queue.items.map { ($0.id.rawValue, String(decoding: try encoder.encode($0), as: UTF8.self)) }
        } catch {
            throw RouterError.storage(
                StoreFault.content("an item has no JSON form"), doing: "save a queue", path: file?.path)
        }
        let name = session.rawValue
        try await write("save a queue") { db in
            try db.execute(
                sql: """
                    INSERT INTO queue (session, version, current, saved, details)
                    VALUES (?, ?, ?, (SELECT IFNULL(MAX(saved), 0) + 1 FROM queue), ?)
                    ON CONFLICT (session) DO UPDATE
                    SET version = excluded.version, current = excluded.current, saved = excluded.saved,
                        details = excluded.details
                    """, arguments: [name, queue.version, queue.current?.rawValue, details])
            // A queue is saved at each step through it: only what differs is written.
            let kept = try String.fetchAll(
                db, sql: "SELECT content FROM queueItem WHERE session = ? ORDER BY place", arguments: [name])
            for (place, row) in rows.enumerated() where place >= kept.count || kept[place] != row.content {
                try db.execute(
                    sql: "INSERT OR REPLACE INTO queueItem (session, place, item, content) VALUES (?, ?, ?, ?)",
                    arguments: [name, place, row.item, row.content])
            }
            if kept.count > rows.count {
                try db.execute(
                    sql: "DELETE FROM queueItem WHERE session = ? AND place >= ?", arguments: [name, rows.count])
            }
            try Self.dropOldQueues(db)
        }
    }

    /// Lets go of the oldest queues, with the media tokens of their items.
    private static func dropOldQueues(_ db: Database) throws {
        let old = try String.fetchAll(
            db,
            sql: """
                SELECT session FROM queue WHERE session NOT IN (SELECT id FROM session)
                ORDER BY saved DESC LIMIT -1 OFFSET ?
                """, arguments: [keptQueues])
        for session in old {
            try db.execute(
                sql: "DELETE FROM mediaToken WHERE item IN (SELECT item FROM queueItem WHERE session = ?)",
                arguments: [session])
            try db.execute(sql: "DELETE FROM queue WHERE session = ?", arguments: [session])
        }
    }

    public func queue(session: SessionID) async throws -> QueueSnapshot? {
        let stored: (version: Int, current: String?, details: String?, contents: [String])? = try await read(
            "read a queue"
        ) { db in
            guard
                let row = try Row.fetchOne(
                    db, sql: "SELECT version, current, details FROM queue WHERE session = ?",
                    arguments: [session.rawValue])
            else { return nil }
            let contents = try String.fetchAll(
                db, sql: "SELECT content FROM queueItem WHERE session = ? ORDER BY place",
                arguments: [session.rawValue])
            return (row["version"], row["current"], row["details"], contents)
        }
        guard let stored else { return nil }
        let decoder = JSONDecoder()
        do {
            let items = try stored.contents.map { try decoder.decode(QueueItem.self, from: Data($0.utf8)) }
            let details = try stored.details.map { try decoder.decode(QueueDetails.self, from: Data($0.utf8)) }
            return QueueSnapshot(
                version: stored.version, items: items, current: stored.current.map(ItemID.init(rawValue:)),
                repeatMode: details?.repeatMode ?? .off, original: details?.original)
        } catch {
            throw RouterError.storage(
                StoreFault.content("an item of it is not understood"), doing: "read a queue", path: file?.path)
        }
    }

    // MARK: - Sessions

    public func saveSession(_ record: SessionRecord) async throws {
        let owner = ProcessIdentity.current.text
        let name = record.session.rawValue
        let details: String
        do {
            details = try Self.text(
                SessionDetails(members: record.members, anchor: record.anchor, rate: record.rate), JSONEncoder())
        } catch {
            throw RouterError.storage(
                StoreFault.content("a session has no JSON form"), doing: "save a session", path: file?.path)
        }
        try await write("save a session") { db in
            try db.execute(
                sql: """
                    INSERT INTO session (id, item, positionTicks, playing, owner, details) VALUES (?, ?, ?, ?, ?, ?)
                    ON CONFLICT (id) DO UPDATE SET item = excluded.item, positionTicks = excluded.positionTicks,
                        playing = excluded.playing, owner = excluded.owner, details = excluded.details
                    """,
                arguments: [name, record.item?.rawValue, record.position.ticks, record.playing, owner, details])
            try db.execute(sql: "DELETE FROM sessionRoute WHERE session = ?", arguments: [name])
            for (place, route) in record.routes.enumerated() {
                try db.execute(
                    sql: "INSERT INTO sessionRoute (session, place, route) VALUES (?, ?, ?)",
                    arguments: [name, place, route.rawValue])
            }
            try db.execute(sql: "DELETE FROM sessionRejoin WHERE session = ?", arguments: [name])
            for (route, token) in record.rejoin {
                try db.execute(
                    sql: "INSERT INTO sessionRejoin (session, route, token) VALUES (?, ?, ?)",
                    arguments: [name, route.rawValue, token])
            }
        }
    }

    /// Sessions that were saved and not removed. Those of another process that still lives are its own and left out.
    public func sessionsToRejoin() async throws -> [SessionRecord] {
        let rows: [(record: SessionRecord, owner: String)] = try await read("read the sessions to rejoin") { db in
            try Row.fetchAll(db, sql: "SELECT * FROM session ORDER BY id").map { row in
                let name: String = row["id"]
                let routes = try String.fetchAll(
                    db, sql: "SELECT route FROM sessionRoute WHERE session = ? ORDER BY place", arguments: [name])
                let rejoin = try Row.fetchAll(
                    db, sql: "SELECT route, token FROM sessionRejoin WHERE session = ?", arguments: [name])
                // What an unknown version wrote there is passed over: the session itself is known by its rows.
                let details = (row["details"] as String?).flatMap {
                    try? JSONDecoder().decode(SessionDetails.self, from: Data($0.utf8))
                }
                let record = SessionRecord(
                    session: SessionID(rawValue: name), routes: routes.map(RouteID.init(rawValue:)),
                    item: (row["item"] as String?).map(ItemID.init(rawValue:)),
                    position: MediaTime(ticks: row["positionTicks"]), playing: row["playing"],
                    rejoin: Dictionary(
                        uniqueKeysWithValues: rejoin.map { (RouteID(rawValue: $0["route"]), $0["token"] as String) }),
                    members: details?.members ?? [], anchor: details?.anchor, rate: details?.rate ?? 1)
                return (record, row["owner"])
            }
        }
        return rows.filter { row in
            guard let owner = ProcessIdentity(text: row.owner), owner != .current else { return true }
            return !owner.lives
        }.map(\.record)
    }

    public func removeSession(_ session: SessionID) async throws {
        try await write("remove a session") { db in
            try db.execute(sql: "DELETE FROM session WHERE id = ?", arguments: [session.rawValue])
        }
    }

    private static func text(_ value: some Encodable, _ encoder: JSONEncoder) throws -> String {
        String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    // MARK: - Media tokens

    public func saveMediaToken(_ record: MediaTokenRecord) async throws {
        try await write("save a media token") { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO mediaToken (token, item, path) VALUES (?, ?, ?)",
                arguments: [record.token.rawValue, record.item.rawValue, record.path])
        }
    }

    public func mediaTokens() async throws -> [MediaTokenRecord] {
        try await read("read the media tokens") { db in
            try Row.fetchAll(db, sql: "SELECT * FROM mediaToken ORDER BY item, token").map { row in
                MediaTokenRecord(
                    token: MediaToken(rawValue: row["token"]), item: ItemID(rawValue: row["item"]), path: row["path"])
            }
        }
    }

    public func removeMediaTokens(items: [ItemID]) async throws {
        try await write("remove media tokens") { db in
            for item in items {
                try db.execute(sql: "DELETE FROM mediaToken WHERE item = ?", arguments: [item.rawValue])
            }
        }
    }
}

/// What is kept of a queue beside its rows.
private struct QueueDetails: Codable {
    var repeatMode: RepeatMode
    var original: [ItemID]?
}

/// What is kept of a session beside its rows.
private struct SessionDetails: Codable {
    var members: [SessionRecord.Member]
    var anchor: PlaybackAnchor?
    var rate: Double
}
