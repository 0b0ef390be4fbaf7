import RouteModel

/// A queue as it was written last: every item under a number, which it keeps for as long as it is there.
struct WrittenQueue: Sendable {
    /// Which write it was; nil where nothing is written yet.
    var stamp: Int?
    var items: [QueueItem] = []
    var numbers: [UInt32] = []
    var original: [ItemID]?
    var originalNumbers: [UInt32]?
}

/// What has to be written for a queue to be another one: rows of items that are new or others, and the order as a list
/// of numbers. Pure.
struct QueueDelta: Sendable {
    var numbers: [UInt32]
    var originalNumbers: [UInt32]?
    /// Items to be written, with their numbers.
    var written: [(number: UInt32, item: QueueItem)] = []
    /// Numbers of items that are no more.
    var removed: [UInt32] = []

    init(from old: WrittenQueue, to new: QueueSnapshot) {
        let count = min(old.items.count, new.items.count)
        // What is in the same places costs a look at each, and no more.
        var first = 0
        var others: [(number: UInt32, item: QueueItem)] = []
        func isKept(_ oldPlace: Int, _ newPlace: Int) -> Bool {
            let (before, now) = (old.items[oldPlace], new.items[newPlace])
            if before.identity == now.identity { return true }
            guard before.id == now.id else { return false }
            if before != now { others.append((old.numbers[oldPlace], now)) }
            return true
        }
        while first < count, isKept(first, first) { first += 1 }
        var last = 0
        while last < count - first, isKept(old.items.count - 1 - last, new.items.count - 1 - last) { last += 1 }
        let oldMiddle = first..<(old.items.count - last)
        let newMiddle = first..<(new.items.count - last)

        var known: [ItemID: Int] = [:]
        for place in oldMiddle { known[old.items[place].id] = place }
        var next = (old.numbers.max() ?? 0) &+ 1
        var middle: [UInt32] = []
        middle.reserveCapacity(newMiddle.count)
        for place in newMiddle {
            let item = new.items[place]
            if let oldPlace = known.removeValue(forKey: item.id) {
                middle.append(old.numbers[oldPlace])
                if old.items[oldPlace] != item { others.append((old.numbers[oldPlace], item)) }
            } else {
                middle.append(next)
                others.append((next, item))
                next &+= 1
            }
        }
        removed = known.values.map { old.numbers[$0] }.sorted()
        written = others
        numbers = Array(old.numbers[..<first]) + middle + Array(old.numbers[oldMiddle.upperBound...])

        guard let original = new.original else { return }
        if numbers == old.numbers, original == old.original {
            originalNumbers = old.originalNumbers
            return
        }
        let byID = Dictionary(
            zip(new.items.lazy.map(\.id), numbers), uniquingKeysWith: { first, _ in first })
        originalNumbers = original.compactMap { byID[$0] }
    }
}
