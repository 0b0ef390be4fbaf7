import RouteModel

/// The queue of one session: the truth that devices get a view of. Every change of what is played, and in which order,
/// counts the version up.
struct PlayQueue: Sendable, Equatable {
    private(set) var items: [QueueItem]
    private(set) var current: ItemID?
    private(set) var version = 1
    private(set) var repeatMode = RepeatMode.off
    /// The order without shuffle, while shuffled.
    private(set) var original: [ItemID]?

    init(items: [QueueItem], repeatMode: RepeatMode = .off) {
        self.items = items
        self.repeatMode = repeatMode
        current = items.first?.id
    }

    init(_ snapshot: QueueSnapshot) {
        items = snapshot.items
        current = snapshot.current
        version = snapshot.version
        repeatMode = snapshot.repeatMode
        original = snapshot.original
    }

    var snapshot: QueueSnapshot {
        QueueSnapshot(version: version, items: items, current: current, repeatMode: repeatMode, original: original)
    }

    func item(_ id: ItemID?) -> QueueItem? { items.first { $0.id == id } }

    private func index(_ id: ItemID?) -> Int? { items.firstIndex { $0.id == id } }

    /// The next item that is not known to fail, by the repeat mode. With `skipping`, a person asked for another one:
    /// the same item again is not what they mean.
    func item(after id: ItemID?, skipping: Bool = false) -> QueueItem? {
        guard let index = index(id) else { return nil }
        if repeatMode == .one, !skipping, items[index].failure == nil { return items[index] }
        if let next = items[(index + 1)...].first(where: { $0.failure == nil }) { return next }
        return repeatMode == .all ? items.first { $0.failure == nil } : nil
    }

    func item(before id: ItemID?) -> QueueItem? {
        guard let index = index(id) else { return items.last { $0.failure == nil } }
        return items[..<index].last { $0.failure == nil }
    }

    /// Up to `count` items that follow, for a device to hold: each once, and not the one that plays.
    func upcoming(after id: ItemID?, count: Int) -> [QueueItem] {
        guard let index = index(id), repeatMode != .one else { return [] }
        let round = repeatMode == .all ? items[(index + 1)...] + items[..<index] : items[(index + 1)...]
        return Array(round.lazy.filter { $0.failure == nil }.prefix(count))
    }

    func comes(_ id: ItemID, after other: ItemID?) -> Bool {
        guard let place = index(id), let otherPlace = index(other) else { return false }
        return place > otherPlace || (repeatMode == .all && place != otherPlace)
    }

    /// Makes an item the current one; nil is the end of the queue.
    mutating func select(_ id: ItemID?) {
        guard current != id else { return }
        current = id
        version += 1
    }

    mutating func setRepeat(_ mode: RepeatMode) {
        guard mode != repeatMode else { return }
        repeatMode = mode
        version += 1
    }

    mutating func markFailed(_ id: ItemID, _ reason: String) {
        guard let index = index(id) else { return }
        items[index].failure = reason
        version += 1
    }

    /// What is learnt of an item when it is probed fills in what its playlist left out. The version stays: nobody's edit
    /// is out of date by a title.
    mutating func enrich(_ id: ItemID, _ metadata: MediaMetadata) {
        guard let index = index(id) else { return }
        let filled = items[index].metadata.filled(from: metadata)
        guard filled != items[index].metadata else { return }
        items[index].metadata = filled
    }

    // MARK: Shuffle

    /// Puts what comes after the current item into a random order, which is kept.
    mutating func shuffle(using generator: inout some RandomNumberGenerator) {
        let played = index(current).map { $0 + 1 } ?? 0
        if original == nil { original = items.map(\.id) }
        items[played...].shuffle(using: &generator)
        version += 1
    }

    /// Back to the original order; the current item stays the current one.
    mutating func unshuffle() {
        guard let original else { return }
        let places = Dictionary(uniqueKeysWithValues: original.enumerated().map { ($1, $0) })
        items.sort { (places[$0.id] ?? .max) < (places[$1.id] ?? .max) }
        self.original = nil
        version += 1
    }

    // MARK: Edits

    /// Before another item; nil is the end.
    mutating func insert(_ new: [QueueItem], before id: ItemID?) {
        guard !new.isEmpty else { return }
        items.insert(contentsOf: new, at: index(id) ?? items.count)
        join(new)
        version += 1
    }

    mutating func insert(_ new: [QueueItem], after id: ItemID?) {
        guard !new.isEmpty else { return }
        items.insert(contentsOf: new, at: index(id).map { $0 + 1 } ?? items.count)
        join(new)
        version += 1
    }

    /// Without shuffle, new items come after the last of what they belong to.
    private mutating func join(_ new: [QueueItem]) {
        guard var original else { return }
        for item in new {
            let kin = items.last { other in
                other.context != nil && other.context == item.context && other.id != item.id
                    && original.contains(other.id)
            }
            let place = kin.flatMap { original.firstIndex(of: $0.id) }.map { $0 + 1 } ?? original.count
            original.insert(item.id, at: place)
        }
        self.original = original
    }

    /// These items, in this order, before another; nil is the end. Items that are not there are passed over.
    mutating func move(_ ids: [ItemID], before id: ItemID?) {
        let moved = ids.compactMap { item($0) }
        guard !moved.isEmpty, id.map({ !ids.contains($0) && index($0) != nil }) ?? true else { return }
        items.removeAll { ids.contains($0.id) }
        items.insert(contentsOf: moved, at: index(id) ?? items.count)
        version += 1
    }

    /// Where the current item is among them, the one that follows becomes the current one.
    mutating func remove(_ ids: Set<ItemID>) {
        guard items.contains(where: { ids.contains($0.id) }) else { return }
        if let current, ids.contains(current), let place = index(current) {
            self.current = items[place...].first { !ids.contains($0.id) && $0.failure == nil }?.id
        }
        items.removeAll { ids.contains($0.id) }
        original?.removeAll { ids.contains($0) }
        version += 1
    }

    mutating func clearUpcoming() {
        guard let place = index(current) else { return }
        remove(Set(items[(place + 1)...].map(\.id)))
    }

    /// Takes over what a device's queue has come to be by another sender's hand: `upcoming` follows `id`, `gone` are no
    /// more, and whatever the device did not hold comes after that as before.
    mutating func adopt(_ upcoming: [QueueItem], after id: ItemID, removing gone: Set<ItemID>) {
        let held = Set(upcoming.map(\.id))
        let known = Set(items.map(\.id))
        items.removeAll { held.contains($0.id) || gone.contains($0.id) }
        items.insert(contentsOf: upcoming, at: index(id).map { $0 + 1 } ?? 0)
        original?.removeAll { gone.contains($0) }
        join(upcoming.filter { !known.contains($0.id) })
        version += 1
    }
}
