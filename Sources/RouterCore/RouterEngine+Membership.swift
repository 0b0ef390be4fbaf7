import RouteBackend
import RouteModel

/// Rooms that join what plays, and leave it.
extension RouterEngine {
    public func join(session id: SessionID?, rooms: [String]) async throws -> SessionSnapshot {
        guard !rooms.isEmpty else { throw Self.noRoom(to: "join") }
        let session = try chosenSession(id)
        let number = routeLanes.arrive()
        await session.announcementIsOver()
        let source = try await session.joinable()
        let targets = try await targets(rooms)
        let choices = try await choices(
            for: PlayRequest(what: [], rooms: rooms), rooms: targets, first: source.item, beside: source.routes,
            withPicture: source.withPicture)
        let members = try choices.filter { !source.routes.contains($0.choice.route) }.map { choice, room in
            guard choice.chosen != nil else { throw Self.nothingUsable(choice, via: .auto) }
            return Member(choice: choice, room: room)
        }
        guard !members.isEmpty else { return await session.snapshot() }
        try await inLane(of: Set(members.map(\.route))) {
            // Who came before may have brought it in.
            let routes = await session.livelyRoutes
            let members = members.filter { !routes.contains($0.route) }
            guard !members.isEmpty else { return }
            let rest = try left(of: members, number)
            await endAnnouncements(on: Set(rest.map(\.route)))
            try await session.join(rest) { [self] routes in await give(routes, to: session) }
            routeLanes.took(Set(rest.map(\.route)), number)
        }
        return await session.snapshot()
    }

    /// Has what plays there give way to this session. In their lane.
    func giveUp(_ routes: Set<RouteID>, but session: PlaybackSession) async {
        await endAnnouncements(on: routes)
        for other in sessions(but: session) {
            await giveWay(other, to: routes)
        }
    }

    /// A session that has one of these routes ends; where it has lost them it plays on elsewhere.
    func giveWay(_ session: PlaybackSession, to routes: Set<RouteID>) async {
        if await !routes.isDisjoint(with: session.heldRoutes) {
            await session.giveWay(to: routes)
        } else if await !routes.isDisjoint(with: session.routes) {
            await session.forgetFailed(on: routes)
        }
    }

    /// Rooms that others have are that session's from now on. In their lane.
    func give(_ routes: Set<RouteID>, to session: PlaybackSession) async {
        await endAnnouncements(on: routes)
        for other in sessions(but: session) { await other.leave(routes: routes) }
    }

    public func leave(session id: SessionID?, rooms: [String]) async throws -> SessionSnapshot {
        guard !rooms.isEmpty else { throw Self.noRoom(to: "leave") }
        if let id, suspendedQueue(of: id) != nil { throw Self.notTakenUp(id) }
        let session = try chosenSession(id)
        try await session.leave(rooms: names(meantBy: rooms))
        return await session.snapshot()
    }

    private static func noRoom(to verb: String) -> RouterError {
        RouterError(
            .configuration, "no room was named that is to \(verb)", hint: "Name one, such as Kitchen", scope: .command)
    }
}
