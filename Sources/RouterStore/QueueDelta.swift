import RouteModel

/// A queue as it was written last: every item under a number of its row, which it keeps for as long as it is there.
struct WrittenQueue: Sendable {
    /// Which write it was; nil where nothing is written yet.
    var stamp: Int?
    var items = QueueItems()
    /// Of the items, in their order.
    var rows: [UInt32] = []
    /// The same items without shuffle, while shuffled.
    var original: QueueItems?
    var originalRows: [UInt32]?
}

/// What has to be written for a queue to be another one: rows of items that are new or others, and the order as a list
/// of their numbers. Pure.
struct QueueDelta: Sendable {
    var rows: [UInt32] = []
    var originalRows: [UInt32]?
    /// Items to be written, with the numbers of their rows.
    var written: [(row: UInt32, item: QueueItem)] = []
    /// Numbers of items that are no more.
    var removed: [UInt32] = []

    init(from old: WrittenQueue, to new: QueueSnapshot) {
        if let changed = new.items.table.changes(since: old.items.table) {
            compare(old, new, changed: changed)
        } else {
            compareItems(old, new)
        }
    }

    /// Both orders are of one table: its numbers tell what is there, and no item is looked at that was there before.
    private mutating func compare(_ old: WrittenQueue, _ new: QueueSnapshot, changed: [UInt32]) {
        // Either may have gone its own way since.
        var rowOf = [UInt32](repeating: 0, count: max(old.items.table.count, new.items.table.count))
        for (number, row) in zip(old.items.numbers, old.rows) { rowOf[Int(number)] = row }
        let here = NumberSet(new.items.numbers, count: rowOf.count)
        for number in changed where here.contains(number) && rowOf[Int(number)] != 0 {
            let item = new.items.table[number]
            if item != old.items.table[number] { written.append((rowOf[Int(number)], item)) }
        }
        // One that was taken out and put in again has another number, and the same row.
        var gone: [ItemID: (row: UInt32, item: QueueItem)] = [:]
        for (number, row) in zip(old.items.numbers, old.rows) where !here.contains(number) {
            let item = old.items.table[number]
            if let double = gone.updateValue((row, item), forKey: item.id) { removed.append(double.row) }
        }
        var next = (old.rows.max() ?? 0) &+ 1
        for number in new.items.numbers where rowOf[Int(number)] == 0 {
            let item = new.items.table[number]
            if !gone.isEmpty, let known = gone.removeValue(forKey: item.id) {
                rowOf[Int(number)] = known.row
                if known.item != item { written.append((known.row, item)) }
            } else {
                rowOf[Int(number)] = next
                written.append((next, item))
                next &+= 1
            }
        }
        removed += gone.values.map(\.row).sorted()
        rows = new.items.numbers.map { rowOf[Int($0)] }
        guard new.isShuffled else { return }
        if let unshuffled = new.unshuffledItems, unshuffled.table.changes(since: new.items.table)?.isEmpty ?? false {
            originalRows = unshuffled.numbers.compactMap { here.contains($0) ? rowOf[Int($0)] : nil }
        } else {
            findOriginal(new)
        }
    }

    private mutating func compareItems(_ old: WrittenQueue, _ new: QueueSnapshot) {
        var known: [ItemID: Int] = [:]
        known.reserveCapacity(old.items.count)
        for (place, item) in old.items.enumerated() { known[item.id] = place }
        var next = (old.rows.max() ?? 0) &+ 1
        rows.reserveCapacity(new.items.count)
        for item in new.items {
            if let place = known.removeValue(forKey: item.id) {
                rows.append(old.rows[place])
                if old.items[place] != item { written.append((old.rows[place], item)) }
            } else {
                rows.append(next)
                written.append((next, item))
                next &+= 1
            }
        }
        removed = known.values.map { old.rows[$0] }.sorted()
        findOriginal(new)
    }

    private mutating func findOriginal(_ new: QueueSnapshot) {
        guard let original = new.original else { return }
        let byID = Dictionary(zip(new.items.lazy.map(\.id), rows), uniquingKeysWith: { first, _ in first })
        originalRows = original.compactMap { byID[$0] }
    }
}
