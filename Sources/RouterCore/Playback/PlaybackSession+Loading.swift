import RouteBackend
import RouteModel

/// Making rooms play: feeds, timelines and loads.
extension PlaybackSession {
    // MARK: Feed

    /// A feed that begins with `item` and runs through the queue.
    func makeRun(_ item: QueueItem, start wanted: MediaTime) async throws -> PushRun {
        var start = wanted
        // What is live has no place to begin at: a decoder would first wait for as long as that to go by.
        if start > item.start, item.metadata.duration == nil, await isLive(item) { start = item.start }
        runCount += 1
        let number = runCount
        earlyMarks = []
        feedAnswers = []
        let feed = try await environment.media.feed(
            FeedItem(item: item.id, source: item.source, start: start, end: item.end),
            events: FeedEvents(
                next: { [weak self] after in await self?.feedItem(after: after, run: number) },
                started: { [weak self] item, frame, offset in
                    await self?.feedStarted(PushRun.Mark(item: item, frame: frame, offset: offset), run: number)
                },
                ended: { [weak self] item, frame, error in
                    await self?.feedEnded(item, frame: frame, error: error, run: number)
                }))
        var run = PushRun(number: number, feed: feed)
        // Until the decoder has said so itself: the first item begins the feed.
        let first = PushRun.Mark(item: item.id, frame: 0, offset: start)
        run.add(first)
        for mark in earlyMarks where mark != first { run.add(mark) }
        earlyMarks = []
        return run
    }

    private func feedItem(after item: ItemID, run number: Int) async -> FeedItem? {
        guard number == runCount, !ended else { return nil }
        if let place = await againPlace(of: item), number == runCount, let same = queue.item(item) {
            return FeedItem(item: same.id, source: same.source, start: place, end: same.end)
        }
        var next = hasGivenUp ? nil : queue.item(after: item)
        if failures.hold?.item == item {
            if let again = await heldFeedItem(run: number) { return again }
            guard number == runCount, !ended else { return nil }
            if failures.hold?.item == item { next = nil }
        }
        feedAnswers.append((item, next?.id))
        guard let next else { return nil }
        jobs.add { [self] in await learnFacts(of: next.id) }
        return FeedItem(item: next.id, source: next.source, start: next.start, end: next.end)
    }

    private func feedStarted(_ mark: PushRun.Mark, run number: Int) {
        guard number == runCount else { return }
        begunRun = number
        consecutiveFailures = 0
        if failures.hold?.item == mark.item { failures.hold = nil }
        guard run?.number == number else {
            // The decoder was quicker than the call that started it.
            earlyMarks.append(mark)
            return
        }
        // The first item's mark is there already.
        guard run?.mark(of: mark.item) != mark else { return }
        run?.add(mark)
        schedule(mark)
    }

    private func feedEnded(_ item: ItemID, frame: Int64, error: RouterError?, run number: Int) async {
        guard number == runCount, let error else { return }
        // Where it broke off, if it played at all.
        let mark = run?.mark(of: item) ?? earlyMarks.last { $0.item == item }
        let place = mark.flatMap { mark in
            run.map { mark.offset + MediaTime(frames: max(0, frame - mark.frame), sampleRate: $0.feed.sampleRate) }
        }
        if await holds(item, error, at: place, frame: frame) { return }
        await itemFailed(item, error, at: place)
    }

    // MARK: Loading one

    func loadPush(_ index: Int, fromFrame frame: Int64) async {
        guard let run else { return }
        members[index].itemEnded = false
        let timeline = run.timeline?.shifted(byNanoseconds: members[index].offsetNanoseconds)
        await load(
            index, .push(PushMedia(feed: run.feed, fromFrame: frame)), timeline: timeline, autoplay: timeline != nil)
    }

    func loadPull(_ index: Int, at start: MediaTime, autoplay: Bool) async {
        guard let requirements = members[index].pull, let item = queue.item(queue.current) else { return }
        let token = await token(for: item)
        members[index].loadError = nil
        members[index].loadedURL = nil
        // Set first: a failure is this item's, and news of the load may come before it returns.
        members[index].loaded = (item.id, token)
        members[index].itemEnded = false
        members[index].loading = true
        members[index].loads += 1
        let number = members[index].loads
        do {
            var media = try await publish(item, token: token, for: requirements, in: index)
            // Looking into it may take its time: what was asked for since then has had the say.
            guard members[index].loads == number else { return }
            let autoplay = autoplay && mediaState != .paused
            media.start = loadPlace(index, item, at: start, autoplay: autoplay)
            media.rate = rate
            members[index].loadedURL = media
            await tell(media.notices)
            // Before anything is heard, and without waiting for slower rooms.
            await settleAtStart(index)
            guard members[index].loads == number else { return }
            await load(index, .pull(media), timeline: nil, autoplay: autoplay)
        } catch {
            guard members[index].loads == number else { return }
            members[index].loading = false
            members[index].leftPlaying = members[index].latest.loaded
            await loadFailed(index, RouterError(wrapping: error))
        }
    }

    /// The item as a URL for a room. Throws `mediaUnsupported` where a picture would be shown that is not to be (A6).
    func publish(
        _ item: QueueItem, token: MediaToken, for requirements: PullRequirements, in index: Int
    ) async throws -> PullMedia {
        try await publish(item, token: token, for: requirements, by: members[index].session?.descriptor.capabilities)
    }

    /// As above, for a device of these capabilities.
    func publish(
        _ item: QueueItem, token: MediaToken, for requirements: PullRequirements, by able: RouteCapabilities?
    ) async throws -> PullMedia {
        try await environment.media.publish(item, token: token, for: requirements, by: able)
    }

    private func load(_ index: Int, _ media: PreparedMedia, timeline: Timeline?, autoplay: Bool) async {
        guard let session = members[index].session else {
            members[index].loading = false
            return
        }
        members[index].loading = true
        members[index].loadError = nil
        members[index].leftPlaying = nil
        members[index].mayBeReadied = false
        // What is known is of what was loaded before.
        members[index].latest.media = .loading
        members[index].latest.stopReason = nil
        members[index].window = []
        let generation = members[index].generation
        let number = members[index].loads
        do {
            try await move(index, session) { try await $0.load(media, timeline: timeline, autoplay: autoplay) }
            guard members[index].loads == number else { return loadOvertaken(index, generation) }
            loadReturned(index, generation)
            guard !ended else { return }
            members[index].cutOff = false
            members[index].isShared = false
            members[index].phase = .playing
            members[index].heard = true
            if members[index].pull != nil, failures.hold?.item == members[index].loaded?.item { failures.hold = nil }
            // After the device has a stream to be loud with.
            settleSoon(index)
            await takeUp(index)
        } catch {
            guard members[index].loads == number else { return loadOvertaken(index, generation) }
            loadReturned(index, generation)
            await loadFailed(index, RouterError(wrapping: error))
        }
    }

    /// Another load is under way by now, and what becomes of that counts.
    private func loadOvertaken(_ index: Int, _ generation: Int) {
        if members[index].generation == generation { members[index].calls += 1 }
    }

    /// What became of loads in these rooms: the first error where none has taken it, unless the item is waited for.
    func loadOutcome(of indices: [Int]) -> CommandOutcome {
        let isTaken = indices.contains { members[$0].loadError == nil && members[$0].session != nil }
        guard !isTaken, let error = indices.compactMap({ members[$0].loadError }).first else { return .succeeded }
        if let held = failures.hold?.item, held == queue.current { return .accepted }
        return .failed(error)
    }

    /// News of the queue counts again, from here on.
    func loadReturned(_ index: Int, _ generation: Int) {
        members[index].loading = false
        if members[index].generation == generation { members[index].calls += 1 }
    }

    /// Each is told once in a session: several rooms, and several items, may have the same to say.
    private func tell(_ notices: [Notice]) async {
        for notice in notices where !told.contains(notice.message) {
            if told.count >= Self.toldLimit { told.removeFirst() }
            told.append(notice.message)
            await environment.notice(notice)
        }
    }

    private static let toldLimit = 32

    func token(for item: QueueItem) async -> MediaToken {
        if let token = tokens[item.id] { return token }
        let token = MediaToken.random()
        tokens[item.id] = token
        await remember(token, of: item)
        return token
    }

    func remember(_ token: MediaToken, of item: QueueItem) async {
        let path = if case .file(let path) = item.source { path } else { "" }
        try? await environment.store.saveMediaToken(MediaTokenRecord(token: token, item: item.id, path: path))
    }

    /// A load failed. Before sound the room's next endpoint is tried; an item's own fault is the item's, not the room's.
    func loadFailed(_ index: Int, _ failure: RouterError) async {
        guard !ended, members[index].phase != .failed else { return }
        let error = await diagnosed(failure, in: index)
        members[index].loadError = error
        guard !ended, members[index].phase != .failed else { return }
        let isItems =
            [.mediaUnsupported, .mediaNotFound, .itemFailed].contains(error.code)
            || ([.mediaUnreachable, .mediaForbidden].contains(error.code)
                && isServedByOthers(members[index].loaded?.item))
            || (started && error.code == .mediaUnreachable && error.retry == .later)
        if !members[index].heard, !members[index].candidates.isEmpty,
            let session = members[index].session
        {
            members[index].phase = .opening
            if members[index].isSettled != nil { members[index].isSettled = false }
            members[index].generation += 1
            let endpoint = session.descriptor.endpoint
            members[index].isBeingOpened = true
            await session.end(.stop)
            await endpointFailed(index, endpoint, error)
            noLongerOpens(index)
            // Before that, and where it joins, whoever loads it sees to it.
            if started { tryNextEndpoint(index) }
            return
        }
        if members[index].joining {
            // Not the item's doing: it played where it was, and will again.
            members[index].phase = .failed
            members[index].error = await diagnosed(error, in: index)
            return
        }
        if members[index].push != nil, started, let item = queue.current, failures.hold?.item == item {
            // Not the room's doing: it plays when the item is there.
            members[index].itemEnded = true
            return playOnAfterFeed()
        }
        if isItems, started, members[index].push != nil, queue.item(queue.current)?.failure != nil {
            // Nothing of the feed plays, and it has told why.
            jobs.add { [self] in await memberFinished(index) }
            return
        }
        if isItems, let item = members[index].loaded?.item, members[index].pull != nil {
            members[index].itemEnded = true
            if await isOnlyHere(index, error) {
                jobs.add { [self] in await pullItemEnded(item) }
                return
            }
            if await holdsPull(item, error, at: loadedPlace(index)) {
                jobs.add { [self] in await serially { await waitInSilenceWherePulled() } }
                return
            }
            await itemFailed(item, error)
            if started { jobs.add { [self] in await pullItemEnded(item) } }
            return
        }
        members[index].cutOff = true
        await memberLost(index, error)
    }

    /// Where in its item a room was to begin.
    private func loadedPlace(_ index: Int) -> MediaTime? {
        members[index].loadedURL.flatMap { $0.token == members[index].loaded?.token ? $0.start : nil }
    }

    /// What one server does not give says nothing of the next item, which may be another's.
    private func isServedByOthers(_ item: ItemID?) -> Bool {
        if case .url? = queue.item(item)?.source { true } else { false }
    }

    /// Why a device that fetches did not play, by what it asked of us and what the media is (C21).
    func diagnosed(_ error: RouterError, in index: Int) async -> RouterError {
        let failure: MediaDiagnosis.Failure
        switch error.code {
        case .mediaUnreachable: failure = .unreachable
        case .mediaUnsupported: failure = .unsupported
        case .itemFailed: failure = .other
        default: return error
        }
        // What was never handed over has its reason said already.
        guard let media = members[index].loadedURL, media.token == members[index].loaded?.token,
            let endpoint = members[index].session?.descriptor.endpoint, endpoint.protocol.family == .cast,
            let requirements = members[index].pull, let source = queue.item(members[index].loaded?.item)?.source
        else { return error }
        let isOurs = if case .file = source { true } else { false }
        let diagnosis = MediaDiagnosis(
            failure: failure, device: members[index].name, deviceAddress: requirements.receiverAddress,
            url: media.url, contentType: media.contentType, isOurs: isOurs,
            facts: try? await environment.media.facts(source),
            fetches: await environment.media.fetches(of: media.token),
            plays: [.speaker, .headphones].contains(endpoint.deviceType) ? .castSpeaker : .castScreen)
        var found = diagnosis.error
        found.causes.append(error.message)
        return found
    }

    // MARK: What listeners see

    /// Tells a room's display what plays.
    func present(_ index: Int) {
        guard let push = members[index].push, let session = members[index].session, let run,
            let item = queue.item(queue.current), let mark = run.mark(of: item.id)
        else { return }
        let rate = run.feed.sampleRate
        let media = environment.media
        jobs.add { [self] in
            let facts = try? await media.facts(item.source)
            let metadata = await self.shownMetadata(of: item).filled(from: facts?.metadata ?? MediaMetadata())
            let duration = metadata.duration ?? facts?.duration
            let artwork = await media.artwork(item.source, within: push.artwork)
            guard await self.queue.current == item.id else { return }
            var shown = metadata
            if shown.title == nil { shown.title = item.title }
            let nowPlaying = NowPlaying(
                item: item.id, metadata: shown, artwork: artwork,
                startFrame: mark.frame - mark.offset.frames(sampleRate: rate),
                durationFrames: duration?.frames(sampleRate: rate))
            do {
                try await self.present(nowPlaying, in: index, session)
            } catch {
                let error = RouterError(wrapping: error)
                if error.code != .cancelled, error.code != .routeLost {
                    await self.notice(
                        .warning, "\(self.members[index].name) did not take the title or picture (\(error.message))",
                        member: index)
                }
            }
        }
    }

    private func present(_ nowPlaying: NowPlaying, in index: Int, _ session: any RouteSession) async throws {
        try await call(index, session) { try await $0.present(nowPlaying) }
    }

    private static let picturesLimit = 64

    /// Tags and length of an item, for the queue's view and the position's end.
    func learnFacts(of id: ItemID) async {
        guard let item = queue.item(id), let facts = try? await environment.media.facts(item.source) else { return }
        var metadata = facts.metadata
        metadata.duration = metadata.duration ?? facts.duration
        queue.enrich(id, metadata)
        if pictures.count > Self.picturesLimit { pictures = pictures.filter { $0.key == queue.current } }
        pictures[id] = facts.hasVideo
        if anchor?.item == id, anchor?.duration == nil { anchor?.duration = queue.item(id)?.metadata.duration }
        if !ended { await publish() }
    }
}

extension PlaybackSession {
    /// How many of the items that come next are looked into.
    private static let learntAhead = 50

    /// Titles and lengths of the files that come next, for who looks at the queue; one after the other.
    func learnUpcoming() {
        guard !isLearning else { return }
        let items = queue.upcoming(after: queue.current, count: Self.learntAhead).filter { item in
            guard case .file = item.source, !learnt.contains(item.id) else { return false }
            return item.metadata.title == nil || item.metadata.duration == nil
        }
        guard !items.isEmpty else { return }
        isLearning = true
        learnt.formUnion(items.map(\.id))
        jobs.add { [self] in await learn(items) }
    }

    private func learn(_ items: [QueueItem]) async {
        var isNew = false
        for item in items {
            guard !ended, !ending, let facts = try? await environment.media.facts(item.source) else { continue }
            var metadata = facts.metadata
            metadata.duration = metadata.duration ?? facts.duration
            queue.enrich(item.id, metadata)
            isNew = true
        }
        isLearning = false
        guard isNew, !ended else { return }
        await publish()
        // The queue may be another one by now.
        learnUpcoming()
    }
}

extension MediaPreparing {
    /// The item as a URL for a device of these capabilities. Throws `mediaUnsupported` where a picture would be shown that
    /// is not to be (A6).
    func publish(
        _ item: QueueItem, token: MediaToken, for requirements: PullRequirements, by able: RouteCapabilities?
    ) async throws -> PullMedia {
        if item.externalPlayback == false, able?[.video] != .unsupported, try await facts(item.source).hasVideo {
            throw RouterError(
                .mediaUnsupported, "its picture is not to be shown on receivers",
                hint: "Play it in a room that takes its sound alone: --via airplay", scope: .item)
        }
        return try await publish(item, token: token, for: requirements)
    }
}
