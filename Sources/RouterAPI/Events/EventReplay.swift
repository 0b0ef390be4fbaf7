import RouteModel

/// Turns what has changed back into what the engine tells, which is always whole. A pure value: the client's side of
/// `EventDeriver`.
public struct EventReplay: Sendable {
    /// An event that fits to nothing this copy knows: a new snapshot is needed.
    public struct LostTrack: Error, Equatable {}

    private var routes = RouteList(routes: [], discovery: [])
    private var sessions: [SessionID: SessionSnapshot] = [:]
    /// Those that have ended, the latest last: so many may have more to say, as the daemon keeps them.
    private var over: [SessionID] = []
    private static let keptOver = 64

    public init() {}

    /// What the engine would tell: several things after a snapshot, none of what is the daemon's alone. Throws
    /// `LostTrack`.
    public mutating func apply(_ event: APIEvent) throws -> [RouterEvent.Body] {
        switch event {
        case .snapshot(let state):
            routes = state.routes
            sessions = Dictionary(state.sessions.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
            over = state.sessions.filter(\.connection.isOver).map(\.id)
            return [.snapshot(routes: state.routes, sessions: state.sessions)]
                + (state.rooms.map { [.rooms($0.rooms, groups: $0.groups)] } ?? [])
                + state.scenes.map { .scene($0) } + state.pairings.map { .pairing($0) }
        case .routeChanged(let change): return [.routes(try take(change))]
        case .roomsChanged(let change): return [.rooms(change.rooms, groups: change.groups)]
        case .sessionChanged(let change):
            guard let queue = change.queue ?? sessions[change.session.id]?.queue,
                queue.version == change.session.queueVersion
            else { throw LostTrack() }
            return [keep(change.session.snapshot(queue: queue))]
        case .queueChanged(let update):
            guard var queue = sessions[update.session.id]?.queue, queue.apply(update.changes) else {
                throw LostTrack()
            }
            return [keep(update.session.snapshot(queue: queue))]
        case .volumeChanged(let change):
            guard var session = sessions[change.session],
                session.members.map(\.route) == change.members.map(\.route)
            else { throw LostTrack() }
            session.volume = change.volume
            for index in session.members.indices { session.members[index].takeVolumes(change.members[index]) }
            session.now = change.now
            return [keep(session)]
        case .positionAnchor(let change):
            guard var session = sessions[change.session] else { throw LostTrack() }
            session.anchor = change.anchor
            session.now = change.now
            return [keep(session)]
        case .commandResult(let report): return [.command(report)]
        case .sceneStep(let run): return [.scene(run)]
        case .pairingPrompt(let progress): return [.pairing(progress)]
        case .notice(let notice): return [.notice(notice)]
        case .phase(let step): return [.phase(step.phase)]
        case .log: return []
        }
    }

    private mutating func keep(_ session: SessionSnapshot) -> RouterEvent.Body {
        if sessions[session.id]?.connection.isOver != true, session.connection.isOver { over.append(session.id) }
        sessions[session.id] = session
        while over.count > Self.keptOver {
            let oldest = over.removeFirst()
            if sessions[oldest]?.connection.isOver == true { sessions[oldest] = nil }
        }
        return .session(session)
    }

    private mutating func take(_ change: RouteChange) throws -> RouteList {
        var byID = Dictionary(routes.routes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for id in change.removed { byID[id] = nil }
        for route in change.changed { byID[route.id] = route }
        let order = change.order ?? routes.routes.map(\.id)
        let all = order.compactMap { byID[$0] }
        guard all.count == byID.count else { throw LostTrack() }
        routes = RouteList(routes: all, discovery: change.discovery ?? routes.discovery)
        return routes
    }
}

extension ConnectionState {
    fileprivate var isOver: Bool { self == .ended || self == .failed }
}
