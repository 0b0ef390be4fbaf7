import Foundation
import GRDB
import RouteModel
import Testing

@testable import RouterStore

@Suite("RouterStore writes of a queue what has changed")
struct QueueStoreTests {
    let folder = TemporaryFolder()
    private let session = SessionID(rawValue: "se-1")

    private func items(_ range: Range<Int>) -> [QueueItem] {
        range.map { item("i\($0)", path: "/music/\($0).flac", title: "Title \($0)") }
    }

    /// Rows that a save changes, of whatever table.
    private func changes(_ store: RouterStore, _ queue: QueueSnapshot) async throws -> Int {
        let before = try await store.database.read { $0.totalChangesCount }
        try await store.saveQueue(queue, session: session)
        return try await store.database.read { $0.totalChangesCount } - before
    }

    @Test("an edit of a long queue writes a handful of rows; what is read is what was written")
    func few() async throws {
        let store = try RouterStore(path: folder.file)
        var queue = QueueSnapshot(version: 1, items: items(0..<5000), current: ItemID(rawValue: "i0"))
        #expect(try await changes(store, queue) >= 5000)
        /// The row of the queue, that of its order, and so many of items.
        let steps: [(String, Int, (inout QueueSnapshot) -> Void)] = [
            ("another item plays", 1, { $0.current = ItemID(rawValue: "i7") }),
            ("insert", 3, { $0.items.insert(item("n", path: "/n.flac"), at: 0) }),
            ("move", 2, { $0.items.append($0.items.remove(at: 17)) }),
            ("remove", 4, { $0.items.removeSubrange(10..<12) }),
            ("a title is learnt", 2, { $0.items[9].metadata.title = "Learnt" }),
            (
                "shuffle", 3,
                {
                    $0.original = $0.items.map(\.id)
                    $0.shuffleSeed = 77
                    $0.items.reverse()
                }
            ),
            ("policy", 1, { $0.failurePolicy = .retry(4) }),
            (
                "unshuffle", 3,
                {
                    $0.items.reverse()
                    $0.original = nil
                    $0.shuffleSeed = nil
                }
            ),
        ]
        for (name, count, step) in steps {
            step(&queue)
            queue.version += 1
            #expect(try await changes(store, queue) == count, "\(name)")
            #expect(try await store.queue(session: session) == queue, "\(name)")
            #expect(try await RouterStore(path: folder.file).queue(session: session) == queue, "\(name)")
        }
    }

    @Test("any queue after any other is written whole", arguments: 0..<10)
    func random(seed: Int) async throws {
        let store = try RouterStore(path: folder.file)
        var generator = SeededGenerator(state: UInt64(seed) &* 77 &+ 5)
        var queue = QueueSnapshot(version: 0, items: items(0..<30), current: nil)
        var made = 30
        for _ in 0..<40 {
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: queue.items.shuffle(using: &generator)
            case 1: queue.items.removeAll { _ in Bool.random(using: &generator) }
            case 2:
                queue.items.insert(
                    contentsOf: items(made..<(made + 5)), at: Int.random(in: 0...queue.items.count, using: &generator))
                made += 5
            case 3:
                for place in queue.items.indices where Int.random(in: 0..<9, using: &generator) == 0 {
                    queue.items[place].metadata.title = "T\(made)"
                    queue.items[place].custom = Bool.random(using: &generator) ? "{}" : nil
                }
            case 4: queue.original = queue.items.map(\.id).shuffled(using: &generator)
            default: queue.original = nil
            }
            if let original = queue.original, Set(original) != Set(queue.items.map(\.id)) {
                queue.original = queue.items.map(\.id)
            }
            queue.version += 1
            try await store.saveQueue(queue, session: session)
            #expect(try await store.queue(session: session) == queue)
        }
        #expect(try await RouterStore(path: folder.file).queue(session: session) == queue)
        let rows = try await store.database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM queueEntry") }
        #expect(rows == queue.items.count)
    }

    @Test("what another process has written meanwhile is written over, not mixed with")
    func twoProcesses() async throws {
        let (one, other) = (try RouterStore(path: folder.file), try RouterStore(path: folder.file))
        try await one.saveQueue(QueueSnapshot(version: 1, items: items(0..<5), current: nil), session: session)
        let theirs = QueueSnapshot(version: 9, items: items(3..<9), current: nil)
        try await other.saveQueue(theirs, session: session)
        #expect(try await one.queue(session: session) == theirs)
        let ours = QueueSnapshot(version: 2, items: items(0..<4), current: nil)
        try await one.saveQueue(ours, session: session)
        try await other.saveQueue(theirs, session: session)
        try await one.saveQueue(ours, session: session)
        #expect(try await other.queue(session: session) == ours)
    }

    @Test("every field of an item comes back, in columns and as JSON; times to the tick")
    func fields() async throws {
        let store = try RouterStore(path: folder.file)
        var whole = item("a", path: "/a\n\"’;--.flac", title: "")
        whole.metadata.duration = MediaTime(ticks: 7)
        whole.metadata.trackNumber = -1
        whole.start = MediaTime(ticks: 123_456_789_012_345)
        var more = [whole]
        let changes: [(inout QueueItem) -> Void] = [
            { $0.failure = "gone" }, { $0.context = "Album" }, { $0.subtitles = SubtitleRequest() },
            { $0.addedBy = .device(RouteID(rawValue: "rt-1")) }, { $0.end = MediaTime(seconds: 9) },
            { $0.externalPlayback = false }, { $0.custom = "{\"a\":[1]}" },
            { $0.source = .live(LiveInput(.pipe, name: "/p")) }, { $0.metadata.genre = "Jazz" },
            { $0.metadata.images = [MediaImage(url: "http://h/a.jpg")] },
        ]
        for (number, change) in changes.enumerated() {
            var other = item("b\(number)", path: "/b", title: "B")
            change(&other)
            more.append(other)
        }
        let queue = QueueSnapshot(version: 1, items: more, current: whole.id)
        try await store.saveQueue(queue, session: session)
        #expect(try await RouterStore(path: folder.file).queue(session: session) == queue)
        let plain = try await store.database.read {
            try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM queueEntry WHERE content IS NULL")
        }
        #expect(plain == 2)
    }

    @Test("a save that failed on a full disk is made good by the next that does not")
    func full() async throws {
        let store = try RouterStore(path: folder.file)
        var queue = QueueSnapshot(version: 1, items: items(0..<10), current: nil)
        try await store.saveQueue(queue, session: session)
        try await store.database.write { db in
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages)")
        }
        let first = queue
        queue.items += items(10..<5000)
        queue.version = 2
        let long = queue
        let error = await #expect(throws: RouterError.self) { try await store.saveQueue(long, session: session) }
        #expect(error?.code == .storage && error?.message.contains("full") == true)
        #expect(try await store.queue(session: session) == first)
        try await store.database.write { try $0.execute(sql: "PRAGMA max_page_count = 1000000") }
        try await store.saveQueue(long, session: session)
        #expect(try await RouterStore(path: folder.file).queue(session: session) == long)
    }

    @Test(
        "a disk that is really full is told, and written to again once there is room",
        .enabled(if: ProcessInfo.processInfo.environment["ROUTER_LAB"] != nil, "needs a namespace: Tests/lab.sh"))
    func smallDisk() async throws {
        let disk = folder.path + "/disk"
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
        try run("mount", "-t", "tmpfs", "-o", "size=1m", "router-test", disk)
        defer { try? run("umount", "-l", disk) }
        let store = try RouterStore(path: disk + "/router.sqlite")
        let small = QueueSnapshot(version: 1, items: items(0..<10), current: nil)
        try await store.saveQueue(small, session: session)
        let ballast = disk + "/ballast"
        #expect(FileManager.default.createFile(atPath: ballast, contents: nil))
        let handle = try #require(FileHandle(forWritingAtPath: ballast))
        while (try? handle.write(contentsOf: Data(count: 4096))) != nil {}
        try handle.close()
        let big = QueueSnapshot(version: 2, items: items(0..<2000), current: nil)
        let error = await #expect(throws: RouterError.self) { try await store.saveQueue(big, session: session) }
        #expect(error?.code == .storage && error?.hint != nil)
        #expect(try await store.queue(session: session) == small)
        try FileManager.default.removeItem(atPath: ballast)
        try await store.saveQueue(big, session: session)
        #expect(try await RouterStore(path: disk + "/router.sqlite").queue(session: session) == big)
    }

    private func run(_ words: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw StoreFault.content("\(words) failed") }
    }

    // MARK: Under a name

    @Test("queues under a name come back, take each other's place, and go")
    func saved() async throws {
        let store = try RouterStore(path: folder.file)
        let evening = SavedQueue(name: "Evening", items: items(0..<3), saved: 5)
        try await store.keepQueue(SavedQueue(name: "Evening", items: items(5..<20), saved: 4))
        try await store.keepQueue(evening)
        try await store.keepQueue(SavedQueue(name: "a’b;--", items: [], saved: 6))
        let other = try RouterStore(path: folder.file)
        #expect(try await other.savedQueueNames() == ["a’b;--", "Evening"])
        #expect(try await other.savedQueue("Evening") == evening)
        #expect(try await other.savedQueue("evening") == nil)
        #expect(try await other.removeSavedQueue("Evening"))
        #expect(try await !store.removeSavedQueue("Evening"))
        let rows = try await store.database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM savedQueueEntry") }
        #expect(rows == 0)
    }

    // MARK: History

    private func play(_ name: String, _ session: String = "se-1") -> PlayRecord {
        PlayRecord(
            id: 0, session: SessionID(rawValue: session), item: item(name, path: "/\(name)", title: name),
            rooms: ["Küche", "Den"], started: 100)
    }

    @Test("plays are counted up, end once, and the latest come first")
    func history() async throws {
        let store = try RouterStore(path: folder.file)
        var first = play("a")
        first.id = try await store.addPlay(first)
        var second = play("b", "se-2")
        second.id = try await store.addPlay(second)
        #expect(second.id > first.id)
        #expect(try await store.openPlay(session: SessionID(rawValue: "se-1")) == first)
        first.stopped = 160
        first.reason = .replaced
        first.furthest = MediaTime(seconds: 59.5)
        first.item.metadata.artist = "Learnt"
        try await store.updatePlay(first)
        #expect(try await store.plays(limit: 10) == [second, first])
        #expect(try await store.plays(limit: 1) == [second])
        #expect(try await store.openPlay(session: SessionID(rawValue: "se-1")) == nil)
    }

    @Test("what a process that is no more had not ended counts as cancelled when it was last heard of; the oldest go")
    func boundedHistory() async throws {
        let date = Date(timeIntervalSince1970: 500)
        let store = try RouterStore(file: StoreFile(path: folder.file), schema: .current, date: { date })
        let id = try await store.addPlay(play("a"))
        try await store.database.write { try $0.execute(sql: "UPDATE play SET owner = 'boot 4194305 7'") }
        let dead = try #require(try await store.plays(limit: 5).first)
        #expect(dead.stopped == 500 && dead.reason == .cancelled)
        // Its session may be taken up again, and then it goes on.
        #expect(try await store.openPlay(session: SessionID(rawValue: "se-1"))?.stopped == nil)
        try await store.database.write { db in
            try db.execute(
                sql: "UPDATE sqlite_sequence SET seq = ? WHERE name = 'play'", arguments: [id + RouterStore.keptPlays])
        }
        _ = try await store.addPlay(play("b"))
        #expect(try await store.plays(limit: 5).map(\.item.id.rawValue) == ["b"])
    }

    // MARK: Older files

    @Test("a shuffled queue of version 4 is taken over with both its orders")
    func migration() async throws {
        try FileManager.default.createDirectory(
            atPath: folder.path + "/state/router", withIntermediateDirectories: true)
        let database = try DatabaseQueue(path: folder.file)
        try StoreSchema.migrations().migrate(database, upTo: "pairings")
        try await database.write { db in
            try db.execute(
                sql: """
                    INSERT INTO queue VALUES ('se-1', 7, '01B', 12, '{"repeatMode":"all","original":["01A","01B"]}');
                    INSERT INTO queueItem VALUES ('se-1', 0, '01B',
                        '{"id":"01B","metadata":{"images":[],"kind":"live"},"source":{"url":"http://h/"},"start":1.5}');
                    INSERT INTO queueItem VALUES ('se-1', 1, '01A',
                        '{"id":"01A","metadata":{"images":[],"kind":"music"},"source":{"file":"/a.flac"},"start":0}');
                    PRAGMA user_version = 4;
                    """)
        }
        try database.close()
        let store = try RouterStore(path: folder.file)
        let queue = try #require(try await store.queue(session: session))
        #expect(queue.items.map(\.id.rawValue) == ["01B", "01A"])
        #expect(queue.original?.map(\.rawValue) == ["01A", "01B"])
        #expect(queue.repeatMode == .all && queue.version == 7 && queue.current?.rawValue == "01B")
        var edited = queue
        edited.items.append(item("01C", path: "/c"))
        edited.original?.append(ItemID(rawValue: "01C"))
        try await store.saveQueue(edited, session: session)
        #expect(try await RouterStore(path: folder.file).queue(session: session) == edited)
    }
}

/// Random numbers that are the same each time.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 29)
    }
}
