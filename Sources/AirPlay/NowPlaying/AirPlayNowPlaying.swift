/// What a receiver that draws only `/command` messages is to draw (`Protocols/airplay`, “Now playing”).
public struct AirPlayNowPlaying: Sendable, Hashable {
    public enum State: Int64, Sendable, Hashable {
        case playing = 1
        case paused = 2
        case stopped = 3
    }

    /// A JPEG or PNG.
    public struct Artwork: Sendable, Hashable {
        public var mimeType: String
        public var bytes: [UInt8]
        /// Stays the same for as long as the picture does: another one makes the receiver draw it anew.
        public var identifier: String

        public init(mimeType: String, bytes: [UInt8], identifier: String) {
            self.mimeType = mimeType
            self.bytes = bytes
            self.identifier = identifier
        }
    }

    /// Changes exactly when the item does.
    public var identifier: UInt64
    public var title: String?
    public var artist: String?
    public var album: String?
    public var genre: String?
    public var composer: String?
    public var trackNumber: Int?
    public var discNumber: Int?
    /// In seconds; nil where it has none.
    public var duration: Double?
    public var isLive: Bool
    public var artwork: Artwork?
    /// Seconds into the item at `instant`.
    public var elapsed: Double
    /// Seconds since 2001-01-01: the receiver counts on from here by itself.
    public var instant: Double
    public var state: State

    public init(
        identifier: UInt64, title: String? = nil, artist: String? = nil, album: String? = nil, duration: Double? = nil,
        isLive: Bool = false, artwork: Artwork? = nil, elapsed: Double = 0, instant: Double, state: State
    ) {
        self.identifier = identifier
        self.title = title
        self.artist = artist
        self.album = album
        self.duration = duration
        self.isLive = isLive
        self.artwork = artwork
        self.elapsed = elapsed
        self.instant = instant
        self.state = state
    }

    /// 0 where nothing moves.
    var rate: Double { state == .playing ? 1 : 0 }

    /// Whether nothing but its place has changed since `other`.
    func isSameItem(as other: AirPlayNowPlaying) -> Bool {
        var moved = other
        (moved.elapsed, moved.instant, moved.state) = (elapsed, instant, state)
        return moved == self
    }

    /// Where the receiver has come to by itself, had it been told `self`, in seconds.
    func extrapolated(to instant: Double) -> Double { elapsed + rate * (instant - self.instant) }

    static let prefix = "kMRMediaRemoteNowPlayingInfo"

    /// The place alone.
    var timeline: [String: PropertyList] {
        var keys: [String: PropertyList] = [
            "ElapsedTime": .real(elapsed), "PlaybackRate": .real(rate), "DefaultPlaybackRate": .real(1),
            "Timestamp": .date(instant),
        ]
        if let duration { keys["Duration"] = .real(duration) }
        return Self.named(keys)
    }

    /// Everything. Without the picture's bytes a receiver takes the picture away, so that they are always along.
    var whole: [String: PropertyList] {
        var keys: [String: PropertyList] = [
            "UniqueIdentifier": .integer(Int64(bitPattern: identifier)),
            "MediaType": .string("MRMediaRemoteMediaTypeMusic"),
            "Title": .string(title ?? ""), "Artist": .string(artist ?? ""), "Album": .string(album ?? ""),
        ]
        if let genre { keys["Genre"] = .string(genre) }
        if let composer { keys["Composer"] = .string(composer) }
        if let trackNumber { keys["TrackNumber"] = .integer(Int64(trackNumber)) }
        if let discNumber { keys["DiscNumber"] = .integer(Int64(discNumber)) }
        if isLive { keys["IsAlwaysLive"] = .bool(true) }
        if let artwork {
            keys["ArtworkData"] = .data(artwork.bytes)
            keys["ArtworkMIMEType"] = .string(artwork.mimeType)
            keys["ArtworkIdentifier"] = .string(artwork.identifier)
        }
        return Self.named(keys).merging(timeline) { $1 }
    }

    private static func named(_ keys: [String: PropertyList]) -> [String: PropertyList] {
        Dictionary(uniqueKeysWithValues: keys.map { (prefix + $0.key, $0.value) })
    }
}

/// Commands as `/command` numbers them, which is not how the protobuf messages do (`Protocols/mrp`, “Two numberings”).
public enum NowPlayingCommandNumber: Int64, Sendable, Hashable, CaseIterable {
    case play = 0
    case pause = 1
    case togglePlayPause = 2
    case stop = 3
    case nextTrack = 4
    case previousTrack = 5
    case toggleShuffle = 6
    case toggleRepeat = 7
    case beginFastForward = 8
    case endFastForward = 9
    case beginRewind = 10
    case endRewind = 11
    case skipForward = 17
    case skipBackward = 18
    case seekToPlaybackPosition = 24
    case changeRepeatMode = 25
    case changeShuffleMode = 26

    /// What we take from a device.
    public static let offered: [NowPlayingCommandNumber] = [
        .play, .pause, .togglePlayPause, .nextTrack, .previousTrack, .seekToPlaybackPosition,
    ]

    /// What a device asks by it; nil for what needs a value beside the number.
    public var remoteCommand: AirPlayRemoteCommand? {
        switch self {
        case .play: .play
        case .pause: .pause
        case .togglePlayPause: .toggle
        case .stop: .stop
        case .nextTrack: .next
        case .previousTrack: .previous
        case .toggleShuffle: .toggleShuffle
        case .toggleRepeat: .advanceRepeat
        case .beginFastForward: .beginFastForward
        case .beginRewind: .beginRewind
        case .endFastForward, .endRewind: .endSearch
        case .skipForward, .skipBackward, .seekToPlaybackPosition, .changeRepeatMode, .changeShuffleMode: nil
        }
    }
}
