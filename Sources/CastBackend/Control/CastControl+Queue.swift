import CastV2
import RouteModel

// The device's queue (C10). Every edit names the state of the queue that it was made for, where the device counts its
// edits, so that two senders do not undo each other's work unseen.

extension CastControl {
    static func name(_ mode: CastRepeatMode) -> String {
        switch mode {
        case .off: "off"
        case .all: "all"
        case .single: "single"
        case .allAndShuffle: "allAndShuffle"
        }
    }

    /// The whole queue, item by item. Throws `unavailable` where nothing with a queue is loaded.
    public func queue() async throws -> CastMediaReport.Queue {
        let items = try await wholeQueue()
        let mirror = await session.current.media.queue
        guard var report = CastMediaReport.Queue(mirror, nil) else { throw noQueue() }
        report.items = items.enumerated().compactMap { index, item in
            item.itemID.map { CastMediaReport.Item(item, id: $0, index: index, mirror) }
        }
        report.count = items.count
        return report
    }

    /// Every item, asked for where it is not known. More than the mirror keeps, which is why it is read from the
    /// answers.
    func wholeQueue() async throws -> [CastQueueItem] {
        let status = try await loaded()
        try await completeQueue(radius: 0)
        let mirror = await session.current.media.queue
        guard mirror.exists else { throw noQueue() }
        let order = mirror.itemIDs ?? mirror.window
        var known = mirror.items
        var missing = order.filter { known[$0]?.media == nil }
        while !missing.isEmpty {
            let part = Array(missing.prefix(CastQueueMirror.askedAtOnce))
            missing.removeFirst(part.count)
            let request = CastMediaRequest.queueGetItems(mediaSessionID: status.mediaSessionID, itemIDs: part)
            guard case .queueItems(let told) = try await ask(request, doing: "reading the queue") else { continue }
            for item in told { if let id = item.itemID { known[id] = item } }
        }
        return order.map { known[$0] ?? CastQueueItem(itemID: $0) }
    }

    /// Asks until the order is known, and the items about the current one. Devices without answers are left in peace.
    func completeQueue(radius: Int) async throws {
        // Each question is answered by what it asks for; a device that answers past it is not asked for ever.
        for _ in 0..<4 {
            let state = await session.current
            guard let id = state.media.currentID, let question = state.media.queue.question(radius: radius) else {
                return
            }
            let result: CastRequestResult
            switch question {
            case .itemIDs: result = await session.media(.queueGetItemIDs(mediaSessionID: id)).result()
            case .items(let ids):
                result = await session.media(.queueGetItems(mediaSessionID: id, itemIDs: ids)).result()
            }
            switch result {
            case .completed: continue
            case .failed(.invalidRequest), .failed(.timedOut), .failed(.invalidPlayerState): return
            default: _ = try reply(result, doing: "reading the queue")
            }
        }
    }

    private func noQueue() -> RouterError {
        RouterError(
            .unsupported, "what plays on \(errors.name) has no queue",
            hint: "Load several things at once: router cast queue \(endpoint.words) load URL URL", scope: .command)
    }

    private func edit(_ doing: String, _ request: (Int, CastQueuePlace) -> CastMediaRequest) async throws {
        let status = try await loaded()
        // Also where the last edit was ours: only the device knows its number.
        try await completeQueue(radius: 0)
        let mirror = await session.current.media.queue
        let place = CastQueuePlace(sequenceNumber: mirror.sequenceNumber)
        let result = await session.media(request(status.mediaSessionID, place)).result()
        if case .failed(.invalidRequest(let reason)) = result, place.sequenceNumber != nil,
            reason.map({ CastRefusal(rawValue: $0).kind == .malformed }) ?? true
        {
            throw RouterError(
                .queueConflict, "the queue of \(errors.name) has been edited meanwhile (\(doing))",
                hint: "Look at it again: router cast queue \(endpoint.words) list", scope: .command, retry: .now)
        }
        _ = try reply(result, doing: doing)
    }

    /// A whole queue in place of what is loaded.
    public func loadQueue(
        _ items: [CastLoadItem], startIndex: Int = 0, position: Double = 0, repeatMode: String? = nil,
        appID: String? = nil
    ) async throws {
        let mode = try repeatMode.map(Self.repeatMode)
        guard !items.isEmpty, items.indices.contains(startIndex) else {
            throw RouterError(
                .configuration, "there is no item \(startIndex) in a queue of \(items.count)",
                hint: "Begin with one that there is, from 0", scope: .command)
        }
        let queue = CastQueueLoad(
            items: try items.map { try $0.queueItem() }, startIndex: startIndex,
            currentTime: position > 0 ? position : nil, repeatMode: mode)
        try await load(.queueLoad(queue), appID: appID)
    }

    /// `before` is an item's id; nil: at the end. `play`: begin with the first of them at once.
    public func insert(_ items: [CastLoadItem], before: Int? = nil, play: Bool = false) async throws {
        let new = try items.map { try $0.queueItem() }
        if let before { try await check([before]) }
        try await edit("inserting") { id, place in
            .queueInsert(
                mediaSessionID: id,
                CastQueueInsertion(
                    items: new, insertBefore: before, currentItemIndex: play ? 0 : nil, place: place))
        }
    }

    /// Throws `mediaNotFound` for an id that the queue has not.
    public func remove(_ itemIDs: [Int]) async throws {
        try await check(itemIDs)
        try await edit("removing") { .queueRemove(mediaSessionID: $0, itemIDs: itemIDs, $1) }
    }

    /// `before` is an item's id; nil: to the end.
    public func move(_ itemIDs: [Int], before: Int?) async throws {
        try await check(itemIDs + (before.map { [$0] } ?? []))
        guard before.map({ !itemIDs.contains($0) }) ?? true else {
            throw RouterError(
                .configuration, "an item cannot be moved before itself", hint: "Name another", scope: .command)
        }
        try await edit("moving") {
            .queueReorder(mediaSessionID: $0, itemIDs: itemIDs, insertBefore: before, $1)
        }
    }

    /// Plays that item now.
    public func jump(to itemID: Int) async throws {
        try await check([itemID])
        let status = try await loaded()
        let place = CastQueuePlace(currentItemID: itemID)
        try await ask(
            .queueUpdate(mediaSessionID: status.mediaSessionID, CastQueueUpdate(place: place)), doing: "jumping")
    }

    /// `count` items on, or back. Past an end, the queue's own repeat rule decides.
    public func skip(_ count: Int) async throws {
        let status = try await loaded()
        let id = status.mediaSessionID
        switch await session.media(.queueUpdate(mediaSessionID: id, CastQueueUpdate(jump: count))).result() {
        // Receivers from before there were jumps.
        case .failed(.invalidRequest(let reason))
        where abs(count) == 1 && reason.map({ CastRefusal(rawValue: $0).kind == .unsupported }) ?? true:
            try await ask(
                count > 0 ? .queueNext(mediaSessionID: id) : .queuePrevious(mediaSessionID: id), doing: "skipping")
        case let result: _ = try reply(result, doing: "skipping")
        }
    }

    public func setShuffle(_ on: Bool) async throws {
        try await edit("shuffling") { .queueUpdate(mediaSessionID: $0, CastQueueUpdate(shuffle: on, place: $1)) }
    }

    /// off, all, single or allAndShuffle.
    public func setRepeat(_ mode: String) async throws {
        let mode = try Self.repeatMode(mode)
        try await edit("repeating") { .queueUpdate(mediaSessionID: $0, CastQueueUpdate(repeatMode: mode, place: $1)) }
    }

    /// Edits one item in place: seconds into it at which it begins, and before the end of the last at which it is
    /// fetched.
    public func update(item itemID: Int, startTime: Double? = nil, preloadTime: Double? = nil, autoplay: Bool? = nil)
        async throws
    {
        try await check([itemID])
        let items = try await wholeQueue()
        guard var item = items.first(where: { $0.itemID == itemID }) else {
            throw notThere(itemID, items.compactMap(\.itemID))
        }
        item.startTime = startTime ?? item.startTime
        item.preloadTime = preloadTime ?? item.preloadTime
        item.autoplay = autoplay ?? item.autoplay
        let edited = item
        try await edit("editing") { .queueUpdate(mediaSessionID: $0, CastQueueUpdate(items: [edited], place: $1)) }
    }

    private func check(_ itemIDs: [Int]) async throws {
        _ = try await loaded()
        try await completeQueue(radius: 0)
        let mirror = await session.current.media.queue
        guard mirror.exists else { throw noQueue() }
        guard let order = mirror.itemIDs, !mirror.isPartial else { return }
        if let missing = itemIDs.first(where: { !order.contains($0) }) { throw notThere(missing, order) }
    }

    private func notThere(_ itemID: Int, _ order: [Int]) -> RouterError {
        RouterError(
            .mediaNotFound, "there is no item \(itemID) in the queue of \(errors.name)",
            hint: "See the ids: router cast queue \(endpoint.words) list", scope: .command,
            candidates: order.prefix(20).map(String.init))
    }

    static func repeatMode(_ words: String) throws -> CastRepeatMode {
        let names = CastRepeatMode.allCases.map { (name($0).lowercased(), $0) }
        let wanted = words.lowercased().replacing("-", with: "").replacing("_", with: "")
        if let mode = names.first(where: { $0.0 == wanted || "repeat" + $0.0 == wanted })?.1 { return mode }
        throw RouterError(
            .configuration, "“\(words)” is no way to repeat", hint: "Use off, all, single or allAndShuffle",
            scope: .command)
    }
}
