import RouteModel

/// What befalls devices, files and processes, for the cases that need it.
public struct QueueSurroundings: Sendable {
    /// A file that says that it is sound, and is none.
    public var noise: String
    /// A file of a few seconds, which is heard to its end.
    public var shortTune: String
    /// The network drops every connection to the rooms' devices, without a word; new ones can be made at once.
    public var dropConnections: @Sendable () async throws -> Void
    /// The router's process is killed, and another begins over the same store.
    public var beginAnew: @Sendable () async throws -> any RouterControlling
    /// Another sender takes out of the device's own queue what comes next; nil where no device holds a queue that is ours.
    public var otherSenderRemovesNext: (@Sendable () async throws -> Void)?

    public init(
        noise: String, shortTune: String, dropConnections: @escaping @Sendable () async throws -> Void,
        beginAnew: @escaping @Sendable () async throws -> any RouterControlling,
        otherSenderRemovesNext: (@Sendable () async throws -> Void)?
    ) {
        self.noise = noise
        self.shortTune = shortTune
        self.dropConnections = dropConnections
        self.beginAnew = beginAnew
        self.otherSenderRemovesNext = otherSenderRemovesNext
    }
}

/// Cases in which time passes, and something happens. They need devices: on a clock that is turned by hand the engine's own
/// tests have them.
extension QueueConformance {
    private typealias Case = @Sendable (QueueConformance, SessionSnapshot, QueueSurroundings) async throws -> Void

    private static let persistence = "a process that is killed leaves the queue, its order and its place to the next"
    private static let adoption = "what another sender takes out of the device's queue is out of ours"

    private static let table: [(name: String, body: Case)] = [
        (
            "what comes next is looked into before it is its turn, and then follows by itself",
            { try await $0.preload($1, $2) }
        ),
        (
            "what does not play is tried again, passed over or stopped at, as the policy says",
            { try await $0.failures($1, $2) }
        ),
        ("a network that is lost is waited for, and is no item's failure", { try await $0.networkLoss($1, $2) }),
        (persistence, { try await $0.persistence($1, $2) }),
        (adoption, { try await $0.adopted($1, $2) }),
    ]

    /// The names of the cases that take surroundings.
    public static let casesInSurroundings = table.map(\.name)

    /// Runs one case; false where these surroundings have no meaning for it.
    public func run(_ name: String, in surroundings: QueueSurroundings) async throws -> Bool {
        guard let entry = Self.table.first(where: { $0.name == name }) else {
            throw ConformanceFailure("there is no case “\(name)”")
        }
        if name == Self.adoption, surroundings.otherSenderRemovesNext == nil { return false }
        // Of a process that is killed nothing can be asked any more.
        try await playing(ends: name != Self.persistence) { try await entry.body(self, $0, surroundings) }
        return true
    }

    // MARK: Cases

    private func preload(_ session: SessionSnapshot, _ around: QueueSurroundings) async throws {
        let tune = session.queue.items[1].id
        let added = try await edit(session, .playNext([around.shortTune, around.noise])).items
        let (short, noise) = (added[1].id, added[2].id)
        try await expect(session, .next, current: short)
        try await until("what cannot be played is known before its turn", session) { now in
            try check(now.queue.current == short, "it was its turn before that was known")
            return now.queue.items.first { $0.id == noise }?.failure != nil
        }
        try await until("the one after it follows by itself", session) { now in
            try check(now.media != .stopped, "it stopped")
            return now.queue.current == tune && now.media == .playing
        }
        let plays = try await router.history(limit: 10).filter { $0.session == session.id }
        try check(!plays.contains { $0.item.id == noise }, "the history says that it was heard")
        try check(
            plays.first { $0.item.id == short }?.reason == .finished,
            "the short one ended by \(String(describing: plays.first { $0.item.id == short }?.reason))")
    }

    private func failures(_ session: SessionSnapshot, _ around: QueueSurroundings) async throws {
        let ids = session.queue.items.map(\.id)
        for (policy, tune) in [(FailurePolicy.retry(1), ids[1]), (.skip, ids[2])] {
            _ = try await edit(session, .failurePolicy(policy))
            let events = await router.events()
            let noise = try await beginNoise(session, around)
            try await until("what comes after the noise plays, with \(policy)", session) { now in
                try check(now.connection != .ended, "with \(policy) it ended")
                return now.queue.current == tune && now.media == .playing
            }
            let failed = try await current(session).queue.items.first { $0.id == noise }
            try check(failed?.failure != nil, "the noise is not marked")
            let again = await wasTriedAgain(events, noise)
            try check(again == (policy == .retry(1)), "with \(policy) it was \(again ? "" : "not ")tried again")
        }
        _ = try await edit(session, .failurePolicy(.stop))
        _ = try await beginNoise(session, around)
        try await until("the session stops at it", session) { $0.connection == .ended || $0.connection == .failed }
        let now = try await current(session)
        try check(now.stopReason == .error && now.error != nil, "it stopped by \(String(describing: now.stopReason))")
        try check(now.queue.items.first { $0.id == ids[3] }?.failure == nil, "what was to come is marked as failed")
    }

    /// Goes on to what is no sound, and gives it.
    private func beginNoise(_ session: SessionSnapshot, _ around: QueueSurroundings) async throws -> ItemID {
        let queue = try await edit(session, .playNext([around.noise]))
        guard let place = queue.currentPlace else { throw ConformanceFailure("nothing is the current item") }
        let noise = queue.items[place + 1].id
        // How it ends is what the policy makes of it; where it was found out before its turn, it is not gone to at all.
        _ = try? await router.perform(.jump(noise), session: session.id, origin: .api)
        return noise
    }

    /// Whether people were told so before the item was given up.
    private func wasTriedAgain(_ events: AsyncStream<RouterEvent>, _ item: ItemID) async -> Bool {
        for await event in events {
            switch event.body {
            case .notice(let notice) where notice.message.contains("tried again"): return true
            case .session(let now) where now.queue.items.first(where: { $0.id == item })?.failure != nil: return false
            default: continue
            }
        }
        return false
    }

    private func networkLoss(_ session: SessionSnapshot, _ around: QueueSurroundings) async throws {
        try await until("it plays for a second", session) { ($0.position?.seconds ?? 0) >= 1 }
        let before = try await current(session)
        try await around.dropConnections()
        try await until("the loss is seen", session) { $0.members.contains { $0.connection != .connected } }
        try await until("every room is back", session) { now in
            try check(now.connection != .ended && now.connection != .failed, "the session ended")
            return now.media == .playing
                && now.members.allSatisfy { $0.connection == .connected && $0.media == .playing }
        }
        let after = try await current(session)
        try check(after.queue.current == before.queue.current, "another item plays")
        try check(after.queue.items.allSatisfy { $0.failure == nil }, "an item is marked as failed")
        try check(after.queue.version == before.queue.version, "the queue was changed")
        try check((after.position ?? .zero) >= (before.position ?? .zero) - MediaTime(seconds: 1), "it began anew")
    }

    private func persistence(_ session: SessionSnapshot, _ around: QueueSurroundings) async throws {
        let ids = session.queue.items.map(\.id)
        try await expect(session, .next, current: ids[1])
        _ = try await edit(session, .append([tunes[0], tunes[1]]))
        _ = try await router.perform(.shuffle(true), session: session.id, origin: .api)
        _ = try await router.perform(.repeatMode(.all), session: session.id, origin: .api)
        _ = try await router.perform(.seek(to: MediaTime(seconds: 20)), session: session.id, origin: .api)
        // The last half second before may be lost.
        try await until("it plays there for two seconds", session) { now in
            now.media == .playing && (21.5...40).contains(now.position?.seconds ?? 0)
        }
        let before = try await current(session)
        let clock = ContinuousClock()
        let killed = clock.now
        let next = try await around.beginAnew()
        let places = { (seconds: Double) in
            let position = before.position?.seconds ?? 0
            return (position - 1)...(position + seconds + (clock.now - killed) / .seconds(1))
        }
        guard let left = try await next.sessionsToRejoin().first(where: { $0.id == session.id }) else {
            throw ConformanceFailure("the next process knows of no session")
        }
        try checkSame(left.queue, before.queue)
        try check(places(1).contains(left.position.seconds), "it would go on at \(left.position.seconds) s")
        let other = QueueConformance(next, rooms: rooms, tunes: tunes)
        do {
            let after = try await next.rejoin(session.id)
            try check(after.id == session.id, "it is another session")
            try checkSame(after.queue, before.queue)
            try await other.until("it plays on", session) { $0.media == .playing && $0.anchor?.rate == 1 }
            let now = try await other.current(session)
            try checkSame(now.queue, before.queue)
            try check(places(1).contains(now.position?.seconds ?? 0), "it is at \(now.position?.seconds ?? 0) s")
        } catch {
            try? await next.end(session: session.id, reason: .stop)
            throw error
        }
        try await next.end(session: session.id, reason: .stop)
    }

    private func checkSame(_ now: QueueSnapshot, _ before: QueueSnapshot) throws {
        try check(now.items.map(\.id) == before.items.map(\.id), "the order is another")
        try check(now.items.map(\.source) == before.items.map(\.source), "the items are others")
        try check(now.original == before.original, "the order without shuffle is another")
        try check(now.current == before.current, "another item is the current one")
        try check(now.repeatMode == before.repeatMode, "it repeats otherwise")
    }

    private func adopted(_ session: SessionSnapshot, _ around: QueueSurroundings) async throws {
        let ids = session.queue.items.map(\.id)
        try await around.otherSenderRemovesNext?()
        try await until("what was taken out there is out of the queue", session) { now in
            now.queue.items.map(\.id) == [ids[0], ids[2], ids[3]]
        }
        let now = try await current(session)
        try check(now.queue.current == ids[0] && now.media == .playing, "what plays is another item")
        try check(now.queue.version > session.queue.version, "the version is the one before")
        try check(now.ownership == .ours, "the session is \(now.ownership.rawValue)")
        try await expect(session, .next, current: ids[2])
    }

    // MARK: -

    private func until(
        _ what: String, _ session: SessionSnapshot, _ condition: (SessionSnapshot) throws -> Bool
    ) async throws {
        let isSo = try await eventually(within: .seconds(40)) { try condition(try await current(session)) }
        guard !isSo else { return }
        let now = try await current(session)
        let members = now.members.map { "\($0.name) \($0.connection) \($0.media)" }.joined(separator: ", ")
        throw ConformanceFailure(
            "waited for: \(what); it is \(now.media) at \(now.position?.seconds ?? -1) s of "
                + "\(now.currentItem?.title ?? "nothing") (\(members))")
    }
}
