/// What a receiver says of playback.
public enum CastPlayerState: String, Sendable, Hashable {
    case idle = "IDLE"
    case playing = "PLAYING"
    case paused = "PAUSED"
    case buffering = "BUFFERING"
    case loading = "LOADING"
}

/// Why a receiver is idle.
public enum CastIdleReason: String, Sendable, Hashable {
    case finished = "FINISHED"
    case cancelled = "CANCELLED"
    /// Another LOAD came.
    case interrupted = "INTERRUPTED"
    case error = "ERROR"
}

/// What a receiver offers to do with what is loaded (`supportedMediaCommands`).
public struct CastMediaCommands: OptionSet, Sendable, Hashable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let pause = CastMediaCommands(rawValue: 1)
    public static let seek = CastMediaCommands(rawValue: 2)
    public static let streamVolume = CastMediaCommands(rawValue: 4)
    public static let streamMute = CastMediaCommands(rawValue: 8)
}

/// One entry of MEDIA_STATUS as it came: what is nil was not said, and stays as it was (`Protocols/cast` section 7).
public struct CastMediaStatusUpdate: Sendable, Hashable {
    public var mediaSessionID: Int?
    public var playerState: CastPlayerState?
    public var idleReason: CastIdleReason?
    /// Seconds.
    public var currentTime: Double?
    public var playbackRate: Double?
    public var supportedMediaCommands: CastMediaCommands?
    public var volume: CastVolume?
    public var media: CastMediaInformation?
    /// The `extendedStatus` of LOADING: what comes next, while the rest may still speak of the item before.
    public var loading: Loading?

    /// What is being loaded, as far as it is said.
    public struct Loading: Sendable, Hashable {
        public var mediaSessionID: Int?
        public var media: CastMediaInformation?

        public init(mediaSessionID: Int? = nil, media: CastMediaInformation? = nil) {
            self.mediaSessionID = mediaSessionID
            self.media = media
        }
    }

    public init(
        mediaSessionID: Int? = nil, playerState: CastPlayerState? = nil, idleReason: CastIdleReason? = nil,
        currentTime: Double? = nil, playbackRate: Double? = nil, supportedMediaCommands: CastMediaCommands? = nil,
        volume: CastVolume? = nil, media: CastMediaInformation? = nil, loading: Loading? = nil
    ) {
        self.mediaSessionID = mediaSessionID
        self.playerState = playerState
        self.idleReason = idleReason
        self.currentTime = currentTime
        self.playbackRate = playbackRate
        self.supportedMediaCommands = supportedMediaCommands
        self.volume = volume
        self.media = media
        self.loading = loading
    }

    public init(json: CastJSON) {
        mediaSessionID = json["mediaSessionId"].int
        playerState = json["playerState"].string.flatMap { CastPlayerState(rawValue: $0.uppercased()) }
        idleReason = json["idleReason"].string.flatMap { CastIdleReason(rawValue: $0.uppercased()) }
        currentTime = json["currentTime"].double.map { max(0, $0) }
        playbackRate = json["playbackRate"].double
        supportedMediaCommands = json["supportedMediaCommands"].int.map(CastMediaCommands.init(rawValue:))
        volume = json["volume"].object.map { _ in CastVolume(json: json["volume"]) }
        media = CastMediaInformation(json: json["media"])
        let extended = json["extendedStatus"]
        if extended["playerState"].string?.uppercased() == CastPlayerState.loading.rawValue {
            loading = Loading(
                mediaSessionID: extended["mediaSessionId"].int ?? mediaSessionID,
                media: CastMediaInformation(json: extended["media"]))
        }
    }
}

/// Playback as it stands after merging the updates of one media session.
public struct CastMediaStatus: Sendable, Hashable {
    public var mediaSessionID: Int
    public var playerState: CastPlayerState
    public var idleReason: CastIdleReason?
    /// Seconds, at `observed`.
    public var currentTime: Double
    /// When `currentTime` was reported, in nanoseconds of the session's clock.
    public var observed: Int64
    public var playbackRate: Double
    public var supportedMediaCommands: CastMediaCommands?
    public var volume: CastVolume?
    public var media: CastMediaInformation?

    public init(
        mediaSessionID: Int, playerState: CastPlayerState = .idle, idleReason: CastIdleReason? = nil,
        currentTime: Double = 0, observed: Int64, playbackRate: Double = 1,
        supportedMediaCommands: CastMediaCommands? = nil, volume: CastVolume? = nil,
        media: CastMediaInformation? = nil
    ) {
        self.mediaSessionID = mediaSessionID
        self.playerState = playerState
        self.idleReason = idleReason
        self.currentTime = currentTime
        self.observed = observed
        self.playbackRate = playbackRate
        self.supportedMediaCommands = supportedMediaCommands
        self.volume = volume
        self.media = media
    }

    /// Whether the end of this media session has been told.
    public var hasEnded: Bool { playerState == .idle && idleReason != nil }
}
