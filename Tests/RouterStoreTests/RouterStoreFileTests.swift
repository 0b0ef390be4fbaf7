import Foundation
import GRDB
import RouteModel
import Testing

@testable import RouterStore

@Suite("RouterStore's file")
struct RouterStoreFileTests {
    let folder = TemporaryFolder()

    @Test(
        "the default path follows the XDG base directory specification",
        arguments: [
            (["HOME": "/home/a"], "/home/a/.local/state/router/router.sqlite"),
            (["HOME": "/home/a", "XDG_STATE_HOME": "/s"], "/s/router/router.sqlite"),
            (["HOME": "/home/a", "XDG_STATE_HOME": ""], "/home/a/.local/state/router/router.sqlite"),
            (["HOME": "/home/a", "XDG_STATE_HOME": "relative"], "/home/a/.local/state/router/router.sqlite"),
        ])
    func defaultPath(environment: [String: String], expected: String) {
        #expect(RouterStore.defaultPath(environment: environment) == expected)
    }

    @Test("what is written is there when the file is opened again, and private")
    func reopen() async throws {
        let session = record("se-1")
        do {
            let store = try RouterStore(path: folder.file)
            #expect(store.openingNotice == nil)
            try await store.saveSession(session)
            for name in folder.entries() {
                #expect(try permissions(folder.path + "/state/router/" + name) == 0o600, "\(name)")
            }
            #expect(try permissions(folder.path + "/state/router") == 0o700)
        }
        let store = try RouterStore(path: folder.file)
        #expect(try await store.sessionsToRejoin() == [session])
        #expect(try await store.database.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
    }

    @Test("a file that others could read is made private on opening")
    func tightens() throws {
        _ = try RouterStore(path: folder.file)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file)
        _ = try RouterStore(path: folder.file)
        #expect(try permissions(folder.file) == 0o600)
    }

    @Test("many at once open one new file and write to it")
    func concurrentOpens() async throws {
        let path = folder.file
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<16 {
                group.addTask {
                    let store = try RouterStore(path: path)
                    #expect(store.openingNotice == nil)
                    for step in 0..<5 {
                        try await store.saveVolume(
                            VolumeState(level: VolumePosition(percent: Double(step))),
                            of: RouteID(rawValue: "rt-\(index)"))
                    }
                }
            }
            try await group.waitForAll()
        }
        let store = try RouterStore(path: path)
        for index in 0..<16 {
            #expect(try await store.volume(of: RouteID(rawValue: "rt-\(index)"))?.level.percent == 4)
        }
        #expect(folder.entries().allSatisfy { !$0.contains("corrupt") })
    }

    @Test("many at once open one damaged file: it is moved aside once")
    func concurrentRepairs() async throws {
        try plant(Data(repeating: 0x41, count: 8192))
        let path = folder.file
        let notices = try await withThrowingTaskGroup(of: Notice?.self) { group in
            for _ in 0..<8 { group.addTask { try RouterStore(path: path).openingNotice } }
            return try await group.reduce(into: [Notice]()) { list, notice in notice.map { list.append($0) } }
        }
        #expect(notices.count == 1)
        #expect(folder.entries().filter { $0.contains(".corrupt-") }.count == 1)
    }

    @Test("a damaged file is kept under another name, byte for byte, and it is said")
    func corrupt() async throws {
        let rubbish = Data("this was a database once".utf8) + Data(repeating: 7, count: 5000)
        try plant(rubbish)
        let date = Date(timeIntervalSince1970: 1_795_219_200)
        let store = try RouterStore(file: StoreFile(path: folder.file), schema: .current, date: { date })
        let aside = "router.sqlite.corrupt-20261121T000000"
        let names = folder.entries()
        let kept = try #require(names.first { $0.hasPrefix(aside) }, "\(names)")
        #expect(FileManager.default.contents(atPath: folder.path + "/state/router/" + kept) == rubbish)
        let notice = try #require(store.openingNotice)
        #expect(notice.severity == .warning)
        #expect(notice.message.contains(kept) && notice.hint != nil)
        try await store.saveSession(record("se-1"))

        // A second one of the same second does not overwrite the first.
        try await store.database.close()
        try plant(rubbish + [1])
        let again = try RouterStore(file: StoreFile(path: folder.file), schema: .current, date: { date })
        #expect(again.openingNotice?.message.contains(kept + "-2") == true)
        #expect(FileManager.default.contents(atPath: folder.path + "/state/router/" + kept) == rubbish)
    }

    @Test("damage that shows up later is told once, the file is kept, and the store goes on")
    func corruptLater() async throws {
        var store = try RouterStore(path: folder.file)
        for index in 0..<200 {
            try await store.saveMediaToken(
                MediaTokenRecord(token: .random(), item: ItemID(rawValue: "\(index)"), path: "/p/\(index)"))
        }
        let root = try await store.database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            return try Int.fetchOne(db, sql: "SELECT MAX(rootpage) FROM sqlite_master") ?? 1
        }
        try await store.database.close()
        // The header, the schema's pages and the roots stay whole: opening sees nothing.
        let handle = try #require(FileHandle(forUpdatingAtPath: folder.file))
        let size = try handle.seekToEnd()
        let first = (root + 2) * 4096
        try #require(Int(size) > first)
        try handle.seek(toOffset: UInt64(first))
        try handle.write(contentsOf: Data(repeating: 0xEE, count: Int(size) - first))
        try handle.close()

        store = try RouterStore(path: folder.file)
        #expect(store.openingNotice == nil)
        let error = await #expect(throws: RouterError.self) { _ = try await store.mediaTokens() }
        #expect(error?.code == .storage)
        #expect(error?.retry == .now)
        #expect(error?.message.contains(".corrupt-") == true)
        #expect(try await store.mediaTokens().isEmpty)
        try await store.saveSession(record("se-1"))
        #expect(try await RouterStore(path: folder.file).sessionsToRejoin() == [record("se-1")])
        #expect(folder.entries().contains { $0.contains(".corrupt-") })
    }

    @Test("a place that cannot be used is told with a hint, and nothing is made")
    func unusable() throws {
        let plain = folder.path + "/plain"
        try Data().write(to: URL(fileURLWithPath: plain))
        let aFolder = folder.path + "/folder"
        try FileManager.default.createDirectory(atPath: aFolder, withIntermediateDirectories: true)
        // Root may write to folders that are closed to everybody, but not make files in /proc.
        for path in [plain + "/router.sqlite", plain + "/deeper/router.sqlite", aFolder, "/proc/self/router.sqlite"] {
            let error = try #require(openingError(path), "\(path)")
            #expect(error.code == .storage, "\(path)")
            #expect(error.hint != nil, "\(path)")
            #expect(error.message.contains(path) || error.message.contains("folder"), "\(error)")
        }
        #expect(FileManager.default.contents(atPath: plain)?.isEmpty == true)
    }

    @Test("a folder that may not be written to is told with a hint")
    func readOnlyFolder() throws {
        let closed = folder.path + "/closed"
        try FileManager.default.createDirectory(
            atPath: closed, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o500])
        // For root the mode is no obstacle; there the folder must still be usable.
        let error = openingError(closed + "/router.sqlite")
        if geteuid() == 0 {
            #expect(error == nil)
        } else {
            #expect(error?.code == .storage)
            #expect(error?.hint?.contains("XDG_STATE_HOME") == true)
        }
    }

    @Test("a full disk is told as one")
    func full() async throws {
        let store = try RouterStore(path: folder.file)
        try await store.database.write { db in
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages)")
        }
        let path = "/" + String(repeating: "long", count: 20_000)
        let error = await #expect(throws: RouterError.self) {
            try await store.saveMediaToken(
                MediaTokenRecord(token: .random(), item: ItemID(rawValue: "01"), path: path))
        }
        #expect(error?.code == .storage)
        #expect(error?.message.contains("full") == true)
        #expect(error?.hint != nil)
        #expect(try await store.mediaTokens().isEmpty)
    }

    @Test("a file that another holds locked is told after the wait, as something to try again")
    func busy() async throws {
        let store = try RouterStore(file: StoreFile(path: folder.file, patience: 0.05), schema: .current)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: folder.file, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let error = await #expect(throws: RouterError.self) {
            try await store.removeSession(SessionID(rawValue: "x"))
        }
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try await store.removeSession(SessionID(rawValue: "x"))
        #expect(error?.code == .storage)
        #expect(error?.retry == .later)
    }

    private func plant(_ data: Data) throws {
        try FileManager.default.createDirectory(
            atPath: folder.path + "/state/router", withIntermediateDirectories: true)
        try data.write(to: URL(fileURLWithPath: folder.file))
    }
}
