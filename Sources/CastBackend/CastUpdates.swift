import CastV2
import RouteBackend
import RouteModel

/// Turns what is known of the device into the contract's updates. Pure.
struct CastUpdates: Sendable {
    var errors: CastErrors

    func update(_ state: CastSessionState, loaded: CastLoaded?) -> RouteSessionUpdate {
        var update = RouteSessionUpdate(loaded: loaded?.token)
        if let volume = state.receiver?.volume, let level = volume.level {
            update.volume = VolumeState(level: VolumePosition(level), muted: volume.muted ?? false)
        }
        if let loaded { media(state, loaded, into: &update) }
        switch state.app {
        case .none: update.foreign = state.receiver?.activeApplication.map(Self.label)
        case .running(let app): foreignMedia(state, app, loaded, into: &update)
        case .gone(let other):
            // Somebody took the device, or closed the app. The device itself is well.
            update.connection = .ended
            if update.media != .none { update.media = .stopped }
            update.position?.rate = 0
            update.stopReason = other == nil ? update.stopReason ?? .cancelled : .superseded
            update.foreign = other.map(Self.label)
        }
        if case .closed(let reason) = state.connection {
            update.position = nil
            if reason == .ended {
                update.connection = .ended
            } else {
                update.connection = .failed
                update.stopReason = .deviceGone
                update.error = errors.lost(reason)
            }
        }
        return update
    }

    private func media(_ state: CastSessionState, _ loaded: CastLoaded, into update: inout RouteSessionUpdate) {
        if let failure = loaded.failure {
            update.media = .stopped
            update.stopReason = .error
            update.error = failure
            return
        }
        guard let id = loaded.mediaSessionID, let status = state.media[id] else {
            update.media = .loading
            return
        }
        update.position = ReportedPosition(
            time: MediaTime(seconds: status.currentTime), instant: status.observed,
            rate: status.playerState == .playing ? status.playbackRate : 0,
            duration: status.media?.duration.map(MediaTime.init(seconds:)))
        features(status, into: &update)
        switch status.playerState {
        case .playing: update.media = .playing
        case .paused: update.media = .paused
        case .buffering: update.media = .buffering
        case .loading: update.media = .loading
        case .idle: idle(state, loaded, status, into: &update)
        }
        // The app speaks of another item, and this one's end was never told.
        if !status.hasEnded, status.playerState != .loading, loaded.started, state.media.currentID != id {
            update.media = .stopped
            update.stopReason = state.media.currentID == nil ? .cancelled : .replaced
            update.position?.rate = 0
        }
    }

    /// What only some devices and items have.
    private func features(_ status: CastMediaStatus, into update: inout RouteSessionUpdate) {
        update.rate = status.playbackRate
        let tracks = status.media?.tracks ?? []
        if !tracks.isEmpty {
            update.tracks = tracks.map(MediaTrack.init)
            update.activeTracks = status.activeTrackIDs
        }
        update.repeatMode = status.repeatMode.map { $0 == .off ? .off : $0 == .single ? .one : .all }
        if let volume = status.volume, let level = volume.level {
            update.streamVolume = VolumeState(level: VolumePosition(level), muted: volume.muted ?? false)
        }
        if let clip = CastAdTimeline(status).clip(at: status.breakObserved) {
            update.adBreak = AdBreakState(
                breakID: clip.breakID ?? "", clipID: clip.clipID, clipTitle: clip.title,
                remaining: clip.remaining.map(MediaTime.init(seconds:)),
                skippableIn: clip.skippableIn.map(MediaTime.init(seconds:)), instant: status.breakObserved)
            // While a clip plays the item itself stands still.
            update.position?.rate = 0
        }
        if let range = status.liveRange {
            update.liveWindow = LiveWindow(
                start: MediaTime(seconds: range.start), end: MediaTime(seconds: range.end),
                moving: range.isMovingWindow, done: range.isLiveDone, instant: status.liveRangeObserved)
        }
        update.video = status.video.map { video in
            let range: VideoInfo.DynamicRange? =
                switch video.dynamicRange {
                case .sdr?: .sdr
                case .hdr?: .hdr
                case .dv?: .dolbyVision
                case nil: nil
                }
            return VideoInfo(width: video.width, height: video.height, dynamicRange: range)
        }
    }

    private func idle(
        _ state: CastSessionState, _ loaded: CastLoaded, _ status: CastMediaStatus,
        into update: inout RouteSessionUpdate
    ) {
        update.media = .stopped
        switch status.idleReason {
        case .finished: update.stopReason = .finished
        case .cancelled: update.stopReason = .cancelled
        case .interrupted: update.stopReason = .replaced
        case .error:
            update.stopReason = .error
            update.error = errors.media(state.mediaFailure ?? CastMediaFailure())
        case nil:
            // Idle for no reason is how some receivers begin, and how others end.
            if loaded.started { update.stopReason = .cancelled } else { update.media = .loading }
        }
    }

    private func foreignMedia(
        _ state: CastSessionState, _ app: CastAppSession, _ loaded: CastLoaded?,
        into update: inout RouteSessionUpdate
    ) {
        guard let current = state.media.current, !current.hasEnded, current.playerState != .idle,
            current.mediaSessionID != loaded?.mediaSessionID
        else { return }
        // Before the device has named our own, what it speaks of may be ours.
        if let loaded, loaded.mediaSessionID == nil, current.media?.contentID == loaded.url { return }
        update.foreign = current.media?.metadata?[text: .title] ?? app.displayName ?? app.appID
    }

    private static func label(_ app: CastApplication) -> String {
        [app.statusText, app.displayName].compactMap { $0 }.first { !$0.isEmpty } ?? app.appID
    }
}
