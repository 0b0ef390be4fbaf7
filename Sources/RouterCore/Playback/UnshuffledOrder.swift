import RouteModel

/// The order that a shuffled queue has without shuffle. Its ids are kept beside it, because every view of the queue has
/// them.
struct UnshuffledOrder: Sendable {
    private(set) var items: [QueueItem]
    private(set) var ids: [ItemID]

    init(_ items: [QueueItem]) {
        self.items = items
        ids = items.map(\.id)
    }

    mutating func replace(_ old: QueueItem, by new: QueueItem) {
        guard let place = items.place(of: old) else { return }
        items[place] = new
    }

    mutating func remove(_ gone: [QueueItem]) {
        guard !gone.isEmpty else { return }
        items.remove(all: gone)
        ids = items.map(\.id)
    }

    /// New items come after the last of what they belong to, and those that belong to nothing there at the end.
    mutating func join(_ new: [QueueItem]) {
        // By context, in the order in which they are met first.
        var kin: [(context: String?, items: [QueueItem])] = []
        var places: [String?: Int] = [:]
        for item in new {
            if let place = places[item.context] {
                kin[place].items.append(item)
            } else {
                places[item.context] = kin.count
                kin.append((item.context, [item]))
            }
        }
        let ends = lastPlaces(of: Set(kin.compactMap(\.context)))
        let strangers = kin.filter { $0.context.flatMap { ends[$0] } == nil }.flatMap(\.items)
        items.append(contentsOf: strangers)
        // From the end on, so that the places before stay what they are.
        let joining = kin.compactMap { group in group.context.flatMap { ends[$0] }.map { (place: $0, group.items) } }
        for (place, group) in joining.sorted(by: { $0.place > $1.place }) {
            items.insert(contentsOf: group, at: place + 1)
        }
        if joining.isEmpty {
            ids.append(contentsOf: strangers.map(\.id))
        } else {
            ids = items.map(\.id)
        }
    }

    private func lastPlaces(of contexts: Set<String>) -> [String: Int] {
        guard !contexts.isEmpty else { return [:] }
        var wanted = contexts
        var found: [String: Int] = [:]
        for place in items.indices.reversed() {
            guard let context = items[place].context, wanted.remove(context) != nil else { continue }
            found[context] = place
            if wanted.isEmpty { break }
        }
        return found
    }
}

extension Array where Element == QueueItem {
    /// Where this very item is, by its address.
    func place(of item: QueueItem) -> Int? {
        let identity = item.identity
        return firstIndex { $0.identity == identity }
    }

    /// Takes these very items out.
    mutating func remove(all gone: [QueueItem]) {
        // A few are found sooner one by one than all are looked up in a set.
        guard gone.count > 16 else {
            for item in gone { place(of: item).map { _ = remove(at: $0) } }
            return
        }
        let identities = Set(gone.map(\.identity))
        removeAll { identities.contains($0.identity) }
    }
}

/// Random numbers from a seed (SplitMix64): the same seed draws the same order of the same items.
struct ShuffleGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt32) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
