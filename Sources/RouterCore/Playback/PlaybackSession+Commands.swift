import RouteBackend
import RouteModel

/// What people and programs ask of a session. Commands are done one after the other.
extension PlaybackSession {
    func perform(_ command: RemoteCommand) async throws -> CommandOutcome {
        guard !ended else { return .noActionableItem }
        if command == .stop {
            // A stop does not wait behind what it is to stop.
            await end(.stop)
            return .succeeded
        }
        return try await serially {
            guard !ended else { return .noActionableItem }
            return switch command {
            case .play: try await resume()
            case .pause: try await pause()
            case .toggle: mediaState == .paused ? try await resume() : try await pause()
            case .stop: .succeeded
            case .next: try await skip(to: queue.item(after: queue.current, skipping: true))
            case .previous: try await previous()
            case .seek(let time): try await seek(to: time)
            case .seekBy(let delta):
                try await seek(to: (anchor?.position(at: clock.now()) ?? .zero) + delta)
            case .fade(let level, let time, let room): try await fade(to: level, over: time, room: room)
            case .setVolume(let level, let room):
                try await setVolume(room: room) { _ in VolumeState(level: level) }
            case .stepVolume(let step, let room):
                try await setVolume(room: room) { current in
                    guard let current else { return nil }
                    return VolumeState(level: VolumePosition(current.level.value + step))
                }
            case .mute(let muted, let room):
                try await setVolume(room: room) { current in
                    VolumeState(level: current?.level ?? VolumePosition(1.0 / 3), muted: muted)
                }
            case .setStreamVolume(let level, let room): try await setStreamVolume(level, room: room)
            case .rate(let rate): try await setRate(rate)
            case .jump(let id): try await skip(to: queue.item(id))
            case .shuffle(let on): try await shuffle(on)
            case .toggleShuffle: try await shuffle(queue.original == nil)
            case .repeatMode(let mode): try await setRepeat(mode)
            case .selectTracks(let tracks): try await select(tracks)
            case .skipAd: try await skipAd()
            }
        }
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
        } else if let current = anchor {
            anchor?.time = current.position(at: now)
            anchor?.instant = now
            anchor?.rate = 0
        }
        mediaState = .paused
        await publish()
        await remember()
        return outcome
    }

    func resume() async throws -> CommandOutcome {
        guard mediaState == .paused else { return mediaState == .playing ? .succeeded : .noActionableItem }
        try reachable()
        let push = alivePush
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
            try await resumePush(push)
            guard !ended else { return .superseded }
            playWithTimeline(alivePull)
        }
        mediaState = .playing
        await publish()
        await remember()
        return outcome
    }

    private func resumePush(_ push: [Int]) async throws {
        guard let run else { return }
        let kept = await run.feed.retained()
        let frame = run.pausedFrame
        if kept.lowerBound <= frame { return await begin(push, fromFrame: frame, loading: false) }
        // Paused for longer than the decoder's window reaches back: decode again from there.
        guard let place = run.place(of: frame), let item = queue.item(place.item) else { return }
        self.run = try await makeRun(item, start: place.time)
        await begin(push, fromFrame: 0, loading: true)
    }

    // MARK: Moving about

    private func previous() async throws -> CommandOutcome {
        let position = anchor?.position(at: clock.now()) ?? .zero
        // Early in an item people mean the one before; later they mean its beginning.
        if position.seconds < 3, let before = queue.item(before: queue.current) { return try await skip(to: before) }
        return try await seek(to: .zero)
    }

    private func skip(to item: QueueItem?) async throws -> CommandOutcome {
        guard let item else { return .noSuchContent }
        try reachable()
        queue.select(item.id)
        return try await restart(item, at: item.start)
    }

    private func seek(to wanted: MediaTime) async throws -> CommandOutcome {
        guard let item = queue.item(queue.current) else { return .noActionableItem }
        let facts = try? await environment.media.facts(item.source)
        try reachable()
        let duration = item.metadata.duration ?? facts?.duration
        let time: MediaTime
        if facts?.live == true {
            guard let window = liveRange else {
                throw RouterError(.unsupported, "a live stream cannot be searched", scope: .command)
            }
            time = min(max(wanted, window.lowerBound), window.upperBound)
        } else {
            time = max(.zero, duration.map { min($0, wanted) } ?? wanted)
        }
        if alivePush.isEmpty {
            let resume = mediaState != .paused
            let asked = clock.now()
            let outcome = try await each(alivePull) { try await $0.perform(.seek(to: time, resume: resume)) }
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
        return try await restart(item, at: time)
    }

    /// Plays `item` from `start` in every room: packets from a new feed, fetching rooms by a load or a seek.
    func restart(_ item: QueueItem, at start: MediaTime) async throws -> CommandOutcome {
        let paused = mediaState == .paused
        let push = alivePush
        guard !push.isEmpty else {
            await playPull(item, at: start, autoplay: !paused)
            return ended ? .superseded : .succeeded
        }
        run = try await makeRun(item, start: start)
        // Fetching rooms first, held: they begin with the timeline.
        for index in alivePull {
            if members[index].loaded?.item == item.id, !members[index].itemEnded {
                await eachTolerant([index]) { _, session in
                    try await session.perform(.seek(to: start, resume: false))
                }
            } else {
                await loadPull(index, at: start, autoplay: false)
            }
        }
        if paused {
            await withDiscardingTaskGroup { group in
                for index in push { group.addTask { await self.loadPush(index, fromFrame: 0) } }
            }
            anchorToRun()
        } else {
            await begin(push, fromFrame: 0, loading: true)
            playWithTimeline(alivePull)
        }
        guard !ended else { return .superseded }
        if !paused { mediaState = .playing }
        await publish()
        await remember()
        return .succeeded
    }

    // MARK: Volume

    /// The rooms that play and that this name means; nil means all.
    func rooms(_ room: String?) -> [Int] {
        let name = room?.lowercased()
        return members.indices.filter { index in
            let member = members[index]
            return member.alive
                && (name == nil || member.room.lowercased() == name || member.name.lowercased() == name
                    || member.route.rawValue == room)
        }
    }

    private func setVolume(room: String?, _ change: (VolumeState?) -> VolumeState?) async throws -> CommandOutcome {
        let wanted = rooms(room)
        guard !wanted.isEmpty else { return .deviceNotFound }
        endFade()
        var changed = 0
        var failure: RouterError?
        for index in wanted {
            guard let session = members[index].session, session.descriptor.volume.handling == .adjustable else {
                failure = failure ?? fixedVolume(members[index])
                continue
            }
            guard var volume = change(members[index].volume) else {
                failure = failure ?? silentVolume(members[index])
                continue
            }
            volume.level = members[index].limited(volume.level)
            do {
                try await call(index, session) { try await $0.setVolume(volume) }
                members[index].volume = volume
                changed += 1
                try? await environment.store.saveVolume(volume, of: members[index].route)
            } catch {
                failure = failure ?? RouterError(wrapping: error)
            }
        }
        if changed > 0 { await publish() }
        if let failure {
            guard changed > 0 else { throw failure }
            await notice(.warning, failure.message, hint: failure.hint)
        }
        return .succeeded
    }

    func fixedVolume(_ member: Member) -> RouterError {
        RouterError(
            .unsupported, "the volume of \(member.name) is fixed", hint: "Turn the knob on the device",
            scope: .command)
    }

    func silentVolume(_ member: Member) -> RouterError {
        RouterError(
            .unavailable, "\(member.name) does not say how loud it is, so it cannot be stepped",
            hint: "Set a level first, such as 30", scope: .command)
    }

    // MARK: Asking several

    /// Asks several rooms at once. The only room's refusal is the outcome, or thrown; with several, one that refuses is
    /// told, and the outcome is an error only where all refuse.
    func each(
        _ indices: [Int], _ ask: @escaping @Sendable (any RouteSession) async throws -> CommandOutcome
    ) async throws -> CommandOutcome {
        if indices.count == 1, let session = members[indices[0]].session {
            return try await call(indices[0], session, ask)
        }
        return await eachTolerant(indices) { _, session in try await ask(session) }
    }

    /// Gives the best outcome of these rooms, and tells those that refuse.
    @discardableResult
    func eachTolerant(
        _ indices: [Int], _ ask: @escaping @Sendable (Member, any RouteSession) async throws -> CommandOutcome
    ) async -> CommandOutcome {
        var best: CommandOutcome?
        await withTaskGroup(of: (Int, CommandOutcome).self) { group in
            for index in indices {
                guard let session = members[index].session else { continue }
                let member = members[index]
                group.addTask {
                    do {
                        return (index, try await self.call(index, session) { try await ask(member, $0) })
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
