import RouteBackend
import RouteModel

/// Items that a network or a server does not give just now (`model.md` section 3): that is not their failure. They are held
/// at their place and tried again, for as long as a lost room is; only then are they dealt with as any that do not play.
extension PlaybackSession {
    /// An item that is waited for.
    struct Hold: Sendable {
        var item: ItemID
        /// Where in it to go on.
        var place: MediaTime
        /// The frame of the feed that it is missing from.
        var frame: Int64 = 0
        /// Until when it is tried, in host nanoseconds.
        var deadline: Int64
        var attempts = 0
        /// `place` is where the feed broke off, which only its run knows.
        var isAtFrame = false
        /// When it was tried last, in host nanoseconds.
        var tried: Int64 = 0
        /// Nothing is left to be heard until it is there.
        var isSilent = false

        var pauseNanoseconds: Int64 { min(Int64(attempts) * retryPauseNanoseconds, ResumePolicy.longestNanoseconds) }
    }

    /// Whether an item that did not play is held, for it to be tried again; false where it counts as failed.
    ///
    /// Before anything was heard nobody is kept waiting: whoever asked is told.
    func holds(_ item: ItemID, _ error: RouterError, at place: MediaTime?, frame: Int64 = 0) async -> Bool {
        guard error.isOfNetwork, started || isTakenUp || begunRun == runCount, let entry = queue.item(item),
            entry.failure == nil
        else {
            return false
        }
        let known = failures.hold.flatMap { $0.item == item ? $0 : nil }
        var hold =
            known ?? Hold(item: item, place: entry.start, deadline: clock.now() + ResumePolicy.windowNanoseconds)
        guard clock.now() < hold.deadline else {
            failures.hold = nil
            return false
        }
        hold.attempts += 1
        // Something of it was begun meanwhile: whether anything is left to be heard is seen anew.
        hold.isSilent = false
        hold.tried = clock.now()
        hold.frame = frame
        let live = (try? await environment.media.facts(entry.source))?.live ?? false
        if let place { hold.place = live ? entry.start : place }
        hold.isAtFrame = place == nil && !live && frame > 0
        failures.hold = hold
        guard known == nil, started || !isTakenUp else { return true }
        let minutes = ResumePolicy.windowNanoseconds / 60_000_000_000
        await notice(
            .warning, "“\(entry.title)”: \(error.message); it is waited for",
            hint: "It is tried again for \(minutes) minutes; go on to the next to be without it")
        return true
    }

    // MARK: Rooms that are sent to

    /// The held item once more, where another attempt can come before what is decoded has been heard. Nil ends the feed:
    /// then it begins anew, at its place, once that was heard.
    func heldFeedItem(run number: Int) async -> FeedItem? {
        guard let hold = failures.hold, let run, run.number == number, let timeline = run.timeline else { return nil }
        let due = timeline.instant(ofFrame: hold.frame, sampleRate: run.feed.sampleRate)
        let lead = alivePush.compactMap { members[$0].leadNanoseconds }.max() ?? 0
        let wake = clock.now() + hold.pauseNanoseconds
        guard wake + lead < due, (try? await clock.sleep(until: wake)) != nil, number == runCount, !ended,
            failures.hold?.item == hold.item, let item = queue.item(hold.item)
        else { return nil }
        return FeedItem(item: item.id, source: item.source, start: hold.place, end: item.end)
    }

    /// All that there was has been heard: silence until the item is there.
    func waitInSilence() async {
        guard var hold = failures.hold, !hold.isSilent, let item = queue.item(hold.item) else { return }
        hold.isSilent = true
        if hold.isAtFrame, let there = run?.place(of: hold.frame), there.item == item.id { hold.place = there.time }
        failures.hold = hold
        if let current = queue.current, current != item.id { playLog.ends(current) }
        queue.select(item.id)
        if run != nil {
            run = nil
            runCount += 1
        }
        anchor = PlaybackAnchor(
            item: item.id, time: hold.place, instant: clock.now(), rate: 0, quality: .exact,
            duration: item.metadata.duration)
        if mediaState != .paused { mediaState = .buffering }
        await publish()
        await remember()
        tryHeldLater(hold)
    }

    private func tryHeldLater(_ hold: Hold) {
        let clock = clock
        jobs.add { [self] in
            guard (try? await clock.sleep(until: hold.tried + hold.pauseNanoseconds)) != nil else { return }
            await tryHeld(hold.item, attempt: hold.attempts)
        }
    }

    private func tryHeld(_ id: ItemID, attempt: Int) async {
        guard let item = held(id, attempt) else { return }
        guard mediaState != .paused else {
            // Who paused it tries it by going on.
            failures.hold?.isSilent = false
            return
        }
        // Not in the lane: a server that does not answer is not to keep commands waiting.
        let error = alivePush.isEmpty ? nil : await refusal(of: item, at: failures.hold?.place ?? item.start)
        await serially {
            guard let hold = failures.hold, held(id, attempt) != nil else { return }
            failures.hold?.isSilent = false
            guard let error else { return await playHeld(item, at: hold.place) }
            guard await holds(id, error, at: nil) else { return await goOn(without: item, error) }
            await waitInSilence()
        }
    }

    /// Nil where it is not waited for any more.
    private func held(_ id: ItemID, _ attempt: Int) -> QueueItem? {
        guard !ended, !ending, let hold = failures.hold, hold.item == id, hold.attempts == attempt, hold.isSilent,
            queue.current == id
        else { return nil }
        return queue.item(id)
    }

    private func playHeld(_ item: QueueItem, at place: MediaTime) async {
        guard !alivePush.isEmpty else { return await tryAgain(item, at: place) }
        _ = try? await restart(item, at: place)
        fillWindows()
    }

    private func goOn(without item: QueueItem, _ error: RouterError) async {
        await itemFailed(item.id, error)
        guard alivePush.isEmpty else {
            guard !hasGivenUp, let next = queue.item(after: item.id) else {
                for index in alivePush { members[index].phase = .finished }
                return await endIfNobodyPlays()
            }
            queue.select(next.id)
            _ = try? await restart(next, at: next.start)
            return fillWindows()
        }
        jobs.add { [self] in await pullItemEnded(item.id) }
    }

    /// Why an item gives no sound to us, from a place on; nil where it does.
    private func refusal(of item: QueueItem, at place: MediaTime) async -> RouterError? {
        let failure = LatestValue<RouterError?>(nil)
        do {
            let feed = try await environment.media.feed(
                FeedItem(item: item.id, source: item.source, start: place, end: item.end),
                events: FeedEvents(
                    next: { _ in nil }, started: { _, _, _ in }, ended: { _, _, error in failure.set(error) }))
            let format = alivePush.first.flatMap { members[$0].push?.format } ?? AudioPacketFormat(codec: .alac)
            if try await FeedOpening(feed, format, from: 0).opened().first != nil { return nil }
        } catch {
            return RouterError(wrapping: error)
        }
        return failure.value
    }

    // MARK: Rooms that fetch

    /// As `holds`, for a room that fetches. What it could not reach and we can is its own affair.
    func holdsPull(_ item: ItemID, _ error: RouterError, at place: MediaTime?) async -> Bool {
        guard started, alivePush.isEmpty, let entry = queue.item(item), queue.current == item else { return false }
        var error = error
        if error.code == .mediaUnreachable, !error.isOfNetwork, case .url = entry.source,
            let ours = await refusal(of: entry, at: place ?? entry.start), ours.isOfNetwork
        {
            error.retry = ours.retry
        }
        return await holds(item, error, at: place)
    }

    /// Whether the end of an item in one room is to be taken for that of the session, though it is waited for in another.
    func isHeardThough(_ item: ItemID) -> Bool {
        alivePull.contains { index in
            let member = members[index]
            return member.loaded?.item == item && member.latest.loaded == member.loaded?.token
                && member.latest.media == .stopped && member.latest.stopReason == .finished
        }
    }

    /// Silence, once no fetching room plays the held item.
    func waitInSilenceWherePulled() async {
        guard alivePush.isEmpty, alivePull.allSatisfy({ members[$0].itemEnded }) else { return }
        await waitInSilence()
    }
}

extension RouterError {
    /// Whether it speaks of the way to an item, and not of the item.
    fileprivate var isOfNetwork: Bool {
        retry == .later && scope == .item && [.itemFailed, .mediaUnreachable].contains(code)
    }
}
