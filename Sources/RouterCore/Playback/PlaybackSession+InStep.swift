import RouteBackend
import RouteModel

/// Keeping rooms that fetch in step with the timeline of the others, and gathering them before they go on.
extension PlaybackSession {
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
}
