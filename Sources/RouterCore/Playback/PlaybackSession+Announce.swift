import RouteBackend
import RouteModel

/// What was interrupted, to be gone on with exactly (`model.md` section 9).
struct ParkedPlay: Sendable {
    var title: String
    /// The rooms that are talked over.
    var rooms: [Int]
    /// None but these played.
    var whole: Bool
    var plays: Bool
    /// The clip has a volume of its own.
    var ownVolume: Bool
    /// What the rooms go back to.
    var volumes: [Int: VolumeState]
    /// What they are told for the clip.
    var clipVolumes: [Int: VolumeState] = [:]
    var run: Int?
    var version: Int
    /// Each ends the clip in one room.
    var cuts: [Int: AsyncStream<Void>.Continuation] = [:]
    /// What a person has asked for meanwhile.
    var overruledBy: RemoteCommand?
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// Other announcements that wait for its end.
    var next: [AsyncStream<Void>.Continuation] = []
}

/// Announcements over what plays: its rooms lend their connections, and take up after it what they played before.
extension PlaybackSession {
    struct LentRoom: Sendable {
        var index: Int
        var route: RouteID
        var room: ClipRoom
        var cut: AsyncStream<Void>.Continuation
    }

    /// Whether something is heard in any of these rooms now.
    func plays(on routes: Set<RouteID>) -> Bool {
        mediaState != .paused && members.contains { $0.alive && routes.contains($0.route) }
    }

    /// Of these, the routes that it could lend.
    func lendable(on routes: Set<RouteID>) -> Set<RouteID> {
        guard !ended, !ending else { return [] }
        return Set(members.filter { $0.alive || $0.phase == .opening || $0.phase == .waiting }.map(\.route))
            .intersection(routes)
    }

    /// What those rooms are called.
    func names(on routes: Set<RouteID>) -> [String] {
        members.filter { $0.takesPart && !$0.isOver && routes.contains($0.route) }.map(\.name)
    }

    /// Stops what plays in these rooms at its place. Empty where nothing of it plays there any more; nil while something
    /// else is announced over it.
    ///
    /// - Parameter volume: how loud it is to be said; nil as loud as it is.
    func park(_ routes: Set<RouteID>, for clip: Clip, volume: VolumePosition?) async -> [LentRoom]? {
        await serially { announcement == nil ? await parkAlone(routes, for: clip, volume: volume) : nil }
    }

    /// Returns when nothing is announced over it, or when cancelled.
    func announcementPasses() async {
        guard announcement != nil else { return }
        let (over, continuation) = AsyncStream.makeStream(of: Void.self)
        announcement?.next.append(continuation)
        for await _ in over {}
    }

    private func parkAlone(
        _ routes: Set<RouteID>, for clip: Clip, volume: VolumePosition?
    ) async -> [LentRoom] {
        guard started, !ended, !ending, !playing(on: routes).isEmpty else { return [] }
        let plays = mediaState != .paused
        let whole = members.allSatisfy { !$0.alive || routes.contains($0.route) }
        // What cannot be paused, as some live streams, is gone on with where it is by then.
        if whole, plays { _ = try? await pause() }
        let rooms = playing(on: routes)
        guard !ended, !ending, !rooms.isEmpty else {
            if !ended, !ending, whole, plays { _ = try? await resume() }
            return []
        }
        var volumes: [Int: VolumeState] = [:]
        for index in rooms { volumes[index] = members[index].volume }
        announcement = ParkedPlay(
            title: clip.title, rooms: rooms, whole: whole, plays: plays, ownVolume: volume != nil, volumes: volumes,
            run: run?.number, version: queue.version)
        let lent = rooms.compactMap { lend($0, volume) }
        announcement?.cuts = Dictionary(lent.map { ($0.index, $0.cut) }, uniquingKeysWith: { first, _ in first })
        clips = clips.suffix(Self.knownClips - 1) + [clip.token]
        await publish()
        // A process that is killed from here on leaves the clip on devices that fetch, and the next one is to know it.
        if rooms.contains(where: { members[$0].pull != nil }) { await remember() }
        return lent
    }

    private static let knownClips = 4

    private func playing(on routes: Set<RouteID>) -> [Int] {
        members.indices.filter { members[$0].alive && routes.contains(members[$0].route) }
    }

    private func lend(_ index: Int, _ volume: VolumePosition?) -> LentRoom? {
        guard let session = members[index].session else { return nil }
        let (updates, continuation) = AsyncStream.makeStream(
            of: RouteSessionUpdate.self, bufferingPolicy: .bufferingNewest(1))
        members[index].phaseHeld = members[index].phase
        members[index].phase = .held
        members[index].clipNews = continuation
        let (cut, cutting) = AsyncStream.makeStream(of: Void.self)
        let limit = limit(of: index)
        let target = volume.flatMap { wanted in
            members[index].volumeCanBeSet ? VolumeState(level: limit.map { min($0, wanted) } ?? wanted) : nil
        }
        announcement?.clipVolumes[index] = target
        let generation = members[index].generation
        return LentRoom(
            index: index, route: members[index].route,
            room: ClipRoom(
                name: members[index].name, session: session, offsetNanoseconds: members[index].offsetNanoseconds,
                volume: target, updates: updates, cut: cut,
                call: { [self] body in try await call(index, session) { try await body($0) } },
                loadReturned: { [self] in await clipLoadReturned(index, generation) },
                tellVolume: { [self] volume in await tellClipVolume(volume, to: index, session) }),
            cut: cutting)
    }

    /// What the device said of the clip before our next load is no news of our queue.
    private func clipLoadReturned(_ index: Int, _ generation: Int) {
        if members[index].generation == generation { members[index].calls += 1 }
    }

    /// What is said back of it is no turn of the knob.
    private func tellClipVolume(_ volume: VolumeState, to index: Int, _ session: any RouteSession) async {
        guard members[index].isLent, announcement?.clipVolumes[index] != nil else { return }
        let generation = members[index].generation
        let told = members[index].deviceVolume(volume)
        members[index].echo.writes(told, after: members[index].volume.map(members[index].deviceVolume))
        try? await call(index, session) { try await $0.setVolume(told) }
        if members[index].generation == generation { members[index].echo.returned(at: clock.now()) }
    }

    /// Whether a room says how loud the clip is that is announced there, however late it says so.
    func isOfClip(_ reading: VolumeState, step: Double, in index: Int) -> Bool {
        guard members[index].isLent,
            let clip = announcement?.clipVolumes[index].map(members[index].deviceVolume)
        else { return false }
        return clip.muted == reading.muted && abs(clip.level.value - reading.level.value) <= step + 1e-9
    }

    // MARK: A person's word meanwhile

    /// A command that moves what is talked over ends that, and waits until all is as before.
    ///
    /// - Returns: whether the command is done by that: what was to be paused is not begun again.
    func overruleAnnouncement(by command: RemoteCommand) async -> Bool {
        guard announcement != nil, Self.overrules(command) else { return false }
        let pauses = announcement.map { $0.plays && $0.whole } ?? false && (command == .pause || command == .toggle)
        if announcement?.overruledBy == nil { announcement?.overruledBy = command }
        let isFirst = announcement?.overruledBy == command
        await announcementIsOver()
        return pauses && isFirst && mediaState == .paused
    }

    /// Ends what is announced over it, and returns when all is as before.
    func announcementIsOver() async {
        guard announcement != nil else { return }
        cutAnnouncement()
        await withCheckedContinuation { continuation in
            if announcement == nil { continuation.resume() } else { announcement?.waiting.append(continuation) }
        }
    }

    func cutAnnouncement() { announcement?.cuts.values.forEach { $0.finish() } }

    /// Before rooms that are talked over are let go: their devices are as loud as they were. One that does not take it
    /// soon is not waited for.
    func giveBackVolumes(of rooms: [Int]) async {
        guard announcement?.ownVolume ?? false else { return }
        let (given, continuation) = AsyncStream.makeStream(of: Void.self)
        var remaining = 0
        for index in rooms {
            guard let session = members[index].session, let volume = announcement?.volumes[index],
                announcement?.clipVolumes.removeValue(forKey: index) != nil
            else { continue }
            let told = members[index].deviceVolume(volume)
            let isTaken = jobs.add { [self] in
                try? await call(index, session) { try await $0.setVolume(told) }
                continuation.yield()
            }
            if isTaken { remaining += 1 }
        }
        guard remaining > 0 else { return }
        let clock = clock
        jobs.add {
            try? await clock.sleep(nanoseconds: Self.givingBackNanoseconds)
            continuation.finish()
        }
        for await _ in given {
            remaining -= 1
            if remaining == 0 { break }
        }
    }

    private static let givingBackNanoseconds: Int64 = 2_000_000_000

    private static func overrules(_ command: RemoteCommand) -> Bool {
        switch command {
        case .play, .pause, .toggle, .stop, .next, .previous, .seek, .seekBy, .rate, .jump, .selectTracks, .skipAd: true
        case .setVolume, .stepVolume, .mute, .setStreamVolume, .shuffle, .toggleShuffle, .repeatMode, .trim,
            .linkVolumes, .fade:
            false
        }
    }

    // MARK: As before

    /// Takes up what was parked, in each room that still is this session's.
    func unpark() async -> [Int: (restored: AnnounceReport.RoomReport.Restored, error: RouterError?)] {
        await serially {
            guard let parked = announcement else { return [:] }
            let lent = parked.rooms.filter { members[$0].isLent }
            if !ended, !ending {
                await restoreVolumes(parked)
                await restore(parked)
            }
            var result: [Int: (restored: AnnounceReport.RoomReport.Restored, error: RouterError?)] = [:]
            for index in parked.rooms { result[index] = judged(index, parked) }
            for index in lent {
                members[index].clipNews?.finish()
                members[index].clipNews = nil
            }
            let waiting = announcement?.waiting ?? []
            let next = announcement?.next ?? []
            announcement = nil
            for continuation in waiting { continuation.resume() }
            for continuation in next { continuation.finish() }
            if !ended, !ending {
                await keepLimits()
                await publish()
                await remember()
                fillWindows()
                await endIfNobodyPlays()
            }
            return result
        }
    }

    private func judged(
        _ index: Int, _ parked: ParkedPlay
    ) -> (restored: AnnounceReport.RoomReport.Restored, error: RouterError?) {
        if ended || ending { return (stopReason == .finished ? .nothing : .overruled, nil) }
        switch members[index].phase {
        case .left: return (.overruled, nil)
        // The queue came to its end meanwhile.
        case .finished: return (.nothing, nil)
        case .failed, .suspended: return (.failed, members[index].error ?? members[index].lostBy)
        default: break
        }
        if parked.overruledBy != nil { return (.overruled, nil) }
        if ownership != .ours { return (.foreign, nil) }
        return (parked.plays ? .resumed : .paused, nil)
    }

    /// Before anything is heard again. What a person has set meanwhile is in `volumes` by now.
    private func restoreVolumes(_ parked: ParkedPlay) async {
        guard parked.ownVolume else { return }
        await withDiscardingTaskGroup { group in
            for index in parked.rooms where members[index].phase == .held && members[index].session != nil {
                guard let volume = announcement?.volumes[index] else { continue }
                group.addTask {
                    guard let error = await self.write(volume, to: index) else { return }
                    await self.notice(
                        .warning,
                        "\(self.name(of: index)): the volume is still that of the announcement (\(error.message))",
                        hint: "Set it again", member: index)
                }
            }
        }
    }

    private func name(of index: Int) -> String { members[index].name }

    private func restore(_ parked: ParkedPlay) async {
        var rooms: [Int] = []
        for index in parked.rooms where members[index].phase == .held {
            // It holds nothing of ours any more, and is alone in saying when it is there again: see `load`.
            members[index].loaded = nil
            members[index].itemEnded = false
            members[index].window = []
            let update = members[index].latest
            guard update.connection == .failed || update.connection == .ended else {
                rooms.append(index)
                continue
            }
            members[index].phase = members[index].phaseHeld
            if update.connection == .failed {
                await memberLost(
                    index, update.error ?? RouterError(.routeLost, "the connection was lost", scope: .route))
            } else {
                await memberLost(
                    index,
                    RouterError(
                        .commandSuperseded, "something else plays there now", hint: "Play again to take it back",
                        scope: .route))
            }
        }
        guard !ended, !rooms.isEmpty else { return }
        if isPlayedOut(besides: rooms) {
            for index in rooms { members[index].phase = .finished }
            return
        }
        defer { takeBack(rooms) }
        let stays = parked.overruledBy == .pause || parked.overruledBy == .toggle
        guard parked.whole, !members.contains(where: \.alive), let item = queue.item(queue.current) else {
            // The others have gone on: these come in where they are.
            for index in rooms { await load(index) }
            // One that came up meanwhile found a pause that was the announcement's own.
            if parked.whole, parked.plays, !stays, parked.overruledBy == nil { _ = try? await resume() }
            return
        }
        let position = anchor.flatMap { $0.item == item.id ? $0.position(at: clock.now()) : nil } ?? item.start
        do {
            try await take(up: item, at: position, in: rooms, playing: parked.plays && !stays, parked)
        } catch {
            let error = RouterError(wrapping: error)
            for index in rooms where members[index].phase == .held {
                members[index].phase = members[index].phaseHeld
                await loadFailed(index, error)
            }
        }
    }

    /// Rooms that could not be brought back to what they played are the session's again, with that item at its end.
    private func takeBack(_ rooms: [Int]) {
        for index in rooms where members[index].phase == .held {
            members[index].phase = members[index].phaseHeld
            let item = members[index].loaded?.item ?? queue.current
            if members[index].push == nil {
                members[index].itemEnded = true
                if let item { jobs.add { [self] in await pullItemEnded(item) } }
            } else if members[index].itemEnded {
                playOnAfterFeed()
            } else {
                jobs.add { [self] in await memberFinished(index) }
            }
        }
    }

    /// Whether the other rooms have heard the queue to its end, and nothing is left that these could come in to.
    private func isPlayedOut(besides rooms: [Int]) -> Bool {
        let others = members.indices.filter { !rooms.contains($0) && members[$0].takesPart }
        return others.contains { members[$0].hasHeardAll || members[$0].itemEnded }
            && others.allSatisfy { members[$0].isOver || (members[$0].alive && members[$0].itemEnded) }
            && (hasGivenUp || queue.item(after: queue.current) == nil)
    }

    private func take(
        up item: QueueItem, at position: MediaTime, in rooms: [Int], playing: Bool, _ parked: ParkedPlay
    ) async throws {
        let push = rooms.filter { members[$0].push != nil }
        let pull = rooms.filter { members[$0].pull != nil }
        mediaState = playing ? .playing : .paused
        if push.isEmpty {
            await withDiscardingTaskGroup { group in
                for index in pull { group.addTask { await self.loadPull(index, at: position, autoplay: playing) } }
            }
            anchor = PlaybackAnchor(
                item: item.id, time: position, instant: clock.now(), rate: 0, quality: .estimated,
                duration: anchor?.duration ?? item.metadata.duration)
            for index in pull where members[index].phase == .playing { await takeUp(index) }
            return
        }
        if await !isKept(parked) { run = try await makeRun(item, start: position) }
        let frame = run?.pausedFrame ?? 0
        await withDiscardingTaskGroup { group in
            for index in pull { group.addTask { await self.loadPull(index, at: position, autoplay: false) } }
        }
        if playing {
            await begin(push, fromFrame: frame, loading: true)
            playWithTimeline(pull)
        } else {
            await withDiscardingTaskGroup { group in
                for index in push { group.addTask { await self.loadPush(index, fromFrame: frame) } }
            }
            anchorToRun()
        }
    }

    /// Whether the feed of before still has the place that it was paused at, and what comes next.
    private func isKept(_ parked: ParkedPlay) async -> Bool {
        guard let run, run.number == parked.run, run.timeline == nil, queue.version == parked.version else {
            return false
        }
        let kept = await run.feed.retained()
        return kept.lowerBound <= run.pausedFrame && self.run?.number == parked.run
    }
}
