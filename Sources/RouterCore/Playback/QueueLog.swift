import RouteModel

/// How a queue came to be what it is, as far back as a bound allows.
struct QueueLog: Sendable {
    private struct Entry: Sendable {
        /// The version that the change made, or left as it was.
        var version: Int
        var change: QueueChange
        var weight: Int

        var isUpdate: Bool { if case .update = change { true } else { false } }
    }

    /// Items and ids in all entries together.
    static let weightLimit = 5000
    static let entryLimit = 500

    private var entries: [Entry] = []
    private var weight = 0
    /// The oldest version that can be gone on from.
    private var base: Int

    init(from version: Int = 1) { base = version }

    mutating func append(_ changes: [QueueChange], version: Int) {
        for change in changes {
            let entry = Entry(version: version, change: change, weight: Self.weight(of: change))
            entries.append(entry)
            weight += entry.weight
        }
        guard entries.count > Self.entryLimit || weight > Self.weightLimit else { return }
        // More than needed at once, so that it need not be done each time.
        var dropped = 0
        while dropped < entries.count, entries.count - dropped > Self.entryLimit / 2 || weight > Self.weightLimit / 2 {
            let entry = entries[dropped]
            // A reader at this version has the change, but for one of an item's content, which makes no version.
            base = max(base, entry.isUpdate ? entry.version + 1 : entry.version)
            weight -= entry.weight
            dropped += 1
        }
        entries.removeFirst(dropped)
    }

    /// A change came that was too large to be kept.
    mutating func forget(until version: Int) {
        entries = []
        weight = 0
        base = version
    }

    /// Nil where that version is older than what is kept, or is none of this queue's.
    ///
    /// What is learnt of an item makes no version: whoever is at a version is told of it again, which does no harm.
    func changes(since version: Int, now: Int) -> [QueueChange]? {
        guard version >= base, version <= now else { return nil }
        return entries.filter { $0.version > version || ($0.version == version && $0.isUpdate) }.map(\.change)
    }

    private static func weight(of change: QueueChange) -> Int {
        switch change {
        case .insert(let items, _): items.count
        case .remove(let ids), .move(let ids, _), .order(let ids): ids.count
        case .original(let ids): ids?.count ?? 1
        case .update, .current, .repeatMode, .failurePolicy, .shuffleSeed: 1
        }
    }
}
