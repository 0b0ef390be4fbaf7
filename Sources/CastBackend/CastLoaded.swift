import CastV2
import RouteModel

/// What this session loaded last, and which of the device's media sessions it became.
struct CastLoaded: Sendable, Hashable {
    var token: MediaToken
    var url: String
    /// The media session that was there when this was loaded; the same URL may have played in it.
    var before: Int?
    /// Nil until the device has named it.
    var mediaSessionID: Int?
    /// The device has answered the LOAD.
    var answered = false
    /// The load itself has failed, with this.
    var failure: RouterError?
    /// The device has been seen to play it, or to hold it ready.
    var started = false

    /// Takes the answer to LOAD. It may list the end of the item before as well, so that the URL decides, and without
    /// one the newest.
    mutating func answer(_ updates: [CastMediaStatusUpdate]) {
        answered = true
        let alive = updates.filter { $0.idleReason == nil || $0.loading != nil || $0.mediaSessionID != before }
        let ours = alive.last { $0.media?.contentID == url || $0.loading?.media?.contentID == url }
        mediaSessionID =
            ours.flatMap(Self.id) ?? mediaSessionID ?? alive.compactMap(Self.id).max()
    }

    /// Takes what is known of the device's media sessions, by whichever message it came.
    mutating func observe(_ media: CastMediaTracker) {
        if mediaSessionID == nil, let current = media.current {
            let isNew = current.mediaSessionID != before
            // Pushed to everybody before the answer to us, it is known by its URL. After an answer that names nothing,
            // what begins now is ours.
            if isNew, current.media?.contentID == url {
                mediaSessionID = current.mediaSessionID
            } else if answered, isNew || !current.hasEnded {
                mediaSessionID = current.mediaSessionID
            }
        }
        if let status = mediaSessionID.flatMap({ media[$0] }) {
            let active: [CastPlayerState] = [.playing, .paused, .buffering]
            if active.contains(status.playerState) { started = true }
        }
    }

    /// The device has gone on to another item of its queue, by itself or sent by another sender.
    mutating func follow(_ state: CastSessionState, _ tokens: CastTokens) {
        guard started || answered, let status = state.media.current, !status.hasEnded, let media = status.media else {
            return
        }
        // The item by its number first: of its media a status tells only what has changed.
        let item = status.currentItemID.flatMap { state.media.queue.items[$0] }
        let isOurs = status.mediaSessionID == mediaSessionID
        let current = item?.media ?? media
        let mark = tokens.token(of: current)
        guard isOurs || mark.map({ $0 != token && tokens.knows($0) }) ?? false else { return }
        guard
            let now = mark ?? item.flatMap({ tokens.token(of: $0, in: state.runningApp) }), now != token
        else { return }
        // A load of ours that is under way has the say over what the device still tells of the one before.
        guard answered || mediaSessionID != nil else { return }
        token = now
        url = current.contentID
        before = mediaSessionID
        mediaSessionID = status.mediaSessionID
        failure = nil
        answered = true
        started = [.playing, .paused, .buffering].contains(status.playerState)
    }

    private static func id(of update: CastMediaStatusUpdate) -> Int? {
        update.loading?.mediaSessionID ?? update.mediaSessionID
    }
}
