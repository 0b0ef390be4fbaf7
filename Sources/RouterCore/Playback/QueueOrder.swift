import RouteModel

/// Which items belong together (an album, a playlist), by their numbers: where what is added to a shuffled queue has its
/// place in the original order.
struct Kin: Sendable {
    /// By the items' numbers; zero is nothing.
    private var contexts: [UInt32] = []
    private var known: [String: UInt32] = [:]
    private var last: (name: String, context: UInt32)?

    mutating func note(_ item: QueueItem, _ number: UInt32) {
        while contexts.count <= Int(number) { contexts.append(0) }
        contexts[Int(number)] = item.context.map { context(of: $0) } ?? 0
    }

    private mutating func context(of name: String) -> UInt32 {
        // Mostly it is the one before's.
        if let last, last.name == name { return last.context }
        let context = known[name] ?? UInt32(known.count + 1)
        known[name] = context
        last = (name, context)
        return context
    }

    /// The order with new items after the last of what they belong to; those that belong to nothing there at the end.
    func joining(_ new: [UInt32], to order: [UInt32]) -> [UInt32] {
        // By context, in the order in which they are met first.
        var kin: [(context: UInt32, items: [UInt32])] = []
        var places: [UInt32: Int] = [:]
        for number in new {
            let context = contexts[Int(number)]
            if let place = places[context] {
                kin[place].items.append(number)
            } else {
                places[context] = kin.count
                kin.append((context, [number]))
            }
        }
        let ends = lastPlaces(of: Set(kin.lazy.map(\.context).filter { $0 != 0 }), in: order)
        var result = order + kin.filter { ends[$0.context] == nil }.flatMap(\.items)
        // From the end on, so that the places before stay what they are.
        let joining = kin.compactMap { group in ends[group.context].map { (place: $0, group.items) } }
        for (place, group) in joining.sorted(by: { $0.place > $1.place }) {
            result.insert(contentsOf: group, at: place + 1)
        }
        return result
    }

    private func lastPlaces(of wanted: Set<UInt32>, in order: [UInt32]) -> [UInt32: Int] {
        var wanted = wanted
        var found: [UInt32: Int] = [:]
        for place in order.indices.reversed() {
            if wanted.isEmpty { break }
            let context = contexts[Int(order[place])]
            // Most belong to nothing that is looked for.
            guard context != 0, wanted.remove(context) != nil else { continue }
            found[context] = place
        }
        return found
    }
}

extension [UInt32] {
    /// Takes these out.
    mutating func remove(all gone: [UInt32]) {
        // A few are found sooner one by one than all are looked up in a set.
        guard gone.count > 16 else {
            for number in gone { firstIndex(of: number).map { _ = remove(at: $0) } }
            return
        }
        let set = NumberSet(gone, count: Int(gone.max() ?? 0) + 1)
        removeAll(where: set.contains)
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
