import RouteBackend
import RouteModel

/// A device that was found to play something of ours.
struct FoundMedia: Sendable {
    var route: RouteID
    var name: String
    var endpoint: Endpoint
    /// What its session is joined with.
    var rejoin: String
    var volumeLimit: VolumePosition?
    var quietHours: QuietHours?
    var volumeCurve: VolumeCurve
    var offsetNanoseconds: Int64
}

/// Stream transfer (C6): by us, and by somebody else.
extension RouterEngine {
    /// How long ago a record may have changed for its device to be asked what it plays.
    static let recentNanoseconds: Int64 = 10_000_000_000
    /// How long one device may take to say what it plays.
    static let findNanoseconds: Int64 = 3_000_000_000
    /// Devices that are asked in one search.
    static let maximumAsked = 8

    public func transfer(session id: SessionID?, to rooms: [String]) async throws -> TransferResult {
        try await transfer(TransferRequest(.move, session: id, rooms: rooms))
    }

    public func transfer(_ request: TransferRequest) async throws -> TransferResult {
        guard !request.rooms.isEmpty else {
            throw RouterError(
                .configuration, "no room was named to transfer it to", hint: "Name one, such as --to Kitchen",
                scope: .command)
        }
        let session = try chosenSession(request.session)
        let number = routeLanes.arrive()
        if !request.preflight { await session.announcementIsOver() }
        let source = try await session.transferSource()
        if request.kind == .shrink { return try await shrink(session, source, request) }
        let plan = try await plan(request, source)
        if request.preflight { return await result(of: session, source, plan, .load) }
        switch request.kind {
        case .move: return try await move(session, source, plan, number)
        case .expand: return try await expand(session, source, plan, number)
        case .copy: return try await copy(session, source, plan, number)
        case .shrink: return await result(of: session, source, plan, .load)
        }
    }

    /// The rooms of a transfer, with what they do without.
    private struct TransferPlan: Sendable {
        var members: [Member]
        var losses: [String]
        /// Where it plays after that.
        var rooms: [String]
    }

    private func plan(_ request: TransferRequest, _ source: TransferSource) async throws -> TransferPlan {
        let targets = try await targets(request.rooms)
        let isBeside = request.kind == .expand
        let choices = try await choices(
            for: PlayRequest(what: [], rooms: request.rooms), rooms: targets, first: source.item,
            beside: isBeside ? source.routes : [], withPicture: source.withPicture)
        let members = try choices.map { choice, room in
            guard choice.chosen != nil else { throw Self.nothingUsable(choice, via: .auto) }
            guard !source.routes.contains(choice.route) else {
                let others = source.rooms.filter { $0 != choice.name && $0 != room.name }
                let words = others.map { "\"\($0)\"" }.joined(separator: " ")
                let hint = others.isEmpty ? "" : "; to play there alone: router transfer \(words) --shrink"
                throw RouterError(
                    .routeBusy, "it plays in \(choice.name) already",
                    hint: "Name a room where it does not play yet" + hint, scope: .command)
            }
            return Member(choice: choice, room: room)
        }
        let chosen = choices.compactMap(\.choice.chosen)
        let losses = isBeside ? source.losses(besides: chosen) : source.losses(by: chosen)
        let names = members.map(\.name)
        return TransferPlan(members: members, losses: losses, rooms: isBeside ? source.rooms + names : names)
    }

    private func result(
        of session: PlaybackSession, _ source: TransferSource, _ plan: TransferPlan, _ method: TransferResult.Method,
        at position: MediaTime? = nil
    ) async -> TransferResult {
        let snapshot = await session.snapshot()
        return TransferResult(
            from: source.rooms, to: plan.rooms, method: method, title: snapshot.currentItem?.title ?? "",
            position: position ?? snapshot.position ?? .zero, losses: plan.losses, session: snapshot)
    }

    private func move(
        _ session: PlaybackSession, _ source: TransferSource, _ plan: TransferPlan, _ number: Int
    ) async throws -> TransferResult {
        // Another session of ours that plays there gives way, as it does to `play`.
        let routes = Set(plan.members.map(\.route))
        let moved = try await inLane(of: routes) {
            _ = try left(of: plan.members, number, all: true)
            // Before the room is connected to: where both use the same app there, the end of one would stop the other.
            await endAnnouncements(on: routes)
            let moved = try await session.move(to: plan.members) { [self] routes in await giveUp(routes, but: session) }
            routeLanes.took(routes, number)
            return moved
        }
        told("moved from \(source.rooms.joined(separator: ", ")) to", plan)
        return await result(of: session, source, plan, moved.method, at: moved.position)
    }

    private func told(_ verb: String, _ plan: TransferPlan) {
        let lost = plan.losses.isEmpty ? "" : " (\(plan.losses.joined(separator: ", ")))"
        tell(Notice(.info, "\(verb) \(plan.members.map(\.name).joined(separator: ", "))\(lost)"))
    }

    private func expand(
        _ session: PlaybackSession, _ source: TransferSource, _ plan: TransferPlan, _ number: Int
    ) async throws -> TransferResult {
        let routes = Set(plan.members.map(\.route))
        // All of them, or none.
        try await inLane(of: routes) {
            _ = try left(of: plan.members, number, all: true)
            await endAnnouncements(on: routes)
            try await session.join(plan.members, orNone: true) { [self] routes in await give(routes, to: session) }
            routeLanes.took(routes, number)
        }
        if let error = await session.failure(on: routes) {
            await session.leave(routes: routes)
            throw error
        }
        told("plays as well in", plan)
        return await result(of: session, source, plan, .load)
    }

    private func shrink(
        _ session: PlaybackSession, _ source: TransferSource, _ request: TransferRequest
    ) async throws -> TransferResult {
        let names = names(meantBy: request.rooms)
        let staying = try await session.rooms(without: names)
        guard !staying.isEmpty else {
            throw RouterError(
                .unavailable, "it would play nowhere then", hint: "Stop it, or name fewer rooms", scope: .command)
        }
        let plan = TransferPlan(members: [], losses: [], rooms: staying)
        if !request.preflight { try await session.leave(rooms: names) }
        return await result(of: session, source, plan, .load)
    }

    private func copy(
        _ session: PlaybackSession, _ source: TransferSource, _ plan: TransferPlan, _ number: Int
    ) async throws -> TransferResult {
        let before = await session.snapshot()
        let position = before.position ?? .zero
        let id = SessionID.random()
        let rate =
            plan.members.allSatisfy { member in
                member.candidates.first?.endpoint.capabilities.has(.rate) ?? false
            } ? source.rate : 1
        let queue = PlayQueue(copied(before.queue))
        let second = try await takeOver(plan.members, number) { members in
            let second = PlaybackSession(
                id: id, queue: queue, members: members, start: position, rate: rate, environment: environment(for: id))
            try begin(second, id: id)
            return second
        }
        try await second.start(volume: nil, paused: before.media == .paused)
        told("plays a copy in", plan)
        return await result(of: second, source, plan, .load, at: position)
    }

    /// The same items in the same order, each as an occurrence of its own.
    private func copied(_ queue: QueueSnapshot) -> QueueSnapshot {
        var copy = queue
        var ids: [ItemID: ItemID] = [:]
        for place in copy.items.indices {
            let id = ItemID.ulid(milliseconds: UInt64(max(0, clock.now() / 1_000_000)))
            ids[copy.items[place].id] = id
            copy.items[place].id = id
        }
        copy.current = queue.current.flatMap { ids[$0] }
        copy.original = queue.original?.compactMap { ids[$0] }
        copy.version = 1
        return copy
    }

    /// A device not of these routes that plays one of these items by now. Only devices that seem busy, or whose record
    /// has just changed, are asked; and those without a record, that a person has named.
    func find(_ items: Set<MediaToken>, notOn routes: Set<RouteID>) async -> FoundMedia? {
        var asked: [EndpointID: Endpoint] = [:]
        func fresh() -> [(Route, Endpoint)] {
            candidates(notOn: routes).filter { asked[$0.1.id] != $0.1 }
        }
        var left = Self.maximumAsked
        // Where there is no other device at all, nobody is kept waiting.
        while left > 0, hasOthers(than: routes) {
            let wanted = Array(fresh().prefix(left))
            left -= wanted.count
            for (_, endpoint) in wanted { asked[endpoint.id] = endpoint }
            if let found = await ask(wanted, items) { return found }
            // A device's record changes a moment after what it plays.
            guard isDiscovering, fresh().isEmpty else { return nil }
            await waitForRoutes { !fresh().isEmpty }
            if fresh().isEmpty { return nil }
        }
        return nil
    }

    private func hasOthers(than routes: Set<RouteID>) -> Bool {
        knownRoutes.subtracting(routes).contains { id in
            route(id)?.endpoints.contains { $0.capabilities.has(.acceptsManySenders) } ?? false
        }
    }

    private func candidates(notOn routes: Set<RouteID>) -> [(Route, Endpoint)] {
        knownRoutes.subtracting(routes).sorted().compactMap { route($0) }.flatMap { route in
            route.endpoints
                .filter { endpoint in
                    endpoint.capabilities.has(.acceptsManySenders) && endpoint.capabilities.has(.playURL)
                        && (endpoint.busyWith != nil || endpoint.origin == .stated || changedLately(endpoint.id))
                }
                .map { (route, $0) }
        }
    }

    /// The first device that plays one of these; all are asked at once.
    private func ask(_ devices: [(Route, Endpoint)], _ items: Set<MediaToken>) async -> FoundMedia? {
        let environment = environment(for: .random())
        let rooms = configuredRooms
        return await withTaskGroup(of: FoundMedia?.self) { group in
            for (route, endpoint) in devices {
                guard let provider = environment.provider(endpoint) else { continue }
                let room = rooms.first { $0.routes.contains(route.id) || $0.devices.contains(route.name) }
                group.addTask {
                    let rejoin = await provider.find(
                        items, on: endpoint, within: Self.findNanoseconds,
                        options: OpenOptions(senderName: environment.senderName))
                    return rejoin.map { rejoin in
                        FoundMedia(
                            route: route.id, name: room?.name ?? route.name, endpoint: endpoint, rejoin: rejoin,
                            volumeLimit: room?.volumeLimit, quietHours: room?.quietHours,
                            volumeCurve: room?.volumeCurve ?? .linear,
                            offsetNanoseconds: Int64(room?.offsetMilliseconds ?? 0) * 1_000_000)
                    }
                }
            }
            for await case let found? in group {
                group.cancelAll()
                return found
            }
            return nil
        }
    }
}
