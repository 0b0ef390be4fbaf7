/// Edits of the queue by any sender; all others hear of each by QUEUE_CHANGE (`Protocols/cast` section 7).
extension CastMediaMachine {
    mutating func changed(_ change: String, _ ids: [Int], _ fields: [String: JSONValue] = [:]) {
        sequenceNumber += 1
        dropPreloadIfStale()
        var push = fields
        push["requestId"] = 0
        push["changeType"] = .string(change)
        push["itemIds"] = .array(ids.map { .integer($0) })
        push["sequenceNumber"] = .integer(sequenceNumber)
        actions.append(.push(message("QUEUE_CHANGE", push)))
        note("queue", ["change": .string(change), "items": .integer(items.count)])
    }

    mutating func insert(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let fields = request["items"]?.array?.compactMap(\.object) ?? []
        guard !fields.isEmpty, items.count + fields.count <= Self.maximumItems,
            fields.allSatisfy({ $0["itemId"] == nil && Self.isPlayable($0["media"]) })
        else { return refuse(asker, "INVALID_PARAMS") }
        // An item that is not there any more: at the end.
        let place = index(ofItem: request["insertBefore"]) ?? items.count
        let before = items.indices.contains(place) ? items[place].id : nil
        let added = fields.map { makeItem($0) }
        items.insert(contentsOf: added, at: place)
        if place <= currentIndex { currentIndex += added.count }
        changed("INSERT", added.map(\.id), before.map { ["insertBefore": .integer($0)] } ?? [:])
        let target =
            index(ofItem: request["currentItemId"])
            ?? request["currentItemIndex"]?.int.flatMap { added.indices.contains($0) ? place + $0 : nil }
        if let target {
            go(to: target, from: request["currentTime"]?.double, asker, now)
        } else {
            replyAndPush(asker, at: now)
        }
    }

    mutating func update(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        if let mode = request["repeatMode"]?.string {
            guard Self.repeatModes.contains(mode) else { return refuse(asker, "INVALID_PARAMS") }
            repeatMode = mode
            dropPreloadIfStale()
        }
        var edited: [Int] = []
        for case let fields? in (request["items"]?.array ?? []).map(\.object) {
            guard let place = index(ofItem: fields["itemId"]) else { continue }
            items[place].fields.merge(
                fields.filter { $0.key != "itemId" && ($0.key != "media" || Self.isPlayable($0.value)) }
            ) {
                $1
            }
            edited.append(items[place].id)
        }
        if !edited.isEmpty {
            // What was preloaded may be another file now.
            if let preload, edited.contains(preload.item) { dropPreload() }
            changed("ITEMS_CHANGE", edited)
        }
        if let shuffled = request["shuffle"]?.bool {
            if shuffled { shuffle(keepingCurrent: true) }
            isShuffled = shuffled
            if shuffled {
                let ids = items.map(\.id)
                changed("UPDATE", ids, ["reorderItemIds": .array(ids.map { .integer($0) })])
            }
        }
        if let steps = request["jump"]?.int {
            jump(steps, asker, now)
        } else if let place = index(ofItem: request["currentItemId"]), place != currentIndex {
            go(to: place, from: request["currentTime"]?.double, asker, now)
        } else if request["currentTime"]?.double != nil {
            seek(request, asker, now)
        } else {
            reply(asker, at: now)
            pushStatus(at: now, withMedia: true)
        }
    }

    mutating func remove(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let asked = Set(request["itemIds"]?.array?.compactMap(\.int) ?? [])
        guard !asked.isEmpty else { return refuse(asker, "INVALID_PARAMS") }
        // Some may have been removed by somebody else.
        let ids = items.map(\.id).filter(asked.contains)
        let current = items[currentIndex].id
        let wanted = request["currentItemId"]?.int.flatMap { id in items.first { $0.id == id && !asked.contains(id) } }
        let following = wanted ?? items[currentIndex...].first { !asked.contains($0.id) }
        guard let next = following ?? (wraps ? items.first { !asked.contains($0.id) } : nil) else {
            changed("REMOVE", ids)
            return end(reason: "CANCELLED", at: now, answering: asker)
        }
        let isCurrentGone = asked.contains(current)
        items.removeAll { asked.contains($0.id) }
        let place = items.firstIndex { $0.id == (isCurrentGone || wanted != nil ? next.id : current) } ?? 0
        if !isCurrentGone { currentIndex = items.firstIndex { $0.id == current } ?? 0 } else { currentIndex = place }
        if !ids.isEmpty { changed("REMOVE", ids) }
        if isCurrentGone || place != currentIndex {
            go(to: place, from: request["currentTime"]?.double, asker, now)
        } else {
            replyAndPush(asker, at: now)
        }
    }

    mutating func reorder(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let ids = request["itemIds"]?.array?.compactMap(\.int) ?? []
        let moved = ids.compactMap { id in items.first { $0.id == id } }
        guard !moved.isEmpty, moved.count == ids.count, Set(ids).count == ids.count else {
            return refuse(asker, "INVALID_PARAMS")
        }
        let current = items[currentIndex].id
        items.removeAll { ids.contains($0.id) }
        let place = index(ofItem: request["insertBefore"])
        let before = place.map { items[$0].id }
        items.insert(contentsOf: moved, at: place ?? items.count)
        currentIndex = items.firstIndex { $0.id == current } ?? 0
        var fields: [String: JSONValue] = ["reorderItemIds": .array(ids.map { .integer($0) })]
        fields["insertBefore"] = before.map { .integer($0) }
        changed("UPDATE", items.map(\.id), fields)
        if let place = index(ofItem: request["currentItemId"]), place != currentIndex {
            go(to: place, from: request["currentTime"]?.double, asker, now)
        } else {
            replyAndPush(asker, at: now)
        }
    }
}
