import Foundation
import GRDB
import RouteModel

/// What outlives the process, in one SQLite file: ids of routes with their aliases, queues, sessions to rejoin, media
/// tokens, what was learnt of devices, volumes.
///
/// Several processes may have the same file open: a write waits up to five seconds for another's. Every function throws
/// `RouterError` with code `storage` and a hint. A write that was begun is finished even if the caller's task is
/// cancelled, so that what a command saves on Ctrl-C is saved.
public actor RouterStore: RouterStoring {
    /// Set when the file was found damaged on opening: it says where that file is kept now.
    public nonisolated let openingNotice: Notice?

    var database: DatabaseQueue
    let file: StoreFile?
    private let schema: StoreSchema
    let date: @Sendable () -> Date
    /// What was written of queues last, and of which, the latest at the end.
    var written: [SessionID: WrittenQueue] = [:]
    var lastWritten: [SessionID] = []
    private var queueTurns = Turn()
    /// What seals secrets, once it was needed.
    var box: SecretBox?
    /// Which file `database` has open, as an inode.
    private var identity: UInt64?

    /// Opens the file at `path`, making it (mode 0600) and its folder (mode 0700) where they are missing.
    ///
    /// A damaged file is kept beside it as `…corrupt-<date>` and an empty one is begun; `openingNotice` says so.
    /// Throws `storage` where the place cannot be used, or a newer router wrote the file.
    public init(path: String) throws {
        try self.init(file: StoreFile(path: path), schema: .current)
    }

    init(file: StoreFile, schema: StoreSchema, date: @escaping @Sendable () -> Date = { Date() }) throws {
        do {
            let opened = try file.open(schema: schema, date: date())
            database = opened.database
            identity = file.identity
            openingNotice =
                try opened.aside.map { aside in
                    Notice(
                        .warning,
                        "the state file \(file.path) was damaged: it was kept as \(aside) and an empty one begun",
                        hint: "Rooms of the configuration file are not touched; queues and volumes start afresh")
                } ?? Self.lostKeyNotice(opened.database, SecretBox.keyPath(of: file.path))
        } catch {
            throw RouterError.storage(error, doing: "open the state file", path: file.path)
        }
        self.file = file
        self.schema = schema
        self.date = date
    }

    private init(database: DatabaseQueue, schema: StoreSchema) {
        self.database = database
        self.schema = schema
        file = nil
        openingNotice = nil
        date = { Date() }
    }

    /// A store that is gone with the value: for tests, and for a command that was told to remember nothing.
    public static func inMemory() throws -> RouterStore {
        do {
            let database = try DatabaseQueue()
            try StoreSchema.current.apply(to: database)
            return RouterStore(database: database, schema: .current)
        } catch {
            throw RouterError.storage(error, doing: "open a store in memory", path: nil)
        }
    }

    /// Where devices have been paired and the key that their secrets were sealed with is gone.
    private static func lostKeyNotice(_ database: DatabaseQueue, _ key: String) throws -> Notice? {
        guard !FileManager.default.fileExists(atPath: key),
            try database.read({ try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM pairing)") }) ?? false
        else { return nil }
        return Notice(
            .warning, "the key of the pairings, \(key), is gone: paired devices do not know us any more",
            hint: "Put it back, or pair them again: router pair")
    }

    /// `$XDG_STATE_HOME/router/router.sqlite`, by default under `~/.local/state`. A relative XDG_STATE_HOME is not
    /// valid by the XDG base directory specification, and is passed over.
    public static func defaultPath(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String {
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
        let state = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(home)/.local/state"
        return "\(state)/router/router.sqlite"
    }

    // MARK: - Access

    /// Runs `body` in one transaction. `what` completes "could not …".
    func write<Value: Sendable>(
        _ what: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        let database = self.database
        do {
            // By completion handler, because GRDB's async form gives up when the task is cancelled.
            return try await withCheckedThrowingContinuation { continuation in
                database.asyncWrite(body) { _, result in continuation.resume(with: result) }
            }
        } catch {
            throw translated(error, doing: what, on: database)
        }
    }

    func read<Value: Sendable>(
        _ what: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        let database = self.database
        do {
            return try await withCheckedThrowingContinuation { continuation in
                database.asyncRead { result in
                    continuation.resume(with: Result { try body(result.get()) })
                }
            }
        } catch {
            throw translated(error, doing: what, on: database)
        }
    }

    /// As `write`, but for errors of one kind, which are the caller's own and thrown as they are.
    func write<Value: Sendable, Own: Error>(
        _ what: String, passing own: Own.Type, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        let result = try await write(what) { db -> Result<Value, Own> in
            do {
                return .success(try body(db))
            } catch let error as Own {
                // Before anything was written: there is nothing to take back.
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Runs `body` when no other of its kind runs.
    func inTurn<Value: Sendable>(_ body: () async throws -> Value) async rethrows -> Value {
        if !queueTurns.tryEnter() { await withCheckedContinuation { queueTurns.wait($0) } }
        defer { queueTurns.leave() }
        return try await body()
    }

    /// The error as people see it. Where it shows that the file is damaged, the file is replaced first.
    private func translated(_ error: any Error, doing what: String, on failed: DatabaseQueue) -> RouterError {
        guard let file, let damage = error as? DatabaseError, damage.isDamage else {
            return .storage(error, doing: what, path: file?.path)
        }
        // A call that failed at the same time may have replaced the file already.
        guard failed === database else {
            return .storage(damage, doing: what, path: file.path)
        }
        do {
            try? failed.close()
            // Another process may have put a new file there already: then that one is used.
            let replaced = file.identity != identity
            let opened = try replaced ? file.open(schema: schema, date: date()) : file.replace(schema, date: date())
            database = opened.database
            identity = file.identity
            guard let aside = opened.aside else { return .storage(damage, doing: what, path: file.path) }
            return .storage(StoreFault.replaced(path: file.path, aside: aside), doing: what, path: file.path)
        } catch {
            return .storage(error, doing: what, path: file.path)
        }
    }
}
