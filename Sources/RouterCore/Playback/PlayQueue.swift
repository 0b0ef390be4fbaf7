import RouteModel

/// The queue of one session: the truth that devices get a view of. Every change of what is played, and in which order,
/// counts the version up.
///
/// Made for a hundred thousand items: an item is found by its id in a table, and its place by comparing addresses, not
/// text; an edit costs about as much as counting the items once.
struct PlayQueue: Sendable {
    private(set) var items: [QueueItem] = []
    private(set) var current: ItemID?
    private(set) var version = 1
    private(set) var repeatMode = RepeatMode.off
    private(set) var failurePolicy: FailurePolicy?
    /// Another sender plays something else by now: no item is shown as current, and its place is kept.
    private(set) var isInterrupted = false
    /// The order without shuffle, while shuffled.
    private(set) var unshuffled: UnshuffledOrder?
    private(set) var shuffleSeed: UInt32?
    /// Whether something of it comes in on this process's standard input, which no other process can go on with.
    private(set) var readsStandardInput = false
    /// What was played before the current item, the latest last: where `previous` leads.
    private var played: [ItemID] = []
    private var known: [ItemID: QueueItem] = [:]
    private var log = QueueLog()
    private var past: [Order] = []

    /// How many edits can be taken back.
    static let undoDepth = 10
    /// How far `previous` leads back.
    static let playedLimit = 1000

    /// What an edit changes, and undo brings back.
    private struct Order: Sendable {
        var items: [QueueItem]
        var unshuffled: UnshuffledOrder?
        var shuffleSeed: UInt32?
    }

    init(items: [QueueItem], repeatMode: RepeatMode = .off, failurePolicy: FailurePolicy? = nil) {
        self.repeatMode = repeatMode
        self.failurePolicy = failurePolicy
        take(items)
        current = self.items.first?.id
    }

    init(_ snapshot: QueueSnapshot) {
        take(snapshot.items)
        current = snapshot.current.flatMap { known[$0]?.id }
        version = snapshot.version
        repeatMode = snapshot.repeatMode
        failurePolicy = snapshot.failurePolicy
        if let original = snapshot.original {
            unshuffled = UnshuffledOrder(original.compactMap { known[$0] })
            // A list that is not of the same items is no order of them.
            if unshuffled?.items.count != items.count { unshuffled = nil }
        }
        shuffleSeed = unshuffled == nil ? nil : snapshot.shuffleSeed
        log = QueueLog(from: version)
    }

    /// An id is of one item only: a second one of the same id is left out.
    private mutating func take(_ new: [QueueItem]) {
        items = new
        known.reserveCapacity(new.count)
        for item in new { known[item.id] = item }
        readsStandardInput = new.contains { $0.source.isStandardInput }
        guard known.count < new.count else { return }
        var seen: Set<ItemID> = []
        items = new.filter { seen.insert($0.id).inserted }
        for item in items { known[item.id] = item }
    }

    var snapshot: QueueSnapshot {
        QueueSnapshot(
            version: version, items: items, current: shown, repeatMode: repeatMode, original: unshuffled?.ids,
            failurePolicy: failurePolicy, shuffleSeed: shuffleSeed)
    }

    var isShuffled: Bool { unshuffled != nil }

    private var shown: ItemID? { isInterrupted ? nil : current }

    /// How it came from an earlier version to what it is; nil where that is not known any more.
    func changes(since base: Int) -> [QueueChange]? { log.changes(since: base, now: version) }

    // MARK: Looking up

    func item(_ id: ItemID?) -> QueueItem? { id.flatMap { known[$0] } }

    private func index(_ id: ItemID?) -> Int? {
        guard let item = item(id) else { return nil }
        return items.place(of: item)
    }

    /// The next item that is not known to fail, by the repeat mode. With `skipping`, a person asked for another one:
    /// the same item again is not what they mean.
    func item(after id: ItemID?, skipping: Bool = false) -> QueueItem? {
        guard let index = index(id) else { return nil }
        if repeatMode == .one, !skipping, items[index].failure == nil { return items[index] }
        if let next = items[(index + 1)...].first(where: { $0.failure == nil }) { return next }
        return repeatMode == .all ? items.first { $0.failure == nil } : nil
    }

    /// What was played before the current item; where that is not known, what comes before it in the queue.
    func previousItem() -> QueueItem? {
        if let last = played.last(where: { $0 != current && known[$0]?.failure == nil && known[$0] != nil }) {
            return known[last]
        }
        guard let index = index(current) else { return items.last { $0.failure == nil } }
        return items[..<index].last { $0.failure == nil }
    }

    /// Up to `count` items that follow, for a device to hold: each once, and not the one that plays.
    func upcoming(after id: ItemID?, count: Int) -> [QueueItem] {
        guard let index = index(id), repeatMode != .one else { return [] }
        var result: [QueueItem] = []
        let rounds = repeatMode == .all ? [items[(index + 1)...], items[..<index]] : [items[(index + 1)...]]
        for round in rounds {
            for item in round where item.failure == nil {
                if result.count == count { return result }
                result.append(item)
            }
        }
        return result
    }

    func comes(_ id: ItemID, after other: ItemID?) -> Bool {
        guard let place = index(id), let otherPlace = index(other) else { return false }
        return place > otherPlace || (repeatMode == .all && place != otherPlace)
    }

    // MARK: What is no edit

    /// Makes an item the current one; nil is the end of the queue.
    mutating func select(_ id: ItemID?) {
        guard current != id else { return }
        if let current {
            played.append(current)
            if played.count > Self.playedLimit { played.removeFirst(played.count - Self.playedLimit) }
        }
        current = id
        commit([.current(shown)])
    }

    mutating func interrupt(_ isInterrupted: Bool) {
        guard isInterrupted != self.isInterrupted else { return }
        self.isInterrupted = isInterrupted
        if current != nil { commit([.current(shown)]) }
    }

    /// Makes what was played before the current item the current one: from there `previous` leads on back.
    mutating func selectPrevious() -> QueueItem? {
        guard let item = previousItem() else { return nil }
        let depth = played.lastIndex(of: item.id) ?? played.count
        select(item.id)
        played.removeSubrange(depth...)
        return item
    }

    mutating func setRepeat(_ mode: RepeatMode) {
        guard mode != repeatMode else { return }
        repeatMode = mode
        commit([.repeatMode(mode)])
    }

    mutating func setFailurePolicy(_ policy: FailurePolicy?) {
        guard policy != failurePolicy else { return }
        failurePolicy = policy
        commit([.failurePolicy(policy)])
    }

    mutating func markFailed(_ id: ItemID, _ reason: String) {
        change(id) { $0.failure = reason }.map { commit([.update($0)]) }
    }

    /// What is learnt of an item when it is probed fills in what its playlist left out. The version stays: nobody's edit
    /// is out of date by a title.
    mutating func enrich(_ id: ItemID, _ metadata: MediaMetadata) {
        guard let item = change(id, { $0.metadata = $0.metadata.filled(from: metadata) }) else { return }
        log.append([.update(item)], version: version)
    }

    mutating func apply(_ settings: QueueItemSettings, to ids: [ItemID]) {
        let changed = ids.compactMap { id in
            change(id) { item in
                if let start = settings.start { item.start = start }
                if let end = settings.end { item.end = end > .zero ? end : nil }
                if let external = settings.externalPlayback { item.externalPlayback = external }
                if let custom = settings.custom { item.custom = custom.isEmpty ? nil : custom }
            }
        }
        if !changed.isEmpty { commit(changed.map(QueueChange.update)) }
    }

    /// The item as it is then; nil where nothing is changed.
    private mutating func change(_ id: ItemID, _ change: (inout QueueItem) -> Void) -> QueueItem? {
        guard let old = known[id], let place = items.place(of: old) else { return nil }
        var new = old
        change(&new)
        guard new != old else { return nil }
        items[place] = new
        known[id] = new
        unshuffled?.replace(old, by: new)
        return new
    }

    private mutating func commit(_ changes: [QueueChange]) {
        version += 1
        log.append(changes, version: version)
    }

    // MARK: Edits

    private mutating func keepOrder() {
        past.append(Order(items: items, unshuffled: unshuffled, shuffleSeed: shuffleSeed))
        if past.count > Self.undoDepth { past.removeFirst() }
    }

    /// Ends an edit of so many items. Lists of ids are made only where that is few enough for the log.
    ///
    /// - Returns: whether the log wants the changes.
    private mutating func commit(weight count: Int) -> Bool {
        version += 1
        // With each goes the whole original order, where there is one.
        guard count + (unshuffled?.items.count ?? 0) <= QueueLog.weightLimit / 2 else {
            log.forget(until: version)
            return false
        }
        return true
    }

    /// Before another item; nil is the end. Items whose id is there already are left out.
    mutating func insert(_ new: [QueueItem], before id: ItemID?) { insert(new, at: index(id) ?? items.count) }

    mutating func insert(_ new: [QueueItem], after id: ItemID?) {
        insert(new, at: index(id).map { $0 + 1 } ?? items.count)
    }

    private mutating func insert(_ new: [QueueItem], at place: Int) {
        let new = unknown(new)
        guard !new.isEmpty else { return }
        keepOrder()
        items.insert(contentsOf: new, at: place)
        add(new)
        guard commit(weight: new.count) else { return }
        log.append([.insert(new, at: place)] + originalChange, version: version)
    }

    private func unknown(_ new: [QueueItem]) -> [QueueItem] {
        var seen: Set<ItemID> = []
        return new.filter { known[$0.id] == nil && seen.insert($0.id).inserted }
    }

    private mutating func add(_ new: [QueueItem]) {
        for item in new { known[item.id] = item }
        unshuffled?.join(new)
        readsStandardInput = readsStandardInput || new.contains { $0.source.isStandardInput }
    }

    private var originalChange: [QueueChange] { unshuffled.map { [.original($0.ids)] } ?? [] }

    /// These items, in this order, before another; nil is the end. Items that are not there are passed over.
    mutating func move(_ ids: [ItemID], before id: ItemID?) {
        var seen: Set<ItemID> = []
        let moved = ids.filter { seen.insert($0).inserted }.compactMap { known[$0] }
        guard !moved.isEmpty, id.map({ !seen.contains($0) && known[$0] != nil }) ?? true else { return }
        keepOrder()
        items.remove(all: moved)
        let place = index(id) ?? items.count
        items.insert(contentsOf: moved, at: place)
        guard commit(weight: moved.count) else { return }
        log.append([.move(moved.map(\.id), to: place)], version: version)
    }

    /// Where the current item is among them, the one that follows becomes the current one.
    mutating func remove(_ ids: Set<ItemID>) {
        let gone = ids.compactMap { known[$0] }
        guard !gone.isEmpty else { return }
        keepOrder()
        let moved = drop(gone)
        guard commit(weight: gone.count) else { return }
        let now: [QueueChange] = moved ? [.current(shown)] : []
        log.append([.remove(gone.map(\.id))] + originalChange + now, version: version)
    }

    /// - Returns: whether the current item is another one now.
    private mutating func drop(_ gone: [QueueItem]) -> Bool {
        let before = current
        if let item = item(current), let place = items.place(of: item) {
            let identities = Set(gone.map(\.identity))
            if identities.contains(item.identity) {
                let round = repeatMode == .all ? items[..<place] : []
                current = (items[place...] + round).first { !identities.contains($0.identity) && $0.failure == nil }?.id
            }
        }
        items.remove(all: gone)
        unshuffled?.remove(gone)
        for item in gone { known[item.id] = nil }
        return current != before
    }

    mutating func clearUpcoming() { replaceUpcoming([]) }

    /// All that follows the current item, or everything where there is none, gives way to these.
    mutating func replaceUpcoming(_ new: [QueueItem]) {
        let place = index(current).map { $0 + 1 } ?? 0
        let gone = Array(items[place...])
        let new = unknown(new)
        guard !gone.isEmpty || !new.isEmpty else { return }
        keepOrder()
        _ = drop(gone)
        items.append(contentsOf: new)
        add(new)
        guard commit(weight: gone.count + new.count) else { return }
        log.append([.remove(gone.map(\.id)), .insert(new, at: place)] + originalChange, version: version)
    }

    mutating func clear() {
        guard !items.isEmpty else { return }
        keepOrder()
        let ids = items.map(\.id)
        items = []
        known = [:]
        current = nil
        if unshuffled != nil { unshuffled = UnshuffledOrder([]) }
        guard commit(weight: ids.count) else { return }
        log.append([.remove(ids), .current(nil)] + originalChange, version: version)
    }

    /// Takes over what a device's queue has come to be by another sender's hand: `upcoming` follows `id`, `gone` are no
    /// more, and whatever the device did not hold comes after that as before.
    ///
    /// - Returns: whether that was something else than what was there.
    @discardableResult
    mutating func adopt(_ upcoming: [QueueItem], after id: ItemID, removing gone: Set<ItemID>) -> Bool {
        let before = Order(items: items, unshuffled: unshuffled, shuffleSeed: shuffleSeed)
        let held = Set(upcoming.map(\.id))
        let lost = gone.subtracting(held).compactMap { known[$0] }
        let new = unknown(upcoming)
        let moved = drop(lost)
        items.append(contentsOf: new)
        add(new)
        let entries = upcoming.compactMap { known[$0.id] }
        items.remove(all: entries)
        let place = index(id).map { $0 + 1 } ?? 0
        items.insert(contentsOf: entries, at: place)
        guard !items.elementsEqual(before.items, by: { $0.identity == $1.identity }) else { return false }
        past.append(before)
        if past.count > Self.undoDepth { past.removeFirst() }
        let count = items.count - new.count
        guard commit(weight: lost.count + new.count + entries.count) else { return true }
        let now: [QueueChange] = moved ? [.current(shown)] : []
        log.append(
            [.remove(lost.map(\.id)), .insert(new, at: count), .move(entries.map(\.id), to: place)] + originalChange
                + now, version: version)
        return true
    }

    // MARK: Shuffle

    /// Puts what comes after the current item into a random order, which is kept, with the seed that it was drawn from.
    mutating func shuffle(seed: UInt32) {
        keepOrder()
        let played = index(current).map { $0 + 1 } ?? 0
        if unshuffled == nil { unshuffled = UnshuffledOrder(items) }
        var generator = ShuffleGenerator(seed: seed)
        for place in stride(from: items.count - 1, to: played, by: -1) {
            items.swapAt(place, Int.random(in: played...place, using: &generator))
        }
        shuffleSeed = seed
        guard commit(weight: items.count) else { return }
        log.append([.order(items.map(\.id)), .shuffleSeed(seed)] + originalChange, version: version)
    }

    /// Back to the original order; the current item stays the current one.
    mutating func unshuffle() {
        guard let unshuffled else { return }
        keepOrder()
        items = unshuffled.items
        self.unshuffled = nil
        shuffleSeed = nil
        guard commit(weight: items.count) else { return }
        log.append([.order(items.map(\.id)), .original(nil), .shuffleSeed(nil)], version: version)
    }

    // MARK: Undo

    /// Takes back the last edit, whoever made it: the order and the items are as before it. What plays stays, also where
    /// the edit had brought it in; so does what was learnt of items meanwhile.
    ///
    /// - Returns: whether there was one.
    mutating func undo() -> Bool {
        guard let before = past.popLast() else { return false }
        let old = items
        var restored = before.items.map { known[$0.id] ?? $0 }
        let stays = item(current).flatMap { item in restored.place(of: item) == nil ? item : nil }
        if let stays {
            let ahead = old[..<(old.place(of: stays) ?? 0)]
            let anchors = Set(restored.map(\.identity))
            let anchor = ahead.last { anchors.contains($0.identity) }
            restored.insert(stays, at: anchor.flatMap { restored.place(of: $0) }.map { $0 + 1 } ?? 0)
        }
        let here = Set(restored.map(\.identity))
        let gone = old.filter { !here.contains($0.identity) }
        let back = restored.filter { known[$0.id] == nil }
        for item in gone { known[item.id] = nil }
        for item in back { known[item.id] = item }
        items = restored
        unshuffled = before.unshuffled.map { UnshuffledOrder($0.items.map { known[$0.id] ?? $0 }) }
        if let stays { unshuffled?.join([stays]) }
        shuffleSeed = before.shuffleSeed
        guard commit(weight: 2 * restored.count + gone.count) else { return true }
        log.append(
            [.remove(gone.map(\.id)), .insert(back, at: old.count - gone.count), .order(restored.map(\.id))]
                + [.original(unshuffled?.ids), .shuffleSeed(shuffleSeed)], version: version)
        return true
    }
}
