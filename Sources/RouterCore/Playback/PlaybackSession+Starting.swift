import RouteBackend
import RouteModel

/// Beginning together: the timeline of the rooms that are sent packets, and the rooms that fetch kept to it.
extension PlaybackSession {
    /// Loads the current item in every open room, so that all are heard together.
    func loadAll(at start: MediaTime) async {
        let push = alivePush
        let pull = alivePull
        if push.isEmpty {
            await loadPullApart(pull, at: start, autoplay: true)
        } else {
            await readyPull(pull, at: start)
            await begin(push, fromFrame: run?.pausedFrame ?? 0, loading: true)
            beginPull()
        }
        await fallBackAll()
    }

    /// Loads the current item in every open room, held at its place.
    func readyAll(at start: MediaTime) async {
        await withDiscardingTaskGroup { group in
            for index in alivePull { group.addTask { await self.loadPull(index, at: start, autoplay: false) } }
            for index in alivePush { group.addTask { await self.loadPush(index, fromFrame: 0) } }
        }
        anchorToRun()
        await fallBackAll()
    }

    /// How much later than the first of the fetching rooms this one is to be, where they have no timeline to keep to; in
    /// nanoseconds.
    func delay(of member: Member) -> Int64 {
        guard run == nil else { return 0 }
        return member.offsetNanoseconds - (alivePull.map { members[$0].offsetNanoseconds }.min() ?? 0)
    }

    /// Loads fetching rooms that have no timeline, each as much later than the first as its offset says.
    func loadPullApart(_ indices: [Int], at start: MediaTime, autoplay: Bool) async {
        let clock = clock
        await withDiscardingTaskGroup { group in
            for index in indices {
                let delay = autoplay ? delay(of: members[index]) : 0
                group.addTask {
                    if delay > 0 { try? await clock.sleep(nanoseconds: delay) }
                    await self.loadPull(index, at: start, autoplay: autoplay)
                }
            }
        }
    }

    /// Has fetching rooms hold the current item at a place until the timeline begins. One that takes long is waited for no
    /// longer than one that is slow to connect, and catches up.
    func readyPull(_ indices: [Int], at start: MediaTime) async {
        guard !indices.isEmpty, let number = run?.number else { return }
        let (ready, continuation) = AsyncStream.makeStream(of: Void.self)
        let clock = clock
        let patience = clock.now() + openPatienceNanoseconds
        var remaining = 0
        for index in indices {
            members[index].readying = number
            let isTaken = jobs.add { [self] in
                await hold(index, at: start)
                await isHeld(index, for: number)
                continuation.yield()
            }
            if isTaken { remaining += 1 }
        }
        guard remaining > 0 else { return }
        jobs.add {
            try? await clock.sleep(until: patience)
            continuation.finish()
        }
        for await _ in ready {
            remaining -= 1
            if remaining == 0 { break }
        }
    }

    /// Has fetching rooms that are ready by now play with the timeline that has been set; the others catch up.
    func beginPull() {
        guard let number = run?.number else { return }
        runToldToPull = number
        playWithTimeline(
            alivePull.filter { index in
                members[index].phase == .playing && members[index].readying != number && !members[index].loading
                    && members[index].loaded?.item == queue.current && !members[index].itemEnded
            })
    }

    private func isHeld(_ index: Int, for number: Int) async {
        // Another beginning has it readied anew.
        guard members[index].readying == number else { return }
        members[index].readying = nil
        // Before the others have been told to begin, it is one of them. With the last speaker lost there is no run.
        guard runToldToPull == number, run == nil || run?.number == number else { return }
        if let timeline = run?.timeline,
            timeline.hostNanoseconds + members[index].offsetNanoseconds > clock.now()
        {
            return playWithTimeline([index])
        }
        await catchUp(index)
    }

    private func hold(_ index: Int, at start: MediaTime) async {
        guard members[index].loaded?.item == queue.current, !members[index].itemEnded, !members[index].loading,
            members[index].phase == .playing
        else { return await loadPull(index, at: start, autoplay: false) }
        await eachTolerant([index]) { _, session in try await session.perform(.seek(to: start, resume: false)) }
    }

    /// A fetching room that was ready after the others had begun.
    func catchUp(_ index: Int) async {
        guard !ended, mediaState != .paused, members[index].phase == .playing,
            members[index].loaded?.item == queue.current, !members[index].itemEnded,
            let session = members[index].session, let position = heardPosition(in: index)
        else { return }
        do {
            _ = try await move(index, session) { try await $0.perform(.seek(to: position, resume: true)) }
        } catch {
            await loadFailed(index, RouterError(wrapping: error))
        }
    }

    /// What a fetching room is to be at now, by its offset.
    func heardPosition(in index: Int) -> MediaTime? {
        let shift = run?.timeline == nil ? delay(of: members[index]) : members[index].offsetNanoseconds
        return anchor?.position(at: clock.now() - shift)
    }

    /// The earliest instant at which these rooms can all begin: the slowest decides.
    func earliestStart(_ indices: [Int]) -> Int64 {
        clock.now() + max(0, indices.compactMap { members[$0].leadNanoseconds }.max() ?? 0) + startSlackNanoseconds
    }

    /// As `earliestStart`, and sooner where the feed has so much ready that the rooms' queues fill while they play.
    private func soonestStart(_ indices: [Int], of feed: any AudioFeed, fromFrame frame: Int64) async -> Int64 {
        let sooner = await startsSooner(indices, of: feed, fromFrame: frame)
        let leads = indices.compactMap { sooner ? members[$0].startLeadNanoseconds : members[$0].leadNanoseconds }
        return clock.now() + max(0, leads.max() ?? 0) + startSlackNanoseconds
    }

    /// Whether the feed has what fills these rooms' queues. One that gives no more than is heard, as live input does,
    /// would leave them as short as they were at the start.
    private func startsSooner(_ indices: [Int], of feed: any AudioFeed, fromFrame frame: Int64) async -> Bool {
        let needs = indices.compactMap { members[$0].push }
        guard let need = needs.max(by: { $0.leadNanoseconds < $1.leadNanoseconds }),
            needs.contains(where: { $0.startLeadNanoseconds < $0.leadNanoseconds })
        else { return false }
        let patience: Int64
        switch queue.item(queue.current)?.source {
        case .live: return false
        case .file: patience = readAheadPatienceNanoseconds.file
        case .url, nil: patience = readAheadPatienceNanoseconds.other
        }
        let depth = MediaTime(nanoseconds: need.leadNanoseconds).frames(sampleRate: feed.sampleRate)
        let opening = FeedOpening(feed, need.format, from: max(0, frame) + depth)
        let clock = clock
        return await withTaskGroup(of: Bool.self) { group in
            // At its end there is nothing that could come too late; where it fails, the load says why.
            group.addTask { (try? await opening.opened()) != nil }
            group.addTask {
                try? await clock.sleep(nanoseconds: patience)
                return false
            }
            let ready = await group.next() ?? false
            group.cancelAll()
            return ready
        }
    }

    /// Sets the timeline that begins with `frame`, and has these rooms keep to it: by a load of the feed, or by going on
    /// with what is loaded.
    ///
    /// - Parameter instant: when it begins, in host nanoseconds; nil: as soon as all can.
    /// - Returns: what became of it, as far as another timeline has not taken its place.
    @discardableResult
    func begin(
        _ indices: [Int], fromFrame frame: Int64, loading: Bool, at instant: Int64? = nil
    ) async -> CommandOutcome {
        guard let begun = run else { return .superseded }
        let rate = begun.feed.sampleRate
        var beginning = instant
        if beginning == nil { beginning = await soonestStart(indices, of: begun.feed, fromFrame: frame) }
        guard run?.number == begun.number else { return .superseded }
        let timeline = Timeline(
            hostNanoseconds: beginning ?? earliestStart(indices),
            mediaTime: MediaTime(frames: frame, sampleRate: rate))
        run?.timeline = timeline
        let outcome: CommandOutcome
        if loading {
            await withDiscardingTaskGroup { group in
                for index in indices { group.addTask { await self.loadPush(index, fromFrame: frame) } }
            }
            outcome = loadOutcome(of: indices)
        } else {
            outcome = await eachTolerant(indices) { member, session in
                try await session.perform(
                    .play(timeline.shifted(byNanoseconds: member.offsetNanoseconds), fromFrame: frame))
            }
        }
        guard run?.timeline == timeline else { return .superseded }
        anchorToRun()
        for mark in run?.marks ?? [] where mark.frame > frame { schedule(mark) }
        for index in indices { present(index) }
        return outcome
    }

    /// Has fetching rooms, which are held ready, play when the timeline begins; unless by then it is another one.
    func playWithTimeline(_ indices: [Int]) {
        guard let timeline = run?.timeline else { return }
        let clock = clock
        for index in indices {
            let generation = members[index].generation
            let instant = timeline.hostNanoseconds + members[index].offsetNanoseconds
            jobs.add { [self] in
                guard (try? await clock.sleep(until: instant)) != nil else { return }
                await play(index, generation: generation, with: timeline)
            }
        }
    }

    private func play(_ index: Int, generation: Int, with timeline: Timeline) async {
        // With the last speaker lost the timeline may have been dropped in this very moment.
        let isKept = run?.timeline == timeline || (run == nil && droppedTimeline == timeline && mediaState != .paused)
        guard !ended, isKept, members[index].alive, members[index].generation == generation else { return }
        await eachTolerant([index]) { _, session in try await session.perform(.play(timeline, fromFrame: 0)) }
    }

    /// A room whose connection came up after the others had started.
    func joinIfLate(_ index: Int) async {
        // The start holds the lane: whatever it has not loaded itself by its end is late.
        await serially {
            guard started, !ended, members[index].phase == .open, !members[index].itemEnded,
                !members[index].loading
            else { return }
            await load(index)
            await settled()
            await publish()
            fillWindows()
        }
    }

    func noLongerOpens(_ index: Int) {
        members[index].isBeingOpened = false
        guard !members.contains(where: { $0.isBeingOpened }) else { return }
        for waiting in awaitingOpens { waiting.finish() }
        awaitingOpens = []
    }

    /// Returns once no connection is being made any more: a device takes one at a time, and one that was begun for what
    /// has ended may yet come about. Waits no longer than a device is worth waiting for that does not answer at all.
    func opensAreOver() async {
        guard members.contains(where: { $0.isBeingOpened }) else { return }
        let (over, continuation) = AsyncStream.makeStream(of: Void.self)
        awaitingOpens.append(continuation)
        let clock = clock
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in over {} }
            group.addTask { try? await clock.sleep(nanoseconds: Self.openingEndNanoseconds) }
            await group.next()
            group.cancelAll()
        }
    }

    private static let openingEndNanoseconds: Int64 = 3_000_000_000

    /// A room whose first load failed after the others had begun.
    func tryNextEndpoint(_ index: Int) {
        jobs.add { [self] in await openNext(index) }
    }

    private func openNext(_ index: Int) async {
        guard members[index].phase == .opening, !members[index].joining, !comingIn.contains(index) else { return }
        await open(index)
        await joinIfLate(index)
    }

    /// Rooms whose first load failed try their other endpoints, and join those that play.
    private func fallBackAll() async {
        for index in members.indices {
            while members[index].phase == .opening, !members[index].isBeingOpened, !members[index].candidates.isEmpty,
                !ended
            {
                await open(index)
                if members[index].phase == .open { await load(index) }
            }
        }
    }

    /// Loads what plays now into one room: a late join, or a fallback.
    func load(_ index: Int) async {
        if members[index].pull != nil {
            let position = heardPosition(in: index) ?? firstStart
            await loadPull(index, at: position, autoplay: mediaState != .paused)
            return
        }
        guard members[index].push != nil else { return }
        await keepNormalSpeed()
        var start: Int64?
        var hasMovedOn = false
        // In step with rooms that fetch, where such play.
        let instant = earliestStart([index])
        if run == nil {
            guard !isOver(by: instant) else {
                // Nothing is left that it could be sent in time.
                members[index].phase = .finished
                jobs.add { [self] in await endIfNobodyPlays() }
                return
            }
            hasMovedOn = moveOnBefore(instant)
        }
        if run == nil, let item = queue.item(queue.current) {
            start = instant
            do {
                run = try await makeRun(item, start: anchor?.position(at: instant) ?? firstStart)
            } catch {
                return await loadFailed(index, RouterError(wrapping: error))
            }
        }
        guard let run else { return }
        if let timeline = run.timeline {
            // On the running timeline, at the first frame that can still be heard in time.
            let rate = run.feed.sampleRate
            let heard = timeline.frame(at: clock.now(), sampleRate: rate)
            let due = await soonestStart([index], of: run.feed, fromFrame: heard)
            let frame = max(0, timeline.frame(at: due, sampleRate: rate))
            await loadPush(index, fromFrame: frame)
            present(index)
            hasTimeline(by: index)
        } else if mediaState == .paused {
            await loadPush(index, fromFrame: run.pausedFrame)
        } else {
            await begin([index], fromFrame: run.pausedFrame, loading: true, at: start)
            hasTimeline(by: index)
        }
        if members[index].phase == .playing { await bringAlong(all: hasMovedOn) }
    }

    /// A room that is sent to plays: it has the say from here on, and a device that fetches and is still buffering, say,
    /// is not asked any more.
    private func hasTimeline(by index: Int) {
        guard !ended, members[index].phase == .playing, run?.timeline != nil, failures.hold == nil,
            mediaState == .buffering || mediaState == .loading
        else { return }
        mediaState = .playing
    }
}
