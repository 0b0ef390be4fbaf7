import RouteBackend
import RouteModel

/// Announcements over what plays on, less loud (`model.md` section 9). Rooms that are sent to can, where all of them are
/// to hear it: they play from one feed, and the clip is mixed into that.
extension PlaybackSession {
    /// How loud what plays is under a clip: 12 dB down.
    private static let duckedShare = 0.25

    /// Says it over what plays, and returns when it has been heard. Nothing is to be restored after it.
    ///
    /// - Returns: nil where that cannot be done here, and nothing was; else how it went.
    func duck(_ clip: Clip, on routes: Set<RouteID>) async -> Result<Void, RouterError>? {
        guard canDuck(on: routes), let run else { return nil }
        let feed = try? await environment.media.feed(
            FeedItem(item: clip.item.id, source: clip.item.source, start: clip.item.start),
            events: FeedEvents(next: { _ in nil }, started: { _, _, _ in }, ended: { _, _, _ in }))
        guard let feed, canDuck(on: routes), self.run?.number == run.number,
            let frames = try? await run.feed.overlay(feed, lowering: Self.duckedShare)
        else { return nil }
        // Whatever moves what plays takes the clip with it.
        while clock.now() < clip.deadline {
            guard !ended, !ending, let now = self.run, now.number == run.number, mediaState == .playing,
                let timeline = now.timeline
            else { return .failure(ClipRun.overruled) }
            let end =
                timeline.instant(ofFrame: frames.upperBound, sampleRate: now.feed.sampleRate)
                + (alivePush.map { members[$0].offsetNanoseconds }.max() ?? 0)
            if end <= clock.now() { return .success(()) }
            // Looked at anew now and then: a pause, a seek or a skip ends it.
            let wake = min(end, clip.deadline, clock.now() + Self.duckingPeriodNanoseconds)
            guard (try? await clock.sleep(until: wake)) != nil else { return .failure(ClipRun.cutOff) }
        }
        return .failure(ClipRun.cutOff)
    }

    private static let duckingPeriodNanoseconds: Int64 = 200_000_000

    private func canDuck(on routes: Set<RouteID>) -> Bool {
        guard started, !ended, !ending, announcement == nil, mediaState == .playing, run?.timeline != nil,
            alivePull.isEmpty, !alivePush.isEmpty
        else { return false }
        return alivePush.allSatisfy { routes.contains(members[$0].route) }
    }
}
