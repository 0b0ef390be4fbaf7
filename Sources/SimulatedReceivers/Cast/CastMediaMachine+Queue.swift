/// The queue requests of the media namespace (`Protocols/cast` section 10).
extension CastMediaMachine {
    mutating func queueLoad(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let fields = request["items"]?.array?.compactMap(\.object) ?? []
        let index = request["startIndex"]?.int ?? 0
        guard fields.indices.contains(index), fields.allSatisfy({ $0["itemId"] == nil && Self.isPlayable($0["media"]) })
        else { return refuse(asker, "INVALID_PARAMS") }
        makeWay(at: now)
        setQueue(fields, repeatMode: request["repeatMode"]?.string)
        note("load", ["request": request, "sender": .string(asker.sender)])
        let start = request["currentTime"]?.double ?? fields[index]["startTime"]?.double ?? 0
        begin(
            index, from: start, autoplay: fields[index]["autoplay"]?.isTruthy ?? true, newSession: true, loader: asker,
            at: now)
    }

    mutating func queue(_ type: String, _ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        if let expected = request["sequenceNumber"]?.int, expected != sequenceNumber {
            return refuse(asker, "INVALID_PARAMS")
        }
        switch type {
        case "QUEUE_GET_ITEM_IDS":
            actions.append(
                .reply(asker, message("QUEUE_ITEM_IDS", ["itemIds": .array(items.map { .integer($0.id) })])))
        case "QUEUE_GET_ITEMS":
            let ids = Set(request["itemIds"]?.array?.compactMap(\.int) ?? [])
            let found = items.filter { ids.contains($0.id) }.map(\.wire)
            actions.append(.reply(asker, message("QUEUE_ITEMS", ["items": .array(found)])))
        case "QUEUE_NEXT": jump(1, asker, now)
        case "QUEUE_PREV": jump(-1, asker, now)
        case "QUEUE_INSERT": insert(request, asker, now)
        case "QUEUE_UPDATE": update(request, asker, now)
        case "QUEUE_REMOVE": remove(request, asker, now)
        case "QUEUE_REORDER": reorder(request, asker, now)
        default: refuse(asker, "INVALID_COMMAND")
        }
    }

    private func index(ofItem id: JSONValue?) -> Int? {
        guard let id = id?.int else { return nil }
        return items.firstIndex { $0.id == id }
    }

    private mutating func changed(_ change: String, _ ids: [Int]) {
        sequenceNumber += 1
        actions.append(
            .push(
                message(
                    "QUEUE_CHANGE",
                    [
                        "requestId": 0, "changeType": .string(change), "itemIds": .array(ids.map { .integer($0) }),
                        "sequenceNumber": .integer(sequenceNumber),
                    ])))
        note("queue", ["change": .string(change), "items": .integer(items.count)])
    }

    /// Steps through the queue; past an end it goes round if the queue repeats.
    private mutating func jump(_ steps: Int, _ asker: CastAsker, _ now: Int64) {
        var target = currentIndex + steps
        if repeatMode == "REPEAT_ALL" || repeatMode == "REPEAT_ALL_AND_SHUFFLE" {
            target = ((target % items.count) + items.count) % items.count
        }
        guard items.indices.contains(target) else { return refuse(asker, "END_OF_QUEUE") }
        go(to: target, from: nil, asker, now)
    }

    private mutating func go(to index: Int, from start: Double?, _ asker: CastAsker, _ now: Int64) {
        note("jump", ["index": .integer(index)])
        let position = start ?? items[index].fields["startTime"]?.double ?? 0
        begin(index, from: position, autoplay: true, newSession: false, loader: nil, at: now)
        reply(asker, at: now)
    }

    private mutating func insert(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let fields = request["items"]?.array?.compactMap(\.object) ?? []
        guard !fields.isEmpty, fields.allSatisfy({ $0["itemId"] == nil && Self.isPlayable($0["media"]) }) else {
            return refuse(asker, "INVALID_PARAMS")
        }
        let place = index(ofItem: request["insertBefore"]) ?? items.count
        let added = fields.map { makeItem($0) }
        items.insert(contentsOf: added, at: place)
        if place <= currentIndex { currentIndex += added.count }
        changed("INSERT", added.map(\.id))
        let target =
            index(ofItem: request["currentItemId"])
            ?? request["currentItemIndex"]?.int.flatMap { added.indices.contains($0) ? place + $0 : nil }
        if let target {
            go(to: target, from: request["currentTime"]?.double, asker, now)
        } else {
            replyAndPush(asker, at: now)
        }
    }

    private mutating func update(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        if let mode = request["repeatMode"]?.string { repeatMode = mode }
        var edited: [Int] = []
        for case let fields? in (request["items"]?.array ?? []).map(\.object) {
            guard let place = index(ofItem: fields["itemId"]) else { continue }
            items[place].fields.merge(fields.filter { $0.key != "itemId" }) { $1 }
            edited.append(items[place].id)
        }
        if !edited.isEmpty { changed("UPDATE", edited) }
        if let steps = request["jump"]?.int {
            jump(steps, asker, now)
        } else if let place = index(ofItem: request["currentItemId"]), place != currentIndex {
            go(to: place, from: request["currentTime"]?.double, asker, now)
        } else {
            replyAndPush(asker, at: now)
        }
    }

    private mutating func remove(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let ids = Set(request["itemIds"]?.array?.compactMap(\.int) ?? [])
        guard !ids.isEmpty else { return refuse(asker, "INVALID_PARAMS") }
        let current = items[currentIndex].id
        let following = items[currentIndex...].first { !ids.contains($0.id) }?.id
        guard let next = following else {
            changed("REMOVE", Array(ids).sorted())
            return end(reason: "CANCELLED", at: now, answering: asker)
        }
        items.removeAll { ids.contains($0.id) }
        let place = items.firstIndex { $0.id == next } ?? 0
        changed("REMOVE", ids.sorted())
        if ids.contains(current) {
            go(to: place, from: request["currentTime"]?.double, asker, now)
        } else {
            currentIndex = place
            replyAndPush(asker, at: now)
        }
    }

    private mutating func reorder(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let ids = request["itemIds"]?.array?.compactMap(\.int) ?? []
        let moved = ids.compactMap { id in items.first { $0.id == id } }
        guard !moved.isEmpty, moved.count == ids.count, Set(ids).count == ids.count else {
            return refuse(asker, "INVALID_PARAMS")
        }
        let current = items[currentIndex].id
        items.removeAll { ids.contains($0.id) }
        items.insert(contentsOf: moved, at: index(ofItem: request["insertBefore"]) ?? items.count)
        currentIndex = items.firstIndex { $0.id == current } ?? 0
        changed("UPDATE", ids)
        replyAndPush(asker, at: now)
    }
}
