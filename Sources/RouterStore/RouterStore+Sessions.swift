import Foundation
import GRDB
import RouteModel

extension RouterStore {
    // MARK: - Sessions

    public func saveSession(_ record: SessionRecord) async throws {
        let writing = try writing(record)
        try await write("save a session") { db in try writing(db) }
    }

    public func saveSession(_ record: SessionRecord, with queue: QueueSnapshot) async throws {
        try await saveQueue(queue, session: record.session, and: try writing(record))
    }

    public func saveLastQueue(_ queue: QueueSnapshot, session: SessionID) async throws {
        try await saveQueue(queue, session: session) { db in try Self.remove(session, db) }
    }

    /// What writes it, in a transaction.
    private func writing(_ record: SessionRecord) throws -> @Sendable (Database) throws -> Void {
        let owner = ProcessIdentity.current.text
        let name = record.session.rawValue
        let details: String
        do {
            details = try Self.text(
                SessionDetails(
                    members: record.members, anchor: record.anchor, rate: record.rate, master: record.master,
                    silencedMaster: record.silencedMaster, volumesLinked: record.volumesLinked,
                    played: record.played.map { Array($0.suffix(SessionRecord.maximumPlayed)) }, clips: record.clips,
                    moving: record.moving),
                JSONEncoder())
        } catch {
            throw RouterError.storage(
                StoreFault.content("a session has no JSON form"), doing: "save a session", path: file?.path)
        }
        return { db in
            let session = try db.cachedStatement(
                sql: """
                    INSERT INTO session (id, item, positionTicks, playing, owner, details) VALUES (?, ?, ?, ?, ?, ?)
                    ON CONFLICT (id) DO UPDATE SET item = excluded.item, positionTicks = excluded.positionTicks,
                        playing = excluded.playing, owner = excluded.owner, details = excluded.details
                    """)
            try session.execute(
                arguments: [name, record.item?.rawValue, record.position.ticks, record.playing, owner, details])
            try db.cachedStatement(sql: "DELETE FROM sessionRoute WHERE session = ?").execute(arguments: [name])
            let route = try db.cachedStatement(
                sql: "INSERT INTO sessionRoute (session, place, route) VALUES (?, ?, ?)")
            for (place, id) in record.routes.enumerated() { try route.execute(arguments: [name, place, id.rawValue]) }
            try db.cachedStatement(sql: "DELETE FROM sessionRejoin WHERE session = ?").execute(arguments: [name])
            let rejoin = try db.cachedStatement(
                sql: "INSERT INTO sessionRejoin (session, route, token) VALUES (?, ?, ?)")
            for (id, token) in record.rejoin { try rejoin.execute(arguments: [name, id.rawValue, token]) }
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
                var record = SessionRecord(
                    session: SessionID(rawValue: name), routes: routes.map(RouteID.init(rawValue:)),
                    item: (row["item"] as String?).map(ItemID.init(rawValue:)),
                    position: MediaTime(ticks: row["positionTicks"]), playing: row["playing"],
                    rejoin: Dictionary(
                        uniqueKeysWithValues: rejoin.map { (RouteID(rawValue: $0["route"]), $0["token"] as String) }),
                    members: details?.members ?? [], anchor: details?.anchor, rate: details?.rate ?? 1)
                record.master = details?.master
                record.silencedMaster = details?.silencedMaster
                record.volumesLinked = details?.volumesLinked
                record.played = details?.played
                record.clips = details?.clips
                record.moving = details?.moving
                return (record, row["owner"])
            }
        }
        return rows.filter { row in
            guard let owner = ProcessIdentity(text: row.owner), owner != .current else { return true }
            return !owner.lives
        }.map(\.record)
    }

    public func removeSession(_ session: SessionID) async throws {
        try await write("remove a session") { db in try Self.remove(session, db) }
    }

    private static func remove(_ session: SessionID, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM session WHERE id = ?", arguments: [session.rawValue])
    }

    private static func text(_ value: some Encodable, _ encoder: JSONEncoder) throws -> String {
        String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    // MARK: - Endings

    public func saveEnding(_ ending: SessionEnding) async throws {
        let content: String
        do {
            content = try Self.text(ending, JSONEncoder())
        } catch {
            throw RouterError.storage(
                StoreFault.content("it has no JSON form"), doing: "save how a session ended", path: file?.path)
        }
        try await write("save how a session ended") { db in
            // Without its queue there is nothing to show.
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO ending (session, content)
                    SELECT session, ? FROM queue WHERE session = ?
                    """, arguments: [content, ending.session.rawValue])
        }
    }

    public func endings(limit: Int) async throws -> [(ending: SessionEnding, queue: QueueSnapshot)] {
        let found: [SessionEnding] = try await read("read the sessions that have ended") { db in
            // One that runs again, or may be taken up again, has not ended.
            try String.fetchAll(
                db,
                sql: """
                    SELECT ending.content FROM ending JOIN queue USING (session)
                    WHERE session NOT IN (SELECT id FROM session) ORDER BY queue.saved DESC LIMIT ?
                    """, arguments: [limit]
                // What an unknown version wrote there is passed over.
            ).compactMap { try? JSONDecoder().decode(SessionEnding.self, from: Data($0.utf8)) }
        }
        var result: [(ending: SessionEnding, queue: QueueSnapshot)] = []
        for ending in found {
            if let queue = try await queue(session: ending.session) { result.append((ending, queue)) }
        }
        return result
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

/// What is kept of a session beside its rows.
private struct SessionDetails: Codable {
    var members: [SessionRecord.Member]
    var anchor: PlaybackAnchor?
    var rate: Double
    var master: Double?
    var silencedMaster: Double?
    var volumesLinked: Bool?
    var played: [ItemID]?
    var clips: [MediaToken]?
    var moving: [SessionRecord.Member]?
}
