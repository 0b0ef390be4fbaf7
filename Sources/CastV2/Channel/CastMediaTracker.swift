/// Merges what an app says of its playback into whole statuses (`Protocols/cast` section 7).
public struct CastMediaTracker: Sendable, Hashable {
    /// Statuses of media sessions kept, the newest ones: enough to tell the end of an old item from that of a new one.
    static let maximumKept = 8

    private var statuses: [Int: CastMediaStatus] = [:]
    /// The media session that the app speaks of now.
    public private(set) var currentID: Int?

    public init() {}

    public var current: CastMediaStatus? { currentID.flatMap { statuses[$0] } }

    /// The last known status of one media session, also after another took its place.
    public subscript(mediaSessionID: Int) -> CastMediaStatus? { statuses[mediaSessionID] }

    /// Takes the list of one MEDIA_STATUS, as observed at `now` nanoseconds.
    public mutating func apply(_ updates: [CastMediaStatusUpdate], now: Int64) {
        guard !updates.isEmpty else {
            // Nothing is loaded.
            currentID = nil
            return
        }
        for update in updates {
            if let id = update.mediaSessionID {
                merge(update, into: id, now: now)
            } else if update.loading?.mediaSessionID == nil {
                // After the last item receivers go on pushing an IDLE that belongs to no media session.
                if update.playerState == .idle || currentID == nil {
                    currentID = nil
                } else if let currentID {
                    merge(update, into: currentID, now: now)
                }
            }
            if let loading = update.loading, let id = loading.mediaSessionID {
                merge(
                    CastMediaStatusUpdate(mediaSessionID: id, playerState: .loading, media: loading.media), into: id,
                    now: now)
            }
        }
        // One list may speak of the old item and the new one. The one that lives is current, else the newest.
        let named = Set(updates.flatMap { [$0.mediaSessionID, $0.loading?.mediaSessionID].compactMap { $0 } })
        if !named.isEmpty {
            let alive = named.filter { statuses[$0].map { !$0.hasEnded } ?? false }
            currentID = (alive.isEmpty ? named : alive).max()
        }
        while statuses.count > Self.maximumKept, let oldest = statuses.keys.filter({ $0 != currentID }).min() {
            statuses[oldest] = nil
        }
    }

    private mutating func merge(_ update: CastMediaStatusUpdate, into id: Int, now: Int64) {
        var status = statuses[id] ?? CastMediaStatus(mediaSessionID: id, observed: now)
        if update.playerState != nil || update.currentTime != nil {
            // A status that says nothing of the time still says it by how long it has played.
            status.currentTime = update.currentTime ?? status.position(at: now)
            status.observed = now
        }
        if let state = update.playerState {
            status.playerState = state
            status.idleReason = state == .idle ? update.idleReason ?? status.idleReason : nil
        }
        if let rate = update.playbackRate { status.playbackRate = rate }
        if let commands = update.supportedMediaCommands { status.supportedMediaCommands = commands }
        if let volume = update.volume { status.volume = volume }
        if var media = update.media {
            // The duration is learnt while loading and left out again by some receivers.
            if media.contentID == status.media?.contentID { media.duration = media.duration ?? status.media?.duration }
            status.media = media
        }
        statuses[id] = status
    }
}

extension CastMediaStatus {
    /// Seconds into the item at `now`, going on at the playback rate while it plays, never past its end.
    public func position(at now: Int64) -> Double {
        guard playerState == .playing, now > observed else { return currentTime }
        let position = currentTime + Double(now - observed) / 1e9 * playbackRate
        return max(0, media?.duration.map { min($0, position) } ?? position)
    }
}
