/// Merges what an app says of its playback into whole statuses (`Protocols/cast` section 7).
public struct CastMediaTracker: Sendable, Hashable {
    /// Statuses of media sessions kept, the newest ones: enough to tell the end of an old item from that of a new one.
    static let maximumKept = 8

    private var statuses: [Int: CastMediaStatus] = [:]
    /// The media session that the app speaks of now.
    public private(set) var currentID: Int?
    /// The queue that the current media session plays.
    public private(set) var queue = CastQueueMirror()

    public init() {}

    public var current: CastMediaStatus? { currentID.flatMap { statuses[$0] } }

    /// The last known status of one media session, also after another took its place.
    public subscript(mediaSessionID: Int) -> CastMediaStatus? { statuses[mediaSessionID] }

    /// Takes the list of one MEDIA_STATUS, as observed at `now` nanoseconds.
    public mutating func apply(_ updates: [CastMediaStatusUpdate], now: Int64) {
        let before = currentID
        take(updates, now: now)
        if currentID != before { queue.begin() }
        for update in updates where currentID != nil && update.mediaSessionID ?? currentID == currentID {
            queue.apply(update)
        }
    }

    /// Takes what a receiver tells of its queue.
    public mutating func apply(_ inbound: CastInbound) {
        switch inbound {
        case .queueItemIDs(let ids, let sequence, _): queue.apply(itemIDs: ids, sequenceNumber: sequence)
        case .queueItems(let items, _): queue.apply(items: items)
        case .queueChange(let change, let id): queue.apply(change, requestID: id)
        default: break
        }
    }

    /// A request of ours has gone out, and has ended: what the queue does then is our own doing.
    public mutating func asked(_ request: CastMediaRequest, id: CastRequestID) { queue.asked(request, id: id) }
    public mutating func ended(_ id: CastRequestID, _ result: CastRequestResult) { queue.ended(id, result) }

    private mutating func take(_ updates: [CastMediaStatusUpdate], now: Int64) {
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
        if let tracks = update.activeTrackIDs { status.activeTrackIDs = tracks }
        if let item = update.currentItemID { status.currentItemID = item }
        if let data = update.queueData { status.queueData = data }
        if let mode = update.repeatMode ?? update.queueData?.repeatMode { status.repeatMode = mode }
        if let range = update.liveRange {
            status.liveRange = range
            status.liveRangeObserved = now
        }
        if let video = update.video { status.video = video }
        if let custom = update.customData { status.customData = custom }
        // These are left out when there is nothing to tell, and a status that tells the state tells all of it.
        if update.playerState != nil || update.loadingItemID != nil { status.loadingItemID = update.loadingItemID }
        if update.playerState != nil || update.preloadedItemID != nil {
            status.preloadedItemID = update.preloadedItemID
        }
        if update.playerState != nil || update.breakStatus != nil { setBreak(update.breakStatus, &status, now: now) }
        if var media = update.media {
            // The duration is learnt while loading and left out again by some receivers.
            if media.contentID == status.media?.contentID {
                media.duration = media.duration ?? status.media?.duration
            } else if status.media != nil {
                // Another item of the same queue: what was learnt of the last one is not true of it.
                status.liveRange = nil
                status.video = update.video
            }
            status.media = media
        }
        statuses[id] = status
    }

    /// A push that tells no time of the break leaves the count as it runs.
    private func setBreak(_ told: CastBreakStatus?, _ status: inout CastMediaStatus, now: Int64) {
        guard var new = told else {
            status.breakStatus = nil
            return
        }
        if let old = status.breakStatus, old.clipID == new.clipID, old.breakID == new.breakID {
            let passed = CastAdTimeline.passed(status, since: status.breakObserved, now: now)
            new.clipTime = new.clipTime ?? old.clipTime.map { $0 + passed }
            new.breakTime = new.breakTime ?? old.breakTime.map { $0 + passed }
            new.whenSkippable = new.whenSkippable ?? old.whenSkippable
        }
        status.breakStatus = new
        status.breakObserved = now
    }
}

extension CastMediaStatus {
    /// Seconds into the item at `now`, going on at the playback rate while it plays, never past its end.
    public func position(at now: Int64) -> Double {
        // While a clip of a break plays, the item itself stands still, unless the clip is a part of it.
        let held = breakStatus.map { status in
            !(media?.breaks.first { $0.id == status.breakID }?.isEmbedded ?? false)
        }
        guard playerState == .playing, now > observed, held != true else { return currentTime }
        let position = currentTime + Double(now - observed) / 1e9 * playbackRate
        return max(0, media?.duration.map { min($0, position) } ?? position)
    }
}
