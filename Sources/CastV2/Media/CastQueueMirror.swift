/// The receiver's queue as far as it is known (C10; `Protocols/cast` section 7). The receiver owns the queue; several
/// senders edit it, and each hears of the others' edits in pieces. Pure: it says what to ask, and asks nothing.
public struct CastQueueMirror: Sendable, Hashable {
    /// Ids that are kept. A frame of 64 KiB holds about as many.
    public static let maximumItems = 10_000
    /// Items that are kept whole; those farthest from the current one go first.
    public static let maximumCached = 256
    /// Edits that are remembered, and own ones that are waited for.
    public static let maximumEdits = 32
    /// Items that one question is about: an item with its metadata may take a KiB or three of the frame.
    public static let askedAtOnce = 16

    /// What must be asked to know more.
    public enum Question: Sendable, Hashable {
        case itemIDs
        case items([Int])
    }

    /// A change of the queue that was noticed.
    public struct Edit: Sendable, Hashable {
        public enum Origin: Sendable, Hashable {
            /// By this request of ours.
            case own(CastRequestID)
            case otherSender
        }

        public enum Change: Sendable, Hashable {
            case inserted([Int], before: Int?)
            case removed([Int])
            /// The order of these ids is another.
            case reordered([Int])
            /// What is known of these items may be wrong.
            case changed([Int])
        }

        /// From 1 on, growing by 1 with each edit, also over the queues of one connection.
        public var number: Int
        public var origin: Origin
        public var change: Change
    }

    private struct Expected: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case insert(count: Int)
            case remove(Set<Int>)
            case reorder(Set<Int>)
            case change(Set<Int>)
            case shuffle
        }
        var requestID: CastRequestID
        var kind: Kind
    }

    /// Whether the receiver has told of a queue at all.
    public var exists: Bool { currentItemID != nil || !window.isEmpty || itemIDs != nil }

    /// All ids in the order they play, as last known; nil until the receiver has told.
    public private(set) var itemIDs: [Int]?
    /// Ids about the current one, in order: what a status shows unasked.
    public private(set) var window: [Int] = []
    public private(set) var items: [Int: CastQueueItem] = [:]
    /// Counts the receiver's edits, where it does.
    public private(set) var sequenceNumber: Int?
    public private(set) var currentItemID: Int?
    public private(set) var loadingItemID: Int?
    public private(set) var preloadedItemID: Int?
    public private(set) var repeatMode: CastRepeatMode?
    public private(set) var isShuffled: Bool?
    /// The last edits, oldest first.
    public private(set) var edits: [Edit] = []
    /// Something does not fit `itemIDs`: they must be asked for again.
    public private(set) var isStale = false
    /// The receiver keeps more than `maximumItems`, or does not answer questions about its queue.
    public private(set) var isPartial = false

    private var lastEdit = 0
    private var expected: [Expected] = []
    private var asking: [CastRequestID] = []
    private var refusesIDs = false

    public init() {}

    /// The place of the current item, from 0.
    public var currentIndex: Int? { currentItemID.flatMap { (itemIDs ?? window).firstIndex(of: $0) } }

    /// What to ask for to know the order, and the items at most `radius` places from the current one. Nil: nothing.
    public func question(radius: Int = 3) -> Question? {
        guard exists else { return nil }
        if (itemIDs == nil || isStale) && !refusesIDs { return .itemIDs }
        let order = itemIDs ?? window
        guard !order.isEmpty else { return nil }
        let centre = currentIndex ?? 0
        let reach = min(max(0, radius), order.count)
        let near = order[max(0, centre - reach)...min(order.count - 1, centre + reach)]
        let missing = near.filter { items[$0] == nil }
        return missing.isEmpty ? nil : .items(Array(missing.prefix(Self.askedAtOnce)))
    }

    // MARK: What is ours

    /// A request of ours has gone out.
    public mutating func asked(_ request: CastMediaRequest, id: CastRequestID) {
        let kind: Expected.Kind
        switch request {
        case .queueGetItemIDs:
            asking.append(id)
            return
        case .queueInsert(_, let insertion): kind = .insert(count: insertion.items.count)
        case .queueRemove(_, let ids, _): kind = .remove(Set(ids))
        case .queueReorder(_, let ids, _, _): kind = .reorder(Set(ids))
        case .queueUpdate(_, let update) where update.items?.isEmpty == false:
            kind = .change(Set(update.items?.compactMap(\.itemID) ?? []))
        case .queueUpdate(_, let update) where update.shuffle != nil || update.repeatMode == .allAndShuffle:
            kind = .shuffle
        default: return
        }
        expected.append(Expected(requestID: id, kind: kind))
        if expected.count > Self.maximumEdits { expected.removeFirst() }
    }

    /// A request of ours has ended. What was edited and not told by QUEUE_CHANGE has to be asked for.
    public mutating func ended(_ id: CastRequestID, _ result: CastRequestResult) {
        if let index = asking.firstIndex(of: id) {
            asking.remove(at: index)
            if case .failed(.invalidRequest) = result {
                refusesIDs = true
                isPartial = true
            }
        }
        guard let index = expected.firstIndex(where: { $0.requestID == id }) else { return }
        if case .completed = result { isStale = true } else { expected.remove(at: index) }
    }

    // MARK: What the receiver says

    /// Another media session is current, and with it another queue.
    mutating func begin() {
        let (last, log, waiting) = (lastEdit, edits, asking)
        self = CastQueueMirror()
        lastEdit = last
        edits = log
        asking = waiting
    }

    mutating func apply(_ update: CastMediaStatusUpdate) {
        if let id = update.currentItemID { currentItemID = id }
        // A whole status leaves these out when there is nothing to tell.
        if update.playerState != nil || update.loadingItemID != nil { loadingItemID = update.loadingItemID }
        if update.playerState != nil || update.preloadedItemID != nil { preloadedItemID = update.preloadedItemID }
        if let mode = update.repeatMode ?? update.queueData?.repeatMode { repeatMode = mode }
        if let shuffle = update.queueData?.shuffle { isShuffled = shuffle }
        if let shown = update.items, !shown.isEmpty {
            for item in shown { keep(item) }
            window = Self.unique(shown.compactMap(\.itemID))
            if let itemIDs, !Self.isRun(window, of: itemIDs) { isStale = true }
        }
        if let itemIDs, let currentItemID, !itemIDs.contains(currentItemID) { isStale = true }
        trim()
    }

    /// QUEUE_ITEM_IDS.
    mutating func apply(itemIDs ids: [Int], sequenceNumber number: Int?) {
        let new = Array(Self.unique(ids).prefix(Self.maximumItems))
        isPartial = ids.count > Self.maximumItems
        if let old = itemIDs { noteDifference(from: old, to: new) }
        itemIDs = new
        isStale = false
        if let number { sequenceNumber = number }
        let there = Set(new)
        items = items.filter { there.contains($0.key) }
        trim()
    }

    /// QUEUE_ITEMS.
    mutating func apply(items told: [CastQueueItem]) {
        for item in told { keep(item) }
        trim()
    }

    /// QUEUE_CHANGE.
    mutating func apply(_ change: CastQueueChange, requestID: CastRequestID) {
        if let number = change.sequenceNumber {
            // The answer to us and the push to everybody tell the same edit.
            if let sequenceNumber, number == sequenceNumber { return }
            if let sequenceNumber, number != sequenceNumber + 1 { isStale = true }
            sequenceNumber = number
        }
        switch change.kind {
        case .insert: insert(change, requestID)
        case .remove:
            let gone = Set(change.itemIDs)
            log(.removed(change.itemIDs), claim(requestID) { $0 == .remove(gone) })
            itemIDs?.removeAll { gone.contains($0) }
            window.removeAll { gone.contains($0) }
            for id in gone { items[id] = nil }
        case .update: reorder(change, requestID)
        case .itemsChange:
            let ids = Set(change.itemIDs)
            log(
                .changed(change.itemIDs),
                claim(requestID) { if case .change(let own) = $0 { ids.isSubset(of: own) } else { false } })
            for id in ids { items[id] = nil }
        case .noChange: break
        case nil: isStale = true
        }
        trim()
    }

    private mutating func insert(_ change: CastQueueChange, _ requestID: CastRequestID) {
        let known = Set(itemIDs ?? [])
        let new = Self.unique(change.itemIDs).filter { !known.contains($0) }
        guard !new.isEmpty else { return }
        log(.inserted(new, before: change.insertBefore), claim(requestID) { $0 == .insert(count: new.count) })
        guard var order = itemIDs else { return }
        if let before = change.insertBefore, !order.contains(before) { isStale = true }
        let index = change.insertBefore.flatMap(order.firstIndex(of:)) ?? order.count
        order.insert(contentsOf: new, at: index)
        if order.count > Self.maximumItems { isPartial = true }
        itemIDs = Array(order.prefix(Self.maximumItems))
    }

    private mutating func reorder(_ change: CastQueueChange, _ requestID: CastRequestID) {
        let moved = Self.unique(change.reorderItemIDs)
        let named = Set(moved.isEmpty ? change.itemIDs : moved)
        if let itemIDs, named.isDisjoint(with: itemIDs) {
            // Another queue is on its way, and told of before the status that begins it.
            isStale = true
            return
        }
        let origin = claim(requestID) {
            switch $0 {
            case .reorder(let own): own == named || moved.isEmpty
            case .shuffle: true
            default: false
            }
        }
        log(.reordered(moved.isEmpty ? change.itemIDs : moved), origin)
        guard var order = itemIDs else { return }
        if !moved.isEmpty, Set(moved).isSubset(of: order) {
            let anchor = change.insertBefore
            order.removeAll { named.contains($0) }
            let index = anchor.flatMap(order.firstIndex(of:)) ?? order.count
            if anchor != nil, index == order.count { isStale = true }
            order.insert(contentsOf: moved, at: index)
            itemIDs = order
        } else if Set(change.itemIDs) == Set(order) {
            itemIDs = Self.unique(change.itemIDs)
        } else {
            isStale = true
        }
    }

    /// Two lists of ids, and no word of what happened between them.
    private mutating func noteDifference(from old: [Int], to new: [Int]) {
        let (before, after) = (Set(old), Set(new))
        let removed = old.filter { !after.contains($0) }
        if !removed.isEmpty { log(.removed(removed), claim(0) { $0 == .remove(Set(removed)) }) }
        let inserted = new.filter { !before.contains($0) }
        if !inserted.isEmpty {
            let last = inserted.last.flatMap(new.firstIndex(of:)) ?? new.count - 1
            let following = last + 1 < new.count ? new[last + 1] : nil
            log(.inserted(inserted, before: following), claim(0) { $0 == .insert(count: inserted.count) })
        }
        let stayed = new.filter { before.contains($0) }
        if stayed != old.filter({ after.contains($0) }) {
            log(
                .reordered(stayed),
                claim(0) {
                    switch $0 {
                    case .reorder(let own): own.isSubset(of: after)
                    case .shuffle: true
                    default: false
                    }
                })
        }
    }

    /// Takes an edit for ours where one of that kind is waited for. Request ids of other senders may be the same as
    /// ours, so that an id alone proves nothing.
    private mutating func claim(_ requestID: CastRequestID, where fits: (Expected.Kind) -> Bool) -> Edit.Origin {
        let index =
            expected.firstIndex { $0.requestID == requestID && fits($0.kind) }
            ?? (requestID == 0 ? expected.firstIndex { fits($0.kind) } : nil)
        guard let index else { return .otherSender }
        return .own(expected.remove(at: index).requestID)
    }

    private mutating func log(_ change: Edit.Change, _ origin: Edit.Origin) {
        lastEdit += 1
        edits.append(Edit(number: lastEdit, origin: origin, change: change))
        if edits.count > Self.maximumEdits { edits.removeFirst() }
    }

    private mutating func keep(_ item: CastQueueItem) {
        guard let id = item.itemID else { return }
        var item = item
        // A status may show an item without its media once it has told it.
        item.media = item.media ?? items[id]?.media
        items[id] = item
    }

    /// Forgets the items that are farthest from the current one.
    private mutating func trim() {
        guard items.count > Self.maximumCached else { return }
        let order = itemIDs ?? window
        let centre = currentIndex ?? 0
        let places = Dictionary(order.enumerated().map { ($1, abs($0 - centre)) }) { first, _ in first }
        let nearest = items.keys.sorted { (places[$0] ?? .max, $0) < (places[$1] ?? .max, $1) }
        for id in nearest.dropFirst(Self.maximumCached) { items[id] = nil }
    }

    private static func unique(_ ids: [Int]) -> [Int] {
        var seen: Set<Int> = []
        return ids.filter { seen.insert($0).inserted }
    }

    /// Whether `part` stands in `whole` as one run. At the ends of a queue that repeats, a window wraps.
    private static func isRun(_ part: [Int], of whole: [Int]) -> Bool {
        guard let first = part.first, let start = whole.firstIndex(of: first) else { return part.isEmpty }
        return part.enumerated().allSatisfy { $1 == whole[(start + $0) % whole.count] }
    }
}
