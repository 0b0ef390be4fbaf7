import RouteBackend
import RouteModel

/// Rooms whose connection is lost, tried again (`model.md` section 2). A device that fetches probably plays on: it is
/// joined, and loaded anew only where nothing of ours plays any more. One that is sent to is silent: the timeline goes on
/// without it, and it comes back at the frame that is heard by then. With nobody left to hear it the music goes on for a
/// minute, and then waits where the last room lost it.
extension PlaybackSession {
    /// Whether a room that was lost is worth trying again: it has played, and can go on without us or come back in step.
    func mayComeBack(_ index: Int, _ error: RouterError) -> Bool {
        guard started, !ending, members[index].heard else { return false }
        if members[index].push != nil {
            return [.routeLost, .routeUnreachable, .timeout].contains(error.code)
                || (members[index].latest.connection == .failed && !Self.isFinal(error))
        }
        return error.code == .routeLost && members[index].pull != nil && has(.continuesWithoutSender, index)
    }

    func suspend(_ index: Int, _ error: RouterError) async {
        let session = members[index].session
        let isSent = members[index].push != nil
        members[index].phase = .suspended
        members[index].generation += 1
        members[index].session = nil
        members[index].lostBy = error
        dropTimeline()
        if let session { jobs.add { await session.end(.lost) } }
        let isAlone = !members.contains { $0.alive }
        if isAlone {
            anchor?.quality = .estimated
            aloneSince = clock.now()
        }
        let minutes = ResumePolicy.windowNanoseconds / 60_000_000_000
        let place = isAlone && waitsForRooms ? ", or after a minute where it was lost" : ""
        await notice(
            .warning, "\(members[index].name): the connection is lost, and is tried again for \(minutes) minutes",
            hint: isSent
                ? "It comes in again where the music is by then\(place); stop the session to give it up"
                : "What plays there may well go on", member: index)
        if isAlone, let run, let aloneSince { jobs.add { [self] in await waitForRooms(run, since: aloneSince) } }
        await publish()
        fillWindows()
        await endIfNobodyPlays()
        let generation = members[index].generation
        jobs.add { [self] in await tryAgain(index, generation: generation, after: error) }
    }

    /// One attempt at a time, each after a longer wait, until the room is back or its time is over.
    private func tryAgain(_ index: Int, generation: Int, after error: RouterError) async {
        guard let last = members[index].endpoint else { return await giveUp(index, error) }
        let longest =
            last.capabilities.has(.continuesWithoutSender)
            ? ResumePolicy.longestNanoseconds : ResumePolicy.longestSilentNanoseconds
        var retry = retry(of: index)
        var reason = error
        var isOver = false
        var isToldBusy = false
        while clock.now() < retry.deadline {
            // Between half of it and all: many rooms that were lost at once do not all come back at once.
            let spread = Int64(Double(retry.wait) * (0.5 + environment.random() / 2))
            let wake = min(clock.now() + spread, retry.deadline, playedOutAt ?? .max)
            guard (try? await clock.sleep(until: wake)) != nil, waits(index, generation) else { return }
            retry.wait = min(retry.wait * 2, longest)
            members[index].retry = retry
            if let end = playedOutAt, end <= clock.now() {
                isOver = true
                break
            }
            let endpoint = await environment.current(last)
            do {
                let session = try await openSession(
                    endpoint, name: members[index].name, rejoin: members[index].rejoinToken)
                guard waits(index, generation) else {
                    await session.end(left ? .leave : .stop)
                    return
                }
                return await serially { await takeUpAgain(index, session, generation: generation) }
            } catch {
                reason = RouterError(wrapping: error)
                guard waits(index, generation) else { return }
                if Self.isFinal(reason) { return await giveUp(index, reason) }
                guard reason.code == .routeBusy, !isToldBusy else { continue }
                isToldBusy = true
                await notice(
                    .warning, "\(members[index].name): it answers again, and is busy",
                    hint: "It may still hold the connection that was lost, until it notices in a minute or two; it is "
                        + "tried on", member: index)
            }
        }
        guard waits(index, generation) else { return }
        var given = error
        let limit =
            isOver ? "by the end of the music" : "within \(ResumePolicy.windowNanoseconds / 60_000_000_000) minutes"
        given.message = "the connection was lost, and it did not come back \(limit) (\(reason.message))"
        given.hint = reason.hint
        await giveUp(index, given)
    }

    /// From the beginning, but for a room that has come back only a moment ago.
    private func retry(of index: Int) -> ResumePolicy.Retry {
        if let retry = members[index].retry, let back = members[index].backSince,
            clock.now() - back < ResumePolicy.steadyNanoseconds
        {
            return retry
        }
        return ResumePolicy.Retry(deadline: clock.now() + ResumePolicy.windowNanoseconds)
    }

    /// Whether nothing goes on by itself where a room is lost.
    private var waitsForRooms: Bool {
        !members.contains { $0.takesPart && $0.endpoint?.capabilities.has(.continuesWithoutSender) ?? false }
    }

    /// When the queue is over, with nobody there to hear it; nil where it does not come to an end so.
    private var playedOutAt: Int64? {
        guard mediaState == .playing, run != nil, waitsForRooms, !members.contains(where: { $0.alive }),
            let place = estimate(at: clock.now()), place.rate > 0,
            let length = queue.item(place.item)?.end ?? place.duration, queue.item(after: place.item) == nil
        else { return nil }
        return place.instant + Int64(Double((length - place.time).nanoseconds) / place.rate)
    }

    /// Nobody hears it: whoever is back soon comes in on the beat. After that what was played to nobody would be missed,
    /// and it is gone on with where it was lost; but for what is live.
    private func waitForRooms(_ lost: PushRun, since instant: Int64) async {
        guard let timeline = lost.timeline, (try? await clock.sleep(until: instant + beatNanoseconds)) != nil else {
            return
        }
        await serially {
            guard !ended, !ending, aloneSince == instant, mediaState == .playing, waitsForRooms,
                !members.contains(where: { $0.alive }), let run, run.number == lost.number, run.timeline == timeline,
                let place = run.place(of: run.frame(at: instant)), let item = queue.item(place.item),
                await !isLive(item), !members.contains(where: { $0.alive }), !ended
            else { return }
            self.run = nil
            runCount += 1
            queue.select(item.id)
            anchor = PlaybackAnchor(
                item: item.id, time: place.time, instant: clock.now(), rate: 0, quality: .exact,
                duration: item.metadata.duration)
            await publish()
            await remember()
        }
    }

    func isLive(_ item: QueueItem) async -> Bool {
        if case .live = item.source { return true }
        return (try? await environment.media.facts(item.source))?.live ?? false
    }

    /// Whether the room still is to be tried again, and nobody else does.
    func waits(_ index: Int, _ generation: Int) -> Bool {
        !ended && !ending && members[index].phase == .suspended && members[index].generation == generation
    }

    /// What no waiting helps against.
    static func isFinal(_ error: RouterError) -> Bool {
        [.authFailed, .authRequired, .pairingDenied, .unsupported, .configuration, .cancelled].contains(error.code)
    }

    private func giveUp(_ index: Int, _ error: RouterError) async {
        members[index].phase = .failed
        members[index].error = error
        members[index].generation += 1
        await notice(.error, "\(members[index].name): \(error.message)", hint: error.hint, member: index)
        await endIfNobodyPlays()
        await publish()
    }

    /// The room is connected again, in the lane of commands: what it plays is taken up, or it is made to play.
    private func takeUpAgain(_ index: Int, _ session: any RouteSession, generation: Int) async {
        guard waits(index, generation) else { return await session.end(left ? .leave : .stop) }
        await reopened(index, session)
        guard members[index].alive, !ended else { return }
        // The timeline has the say, and does not stand still for one that had been readied only.
        if members[index].pull != nil, !alivePush.isEmpty {
            switch members[index].latest.media {
            case .paused: await catchUp(index)
            case .loading, .buffering: members[index].mayBeReadied = true
            default: break
            }
        }
        members[index].backSince = clock.now()
        await notice(.info, "\(members[index].name): connected again", member: index)
        await publish()
        await remember()
        fillWindows()
    }

    /// Takes a session that was opened with a rejoin token into the room.
    ///
    /// - Parameter isServedAnyhow: wherever the device fetches from, it does so well.
    func reopened(_ index: Int, _ session: any RouteSession, isServedAnyhow: Bool = false) async {
        let cutOff = members[index].cutOff
        // After a crash what is missing there may be our own edit, half made: nothing is taken for another's removal.
        let held = started ? members[index].window : nil
        let first = await current(of: session) ?? RouteSessionUpdate()
        opened(index, session)
        members[index].volumeIsOld = members[index].volume != nil
        let generation = members[index].generation
        defer { jobs.add { [self] in await follow(index, session, generation: generation) } }
        // It keeps nothing of ours.
        guard members[index].push == nil else { return await loadBack(index) }
        var known = first.loaded.flatMap { item(of: $0) }.flatMap { queue.item($0) }
        // A clip that was announced there is no other sender's item.
        if known == nil, let token = first.loaded, !clips.contains(token) {
            known = await foreign(token, in: first, of: index)
        }
        let servedElsewhere = isServedAnyhow ? false : await isServedElsewhere(known, as: first, in: index)
        if let token = first.loaded, !cutOff, !servedElsewhere, let item = known {
            members[index].phase = .playing
            members[index].heard = true
            members[index].latest = first
            members[index].loaded = (item.id, token)
            members[index].itemEnded = false
            let passed = held?.firstIndex(of: token)
            members[index].window = passed.flatMap { place in held.map { Array($0[(place + 1)...]) } } ?? held
            if let mode = first.repeatMode { members[index].deviceRepeat = mode }
            if index == alivePull.first, alivePush.isEmpty { await sessionMoves(to: item.id, with: first) }
            return await takeUp(index)
        }
        if first.loaded == nil || first.media == .none || first.media == .stopped, let other = first.foreign {
            // Somebody else has the device by now, and is not to be displaced unasked.
            members[index].phase = .playing
            return await memberLost(
                index,
                RouterError(
                    .commandSuperseded, "\(members[index].name) plays “\(other)” by now",
                    hint: "Play again to take it back", scope: .route))
        }
        // Nothing of ours is there: it is played on from where it would be by now.
        if members.indices.allSatisfy({ $0 == index || !members[$0].alive }) { moveToEstimate(at: clock.now()) }
        await loadBack(index)
    }

    /// Loads a room that has come back: its session is a new one, and was never told a volume.
    private func loadBack(_ index: Int) async {
        await load(index)
        if members[index].phase == .playing, !ended { await settleVolume(index, asked: false, isBack: true) }
    }

    /// Whether the device fetches from an address of ours that is none any more: another port, another network.
    private func isServedElsewhere(_ item: QueueItem?, as update: RouteSessionUpdate, in index: Int) async -> Bool {
        guard let item, case .file = item.source, let requirements = members[index].pull, let token = update.loaded,
            let url = update.window?.first(where: { $0.token == token })?.url,
            let media = try? await environment.media.publish(item, token: token, for: requirements)
        else { return false }
        guard media.url != url else { return false }
        if let position = update.position {
            anchor = PlaybackAnchor(
                item: item.id, time: position.time, instant: position.instant, rate: position.rate,
                quality: .deviceReported, duration: position.duration)
        }
        return true
    }

    /// An item that another sender has put there while we were away.
    private func foreign(_ token: MediaToken, in update: RouteSessionUpdate, of index: Int) async -> QueueItem? {
        guard let entry = update.window?.first(where: { $0.token == token }), entry.url != nil,
            let current = members[index].loaded?.item ?? queue.current
        else { return nil }
        let items = await adopted([entry])
        queue.adopt(items, after: current, removing: [])
        return items.first
    }

    /// Where playing would be at an instant, over item borders too: a device with a queue of its own would have gone on.
    private func estimate(at instant: Int64) -> PlaybackAnchor? { reach(at: instant)?.place }

    /// - Returns: also how many borders of items are passed until then.
    private func reach(at instant: Int64) -> (place: PlaybackAnchor, borders: Int)? {
        guard let old = anchor, let begun = queue.item(old.item) else { return nil }
        var item = begun
        var time = old.time + MediaTime(nanoseconds: Int64(Double(max(0, instant - old.instant)) * old.rate))
        var duration = old.duration ?? item.metadata.duration
        var borders = 0
        // An item that begins at its end, again and again, would take no time.
        while let length = item.end ?? duration, length > .zero, time >= length, let next = queue.item(after: item.id),
            next.start < length
        {
            time = time - length + next.start
            item = next
            duration = next.metadata.duration
            borders += 1
        }
        if let length = duration { time = min(time, length) }
        let place = PlaybackAnchor(
            item: item.id, time: max(.zero, time), instant: instant, rate: old.rate, quality: .estimated,
            duration: duration)
        return (place, borders)
    }

    private func moveToEstimate(at instant: Int64) {
        guard let place = estimate(at: instant) else { return }
        queue.select(place.item)
        anchor = place
    }

    /// Where rooms that are sent to begin at this instant, what plays by then may be the next item, or the same once more:
    /// it is what plays from here on. True where it is; rooms that fetch play the one before still.
    func moveOnBefore(_ instant: Int64) -> Bool {
        guard mediaState == .playing, let reach = reach(at: instant), reach.borders > 0 else { return false }
        moveToEstimate(at: instant)
        return true
    }

    /// Has rooms that fetch play what the rooms play that are sent to.
    ///
    /// - Parameter all: also those that play the same item: it has begun once more since.
    func bringAlong(all: Bool) async {
        guard alivePush.contains(where: { members[$0].phase == .playing }), run?.timeline != nil else { return }
        await loadWhoIsElsewhere(all: all)
    }

    /// Loads rooms that fetch and play something else than what plays.
    func loadWhoIsElsewhere(all: Bool = false) async {
        for other in alivePull {
            let member = members[other]
            guard !ended, member.phase == .playing, !member.isShared, !member.loading, let item = member.loaded?.item,
                all || item != queue.current
            else { continue }
            await load(other)
        }
    }

    /// Whether the queue is over by then, but for what no decoder would give a frame of.
    func isOver(by instant: Int64) -> Bool {
        guard mediaState == .playing, let place = estimate(at: instant), let item = queue.item(place.item),
            queue.item(after: item.id) == nil, let length = item.end ?? place.duration
        else { return false }
        return length > .zero && (length - place.time).seconds < leastSeconds
    }

    private var leastSeconds: Double { 0.1 }

    // MARK: After a crash of the process

    /// Takes up what another process was playing: the rooms were made from its record. Throws when no room comes back.
    func startAgain(_ record: SessionRecord, tokens known: [ItemID: MediaToken]) async throws {
        isTakenUp = true
        tokens = known
        mediaState = record.playing ? .playing : .paused
        clips = record.clips ?? []
        leftMoving = record.moving ?? []
        takeAnchor(record)
        queue.recall(record.played ?? [])
        await takeVolumes(record)
        // A device that has forgotten it tells another one as soon as it is open.
        let written = members.map(\.volume)
        if let current = queue.current { jobs.add { [self] in await learnFacts(of: current) } }
        await publish()
        do {
            try await serially {
                await withDiscardingTaskGroup { group in
                    for index in members.indices { group.addTask { await self.openAgain(index) } }
                }
                // A device that was there before the speakers, and had been readied to begin with them, has no say.
                if record.playing, !alivePush.isEmpty, mediaState != .playing {
                    mediaState = .playing
                    takeAnchor(record)
                }
                await keepNormalSpeed()
                await beginAgain()
                await beginReadied(record)
                guard !ended, members.contains(where: { $0.alive || $0.phase == .finished }) else {
                    throw members.compactMap(\.error).first.map(Self.stillHeld)
                        ?? RouterError(.cancelled, "stopped before it played", scope: .session)
                }
                started = true
                await resumeHistory()
                await tryOthersAgain()
                await settleAgain(written)
                await recallVolumes()
                keepPlace()
                await remember()
                await publish()
                fillWindows()
            }
        } catch {
            // It may come back yet: what is known of it is kept.
            await finish(.error, leaving: true)
            throw RouterError(wrapping: error)
        }
        await endIfNobodyPlays()
    }

    /// A room that it was being moved to plays it no more, or something else.
    func isNotLeft(in route: RouteID) async {
        leftMoving.removeAll { $0.route == route }
        await remember()
    }

    /// The clock that the position grew by goes on over a restart, but not over one of the machine: a position beyond
    /// the item's end, or from the future, is not believed.
    private func takeAnchor(_ record: SessionRecord) {
        guard let item = queue.item(queue.current) else { return }
        let now = clock.now()
        // A place in another item is not one in this.
        let position = record.item == item.id ? record.position : item.start
        let saved = PlaybackAnchor(
            item: item.id, time: position, instant: now, rate: record.playing ? record.rate : 0,
            quality: .estimated, duration: item.metadata.duration)
        // What had just been begun is heard a lead later, and the next process may be there before that.
        guard let old = record.anchor, old.item == item.id, old.instant <= now + futureAnchorNanoseconds else {
            anchor = saved
            return
        }
        let elapsed = MediaTime(nanoseconds: Int64(Double(now - old.instant) * old.rate))
        let isOver = old.duration.map { old.time + elapsed >= $0 } ?? true
        // Where nothing went on by itself, what was heard last is near what was written last.
        let goesOn = members.contains { $0.endpoint?.capabilities.has(.continuesWithoutSender) ?? false }
        let written = old.instant + Int64(Double((position - old.time).nanoseconds) / max(old.rate, 0.5))
        anchor = isOver || (!goesOn && old.rate != 0 && now - written > beatNanoseconds) ? saved : old
        anchor?.quality = .estimated
    }

    /// A receiver notices late, or not at all, that its sender has gone without a word.
    private static func stillHeld(_ error: RouterError) -> RouterError {
        guard error.code == .routeBusy else { return error }
        var error = error
        error.hint = "It may still wait for the sender that has gone: try again in two minutes"
        error.retry = .later
        return error
    }

    /// Rooms that are sent to have kept nothing: they begin together, where it would be by then.
    private func beginAgain() async {
        let push = alivePush
        guard !push.isEmpty, !ended else { return }
        let plays = mediaState == .playing
        let instant = earliestStart(push)
        if isOver(by: instant) {
            for index in push { members[index].phase = .finished }
            return
        }
        let hasMovedOn = moveOnBefore(instant)
        if alivePull.isEmpty { moveToEstimate(at: plays ? instant : clock.now()) }
        guard let item = queue.item(queue.current) else { return }
        do {
            run = try await makeRun(item, start: anchor?.position(at: instant) ?? item.start)
        } catch {
            for index in push { await loadFailed(index, RouterError(wrapping: error)) }
            return
        }
        guard plays else {
            await withDiscardingTaskGroup { group in
                for index in push { group.addTask { await self.loadPush(index, fromFrame: 0) } }
            }
            return anchorToRun()
        }
        await begin(push, fromFrame: 0, loading: true, at: instant)
        if hasMovedOn { await bringAlong(all: true) }
    }

    /// Rooms that fetch and had been loaded, to begin with the others or at a place, and were not begun: the process was
    /// gone before. So are those beside a timeline that play another item. Where nobody has the say but they, one that is paused anywhere else was paused by somebody.
    private func beginReadied(_ record: SessionRecord) async {
        guard !ended else { return }
        for index in alivePull {
            // The timeline has the say: what was about to be played instead is not known any more.
            if !alivePush.isEmpty, let item = members[index].loaded?.item, item != queue.current {
                await loadBack(index)
                continue
            }
            guard record.playing else { continue }
            switch members[index].latest.media {
            case .paused: await begin(readied: index, record)
            case .loading, .buffering:
                members[index].mayBeReadied = true
                readied = record
            default: break
            }
        }
    }

    /// False where it had not been readied: somebody has paused it.
    @discardableResult
    private func begin(readied index: Int, _ record: SessionRecord) async -> Bool {
        if alivePush.isEmpty {
            let begun = [record.anchor?.time, queue.item(queue.current)?.start].compactMap { $0 }
            guard let place = members[index].latest.position?.time,
                begun.contains(where: { abs(($0 - place).seconds) < readiedTolerance })
            else { return false }
            mediaState = .playing
            takeAnchor(record)
        }
        await catchUp(index)
        return true
    }

    /// Somebody has said what is to be.
    func forgetReadied() {
        readied = nil
        for index in members.indices { members[index].mayBeReadied = false }
    }

    /// A room has filled its buffer, and is paused.
    func beginReadied(_ index: Int) async {
        await serially {
            guard !ended, members[index].phase == .playing, members[index].latest.media == .paused,
                mediaState != .paused
            else { return }
            if let readied {
                guard await !begin(readied: index, readied) else { return }
                await takeUp(index)
                await publish()
            } else {
                // The timeline has the say.
                await catchUp(index)
            }
        }
    }

    /// Seconds from where it was told to begin, within which a device has not begun.
    private var readiedTolerance: Double { 0.3 }

    /// Devices that are sent to have forgotten how loud they were told to be.
    private func settleAgain(_ written: [VolumeState?]) async {
        for index in alivePush where members[index].phase == .playing {
            // Who has set it meanwhile has had that kept; what the device told has not been yet.
            let last = (try? await environment.store.volume(of: members[index].route)) ?? nil
            let before = last ?? (written.indices.contains(index) ? written[index] : nil)
            await settleVolume(index, asked: false, isBack: true, before: before)
        }
    }

    /// With one room back, the others are not given up at once.
    private func tryOthersAgain() async {
        for index in members.indices where members[index].phase == .failed && members[index].session == nil {
            guard let error = members[index].error, !Self.isFinal(error) else { continue }
            members[index].error = nil
            await suspend(index, error)
        }
    }

    /// Writes now and then where it has come to. After a crash nothing else tells it of what is sent, and after a loss of
    /// power of anything.
    func keepPlace() {
        guard !keepsPlace else { return }
        keepsPlace = true
        let clock = clock
        jobs.add { [self] in
            repeat {
                let period = await self.isSent ? savePeriodNanoseconds : fetchedSavePeriodNanoseconds
                guard (try? await clock.sleep(nanoseconds: period)) != nil else { return }
                await self.rememberPlace()
            } while true
        }
    }

    private var isSent: Bool { !alivePush.isEmpty }

    private func rememberPlace() async {
        if mediaState == .playing { await remember() }
    }

    private func openAgain(_ index: Int) async {
        guard let last = members[index].endpoint else { return }
        let endpoint = await environment.current(last)
        do {
            let session = try await openSession(
                endpoint, name: members[index].name, rejoin: members[index].rejoinToken)
            guard !ended else { return await session.end(left ? .leave : .stop) }
            if case .push = session.descriptor.delivery {
                // All of them begin together, once the last is there.
                opened(index, session)
                let generation = members[index].generation
                jobs.add { [self] in await follow(index, session, generation: generation) }
            } else {
                await reopened(index, session)
            }
        } catch {
            members[index].phase = .failed
            members[index].error = RouterError(wrapping: error)
        }
    }
}
