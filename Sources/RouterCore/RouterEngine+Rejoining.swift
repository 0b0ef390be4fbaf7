import RouteBackend
import RouteModel

/// Sessions of processes that are no more.
extension RouterEngine {
    public func sessionsToRejoin() async throws -> [RejoinableSession] {
        var result: [RejoinableSession] = []
        for record in try await store.sessionsToRejoin() where !isRunning(record.session) {
            let queue: QueueSnapshot?
            do {
                queue = try await store.queue(session: record.session)
            } catch {
                tellUnreadable(record, RouterError(wrapping: error))
                continue
            }
            guard let queue, queue.current != nil else {
                // It was cut short in its last moment: there is nothing to take up.
                if !isRunning(record.session) {
                    try? await store.removeSession(record.session)
                    forget(record.session)
                }
                continue
            }
            result.append(
                RejoinableSession(
                    id: record.session, rooms: rooms(of: record), queue: queue, position: position(of: record, queue),
                    playing: record.playing))
        }
        return result
    }

    private func tellUnreadable(_ record: SessionRecord, _ error: RouterError) {
        guard toldUnreadable.insert(record.session).inserted else { return }
        tell(
            Notice(
                .warning,
                "session \(record.session) (\(rooms(of: record).joined(separator: ", "))) cannot be taken up: "
                    + error.message, hint: "Forget it with “router session end \(record.session)”"))
    }

    /// A position is written when it jumps, and not as it goes on. Where the clock that it grew by is another one by
    /// now, after a restart of the machine, what was written has to do.
    private func position(of record: SessionRecord, _ queue: QueueSnapshot) -> MediaTime {
        // One of another item is not this one's.
        guard record.item == queue.current else { return queue.items.first { $0.id == queue.current }?.start ?? .zero }
        let now = environment(for: record.session).clock.now()
        guard record.playing, let anchor = record.anchor, anchor.item == record.item, anchor.instant <= now else {
            return record.position
        }
        return anchor.position(at: now)
    }

    private func rooms(of record: SessionRecord) -> [String] {
        record.members.isEmpty ? record.routes.map(\.rawValue) : record.members.map(\.name)
    }

    public func rejoin(_ id: SessionID) async throws -> SessionSnapshot {
        if isRunning(id) { return try await runningSnapshot(id) }
        let known = Set(running.map(\.id))
        let (record, queue) = try await record(of: id)
        let members = try await members(of: record)
        let items = PlayQueue(queue)
        let tokens = try await tokens(of: items)
        await serveAgain(items, tokens, to: members)
        let session = PlaybackSession(
            id: id, queue: items, members: members, start: .zero, rate: record.rate,
            environment: environment(for: id))
        let isBegun = try await inLane(of: Set(record.routes + members.map(\.route))) {
            // Who came before may have taken it up.
            guard !isRunning(id) else { return false }
            try await stillWanted(id, on: Set(members.map(\.route)), known)
            await release(Set(members.map(\.route)))
            try begin(session, id: id)
            return true
        }
        guard isBegun else { return try await runningSnapshot(id) }
        do {
            try await session.startAgain(record, tokens: tokens)
        } catch {
            await isSuspendedStill(id)
            throw error
        }
        // Not before: until it plays here again, there is the only place where it may be heard.
        stopMovedLater(record, Set(tokens.values), session)
        return await session.snapshot()
    }

    /// Looking for its devices takes a while. Throws `routeNotFound` where somebody has ended it meanwhile, and
    /// `routeBusy` where somebody has begun something else there.
    private func stillWanted(_ id: SessionID, on routes: Set<RouteID>, _ known: Set<SessionID>) async throws {
        guard try await store.sessionsToRejoin().contains(where: { $0.session == id }) else {
            throw Self.noRecord(of: id)
        }
        for session in running where !known.contains(session.id) {
            guard await !routes.isDisjoint(with: session.routes) else { continue }
            throw RouterError(
                .routeBusy, "something else has been begun there meanwhile",
                hint: "Take it up with “router session join \(id)” once that is over", scope: .route, retry: .later)
        }
    }

    /// It could not be taken up this time: to clients it is what it was before.
    private func isSuspendedStill(_ id: SessionID) async {
        guard !isRunning(id), let snapshot = await suspendedSnapshots().first(where: { $0.id == id }), !isRunning(id)
        else { return }
        show(suspended: snapshot)
    }

    /// How often, and how long after each other, a room is asked that does not answer.
    private static let (attempts, pauseNanoseconds) = (3, Int64(10_000_000_000))

    /// Where it was being moved to when its process was gone, it may play on by itself, while it is taken up where it was:
    /// what plays something of it is stopped there, in the background.
    private func stopMovedLater(_ record: SessionRecord, _ tokens: Set<MediaToken>, _ session: PlaybackSession?) {
        guard record.moving?.isEmpty == false else { return }
        addJob { [self] in
            _ = await stopMoved(record, tokens, attempts: Self.attempts) { await session?.isNotLeft(in: $0) }
        }
    }

    /// - Parameter isOver: is told of each room that plays it no more, or was asked in vain.
    /// - Returns: whether all of them were found and stopped, or have gone on to something else.
    private func stopMoved(
        _ record: SessionRecord, _ tokens: Set<MediaToken>, attempts: Int,
        isOver: @escaping @Sendable (RouteID) async -> Void = { _ in }
    ) async -> Bool {
        guard let moving = record.moving, !moving.isEmpty else { return true }
        var there = record
        there.members = moving
        guard let members = try? await members(of: there) else { return false }
        return await withTaskGroup(of: Bool.self) { group in
            for member in members {
                group.addTask {
                    let isDone = await self.stopMoved(member, tokens, record.session, attempts: attempts)
                    await isOver(member.route)
                    return isDone
                }
            }
            var areDone = true
            for await isDone in group where !isDone { areDone = false }
            return areDone
        }
    }

    private func stopMoved(
        _ member: Member, _ tokens: Set<MediaToken>, _ id: SessionID, attempts: Int
    ) async -> Bool {
        let environment = environment(for: id)
        for attempt in 0..<attempts {
            let pause = attempt == 0 ? 0 : Self.pauseNanoseconds
            guard (try? await environment.clock.sleep(nanoseconds: pause)) != nil else { return false }
            // Whoever begins something there does so before this, and is seen, or after it.
            let isDone = await inLane(of: [member.route]) {
                for session in running where await session.routes.contains(member.route) { return true }
                return await stop(tokens, on: member, environment)
            }
            if isDone { return true }
        }
        return false
    }

    /// Stops a device that plays one of these; false where it does not, or does not answer.
    private func stop(_ tokens: Set<MediaToken>, on member: Member, _ environment: SessionEnvironment) async -> Bool {
        guard let last = member.endpoint, let provider = environment.provider(last) else { return true }
        let endpoint = await environment.current(last)
        let options = await options(endpoint, environment)
        guard
            let token = await provider.find(tokens, on: endpoint, within: Self.findNanoseconds, options: options)
        else { return false }
        return await stop(member, endpoint, provider, options, token) == nil
    }

    private func options(_ endpoint: Endpoint, _ environment: SessionEnvironment) async -> OpenOptions {
        OpenOptions(
            password: await environment.password(endpoint), senderName: environment.senderName, launches: false,
            credentials: try? await store.credentials(forAnyOf: endpoint.strongKeys),
            identity: try? await store.identity())
    }

    /// Nil where what we had there is stopped, or is there no more.
    private func stop(
        _ member: Member, _ endpoint: Endpoint, _ provider: any RouteProvider, _ options: OpenOptions, _ token: String
    ) async -> RouterError? {
        var options = options
        options.rejoin = token
        do {
            let session = try await provider.open(endpoint, options: options)
            // What somebody else plays there by now is not ours to stop.
            await session.end(session.descriptor.joined ? .stop : .leave)
            return nil
        } catch {
            return RouterError(wrapping: error)
        }
    }

    /// Ends a session that nobody runs: with `stop` its devices stop what is left of it, where they can be reached.
    func endForgotten(_ id: SessionID, _ reason: EndReason) async throws {
        guard let record = try await store.sessionsToRejoin().first(where: { $0.session == id }) else {
            throw Self.noRecord(of: id)
        }
        let queue = try? await store.queue(session: id)
        var known: [ItemID: MediaToken] = [:]
        if let queue { known = try await tokens(of: PlayQueue(queue)) }
        if reason != .leave {
            if let members = try? await members(of: record) {
                let environment = environment(for: id)
                for member in members {
                    guard let last = member.endpoint, let token = member.rejoinToken,
                        let provider = environment.provider(last)
                    else { continue }
                    let endpoint = await environment.current(last)
                    let options = await options(endpoint, environment)
                    guard let error = await stop(member, endpoint, provider, options, token) else { continue }
                    tell(Notice(.warning, "\(member.name): \(error.message)", hint: error.hint, route: member.route))
                }
            }
            // A command that is over soon has no later.
            if await !stopMoved(record, Set(known.values), attempts: 1) {
                stopMovedLater(record, Set(known.values), nil)
            }
        }
        try await store.removeSession(id)
        // Also one whose queue is empty, or cannot be read, is to be got rid of.
        try await store.removeMediaTokens(items: Array(known.keys))
        forget(id)
    }

    // MARK: What is shown of them

    /// Those that may be taken up again: nobody here drives them, and their devices may play on.
    func suspendedSnapshots() async -> [SessionSnapshot] {
        var result: [SessionSnapshot] = []
        for record in (try? await store.sessionsToRejoin()) ?? [] {
            guard let queue = try? await store.queue(session: record.session) else { continue }
            let item = queue.currentItem
            var anchor =
                record.anchor
                ?? PlaybackAnchor(
                    item: item?.id ?? ItemID(rawValue: ""), time: record.position, instant: clock.now(), rate: 0,
                    quality: .estimated, duration: item?.metadata.duration)
            anchor.quality = .estimated
            let members = record.members.map { member in
                SessionMember(
                    route: member.route, name: member.name, endpoint: member.endpoint?.id,
                    protocol: member.endpoint?.protocol, connection: .suspended,
                    media: record.playing ? .playing : .paused, volume: member.volume, trim: member.trim)
            }
            var snapshot = SessionSnapshot(
                id: record.session, connection: .suspended, media: record.playing ? .playing : .paused,
                members: members, queue: queue, anchor: anchor.item == item?.id ? anchor : nil,
                volume: record.master.map { VolumeState(level: VolumePosition($0)) }, now: clock.now())
            snapshot.volumesLinked = record.volumesLinked
            result.append(snapshot)
        }
        return result
    }

    /// The last that have ended, the latest last.
    func endedSnapshots() async -> [SessionSnapshot] {
        let endings = (try? await store.endings(limit: Self.keptSessions)) ?? []
        return endings.reversed().map { ending, queue in
            SessionSnapshot(
                id: ending.session, connection: ending.reason == .error ? .failed : .ended, media: .stopped,
                stopReason: ending.reason,
                members: ending.members.map { member in
                    SessionMember(
                        route: member.route, name: member.name, protocol: member.protocol, connection: .ended,
                        media: .stopped)
                }, queue: queue, now: clock.now())
        }
    }

    /// A command for a session that is not taken up yet: to play is to take it up.
    func takeUp(_ id: SessionID, by command: RemoteCommand) async throws -> CommandResult {
        guard command == .play || command == .toggle else {
            throw Self.notTakenUp(id)
        }
        let snapshot = try await rejoin(id)
        // One that was paused is paused then.
        if snapshot.media == .paused { return try await perform(.play, session: id, origin: .system) }
        return CommandResult(id: .random(), outcome: snapshot.media == .playing ? .succeeded : .accepted)
    }

    static func notTakenUp(_ id: SessionID) -> RouterError {
        RouterError(
            .unavailable, "the session \(id) was cut short, and is not taken up again yet",
            hint: "Let it play first, or run “router session join \(id)”", scope: .session, retry: .later)
    }

    /// What a process that is no more had played in these rooms only is over once something else plays there.
    func forgetLeft(on routes: Set<RouteID>) async {
        for record in (try? await store.sessionsToRejoin()) ?? []
        where !isRunning(record.session) && !record.routes.isEmpty && routes.isSuperset(of: record.routes) {
            let queue = try? await store.queue(session: record.session)
            if let queue, record.moving != nil, let known = try? await tokens(of: PlayQueue(queue)) {
                stopMovedLater(record, Set(known.values), nil)
            }
            try? await store.removeSession(record.session)
            try? await store.removeMediaTokens(items: queue?.items.map(\.id) ?? [])
            forget(record.session)
        }
    }

    private func record(of id: SessionID) async throws -> (SessionRecord, QueueSnapshot) {
        guard let record = try await store.sessionsToRejoin().first(where: { $0.session == id }),
            let queue = try await store.queue(session: id), queue.current != nil
        else { throw Self.noRecord(of: id) }
        return (record, queue)
    }

    private static func noRecord(of id: SessionID) -> RouterError {
        RouterError(
            .routeNotFound, "there is no session \(id) to take up again",
            hint: "Run “router session list” to see what there is", scope: .session)
    }

    /// The rooms of a record, by the endpoints that they played by.
    private func members(of record: SessionRecord) async throws -> [Member] {
        let wanted =
            record.members.isEmpty
            ? record.routes.map { SessionRecord.Member(route: $0, name: $0.rawValue, room: $0.rawValue, endpoint: nil) }
            : record.members
        // What a person named by address is there without being looked for.
        let sought = Set(wanted.filter { $0.endpoint?.origin != .stated }.map(\.route))
        if !sought.isEmpty { await waitForRoutes { sought.isSubset(of: self.knownRoutes) || self.settled } }
        let rooms = configuredRooms
        let members = wanted.compactMap { member -> Member? in
            let endpoints = route(member.route)?.endpoints ?? []
            guard
                let endpoint = endpoints.first(where: { $0.id == member.endpoint?.id }) ?? member.endpoint
                    ?? endpoints.first
            else { return nil }
            return Member(
                member, room: rooms.first { $0.name == member.room }, endpoint: endpoint,
                rejoinToken: record.rejoin[member.route])
        }
        guard !members.isEmpty else {
            throw RouterError(
                .routeNotFound, "\(wanted.map(\.name).joined(separator: ", ")) cannot be found just now",
                hint: "Check that it is on, and name it with --device if it was named so before", scope: .route,
                retry: .later)
        }
        return members
    }

    private func tokens(of queue: PlayQueue) async throws -> [ItemID: MediaToken] {
        Dictionary(
            try await store.mediaTokens().filter { queue.item($0.item) != nil }.map { ($0.item, $0.token) },
            uniquingKeysWith: { first, _ in first })
    }

    /// What receivers may be fetching in this very moment is served again before anything else.
    private func serveAgain(_ queue: PlayQueue, _ tokens: [ItemID: MediaToken], to members: [Member]) async {
        for (id, token) in tokens {
            guard let item = queue.item(id), case .file = item.source else { continue }
            for host in Set(members.compactMap { $0.endpoint?.host }) {
                _ = try? await media.publish(item, token: token, for: PullRequirements(receiverAddress: host))
            }
        }
    }
}
