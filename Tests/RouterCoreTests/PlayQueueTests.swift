import RouteModel
import Testing

@testable import RouterCore

/// Items under plain names.
private func items(_ names: [String], context: String? = nil) -> [QueueItem] {
    names.map { QueueItem(id: ItemID(rawValue: $0), source: .file(path: "/\($0)"), context: context) }
}

private func id(_ name: String) -> ItemID { ItemID(rawValue: name) }

extension PlayQueue {
    fileprivate var names: [String] { items.map(\.id.rawValue) }
    fileprivate var originalNames: [String]? { unshuffled?.map(\.id.rawValue) }
}

@Suite("C10 the queue itself")
struct PlayQueueTests {
    private let letters = ["a", "b", "c", "d", "e", "f", "g", "h"]

    @Test("ten edits can be taken back, one after the other; what is no edit is none to take back")
    func undo() {
        var queue = PlayQueue(items: items(["a"]))
        for number in 0..<12 { queue.insert(items(["n\(number)"]), before: nil) }
        queue.select(id("n0"))
        queue.setRepeat(.all)
        queue.setFailurePolicy(.stop)
        queue.enrich(id("n0"), MediaMetadata(title: "Title"))
        var versions = [queue.version]
        for number in (2..<12).reversed() {
            let undone = queue.undo()
            #expect(undone)
            #expect(queue.names == ["a"] + (0..<number).map { "n\($0)" })
            versions.append(queue.version)
        }
        let more = queue.undo()
        #expect(!more)
        #expect(versions == versions.sorted() && Set(versions).count == versions.count)
        #expect(queue.current == id("n0") && queue.repeatMode == .all && queue.failurePolicy == .stop)
        #expect(queue.item(id("n0"))?.title == "Title")
    }

    @Test("every kind of edit is taken back, also shuffle and what another sender did")
    func undoKinds() {
        let edits: [(String, (inout PlayQueue) -> Void)] = [
            ("insert", { $0.insert(items(["x", "y"]), before: id("c")) }),
            ("next", { $0.insert(items(["x"]), after: id("a")) }),
            ("move", { $0.move([id("e"), id("b")], before: id("c")) }),
            ("remove", { $0.remove([id("b"), id("d")]) }),
            ("remove the current one", { $0.remove([id("a")]) }),
            ("clear upcoming", { $0.clearUpcoming() }),
            ("replace upcoming", { $0.replaceUpcoming(items(["x", "y"])) }),
            ("shuffle", { $0.shuffle(seed: 7) }),
            ("clear", { $0.clear() }),
            ("adopt", { $0.adopt(items(["x", "c"]), after: id("a"), removing: [id("b")]) }),
        ]
        for (name, edit) in edits {
            var queue = PlayQueue(items: items(letters))
            edit(&queue)
            #expect(queue.names != letters || queue.isShuffled, "\(name)")
            let undone = queue.undo()
            #expect(undone, "\(name)")
            #expect(queue.names == letters, "\(name)")
            #expect(!queue.isShuffled && queue.shuffleSeed == nil, "\(name)")
        }
    }

    @Test(
        "a repeated queue's beginning, which a device holds after its end, stays the beginning",
        arguments: [
            (["e", "f", "g", "h", "a", "b"], "abcdefgh"), (["e", "f", "g", "h", "x", "a"], "abcdefghx"),
            (["f", "e", "g", "h", "a", "b", "c"], "abcdfegh"), (["e", "g", "f", "h", "a"], "abcdegfh"),
            ([], "abcdefgh"),
            // It goes from the beginning's middle on, or on before the end: that is somebody's wish.
            (["e", "f", "g", "h", "b"], "acdefghb"), (["e", "f", "a"], "bcdefagh"),
        ])
    func repeatedWindow(upcoming: [String], order: String) {
        var queue = PlayQueue(items: items(letters))
        queue.setRepeat(.all)
        queue.select(id("d"))
        let changed = queue.adopt(items(upcoming), after: id("d"), removing: [])
        #expect(queue.names.joined() == order)
        #expect(changed == (order != letters.joined()))
        queue.setRepeat(.off)
        queue.adopt(items(["a"]), after: id("d"), removing: [])
        #expect(queue.names.firstIndex(of: "a") == queue.names.firstIndex(of: "d").map { $0 + 1 })
    }

    @Test("what plays stays where it is when the edit that brought it is taken back")
    func undoKeepsWhatPlays() {
        var queue = PlayQueue(items: items(["a", "b", "c"]))
        queue.insert(items(["x", "y"]), after: id("a"))
        queue.select(id("y"))
        _ = queue.undo()
        #expect(queue.names == ["a", "y", "b", "c"])
        #expect(queue.current == id("y"))
    }

    @Test("shuffle leaves what was played, draws the same order from the same seed, and is undone to the original")
    func shuffle() {
        let names = (0..<50).map { "i\($0)" }
        var queue = PlayQueue(items: items(names))
        queue.select(id("i9"))
        var same = queue
        queue.shuffle(seed: 42)
        same.shuffle(seed: 42)
        #expect(queue.names == same.names && queue.shuffleSeed == 42)
        #expect(Array(queue.names.prefix(10)) == Array(names.prefix(10)))
        #expect(queue.names != names && Set(queue.names) == Set(names))
        #expect(queue.originalNames == names)
        let first = queue.names
        queue.shuffle(seed: 43)
        #expect(queue.names != first && queue.originalNames == names)
        queue.unshuffle()
        #expect(queue.names == names && queue.current == id("i9") && queue.shuffleSeed == nil)
    }

    @Test("what is added while shuffled stands in play order where it was put, in the original after its own kin")
    func insertShuffled() {
        var queue = PlayQueue(items: items(["a1", "a2"], context: "A") + items(["b1", "b2"], context: "B"))
        queue.shuffle(seed: 1)
        let current = queue.current
        queue.insert(items(["a3"], context: "A") + items(["x"]) + items(["c1", "c2"], context: "C"), after: current)
        #expect(Array(queue.names[1...4]) == ["a3", "x", "c1", "c2"])
        #expect(queue.originalNames == ["a1", "a2", "a3", "b1", "b2", "x", "c1", "c2"])
        queue.insert(items(["c3"], context: "C"), before: nil)
        queue.remove([id("b1")])
        #expect(queue.originalNames == ["a1", "a2", "a3", "b2", "x", "c1", "c2", "c3"])
        queue.unshuffle()
        #expect(queue.names == ["a1", "a2", "a3", "b2", "x", "c1", "c2", "c3"])
    }

    @Test("previous goes back through what was played, and then through the order")
    func previous() {
        var queue = PlayQueue(items: items(letters))
        queue.select(id("f"))
        queue.select(id("c"))
        var steps = (0..<3).map { _ in queue.selectPrevious()?.id }
        #expect(steps == [id("f"), id("a"), nil])
        queue.select(id("d"))
        queue.remove([id("a")])
        // What was played is there no more: the one before in order.
        steps = [queue.selectPrevious()?.id]
        #expect(steps == [id("c")])
        queue.select(id("g"))
        queue.markFailed(id("c"), "broken")
        #expect(queue.previousItem()?.id == id("f"))
    }

    @Test("removing the current item makes the next that plays the current one; with none left there is none")
    func removeCurrent() {
        var queue = PlayQueue(items: items(["a", "b", "c"]))
        queue.markFailed(id("b"), "broken")
        queue.remove([id("a")])
        #expect(queue.current == id("c"))
        queue.remove([id("c"), id("b")])
        #expect(queue.current == nil && queue.items.isEmpty)
    }

    @Test("C10 the last item removed while it plays: with repeat all the first one follows that plays, else none")
    func removeLast() {
        for mode in RepeatMode.allCases {
            var queue = PlayQueue(items: items(["a", "b", "c"]), repeatMode: mode)
            queue.markFailed(id("a"), "broken")
            queue.select(id("c"))
            queue.remove([id("c")])
            #expect(queue.current == (mode == .all ? id("b") : nil), "\(mode)")
        }
    }

    @Test("while another sender plays something else none is current, and the place is kept")
    func interrupted() {
        var queue = PlayQueue(items: items(["a", "b", "c"]))
        queue.select(id("b"))
        var copy = queue.snapshot
        queue.interrupt(true)
        #expect(queue.snapshot.current == nil && queue.item(after: queue.current)?.id == id("c"))
        queue.select(id("c"))
        func changes(since base: Int) -> QueueChanges {
            QueueChanges(
                session: SessionID(rawValue: "s"), base: base, version: queue.version,
                changes: queue.changes(since: base) ?? [], whole: nil)
        }
        copy.apply(changes(since: copy.version))
        #expect(copy == queue.snapshot)
        queue.interrupt(false)
        copy.apply(changes(since: copy.version))
        #expect(copy == queue.snapshot && copy.current == id("c"))
    }

    @Test("an id is of one item only, in what is loaded and in what is added")
    func uniqueIDs() {
        var queue = PlayQueue(items: items(["a", "b", "a"]))
        #expect(queue.names == ["a", "b"])
        queue.insert(items(["b", "c", "c"]), before: nil)
        #expect(queue.names == ["a", "b", "c"])
        let foreign = QueueSnapshot(version: 3, items: items(["a"]), current: id("z"), original: [id("q")])
        let loaded = PlayQueue(foreign)
        #expect(loaded.current == nil && loaded.unshuffled == nil && loaded.version == 3)
    }

    @Test("settings change an item and the version, and zero and the empty text take them back")
    func settings() {
        var queue = PlayQueue(items: items(["a"]))
        let version = queue.version
        queue.apply(
            QueueItemSettings(end: MediaTime(seconds: 5), externalPlayback: false, custom: "{}"), to: [id("a")])
        #expect(queue.version == version + 1)
        #expect(queue.item(id("a"))?.end?.seconds == 5 && queue.item(id("a"))?.externalPlayback == false)
        queue.apply(QueueItemSettings(end: .zero, custom: ""), to: [id("a")])
        #expect(queue.item(id("a"))?.end == nil && queue.item(id("a"))?.custom == nil)
    }

    @Test("what was there once is let go of, and undo still brings back what it can")
    func manyEdits() {
        var queue = PlayQueue(items: items(letters))
        for round in 0..<4000 {
            queue.replaceUpcoming(items((0..<10).map { "r\(round)-\($0)" }, context: "C\(round % 7)"))
            if round % 50 == 0 { queue.shuffle(seed: UInt32(round)) }
        }
        #expect(queue.table.count < 20_000)
        Self.checkInvariants(queue)
        for round in (3989..<3999).reversed() {
            let undone = queue.undo()
            #expect(undone)
            #expect(Set(queue.names) == Set(["a"] + (0..<10).map { "r\(round)-\($0)" }))
            Self.checkInvariants(queue)
        }
    }

    @Test("an id that comes again after it was taken out is one item, also when both edits are taken back")
    func sameIDAgain() {
        var queue = PlayQueue(items: items(letters))
        queue.remove([id("c")])
        queue.insert([QueueItem(id: id("c"), source: .file(path: "/other"))], before: nil)
        queue.select(id("c"))
        #expect(queue.names.last == "c" && queue.item(id("c"))?.source == .file(path: "/other"))
        _ = queue.undo()
        #expect(queue.names.count { $0 == "c" } == 1 && queue.current == id("c"))
        _ = queue.undo()
        #expect(queue.names == letters && queue.current == id("c"))
        Self.checkInvariants(queue)
    }

    // MARK: Changes

    @Test("the changes since a version lead from its copy to what the queue is, over any edits", arguments: 0..<20)
    func changes(seed: UInt32) {
        var random = ShuffleGenerator(seed: seed)
        var queue = PlayQueue(items: items((0..<12).map { "s\($0)" }, context: "S"))
        var copies = [queue.snapshot]
        var made = 0
        for step in 0..<300 {
            Self.edit(&queue, &made, &random)
            let now = queue.snapshot
            Self.checkInvariants(queue)
            for base in [copies.last, copies.randomElement(using: &random)].compactMap({ $0 }) {
                var copy = base
                guard let changes = queue.changes(since: base.version) else { continue }
                let update = QueueChanges(
                    session: SessionID(rawValue: "s"), base: base.version, version: now.version, changes: changes)
                let applied = copy.apply(update)
                #expect(applied && copy == now, "step \(step)")
            }
            if Bool.random(using: &random) { copies.append(now) }
            if copies.count > 40 { copies.removeFirst() }
        }
        // A copy that is not too old is always led on.
        #expect(queue.changes(since: queue.version) != nil)
    }

    private static func edit(_ queue: inout PlayQueue, _ made: inout Int, _ random: inout ShuffleGenerator) {
        func some() -> ItemID? { queue.items.randomElement(using: &random)?.id }
        func new(_ count: Int) -> [QueueItem] {
            made += count
            let kind = ["S", "T", nil].randomElement(using: &random) ?? nil
            return items((made - count..<made).map { "n\($0)" }, context: kind)
        }
        let several = queue.items.filter { _ in Int.random(in: 0..<5, using: &random) == 0 }.map(\.id)
        let (one, other) = (some(), some())
        switch Int.random(in: 0..<17, using: &random) {
        case 0, 1: queue.insert(new(Int.random(in: 1...3, using: &random)), after: queue.current)
        case 2: queue.insert(new(2), before: one)
        case 3: queue.insert(new(1), before: nil)
        case 4, 5: queue.move(several.shuffled(using: &random), before: several.contains { $0 == one } ? nil : one)
        case 6: queue.remove(Set(several))
        case 7: if queue.items.count > 20 { queue.clearUpcoming() }
        case 8: queue.replaceUpcoming(new(8))
        case 9: queue.shuffle(seed: UInt32.random(in: 0...9, using: &random))
        case 10: queue.unshuffle()
        case 11: _ = queue.undo()
        case 12: one.map { queue.select($0) }
        case 13: one.map { queue.enrich($0, MediaMetadata(title: "T\(made)")) }
        case 14: one.map { queue.markFailed($0, "broken") }
        case 15:
            let known = several.compactMap { queue.item($0) }
            if let current = queue.current {
                queue.adopt(
                    known.filter { $0.id != current } + new(1), after: current,
                    removing: Set([other].compactMap { $0 }.filter { $0 != current }))
            }
        default:
            one.map { queue.apply(QueueItemSettings(end: MediaTime(seconds: Double(made + 1))), to: [$0]) }
            queue.setRepeat([.off, .one, .all].randomElement(using: &random) ?? .off)
            queue.setFailurePolicy([nil, .stop, .retry(2)].randomElement(using: &random) ?? nil)
        }
    }

    private static func checkInvariants(_ queue: PlayQueue) {
        let ids = queue.items.map(\.id)
        #expect(Set(ids).count == ids.count)
        if let original = queue.unshuffled?.map(\.id) {
            #expect(original.count == ids.count && Set(original) == Set(ids))
        }
        if let current = queue.current { #expect(ids.contains(current)) }
        for item in queue.items { #expect(queue.item(item.id) == item) }
        #expect(PlayQueue(queue.snapshot).snapshot == queue.snapshot)
    }

    @Test(
        "a version that is too old, or none of this queue's, gives the whole; and what is learnt comes without a version"
    )
    func oldVersions() throws {
        var queue = PlayQueue(items: items(letters))
        let first = queue.version
        for number in 0..<600 { queue.insert(items(["n\(number)"]), before: nil) }
        #expect(queue.changes(since: first) == nil)
        #expect(queue.changes(since: queue.version + 1) == nil)
        #expect(queue.changes(since: queue.version - 10)?.count == 10)
        queue.enrich(id("a"), MediaMetadata(title: "A"))
        let learnt = try #require(queue.changes(since: queue.version))
        #expect(learnt == [.update(try #require(queue.item(id("a"))))])
        // A change that is larger than the log is not kept.
        let before = queue.version
        queue.insert(items((0..<QueueLog.weightLimit).map { "big\($0)" }), before: nil)
        #expect(queue.changes(since: before) == nil)
        #expect(queue.changes(since: queue.version) == [])
    }
}

@Suite("history: what is one play")
struct PlayLogTests {
    private func anchor(_ item: String, _ seconds: Double = 0, at instant: Int64 = 0, rate: Double = 1)
        -> PlaybackAnchor
    {
        PlaybackAnchor(
            item: id(item), time: MediaTime(seconds: seconds), instant: instant, rate: rate, quality: .exact,
            duration: MediaTime(seconds: 100))
    }

    /// A log that an expectation may change.
    private final class Follower {
        var log = PlayLog()
        var play: PlayLog.Play? { log.play }
        func ends(_ item: ItemID, _ reason: StopReason = .finished) { log.ends(item, reason) }
        func follow(
            _ anchor: PlaybackAnchor?, plays: Bool, stopped: StopReason? = nil, now: Int64
        ) -> [PlayLog.Step] { log.follow(anchor?.item, anchor, plays: plays, stopped: stopped, now: now) }
    }

    private let second: Int64 = 1_000_000_000

    @Test("begins when it is heard, and ends with the reason and the furthest place")
    func onePlay() throws {
        let log = Follower()
        #expect(log.follow(anchor("a"), plays: false, now: 0) == [])
        let begun = log.follow(anchor("a"), plays: true, now: 0)
        let play = PlayLog.Play(number: 1, item: id("a"))
        #expect(begun == [.begin(play)])
        // A seek back takes nothing from what was heard.
        #expect(log.follow(anchor("a", 5, at: 30 * second), plays: true, now: 30 * second) == [])
        #expect(log.follow(anchor("a", 7, at: 32 * second, rate: 0), plays: false, now: 32 * second) == [])
        let steps = log.follow(anchor("b", at: 40 * second), plays: true, now: 40 * second)
        guard case .end(let ended, .replaced)? = steps.first, case .begin(let next)? = steps.last else {
            Issue.record("\(steps)")
            return
        }
        #expect(ended.furthest.seconds == 30 && ended.number == 1)
        #expect(next == PlayLog.Play(number: 2, item: id("b")))
        #expect(log.follow(anchor("b"), plays: false, stopped: .deviceGone, now: 50 * second).count == 1)
        #expect(log.play == nil)
    }

    @Test("near its end an item counts as finished, and one that is told to be through is")
    func finished() {
        let log = Follower()
        _ = log.follow(anchor("a"), plays: true, now: 0)
        let steps = log.follow(anchor("b"), plays: true, now: 98 * second)
        guard case .end(_, .finished)? = steps.first else {
            Issue.record("\(steps)")
            return
        }
        log.ends(id("b"), .error)
        let failed = log.follow(nil, plays: false, stopped: .finished, now: 99 * second)
        guard case .end(_, .error)? = failed.first else {
            Issue.record("\(failed)")
            return
        }
    }

    @Test("the same item once more is another play")
    func again() {
        let log = Follower()
        _ = log.follow(anchor("a"), plays: true, now: 0)
        log.ends(id("a"))
        #expect(log.follow(anchor("a"), plays: false, now: second) == [])
        #expect(log.follow(anchor("a", at: second), plays: true, now: second).count == 2)
        #expect(log.play?.number == 2)
    }
}
