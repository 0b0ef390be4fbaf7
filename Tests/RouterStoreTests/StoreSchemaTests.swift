import Foundation
import GRDB
import RouteModel
import Testing

@testable import RouterStore

@Suite("RouterStore's schema over the versions")
struct StoreSchemaTests {
    let folder = TemporaryFolder()

    /// A file as version 1 wrote it, statement by statement. Never to be changed: it stands for files out there.
    private func plantVersion1() async throws {
        try FileManager.default.createDirectory(
            atPath: folder.path + "/state/router", withIntermediateDirectories: true)
        let database = try DatabaseQueue(path: folder.file)
        try await database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                    INSERT INTO grdb_migrations VALUES ('1');
                    CREATE TABLE route (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL) WITHOUT ROWID;
                    CREATE TABLE routeKey (kind TEXT NOT NULL, value TEXT NOT NULL,
                        route TEXT NOT NULL REFERENCES route(id) ON DELETE CASCADE,
                        PRIMARY KEY (kind, value)) WITHOUT ROWID;
                    CREATE INDEX routeKeyByRoute ON routeKey(route);
                    CREATE TABLE queue (session TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL, current TEXT,
                        saved INTEGER NOT NULL) WITHOUT ROWID;
                    CREATE TABLE queueItem (session TEXT NOT NULL REFERENCES queue(session) ON DELETE CASCADE,
                        place INTEGER NOT NULL, item TEXT NOT NULL, content TEXT NOT NULL,
                        PRIMARY KEY (session, place)) WITHOUT ROWID;
                    CREATE TABLE session (id TEXT PRIMARY KEY NOT NULL, item TEXT, positionTicks INTEGER NOT NULL,
                        playing INTEGER NOT NULL, owner TEXT NOT NULL) WITHOUT ROWID;
                    CREATE TABLE sessionRoute (session TEXT NOT NULL REFERENCES session(id) ON DELETE CASCADE,
                        place INTEGER NOT NULL, route TEXT NOT NULL, PRIMARY KEY (session, place)) WITHOUT ROWID;
                    CREATE TABLE sessionRejoin (session TEXT NOT NULL REFERENCES session(id) ON DELETE CASCADE,
                        route TEXT NOT NULL, token TEXT NOT NULL, PRIMARY KEY (session, route)) WITHOUT ROWID;
                    CREATE TABLE mediaToken (token TEXT PRIMARY KEY NOT NULL, item TEXT NOT NULL,
                        path TEXT NOT NULL) WITHOUT ROWID;
                    CREATE INDEX mediaTokenByItem ON mediaToken(item);
                    CREATE TABLE endpointFailure (endpoint TEXT PRIMARY KEY NOT NULL, firmware TEXT,
                        code TEXT NOT NULL, message TEXT NOT NULL) WITHOUT ROWID;
                    CREATE TABLE learnt (endpoint TEXT NOT NULL, firmware TEXT NOT NULL, fact TEXT NOT NULL,
                        value TEXT NOT NULL, PRIMARY KEY (endpoint, firmware, fact)) WITHOUT ROWID;
                    CREATE TABLE volume (route TEXT PRIMARY KEY NOT NULL, level REAL NOT NULL,
                        muted INTEGER NOT NULL) WITHOUT ROWID;

                    INSERT INTO route VALUES ('rt-1', 'Kitchen');
                    INSERT INTO routeKey VALUES ('mac', 'aabbccddeeff', 'rt-1');
                    INSERT INTO queue VALUES ('se-1', 7, '01B', 12);
                    INSERT INTO queueItem VALUES ('se-1', 0, '01A',
                        '{"id":"01A","metadata":{"images":[],"kind":"music"},"source":{"file":"/a.flac"},"start":0}');
                    INSERT INTO queueItem VALUES ('se-1', 1, '01B',
                        '{"id":"01B","metadata":{"images":[],"kind":"live"},"source":{"url":"http://h/"},"start":1.5}');
                    INSERT INTO session VALUES ('se-1', '01B', 28224000, 1, 'another-boot 1 1');
                    INSERT INTO sessionRoute VALUES ('se-1', 0, 'rt-1');
                    INSERT INTO sessionRejoin VALUES ('se-1', 'rt-1', 'token');
                    INSERT INTO mediaToken VALUES ('00ff', '01A', '/a.flac');
                    INSERT INTO endpointFailure VALUES ('raop:1', NULL, 'timeout', 'said nothing');
                    INSERT INTO learnt VALUES ('raop:1', '', 'codec', 'l16');
                    INSERT INTO volume VALUES ('rt-1', 0.25, 0);
                    PRAGMA user_version = 1;
                    """)
        }
        try database.close()
    }

    private func expectVersion1Content(_ store: RouterStore) async throws {
        let route = RouteID(rawValue: "rt-1")
        #expect(store.openingNotice == nil)
        #expect(try await store.route(forAnyOf: [StrongKey(.mac, "AABBCCDDEEFF")]) == route)
        let queue = try #require(try await store.queue(session: SessionID(rawValue: "se-1")))
        #expect(queue.version == 7)
        #expect(queue.items.map(\.id.rawValue) == ["01A", "01B"])
        #expect(queue.items.map(\.source) == [.file(path: "/a.flac"), .url("http://h/")])
        #expect(queue.items[1].start == MediaTime(milliseconds: 1500))
        #expect(queue.current?.rawValue == "01B")
        let session = try #require(try await store.sessionsToRejoin().first)
        #expect(session.position == MediaTime(milliseconds: 1000))
        #expect(session.rejoin == [route: "token"])
        #expect(try await store.mediaTokens().map(\.token.rawValue) == ["00ff"])
        #expect(try await store.endpointFailures().map(\.code) == [.timeout])
        #expect(
            try await store.learnt(endpoint: EndpointID(rawValue: "raop:1"), firmware: nil) == ["codec": "l16"])
        #expect(try await store.volume(of: route)?.level == VolumePosition(0.25))
        #expect(try await store.lastLevel(of: route) == nil)
    }

    @Test("a file of version 1 is read")
    func version1() async throws {
        try await plantVersion1()
        try await expectVersion1Content(try RouterStore(path: folder.file))
    }

    @Test("a later version takes a version 1 file over with all it holds, and version 1 then refuses it")
    func laterVersion() async throws {
        try await plantVersion1()
        var migrator = StoreSchema.current.migrator
        migrator.registerMigration("later") { try $0.execute(sql: "ALTER TABLE route ADD COLUMN alias TEXT") }
        let known = StoreSchema.current.version
        let later = StoreSchema(version: known + 1, migrator: migrator)
        do {
            let store = try RouterStore(file: StoreFile(path: folder.file), schema: later)
            try await expectVersion1Content(store)
            #expect(
                try await store.database.read { try Row.fetchOne($0, sql: "SELECT alias FROM route") } != nil)
            try await store.database.close()
        }
        let before = FileManager.default.contents(atPath: folder.file)
        let error = try #require(openingError(folder.file))
        #expect(error.code == .storage)
        #expect(error.message.contains("newer router (schema \(known + 1), known here: \(known))"))
        #expect(error.hint?.contains("Update") == true)
        #expect(FileManager.default.contents(atPath: folder.file) == before)
        #expect(folder.entries() == ["router.sqlite"])
    }

    @Test("a migration that fails changes nothing")
    func failingMigration() async throws {
        try await plantVersion1()
        var migrator = StoreSchema.migrations()
        migrator.registerMigration("later") { db in
            try db.execute(sql: "DROP TABLE volume")
            try db.execute(sql: "CREATE TABLE route (id)")
        }
        #expect(throws: RouterError.self) {
            try RouterStore(file: StoreFile(path: folder.file), schema: StoreSchema(version: 9, migrator: migrator))
        }
        try await expectVersion1Content(try RouterStore(path: folder.file))
    }

    @Test("C20 keys of devices and what was told once are kept, in a file of version 1 too")
    func pinsAndTold() async throws {
        try await plantVersion1()
        let store = try RouterStore(path: folder.file)
        #expect(try await store.pin(of: "castID:01") == nil)
        try await store.savePin("aa", of: "castID:01")
        try await store.savePin("bb", of: "castID:02")
        try await store.savePin("cc", of: "castID:01")
        let other = try RouterStore(path: folder.file)
        #expect(try await other.pin(of: "castID:01") == "cc")
        #expect(try await other.pin(of: "castID:02") == "bb")
        #expect(try await store.tellOnce("hint"))
        #expect(try await !store.tellOnce("hint"))
        #expect(try await !other.tellOnce("hint"))
        #expect(try await other.tellOnce("another"))
    }

    @Test("R6 who we are is made once; pairings are kept, replaced and forgotten, in a file of version 1 too")
    func pairings() async throws {
        try await plantVersion1()
        let store = try RouterStore(path: folder.file)
        let identity = try await store.identity()
        #expect(identity.seed.count == 32 && identity.identifier.count == 36)
        let other = try RouterStore(path: folder.file)
        #expect(try await other.identity() == identity)
        let (mac, key) = (StrongKey(.mac, "aabbccddeeff"), StrongKey(.publicKey, String(repeating: "0", count: 64)))
        func record(_ name: String, _ keys: [StrongKey]) -> PairingRecord {
            PairingRecord(name: name, kind: .pin, keys: keys, madeAt: 5)
        }
        try await store.savePairing(record("TV", [mac]), credentials: DeviceCredentials(kind: .pin, secret: [1, 2]))
        try await store.savePairing(
            record("Den", [StrongKey(.mac, "000000000001")]), credentials: DeviceCredentials(kind: .pin, secret: []))
        #expect(try await other.credentials(forAnyOf: [key, mac])?.secret == [1, 2])
        // The device by another name and one more key.
        try await store.savePairing(
            record("Telly", [mac, key]), credentials: DeviceCredentials(kind: .pin, secret: [3]))
        #expect(try await other.pairings().map(\.name) == ["Den", "Telly"])
        #expect(Set(try await other.pairings()[1].keys) == [mac, key])
        #expect(try await other.credentials(forAnyOf: [key]) == DeviceCredentials(kind: .pin, secret: [3]))
        try await store.removePairing(forAnyOf: [key])
        #expect(try await other.credentials(forAnyOf: [mac]) == nil)
        #expect(try await other.pairings().map(\.name) == ["Den"])
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("an empty file is a new one, and an interrupted creation is finished")
    func emptyAndHalf() async throws {
        try FileManager.default.createDirectory(
            atPath: folder.path + "/state/router", withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: folder.file))
        let store = try RouterStore(path: folder.file)
        #expect(store.openingNotice == nil)
        try await store.saveSession(record("se-1"))
        // The tables are there, the number is not: as after a loss of power between the two.
        try await store.database.write { try $0.execute(sql: "PRAGMA user_version = 0") }
        try await store.database.close()
        #expect(try await RouterStore(path: folder.file).sessionsToRejoin() == [record("se-1")])
    }

    @Test("the oldest queues go, with their tokens; those of sessions to rejoin stay")
    func oldQueues() async throws {
        let store = try RouterStore(path: folder.file)
        let kept = SessionID(rawValue: "se-kept")
        func save(_ session: SessionID, item id: String) async throws {
            try await store.saveMediaToken(
                MediaTokenRecord(token: MediaToken(rawValue: id), item: ItemID(rawValue: id), path: "/a"))
            try await store.saveQueue(
                QueueSnapshot(version: 1, items: [item(id, path: "/a")], current: nil), session: session)
        }
        try await store.saveSession(record(kept.rawValue))
        try await save(kept, item: "kept")
        for index in 0..<(RouterStore.keptQueues + 3) {
            try await save(SessionID(rawValue: "se-\(index)"), item: "item-\(index)")
        }
        #expect(try await store.queue(session: kept) != nil)
        for index in 0..<3 { #expect(try await store.queue(session: SessionID(rawValue: "se-\(index)")) == nil) }
        #expect(try await store.queue(session: SessionID(rawValue: "se-3")) != nil)
        let tokens = Set(try await store.mediaTokens().map(\.item.rawValue))
        #expect(tokens.count == RouterStore.keptQueues + 1)
        #expect(tokens.contains("kept") && tokens.contains("item-3") && !tokens.contains("item-2"))
    }

    @Test("C4 a session of another process that lives is that process's own")
    func foreignSessions() async throws {
        let store = try RouterStore(path: folder.file)
        for name in ["se-alive", "se-dead", "se-reused", "se-unreadable"] { try await store.saveSession(record(name)) }
        let alive = ProcessIdentity(process: 1)
        var reused = alive
        reused.started = "0"
        let owners = [
            "se-alive": alive.text, "se-dead": "\(alive.boot) 4194305 5", "se-reused": reused.text,
            "se-unreadable": "?",
        ]
        try await store.database.write { db in
            for (name, owner) in owners {
                try db.execute(sql: "UPDATE session SET owner = ? WHERE id = ?", arguments: [owner, name])
            }
        }
        #expect(alive.lives)
        #expect(
            try await store.sessionsToRejoin().map(\.session.rawValue) == ["se-dead", "se-reused", "se-unreadable"])
    }
}
