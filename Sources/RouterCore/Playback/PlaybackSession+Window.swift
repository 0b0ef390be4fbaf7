import RouteBackend
import RouteModel

/// Devices with a queue of their own: they hold the next few items, go on from one to the next without us, and other
/// senders may edit what they hold (`model.md` section 3).
extension PlaybackSession {
    /// Whether devices go on by themselves: every room fetches and has a queue of its own. With a timeline, or a room
    /// that has none, item borders are ours.
    var windowed: Bool {
        ownership == .ours && alivePush.isEmpty && !alivePull.isEmpty
            && alivePull.allSatisfy { members[$0].queuesOnDevice }
    }

    // MARK: Ours to the device

    /// Has every room hold what comes next. Returns at once.
    func fillWindows() {
        guard started, !ended else { return }
        learnUpcoming()
        for index in alivePull where members[index].queuesOnDevice {
            jobs.add { [self] in await fillWindow(index) }
        }
    }

    private func fillWindow(_ index: Int) async {
        members[index].fillAgain = true
        guard !members[index].filling else { return }
        members[index].filling = true
        await fillWindowAlone(index)
        members[index].filling = false
        // What another sender made of it meanwhile was not looked at. What it plays is another matter: after a load that
        // failed that is the item of before.
        let member = members[index]
        guard !ended, member.window != nil, member.phase == .playing, !member.loading, !member.itemEnded,
            member.queuesOnDevice, member.latest.calls >= member.calls
        else { return }
        await adoptWindow(member.latest, of: index)
    }

    private func fillWindowAlone(_ index: Int) async {
        while members[index].fillAgain, !ended {
            members[index].fillAgain = false
            guard ownership == .ours, members[index].phase == .playing, !members[index].loading,
                !members[index].itemEnded, let session = members[index].session, let loaded = members[index].loaded
            else { return }
            let generation = members[index].generation
            // Another sender's longer list is not cut down to our length.
            let length = max(windowLength, members[index].window?.count ?? 0)
            let wanted = windowed ? queue.upcoming(after: loaded.item, count: length) : []
            guard let media = await published(wanted, for: index) else {
                members[index].fillAgain = true
                continue
            }
            let tokens = media.map(\.token)
            // What the device holds is in the queue also for who takes it up after this process was killed: all of it, or,
            // where the device has none of it yet, nothing.
            if tokens != members[index].window { await rememberUnsaved() }
            guard members[index].loaded?.token == loaded.token, members[index].generation == generation else {
                members[index].fillAgain = members[index].generation == generation
                continue
            }
            if tokens == members[index].window { continue }
            await setUpcoming(media, in: index, session, generation: generation, after: loaded.token)
        }
    }

    private func setUpcoming(
        _ media: [PullMedia], in index: Int, _ session: any RouteSession, generation: Int, after current: MediaToken
    ) async {
        let tokens = media.map(\.token)
        let loads = members[index].loads
        var asked = false
        var failure: RouterError?
        do {
            try await call(index, session) { session in
                // A load may have come first, and this list follows something else.
                guard members[index].loaded?.token == current, !members[index].loading else { return }
                asked = true
                try await session.setUpcoming(media)
            }
        } catch {
            failure = RouterError(wrapping: error)
        }
        guard members[index].generation == generation, !ended else { return }
        if asked { members[index].calls += 1 }
        // What was loaded meanwhile has begun another queue, in which nothing of this is.
        guard members[index].loads == loads else {
            members[index].fillAgain = true
            return
        }
        if let failure { return await upcomingFailed(index, failure) }
        guard asked else {
            members[index].fillAgain = true
            return
        }
        // Where it went on meanwhile, what it plays is no longer to come.
        let passed = members[index].loaded.flatMap { loaded in tokens.firstIndex(of: loaded.token) }
        members[index].window = passed.map { Array(tokens[($0 + 1)...]) } ?? tokens
        rememberSoon()
    }

    private func upcomingFailed(_ index: Int, _ error: RouterError) async {
        members[index].window = nil
        // It may tell yet what it holds, and is filled then.
        guard ![.cancelled, .routeLost, .commandSuperseded, .timeout].contains(error.code) else { return }
        // It plays on, item by item.
        members[index].refusesQueue = true
        await notice(
            .info, "\(members[index].name) does not hold a queue (\(error.message)): items follow with a gap",
            member: index)
    }

    /// The items as URLs; nil when one turned out not to play, which is known before the listener hears of it.
    private func published(_ items: [QueueItem], for index: Int) async -> [PullMedia]? {
        guard let requirements = members[index].pull else { return [] }
        var result: [PullMedia] = []
        for item in items {
            let token = await token(for: item)
            do {
                var media = try await publish(item, token: token, for: requirements, in: index)
                media.rate = rate
                result.append(media)
            } catch {
                let error = RouterError(wrapping: error)
                // Where it is not simply passed over, or too many are, it is dealt with in its turn.
                guard [.mediaUnsupported, .mediaNotFound, .itemFailed].contains(error.code), error.retry != .later,
                    (queue.failurePolicy ?? .skip) == .skip, failures.ahead < consecutiveFailureLimit
                else { return result }
                failures.ahead += 1
                await itemFailed(item.id, error)
                // What fails before its turn is not one of those that failed in a row.
                consecutiveFailures = max(0, consecutiveFailures - 1)
                return nil
            }
            jobs.add { [self] in await learnFacts(of: item.id) }
        }
        if !items.isEmpty { failures.ahead = 0 }
        return result
    }

    // MARK: The device's to ours

    /// Takes up what the device tells of its queue.
    func followQueue(_ update: RouteSessionUpdate, of index: Int) async {
        guard members[index].phase == .playing, !members[index].loading, members[index].queuesOnDevice,
            let loaded = members[index].loaded, update.calls >= members[index].calls
        else { return }
        followRepeat(update, of: index)
        guard ownership == .ours else {
            if update.media == .stopped { members[index].itemEnded = true }
            return
        }
        if let token = update.loaded, token != loaded.token, token != members[index].leftPlaying {
            await deviceMoved(index, to: token, update)
        }
        await adoptWindow(update, of: index)
    }

    private func followRepeat(_ update: RouteSessionUpdate, of index: Int) {
        guard let mode = update.repeatMode, mode != members[index].deviceRepeat else { return }
        // Its first word is how it began, which is nobody's wish.
        if members[index].deviceRepeat != nil || mode != .off {
            queue.setRepeat(mode)
            fillWindows()
        }
        members[index].deviceRepeat = mode
    }

    func item(of token: MediaToken) -> ItemID? { tokens.first { $0.value == token }?.key }

    /// The device plays another item of its queue: it has gone on by itself, or another sender has sent it there.
    private func deviceMoved(_ index: Int, to token: MediaToken, _ update: RouteSessionUpdate) async {
        guard let loaded = members[index].loaded else { return }
        if item(of: token) == nil {
            guard let entry = update.window?.first(where: { $0.token == token }), entry.url != nil else {
                return await share(index)
            }
            queue.adopt(await adopted([entry]), after: loaded.item, removing: [])
            await notice(.info, "\(members[index].name): another sender plays “\(Self.title(entry))”", member: index)
        }
        guard let item = item(of: token) else { return await share(index) }
        guard queue.item(item) != nil else {
            // It was taken out of the queue while the device went on to it: what follows takes its place there.
            members[index].itemEnded = true
            members[index].leftPlaying = token
            members[index].window = nil
            playLog.ends(loaded.item)
            jobs.add { [self] in await pullItemEnded(loaded.item) }
            return
        }
        members[index].loaded = (item, token)
        members[index].itemEnded = false
        let passed = members[index].window?.firstIndex(of: token)
        // The first that it held: it has gone on by itself.
        if passed == 0 { playLog.ends(loaded.item) }
        members[index].window = passed.flatMap { place in members[index].window.map { Array($0[(place + 1)...]) } }
        consecutiveFailures = 0
        keepRate(index)
        guard index != alivePull.first else { return await sessionMoves(to: item, with: update) }
        // The first room has the say, and has time to come after.
        let clock = clock
        jobs.add { [self] in
            guard (try? await clock.sleep(nanoseconds: finishPatienceNanoseconds)) != nil else { return }
            await follow(index, to: item)
        }
        fillWindows()
    }

    private func follow(_ index: Int, to item: ItemID) async {
        guard !ended, members[index].phase == .playing, members[index].loaded?.item == item,
            queue.comes(item, after: queue.current)
        else { return }
        await sessionMoves(to: item, with: members[index].latest)
    }

    /// The session's item is another one now, without anything having been loaded.
    func sessionMoves(to item: ItemID, with update: RouteSessionUpdate) async {
        guard queue.current != item, let entry = queue.item(item) else { return fillWindows() }
        failures.hold = nil
        queue.select(item)
        let playing = update.media == .playing || update.media == .loading || update.media == .buffering
        let position = update.position
        anchor = PlaybackAnchor(
            item: item, time: position?.time ?? entry.start, instant: position?.instant ?? clock.now(),
            rate: update.media == .playing ? position?.rate ?? rate : 0,
            quality: position == nil ? .estimated : .deviceReported,
            duration: position?.duration ?? entry.metadata.duration)
        mediaState = playing ? .playing : update.media == .paused ? .paused : mediaState
        jobs.add { [self] in await learnFacts(of: item) }
        await publish()
        await remember()
        fillWindows()
        for index in alivePull where members[index].itemEnded && members[index].loaded?.item != item {
            jobs.add { [self] in await catchUpAfter(item, room: index) }
        }
    }

    /// Rooms that are through with an item while the others have gone on by themselves.
    func catchUpAfter(_ item: ItemID) async {
        for index in alivePull where members[index].itemEnded && members[index].loaded?.item == item {
            jobs.add { [self] in await catchUpAfter(item, room: index) }
        }
    }

    private func catchUpAfter(_ item: ItemID, room index: Int) async {
        await serially {
            guard windowed, members[index].alive, members[index].itemEnded, queue.current != nil,
                members[index].loaded?.item != queue.current
            else { return }
            await load(index)
            fillWindows()
        }
    }

    // MARK: Other senders' edits

    /// Takes over what another sender has made of the device's queue. Ours is never pushed back over it.
    private func adoptWindow(_ update: RouteSessionUpdate, of index: Int) async {
        guard ownership == .ours, windowed, !members[index].filling, let window = update.window,
            let loaded = members[index].loaded, update.loaded == loaded.token,
            let place = window.lastIndex(where: { $0.token == loaded.token })
        else { return }
        let actual = Array(window[(place + 1)...])
        let tokensThere = actual.map(\.token)
        guard let expected = members[index].window else {
            // Not known before: what is ours is taken as it is, and what is not is adopted below.
            members[index].window = tokensThere.filter { item(of: $0) != nil }
            if tokensThere.allSatisfy({ item(of: $0) != nil }) { return fillWindows() }
            return await adopt(actual, instead: members[index].window ?? [], after: loaded.item, of: index)
        }
        if tokensThere != expected { await adopt(actual, instead: expected, after: loaded.item, of: index) }
    }

    private func adopt(
        _ actual: [WindowEntry], instead expected: [MediaToken], after current: ItemID, of index: Int
    ) async {
        guard actual.allSatisfy({ $0.url != nil || item(of: $0.token) != nil }) else { return await share(index) }
        members[index].window = actual.map(\.token)
        let added = actual.filter { item(of: $0.token).flatMap { queue.item($0) } == nil }
        let items = await adopted(actual)
        let gone = Set(expected.filter { token in !actual.contains { $0.token == token } }.compactMap { item(of: $0) })
        guard queue.adopt(items, after: current, removing: gone) else { return fillWindows() }
        var story: [String] = []
        if items.allSatisfy({ $0.addedBy != .otherSender }), gone.isEmpty, !added.isEmpty {
            // All of it is what we had put there ourselves.
            await publish()
            await remember()
            return fillWindows()
        }
        if !added.isEmpty { story.append("added \(added.map { "“\(Self.title($0))”" }.joined(separator: ", "))") }
        if !gone.isEmpty { story.append("removed \(gone.count)") }
        if story.isEmpty { story.append("changed the order") }
        await notice(
            .info, "\(members[index].name): another sender \(story.joined(separator: " and "))", member: index)
        await publish()
        await remember()
        fillWindows()
    }

    /// The entries as items of ours, made where they are new.
    func adopted(_ entries: [WindowEntry]) async -> [QueueItem] {
        var result: [QueueItem] = []
        for entry in entries {
            if let known = item(of: entry.token).flatMap({ queue.item($0) }) {
                result.append(known)
            } else if let url = entry.url {
                let recovered = await ours(entry)
                // Another update may have brought it in meanwhile.
                if let known = item(of: entry.token).flatMap({ queue.item($0) }) {
                    result.append(known)
                    continue
                }
                let item =
                    recovered
                    ?? QueueItem(
                        id: item(of: entry.token) ?? .ulid(milliseconds: UInt64(max(0, clock.now() / 1_000_000))),
                        source: .url(url), metadata: entry.metadata, addedBy: .otherSender)
                tokens[item.id] = entry.token
                await remember(entry.token, of: item)
                result.append(item)
            }
        }
        return result
    }

    /// What a process before this one had put there, and was killed before its queue was written: its token was written
    /// before the device had it.
    private func ours(_ entry: WindowEntry) async -> QueueItem? {
        guard item(of: entry.token) == nil,
            let known = try? await environment.store.mediaTokens().first(where: { $0.token == entry.token }),
            queue.item(known.item) == nil, let url = entry.url
        else { return nil }
        return QueueItem(
            id: known.item, source: known.path.isEmpty ? .url(url) : .file(path: known.path),
            metadata: entry.metadata)
    }

    /// What another sender did has no place in our queue: the device is followed from now on, and not edited any more
    /// until something of ours is loaded there. No item of ours plays meanwhile.
    private func share(_ index: Int) async {
        guard ownership == .ours else { return }
        members[index].isShared = true
        anchor = nil
        playLog.advance(to: clock.now())
        if let current = queue.current { playLog.ends(current, .superseded) }
        await notice(
            .warning, "\(members[index].name): another sender plays something of its own there now",
            hint: "Play again to take it back", member: index)
        await publish()
        await remember()
    }

    private static func title(_ entry: WindowEntry) -> String {
        entry.metadata.title ?? entry.url.map { MediaSource.url($0).label } ?? "something"
    }
}
