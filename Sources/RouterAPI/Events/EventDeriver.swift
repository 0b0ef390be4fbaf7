import RouteModel

/// Turns what the engine tells, which is always whole, into what has changed. A pure value: the server's side of
/// `EventReplay`.
public struct EventDeriver: Sendable {
    private var routes = RouteList(routes: [], discovery: [])
    private var sessions: [SessionID: SessionSnapshot] = [:]
    /// In the order that they were last told of.
    private var order: [SessionID] = []
    private var rooms: RoomsChange?
    /// Oldest first.
    private var scenes: [SceneRun] = []
    private var pairings: [PairingProgress] = []

    /// Sessions that have ended are known for as long as they are among the last of so many.
    private static let maximumSessions = 64
    /// So many runs of scenes, of which those that are over go first.
    private static let maximumScenes = 32

    public init() {}

    /// The state as of the last event.
    public var snapshot: StateSnapshot {
        let known = order.compactMap { sessions[$0] }.sorted { $0.id < $1.id }
        return StateSnapshot(
            routes: routes, sessions: known, rooms: rooms, scenes: scenes, pairings: pairings,
            now: known.map(\.now).max())
    }

    /// The routes that a session plays by; nil for one that is not known.
    public func routes(of session: SessionID) -> Set<RouteID>? {
        sessions[session].map { Set($0.members.map(\.route)) }
    }

    /// The sessions that play by none of these.
    public func sessions(notOn routes: Set<RouteID>) -> Set<SessionID> {
        Set(sessions.values.filter { $0.members.allSatisfy { !routes.contains($0.route) } }.map(\.id))
    }

    /// Nil where a reader would see nothing new.
    public mutating func derive(_ body: RouterEvent.Body) -> APIEvent? {
        switch body {
        case .snapshot(let routes, let sessions):
            self.routes = routes
            self.sessions = [:]
            order = []
            for session in sessions { keep(session) }
            return .snapshot(snapshot)
        case .routes(let new): return change(to: new).map { .routeChanged($0) }
        case .session(let session): return change(to: session)
        case .notice(let notice): return .notice(notice)
        case .command(let report): return .commandResult(report)
        case .phase(let phase): return .phase(PhaseStep(phase: phase))
        case .rooms(let rooms, let groups):
            let new = RoomsChange(rooms: rooms, groups: groups)
            guard new != self.rooms else { return nil }
            self.rooms = new
            return .roomsChanged(new)
        case .scene(let run):
            keep(run)
            return .sceneStep(run)
        case .pairing(let progress):
            pairings.removeAll { $0.id == progress.id }
            if progress.state == .waiting { pairings.append(progress) }
            return .pairingPrompt(progress)
        }
    }

    private mutating func keep(_ run: SceneRun) {
        if let place = scenes.firstIndex(where: { $0.id == run.id }) {
            scenes[place] = run
        } else {
            scenes.append(run)
        }
        while scenes.count > Self.maximumScenes, let over = scenes.firstIndex(where: { $0.state != .running }) {
            scenes.remove(at: over)
        }
    }

    private mutating func keep(_ session: SessionSnapshot) {
        if sessions.updateValue(session, forKey: session.id) == nil { order.append(session.id) }
        while order.count > Self.maximumSessions,
            let over = order.firstIndex(where: { sessions[$0].map { $0.isOver } ?? true })
        {
            sessions[order.remove(at: over)] = nil
        }
    }

    private mutating func change(to new: RouteList) -> RouteChange? {
        let old = routes
        routes = new
        let before = Dictionary(old.routes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let ids = Set(new.routes.map(\.id))
        let change = RouteChange(
            changed: new.routes.filter { before[$0.id] != $0 },
            removed: old.routes.map(\.id).filter { !ids.contains($0) },
            order: new.routes.map(\.id) == old.routes.map(\.id) ? nil : new.routes.map(\.id),
            discovery: new.discovery == old.discovery ? nil : new.discovery)
        let isEmpty =
            change.changed.isEmpty && change.removed.isEmpty && change.order == nil && change.discovery == nil
        return isEmpty ? nil : change
    }

    private mutating func change(to new: SessionSnapshot) -> APIEvent? {
        guard let old = sessions[new.id] else {
            keep(new)
            return .sessionChanged(SessionChange(session: SessionState(new), queue: new.queue))
        }
        sessions[new.id] = new
        let state = SessionState(new)
        if let changes = QueueDifference.changes(from: old.queue, to: new.queue, session: new.id) {
            return .queueChanged(QueueUpdate(changes: changes, session: state))
        }
        var before = SessionState(old)
        before.now = state.now
        guard before != state else { return nil }
        var quiet = before
        quiet.anchor = state.anchor
        if quiet == state { return .positionAnchor(AnchorChange(session: new.id, anchor: new.anchor, now: new.now)) }
        quiet = before
        quiet.volume = state.volume
        if quiet.members.map(\.route) == state.members.map(\.route) {
            for index in quiet.members.indices {
                quiet.members[index].takeVolumes(VolumeChange.Member(state.members[index]))
            }
        }
        if quiet == state { return .volumeChanged(VolumeChange(new)) }
        return .sessionChanged(SessionChange(session: state))
    }
}

extension SessionSnapshot {
    var isOver: Bool { connection == .ended || connection == .failed }
}

extension SessionMember {
    mutating func takeVolumes(_ other: VolumeChange.Member) {
        volume = other.volume
        streamVolume = other.streamVolume
        trim = other.trim
        volumeLimit = other.volumeLimit
    }
}

/// How a queue came from one state to another, as few steps.
enum QueueDifference {
    /// Nil where they are the same.
    static func changes(from old: QueueSnapshot, to new: QueueSnapshot, session: SessionID) -> QueueChanges? {
        guard old != new else { return nil }
        var changes = itemChanges(old.items, new.items)
        if old.current != new.current { changes.append(.current(new.current)) }
        if old.repeatMode != new.repeatMode { changes.append(.repeatMode(new.repeatMode)) }
        if !new.hasSameOriginal(as: old) { changes.append(.original(new.original)) }
        if old.shuffleSeed != new.shuffleSeed { changes.append(.shuffleSeed(new.shuffleSeed)) }
        if old.failurePolicy != new.failurePolicy { changes.append(.failurePolicy(new.failurePolicy)) }
        return QueueChanges(session: session, base: old.version, version: new.version, changes: changes)
    }

    private static func itemChanges(_ old: QueueItems, _ new: QueueItems) -> [QueueChange] {
        guard old != new else { return [] }
        let start = zip(old, new).prefix { $0.id == $1.id }.count
        let most = min(old.count, new.count) - start
        let end = zip(old.reversed(), new.reversed()).prefix { $0.id == $1.id }.prefix(most).count
        let before = old[start..<(old.count - end)].map(\.id)
        let after = new[start..<(new.count - end)]
        var changes: [QueueChange] = []
        let stays = Set(after.map(\.id))
        let was = Set(before)
        let removed = before.filter { !stays.contains($0) }
        if !removed.isEmpty { changes.append(.remove(removed)) }
        // What is new comes in after the last one before it, in runs; what stayed in another order is put right at the end.
        var run: [QueueItem] = []
        var place = start
        for item in after {
            if was.contains(item.id) {
                if !run.isEmpty { changes.append(.insert(run, at: place - run.count)) }
                run = []
            } else {
                run.append(item)
            }
            place += 1
        }
        if !run.isEmpty { changes.append(.insert(run, at: place - run.count)) }
        let kept = before.filter { stays.contains($0) }
        if kept != after.map(\.id).filter({ was.contains($0) }) { changes.append(.order(new.map(\.id))) }
        return changes + updates(old, new, start: start, end: end)
    }

    /// Items that are there before and after, and are others now.
    private static func updates(_ old: QueueItems, _ new: QueueItems, start: Int, end: Int) -> [QueueChange] {
        func among(_ pairs: some Sequence<(QueueItem, QueueItem)>) -> [QueueChange] {
            pairs.filter { $0 != $1 }.map { .update($1) }
        }
        let middle = old[start..<(old.count - end)]
        let contents = Dictionary(middle.lazy.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let kept = new[start..<(new.count - end)].lazy.compactMap { item in contents[item.id].map { ($0, item) } }
        return among(zip(old.prefix(start), new)) + among(kept) + among(zip(old.suffix(end), new.suffix(end)))
    }
}
