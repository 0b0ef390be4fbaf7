import Foundation
import GRDB
import RouteModel

/// What was played, as a log.
extension RouterStore {
    /// How many plays are kept.
    static let keptPlays = 10_000

    public func addPlay(_ record: PlayRecord) async throws -> Int {
        let (item, rooms) = try texts(of: record)
        let (owner, now) = (ProcessIdentity.current.text, date().timeIntervalSince1970)
        return try await write("note what plays") { db in
            try db.execute(
                sql: """
                    INSERT INTO play (session, itemID, item, rooms, started, stopped, reason, furthest, owner, touched)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    record.session.rawValue, record.item.id.rawValue, item, rooms, record.started, record.stopped,
                    record.reason?.rawValue, record.furthest.ticks, owner, now,
                ])
            let id = db.lastInsertedRowID
            try db.execute(sql: "DELETE FROM play WHERE id <= ?", arguments: [id - Int64(Self.keptPlays)])
            return Int(id)
        }
    }

    public func updatePlay(_ record: PlayRecord) async throws {
        let (item, _) = try texts(of: record)
        let (owner, now) = (ProcessIdentity.current.text, date().timeIntervalSince1970)
        try await write("note what played") { db in
            try db.execute(
                sql: """
                    UPDATE play SET item = ?, stopped = ?, reason = ?, furthest = ?, owner = ?, touched = ?
                    WHERE id = ?
                    """,
                arguments: [
                    item, record.stopped, record.reason?.rawValue, record.furthest.ticks, owner, now, record.id,
                ])
        }
    }

    public func openPlay(session: SessionID) async throws -> PlayRecord? {
        let name = session.rawValue
        let last: PlayRecord? = try await read("read what played last") { db in
            try Row.fetchOne(
                db, sql: "SELECT * FROM play WHERE session = ? ORDER BY id DESC LIMIT 1", arguments: [name]
            ).flatMap { try Self.record($0, JSONDecoder()) }
        }
        return last?.stopped == nil ? last : nil
    }

    public func plays(limit: Int) async throws -> [PlayRecord] {
        try await read("read the history") { db in
            let decoder = JSONDecoder()
            var lives: [String: Bool] = [:]
            return try Row.fetchAll(db, sql: "SELECT * FROM play ORDER BY id DESC LIMIT ?", arguments: [limit])
                .compactMap { row in
                    guard var record = try Self.record(row, decoder) else { return nil }
                    let owner: String = row["owner"]
                    if record.stopped == nil {
                        let isThere = lives[owner] ?? ProcessIdentity(text: owner)?.lives ?? false
                        lives[owner] = isThere
                        if !isThere {
                            record.stopped = row["touched"]
                            record.reason = .cancelled
                        }
                    }
                    return record
                }
        }
    }

    private func texts(of record: PlayRecord) throws -> (item: String, rooms: String) {
        do {
            let encoder = Self.encoder()
            return (
                String(decoding: try encoder.encode(record.item), as: UTF8.self),
                String(decoding: try encoder.encode(record.rooms), as: UTF8.self)
            )
        } catch {
            throw RouterError.storage(
                StoreFault.content("it has no JSON form"), doing: "note what plays", path: file?.path)
        }
    }

    /// Nil for one that a later version wrote and this one does not understand.
    private static func record(_ row: Row, _ decoder: JSONDecoder) throws -> PlayRecord? {
        guard let item = try? decoder.decode(QueueItem.self, from: Data((row["item"] as String).utf8)) else {
            return nil
        }
        return PlayRecord(
            id: Int(row["id"] as Int64), session: SessionID(rawValue: row["session"]), item: item,
            rooms: (try? decoder.decode([String].self, from: Data((row["rooms"] as String).utf8))) ?? [],
            started: row["started"], stopped: row["stopped"],
            reason: (row["reason"] as String?).flatMap(StopReason.init(rawValue:)),
            furthest: MediaTime(ticks: row["furthest"]))
    }
}
