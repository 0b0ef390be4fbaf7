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
    /// Old ones, for skipping by a receiver's own number of seconds.
    public static let skipForward = CastMediaCommands(rawValue: 16)
    public static let skipBackward = CastMediaCommands(rawValue: 32)
    public static let queueNext = CastMediaCommands(rawValue: 64)
    public static let queuePrevious = CastMediaCommands(rawValue: 128)
    public static let queueShuffle = CastMediaCommands(rawValue: 256)
    public static let skipAd = CastMediaCommands(rawValue: 512)
    public static let repeatAll = CastMediaCommands(rawValue: 1024)
    public static let repeatOne = CastMediaCommands(rawValue: 2048)
    public static let editTracks = CastMediaCommands(rawValue: 4096)
    public static let playbackRate = CastMediaCommands(rawValue: 8192)
    public static let like = CastMediaCommands(rawValue: 16_384)
    public static let dislike = CastMediaCommands(rawValue: 32_768)
    public static let follow = CastMediaCommands(rawValue: 65_536)
    public static let unfollow = CastMediaCommands(rawValue: 131_072)
    public static let streamTransfer = CastMediaCommands(rawValue: 262_144)
    public static let lyrics = CastMediaCommands(rawValue: 524_288)

    /// Each bit with a name that stays the same.
    public static let named: [(name: String, command: CastMediaCommands)] = [
        ("pause", .pause), ("seek", .seek), ("streamVolume", .streamVolume), ("streamMute", .streamMute),
        ("skipForward", .skipForward), ("skipBackward", .skipBackward), ("queueNext", .queueNext),
        ("queuePrevious", .queuePrevious), ("queueShuffle", .queueShuffle), ("skipAd", .skipAd),
        ("repeatAll", .repeatAll), ("repeatOne", .repeatOne), ("editTracks", .editTracks),
        ("playbackRate", .playbackRate), ("like", .like), ("dislike", .dislike), ("follow", .follow),
        ("unfollow", .unfollow), ("streamTransfer", .streamTransfer), ("lyrics", .lyrics),
    ]

    /// The names of the bits that are set. A bit that nobody knows has none.
    public var names: [String] { Self.named.filter { contains($0.command) }.map(\.name) }
}

/// The part of a live stream that can be played now (C11), in seconds of the stream's own time.
public struct CastLiveRange: Sendable, Hashable {
    public var start: Double
    public var end: Double
    /// Its beginning goes away as its end grows.
    public var isMovingWindow: Bool
    /// The stream has ended, and the range stands still.
    public var isLiveDone: Bool

    public init(start: Double, end: Double, isMovingWindow: Bool = false, isLiveDone: Bool = false) {
        self.start = start
        self.end = max(start, end)
        self.isMovingWindow = isMovingWindow
        self.isLiveDone = isLiveDone
    }

    /// A range without both its ends is none.
    public init?(json: CastJSON) {
        guard let start = json["start"].double, let end = json["end"].double else { return nil }
        self.init(
            start: start, end: end, isMovingWindow: json["isMovingWindow"].bool ?? false,
            isLiveDone: json["isLiveDone"].bool ?? false)
    }
}

/// The picture as it is decoded (C13).
public struct CastVideoInformation: Sendable, Hashable {
    /// `hdrType`.
    public enum DynamicRange: String, Sendable, Hashable, CaseIterable {
        case sdr, hdr, dv
    }

    /// Pixels.
    public var width: Int
    public var height: Int
    /// As the device says it, in lower case; `DynamicRange` has the known ones.
    public var hdrType: String?

    public init(width: Int, height: Int, hdrType: String? = nil) {
        self.width = width
        self.height = height
        self.hdrType = hdrType
    }

    public var dynamicRange: DynamicRange? { hdrType.flatMap(DynamicRange.init(rawValue:)) }

    public init?(json: CastJSON) {
        guard let width = json["width"].int, let height = json["height"].int, width > 0, height > 0 else { return nil }
        self.init(width: width, height: height, hdrType: json["hdrType"].string?.lowercased())
    }
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
    public var activeTrackIDs: [Int]?
    public var currentItemID: Int?
    public var loadingItemID: Int?
    public var preloadedItemID: Int?
    /// The items about the current one, at most a handful.
    public var items: [CastQueueItem]?
    public var queueData: CastQueueData?
    public var repeatMode: CastRepeatMode?
    public var liveRange: CastLiveRange?
    public var video: CastVideoInformation?
    public var breakStatus: CastBreakStatus?
    public var customData: CastJSON?

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
        // Players of films go to 16 at most; beyond that it is no rate, and the last one holds.
        playbackRate = json["playbackRate"].double.flatMap { (0...100).contains($0) ? $0 : nil }
        supportedMediaCommands = json["supportedMediaCommands"].int.map(CastMediaCommands.init(rawValue:))
        volume = json["volume"].object.map { _ in CastVolume(json: json["volume"]) }
        media = CastMediaInformation(json: json["media"])
        let extended = json["extendedStatus"]
        if extended["playerState"].string?.uppercased() == CastPlayerState.loading.rawValue {
            loading = Loading(
                mediaSessionID: extended["mediaSessionId"].int ?? mediaSessionID,
                media: CastMediaInformation(json: extended["media"]))
        }
        activeTrackIDs = json["activeTrackIds"].ints
        currentItemID = json["currentItemId"].int
        loadingItemID = json["loadingItemId"].int
        preloadedItemID = json["preloadedItemId"].int
        if case .array(let list) = json["items"] { items = list.compactMap(CastQueueItem.init(json:)) }
        queueData = CastQueueData(json: json["queueData"])
        repeatMode = json["repeatMode"].string.flatMap { CastRepeatMode(rawValue: $0.uppercased()) }
        liveRange = CastLiveRange(json: json["liveSeekableRange"])
        video = CastVideoInformation(json: json["videoInfo"])
        breakStatus = CastBreakStatus(json: json["breakStatus"])
        customData = json["customData"].present
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
    public var activeTrackIDs: [Int] = []
    public var currentItemID: Int?
    public var loadingItemID: Int?
    public var preloadedItemID: Int?
    public var queueData: CastQueueData?
    public var repeatMode: CastRepeatMode?
    public var liveRange: CastLiveRange?
    /// When `liveRange` was reported, in nanoseconds of the session's clock.
    public var liveRangeObserved: Int64 = 0
    public var video: CastVideoInformation?
    public var breakStatus: CastBreakStatus?
    /// When `breakStatus` was reported, in nanoseconds of the session's clock.
    public var breakObserved: Int64 = 0
    public var customData: CastJSON?

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
