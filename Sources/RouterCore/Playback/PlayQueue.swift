import RouteModel

/// The queue of one session: the truth that devices get a view of. Every change of what is played, and in which order,
/// counts the version up.
///
/// Made for a hundred thousand items: each has a number in a table, and an order is a list of numbers. An edit costs
/// about as much as copying the numbers once, and so does taking it back; no item is touched for it.
struct PlayQueue: Sendable {
    private(set) var current: ItemID?
    private(set) var version = 1
    private(set) var repeatMode = RepeatMode.off
    private(set) var failurePolicy: FailurePolicy?
    /// Another sender plays something else by now: no item is shown as current, and its place is kept.
    private(set) var isInterrupted = false
    private(set) var shuffleSeed: UInt32?
    /// Whether something of it comes in on this process's standard input, which no other process can go on with.
    private(set) var readsStandardInput = false

    /// Every item that is there, and those that undo may bring back.
    private(set) var table = ItemTable()
    private(set) var order: [UInt32] = []
    /// The order without shuffle, while shuffled.
    private(set) var original: [UInt32]?
    /// The numbers of the table's items: an id has one, also when it comes a second time.
    private var numbers: [ItemID: UInt32] = [:]
    /// What is in the queue.
    private var present = NumberSet(count: 0)
    /// By the table's numbers.
    private var kin = Kin()
    /// What was played before the current item, the latest last: where `previous` leads.
    private var played: [ItemID] = []
    private var log = QueueLog()
    private var past: [Order] = []
    /// So large the table may grow before it is looked through for what nobody needs any more.
    private var tableLimit = 0

    /// How many edits can be taken back.
    static let undoDepth = 10
    /// How far `previous` leads back.
    static let playedLimit = 1000

    /// What an edit changes, and undo brings back.
    private struct Order: Sendable {
        var order: [UInt32]
        var original: [UInt32]?
        var shuffleSeed: UInt32?
    }

    init(items: [QueueItem], repeatMode: RepeatMode = .off, failurePolicy: FailurePolicy? = nil) {
        self.repeatMode = repeatMode
        self.failurePolicy = failurePolicy
        take(QueueItems(items))
        current = order.first.map { table[$0].id }
    }

    init(_ snapshot: QueueSnapshot) {
        take(snapshot.items)
        current = item(snapshot.current)?.id
        version = snapshot.version
        repeatMode = snapshot.repeatMode
        failurePolicy = snapshot.failurePolicy
        original = numbers(of: snapshot)
        shuffleSeed = original == nil ? nil : snapshot.shuffleSeed
        log = QueueLog(from: version)
    }

    /// An id is of one item only: a second one of the same id is left out.
    private mutating func take(_ items: QueueItems) {
        table = items.table
        order = []
        order.reserveCapacity(items.count)
        numbers.reserveCapacity(items.count)
        present = NumberSet(count: table.count)
        for number in items.numbers {
            let item = table[number]
            if let first = numbers.updateValue(number, forKey: item.id) {
                numbers[item.id] = first
                continue
            }
            order.append(number)
            present.insert(number)
            kin.note(item, number)
            readsStandardInput = readsStandardInput || item.source.isStandardInput
        }
        tableLimit = 2 * table.count + Self.tableSlack
    }

    /// The order without shuffle; nil for a list that is not of the same items, which is no order of them.
    private func numbers(of snapshot: QueueSnapshot) -> [UInt32]? {
        let list: [UInt32]
        if let known = snapshot.unshuffledItems, let changed = known.table.changes(since: table), changed.isEmpty {
            list = known.numbers
        } else if let ids = snapshot.original {
            list = ids.compactMap { numbers[$0] }
        } else {
            return nil
        }
        let isWhole = list.count == order.count && NumberSet(list, count: table.count).count == order.count
        return isWhole && list.allSatisfy(present.contains) ? list : nil
    }

    /// In play order.
    var items: QueueItems { QueueItems(table: table, numbers: order) }

    /// The same items without shuffle, while shuffled.
    var unshuffled: QueueItems? { original.map { QueueItems(table: table, numbers: $0) } }

    var snapshot: QueueSnapshot {
        QueueSnapshot(
            version: version, items: items, current: shown, place: place(shown), repeatMode: repeatMode,
            unshuffled: unshuffled, failurePolicy: failurePolicy, shuffleSeed: shuffleSeed)
    }

    var isShuffled: Bool { original != nil }

    private var shown: ItemID? { isInterrupted ? nil : current }

    /// How it came from an earlier version to what it is; nil where that is not known any more.
    func changes(since base: Int) -> [QueueChange]? { log.changes(since: base, now: version) }

    // MARK: Looking up

    func item(_ id: ItemID?) -> QueueItem? { number(id).map { table[$0] } }

    private func number(_ id: ItemID?) -> UInt32? {
        guard let id, let number = numbers[id], present.contains(number) else { return nil }
        return number
    }

    private func place(_ id: ItemID?) -> Int? { number(id).flatMap { order.firstIndex(of: $0) } }

    private func ids(_ numbers: [UInt32]) -> [ItemID] { numbers.map { table[$0].id } }

    private func plays(_ number: UInt32) -> Bool { table[number].failure == nil }

    /// The next item that is not known to fail, by the repeat mode. With `skipping`, a person asked for another one:
    /// the same item again is not what they mean.
    func item(after id: ItemID?, skipping: Bool = false) -> QueueItem? {
        guard let place = place(id) else { return nil }
        if repeatMode == .one, !skipping, plays(order[place]) { return table[order[place]] }
        if let next = order[(place + 1)...].first(where: plays) { return table[next] }
        return repeatMode == .all ? order.first(where: plays).map { table[$0] } : nil
    }

    /// What was played before the current item; where that is not known, what comes before it in the queue.
    func previousItem() -> QueueItem? {
        for id in played.reversed() where id != current {
            if let item = item(id), item.failure == nil { return item }
        }
        return order[..<(place(current) ?? order.count)].last(where: plays).map { table[$0] }
    }

    /// Up to `count` items that follow, for a device to hold: each once, and not the one that plays.
    func upcoming(after id: ItemID?, count: Int) -> [QueueItem] {
        guard let place = place(id), repeatMode != .one else { return [] }
        var result: [QueueItem] = []
        let rounds = repeatMode == .all ? [order[(place + 1)...], order[..<place]] : [order[(place + 1)...]]
        for round in rounds {
            for number in round where plays(number) {
                if result.count == count { return result }
                result.append(table[number])
            }
        }
        return result
    }

    func comes(_ id: ItemID, after other: ItemID?) -> Bool {
        guard let place = place(id), let otherPlace = self.place(other) else { return false }
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

    /// What was played before the current item, the latest last: as much as is kept for another process.
    var recentlyPlayed: [ItemID] { Array(played.suffix(SessionRecord.maximumPlayed)) }

    /// Takes up what another process had played of it.
    mutating func recall(_ played: [ItemID]) { self.played = Array(played.suffix(Self.playedLimit)) }

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

    /// It is tried once more.
    mutating func clearFailure(_ id: ItemID) {
        guard item(id)?.failure != nil else { return }
        change(id) { $0.failure = nil }.map { commit([.update($0)]) }
    }

    /// What is learnt of an item when it is probed fills in what its playlist left out. The version stays: nobody's edit
    /// is out of date by a title.
    mutating func enrich(_ id: ItemID, _ metadata: MediaMetadata) {
        guard let item = change(id, { $0.metadata = $0.metadata.filled(from: metadata) }) else { return }
        log.append([.update(item)], version: version)
    }

    mutating func apply(_ settings: QueueItemSettings, to ids: [ItemID]) {
        let changed = ids.compactMap { id in
            change(id) { $0.take(settings) }
        }
        if !changed.isEmpty { commit(changed.map(QueueChange.update)) }
    }

    mutating func describe(_ items: [ItemDescription]) {
        let changed = items.compactMap { description in
            change(description.item) { item in
                item.metadata = description.metadata
                item.context = description.context ?? item.context
            }
        }
        if !changed.isEmpty { commit(changed.map(QueueChange.update)) }
    }

    /// The item as it is then; nil where nothing is changed.
    private mutating func change(_ id: ItemID, _ change: (inout QueueItem) -> Void) -> QueueItem? {
        guard let number = number(id) else { return nil }
        let old = table[number]
        var new = old
        change(&new)
        guard new != old else { return nil }
        table[number] = new
        return new
    }

    private mutating func commit(_ changes: [QueueChange]) {
        version += 1
        log.append(changes, version: version)
    }

    // MARK: Edits

    private var now: Order { Order(order: order, original: original, shuffleSeed: shuffleSeed) }

    private mutating func keep(_ before: Order) {
        past.append(before)
        if past.count > Self.undoDepth { past.removeFirst() }
    }

    /// Ends an edit of so many items. Lists of ids are made only where that is few enough for the log.
    ///
    /// - Returns: whether the log wants the changes.
    private mutating func commit(weight count: Int) -> Bool {
        version += 1
        // With each goes the whole original order, where there is one.
        guard count + (original?.count ?? 0) <= QueueLog.weightLimit / 2 else {
            log.forget(until: version)
            return false
        }
        return true
    }

    /// Before another item; nil is the end. Items whose id is there already are left out.
    mutating func insert(_ new: [QueueItem], before id: ItemID?) { insert(new, at: place(id) ?? order.count) }

    mutating func insert(_ new: [QueueItem], after id: ItemID?) {
        insert(new, at: place(id).map { $0 + 1 } ?? order.count)
    }

    private mutating func insert(_ new: [QueueItem], at place: Int) {
        let new = unknown(new)
        guard !new.isEmpty else { return }
        tidyTable()
        keep(now)
        order.insert(contentsOf: add(new), at: place)
        guard commit(weight: new.count) else { return }
        log.append([.insert(new, at: place)] + originalChange, version: version)
    }

    private func unknown(_ new: [QueueItem]) -> [QueueItem] {
        var seen: Set<ItemID> = []
        return new.filter { number($0.id) == nil && seen.insert($0.id).inserted }
    }

    /// Gives items that are not in the queue their numbers, and their place in the original order.
    private mutating func add(_ new: [QueueItem]) -> [UInt32] {
        let added = new.map { item in
            if let number = numbers[item.id] {
                table[number] = item
                return number
            }
            let number = table.append(item)
            numbers[item.id] = number
            return number
        }
        for (number, item) in zip(added, new) {
            present.insert(number)
            kin.note(item, number)
            readsStandardInput = readsStandardInput || item.source.isStandardInput
        }
        if let before = original { original = kin.joining(added, to: before) }
        return added
    }

    private var originalChange: [QueueChange] { original.map { [.original(ids($0))] } ?? [] }

    /// These items, in this order, before another; nil is the end. Items that are not there are passed over.
    mutating func move(_ ids: [ItemID], before id: ItemID?) {
        var seen: Set<ItemID> = []
        let moved = ids.filter { seen.insert($0).inserted }.compactMap { number($0) }
        guard !moved.isEmpty, id.map({ !seen.contains($0) && number($0) != nil }) ?? true else { return }
        keep(now)
        order.remove(all: moved)
        let place = place(id) ?? order.count
        order.insert(contentsOf: moved, at: place)
        guard commit(weight: moved.count) else { return }
        log.append([.move(self.ids(moved), to: place)], version: version)
    }

    /// Where the current item is among them, the one that follows becomes the current one.
    mutating func remove(_ ids: Set<ItemID>) {
        let gone = ids.compactMap { number($0) }
        guard !gone.isEmpty else { return }
        keep(now)
        let moved = drop(gone)
        guard commit(weight: gone.count) else { return }
        let now: [QueueChange] = moved ? [.current(shown)] : []
        log.append([.remove(self.ids(gone))] + originalChange + now, version: version)
    }

    /// - Returns: whether the current item is another one now.
    private mutating func drop(_ gone: [UInt32]) -> Bool {
        let before = current
        for number in gone { present.remove(number) }
        if let current, let number = numbers[current], !present.contains(number),
            let place = order.firstIndex(of: number)
        {
            let round = repeatMode == .all ? order[..<place] : []
            self.current = (order[place...] + round).first { present.contains($0) && plays($0) }.map { table[$0].id }
        }
        order.remove(all: gone)
        original?.remove(all: gone)
        return current != before
    }

    mutating func clearUpcoming() { replaceUpcoming([]) }

    /// All that follows the current item, or everything where there is none, gives way to these.
    mutating func replaceUpcoming(_ new: [QueueItem]) {
        tidyTable()
        let place = place(current).map { $0 + 1 } ?? 0
        let gone = Array(order[place...])
        let new = unknown(new)
        guard !gone.isEmpty || !new.isEmpty else { return }
        keep(now)
        _ = drop(gone)
        order.append(contentsOf: add(new))
        guard commit(weight: gone.count + new.count) else { return }
        log.append([.remove(ids(gone)), .insert(new, at: place)] + originalChange, version: version)
    }

    mutating func clear() {
        guard !order.isEmpty else { return }
        keep(now)
        let gone = order
        order = []
        present = NumberSet(count: table.count)
        current = nil
        if original != nil { original = [] }
        guard commit(weight: gone.count) else { return }
        log.append([.remove(ids(gone)), .current(nil)] + originalChange, version: version)
    }

    /// Takes over what a device's queue has come to be by another sender's hand: `upcoming` follows `id`, `gone` are no
    /// more, and whatever the device did not hold comes after that as before.
    ///
    /// - Returns: whether that was something else than what was there.
    @discardableResult
    mutating func adopt(_ upcoming: [QueueItem], after id: ItemID, removing gone: Set<ItemID>) -> Bool {
        tidyTable()
        let before = now
        let held = Set(upcoming.map(\.id))
        let lost = gone.subtracting(held).compactMap { number($0) }
        let new = unknown(upcoming)
        let moved = drop(lost)
        order.append(contentsOf: add(new))
        var entries = upcoming.compactMap { number($0.id) }
        entries.removeLast(startingAnew(entries, after: id))
        order.remove(all: entries)
        let place = place(id).map { $0 + 1 } ?? 0
        order.insert(contentsOf: entries, at: place)
        guard order != before.order else { return false }
        keep(before)
        let count = order.count - new.count
        guard commit(weight: lost.count + new.count + entries.count) else { return true }
        let now: [QueueChange] = moved ? [.current(shown)] : []
        log.append(
            [.remove(ids(lost)), .insert(new, at: count), .move(ids(entries), to: place)] + originalChange + now,
            version: version)
        return true
    }

    /// How many at the end of what follows an item are the queue's beginning, behind all of the rest: repeated, they come
    /// again, and stay where they are.
    private func startingAnew(_ entries: [UInt32], after id: ItemID) -> Int {
        guard repeatMode == .all, let place = place(id) else { return 0 }
        let beginning = Array(order[..<place].lazy.filter(plays).prefix(entries.count))
        let count = (0...beginning.count).last { entries.suffix($0).elementsEqual(beginning.prefix($0)) } ?? 0
        // Before the end somebody has put it there.
        let rest = NumberSet(Array(entries.dropLast(count)), count: table.count)
        return order[(place + 1)...].lazy.filter(plays).allSatisfy(rest.contains) ? count : 0
    }

    // MARK: Shuffle

    /// Puts what comes after the current item into a random order, which is kept, with the seed that it was drawn from.
    mutating func shuffle(seed: UInt32) {
        keep(now)
        let played = place(current).map { $0 + 1 } ?? 0
        if original == nil { original = order }
        var generator = ShuffleGenerator(seed: seed)
        order[played...].shuffle(using: &generator)
        shuffleSeed = seed
        guard commit(weight: order.count) else { return }
        log.append([.order(ids(order)), .shuffleSeed(seed)] + originalChange, version: version)
    }

    /// Back to the original order; the current item stays the current one.
    mutating func unshuffle() {
        guard let before = original else { return }
        keep(now)
        order = before
        original = nil
        shuffleSeed = nil
        guard commit(weight: order.count) else { return }
        log.append([.order(ids(order)), .original(nil), .shuffleSeed(nil)], version: version)
    }

    // MARK: Undo

    /// Takes back the last edit, whoever made it: the order and the items are as before it. What plays stays, also where
    /// the edit had brought it in; so does what was learnt of items meanwhile.
    ///
    /// - Returns: whether there was one.
    mutating func undo() -> Bool {
        guard let before = past.popLast() else { return false }
        let old = order
        let were = present
        order = before.order
        original = before.original
        shuffleSeed = before.shuffleSeed
        present = NumberSet(order, count: table.count)
        if let playing = current.flatMap({ numbers[$0] }), were.contains(playing), !present.contains(playing) {
            // After the last of what was before it and is there still.
            let ahead = old[..<(old.firstIndex(of: playing) ?? 0)]
            let anchor = ahead.last(where: present.contains).flatMap { order.firstIndex(of: $0) }
            order.insert(playing, at: anchor.map { $0 + 1 } ?? 0)
            present.insert(playing)
            if let restored = original { original = kin.joining([playing], to: restored) }
        }
        let gone = old.filter { !present.contains($0) }
        let back = order.filter { !were.contains($0) }
        guard commit(weight: 2 * order.count + gone.count) else { return true }
        log.append(
            [.remove(ids(gone)), .insert(back.map { table[$0] }, at: old.count - gone.count), .order(ids(order))]
                + [.original(original.map { ids($0) }), .shuffleSeed(shuffleSeed)], version: version)
        return true
    }

    // MARK: The table

    private static let tableSlack = 4096

    /// Items that neither the queue nor undo has any more are let go of, once there are many.
    private mutating func tidyTable() {
        guard table.count > tableLimit else { return }
        var used = present
        for order in past { for number in order.order { used.insert(number) } }
        defer { tableLimit = 2 * used.count + Self.tableSlack }
        guard used.count < table.count / 2 else { return }
        var (tidy, places) = (ItemTable(), [UInt32](repeating: 0, count: table.count))
        (numbers, kin) = ([:], Kin())
        for number in 0..<UInt32(table.count) where used.contains(number) {
            let item = table[number]
            places[Int(number)] = tidy.append(item)
            numbers[item.id] = places[Int(number)]
            kin.note(item, places[Int(number)])
        }
        func moved(_ numbers: [UInt32]) -> [UInt32] { numbers.map { places[Int($0)] } }
        table = tidy
        order = moved(order)
        original = original.map(moved)
        past = past.map { Order(order: moved($0.order), original: $0.original.map(moved), shuffleSeed: $0.shuffleSeed) }
        present = NumberSet(order, count: table.count)
    }
}

extension QueueItem {
    mutating func take(_ settings: QueueItemSettings) {
        if let start = settings.start { self.start = start }
        if let end = settings.end { self.end = end > .zero ? end : nil }
        if let external = settings.externalPlayback { externalPlayback = external }
        if let custom = settings.custom { self.custom = custom.isEmpty ? nil : custom }
    }
}
