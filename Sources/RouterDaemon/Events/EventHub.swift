import Logging
import NIOCore
import RouteModel
import RouterAPI

/// Numbers what happens in one bounded log, and hands it to any number of readers.
///
/// An event is encoded once for all of them, and not before there is one. A reader has a place in the log and nothing
/// else: it is woken, and takes what it has not had. One that has fallen behind the log gets the full state in its place.
actor EventHub {
    private enum Content {
        case event(APIEvent)
        case frame(ByteBuffer)
        case gone
    }

    private struct Entry {
        var sequence: Int
        var topic: EventTopic?
        /// What it is about; nil is all.
        var routes: Set<RouteID>?
        /// The session whose state it changes.
        var session: SessionID?
        /// The routes of that session before; nil where nothing was known of it.
        var before: Set<RouteID>?
        var content: Content
        /// Of the frame; about as many where there is none yet.
        var bytes: Int
    }

    private struct Reader {
        /// The last event that it has had.
        var sequence: Int
        var needsSnapshot: Bool
        var topics: Set<EventTopic>
        var routes: Set<RouteID>
        var wakes: AsyncStream<Void>.Continuation
        /// When it was woken and has not come since.
        var wokenAt: Int64?
        var needsSign = false
        /// Sessions of which it was not told everything, for they were not on its routes.
        var stale: Set<SessionID> = []
        var close: @Sendable () -> Void

        func wants(_ topic: EventTopic?, _ about: Set<RouteID>?) -> Bool {
            guard let topic else { return true }
            guard topics.contains(topic) || (topics.isEmpty && topic != .logs) else { return false }
            guard !routes.isEmpty, let about else { return true }
            return !routes.isDisjoint(with: about)
        }
    }

    /// A reader's own end of the hub.
    struct Subscription: Sendable {
        let id: Int
        /// Something is to be taken; finishes when the stream is over.
        let wakes: AsyncStream<Void>
        /// Ends the waiting from outside.
        let stop: @Sendable () -> Void
    }

    private let limits: ServiceLimits
    private let logger: Logger
    private let now: @Sendable () -> Int64
    private var log: [Entry] = []
    /// Entries before this are gone already.
    private var first = 0
    private var bytes = 0
    private var sequence: Int
    private var deriver = EventDeriver()
    private var isReady = false
    private var isOver = false
    private var readers: [Int: Reader] = [:]
    private var nextReader = 0
    private var cached: (sequence: Int, instant: Int64, frame: ByteBuffer)?

    /// What a reader takes at a time, at least one event.
    private static let batch = 256 << 10
    /// For how long a state that was written out is given to others who come.
    private static let freshNanoseconds: Int64 = 100_000_000
    private static let sign = ByteBuffer(string: ":\n\n")

    /// - Parameters:
    ///   - base: the number before the first event: larger than any of a daemon before this one.
    ///   - now: nanoseconds of a monotonic clock.
    init(limits: ServiceLimits, base: Int, logger: Logger, now: @escaping @Sendable () -> Int64) {
        self.limits = limits
        self.logger = logger
        self.now = now
        sequence = base
    }

    var readerCount: Int { readers.count }
    var lastSequence: Int { sequence }
    var state: StateSnapshot { deriver.snapshot }

    // MARK: What happens

    /// Follows the router until its events end.
    func follow(_ router: any RouterControlling) async {
        var goesOn = true
        while goesOn, !isOver {
            goesOn = false
            var last: Int?
            for await event in await router.events() {
                // Some were lost on the way here: what they did is in a new snapshot.
                if let last, event.sequence > last + 1 {
                    goesOn = true
                    break
                }
                last = event.sequence
                take(event.body)
                write(event.body)
                if case .snapshot = event.body { await tellRooms(of: router) }
            }
        }
    }

    /// Into the log, for who looks for what went wrong before anybody read events.
    private func write(_ body: RouterEvent.Body) {
        switch body {
        case .notice(let notice):
            let level: Logger.Level =
                switch notice.severity {
                case .info: .info
                case .warning: .warning
                case .error: .error
                }
            logger.log(level: level, "\(notice.message)")
        case .command(let report):
            logger.debug(
                "command",
                metadata: [
                    "session": "\(report.session)", "origin": "\(report.origin)", "command": "\(report.command)",
                    "outcome": "\(report.outcome)",
                ])
        default: break
        }
    }

    /// The engine's snapshot is of devices and sessions only.
    private func tellRooms(of router: any RouterControlling) async {
        guard let rooms = try? await router.rooms(settle: false), let groups = try? await router.groups() else {
            return
        }
        take(.rooms(rooms, groups: groups))
    }

    /// Hands on what is logged to those who ask for it, until that ends.
    func follow(_ lines: AsyncStream<LogLine>) async {
        for await line in lines where readers.values.contains(where: { $0.topics.contains(.logs) }) {
            append(.log(line), before: nil)
        }
    }

    /// Follows the scenes until their updates end.
    func follow(_ scenes: any SceneControlling) async {
        for await run in await scenes.sceneUpdates() { take(.scene(run)) }
    }

    func take(_ body: RouterEvent.Body) {
        // Those on a route that a session has left want to know it, too.
        let before: Set<RouteID>? =
            if case .session(let session) = body { deriver.routes(of: session.id) } else { nil }
        guard let event = deriver.derive(body) else { return }
        append(event, before: before)
    }

    private func append(_ event: APIEvent, before: Set<RouteID>?) {
        sequence += 1
        cached = nil
        isReady = true
        let size = event.likelyBytes
        log.append(
            Entry(
                sequence: sequence, topic: event.topic, routes: routes(of: event).map { $0.union(before ?? []) },
                session: session(of: event), before: before, content: .event(event), bytes: size))
        bytes += size
        if !readers.isEmpty { _ = frame(at: log.count - 1) }
        while log.count - first > limits.keptEvents || (bytes > limits.keptEventBytes && log.count - first > 1) {
            drop(1)
        }
        if first > limits.keptEvents {
            log.removeFirst(first)
            first = 0
        }
        wakeAll()
    }

    /// An event as it goes to readers; nil where it cannot be encoded, or is not kept any more.
    private func frame(at index: Int) -> ByteBuffer? {
        switch log[index].content {
        case .frame(let frame): return frame
        case .gone: return nil
        case .event(let event):
            do {
                let frame = ByteBuffer(bytes: try event.frame(sequence: log[index].sequence))
                log[index].content = .frame(frame)
                bytes += frame.readableBytes - log[index].bytes
                log[index].bytes = frame.readableBytes
                return frame
            } catch {
                logger.error("an event could not be encoded: \(event.name): \(error)")
                // Readers must not miss what it said: their place is before the log now.
                drop(index - first + 1)
                return nil
            }
        }
    }

    /// The routes that it is about; nil where it is about none in particular, and every reader may want it.
    private func routes(of event: APIEvent) -> Set<RouteID>? {
        switch event {
        case .routeChanged(let change): Set(change.changed.map(\.id) + change.removed)
        case .sessionChanged(let change): deriver.routes(of: change.session.id)
        case .queueChanged(let update): deriver.routes(of: update.session.id)
        case .volumeChanged(let change): deriver.routes(of: change.session)
        case .positionAnchor(let change): deriver.routes(of: change.session)
        case .commandResult(let report): deriver.routes(of: report.session)
        case .notice(let notice): notice.route.map { [$0] }
        case .snapshot, .roomsChanged, .sceneStep, .pairingPrompt, .phase, .log: nil
        }
    }

    private func session(of event: APIEvent) -> SessionID? {
        switch event {
        case .sessionChanged(let change): change.session.id
        case .queueChanged(let update): update.session.id
        case .volumeChanged(let change): change.session
        case .positionAnchor(let change): change.session
        default: nil
        }
    }

    private func drop(_ count: Int) {
        for index in first..<(first + count) {
            bytes -= log[index].bytes
            log[index].content = .gone
            log[index].bytes = 0
        }
        first += count
    }

    private func wakeAll() {
        let instant = now()
        // One that was woken, and has not come since, will find this too.
        for (id, reader) in readers where reader.wokenAt == nil {
            readers[id]?.wokenAt = instant
            reader.wakes.yield(())
        }
    }

    // MARK: Readers

    /// Nil where there are too many readers.
    ///
    /// - Parameters:
    ///   - last: goes on after this event, where it is still known.
    ///   - topics: empty is all.
    ///   - routes: empty is all.
    ///   - close: ends the connection of a reader that takes nothing.
    func subscribe(
        after last: Int?, topics: Set<EventTopic> = [], routes: Set<RouteID> = [],
        close: @escaping @Sendable () -> Void = {}
    ) -> Subscription? {
        guard !isOver, readers.count < limits.eventReaders else { return nil }
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        nextReader += 1
        let known = last.map {
            $0 <= sequence && $0 >= (log.indices.contains(first) ? log[first].sequence - 1 : sequence)
        }
        readers[nextReader] = Reader(
            sequence: last ?? 0, needsSnapshot: known != true, topics: topics, routes: routes, wakes: continuation,
            stale: known == true ? sessions(notOn: routes, asOf: last ?? 0) : [], close: close)
        continuation.yield(())
        return Subscription(id: nextReader, wakes: wakes, stop: { continuation.finish() })
    }

    /// The sessions that were on none of these routes at that event: who followed these was told nothing of them.
    private func sessions(notOn routes: Set<RouteID>, asOf last: Int) -> Set<SessionID> {
        guard !routes.isEmpty else { return [] }
        var elsewhere = deriver.sessions(notOn: routes)
        var seen: Set<SessionID> = []
        for entry in log[first...] where entry.sequence > last {
            guard let session = entry.session, seen.insert(session).inserted else { continue }
            // What begins later is told whole.
            if let before = entry.before, before.isDisjoint(with: routes) {
                elsewhere.insert(session)
            } else {
                elsewhere.remove(session)
            }
        }
        return elsewhere
    }

    func unsubscribe(_ id: Int) { readers.removeValue(forKey: id)?.wakes.finish() }

    /// What a reader has not had yet, and whether that is all for now; nil when it is nothing.
    func take(for id: Int) -> (batch: ByteBuffer, isAll: Bool)? {
        guard let batch = next(id) else { return nil }
        return (batch, readers[id].map { $0.sequence == sequence && !$0.needsSnapshot } ?? false)
    }

    /// What a reader has not had yet; nil when that is nothing.
    func next(_ id: Int) -> ByteBuffer? {
        readers[id]?.wokenAt = nil
        guard var reader = readers[id], isReady else { return nil }
        defer { readers[id] = reader }
        let oldest = log.indices.contains(first) ? log[first].sequence : sequence + 1
        if reader.needsSnapshot || reader.sequence < oldest - 1 {
            guard let frame = snapshotFrame() else { return nil }
            reader.needsSnapshot = false
            reader.stale = []
            reader.needsSign = false
            reader.sequence = sequence
            return frame
        }
        var batch: ByteBuffer?
        var index = first + (reader.sequence + 1 - oldest)
        while index < log.count, (batch?.readableBytes ?? 0) < Self.batch {
            let entry = log[index]
            let isWanted = reader.wants(entry.topic, entry.routes)
            if isWanted, let session = entry.session, reader.stale.contains(session) {
                // What is new of it fits to nothing that this reader has: the whole comes in its place.
                reader.needsSnapshot = true
                reader.wakes.yield(())
                break
            }
            if !isWanted, let session = entry.session { reader.stale.insert(session) }
            if isWanted {
                guard let frame = frame(at: index) else {
                    reader.needsSnapshot = true
                    reader.wakes.yield(())
                    break
                }
                if batch == nil { batch = frame } else { batch?.writeImmutableBuffer(frame) }
            }
            reader.sequence = entry.sequence
            index += 1
        }
        if batch == nil, reader.needsSnapshot {
            guard let frame = snapshotFrame() else { return nil }
            reader.needsSnapshot = false
            reader.stale = []
            reader.needsSign = false
            reader.sequence = sequence
            return frame
        }
        if batch == nil, reader.needsSign { batch = Self.sign }
        reader.needsSign = false
        return batch
    }

    private func snapshotFrame() -> ByteBuffer? {
        let instant = now()
        if let cached, cached.sequence == sequence, instant - cached.instant < Self.freshNanoseconds {
            return cached.frame
        }
        do {
            // What plays undisturbed has told nothing for long: positions are of now, and not of then.
            var state = deriver.snapshot
            if !state.sessions.isEmpty { state.now = instant }
            for index in state.sessions.indices { state.sessions[index].now = instant }
            let frame = ByteBuffer(bytes: try APIEvent.snapshot(state).frame(sequence: sequence))
            cached = (sequence, instant, frame)
            return frame
        } catch {
            logger.error("the state could not be encoded: \(error)")
            return nil
        }
    }

    /// Gives every reader a sign of life, and lets those go that have taken nothing for too long.
    func beat() {
        let instant = now()
        for (id, reader) in readers {
            if let woken = reader.wokenAt, instant - woken > limits.stallSeconds * 1_000_000_000 {
                logger.notice("a reader of events took nothing for \(limits.stallSeconds) s and was let go")
                unsubscribe(id)
                reader.close()
                continue
            }
            readers[id]?.needsSign = true
            if reader.wokenAt == nil { readers[id]?.wokenAt = instant }
            reader.wakes.yield(())
        }
    }

    /// Ends every stream after what it has not had yet.
    func finish() {
        isOver = true
        for reader in readers.values { reader.wakes.finish() }
    }
}

extension APIEvent {
    /// About as many bytes as it takes when encoded: what is kept is bounded by that.
    fileprivate var likelyBytes: Int {
        let items: Int =
            switch self {
            case .snapshot(let state): state.sessions.reduce(0) { $0 + $1.queue.items.count }
            case .sessionChanged(let change): change.queue?.items.count ?? 0
            case .queueChanged(let update):
                update.changes.changes.reduce(update.changes.whole?.items.count ?? 0) { $0 + Self.count($1) }
            default: 0
            }
        return Self.likelyBytes + items * Self.likelyBytesOfItem
    }

    private static let likelyBytes = 1000
    private static let likelyBytesOfItem = 250

    private static func count(_ change: QueueChange) -> Int {
        switch change {
        case .insert(let items, _): items.count
        case .remove(let ids), .order(let ids), .move(let ids, _): ids.count
        case .original(let ids): ids?.count ?? 0
        case .update, .current, .repeatMode, .shuffleSeed, .failurePolicy: 1
        }
    }
}
