/// The queue: loading it, going through it, and what is next in it (`Protocols/cast` section 7).
extension CastMediaMachine {
    /// Items of one queue; more are refused as INVALID_PARAMS.
    static let maximumItems = 5_000
    static let repeatModes: Set<String> = ["REPEAT_OFF", "REPEAT_ALL", "REPEAT_SINGLE", "REPEAT_ALL_AND_SHUFFLE"]

    mutating func queueLoad(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let fields = request["items"]?.array?.compactMap(\.object) ?? []
        let index = request["startIndex"]?.int ?? 0
        guard fields.indices.contains(index), fields.count <= Self.maximumItems,
            fields.count == request["items"]?.array?.count,
            fields.allSatisfy({ $0["itemId"] == nil && Self.isPlayable($0["media"]) }),
            request["repeatMode"]?.string.map(Self.repeatModes.contains) ?? true
        else { return refuse(asker, "INVALID_PARAMS") }
        makeWay(at: now)
        loadRequest = ["customData": request["customData"] ?? .null].filter { $0.value != .null }
        var data = request["queueData"]?.object ?? [:]
        data["repeatMode"] = request["repeatMode"] ?? data["repeatMode"]
        setQueue(fields, data: data, startingAt: index)
        activeTracks = Self.trackIDs(fields[index]["activeTrackIds"])
        textTrackStyle = fields[index]["media"]?["textTrackStyle"]
        let url = Self.url(of: fields[index]["media"]) ?? ""
        note("load", ["request": request, "sender": .string(asker.sender), "url": .string(url)])
        let start = request["currentTime"]?.double ?? fields[index]["startTime"]?.double ?? 0
        begin(
            currentIndex, from: start, autoplay: fields[index]["autoplay"]?.isTruthy ?? true, newSession: true,
            loader: asker, at: now)
    }

    /// Takes a new queue; the item that plays is `currentIndex` afterwards.
    mutating func setQueue(_ fields: [[String: JSONValue]], data: [String: JSONValue], startingAt index: Int) {
        items = fields.map { makeItem($0) }
        currentIndex = index
        let mode = data["repeatMode"]?.string
        repeatMode = mode.flatMap { Self.repeatModes.contains($0) ? $0 : nil } ?? "REPEAT_OFF"
        queueData = data.filter { $0.key != "items" }
        isShuffled = data["shuffle"]?.bool ?? false
        if isShuffled { shuffle(keepingCurrent: true) }
        if items.count > 1 { changed("UPDATE", items.map(\.id)) } else { sequenceNumber += 1 }
    }

    mutating func makeItem(_ fields: [String: JSONValue]) -> Item {
        defer { nextItemID += 1 }
        return Item(id: nextItemID, fields: fields)
    }

    mutating func queue(_ type: String, _ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        if configuration.faults.ignoresQueueQuestions, type.hasPrefix("QUEUE_GET_") { return }
        if let expected = request["sequenceNumber"]?.int, expected != sequenceNumber {
            note("conflict", ["expected": .integer(expected), "is": .integer(sequenceNumber)])
            return refuse(asker, "INVALID_PARAMS")
        }
        switch type {
        case "QUEUE_GET_ITEM_IDS":
            tellQueue(asker, "QUEUE_ITEM_IDS", ["itemIds": .array(items.map { .integer($0.id) })])
        case "QUEUE_GET_ITEMS": getItems(request, asker)
        case "QUEUE_GET_ITEM_RANGE": getRange(request, asker)
        case "QUEUE_NEXT": jump(1, asker, now)
        case "QUEUE_PREV": jump(-1, asker, now)
        case "QUEUE_INSERT": insert(request, asker, now)
        case "QUEUE_UPDATE": update(request, asker, now)
        case "QUEUE_REMOVE": remove(request, asker, now)
        case "QUEUE_REORDER": reorder(request, asker, now)
        default: refuse(asker, "INVALID_COMMAND")
        }
    }

    // MARK: Reading

    private mutating func tellQueue(_ asker: CastAsker, _ type: String, _ fields: [String: JSONValue]) {
        let number: [String: JSONValue] = ["sequenceNumber": .integer(sequenceNumber)]
        actions.append(.reply(asker, message(type, fields.merging(number) { $1 })))
    }

    private mutating func getItems(_ request: JSONValue, _ asker: CastAsker) {
        guard let ids = request["itemIds"]?.array?.compactMap(\.int), !ids.isEmpty else {
            return refuse(asker, "INVALID_PARAMS")
        }
        let found = Dictionary(items.map { ($0.id, $0.wire) }) { first, _ in first }
        tellQueue(asker, "QUEUE_ITEMS", ["items": .array(ids.compactMap { found[$0] })])
    }

    private mutating func getRange(_ request: JSONValue, _ asker: CastAsker) {
        let next = request["nextCount"]?.int
        let previous = request["prevCount"]?.int
        guard (next == nil) != (previous == nil), (next ?? previous ?? 0) > 0,
            let place = index(ofItem: request["itemId"])
        else { return refuse(asker, "INVALID_PARAMS") }
        let range =
            next.map { place..<min(items.count, place + min($0, items.count)) }
            ?? max(0, place - min(previous ?? 0, items.count))..<place
        tellQueue(asker, "QUEUE_ITEMS", ["items": .array(items[range].map(\.wire))])
    }

    func index(ofItem id: JSONValue?) -> Int? {
        guard let id = id?.int else { return nil }
        return items.firstIndex { $0.id == id }
    }

    // MARK: Going through it

    var wraps: Bool { repeatMode == "REPEAT_ALL" || repeatMode == "REPEAT_ALL_AND_SHUFFLE" }

    /// What comes after the current item by itself.
    func following() -> Int? {
        guard !items.isEmpty else { return nil }
        if repeatMode == "REPEAT_SINGLE" { return currentIndex }
        if currentIndex + 1 < items.count { return currentIndex + 1 }
        return wraps ? 0 : nil
    }

    /// Steps through the queue; past an end it goes round if the queue repeats.
    mutating func jump(_ steps: Int, _ asker: CastAsker, _ now: Int64) {
        guard steps.magnitude <= Self.maximumItems else { return refuse(asker, "INVALID_PARAMS") }
        var target = currentIndex + steps
        if wraps { target = ((target % items.count) + items.count) % items.count }
        guard items.indices.contains(target) else { return refuse(asker, "END_OF_QUEUE") }
        go(to: target, from: nil, asker, now)
    }

    mutating func go(to index: Int, from start: Double?, _ asker: CastAsker, _ now: Int64) {
        note("jump", ["index": .integer(index), "item": .integer(items[index].id)])
        let position = start ?? items[index].fields["startTime"]?.double ?? 0
        begin(index, from: position, autoplay: true, newSession: false, loader: nil, at: now)
        reply(asker, at: now)
    }

    /// Mixes the queue; what plays comes first, so that all others follow.
    mutating func shuffle(keepingCurrent: Bool) {
        shuffles += 1
        var generator = SplitMix(state: shuffles)
        let current = keepingCurrent && items.indices.contains(currentIndex) ? items.remove(at: currentIndex) : nil
        items.shuffle(using: &generator)
        if let current { items.insert(current, at: 0) }
        currentIndex = 0
    }

    /// A small generator of random numbers that every run repeats.
    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }
}
