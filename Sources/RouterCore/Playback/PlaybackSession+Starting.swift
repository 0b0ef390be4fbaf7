import RouteBackend
import RouteModel

/// Beginning together: the timeline of the rooms that are sent packets, and the rooms that fetch kept to it.
extension PlaybackSession {
    /// Loads the current item in every open room, so that all are heard together.
    func loadAll(at start: MediaTime) async {
        let push = alivePush
        let pull = alivePull
        if push.isEmpty {
            await withDiscardingTaskGroup { group in
                for index in pull { group.addTask { await self.loadPull(index, at: start, autoplay: true) } }
            }
        } else {
            await readyPull(pull, at: start)
            await begin(push, fromFrame: run?.pausedFrame ?? 0, loading: true)
            playWithTimeline(pull.filter { members[$0].phase == .playing })
        }
        await fallBackAll()
    }

    /// Loads fetching rooms, to be held until the timeline begins. One that takes long is waited for no longer than one
    /// that is slow to connect, and catches up.
    private func readyPull(_ indices: [Int], at start: MediaTime) async {
        guard !indices.isEmpty else { return }
        let (ready, continuation) = AsyncStream.makeStream(of: Void.self)
        let clock = clock
        let patience = clock.now() + openPatienceNanoseconds
        for index in indices {
            jobs.add { [self] in
                await loadPull(index, at: start, autoplay: false)
                if case .terminated = continuation.yield() { await catchUp(index) }
            }
        }
        jobs.add {
            try? await clock.sleep(until: patience)
            continuation.finish()
        }
        var remaining = indices.count
        for await _ in ready {
            remaining -= 1
            if remaining == 0 { break }
        }
    }

    /// A fetching room that was ready after the others had begun.
    private func catchUp(_ index: Int) async {
        guard !ended, mediaState == .playing, members[index].phase == .playing,
            let session = members[index].session, let position = anchor?.position(at: clock.now())
        else { return }
        do {
            _ = try await call(index, session) { try await $0.perform(.seek(to: position, resume: true)) }
        } catch {
            await loadFailed(index, RouterError(wrapping: error))
        }
    }

    /// Sets the timeline that begins soon with `frame`, and has these rooms keep to it: by a load of the feed, or by
    /// going on with what is loaded.
    func begin(_ indices: [Int], fromFrame frame: Int64, loading: Bool) async {
        guard let rate = run?.feed.sampleRate else { return }
        let lead = indices.compactMap { members[$0].push?.leadNanoseconds }.max() ?? 0
        let timeline = Timeline(
            hostNanoseconds: clock.now() + lead + startSlackNanoseconds,
            mediaTime: MediaTime(frames: frame, sampleRate: rate))
        run?.timeline = timeline
        if loading {
            await withDiscardingTaskGroup { group in
                for index in indices { group.addTask { await self.loadPush(index, fromFrame: frame) } }
            }
        } else {
            await eachTolerant(indices) { member, session in
                try await session.perform(
                    .play(timeline.shifted(byNanoseconds: member.offsetNanoseconds), fromFrame: frame))
            }
        }
        guard run?.timeline == timeline else { return }
        anchorToRun()
        for mark in run?.marks ?? [] where mark.frame > frame { schedule(mark) }
        for index in indices { present(index) }
    }

    /// Has fetching rooms, which are held ready, play when the timeline begins; unless by then it is another one.
    func playWithTimeline(_ indices: [Int]) {
        guard let timeline = run?.timeline else { return }
        let clock = clock
        for index in indices {
            let generation = members[index].generation
            jobs.add { [self] in
                guard (try? await clock.sleep(until: timeline.hostNanoseconds)) != nil else { return }
                await play(index, generation: generation, with: timeline)
            }
        }
    }

    private func play(_ index: Int, generation: Int, with timeline: Timeline) async {
        guard !ended, run?.timeline == timeline, members[index].alive, members[index].generation == generation else {
            return
        }
        await eachTolerant([index]) { _, session in try await session.perform(.play(timeline, fromFrame: 0)) }
    }

    /// Rooms whose first load failed try their other endpoints, and join those that play.
    private func fallBackAll() async {
        for index in members.indices where members[index].phase == .opening && !ended {
            if !members[index].candidates.isEmpty { await open(index) }
            if members[index].phase == .open { await load(index) }
        }
    }

    /// Loads what plays now into one room: a late join, or a fallback.
    func load(_ index: Int) async {
        if members[index].pull != nil {
            let position = anchor?.position(at: clock.now()) ?? firstStart
            await loadPull(index, at: position, autoplay: mediaState != .paused)
            return
        }
        guard let requirements = members[index].push else { return }
        if run == nil, let item = queue.item(queue.current) {
            let position = anchor?.position(at: clock.now()) ?? firstStart
            do {
                run = try await makeRun(item, start: position)
            } catch {
                return await loadFailed(index, RouterError(wrapping: error))
            }
        }
        guard let run else { return }
        if let timeline = run.timeline {
            // On the running timeline, at the first frame that can still be heard in time.
            let due = clock.now() + requirements.leadNanoseconds + startSlackNanoseconds
            let frame = max(0, timeline.frame(at: due, sampleRate: run.feed.sampleRate))
            await loadPush(index, fromFrame: frame)
            present(index)
        } else if mediaState == .paused {
            await loadPush(index, fromFrame: run.pausedFrame)
        } else {
            await begin([index], fromFrame: run.pausedFrame, loading: true)
        }
    }
}
