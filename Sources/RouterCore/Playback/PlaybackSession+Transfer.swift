import RouteBackend
import RouteModel

/// Moving what plays to other rooms (`model.md` section 10): those are opened, what plays is paused at its place and
/// begun there, and only once it plays there do the old rooms end. Until then everything can be taken back.
extension PlaybackSession {
    /// A room that is to take over, and its session.
    private struct Target: Sendable {
        var member: Member
        var session: any RouteSession
    }

    struct Moved: Sendable {
        var method: TransferResult.Method
        var position: MediaTime
    }

    /// How it was, to go back to.
    private struct Before: Sendable {
        var sources: [Int]
        var plays: Bool
        var paused = false
        var position: MediaTime
        var item: QueueItem
        var run: PushRun?
        var anchor: PlaybackAnchor?
        var rate: Double
        /// Rooms from here on in `members` are the new ones.
        var firstTarget: Int
    }

    /// What there is to move, for looking at what would be lost. Throws `unavailable` where nothing can be moved now.
    func transferSource() throws -> TransferSource {
        try movable()
        let alive = members.filter(\.alive)
        let texts = alive.contains { member in
            let active = member.latest.activeTracks ?? []
            return member.latest.tracks?.contains { $0.kind == .text && active.contains($0.id) } ?? false
        }
        let item = queue.item(queue.current)
        return TransferSource(
            item: item?.source ?? .url(""), withPicture: item?.externalPlayback ?? true,
            rooms: members.filter { $0.takesPart && !$0.isOver }.map(\.name),
            routes: livelyRoutes, endpoints: alive.compactMap { $0.session?.descriptor.endpoint }, showsText: texts,
            rate: rate)
    }

    private func movable() throws {
        guard !ended, !ending else { throw RouterError(.cancelled, "the session has ended", scope: .session) }
        try reachable()
        let refusal: (String, String)? =
            if ownership != .ours {
                ("another sender plays something of its own there", "Move it from the device's own app")
            } else if !started || !members.contains(where: \.alive) || queue.item(queue.current) == nil {
                ("nothing plays that could be moved", "Wait until it plays")
            } else {
                nil
            }
        guard let refusal else { return }
        throw RouterError(.unavailable, refusal.0, hint: refusal.1, scope: .session, retry: .later)
    }

    /// Moves what plays to these rooms. Throws what went wrong, and then it plays on where it did.
    ///
    /// - Parameter taking: has other sessions of ours give up these rooms: not before all are connected, or one of them is
    ///   busy. What plays there is not ended for a room that cannot be reached.
    func move(to wanted: [Member], taking: @escaping @Sendable (Set<RouteID>) async -> Void) async throws -> Moved {
        // Commands go on meanwhile: a device may take its time to connect.
        let targets = try await openTargets(wanted, taking)
        do { try movable() } catch {
            await release(targets)
            throw error
        }
        await taking(Set(targets.map(\.member.route)))
        return try await serially {
            do {
                try movable()
                guard livelyRoutes.isDisjoint(with: targets.map(\.member.route)) else {
                    throw RouterError(.routeBusy, "it plays there already", hint: "Name another room", scope: .command)
                }
            } catch {
                await release(targets)
                throw error
            }
            await forgetOver(on: Set(targets.map(\.member.route)))
            return try await move(to: targets)
        }
    }

    // MARK: Opening

    private func openTargets(
        _ wanted: [Member], _ taking: @escaping @Sendable (Set<RouteID>) async -> Void
    ) async throws -> [Target] {
        var results = await open(wanted, isLast: false)
        let busy = results.compactMap { if case .busy(let member) = $0 { member } else { nil } }
        var failure = results.lazy.compactMap(\.failure).first
        if failure == nil, !busy.isEmpty {
            // All others can be had. It may be busy with what was heard to its end here.
            await forgetOver(on: Set(busy.map(\.route)))
            await taking(Set(busy.map(\.route)))
            results += await open(busy, isLast: true)
            failure = results.lazy.compactMap(\.failure).first
        }
        let opened = results.compactMap { if case .open(let target) = $0 { target } else { nil } }
        if failure == nil, ended || ending { failure = RouterError(.cancelled, "stopped before it was moved") }
        guard let failure else { return opened }
        await release(opened)
        throw failure
    }

    /// What became of opening a room.
    private enum Opening: Sendable {
        case open(Target)
        /// Something plays there, which may be ours.
        case busy(Member)
        case failed(RouterError)

        var failure: RouterError? { if case .failed(let error) = self { error } else { nil } }
    }

    private func open(_ wanted: [Member], isLast: Bool) async -> [Opening] {
        await withTaskGroup(of: Opening.self) { group in
            for member in wanted { group.addTask { await self.openTarget(member, isLast: isLast) } }
            var results: [Opening] = []
            for await result in group { results.append(result) }
            return results
        }
    }

    /// - Parameter isLast: what is busy then has failed.
    private func openTarget(_ wanted: Member, isLast: Bool) async -> Opening {
        var member = wanted
        while !member.candidates.isEmpty, !ended, !ending {
            let candidate = member.candidates.removeFirst()
            let endpoint = await environment.current(candidate.endpoint)
            do {
                return .open(
                    Target(member: member, session: try await openSession(endpoint, name: member.name)))
            } catch {
                let error = RouterError(wrapping: error)
                if error.code == .routeBusy, !isLast {
                    member.candidates.insert(candidate, at: 0)
                    return .busy(member)
                }
                guard let next = member.candidates.first?.endpoint else { return .failed(error) }
                await environment.notice(
                    Notice(
                        .warning,
                        "\(member.name): \(endpoint.protocol.displayName) failed (\(error.message)), "
                            + "trying \(next.protocol.displayName)", route: member.route))
            }
        }
        return .failed(RouterError(.cancelled, "stopped before it was moved"))
    }

    private func release(_ targets: [Target]) async {
        await withDiscardingTaskGroup { group in
            for target in targets { group.addTask { await target.session.end(.stop) } }
        }
    }

    // MARK: Moving

    private func move(to targets: [Target]) async throws -> Moved {
        guard let item = queue.item(queue.current) else {
            await release(targets)
            throw RouterError(.unavailable, "nothing plays that could be moved", scope: .session)
        }
        let live = (try? await environment.media.facts(item.source))?.live ?? false
        let stored = await stored(item, for: targets)
        var before = Before(
            sources: members.indices.filter { members[$0].alive && !comingIn.contains($0) },
            plays: mediaState != .paused, position: .zero,
            item: item, run: nil, anchor: nil, rate: rate, firstTarget: members.count)
        do {
            // What cannot be paused, as some live streams, plays on until it is heard in the new rooms.
            if before.plays { before.paused = await (try? pause()).map { !$0.isError } ?? false }
            guard !ended, !ending else { throw RouterError(.cancelled, "stopped before it was moved") }
            guard before.sources.allSatisfy({ members[$0].alive }) else {
                throw RouterError(
                    .routeLost, "the connection was lost in that very moment", hint: "Try again when it is back",
                    scope: .session, retry: .later)
            }
            guard queue.current == item.id else {
                throw RouterError(
                    .commandSuperseded, "it had just gone on to its next item", hint: "Try again", scope: .command,
                    retry: .now)
            }
        } catch {
            await release(targets)
            if before.paused, !ended, !ending { _ = try? await resume() }
            throw error
        }
        before.position = live ? .zero : anchor?.position(at: clock.now()) ?? .zero
        before.anchor = anchor
        before.run = run
        hold(before.sources)
        // A room may have begun to join since this was asked for.
        before.firstTarget = members.count
        join(targets)
        let joined = before.firstTarget..<members.count
        do {
            let method = try await begin(joined, before, stored)
            try await confirm(joined, plays: before.plays)
            await commit(joined, before)
            return Moved(method: method, position: before.position)
        } catch {
            let error = RouterError(wrapping: error)
            await goBack(joined, before)
            throw error
        }
    }

    /// The rooms that play so far keep what they have, and take no part for now.
    private func hold(_ sources: [Int]) {
        for index in sources {
            members[index].phaseHeld = members[index].phase
            members[index].phase = .held
        }
        run = nil
    }

    private func join(_ targets: [Target]) {
        for target in targets {
            var member = target.member
            member.joining = true
            members.append(member)
            let index = members.count - 1
            opened(index, target.session)
            jobs.add { [self] in await follow(index, target.session, generation: 0) }
        }
    }

    /// The state as the one device has stored it, where the other can take it up and would fetch from the same address.
    private func stored(_ item: QueueItem, for targets: [Target]) async -> TransferState? {
        let sources = members.indices.filter { members[$0].alive }
        guard sources.count == 1, targets.count == 1, members[sources[0]].phase == .playing,
            members[sources[0]].loaded?.item == item.id, !members[sources[0]].itemEnded,
            let session = members[sources[0]].session,
            session.descriptor.endpoint.protocol == targets[0].session.descriptor.endpoint.protocol,
            case .pull(let requirements) = targets[0].session.descriptor.delivery, let token = tokens[item.id],
            rate == 1 || targets[0].session.descriptor.capabilities.has(.rate)
        else { return nil }
        if case .file = item.source {
            let source = members[sources[0]]
            let url = source.loadedURL.flatMap { $0.token == token ? $0.url : nil }
            guard let there = url ?? source.latest.window?.first(where: { $0.token == token })?.url,
                let media = try? await publish(
                    item, token: token, for: requirements, by: targets[0].session.descriptor.capabilities),
                media.url == there
            else { return nil }
        }
        return try? await call(sources[0], session) { try await $0.storeState() }
    }

    private func begin(
        _ joined: Range<Int>, _ before: Before, _ stored: TransferState?
    ) async throws -> TransferResult.Method {
        // A volume that was asked for at the start was that of the old rooms.
        wantedVolume = nil
        if rate != 1, !joined.allSatisfy({ has(.rate, $0) }) { rate = 1 }
        mediaState = before.plays ? .loading : .paused
        // A process that is killed before this is done leaves it playing there, too.
        await remember()
        try failure(of: joined)
        if let stored, await take(stored, before.item, in: joined.lowerBound) { return .session }
        try failure(of: joined)
        if !alivePush.isEmpty { run = try await makeRun(before.item, start: before.position) }
        if before.plays { await loadAll(at: before.position) } else { await readyAll(at: before.position) }
        return .load
    }

    /// False where the device does not take it up; it can still be loaded, then.
    private func take(_ state: TransferState, _ item: QueueItem, in index: Int) async -> Bool {
        guard let session = members[index].session, let requirements = members[index].pull else { return false }
        let token = await token(for: item)
        guard let media = try? await publish(item, token: token, for: requirements, in: index) else { return false }
        members[index].loaded = (item.id, token)
        members[index].loadedURL = media
        members[index].loading = true
        // The queue came along.
        members[index].window = nil
        defer { loadReturned(index, members[index].generation) }
        do {
            try await move(index, session) { try await $0.resume(state, media: media) }
            members[index].phase = .playing
            members[index].heard = true
            return true
        } catch {
            let error = RouterError(wrapping: error)
            if [.cancelled, .routeLost, .commandSuperseded].contains(error.code) { members[index].error = error }
            return false
        }
    }

    // MARK: Confirming

    /// Throws what hinders the new rooms from playing.
    private func failure(of joined: Range<Int>) throws {
        guard !ended, !ending else { throw RouterError(.cancelled, "stopped before it was moved") }
        for index in joined {
            let member = members[index]
            if let error = member.error { throw error }
            switch member.latest.connection {
            case .failed, .ended:
                throw member.latest.error
                    ?? RouterError(
                        .routeLost, "\(member.name) was lost before it played", hint: "Try again", scope: .route,
                        retry: .later)
            default: break
            }
            guard member.phase == .playing, member.latest.media == .stopped, member.latest.stopReason != .finished
            else { continue }
            throw member.latest.error
                ?? RouterError(
                    .commandSuperseded, "somebody stopped it on \(member.name) before it was moved",
                    hint: "Try again", scope: .command)
        }
    }

    /// Returns when the new rooms have played for a moment, or hold it ready.
    private func confirm(_ joined: Range<Int>, plays: Bool) async throws {
        try failure(of: joined)
        for index in joined where members[index].phase != .playing {
            throw RouterError(
                .timeout, "\(members[index].name) did not begin to play", hint: "Try again", scope: .route,
                retry: .later)
        }
        guard plays else { return }
        let clock = clock
        let until = max(clock.now() + confirmNanoseconds, run?.timeline?.hostNanoseconds ?? 0)
        let (news, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        transferNews = continuation
        defer { transferNews = nil }
        let isTaken = jobs.add {
            try? await clock.sleep(until: until)
            continuation.finish()
        }
        if !isTaken { continuation.finish() }
        for await _ in news { try failure(of: joined) }
        try failure(of: joined)
    }

    // MARK: For good, or back

    private func commit(_ joined: Range<Int>, _ before: Before) async {
        let lent = (0..<joined.lowerBound).filter { members[$0].isLent }
        for index in lent { announcement?.cuts[index]?.finish() }
        await giveBackVolumes(of: lent)
        guard !ended, !ending else { return }
        var old: [(any RouteSession, EndReason)] = []
        // One that is about to join joins them here.
        for index in 0..<joined.lowerBound where members[index].phase != .left && !comingIn.contains(index) {
            if members[index].phase == .suspended {
                await notice(
                    .warning, "\(members[index].name) cannot be reached just now, and may play on",
                    hint: "Stop it there", member: index)
            }
            if let session = members[index].session {
                old.append((session, members[index].latest.connection == .failed ? .lost : .transfer))
            }
            leave(index)
        }
        for index in joined { members[index].joining = false }
        // News of the feed of before is old news.
        if run == nil { runCount += 1 }
        mediaState = before.plays ? .playing : .paused
        if alivePush.isEmpty {
            anchor = PlaybackAnchor(
                item: before.item.id, time: before.position, instant: clock.now(), rate: 0, quality: .estimated,
                duration: before.anchor?.duration)
        }
        consecutiveFailures = 0
        for index in joined { await takeUp(index) }
        await publish()
        await withDiscardingTaskGroup { group in
            for (session, reason) in old { group.addTask { await session.end(reason) } }
        }
        for index in joined where members[index].phase == .playing { await settleVolume(index) }
        await remember()
        await publish()
        fillWindows()
    }

    /// The index stays the room's, since much still under way knows it by that; it is part of nothing any more.
    func leave(_ index: Int) {
        members[index].phase = .left
        members[index].clipNews?.finish()
        members[index].joining = false
        members[index].generation += 1
        members[index].session = nil
    }

    private func goBack(_ joined: Range<Int>, _ before: Before) async {
        let sessions = joined.compactMap { members[$0].session }
        for index in joined { leave(index) }
        await withDiscardingTaskGroup { group in
            for session in sessions { group.addTask { await session.end(.stop) } }
        }
        guard !ended, !ending else { return }
        for index in before.sources where members[index].phase == .held {
            members[index].phase = members[index].phaseHeld
        }
        rate = before.rate
        anchor = before.anchor
        queue.select(before.item.id)
        mediaState = before.plays && !before.paused ? .playing : .paused
        takeBack(before.run)
        // What happened to them meanwhile.
        for index in before.sources { await takeUp(index) }
        guard !ended, members.contains(where: \.alive) else { return await endIfNobodyPlays() }
        if run == nil, !alivePush.isEmpty {
            if before.plays { mediaState = .playing }
            _ = try? await restart(before.item, at: before.position)
        } else if before.paused {
            mediaState = .paused
            _ = try? await resume()
        }
        await publish()
        await remember()
        fillWindows()
    }

    /// The feed of before is good as long as no other one was begun: else only a new one will do.
    private func takeBack(_ old: PushRun?) {
        run = nil
        guard var old, runCount == old.number else { return }
        for mark in earlyMarks where old.mark(of: mark.item) != mark { old.add(mark) }
        earlyMarks = []
        run = old
    }
}
