import Foundation
import GRDB
import RouteModel

/// The tables and how each version came out of the one before.
///
/// A migration that was released is never edited: later changes are new migrations at the end, and `version` counts
/// them. The number is also kept as `user_version`, so that an open of a current file asks one pragma and no more.
struct StoreSchema: Sendable {
    var version: Int
    var migrator: DatabaseMigrator

    static let current = StoreSchema(version: 8, migrator: migrations())

    /// Where the file is older, brings it up to date. Throws `StoreFault.newer` for one that a later router wrote.
    func apply(to database: DatabaseQueue) throws {
        let found = try database.read { try Int.fetchOne($0, sql: "PRAGMA user_version") ?? 0 }
        if found == version { return }
        if found > version { throw StoreFault.newer(found: found, known: version) }
        try migrator.migrate(database)
        try database.write { try $0.execute(sql: "PRAGMA user_version = \(version)") }
        // What the migration has overwritten is not to stay behind in the log, nor in the file under it.
        if found > 0 { try database.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) } }
    }

    static func migrations() -> DatabaseMigrator {
        var migrator = firstVersion()
        migrator.registerMigration("pins") { db in
            try db.execute(
                sql: """
                    CREATE TABLE pin (
                        device TEXT PRIMARY KEY NOT NULL,
                        fingerprint TEXT NOT NULL
                    ) WITHOUT ROWID;

                    CREATE TABLE told (
                        what TEXT PRIMARY KEY NOT NULL
                    ) WITHOUT ROWID;
                    """)
        }
        // What has come to be kept of a queue and a session beside their rows, as JSON.
        migrator.registerMigration("details") { db in
            try db.execute(
                sql: "ALTER TABLE queue ADD COLUMN details TEXT; ALTER TABLE session ADD COLUMN details TEXT;")
        }
        migrator.registerMigration("pairings") { db in
            try db.execute(
                sql: """
                    CREATE TABLE identity (
                        one INTEGER PRIMARY KEY NOT NULL CHECK (one = 1),
                        identifier TEXT NOT NULL,
                        seed BLOB NOT NULL
                    );

                    CREATE TABLE pairing (
                        id INTEGER PRIMARY KEY NOT NULL,
                        name TEXT NOT NULL,
                        kind TEXT NOT NULL,
                        secret BLOB NOT NULL,
                        madeAt REAL NOT NULL
                    );

                    CREATE TABLE pairingKey (
                        kind TEXT NOT NULL,
                        value TEXT NOT NULL,
                        pairing INTEGER NOT NULL REFERENCES pairing(id) ON DELETE CASCADE,
                        PRIMARY KEY (kind, value)
                    ) WITHOUT ROWID;
                    CREATE INDEX pairingKeyByPairing ON pairingKey(pairing);
                    """)
        }
        // Rooms and groups that commands made, each as its JSON.
        migrator.registerMigration("rooms") { db in
            try db.execute(
                sql: """
                    CREATE TABLE room (
                        name TEXT PRIMARY KEY NOT NULL,
                        content TEXT NOT NULL
                    ) WITHOUT ROWID;

                    CREATE TABLE roomGroup (
                        name TEXT PRIMARY KEY NOT NULL,
                        content TEXT NOT NULL
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("queues and history") { try queuesAndHistory($0) }
        // How sessions ended whose queues are kept, each as its JSON.
        migrator.registerMigration("endings") { db in
            try db.execute(
                sql: """
                    CREATE TABLE ending (
                        session TEXT PRIMARY KEY NOT NULL REFERENCES queue(session) ON DELETE CASCADE,
                        content TEXT NOT NULL
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("sealed secrets") { try sealedSecrets($0) }
        // What a person last set each route to, beside how loud it is.
        migrator.registerMigration("last levels") { db in
            try db.execute(
                sql: """
                    CREATE TABLE lastLevel (
                        route TEXT PRIMARY KEY NOT NULL,
                        level REAL NOT NULL
                    ) WITHOUT ROWID;
                    """)
        }
        return migrator
    }

    /// What was kept as it is until now is sealed, and overwritten.
    private static func sealedSecrets(_ db: Database) throws {
        let path = try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'") ?? ""
        let identities = try Row.fetchAll(db, sql: "SELECT one AS id, seed AS secret FROM identity")
        let pairings = try Row.fetchAll(db, sql: "SELECT id, secret FROM pairing")
        guard !identities.isEmpty || !pairings.isEmpty else { return }
        let box = try path.isEmpty ? SecretBox.random() : SecretBox.made(at: SecretBox.keyPath(of: path))
        try db.execute(sql: "PRAGMA secure_delete = ON")
        defer { try? db.execute(sql: "PRAGMA secure_delete = OFF") }
        for (rows, sql) in [
            (identities, "UPDATE identity SET seed = ? WHERE one = ?"),
            (pairings, "UPDATE pairing SET secret = ? WHERE id = ?"),
        ] {
            for row in rows {
                let sealed = try box.seal([UInt8](row["secret"] as Data))
                try db.execute(sql: sql, arguments: [Data(sealed), row["id"] as Int64])
            }
        }
    }

    /// Items of a queue under numbers of their own, and their order as a list of those: a change of the order, in a queue
    /// of a hundred thousand, is one row.
    private static func queuesAndHistory(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE queueEntry (
                    session TEXT NOT NULL REFERENCES queue(session) ON DELETE CASCADE,
                    number INTEGER NOT NULL,
                    \(QueueEntryRow.definition),
                    PRIMARY KEY (session, number)
                ) WITHOUT ROWID;

                CREATE TABLE queueOrder (
                    session TEXT NOT NULL REFERENCES queue(session) ON DELETE CASCADE,
                    isOriginal INTEGER NOT NULL,
                    numbers BLOB NOT NULL,
                    PRIMARY KEY (session, isOriginal)
                ) WITHOUT ROWID;

                INSERT INTO queueEntry (session, number, item, content)
                SELECT session, place + 1, item, content FROM queueItem;

                CREATE TABLE savedQueue (
                    name TEXT PRIMARY KEY NOT NULL,
                    saved REAL NOT NULL
                ) WITHOUT ROWID;

                CREATE TABLE savedQueueEntry (
                    name TEXT NOT NULL REFERENCES savedQueue(name) ON DELETE CASCADE,
                    place INTEGER NOT NULL,
                    \(QueueEntryRow.definition),
                    PRIMARY KEY (name, place)
                ) WITHOUT ROWID;

                CREATE TABLE play (
                    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
                    session TEXT NOT NULL,
                    itemID TEXT NOT NULL,
                    item TEXT NOT NULL,
                    rooms TEXT NOT NULL,
                    started REAL NOT NULL,
                    stopped REAL,
                    reason TEXT,
                    furthest INTEGER NOT NULL,
                    owner TEXT NOT NULL,
                    touched REAL NOT NULL
                );
                CREATE INDEX playBySession ON play(session, id);
                """)
        for row in try Row.fetchAll(db, sql: "SELECT session, details FROM queue") {
            let session: String = row["session"]
            let ids = try String.fetchAll(
                db, sql: "SELECT item FROM queueItem WHERE session = ? ORDER BY place", arguments: [session])
            let numbers = ids.indices.map { UInt32($0) + 1 }
            let details = (row["details"] as String?).flatMap {
                try? JSONDecoder().decode(QueueDetails.self, from: Data($0.utf8))
            }
            try db.execute(
                sql: "INSERT INTO queueOrder (session, isOriginal, numbers) VALUES (?, 0, ?)",
                arguments: [session, RouterStore.packed(numbers)])
            guard let original = details?.original else { continue }
            let known = Dictionary(zip(ids, numbers), uniquingKeysWith: { first, _ in first })
            try db.execute(
                sql: "INSERT INTO queueOrder (session, isOriginal, numbers) VALUES (?, 1, ?)",
                arguments: [session, RouterStore.packed(original.compactMap { known[$0.rawValue] })])
        }
        try db.execute(sql: "DROP TABLE queueItem")
    }

    static func firstVersion() -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE route (
                        id TEXT PRIMARY KEY NOT NULL,
                        name TEXT NOT NULL
                    ) WITHOUT ROWID;

                    CREATE TABLE routeKey (
                        kind TEXT NOT NULL,
                        value TEXT NOT NULL,
                        route TEXT NOT NULL REFERENCES route(id) ON DELETE CASCADE,
                        PRIMARY KEY (kind, value)
                    ) WITHOUT ROWID;
                    CREATE INDEX routeKeyByRoute ON routeKey(route);

                    -- `saved` orders queues by their last change, so that the oldest can be let go without a clock.
                    CREATE TABLE queue (
                        session TEXT PRIMARY KEY NOT NULL,
                        version INTEGER NOT NULL,
                        current TEXT,
                        saved INTEGER NOT NULL
                    ) WITHOUT ROWID;

                    CREATE TABLE queueItem (
                        session TEXT NOT NULL REFERENCES queue(session) ON DELETE CASCADE,
                        place INTEGER NOT NULL,
                        item TEXT NOT NULL,
                        content TEXT NOT NULL,
                        PRIMARY KEY (session, place)
                    ) WITHOUT ROWID;

                    CREATE TABLE session (
                        id TEXT PRIMARY KEY NOT NULL,
                        item TEXT,
                        positionTicks INTEGER NOT NULL,
                        playing INTEGER NOT NULL,
                        owner TEXT NOT NULL
                    ) WITHOUT ROWID;

                    CREATE TABLE sessionRoute (
                        session TEXT NOT NULL REFERENCES session(id) ON DELETE CASCADE,
                        place INTEGER NOT NULL,
                        route TEXT NOT NULL,
                        PRIMARY KEY (session, place)
                    ) WITHOUT ROWID;

                    CREATE TABLE sessionRejoin (
                        session TEXT NOT NULL REFERENCES session(id) ON DELETE CASCADE,
                        route TEXT NOT NULL,
                        token TEXT NOT NULL,
                        PRIMARY KEY (session, route)
                    ) WITHOUT ROWID;

                    CREATE TABLE mediaToken (
                        token TEXT PRIMARY KEY NOT NULL,
                        item TEXT NOT NULL,
                        path TEXT NOT NULL
                    ) WITHOUT ROWID;
                    CREATE INDEX mediaTokenByItem ON mediaToken(item);

                    CREATE TABLE endpointFailure (
                        endpoint TEXT PRIMARY KEY NOT NULL,
                        firmware TEXT,
                        code TEXT NOT NULL,
                        message TEXT NOT NULL
                    ) WITHOUT ROWID;

                    -- An unknown firmware is the empty text here, since a key cannot hold NULL.
                    CREATE TABLE learnt (
                        endpoint TEXT NOT NULL,
                        firmware TEXT NOT NULL,
                        fact TEXT NOT NULL,
                        value TEXT NOT NULL,
                        PRIMARY KEY (endpoint, firmware, fact)
                    ) WITHOUT ROWID;

                    CREATE TABLE volume (
                        route TEXT PRIMARY KEY NOT NULL,
                        level REAL NOT NULL,
                        muted INTEGER NOT NULL
                    ) WITHOUT ROWID;
                    """)
        }
        return migrator
    }
}
