import RouteModel

/// The queue of one session: the truth that devices get a view of. Every change counts the version up.
struct PlayQueue: Sendable, Equatable {
    private(set) var items: [QueueItem]
    private(set) var current: ItemID?
    private(set) var version = 1

    init(items: [QueueItem]) {
        self.items = items
        current = items.first?.id
    }

    init(_ snapshot: QueueSnapshot) {
        items = snapshot.items
        current = snapshot.current
        version = snapshot.version
    }

    var snapshot: QueueSnapshot { QueueSnapshot(version: version, items: items, current: current) }

    func item(_ id: ItemID?) -> QueueItem? { items.first { $0.id == id } }

    /// The next item that is not known to fail.
    func item(after id: ItemID?) -> QueueItem? {
        guard let index = items.firstIndex(where: { $0.id == id }) else { return nil }
        return items[(index + 1)...].first { $0.failure == nil }
    }

    func item(before id: ItemID?) -> QueueItem? {
        guard let index = items.firstIndex(where: { $0.id == id }) else { return items.last { $0.failure == nil } }
        return items[..<index].last { $0.failure == nil }
    }

    /// Makes an item the current one; nil is the end of the queue.
    mutating func select(_ id: ItemID?) {
        guard current != id else { return }
        current = id
        version += 1
    }

    mutating func markFailed(_ id: ItemID, _ reason: String) {
        guard let index = items.firstIndex(where: { $0.id == id }) else { return }
        items[index].failure = reason
        version += 1
    }

    /// What is learnt of an item when it is probed fills in what its playlist left out.
    mutating func enrich(_ id: ItemID, _ metadata: MediaMetadata) {
        guard let index = items.firstIndex(where: { $0.id == id }) else { return }
        let filled = items[index].metadata.filled(from: metadata)
        guard filled != items[index].metadata else { return }
        items[index].metadata = filled
        version += 1
    }
}
