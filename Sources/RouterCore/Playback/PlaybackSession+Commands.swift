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
            case .next: try await skip(to: queue.item(after: queue.current))
            case .previous: try await previous()
            case .seek(let time): try await seek(to: time)
            case .seekBy(let delta):
                try await seek(to: (anchor?.position(at: clock.now()) ?? .zero) + delta)
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
            }
        }
    }

    // MARK: Pause and go on

    private func pause() async throws -> CommandOutcome {
        guard mediaState == .playing || mediaState == .buffering else { return .noActionableItem }
        let push = alivePush
        if !push.isEmpty, var run {
            run.pausedFrame = run.frame(at: clock.now())
            run.timeline = nil
            self.run = run
            anchorToRun()
        } else if let current = anchor {
            anchor?.time = current.position(at: clock.now())
            anchor?.instant = clock.now()
            anchor?.rate = 0
        }
        try await each(push + alivePull) { try await $0.perform(.pause) }
        mediaState = .paused
        await publish()
        await remember()
        return .succeeded
    }

    private func resume() async throws -> CommandOutcome {
        guard mediaState == .paused else { return mediaState == .playing ? .succeeded : .noActionableItem }
        let push = alivePush
        if !push.isEmpty { try await resumePush(push) }
        let timeline = run?.timeline
        try await each(alivePull) { try await $0.perform(.play(timeline, fromFrame: 0)) }
        mediaState = .playing
        if push.isEmpty, anchor != nil {
            anchor?.instant = clock.now()
            anchor?.rate = 1
        }
        await publish()
        await remember()
        return .succeeded
    }

    private func resumePush(_ push: [Int]) async throws {
        guard var run else { return }
        let frame = run.pausedFrame
        let kept = await run.feed.retained()
        guard kept.lowerBound <= frame else {
            // Paused for longer than the decoder's window reaches back: decode again from there.
            guard let place = run.place(of: frame), let item = queue.item(place.item) else { return }
            self.run = try await makeRun(item, start: place.time)
            return await startPush(push, fromFrame: 0)
        }
        let lead = push.compactMap { members[$0].push?.leadNanoseconds }.max() ?? 0
        let timeline = Timeline(
            hostNanoseconds: clock.now() + lead + startSlackNanoseconds,
            mediaTime: MediaTime(frames: frame, sampleRate: run.feed.sampleRate))
        run.timeline = timeline
        self.run = run
        await eachTolerant(push) { member, session in
            _ = try await session.perform(
                .play(timeline.shifted(byNanoseconds: member.offsetNanoseconds), fromFrame: frame))
        }
        anchorToRun()
        for mark in run.marks where mark.frame > frame { schedule(mark) }
        for index in push { present(index) }
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
        queue.select(item.id)
        return try await restart(item, at: item.start)
    }

    private func seek(to wanted: MediaTime) async throws -> CommandOutcome {
        guard let item = queue.item(queue.current) else { return .noActionableItem }
        let facts = try? await environment.media.facts(item.source)
        if facts?.live == true {
            throw RouterError(.unsupported, "a live stream cannot be searched", scope: .command)
        }
        let duration = item.metadata.duration ?? facts?.duration
        let time = max(.zero, duration.map { min($0, wanted) } ?? wanted)
        if alivePush.isEmpty {
            let resume = mediaState != .paused
            try await each(alivePull) { try await $0.perform(.seek(to: time, resume: resume)) }
            anchor = PlaybackAnchor(
                item: item.id, time: time, instant: clock.now(), rate: resume ? 1 : 0, quality: .estimated,
                duration: duration)
            await publish()
            await remember()
            return .succeeded
        }
        return try await restart(item, at: time)
    }

    /// Plays `item` from `start` in every room: packets from a new feed, fetching rooms by a load or a seek.
    private func restart(_ item: QueueItem, at start: MediaTime) async throws -> CommandOutcome {
        let paused = mediaState == .paused
        let push = alivePush
        guard !push.isEmpty else {
            await playPull(item, at: start)
            if !ended, mediaState == .loading { mediaState = .playing }
            return .succeeded
        }
        run = try await makeRun(item, start: start)
        if paused {
            await withDiscardingTaskGroup { group in
                for index in push { group.addTask { await self.loadPush(index, fromFrame: 0) } }
            }
            anchorToRun()
        } else {
            await startPush(push, fromFrame: 0)
            mediaState = .playing
        }
        for index in alivePull {
            if let session = members[index].session, members[index].loaded?.item == item.id, !members[index].itemEnded {
                await eachTolerant([index]) { _, _ in
                    _ = try await session.perform(.seek(to: start, resume: !paused))
                }
            } else {
                await loadPull(index, at: start, autoplay: !paused)
            }
        }
        await publish()
        await remember()
        return .succeeded
    }

    // MARK: Volume

    private func setVolume(room: String?, _ change: (VolumeState?) -> VolumeState?) async throws -> CommandOutcome {
        let wanted = members.indices.filter { index in
            members[index].alive
                && (room == nil || members[index].name.lowercased() == room?.lowercased()
                    || members[index].route.rawValue == room)
        }
        guard !wanted.isEmpty else { return .deviceNotFound }
        var changed = 0
        for index in wanted {
            guard let session = members[index].session, session.descriptor.volume.handling == .adjustable else {
                continue
            }
            guard var volume = change(members[index].volume) else {
                throw RouterError(
                    .unavailable, "\(members[index].name) does not say how loud it is, so it cannot be stepped",
                    hint: "Set a level first, such as 30", scope: .command)
            }
            volume.level = members[index].limited(volume.level)
            try await session.setVolume(volume)
            members[index].volume = volume
            changed += 1
            try? await environment.store.saveVolume(volume, of: members[index].route)
        }
        guard changed > 0 else {
            throw RouterError(
                .unsupported, "the volume of \(members[wanted[0]].name) is fixed", hint: "Turn the knob on the device",
                scope: .command)
        }
        await publish()
        return .succeeded
    }

    // MARK: Asking several

    /// Asks several rooms at once. Throws when the only room asked fails; with several, one that fails is told.
    private func each(
        _ indices: [Int], _ ask: @escaping @Sendable (any RouteSession) async throws -> CommandOutcome
    ) async throws {
        if indices.count == 1, let session = members[indices[0]].session {
            _ = try await ask(session)
        } else {
            await eachTolerant(indices) { _, session in _ = try await ask(session) }
        }
    }

    private func eachTolerant(
        _ indices: [Int], _ ask: @escaping @Sendable (Member, any RouteSession) async throws -> Void
    ) async {
        await withTaskGroup(of: (Int, RouterError?).self) { group in
            for index in indices {
                guard let session = members[index].session else { continue }
                let member = members[index]
                group.addTask {
                    do {
                        try await ask(member, session)
                        return (index, nil)
                    } catch {
                        return (index, RouterError(wrapping: error))
                    }
                }
            }
            for await (index, error) in group {
                guard let error else { continue }
                await notice(.warning, "\(members[index].name): \(error.message)", hint: error.hint, member: index)
            }
        }
    }
}
