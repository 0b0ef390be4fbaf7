import RouteBackend
import RouteModel

/// Rooms that come into a session and go out of it while the others play on (`model.md` section 8).
extension PlaybackSession {
    /// What a room that is to join is chosen by. Throws `unavailable` where nothing plays that could be joined.
    func joinable() throws -> TransferSource { try transferSource() }

    /// Opens these rooms and has them play what the others play, from the frame on that is heard by then. Rooms that fail
    /// say so in their members; throws the first one's error where all do, and then none of them is part of the session but
    /// those that had failed in it before.
    ///
    /// - Parameters:
    ///   - orNone: throws also where one of them cannot be connected to.
    ///   - taking: has other sessions of ours give up these rooms. Not before they are connected here, or busy there: one
    ///     that does not answer is left to whoever has it.
    func join(
        _ wanted: [Member], orNone: Bool = false, taking: @escaping @Sendable (Set<RouteID>) async -> Void
    ) async throws {
        let failed = Set(members.filter { $0.phase == .failed }.map(\.route))
        await forgetOver(on: Set(wanted.map(\.route)))
        let first = members.count
        let joined = first..<(first + wanted.count)
        members += wanted
        comingIn.formUnion(joined)
        defer { comingIn.subtract(joined) }
        await publish()
        // Commands go on meanwhile: a device may take its time to connect.
        await withDiscardingTaskGroup { group in
            for index in joined {
                let route = members[index].route
                group.addTask { await self.open(index) { await taking([route]) } }
            }
        }
        let connected = joined.filter { members[$0].phase == .open }
        if orNone, connected.count < joined.count { throw await refused(joined, before: failed) }
        await taking(Set(connected.map { members[$0].route }))
        try await serially {
            // A process that is killed before they all play has them join once more.
            await remember()
            if !ended, !ending { await bringIn(joined) }
            let isIn = joined.contains { members[$0].phase == .playing || members[$0].phase == .finished }
            guard isIn, !ended else { throw await refused(joined, before: failed) }
            await publish()
            await remember()
            fillWindows()
        }
    }

    /// Those whose devices it has, or may have again.
    var heldRoutes: Set<RouteID> {
        // As it is taken up again what has failed is tried once more, and one that ends is to be waited for.
        guard started, !ended, !ending else { return routes }
        return Set(members.filter { $0.phase != .left && $0.phase != .failed }.map(\.route))
    }

    /// Those that something of it is, or may yet be, heard from.
    var livelyRoutes: Set<RouteID> { Set(members.filter { !$0.isOver }.map(\.route)) }

    /// Somebody else plays where rooms of this have failed: they are not taken up with it again.
    func forgetFailed(on routes: Set<RouteID>) async {
        await forgetOver(on: routes)
        await publish()
        await remember()
    }

    /// A room that failed, or was through, begins anew.
    func forgetOver(on routes: Set<RouteID>) async {
        var sessions: [any RouteSession] = []
        for index in members.indices
        where members[index].isOver && members[index].phase != .left && routes.contains(members[index].route) {
            if let session = members[index].session { sessions.append(session) }
            leave(index)
        }
        for session in sessions { await session.end(.replaced) }
    }

    private func bringIn(_ joined: Range<Int>) async {
        // Once to begin with, and for each other endpoint that a room has once to open it and once to load.
        let rounds = 2 * (joined.map { members[$0].candidates.count }.max() ?? 0)
        for _ in 0...rounds where !ended {
            // One makes what all of them are sent.
            for index in joined where run == nil && members[index].phase == .open && members[index].push != nil {
                await load(index)
            }
            await withDiscardingTaskGroup { group in
                for index in joined {
                    switch members[index].phase {
                    case .open: group.addTask { await self.load(index) }
                    // Its first load failed, and it has another endpoint.
                    case .opening: group.addTask { await self.open(index) }
                    default: break
                    }
                }
            }
        }
        for index in joined where members[index].phase == .playing {
            await settleVolume(index, asked: false)
            await rememberEndpoints(members[index])
        }
        keepPlace()
    }

    /// Why none of these rooms came in; they are forgotten, but for those that had failed before and have once more.
    private func refused(_ joined: Range<Int>, before failed: Set<RouteID>) async -> RouterError {
        let errors = joined.compactMap { members[$0].error }
        let sessions = joined.compactMap { members[$0].session }
        for index in joined {
            leave(index)
            if failed.contains(members[index].route), members[index].error != nil { members[index].phase = .failed }
        }
        await withDiscardingTaskGroup { group in
            for session in sessions { group.addTask { await session.end(.stop) } }
        }
        await publish()
        await remember()
        guard !ended, let error = errors.first else {
            return RouterError(.cancelled, "the session ended before they joined", scope: .session)
        }
        return error
    }

    /// Takes rooms out by their names. Throws `routeNotFound` for a name that none has, and then takes none out.
    func leave(rooms names: [String]) async throws {
        try await serially { await leave(try called(names), ending: .stop) }
    }

    private func called(_ names: [String]) throws -> Set<Int> {
        var result: Set<Int> = []
        for name in names {
            let wanted = name.lowercased()
            let found = members.indices.filter { index in
                let member = members[index]
                return member.takesPart
                    && (member.room.lowercased() == wanted || member.name.lowercased() == wanted
                        || member.route.rawValue == wanted)
            }
            guard !found.isEmpty else {
                let rooms = members.filter(\.takesPart).map(\.name)
                throw RouterError(
                    .routeNotFound, "“\(name)” is none of its rooms", hint: "Name one of those that play",
                    scope: .session, candidates: rooms)
            }
            result.formUnion(found)
        }
        return result
    }

    /// The rooms that would play on without these. Throws `routeNotFound` for a name that none has.
    func rooms(without names: [String]) throws -> [String] {
        let leaving = try called(names)
        return members.indices.filter { !leaving.contains($0) && members[$0].takesPart && !members[$0].isOver }
            .map { members[$0].name }
    }

    /// Why one of these rooms does not play, where that is so.
    func failure(on routes: Set<RouteID>) -> RouterError? {
        members.first { $0.takesPart && routes.contains($0.route) && $0.phase == .failed }?.error
    }

    /// What the rooms are now, by their names: their limits, hours, offsets and volumes at the start hold from here on.
    func take(_ rooms: [Room]) async {
        await serially {
            for index in members.indices where members[index].takesPart && !members[index].isOver {
                guard let room = rooms.first(where: { $0.name.lowercased() == members[index].room.lowercased() }) else {
                    continue
                }
                members[index].volumeLimit = room.volumeLimit
                members[index].quietHours = room.quietHours
                members[index].startVolume = room.startVolume ?? .preserve
                bend(index, by: room.volumeCurve ?? .linear)
                let offset = Int64(room.offsetMilliseconds) * 1_000_000
                guard members[index].offsetNanoseconds != offset else { continue }
                members[index].offsetNanoseconds = offset
                // It comes in again where it should be heard by that.
                if started, members[index].phase == .playing, members[index].push != nil { await load(index) }
            }
            await keepLimits()
            watchQuietHours()
            await publish()
        }
    }

    /// A room has another name from now on.
    func isRenamed(_ old: String, to name: String) async {
        var isOne = false
        for index in members.indices where members[index].room.lowercased() == old.lowercased() {
            // A device is called as its room is, with its own name where there are several.
            members[index].name = name + members[index].name.dropFirst(members[index].room.count)
            members[index].room = name
            isOne = true
        }
        guard isOne, !ended else { return }
        await publish()
        await remember()
    }

    /// Another session of ours takes over these rooms, and these alone.
    func leave(routes: Set<RouteID>) async {
        await serially {
            await leave(
                Set(members.indices.filter { members[$0].takesPart && routes.contains(members[$0].route) }),
                ending: .replaced)
        }
        if ended || ending { await itsEnd() }
    }

    /// The timeline is that of rooms that are sent to: with the last of them gone, devices that fetch go by themselves,
    /// and whoever comes back is in step with them. Where there are no such devices it goes on, for those who come back.
    func dropTimeline() {
        guard let run, onlyFetches else { return }
        // Who is held ready for its beginning begins with it still.
        let offset = alivePull.map { members[$0].offsetNanoseconds }.max() ?? 0
        let begun = run.timeline.map { $0.hostNanoseconds + max(0, offset) + startSlackNanoseconds }
        let clock = clock
        jobs.add { [self] in
            if let begun { guard (try? await clock.sleep(until: begun)) != nil else { return } }
            await serially { await forgetTimeline(run.number) }
        }
    }

    private func forgetTimeline(_ number: Int) async {
        guard !ended, !ending, run?.number == number, onlyFetches else { return }
        droppedTimeline = run?.timeline
        run = nil
        runCount += 1
        // What was about to be begun at a border is not any more.
        await loadWhoIsElsewhere()
        fillWindows()
    }

    /// Whether devices that fetch are all that plays, and no speaker is to be back from an announcement.
    private var onlyFetches: Bool {
        alivePush.isEmpty && !alivePull.isEmpty && !members.contains { $0.push != nil && $0.phase == .held }
    }

    private func leave(_ indices: Set<Int>, ending reason: EndReason) async {
        guard !indices.isEmpty, !ended, !ending else { return }
        let left = members.indices.filter { !indices.contains($0) }
        // A room that is only waited for is no reason to go on for nobody.
        guard left.contains(where: { members[$0].alive || [.opening, .waiting, .held].contains(members[$0].phase) })
        else {
            guard reason == .replaced else { return await end(.stop) }
            // What takes over has connected to the device by now: its app is not stopped under it.
            return await giveUp(to: Set(indices.map { members[$0].route }))
        }
        let names = indices.sorted().map { members[$0].name }
        for index in indices { announcement?.cuts[index]?.finish() }
        await giveBackVolumes(of: indices.filter { members[$0].isLent })
        guard !ended, !ending else { return }
        let sessions = indices.compactMap { members[$0].session }
        for index in indices { leave(index) }
        if alivePush.isEmpty, alivePull.isEmpty, !members.contains(where: { $0.phase == .suspended }) {
            // The timeline was theirs.
            run = nil
            runCount += 1
        } else {
            dropTimeline()
        }
        await withDiscardingTaskGroup { group in
            for session in sessions { group.addTask { await session.end(reason) } }
        }
        await notice(.info, "\(names.joined(separator: ", ")) plays it no more")
        await publish()
        await remember()
        fillWindows()
        await endIfNobodyPlays()
    }
}
