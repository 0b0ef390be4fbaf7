import Foundation
import GRDB
import Glibc

/// The file under the store: its folder, its modes, the lock while it is opened, and what is done when it is damaged.
struct StoreFile: Sendable {
    var path: String
    /// How long to wait for another process that is opening the same file, or writing to it.
    var patience: TimeInterval = 5

    var folder: String {
        let folder = (path as NSString).deletingLastPathComponent
        return folder.isEmpty ? "." : folder
    }

    /// Opens the file, making it and its folder where they are missing, and brings its schema up to date.
    ///
    /// One process at a time is in here for one folder: making the file, the change to WAL, a migration and the
    /// replacement of a damaged file are each safe only when alone. Where the file was damaged, `aside` says what it
    /// was moved to.
    func open(schema: StoreSchema, date: Date) throws -> (database: DatabaseQueue, aside: String?) {
        try prepareFolder()
        let lock = try FolderLock(folder, patience: patience)
        defer { lock.release() }
        do {
            return (try connect(schema), nil)
        } catch let error as DatabaseError where error.isDamage {
            let aside = try moveAside(date: date)
            return (try connect(schema), aside)
        }
    }

    /// Keeps the file, which was found damaged after it had been opened, under another name and begins an empty one.
    func replace(_ schema: StoreSchema, date: Date) throws -> (database: DatabaseQueue, aside: String?) {
        let lock = try FolderLock(folder, patience: patience)
        defer { lock.release() }
        let aside = try moveAside(date: date)
        return (try connect(schema), aside)
    }

    /// The inode that `path` stands for now: tells whether another process has replaced the file.
    var identity: UInt64? {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    private func prepareFolder() throws {
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) {
            guard isFolder.boolValue else { throw StoreFault.folder(path: folder, reason: "it is not a folder") }
            return
        }
        do {
            // Parents (~/.local/state) are as the person's umask makes them; only the folder of our own is private.
            let parent = (folder as NSString).deletingLastPathComponent
            if !parent.isEmpty {
                try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            }
        } catch {
            throw StoreFault.folder(path: folder, reason: "it could not be made")
        }
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw StoreFault.folder(path: folder, reason: lastError())
        }
    }

    private func connect(_ schema: StoreSchema) throws -> DatabaseQueue {
        // SQLite gives its -wal and -shm files the mode of this one.
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreFault.file(path: path, reason: lastError()) }
        var status = stat()
        let regular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        if regular, status.st_mode & 0o077 != 0 { fchmod(descriptor, 0o600) }
        close(descriptor)
        guard regular else { throw StoreFault.file(path: path, reason: "it is not a file") }

        var configuration = Configuration()
        configuration.busyMode = .timeout(patience)
        configuration.label = "RouterStore"
        // With WAL a commit need not wait for the disk: a crash of the machine may cost the last seconds, never the file.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
        let database = try DatabaseQueue(path: path, configuration: configuration)
        do {
            try database.writeWithoutTransaction { db in
                if try String.fetchOne(db, sql: "PRAGMA journal_mode") != "wal" {
                    try db.execute(sql: "PRAGMA journal_mode = WAL")
                }
            }
            try schema.apply(to: database)
            return database
        } catch {
            try? database.close()
            throw error
        }
    }

    /// Keeps the damaged file under another name, with its log, which may hold what the file lacks.
    private func moveAside(date: Date) throws -> String {
        let format = Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day().dateSeparator(.omitted)
            .time(includingFractionalSeconds: false).timeSeparator(.omitted)
        let base = "\(path).corrupt-\(date.formatted(format))"
        var aside = base
        var count = 1
        while FileManager.default.fileExists(atPath: aside) {
            count += 1
            aside = "\(base)-\(count)"
        }
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
            guard rename(path + suffix, aside + suffix) == 0 else {
                throw StoreFault.file(path: path, reason: "it is damaged and cannot be moved aside: \(lastError())")
            }
        }
        return aside
    }
}

/// An advisory lock on a folder itself, so that no lock file is left about.
struct FolderLock {
    private let descriptor: Int32

    init(_ folder: String, patience: TimeInterval) throws {
        descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreFault.folder(path: folder, reason: lastError()) }
        var tries = Int(patience * 500)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            // Some network file systems cannot lock a folder: SQLite's own locks have to do there.
            guard errno == EWOULDBLOCK || errno == EINTR else { break }
            tries -= 1
            if tries <= 0 {
                close(descriptor)
                throw StoreFault.held(path: folder)
            }
            usleep(2000)
        }
    }

    func release() { close(descriptor) }
}

private func lastError() -> String { String(cString: strerror(errno)) }
