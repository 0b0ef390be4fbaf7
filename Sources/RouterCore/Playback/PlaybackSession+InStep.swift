import RouteBackend
import RouteModel

/// Keeping rooms that fetch in step with the timeline of the others, and following who pauses or seeks at one of them.
extension PlaybackSession {
    // MARK: In step

    /// Where a load that is to be heard at `place` is to begin, since it takes the device a while to be heard.
    func loadPlace(_ index: Int, _ item: QueueItem, at place: MediaTime, autoplay: Bool) -> MediaTime {
        guard autoplay, run?.timeline != nil else {
            members[index].step.forgetMove()
            return place
        }
        let found = ahead(place, by: members[index].step.lag(of: .load), in: item) ?? place
        members[index].step.begins(.load, ahead: (found - place).nanoseconds, at: clock.now())
        return found
    }

    /// A place so much later in an item; nil where that is too near to its end, or the end is not known.
    private func ahead(_ place: MediaTime, by nanoseconds: Int64, in item: QueueItem) -> MediaTime? {
        let found = place + MediaTime(nanoseconds: nanoseconds)
        guard let end = item.end ?? item.metadata.duration, found + Self.worthMoving < end else { return nil }
        return found
    }

    /// How much of an item is left at least where a room is moved in it.
    private static let worthMoving = MediaTime(milliseconds: 2000)

    /// A room that fetches, beside a timeline, has news: where it is too far off it is moved there.
    func keepInStep(_ index: Int) {
        guard let timeline = run?.timeline, !isRestarting, !members[index].loading, members[index].movesUnderWay == 0,
            !members[index].isFollowed, !members[index].isBeingMoved, mediaState == .playing,
            members[index].latest.media == .playing,
            members[index].latest.adBreak == nil, members[index].latest.liveWindow == nil,
            let report = members[index].latest.position, let drift = members[index].drift(from: anchor),
            timeline.hostNanoseconds + members[index].offsetNanoseconds <= report.instant,
            members[index].step.plays(
                drift: Int64(drift) * 1_000_000, at: report.instant, now: clock.now()),
            members[index].session?.descriptor.capabilities.has(.seek) ?? false
        else { return }
        members[index].isBeingMoved = true
        // Not here: whoever called may hold the lane.
        jobs.add { [self] in await moveInStep(index, timeline) }
    }

    private func moveInStep(_ index: Int, _ timeline: Timeline) async {
        let isMoved = await serially { await moveInStepAlone(index, timeline) }
        members[index].isBeingMoved = false
        // One that refused is looked at again with its next word.
        if isMoved { keepInStep(index) }
    }

    private func moveInStepAlone(_ index: Int, _ timeline: Timeline) async -> Bool {
        guard !ended, !ending, run?.timeline == timeline, members[index].phase == .playing, !members[index].isFollowed,
            members[index].loaded?.item == queue.current, !members[index].itemEnded,
            let item = queue.item(queue.current), let session = members[index].session,
            let place = heardPosition(in: index),
            let found = ahead(place, by: members[index].step.lag(of: .seek), in: item)
        else { return false }
        members[index].step.begins(.seek, ahead: (found - place).nanoseconds, at: clock.now())
        let outcome = try? await move(index, session) { try await $0.perform(.seek(to: found, resume: true)) }
        // One that refuses is where it was, which is told as its drift and says nothing of what a seek takes.
        guard let outcome, !outcome.isError else {
            members[index].step.forgetMove()
            return false
        }
        return true
    }

    /// As `call`, for what changes whether and where the room plays: news meanwhile, and for a while after, is ours.
    func move<Value: Sendable>(
        _ index: Int, _ session: any RouteSession, _ body: (any RouteSession) async throws -> Value
    ) async throws -> Value {
        members[index].movesUnderWay += 1
        defer {
            members[index].movesUnderWay -= 1
            members[index].movedAt = clock.now()
        }
        return try await call(index, session, body)
    }

    /// Before several rooms go on: those that fetch and are not where the others are, because they go on already or were
    /// paused a moment before the others, are held there.
    func gatherPull() async {
        guard members.count(where: \.alive) > 1, let anchor, let item = queue.item(queue.current),
            item.metadata.duration != nil
        else { return }
        let place = anchor.position(at: clock.now())
        for index in alivePull where members[index].loaded?.item == item.id && !members[index].itemEnded {
            let latest = members[index].latest
            guard latest.liveWindow == nil, latest.adBreak == nil, let position = latest.position,
                members[index].session?.descriptor.capabilities.has(.seek) ?? false
            else { continue }
            let apart = abs((position.time - place).seconds) - Double(abs(members[index].offsetNanoseconds)) / 1e9
            // What it said as it still played is of where it was, not of where it is.
            let isHeld = latest.media == .paused && (position.rate == 0 || position.instant >= commandedAt)
            guard (run != nil && latest.media == .playing) || (isHeld && apart > Self.gathered) else { continue }
            await eachTolerant([index]) { _, session in try await session.perform(.seek(to: place, resume: false)) }
        }
    }

    /// Seconds within which paused rooms are at one place.
    private static let gathered = 0.3

    // MARK: At the device

    /// How long after a command of ours, and after something that somebody may have done at a device, its news are waited
    /// for, in nanoseconds.
    private static let ownNewsNanoseconds: Int64 = 1_000_000_000
    private static let settlingNanoseconds: Int64 = 400_000_000
    /// Seconds from where it was to be that are a seek, and no device's idea of the time.
    private static let leastSeek = 1.5

    /// Whether what a room that fetches has said is somebody's doing at the device, or of another sender: it is done in
    /// the other rooms too, once it is known to last.
    func followsDevice(_ index: Int, _ update: RouteSessionUpdate, after before: RouteSessionUpdate) -> Bool {
        if members[index].isFollowed { return true }
        guard members.count(where: \.alive) > 1, isLeftAlone(index), let loaded = members[index].loaded,
            loaded.item == queue.current, update.loaded == loaded.token, before.loaded == loaded.token,
            let command = deed(update, after: before)
        else { return false }
        members[index].isFollowed = true
        let item = loaded.item
        let moved = members[index].movedAt
        let clock = clock
        jobs.add { [self] in
            let slept: Void? = try? await clock.sleep(nanoseconds: Self.settlingNanoseconds)
            await settled(command, of: item, in: index, inTime: slept != nil, since: moved)
        }
        return true
    }

    /// Whether what a room says now can be no consequence of what we do, or have just done.
    private func isLeftAlone(_ index: Int) -> Bool {
        let member = members[index]
        guard member.phase == .playing, !member.isShared, !member.loading, member.movesUnderWay == 0, !isRestarting,
            announcement == nil
        else { return false }
        // Held ready, it waits for the timeline to begin.
        if let begins = run?.timeline?.hostNanoseconds,
            clock.now() - begins - member.offsetNanoseconds < Self.ownNewsNanoseconds
        {
            return false
        }
        guard let moved = member.movedAt else { return true }
        return clock.now() - moved > Self.ownNewsNanoseconds
    }

    private func settled(
        _ command: RemoteCommand, of item: ItemID, in index: Int, inTime: Bool, since moved: Int64?
    ) async {
        members[index].isFollowed = false
        guard inTime, !ended, !ending, members[index].phase == .playing else { return }
        if queue.current == item, members[index].movesUnderWay == 0, members[index].movedAt == moved,
            let command = lasting(command, in: index)
        {
            hears(command, from: index)
        } else {
            // What was not looked at meanwhile.
            await takeUp(index)
            await publish()
        }
    }

    /// What somebody did, by two things that a device said in a row.
    private func deed(_ update: RouteSessionUpdate, after before: RouteSessionUpdate) -> RemoteCommand? {
        let moving: [MediaState] = [.playing, .buffering]
        switch mediaState {
        case .playing, .buffering:
            if moving.contains(before.media), update.media == .paused { return .pause }
        case .paused:
            if before.media != .playing, update.media == .playing { return .play }
        default: return nil
        }
        guard moving.contains(before.media) || before.media == .paused,
            moving.contains(update.media) || update.media == .paused, update.adBreak == nil, before.adBreak == nil,
            update.liveWindow == nil, queue.item(queue.current)?.metadata.duration != nil, let was = before.position,
            let position = update.position, position != was, position.instant >= was.instant
        else { return nil }
        let rate = before.media == .playing ? was.rate : 0
        let expected = was.time.seconds + rate * Double(position.instant - was.instant) / 1e9
        // One that had nothing to play for a while is behind, and may not say why: back is only what lies before the place
        // that it told last.
        let isSeek =
            position.time.seconds > expected + Self.leastSeek
            || position.time.seconds < was.time.seconds - Self.leastSeek
        return isSeek ? .seek(to: position.time) : nil
    }

    /// The command, where what the device says still bears it out.
    private func lasting(_ command: RemoteCommand, in index: Int) -> RemoteCommand? {
        let latest = members[index].latest
        switch command {
        case .pause:
            return latest.media == .paused && (mediaState == .playing || mediaState == .buffering) ? command : nil
        case .play: return latest.media == .playing && mediaState == .paused ? command : nil
        default:
            guard let position = latest.position, let anchor else { return nil }
            let rate = latest.media == .playing ? position.rate : 0
            let now = clock.now()
            let place = position.time.seconds + rate * Double(now - position.instant) / 1e9
            guard abs(place - anchor.position(at: now - members[index].offsetNanoseconds).seconds) > Self.leastSeek
            else { return nil }
            return .seek(to: MediaTime(seconds: max(0, place)))
        }
    }
}
