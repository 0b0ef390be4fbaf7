import CastV2
import Testing

/// The mirror as a session feeds it: through the tracker.
@Suite struct CastQueueMirrorTests {
    private var tracker = CastMediaTracker()
    private var queue: CastQueueMirror { tracker.queue }

    private func item(_ id: Int) -> CastQueueItem {
        CastQueueItem(itemID: id, media: CastMediaInformation(contentID: "u\(id)", contentType: "audio/mpeg"))
    }

    private mutating func play(_ current: Int, window: [Int], session: Int = 1, preloaded: Int? = nil) {
        var update = CastMediaStatusUpdate(mediaSessionID: session, playerState: .playing)
        update.currentItemID = current
        update.items = window.map(item)
        update.preloadedItemID = preloaded
        tracker.apply([update], now: 0)
    }

    private mutating func change(_ change: CastQueueChange, id: Int = 0) {
        tracker.apply(.queueChange(change, requestID: id))
    }

    /// A queue of ids 1 to `count`, the first playing, all known.
    private static func full(_ count: Int, current: Int = 1) -> Self {
        var test = Self()
        test.play(current, window: [current])
        test.tracker.apply(.queueItemIDs(Array(1...count), sequenceNumber: 10, requestID: 5))
        test.tracker.apply(.queueItems((1...count).map(test.item), requestID: 6))
        return test
    }

    @Test("C10 what must be asked to be complete") mutating func questions() {
        #expect(queue.question() == nil)
        play(2, window: [1, 2, 3])
        #expect(queue.exists)
        #expect(queue.currentIndex == 1)
        #expect(queue.question() == .itemIDs)
        tracker.apply(.queueItemIDs([1, 2, 3, 4, 5, 6], sequenceNumber: nil, requestID: 5))
        #expect(queue.question(radius: 1) == nil)
        #expect(queue.question(radius: 3) == .items([4, 5]))
        tracker.apply(.queueItems([item(4), item(5)], requestID: 6))
        #expect(queue.question(radius: 3) == nil)
        #expect(queue.question(radius: .max) == .items([6]))
        #expect(queue.edits.isEmpty)
    }

    @Test("C10 an item that has no media in a later status keeps the media that it had") mutating func keepsMedia() {
        play(1, window: [1, 2])
        var update = CastMediaStatusUpdate(mediaSessionID: 1)
        update.items = [CastQueueItem(itemID: 2, startTime: 4)]
        tracker.apply([update], now: 0)
        #expect(queue.items[2]?.media?.contentID == "u2")
        #expect(queue.items[2]?.startTime == 4)
    }

    @Test("C10 another sender's edits are told from ours") mutating func origins() {
        self = .full(4)
        tracker.asked(
            .queueInsert(mediaSessionID: 1, CastQueueInsertion(items: [CastQueueItem()], insertBefore: 2)), id: 20)
        // Somebody else was faster, with a request id that is ours by chance.
        change(CastQueueChange(kind: .remove, itemIDs: [4], sequenceNumber: 11), id: 20)
        change(CastQueueChange(kind: .insert, itemIDs: [9], insertBefore: 2, sequenceNumber: 12), id: 20)
        // The push of what we were answered.
        change(CastQueueChange(kind: .insert, itemIDs: [9], insertBefore: 2, sequenceNumber: 12))
        change(CastQueueChange(kind: .insert, itemIDs: [30, 31], sequenceNumber: 13))
        #expect(queue.itemIDs == [1, 9, 2, 3, 30, 31])
        #expect(!queue.isStale)
        #expect(queue.edits.map(\.origin) == [.otherSender, .own(20), .otherSender])
        #expect(
            queue.edits.map(\.change) == [
                .removed([4]), .inserted([9], before: 2), .inserted([30, 31], before: nil),
            ])
        #expect(queue.edits.map(\.number) == [1, 2, 3])
        #expect(queue.items[4] == nil)
    }

    @Test("C10 an own edit is known as ours by a push without an id, and by a list alone") mutating func ownByPush() {
        self = .full(4)
        tracker.asked(.queueRemove(mediaSessionID: 1, itemIDs: [2]), id: 20)
        tracker.ended(20, .completed(.mediaStatus([])))
        // Until it is told, the order is not known.
        #expect(queue.question() == .itemIDs)
        change(CastQueueChange(kind: .remove, itemIDs: [2], sequenceNumber: 11))
        #expect(queue.itemIDs == [1, 3, 4])
        tracker.asked(.queueReorder(mediaSessionID: 1, itemIDs: [4], insertBefore: 1), id: 21)
        tracker.ended(21, .completed(.mediaStatus([])))
        tracker.apply(.queueItemIDs([4, 1, 3], sequenceNumber: 12, requestID: 22))
        #expect(queue.edits.map(\.origin) == [.own(20), .own(21)])
        #expect(queue.edits.last?.change == .reordered([4, 1, 3]))
        #expect(queue.question(radius: 9) == nil)
    }

    @Test("C10 an edit of ours that was refused is waited for no more") mutating func refused() {
        self = .full(4)
        tracker.asked(.queueRemove(mediaSessionID: 1, itemIDs: [2]), id: 20)
        tracker.ended(20, .failed(.invalidRequest(reason: "INVALID_PARAMS")))
        change(CastQueueChange(kind: .remove, itemIDs: [2], sequenceNumber: 11))
        #expect(queue.edits.map(\.origin) == [.otherSender])
    }

    @Test("C10 what happened between two lists") mutating func differences() {
        self = .full(5)
        tracker.apply(.queueItemIDs([1, 7, 8, 5, 3], sequenceNumber: 20, requestID: 9))
        #expect(
            queue.edits.map(\.change) == [.removed([2, 4]), .inserted([7, 8], before: 5), .reordered([1, 5, 3])])
        #expect(queue.items[2] == nil)
        #expect(queue.sequenceNumber == 20)
    }

    @Test(
        "C10 what does not fit makes the order unknown",
        arguments: [
            CastQueueChange(kind: .remove, itemIDs: [2], sequenceNumber: 14),
            CastQueueChange(kind: nil, itemIDs: [2]),
            CastQueueChange(kind: .insert, itemIDs: [9], insertBefore: 99),
            CastQueueChange(kind: .update, itemIDs: [1, 2]),
            CastQueueChange(kind: .update, insertBefore: 77, reorderItemIDs: [3]),
        ])
    func misfits(change: CastQueueChange) {
        var test = Self.full(4)
        test.change(change)
        #expect(test.queue.isStale)
        #expect(test.queue.question() == .itemIDs)
    }

    @Test("C10 reordering, by what moved and by the whole list") mutating func reordering() {
        self = .full(5)
        change(CastQueueChange(kind: .update, insertBefore: 2, reorderItemIDs: [4, 5]))
        #expect(queue.itemIDs == [1, 4, 5, 2, 3])
        change(CastQueueChange(kind: .update, reorderItemIDs: [1]))
        #expect(queue.itemIDs == [4, 5, 2, 3, 1])
        change(CastQueueChange(kind: .update, itemIDs: [1, 2, 3, 4, 5]))
        #expect(queue.itemIDs == [1, 2, 3, 4, 5])
        change(CastQueueChange(kind: .itemsChange, itemIDs: [3]))
        #expect(queue.question(radius: 9) == .items([3]))
        change(CastQueueChange(kind: .noChange, sequenceNumber: 11))
        #expect(queue.sequenceNumber == 11)
        #expect(!queue.isStale)
        tracker.asked(.queueUpdate(mediaSessionID: 1, CastQueueUpdate(shuffle: true)), id: 30)
        change(CastQueueChange(kind: .update, itemIDs: [5, 4, 3, 2, 1], sequenceNumber: 12), id: 30)
        #expect(queue.edits.last?.origin == .own(30))
    }

    @Test("C10 a window that is no part of the order makes it unknown; one that wraps is")
    mutating func windows() {
        self = .full(5, current: 5)
        play(5, window: [4, 5, 1])
        #expect(!queue.isStale)
        play(5, window: [2, 5, 1])
        #expect(queue.isStale)
        tracker.apply(.queueItemIDs([2, 5, 1], sequenceNumber: nil, requestID: 1))
        play(8, window: [])
        #expect(queue.isStale)
    }

    @Test("C10 another media session is another queue; the numbers of edits go on") mutating func another() {
        self = .full(3)
        change(CastQueueChange(kind: .remove, itemIDs: [3], sequenceNumber: 11))
        play(1, window: [1, 2], session: 2, preloaded: 2)
        #expect(queue.itemIDs == nil)
        #expect(queue.items[1]?.media?.contentID == "u1")
        #expect(queue.preloadedItemID == 2)
        play(2, window: [1, 2], session: 2)
        #expect(queue.preloadedItemID == nil)
        change(CastQueueChange(kind: .insert, itemIDs: [9]))
        #expect(queue.edits.last?.number == 2)
        tracker.apply([], now: 0)
        #expect(!queue.exists)
    }

    @Test("C10 a receiver that does not tell ids is asked once") mutating func noIDs() {
        play(1, window: [1, 2])
        tracker.asked(.queueGetItemIDs(mediaSessionID: 1), id: 4)
        tracker.ended(4, .failed(.invalidRequest(reason: "INVALID_COMMAND")))
        #expect(queue.question() == nil)
        #expect(queue.isPartial)
        #expect(queue.currentIndex == 0)
    }

    @Test("C10 nothing grows without limit") mutating func bounded() {
        play(1, window: [1])
        tracker.apply(.queueItemIDs(Array(1...20_000), sequenceNumber: nil, requestID: 1))
        #expect(queue.itemIDs?.count == CastQueueMirror.maximumItems)
        #expect(queue.isPartial)
        for start in stride(from: 1, to: 2000, by: 100) {
            tracker.apply(.queueItems((start..<start + 100).map(item), requestID: 1))
        }
        #expect(queue.items.count == CastQueueMirror.maximumCached)
        #expect(queue.items[1] != nil)
        #expect(queue.items[1500] == nil)
        for id in 30_000...31_000 { change(CastQueueChange(kind: .insert, itemIDs: [id])) }
        #expect(queue.edits.count == CastQueueMirror.maximumEdits)
        #expect((queue.itemIDs?.count ?? 0) <= CastQueueMirror.maximumItems)
        for id in 1...1000 { tracker.asked(.queueRemove(mediaSessionID: 1, itemIDs: [id]), id: id) }
        tracker.apply(.queueItemIDs([1, 1, 1, 2], sequenceNumber: nil, requestID: 1))
        #expect(queue.itemIDs == [1, 2])
    }
}
