import Foundation
import GRDB
import RouteModel

/// Queues: of sessions, with only what has changed written at each step, and those that are kept under a name.
extension RouterStore {
    /// How many queues are kept beside those of sessions that may be rejoined. A finished queue stays until then.
    static let keptQueues = 50
    /// Of how many queues it is remembered what was written last.
    static let rememberedQueues = 32

    /// Another process has written the queue meanwhile.
    private struct Overtaken: Error {}

    public func saveQueue(_ queue: QueueSnapshot, session: SessionID) async throws {
        try await saveQueue(queue, session: session) { _ in }
    }

    /// - Parameter more: what is written in the same transaction.
    func saveQueue(
        _ queue: QueueSnapshot, session: SessionID, and more: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        try await inTurn { try await saveAlone(queue, session, more) }
    }

    private func saveAlone(
        _ queue: QueueSnapshot, _ session: SessionID, _ more: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        let details: String
        do {
            details = String(
                decoding: try JSONEncoder().encode(
                    QueueDetails(
                        repeatMode: queue.repeatMode, failurePolicy: queue.failurePolicy,
                        shuffleSeed: queue.shuffleSeed)), as: UTF8.self)
        } catch {
            throw RouterError.storage(
                StoreFault.content("it has no JSON form"), doing: "save a queue", path: file?.path)
        }
        var old = try await writtenQueue(session)
        do {
            try await save(queue, session, over: old, details, more)
        } catch is Overtaken {
            forget(session)
            old = try await writtenQueue(session)
            do {
                try await save(queue, session, over: old, details, more)
            } catch is Overtaken {
                throw RouterError(
                    .storage, "could not save a queue: another router writes it all the time",
                    hint: "End the other router", retry: .later)
            }
        }
    }

    private func save(
        _ queue: QueueSnapshot, _ session: SessionID, over old: WrittenQueue, _ details: String,
        _ more: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        let delta = QueueDelta(from: old, to: queue)
        let name = session.rawValue
        let path = file?.path
        let stamp = try await write("save a queue", passing: Overtaken.self) { db in
            guard
                try Int.fetchOne(
                    db.cachedStatement(sql: "SELECT saved FROM queue WHERE session = ?"), arguments: [name])
                    == old.stamp
            else { throw Overtaken() }
            let stamp =
                try Int.fetchOne(db.cachedStatement(sql: "SELECT IFNULL(MAX(saved), 0) + 1 FROM queue")) ?? 1
            let head = try db.cachedStatement(
                sql: """
                    INSERT INTO queue (session, version, current, saved, details) VALUES (?, ?, ?, ?, ?)
                    ON CONFLICT (session) DO UPDATE
                    SET version = excluded.version, current = excluded.current, saved = excluded.saved,
                        details = excluded.details
                    """)
            try head.execute(arguments: [name, queue.version, queue.current?.rawValue, stamp, details])
            let removal = try db.cachedStatement(sql: "DELETE FROM queueEntry WHERE session = ? AND number = ?")
            for row in delta.removed { try removal.execute(arguments: [name, Int64(row)]) }
            let insertion = try db.cachedStatement(
                sql: """
                    INSERT OR REPLACE INTO queueEntry (session, number, \(QueueEntryRow.columns))
                    VALUES (?, ?, \(QueueEntryRow.marks))
                    """)
            let encoder = Self.encoder()
            for (row, item) in delta.written {
                do {
                    let values = try QueueEntryRow.values(of: item, encoder)
                    try insertion.execute(arguments: StatementArguments([name, Int64(row)] + values))
                } catch is EncodingError {
                    throw RouterError.storage(
                        StoreFault.content("an item has no JSON form"), doing: "save a queue", path: path)
                }
            }
            if delta.rows != old.rows || old.stamp == nil {
                try Self.saveOrder(delta.rows, isOriginal: false, name, db)
            }
            if delta.originalRows != old.originalRows {
                try Self.saveOrder(delta.originalRows, isOriginal: true, name, db)
            }
            try more(db)
            try Self.dropOldQueues(db)
            return stamp
        }
        let original =
            queue.unshuffledItems ?? delta.originalRows.map { Self.items(of: $0, in: queue.items, delta.rows) }
        remember(
            WrittenQueue(
                stamp: stamp, items: queue.items, rows: delta.rows, original: original,
                originalRows: delta.originalRows), of: session)
    }

    public func queue(session: SessionID) async throws -> QueueSnapshot? {
        try await inTurn { try await readAlone(session) }
    }

    private func readAlone(_ session: SessionID) async throws -> QueueSnapshot? {
        let name = session.rawValue
        let stored: (stamp: Int, version: Int, current: String?, details: String?)? = try await read("read a queue") {
            db in
            try Row.fetchOne(
                db, sql: "SELECT saved, version, current, details FROM queue WHERE session = ?", arguments: [name]
            ).map { ($0["saved"], $0["version"], $0["current"], $0["details"]) }
        }
        guard let stored else { return nil }
        let written = try await writtenQueue(session, knownStamp: stored.stamp)
        // What an unknown version wrote there is passed over: the queue itself is known by its rows.
        let details = stored.details.flatMap { try? JSONDecoder().decode(QueueDetails.self, from: Data($0.utf8)) }
        return QueueSnapshot(
            version: stored.version, items: written.items, current: stored.current.map(ItemID.init(rawValue:)),
            place: nil, repeatMode: details?.repeatMode ?? .off, unshuffled: written.original,
            failurePolicy: details?.failurePolicy, shuffleSeed: details?.shuffleSeed)
    }

    // MARK: - What is written

    /// What is written of a queue by now.
    private func writtenQueue(_ session: SessionID, knownStamp: Int? = nil) async throws -> WrittenQueue {
        if let known = written[session], knownStamp == nil || known.stamp == knownStamp { return known }
        let name = session.rawValue
        let found: WrittenQueue = try await read("read a queue") { db in
            guard
                let stamp = try Int.fetchOne(db, sql: "SELECT saved FROM queue WHERE session = ?", arguments: [name])
            else { return WrittenQueue() }
            let decoder = JSONDecoder()
            let cursor = try Row.fetchCursor(
                db, sql: "SELECT number, \(QueueEntryRow.columns) FROM queueEntry WHERE session = ? ORDER BY number",
                arguments: [name])
            var items: [QueueItem] = []
            var rows: [UInt32] = []
            while let row = try cursor.next() {
                do {
                    items.append(try QueueEntryRow.item(row, from: 1, decoder))
                } catch {
                    throw StoreFault.content("an item of it is not understood")
                }
                rows.append(UInt32(truncatingIfNeeded: row[0] as Int64))
            }
            var result = WrittenQueue(stamp: stamp, items: QueueItems(items), rows: rows)
            if let order = try Self.order(isOriginal: false, name, db), order != rows {
                result.items = Self.items(of: order, in: result.items, rows)
                let known = Set(rows)
                result.rows = order.filter(known.contains)
            }
            if let original = try Self.order(isOriginal: true, name, db) {
                result.originalRows = original
                result.original = Self.items(of: original, in: result.items, result.rows)
            }
            return result
        }
        remember(found, of: session)
        return found
    }

    /// The items in an order of their rows. Rows that are none of theirs are passed over.
    private static func items(of order: [UInt32], in items: QueueItems, _ rows: [UInt32]) -> QueueItems {
        let numbers = Dictionary(zip(rows, items.numbers), uniquingKeysWith: { first, _ in first })
        return QueueItems(table: items.table, numbers: order.compactMap { numbers[$0] })
    }

    private func remember(_ queue: WrittenQueue, of session: SessionID) {
        forget(session)
        written[session] = queue
        lastWritten.append(session)
        while lastWritten.count > Self.rememberedQueues { written[lastWritten.removeFirst()] = nil }
    }

    private func forget(_ session: SessionID) {
        written[session] = nil
        lastWritten.removeAll { $0 == session }
    }

    private static func saveOrder(_ numbers: [UInt32]?, isOriginal: Bool, _ name: String, _ db: Database) throws {
        guard let numbers else {
            try db.execute(
                sql: "DELETE FROM queueOrder WHERE session = ? AND isOriginal = ?", arguments: [name, isOriginal])
            return
        }
        try db.execute(
            sql: "INSERT OR REPLACE INTO queueOrder (session, isOriginal, numbers) VALUES (?, ?, ?)",
            arguments: [name, isOriginal, packed(numbers)])
    }

    private static func order(isOriginal: Bool, _ name: String, _ db: Database) throws -> [UInt32]? {
        try Data.fetchOne(
            db, sql: "SELECT numbers FROM queueOrder WHERE session = ? AND isOriginal = ?",
            arguments: [name, isOriginal]
        ).map(unpacked)
    }

    /// Four bytes for each, the least first.
    static func packed(_ numbers: [UInt32]) -> Data {
        numbers.map(\.littleEndian).withUnsafeBytes { Data($0) }
    }

    static func unpacked(_ data: Data) -> [UInt32] {
        data.withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map {
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self))
            }
        }
    }

    static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    /// Lets go of the oldest queues, with the media tokens of their items.
    private static func dropOldQueues(_ db: Database) throws {
        let old = try String.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT session FROM queue WHERE session NOT IN (SELECT id FROM session)
                    ORDER BY saved DESC LIMIT -1 OFFSET ?
                    """), arguments: [keptQueues])
        for session in old {
            try db.execute(
                sql: "DELETE FROM mediaToken WHERE item IN (SELECT item FROM queueEntry WHERE session = ?)",
                arguments: [session])
            try db.execute(sql: "DELETE FROM queue WHERE session = ?", arguments: [session])
        }
    }

    // MARK: - Queues under a name

    public func keepQueue(_ queue: SavedQueue) async throws {
        try await write("keep a queue") { db in
            try db.execute(sql: "DELETE FROM savedQueue WHERE name = ?", arguments: [queue.name])
            try db.execute(
                sql: "INSERT INTO savedQueue (name, saved) VALUES (?, ?)", arguments: [queue.name, queue.saved])
            let insertion = try db.cachedStatement(
                sql: """
                    INSERT INTO savedQueueEntry (name, place, \(QueueEntryRow.columns))
                    VALUES (?, ?, \(QueueEntryRow.marks))
                    """)
            let encoder = Self.encoder()
            for (place, item) in queue.items.enumerated() {
                let values = try QueueEntryRow.values(of: item, encoder)
                try insertion.execute(arguments: StatementArguments([queue.name, place] + values))
            }
        }
    }

    public func savedQueueNames() async throws -> [String] {
        try await read("list the saved queues") { db in
            try String.fetchAll(db, sql: "SELECT name FROM savedQueue ORDER BY name COLLATE NOCASE, name")
        }
    }

    public func savedQueue(_ name: String) async throws -> SavedQueue? {
        try await read("read a saved queue") { db in
            guard
                let saved = try Double.fetchOne(
                    db, sql: "SELECT saved FROM savedQueue WHERE name = ?", arguments: [name])
            else { return nil }
            let decoder = JSONDecoder()
            let rows = try Row.fetchCursor(
                db, sql: "SELECT \(QueueEntryRow.columns) FROM savedQueueEntry WHERE name = ? ORDER BY place",
                arguments: [name])
            var items: [QueueItem] = []
            while let row = try rows.next() { items.append(try QueueEntryRow.item(row, from: 0, decoder)) }
            return SavedQueue(name: name, items: items, saved: saved)
        }
    }

    public func removeSavedQueue(_ name: String) async throws -> Bool {
        try await write("remove a saved queue") { db in
            try db.execute(sql: "DELETE FROM savedQueue WHERE name = ?", arguments: [name])
            return db.changesCount > 0
        }
    }
}

/// What is kept of a queue beside its rows.
struct QueueDetails: Codable {
    var repeatMode: RepeatMode
    var failurePolicy: FailurePolicy?
    var shuffleSeed: UInt32?
    /// As versions before the table of orders kept it.
    var original: [ItemID]?
}

/// Lets one caller in at a time, in the order they came. Part of the store's state.
struct Turn {
    private var busy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    mutating func tryEnter() -> Bool {
        if busy { return false }
        busy = true
        return true
    }

    mutating func wait(_ continuation: CheckedContinuation<Void, Never>) { waiting.append(continuation) }

    mutating func leave() {
        if waiting.isEmpty {
            busy = false
        } else {
            waiting.removeFirst().resume()
        }
    }
}
