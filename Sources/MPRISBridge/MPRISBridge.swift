import RouteModel

/// Sessions as players of the desktop (`Protocols/mpris`): one player for each, so that media keys, applets and
/// `playerctl` drive any room.
public enum MPRISBridge {
    /// Shows the router's sessions on the bus and carries out what comes from there, until the router's events end or
    /// the task is cancelled; then no player is left.
    ///
    /// Without a bus it says so once and tries again now and then.
    public static func run(router: any RouterControlling, configuration: MPRISConfiguration) async {
        let bus: PlayerBus
        do throws(BusFailure) { bus = try PlayerBus(configuration) } catch {
            return configuration.notice(Notice(.warning, "the desktop cannot reach the router: \(error.message)"))
        }
        await bus.start()
        let (wishes, wish) = AsyncStream.makeStream(of: QueueItem.self, bufferingPolicy: .bufferingNewest(16))
        await withDiscardingTaskGroup { group in
            group.addTask { await carryOut(bus, router) }
            group.addTask { await picture(wishes, bus, configuration) }
            var house = PlayerHouse()
            for await event in await router.events() {
                guard house.take(event.body) else { continue }
                await bus.show(house.states)
                for item in house.freshItems() { wish.yield(item) }
            }
            group.cancelAll()
        }
        await bus.stop()
    }

    /// What one player asks is done in its order, whatever the others do meanwhile.
    private static func carryOut(_ bus: PlayerBus, _ router: any RouterControlling) async {
        await withDiscardingTaskGroup { group in
            var lanes: [SessionID: AsyncStream<PlayerRequest>.Continuation] = [:]
            for await request in bus.requests {
                guard request.number != nil else {
                    lanes.removeValue(forKey: request.session)?.finish()
                    continue
                }
                if lanes[request.session] == nil {
                    let (requests, lane) = AsyncStream.makeStream(of: PlayerRequest.self)
                    lanes[request.session] = lane
                    group.addTask {
                        for await request in requests {
                            guard let (action, state) = await bus.take(request) else { continue }
                            await bus.answer(request, await perform(action, state, router))
                        }
                    }
                }
                lanes[request.session]?.yield(request)
            }
            for lane in lanes.values { lane.finish() }
        }
    }

    private static func perform(
        _ action: PlayerAction, _ state: PlayerState, _ router: any RouterControlling
    ) async -> BusFailure? {
        do {
            return try await carryOut(action, state, router)
        } catch {
            return BusFailure(RouterError(wrapping: error))
        }
    }

    private static func carryOut(
        _ action: PlayerAction, _ state: PlayerState, _ router: any RouterControlling
    ) async throws -> BusFailure? {
        let session = state.session
        func perform(_ command: RemoteCommand) async throws -> BusFailure? {
            BusFailure(try await router.perform(command, session: session, origin: .mpris).outcome)
        }
        /// Gives the first of what came in.
        func edit(_ edit: QueueEdit) async throws -> ItemID? {
            let known = Set((await router.sessions().first { $0.id == session })?.queue.items.map(\.id) ?? [])
            let queue = try await router.edit(edit, session: session, ifVersion: nil, workingDirectory: "/")
            return queue.items.first { !known.contains($0.id) }?.id
        }
        switch action {
        case .command(let command): return try await perform(command)
        case .volume(let level):
            let failure = try await perform(.setVolume(level, room: nil))
            guard failure == nil, state.volume?.muted == true, level.value > 0 else { return failure }
            return try await perform(.mute(false, room: nil))
        case .open(let address):
            guard let item = try await edit(.playNext([address])) else { return nil }
            return try await perform(.jump(item))
        case .add(let address, let after, let playing):
            let items = await router.sessions().first { $0.id == session }?.queue.items
            let item = try await edit(place(address, after: after, state, in: items ?? QueueItems()))
            guard playing, let item else { return nil }
            return try await perform(.jump(item))
        case .remove(let item):
            _ = try await router.edit(.remove([item]), session: session, ifVersion: nil, workingDirectory: "/")
            return nil
        case .quit:
            try await router.end(session: session, reason: .stop)
            return nil
        }
    }

    /// At the beginning of the tracks where it is to come after nothing, at the end of the queue where that track is not
    /// there. The last of the tracks need not be the last of the queue.
    static func place(
        _ address: String, after: ItemID?, _ state: PlayerState, in items: QueueItems
    ) -> QueueEdit {
        guard let after else {
            return state.tracks.first.map { .insert([address], before: $0.id) } ?? .append([address])
        }
        guard let index = items.firstIndex(where: { $0.id == after }), index + 1 < items.count else {
            return .append([address])
        }
        return .insert([address], before: items[index + 1].id)
    }

    private static func picture(
        _ wishes: AsyncStream<QueueItem>, _ bus: PlayerBus, _ configuration: MPRISConfiguration
    ) async {
        guard let path = configuration.artFolder else { return }
        var folder: ArtFolder
        do { folder = try ArtFolder(path) } catch {
            return configuration.notice(
                Notice(
                    .warning, "the desktop sees no pictures: the folder \(path) cannot be had",
                    hint: "Check who owns it"))
        }
        for await item in wishes {
            guard await bus.shows(item.id), let bytes = await configuration.picture(item),
                let address = folder.keep(bytes, shown: await bus.shownArts)
            else { continue }
            await bus.show(art: address, of: item.id)
        }
        folder.clear()
    }
}

/// The router's sessions as its events tell of them.
struct PlayerHouse {
    private var sessions: [SessionID: SessionSnapshot] = [:]
    private var routes: [Route] = []
    /// Items whose picture was asked for, by session.
    private var pictured: [SessionID: QueueItem] = [:]

    /// Whether there may be something new to show.
    mutating func take(_ body: RouterEvent.Body) -> Bool {
        switch body {
        case .snapshot(let list, let sessions):
            routes = list.routes
            self.sessions = Dictionary(
                sessions.filter(Self.isActive).map { ($0.id, $0) }, uniquingKeysWith: { _, new in new })
        case .routes(let list): routes = list.routes
        case .session(let session): sessions[session.id] = Self.isActive(session) ? session : nil
        default: return false
        }
        return true
    }

    private static func isActive(_ session: SessionSnapshot) -> Bool {
        ![.ended, .failed].contains(session.connection)
    }

    var states: [PlayerState] {
        sessions.values.sorted { $0.id < $1.id }.map { PlayerState($0, rates: rates(of: $0)) }
    }

    /// All rooms must be able to.
    private func rates(of session: SessionSnapshot) -> ClosedRange<Double> {
        let endpoints = Set(session.members.filter { $0.connection != .failed }.compactMap(\.endpoint))
        let able = routes.flatMap(\.endpoints).filter { $0.capabilities.has(.rate) }.map(\.id)
        return !endpoints.isEmpty && endpoints.isSubset(of: able) ? PlaybackRate.range : 1...1
    }

    /// Items that have come to be the current ones, or have other pictures than before.
    mutating func freshItems() -> [QueueItem] {
        pictured = pictured.filter { sessions[$0.key] != nil }
        return sessions.values.compactMap { session in
            guard let item = session.currentItem else { return nil }
            let old = pictured[session.id]
            guard old?.id != item.id || old?.metadata.images != item.metadata.images else { return nil }
            pictured[session.id] = item
            return item
        }
    }
}
