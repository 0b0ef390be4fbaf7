import RouteBackend
import RouteModel

/// What people and programs ask of a session. Commands are done one after the other.
extension PlaybackSession {
    func perform(_ command: RemoteCommand, from origin: CommandOrigin = .system) async throws -> CommandOutcome {
        try await perform(command, CommandOrder(origin: origin))
    }

    func perform(_ command: RemoteCommand, _ order: CommandOrder) async throws -> CommandOutcome {
        guard !ended else { return .noActionableItem }
        if let outcome = unwanted(order) { return outcome }
        if command == .stop {
            // A stop does not wait behind what it is to stop.
            begins(order)
            await end(.stop)
            return .succeeded
        }
        let hasPaused = await overruleAnnouncement(by: command)
        guard let kind = CommandCoalescer.Kind(command) else {
            return try await serially { hasPaused ? .succeeded : try await carryOut(command, order) }
        }
        if case .seek(let time) = command, !started, !order.hasTerms { return try await holdSeek(time) }
        let item = queue.current
        var ticket = coalescer.enter(
            command, order.hasTerms ? .wanted(kind, expected: order.expected, timed: order.deadline != nil) : kind,
            from: order.origin, at: clock.now())
        if let until = ticket.until {
            try? await clock.sleep(until: until)
            guard let whole = coalescer.leave(ticket, at: clock.now()) else {
                // A step is done by the later command; a place is not gone to.
                return CommandCoalescer.saysWhere(command) ? .superseded : .accepted
            }
            ticket.command = whole
        }
        let wanted = ticket.command
        let number = ticket
        return try await serially {
            if coalescer.isOvertaken(number), CommandCoalescer.saysWhere(wanted) { return .superseded }
            if kind == .seek, queue.current != item { return .superseded }
            var order = order
            order.origin = number.origin
            return try await carryOut(wanted, order)
        }
    }

    /// What becomes of a command that is wanted no more; nil where it is.
    private func unwanted(_ order: CommandOrder) -> CommandOutcome? {
        if let expected = order.expected, expected != queue.current { return .superseded }
        if let deadline = order.deadline, clock.now() >= deadline { return .timedOut }
        return nil
    }

    private func begins(_ order: CommandOrder) {
        if order.deadline != nil { begun.insert(order.id) }
    }

    /// Whether a command with a deadline is being carried out, or has been.
    func hasBegun(_ id: CommandID) -> Bool { begun.contains(id) }

    func forget(_ id: CommandID) { begun.remove(id) }

    private func carryOut(_ command: RemoteCommand, _ order: CommandOrder) async throws -> CommandOutcome {
        guard !ended else { return .noActionableItem }
        if let outcome = unwanted(order) { return outcome }
        begins(order)
        let origin = order.origin
        return switch command {
        case .play: try await resume()
        case .pause: try await pause()
        case .toggle: mediaState == .paused ? try await resume() : try await pause()
        case .stop: .succeeded
        case .next: try await skip(to: queue.item(after: queue.current, skipping: true))
        case .previous: try await previous()
        case .seek(let time): try await seek(to: time)
        case .seekBy(let delta):
            // Where it is about to be heard from counts, as soon as that is known: two steps are two steps.
            try await seek(to: (anchor.map { $0.position(at: max($0.instant, clock.now())) } ?? .zero) + delta)
        case .setVolume(let level, let room): try await setVolume(level, room: room, from: origin)
        case .stepVolume(let step, let room): try await stepVolume(step, room: room, from: origin)
        case .mute(let muted, let room): try await mute(muted, room: room)
        case .trim(let trim, let room): try await setTrim(trim, room: room)
        case .linkVolumes(let on): await linkVolumes(on)
        case .fade(let level, let time, let room): try await fade(to: level, over: time, room: room)
        case .setStreamVolume(let level, let room): try await setStreamVolume(level, room: room)
        case .rate(let rate): try await setRate(rate)
        case .jump(let id): try await skip(to: queue.item(id))
        case .shuffle(let on): try await shuffle(on)
        case .toggleShuffle: try await shuffle(!queue.isShuffled)
        case .repeatMode(let mode): try await setRepeat(mode)
        case .selectTracks(let tracks): try await select(tracks)
        case .skipAd: try await skipAd()
        }
    }

    /// A seek while the first item is being loaded is where that begins; where it comes too late for that, it is done once
    /// it plays.
    private func holdSeek(_ time: MediaTime) async throws -> CommandOutcome {
        heldSeeks += 1
        let number = heldSeeks
        heldSeek = time
        return try await serially {
            guard !ended else { return .noActionableItem }
            guard number == heldSeeks else { return .superseded }
            guard heldSeek != nil else { return .succeeded }
            heldSeek = nil
            return try await seek(to: time)
        }
    }

    /// Where to begin the first item, if a seek has come that it can begin with.
    func takeHeldSeek() async -> MediaTime? {
        guard let time = heldSeek, let item = queue.item(queue.current) else { return nil }
        let facts = try? await environment.media.facts(item.source)
        guard facts?.live != true, heldSeek == time else { return nil }
        heldSeek = nil
        return max(.zero, (item.metadata.duration ?? facts?.duration).map { min($0, time) } ?? time)
    }

    // MARK: Pause and go on

    func pause() async throws -> CommandOutcome {
        guard mediaState == .playing || mediaState == .buffering else { return .noActionableItem }
        try reachable()
        let now = clock.now()
        let outcome = try await each(alivePush + alivePull) { try await $0.perform(.pause) }
        guard !ended else { return .superseded }
        if outcome.isError { return outcome }
        commandedAt = now
        if run?.timeline != nil {
            let frame = run?.frame(at: now) ?? 0
            run?.pausedFrame = frame
            run?.timeline = nil
            anchorToRun()
            // What devices said as they paused is of this place: how far off they are is told.
            anchor?.instant = now
        } else if let current = anchor {
            anchor?.time = current.position(at: now)
            anchor?.instant = now
            anchor?.rate = 0
        }
        mediaState = .paused
        forgetReadied()
        await publish()
        await remember()
        return outcome
    }

    func resume() async throws -> CommandOutcome {
        guard mediaState == .paused else { return mediaState == .playing ? .succeeded : .noActionableItem }
        try reachable()
        let push = alivePush
        await gatherPull()
        guard !ended else { return .superseded }
        let asked = clock.now()
        var outcome = CommandOutcome.succeeded
        if push.isEmpty {
            outcome = try await each(alivePull) { try await $0.perform(.play(nil, fromFrame: 0)) }
            guard !ended else { return .superseded }
            if outcome.isError { return outcome }
            commandedAt = asked
            anchor?.instant = clock.now()
            anchor?.rate = rate
        } else {
            outcome = try await resumePush(push)
            guard !ended else { return .superseded }
            if outcome.isError {
                // None goes on: it waits where it was.
                run?.timeline = nil
                anchorToRun()
                return outcome
            }
            playWithTimeline(alivePull)
        }
        mediaState = .playing
        await publish()
        await remember()
        return outcome
    }

    private func resumePush(_ push: [Int]) async throws -> CommandOutcome {
        guard let run else {
            // What it waits for has not come yet.
            guard let item = queue.item(queue.current) else { return .noActionableItem }
            mediaState = .buffering
            let outcome = try await restart(item, at: anchor?.position(at: clock.now()) ?? item.start)
            if outcome.isError { mediaState = .paused }
            return outcome
        }
        let kept = await run.feed.retained()
        let frame = run.pausedFrame
        if kept.lowerBound <= frame { return await begin(push, fromFrame: frame, loading: false) }
        // Paused for longer than the decoder's window reaches back: decode again from there.
        guard let place = run.place(of: frame), let item = queue.item(place.item) else { return .noActionableItem }
        self.run = try await makeRun(item, start: place.time)
        return await begin(push, fromFrame: 0, loading: true)
    }

    // MARK: Moving about

    private func previous() async throws -> CommandOutcome {
        let position = anchor?.position(at: clock.now()) ?? .zero
        // Early in an item people mean the one before; later they mean its beginning.
        guard position.seconds < 3, queue.previousItem() != nil else { return try await seek(to: .zero) }
        try reachable()
        guard let before = queue.selectPrevious() else { return .noSuchContent }
        forgetFailures(of: before.id)
        return try await restart(before, at: before.start)
    }

    private func skip(to item: QueueItem?) async throws -> CommandOutcome {
        guard let item else { return .noSuchContent }
        try reachable()
        // Also the same item once more is another play.
        if item.id == queue.current { playLog.ends(item.id, .replaced) }
        queue.select(item.id)
        forgetFailures(of: item.id)
        return try await restart(item, at: item.start)
    }

    private func seek(to wanted: MediaTime) async throws -> CommandOutcome {
        guard let item = queue.item(queue.current) else { return .noActionableItem }
        let facts = try? await environment.media.facts(item.source)
        try reachable()
        let duration = item.metadata.duration ?? facts?.duration
        let end = item.end.map { end in duration.map { min(end, $0) } ?? end } ?? duration
        let time: MediaTime
        if facts?.live == true {
            guard let window = liveRange else {
                throw RouterError(.unsupported, "a live stream cannot be searched", scope: .command)
            }
            time = min(max(wanted, window.lowerBound), window.upperBound)
        } else {
            time = max(.zero, end.map { min($0, wanted) } ?? wanted)
        }
        if alivePush.isEmpty {
            let resume = mediaState != .paused
            let asked = clock.now()
            let delays = alivePull.map { delay(of: members[$0]) }
            let outcome =
                delays.contains { $0 > 0 }
                ? await seekApart(to: time, resume: resume)
                : try await each(alivePull) { try await $0.perform(.seek(to: time, resume: resume)) }
            // The device may have gone on to its next item meanwhile.
            guard !ended, queue.current == item.id else { return .superseded }
            if outcome.isError { return outcome }
            commandedAt = asked
            anchor = PlaybackAnchor(
                item: item.id, time: time, instant: clock.now(), rate: resume ? rate : 0, quality: .estimated,
                duration: duration)
            await publish()
            await remember()
            return outcome
        }
        // At the very end there is no sound left to send: the last of it is played, and then what follows.
        let last = end.map { max(.zero, $0 - Self.lastBit) }
        return try await restart(item, at: last.map { min($0, time) } ?? time)
    }

    /// How long before an item's end it is gone to at the latest.
    private static let lastBit = MediaTime(milliseconds: 250)

    /// Rooms that are to be later are so much earlier in the item.
    private func seekApart(to time: MediaTime, resume: Bool) async -> CommandOutcome {
        let places = Dictionary(
            alivePull.map { index in
                (members[index].route, max(.zero, time - MediaTime(nanoseconds: delay(of: members[index]))))
            }, uniquingKeysWith: { first, _ in first })
        return await eachTolerant(alivePull) { member, session in
            try await session.perform(.seek(to: places[member.route] ?? time, resume: resume))
        }
    }

    /// Plays `item` from `start` in every room: packets from a new feed, fetching rooms by a load or a seek. The outcome is
    /// an error where no room has taken it.
    @discardableResult
    func restart(_ item: QueueItem, at start: MediaTime) async throws -> CommandOutcome {
        let paused = mediaState == .paused
        let push = alivePush
        let wasKnown = queue.item(item.id)?.failure != nil
        guard !push.isEmpty else {
            let outcome = await playPull(item, at: start, autoplay: !paused)
            return ended ? .superseded : outcome
        }
        jobs.add { [self] in await learnFacts(of: item.id) }
        isRestarting = true
        defer { isRestarting = false }
        if anchor?.item != item.id {
            // Who looks while it is being decoded is not to see the place of the item before.
            anchor = PlaybackAnchor(
                item: item.id, time: start, instant: clock.now(), rate: 0, quality: .estimated,
                duration: item.metadata.duration)
        }
        run = try await makeRun(item, start: start)
        // Fetching rooms first, held: they begin with the timeline.
        await readyPull(alivePull, at: start)
        let outcome: CommandOutcome
        if paused {
            await withDiscardingTaskGroup { group in
                for index in push { group.addTask { await self.loadPush(index, fromFrame: 0) } }
            }
            anchorToRun()
            outcome = loadOutcome(of: push)
        } else {
            outcome = await begin(push, fromFrame: 0, loading: true)
            beginPull()
        }
        guard !ended else { return .superseded }
        isRestarting = false
        if !paused { mediaState = outcome == .accepted ? .buffering : .playing }
        await publish()
        await remember()
        // The feed may have passed it over, and gone on.
        if !wasKnown, queue.item(item.id)?.failure != nil, let error = lastItemError { return .failed(error) }
        return outcome
    }

    // MARK: Asking several

    /// Asks several rooms at once. The only room's refusal is the outcome, or thrown; with several, one that refuses is
    /// told, and the outcome is an error only where all refuse.
    func each(
        _ indices: [Int], _ ask: @escaping @Sendable (any RouteSession) async throws -> CommandOutcome
    ) async throws -> CommandOutcome {
        for index in indices { members[index].step.forgetMove() }
        if indices.count == 1, let session = members[indices[0]].session {
            return try await move(indices[0], session, ask)
        }
        return await eachTolerant(indices) { _, session in try await ask(session) }
    }

    /// Gives the best outcome of these rooms, and tells those that refuse.
    @discardableResult
    func eachTolerant(
        _ indices: [Int], _ ask: @escaping @Sendable (Member, any RouteSession) async throws -> CommandOutcome
    ) async -> CommandOutcome {
        var best: CommandOutcome?
        for index in indices { members[index].step.forgetMove() }
        await withTaskGroup(of: (Int, CommandOutcome).self) { group in
            for index in indices {
                guard let session = members[index].session else { continue }
                let member = members[index]
                group.addTask {
                    do {
                        return (index, try await self.move(index, session) { try await ask(member, $0) })
                    } catch {
                        return (index, .failed(RouterError(wrapping: error)))
                    }
                }
            }
            for await (index, outcome) in group {
                if best?.isError ?? true { best = outcome }
                guard outcome.isError, !ended else { continue }
                if case .failed(let error) = outcome {
                    await notice(.warning, "\(members[index].name): \(error.message)", hint: error.hint, member: index)
                } else {
                    await notice(.warning, "\(members[index].name) did not do it", member: index)
                }
            }
        }
        return best ?? .noActionableItem
    }
}
