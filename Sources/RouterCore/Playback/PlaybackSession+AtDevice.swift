import RouteBackend
import RouteModel

/// Following who pauses, goes on or seeks at one of several rooms that fetch, by a remote or another sender: the others do
/// it too (C17, A10).
extension PlaybackSession {
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
