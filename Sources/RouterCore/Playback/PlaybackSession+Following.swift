import RouteBackend
import RouteModel

/// Following what plays: borders between items, what devices report, rooms that are lost.
extension PlaybackSession {
    // MARK: The timeline's own borders

    /// Comes back when a mark is heard.
    func schedule(_ mark: PushRun.Mark) {
        guard let run, let timeline = run.timeline else { return }
        let instant = timeline.instant(ofFrame: mark.frame, sampleRate: run.feed.sampleRate)
        let clock = clock
        jobs.add { [self] in
            guard (try? await clock.sleep(until: instant)) != nil else { return }
            await heard(mark, run: run.number, timeline: timeline)
        }
    }

    private func heard(_ mark: PushRun.Mark, run number: Int, timeline: Timeline) async {
        // A pause, seek or skip since then has made another timeline.
        guard let run, run.number == number, run.timeline == timeline else { return }
        if let before = queue.current {
            playLog.ends(before, queue.item(before)?.failure == nil ? .finished : .error)
        }
        queue.select(mark.item)
        anchorToRun()
        for index in alivePush { present(index) }
        await publish()
        await remember()
        for index in alivePull {
            let offset = members[index].offsetNanoseconds
            let clock = clock
            jobs.add { [self] in
                if offset > 0 { try? await clock.sleep(nanoseconds: offset) }
                await followBorder(index, mark, timeline: timeline)
            }
        }
    }

    private func followBorder(_ index: Int, _ mark: PushRun.Mark, timeline: Timeline) async {
        // A pause, seek or skip meanwhile has had the say.
        guard run?.timeline == timeline, !ended else { return }
        await loadPull(index, at: mark.offset, autoplay: true)
        // A pause that was under way was asked of the room before the load was.
        guard !ended, mediaState == .paused, members[index].phase == .playing,
            members[index].loaded?.item == queue.current, let place = anchor?.position(at: clock.now())
        else { return }
        await eachTolerant([index]) { _, session in try await session.perform(.seek(to: place, resume: false)) }
    }

    /// The position as the timeline has it.
    func anchorToRun() {
        guard let run else { return }
        let instant = run.timeline.map { max(clock.now(), $0.hostNanoseconds) } ?? clock.now()
        guard let place = run.place(of: run.frame(at: instant)) else { return }
        if queue.current != place.item { queue.select(place.item) }
        anchor = PlaybackAnchor(
            item: place.item, time: place.time, instant: instant, rate: run.timeline == nil ? 0 : 1, quality: .exact,
            duration: queue.item(place.item)?.metadata.duration)
    }

    // MARK: What devices report

    func follow(_ index: Int, _ session: any RouteSession, generation: Int) async {
        jobs.add { [self] in await obey(index, session, generation: generation) }
        for await update in session.updates() {
            guard members[index].generation == generation, !ended, !ending else { return }
            await apply(update, to: index)
        }
    }

    private func apply(_ update: RouteSessionUpdate, to index: Int) async {
        let before = members[index].latest
        members[index].latest = update
        let anchorBefore = anchor
        await apply(update, after: before, to: index)
        if isNews(update, after: before, of: index) || anchor != anchorBefore { await publish() }
    }

    /// Whether there is something to tell: that a device is where it was thought to be is none, and comes every few
    /// seconds.
    private func isNews(_ update: RouteSessionUpdate, after before: RouteSessionUpdate, of index: Int) -> Bool {
        var quiet = before
        quiet.position = update.position
        if update != quiet { return true }
        guard update.position != before.position, members.count(where: \.takesPart) > 1 else { return false }
        let drift = members[index].drift(from: anchor)
        guard let drift, let told = members[index].driftTold else { return drift != members[index].driftTold }
        return abs(drift - told) >= Member.noticeableDrift
    }

    /// Takes up what the device said while a load was under way, once that has returned.
    func takeUp(_ index: Int) async {
        await apply(members[index].latest, after: RouteSessionUpdate(), to: index)
    }

    private func apply(_ update: RouteSessionUpdate, after before: RouteSessionUpdate, to index: Int) async {
        if members[index].joining { transferNews?.yield() }
        members[index].clipNews?.yield(update)
        guard members[index].phase != .held, !members[index].joining else {
            // Who turns the knob while something is announced means what comes after that, too.
            if members[index].isLent, let volume = update.volume { await heardVolume(volume, of: index) }
            return
        }
        if let volume = update.volume { await heardVolume(volume, of: index) }
        switch update.connection {
        case .failed:
            return await memberLost(
                index, update.error ?? RouterError(.routeLost, "the connection was lost", scope: .route))
        case .ended where members[index].alive && update.stopReason == .cancelled:
            return await mediaLeft(index, nil)
        case .ended where members[index].alive:
            return await mediaLeft(
                index,
                update.error
                    ?? RouterError(
                        .commandSuperseded, "something else plays there now", hint: "Play again to take it back",
                        scope: .route))
        default: break
        }
        if members[index].push != nil {
            if update.media == .stopped, before.media != .stopped, members[index].phase == .playing {
                if let error = update.error, update.stopReason == .error {
                    return await memberLost(index, error)
                }
                await memberFinished(index)
            }
        } else {
            await applyPull(update, after: before, to: index)
        }
    }

    private func applyPull(_ update: RouteSessionUpdate, after before: RouteSessionUpdate, to index: Int) async {
        await followQueue(update, of: index)
        guard let loaded = members[index].loaded, update.loaded == loaded.token, members[index].phase == .playing,
            !members[index].itemEnded
        else { return }
        if update.media == .stopped {
            switch update.stopReason {
            case .error:
                members[index].itemEnded = true
                let error = await diagnosed(
                    update.error ?? RouterError(.itemFailed, "the device could not play it", scope: .item), in: index)
                if await isOnlyHere(index, error) { break }
                let place = loaded.item == queue.current ? anchor?.position(at: clock.now()) : nil
                if await holdsPull(loaded.item, error, at: place) {
                    jobs.add { [self] in await serially { await waitInSilenceWherePulled() } }
                    return
                }
                playLog.ends(loaded.item, .error)
                await itemFailed(loaded.item, error, at: place)
            case .cancelled: return await mediaLeft(index, nil)
            case .superseded, .replaced, .deviceGone:
                return await memberLost(
                    index,
                    update.error
                        ?? RouterError(
                            .commandSuperseded, "another sender took over", hint: "Play again to take it back",
                            scope: .route))
            default:
                consecutiveFailures = 0
                members[index].itemEnded = true
                playLog.ends(loaded.item)
            }
            // Not here: whoever called may hold the lane that the next load waits for.
            jobs.add { [self] in await pullItemEnded(loaded.item) }
            return
        }
        if members[index].mayBeReadied, update.media != .loading, update.media != .buffering {
            members[index].mayBeReadied = false
            if update.media == .paused {
                // Not here: whoever called may hold the lane.
                jobs.add { [self] in await beginReadied(index) }
                return
            }
        }
        guard !followsDevice(index, update, after: before) else { return }
        keepInStep(index)
        // Where there is a timeline it has the say, also while its rooms are lent to an announcement; otherwise the first
        // fetching room has.
        guard alivePush.isEmpty, !members.contains(where: { $0.push != nil && $0.phase == .held }),
            index == alivePull.first, loaded.item == queue.current, members[index].readying == nil
        else { return }
        adopt(update, item: loaded.item)
    }

    /// Where the rooms play it that are sent to, what a device that fetches cannot play is no fault of the item: the room
    /// is silent for so long.
    func isOnlyHere(_ index: Int, _ error: RouterError) async -> Bool {
        guard alivePush.contains(where: { !started || members[$0].phase == .playing }) else { return false }
        await notice(
            .warning, "\(members[index].name) does not play this item: \(error.message)", hint: error.hint,
            member: index)
        return true
    }

    private func adopt(_ update: RouteSessionUpdate, item: ItemID) {
        switch update.media {
        case .playing, .paused:
            mediaState = update.media
            // It plays: what failed before it is no row any more.
            if update.media == .playing { consecutiveFailures = 0 }
        // What is paused, and sought in say, is paused still: a toggle is to make it play, and a seek is not.
        case .buffering where mediaState != .paused: mediaState = .buffering
        default: break
        }
        guard let position = update.position else { return }
        let isKnown = position == lastReport
        lastReport = position
        let duration = position.duration ?? queue.item(item)?.metadata.duration
        let reported = PlaybackAnchor(
            item: item, time: position.time, instant: position.instant,
            rate: update.media == .playing ? position.rate : 0, quality: .deviceReported, duration: duration)
        guard !isStale(reported) else { return }
        if isKnown, let anchor, anchor.item == item, anchor.quality == .deviceReported {
            // The same report in another state: it stands where it has come to, or goes on from there.
            guard anchor.rate != reported.rate else { return }
            let now = clock.now()
            self.anchor?.time = anchor.position(at: now)
            self.anchor?.instant = now
            self.anchor?.rate = reported.rate
            return
        }
        if let anchor, anchor.item == item, anchor.rate == reported.rate, anchor.duration == reported.duration,
            anchor.quality != .estimated
        {
            let drift = anchor.position(at: reported.instant) - reported.time
            // Within 300 ms it is the same playing; a new anchor is for what a listener would notice.
            if abs(drift.seconds) < 0.3 { return }
        }
        anchor = reported
    }

    /// Whether a report is from before the last command, and undoes it. Of the very instant, it is one that plays on at
    /// the speed of before.
    private func isStale(_ reported: PlaybackAnchor) -> Bool {
        guard let anchor, anchor.item == reported.item, reported.instant <= commandedAt else { return false }
        return reported.instant < commandedAt
            || (anchor.rate != reported.rate && anchor.rate != 0 && reported.rate != 0)
    }

    /// A fetching room is through with an item. When all are (or have had time to be), the next one is loaded.
    func pullItemEnded(_ item: ItemID) async {
        guard !ended else { return }
        if failures.hold?.item == item {
            guard isHeardThough(item) else {
                jobs.add { [self] in await serially { await waitInSilenceWherePulled() } }
                return
            }
            failures.hold = nil
        }
        // The others have gone on by themselves; this room had nothing to go on with.
        if queue.current != item { return await catchUpAfter(item) }
        // The timeline says when the next begins; with nothing to come `endIfNobodyPlays` sees to the end. Until then
        // something may be added, or gone back to.
        guard alivePush.isEmpty else { return }
        // Others play it still, or a device is about to go on by itself.
        if alivePull.contains(where: { !members[$0].itemEnded || members[$0].goesOn }) {
            let clock = clock
            jobs.add { [self] in
                guard (try? await clock.sleep(nanoseconds: finishPatienceNanoseconds)) != nil else { return }
                await advancePull(from: item)
            }
            return
        }
        await advancePull(from: item)
    }

    private func advancePull(from item: ItemID) async {
        await serially {
            guard !ended, alivePush.isEmpty, alivePull.contains(where: { members[$0].itemEnded }) else { return }
            guard queue.current == item else { return await catchUpAfter(item) }
            guard failures.hold?.item != item else { return await waitInSilenceWherePulled() }
            if let place = await againPlace(of: item), let same = queue.item(item) {
                return await tryAgain(same, at: place)
            }
            guard !ended else { return }
            // While something is announced in other rooms this is not its end: see `unpark`.
            if hasGivenUp || queue.item(after: item) == nil, members.contains(where: { $0.phase == .held }) { return }
            if hasGivenUp {
                await tellGivenUp()
                return await finish(.error)
            }
            guard let next = queue.item(after: item) else {
                for index in alivePull { members[index].phase = .finished }
                return await finish(queueStopReason)
            }
            // What another sender plays in one of them is not displaced unasked.
            await playPull(
                next, at: next.start, where: { !$0.isShared && ($0.itemEnded || $0.loaded?.item != next.id) })
        }
    }

    /// Rooms where the item failed load it once more: beside the others, where those play it.
    func tryAgain(_ item: QueueItem, at place: MediaTime) async {
        let failed = alivePull.filter { members[$0].itemEnded }
        guard failed.count < alivePull.count else {
            await playPull(item, at: place)
            return
        }
        for index in failed { await load(index) }
        fillWindows()
    }

    /// Loads an item in all fetching rooms of a session that has no others. The outcome is an error where none took it.
    @discardableResult
    func playPull(
        _ item: QueueItem, at start: MediaTime, autoplay: Bool = true, where wanted: (Member) -> Bool = { _ in true }
    ) async -> CommandOutcome {
        if failures.hold?.item != item.id { failures.hold = nil }
        queue.select(item.id)
        anchor = PlaybackAnchor(
            item: item.id, time: start, instant: clock.now(), rate: 0, quality: .estimated,
            duration: item.metadata.duration)
        // What is only readied is paused all the while, also for who takes it up after a crash.
        mediaState = autoplay ? .loading : .paused
        jobs.add { [self] in await learnFacts(of: item.id) }
        await publish()
        await remember()
        let rooms = alivePull.filter { wanted(members[$0]) }
        await loadPullApart(rooms, at: start, autoplay: autoplay)
        guard !ended else { return .superseded }
        let outcome = loadOutcome(of: rooms)
        if mediaState == .loading {
            mediaState = outcome == .accepted ? .buffering : .playing
        }
        await publish()
        fillWindows()
        return outcome
    }

    // MARK: Rooms that end

    func memberFinished(_ index: Int) async {
        guard members[index].alive else { return }
        if members[index].push != nil, itemAfterFeed != nil {
            members[index].itemEnded = true
            return playOnAfterFeed()
        }
        members[index].phase = .finished
        await endIfNobodyPlays()
    }

    /// What was added to the queue after the decoder had come to its end.
    private var itemAfterFeed: QueueItem? {
        guard let last = feedAnswers.last, last.next == nil else { return nil }
        if let hold = failures.hold, hold.item == last.after { return queue.item(hold.item) }
        guard !hasGivenUp else { return nil }
        return queue.item(after: last.after)
    }

    /// Once every room has heard the feed to its end, the queue goes on with a new one.
    func playOnAfterFeed() {
        guard alivePush.allSatisfy({ members[$0].itemEnded }) else { return }
        // What is waited for in silence is tried by its own clock.
        if let hold = failures.hold, hold.isSilent, hold.item == queue.current, run == nil { return }
        // Not here: whoever called may hold the lane.
        jobs.add { [self] in
            await serially { await self.beginAfterFeed() }
            await endIfNobodyPlays()
        }
    }

    private func beginAfterFeed() async {
        guard !ended, !ending, alivePush.allSatisfy({ members[$0].itemEnded }) else { return }
        guard let next = itemAfterFeed else {
            for index in alivePush { members[index].phase = .finished }
            return
        }
        if failures.hold?.item == next.id { return await waitInSilence() }
        if let current = queue.current { playLog.ends(current) }
        queue.select(next.id)
        do {
            try await restart(next, at: next.start)
            fillWindows()
        } catch {
            await itemFailed(next.id, RouterError(wrapping: error))
        }
    }

    /// A room is lost in the middle: it is told, and the others go on.
    func memberLost(_ index: Int, _ error: RouterError) async {
        guard members[index].phase != .failed, members[index].phase != .finished, !ended, !ending else { return }
        // What is being tried is told by whoever tries.
        guard members[index].phase != .opening, members[index].phase != .suspended, !members[index].loading else {
            return
        }
        if mayComeBack(index, error) { return await suspend(index, error) }
        let gone = members[index].latest.connection == .failed
        members[index].phase = .failed
        members[index].error = error
        members[index].generation += 1
        dropTimeline()
        let session = members[index].session
        // What another sender plays there by now is not ours to stop.
        let reason = gone || error.code == .commandSuperseded ? EndReason.lost : .stop
        if let session { jobs.add { await session.end(reason) } }
        // The only room's error is the command's own, as long as nothing plays.
        if started || members.count > 1 {
            let name = members[index].name
            let story = error.message.contains(name) ? error.message : "\(name): \(error.message)"
            await notice(.error, story, hint: error.hint, member: index)
        }
        await endIfNobodyPlays()
        await publish()
        fillWindows()
    }

    func endIfNobodyPlays() async {
        // A lost room is waited for while no other has heard the queue to its end.
        let waits = members.contains { $0.phase == .suspended } && !members.contains(where: \.hasHeardAll)
        // While what plays is moved, whoever moves it sees to that.
        guard !members.contains(where: { $0.phase == .held }) else { return }
        if alivePush.contains(where: { members[$0].itemEnded }) { playOnAfterFeed() }
        guard started, !ended, !waits, !members.contains(where: { $0.alive }) else {
            if !ended, alivePush.isEmpty, let item = queue.current, !alivePull.isEmpty,
                alivePull.allSatisfy({ members[$0].itemEnded })
            {
                // Not here: whoever called may hold the lane that the next load waits for.
                jobs.add { [self] in await pullItemEnded(item) }
            }
            return
        }
        let lost = members.contains { $0.phase == .failed }
        let finished = members.contains { $0.hasHeardAll || ($0.phase == .finished && !lost) }
        let reason = finished ? queueStopReason : lost ? .deviceGone : .finished
        if finished, reason == .finished { queue.select(nil) }
        if finished { await tellGivenUp() }
        await finish(reason)
    }
}
