import RouteModel

/// A player of another program on this desktop, as it tells of itself.
public struct ForeignPlayer: Codable, Sendable, Hashable, Identifiable {
    /// Its name on the bus, without what all players' names begin with: `vlc`, `firefox.instance_1_23`.
    public var id: String
    /// What it calls itself.
    public var identity: String
    public var media: MediaState
    public var metadata: MediaMetadata
    /// What it plays, where it says so.
    public var url: String?
    public var rate: Double
    /// Nil where it has none.
    public var volume: VolumePosition?
    /// Where it was at `instant`; nil where it does not say.
    public var position: MediaTime?
    /// The clock of whoever watches, in nanoseconds.
    public var instant: Int64
    public var canControl: Bool

    public init(
        id: String, identity: String, media: MediaState = .none, metadata: MediaMetadata = MediaMetadata(),
        url: String? = nil, rate: Double = 1, volume: VolumePosition? = nil, position: MediaTime? = nil,
        instant: Int64 = 0, canControl: Bool = false
    ) {
        self.id = id
        self.identity = identity
        self.media = media
        self.metadata = metadata
        self.url = url
        self.rate = rate
        self.volume = volume
        self.position = position
        self.instant = instant
        self.canControl = canControl
    }

    /// Where it is at a later instant of the same clock.
    public func position(at now: Int64) -> MediaTime? {
        guard let position, media == .playing else { return position }
        let gone = position + MediaTime(seconds: Double(now - instant) / 1e9 * rate)
        return max(.zero, metadata.duration.map { min($0, gone) } ?? gone)
    }

    /// Takes over what its player interface says; properties that are left out stay.
    mutating func take(_ properties: [String: BusValue], at now: Int64) {
        // What was played until now was played as it was.
        position = position(at: now)
        instant = now
        switch properties["PlaybackStatus"]?.text {
        case "Playing": media = .playing
        case "Paused": media = .paused
        case "Stopped": media = .stopped
        default: break
        }
        if let fields = properties["Metadata"]?.fields {
            let old = metadata
            (metadata, url) = PlayerMetadata.read(fields)
            if metadata != old, properties["Position"] == nil { position = .zero }
        }
        // Beyond this nobody listens; it is the range of a guess.
        if let rate = properties["Rate"]?.number, (-64...64).contains(rate) { self.rate = rate }
        if let volume = properties["Volume"]?.number { self.volume = VolumePosition(volume) }
        if let microseconds = properties["Position"]?.number, microseconds >= 0 {
            position = MediaTime(seconds: microseconds / 1e6)
        }
        if let flag = properties["CanControl"]?.flag { canControl = flag }
    }

    mutating func seeked(to microseconds: Int64, at now: Int64) {
        position = max(.zero, PlayerMetadata.time(microseconds: microseconds))
        instant = now
    }
}

/// The players of other programs at one instant.
public struct ForeignPlayerList: Codable, Sendable, Hashable {
    /// By name.
    public var players: [ForeignPlayer]
    /// Why nobody can be seen, where that is so.
    public var outage: Notice?

    public init(players: [ForeignPlayer] = [], outage: Notice? = nil) {
        self.players = players
        self.outage = outage
    }
}
