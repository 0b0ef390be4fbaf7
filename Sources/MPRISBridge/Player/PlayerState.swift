import RouteModel

/// What a player shows: a session as the desktop sees it.
struct PlayerState: Sendable, Hashable {
    enum Status: String, Sendable, Hashable {
        case playing = "Playing"
        case paused = "Paused"
        case stopped = "Stopped"
    }

    /// Tracks that are shown before and after the current one: a queue may hold a hundred thousand, and the
    /// specification asks for some around the current one.
    static let tracksBefore = 10
    static let tracksAfter = 39

    var session: SessionID
    var rooms: [String]
    var status: Status
    var repeatMode: RepeatMode
    var shuffled: Bool
    var rate: Double
    /// Where both ends are 1 it cannot be changed.
    var rates: ClosedRange<Double>
    /// Nil where nothing there has a volume that can be set.
    var volume: VolumeState?
    var anchor: PlaybackAnchor?
    var item: QueueItem?
    /// Nil where there is no end, or none is known.
    var duration: MediaTime?
    var canSeek: Bool
    var canGoNext: Bool
    var canGoPrevious: Bool
    /// What of the queue is shown.
    var tracks: [QueueItem]
    var queueVersion: Int
    /// The address of a file with the item's picture.
    var art: String?

    /// - Parameter rates: how fast the session's rooms can play.
    init(_ snapshot: SessionSnapshot, rates: ClosedRange<Double> = 1...1) {
        let alive = snapshot.members.filter { ![.ended, .failed].contains($0.connection) }
        let queue = snapshot.queue
        session = snapshot.id
        rooms = snapshot.members.map(\.name)
        status =
            switch snapshot.media {
            case .playing, .buffering, .loading: .playing
            case .paused: .paused
            case .none, .stopped: .stopped
            }
        repeatMode = queue.repeatMode
        shuffled = queue.original != nil
        anchor = snapshot.anchor
        let told = alive.compactMap(\.rate).first { $0 > 0 }
        let rate = told ?? anchor.flatMap { $0.rate > 0 ? $0.rate : nil } ?? 1
        self.rate = rate
        self.rates = min(rates.lowerBound, rate)...max(rates.upperBound, rate)
        volume =
            snapshot.volume
            ?? alive.filter { $0.volumeHandling == .adjustable }.compactMap(\.volume).max { $0.level < $1.level }

        let place = queue.items.firstIndex { $0.id == queue.current }
        var item = place.map { queue.items[$0] }
        // What a station plays now is another title of the same track.
        if let shown = snapshot.shownMetadata { item?.metadata = shown }
        self.item = item
        let isLive =
            if case .live? = item?.source { true } else { item?.metadata.kind == .live }
        let known = item?.metadata.duration ?? anchor.flatMap { $0.item == item?.id ? $0.duration : nil }
        duration = isLive ? nil : known
        canSeek = duration != nil || alive.contains { $0.liveWindow != nil }
        let follows = place.map { queue.items[($0 + 1)...].contains { $0.failure == nil } } ?? false
        let precedes = place.map { queue.items[..<$0].contains { $0.failure == nil } } ?? !queue.items.isEmpty
        canGoNext = follows || (place != nil && queue.repeatMode == .all)
        canGoPrevious = precedes || (item != nil && canSeek)
        let middle = place ?? 0
        let first = max(0, middle - Self.tracksBefore)
        tracks = Array(queue.items[first..<min(queue.items.count, middle + 1 + Self.tracksAfter)])
        queueVersion = queue.version
    }

    func position(at now: Int64) -> MediaTime {
        guard let anchor, anchor.item == item?.id else { return .zero }
        return anchor.position(at: now)
    }

    var identity: String { rooms.isEmpty ? "router" : "router: " + rooms.joined(separator: ", ") }

    // MARK: Properties

    var rootProperties: [String: BusValue] {
        [
            "CanQuit": .boolean(true), "CanRaise": .boolean(false), "HasTrackList": .boolean(true),
            "Identity": .string(identity.filter { $0 != "\0" }),
            "SupportedUriSchemes": .strings(PlayerCall.schemes), "SupportedMimeTypes": .strings(PlayerCall.mimeTypes),
        ]
    }

    /// All but the position, whose changes are never told.
    var playerProperties: [String: BusValue] {
        [
            "PlaybackStatus": .string(status.rawValue), "LoopStatus": .string(repeatMode.loopStatus),
            "Rate": .double(rate), "Shuffle": .boolean(shuffled), "Metadata": .dictionary(metadata),
            // Mute is all of it that this bus has no word for.
            "Volume": .double(volume.map { $0.muted ? 0 : $0.level.value } ?? 1),
            "MinimumRate": .double(rates.lowerBound), "MaximumRate": .double(rates.upperBound),
            "CanGoNext": .boolean(canGoNext), "CanGoPrevious": .boolean(canGoPrevious),
            "CanPlay": .boolean(item != nil), "CanPause": .boolean(item != nil), "CanSeek": .boolean(canSeek),
            "CanControl": .boolean(true),
        ]
    }

    var trackListProperties: [String: BusValue] { ["Tracks": .paths(trackPaths), "CanEditTracks": .boolean(true)] }

    var trackPaths: [String] { tracks.map { MPRISName.track($0.id) } }
    var currentPath: String { item.map { MPRISName.track($0.id) } ?? MPRISName.noTrack }

    private var metadata: [String: BusValue] {
        item.map { PlayerMetadata.dictionary($0, duration: duration, art: art) } ?? PlayerMetadata.nothing
    }

    /// Of a track that is shown.
    func metadata(of track: QueueItem) -> [String: BusValue] {
        if track.id == item?.id { return metadata }
        return PlayerMetadata.dictionary(
            track, duration: track.metadata.kind == .live ? nil : track.metadata.duration, art: nil)
    }

    /// Every property of an interface, with the position as of now; nil for an interface that a player has not.
    func properties(of interface: String, at now: Int64) -> [String: BusValue]? {
        switch interface {
        case MPRISName.root: return rootProperties
        case MPRISName.trackList: return trackListProperties
        case MPRISName.player:
            var properties = playerProperties
            properties["Position"] = .int64(PlayerMetadata.microseconds(position(at: now)))
            return properties
        case MPRISName.properties, MPRISName.introspectable: return [:]
        default: return nil
        }
    }
}

extension RepeatMode {
    var loopStatus: String {
        switch self {
        case .off: "None"
        case .one: "Track"
        case .all: "Playlist"
        }
    }

    init?(loopStatus: String) {
        guard let mode = Self.allCases.first(where: { $0.loopStatus == loopStatus }) else { return nil }
        self = mode
    }
}
