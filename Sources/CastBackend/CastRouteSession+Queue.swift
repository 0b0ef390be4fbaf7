import CastV2
import RouteBackend
import RouteModel

/// The device's own queue (C10; `Protocols/cast` section 17): what comes next is inserted into it, so that the device
/// preloads and goes on by itself, and what other senders make of it is read back.
extension CastRouteSession {
    /// Seconds before the end of an item at which the device fetches the next.
    private static let preloadTime = 20.0

    func setUpcoming(_ items: [PullMedia]) async throws {
        defer { callReturned() }
        guard let id = loaded?.mediaSessionID, let status = state.media[id], !status.hasEnded else {
            // There is no queue any more to follow on from: what comes next is loaded.
            return
        }
        for item in items { tokens.add(item) }
        try await knowQueue()
        guard let there = state.upcoming(tokens) else { throw unknownQueue }
        // Where it has gone on meanwhile, what it plays and what was before that is no longer to come.
        let passed = there.first.flatMap { current in items.firstIndex { $0.token == current.token } }
        let wanted = passed.map { Array(items[($0 + 1)...]) } ?? items
        let wantedTokens = wanted.map(\.token)
        let held = there.dropFirst()
        let superfluous = held.filter { !wantedTokens.contains($0.token) }.map(\.id)
        if !superfluous.isEmpty {
            try await edit(.queueRemove(mediaSessionID: id, itemIDs: superfluous, place))
        }
        let heldTokens = held.map(\.token)
        let missing = wanted.filter { !heldTokens.contains($0.token) }
        if !missing.isEmpty {
            let insertion = CastQueueInsertion(items: missing.map(queueItem), place: place)
            try await edit(.queueInsert(mediaSessionID: id, insertion))
        }
        // New ones are at the end: where they belong between others, all are put in order.
        let now = heldTokens.filter { wantedTokens.contains($0) } + missing.map(\.token)
        guard now != wantedTokens, let ids = order(of: wantedTokens) else { return }
        try await edit(.queueReorder(mediaSessionID: id, itemIDs: ids, insertBefore: nil, place))
    }

    private var place: CastQueuePlace { CastQueuePlace(sequenceNumber: state.media.queue.sequenceNumber) }

    private func order(of wanted: [MediaToken]) -> [Int]? {
        let there = state.upcoming(tokens)?.dropFirst() ?? []
        let ids = wanted.compactMap { token in there.first { $0.token == token }?.id }
        return ids.count == wanted.count ? ids : nil
    }

    private func queueItem(_ media: PullMedia) -> CastQueueItem {
        let load = CastLoad(media, autoplay: true, choosing: images)
        return CastQueueItem(
            media: load.media, autoplay: true, startTime: media.start > .zero ? media.start.seconds : nil,
            preloadTime: Self.preloadTime, activeTrackIDs: load.activeTrackIDs)
    }

    private func edit(_ request: CastMediaRequest) async throws {
        switch try outcome(of: await session.media(request).result(), doing: "handing over the queue") {
        case .succeeded: break
        case .failed(let error):
            // Another sender's edit came first: what it made of the queue is read, and ours is for the engine to make
            // anew.
            throw state.media.queue.sequenceNumber == nil ? error : conflict
        default: throw conflict
        }
        take(await session.current)
        try await knowQueue()
    }

    private var conflict: RouterError {
        RouterError(
            .commandSuperseded, "another sender has edited the queue of \(errors.name) meanwhile", scope: .command,
            retry: .now)
    }

    /// Of a queue that the device has not told of: it may do so later, or never.
    private var unknownQueue: RouterError {
        if state.media.queue.isPartial || silences > 1 {
            return RouterError(
                .unsupported, "it does not tell what it holds", hint: "Items are loaded one by one", scope: .command)
        }
        return RouterError(
            .timeout, "\(errors.name) has not told what it holds yet", hint: "Items are loaded one by one",
            scope: .command, retry: .later)
    }

    /// How long a call waits for the device to tell of its queue, in nanoseconds: commands wait behind it. What it tells
    /// later is news like any other.
    private static let patience: Int64 = 500_000_000

    /// Asks until the order and the items from the current one on are known. A device that does not answer such
    /// questions is left in peace.
    func knowQueue() async throws {
        take(await session.current)
        guard state.upcoming(tokens) == nil else {
            silences = 0
            return
        }
        lastQuestion = nil
        let states = await session.states()
        let clock = clock
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.watchQueue(states) }
            group.addTask { try? await clock.sleep(nanoseconds: Self.patience) }
            await group.next()
            group.cancelAll()
        }
        take(await session.current)
        if case .closed(let reason) = state.connection { throw ending ? cancelled() : errors.lost(reason) }
        if ending { throw cancelled() }
        silences = state.upcoming(tokens) == nil ? silences + 1 : 0
    }

    private func watchQueue(_ states: AsyncStream<CastSessionState>) async {
        for await state in states {
            take(state)
            guard self.state.upcoming(tokens) == nil, !ending, let id = self.state.media.currentID else { return }
            let question = self.state.media.queue.question(radius: CastTokens.windowLimit)
            // Nothing to ask, and not known: it has refused to say.
            if question == nil, self.state.media.queue.isPartial { return }
            await ask(question, id)
        }
    }

    /// Asked once: a device that gives no answer is not asked at each of its statuses.
    private func ask(_ question: CastQueueMirror.Question?, _ id: Int) async {
        guard question != lastQuestion else { return }
        lastQuestion = question
        if let question { _ = await session.media(Self.request(question, id)) }
    }

    static func request(_ question: CastQueueMirror.Question, _ id: Int) -> CastMediaRequest {
        switch question {
        case .itemIDs: .queueGetItemIDs(mediaSessionID: id)
        case .items(let ids): .queueGetItems(mediaSessionID: id, itemIDs: ids)
        }
    }

    /// After another sender's edit, what is not known of the queue is asked for; the answer is news like any other.
    func askQueue() async {
        guard let loaded, loaded.started, let id = loaded.mediaSessionID, state.media.currentID == id,
            state.media[id]?.hasEnded == false, descriptor.capabilities.has(.queueOnDevice)
        else { return }
        await ask(state.media.queue.question(radius: CastTokens.windowLimit), id)
    }

    /// What the device is found to play when its session is joined again.
    func takeUp() async {
        _ = await session.media(.getStatus).result()
        take(await session.current)
        guard let status = state.media.current, !status.hasEnded, status.playerState != .idle,
            let media = status.media
        else { return }
        let token = tokens.token(of: media)
        guard token != nil || status.currentItemID != nil else { return }
        loaded = CastLoaded(
            token: token ?? MediaToken(rawValue: ""), url: media.contentID, before: nil,
            mediaSessionID: status.mediaSessionID, answered: true, started: true)
        try? await knowQueue()
        take(await session.current)
        // Neither ours nor an item of a queue: it stays somebody else's.
        if loaded?.token.rawValue.isEmpty == true { loaded = nil }
        publish()
    }
}
