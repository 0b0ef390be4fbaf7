/// A request of the media namespace, to an app's transport id (`Protocols/cast` section 7).
public enum CastMediaRequest: Sendable, Hashable {
    case getStatus
    case load(CastLoad)
    case play(mediaSessionID: Int)
    case pause(mediaSessionID: Int)
    /// `position` in seconds. Without `resume` the state stays as it is.
    case seek(mediaSessionID: Int, position: Double, resume: Resume?)
    /// By so many seconds, from where the device is when it gets this.
    case seekBy(mediaSessionID: Int, offset: Double, resume: Resume?)
    case stop(mediaSessionID: Int)
    /// Stream volume, 0 to 1: not the device's.
    case setVolume(mediaSessionID: Int, level: Double)
    case setMuted(mediaSessionID: Int, Bool)
    /// 1 is as recorded; what is not between 0.5 and 2 is sent as the nearest of them (C14).
    case setPlaybackRate(mediaSessionID: Int, Double)
    /// The rate that is, times `factor`.
    case changePlaybackRate(mediaSessionID: Int, factor: Double)

    case editTracks(mediaSessionID: Int, CastTracksEdit)
    case editAudioTracks(mediaSessionID: Int, language: String, isSuggested: Bool?)

    case queueLoad(CastQueueLoad)
    case queueInsert(mediaSessionID: Int, CastQueueInsertion)
    case queueUpdate(mediaSessionID: Int, CastQueueUpdate)
    case queueRemove(mediaSessionID: Int, itemIDs: [Int], CastQueuePlace = CastQueuePlace())
    /// Before `insertBefore`, else to the end.
    case queueReorder(mediaSessionID: Int, itemIDs: [Int], insertBefore: Int?, CastQueuePlace = CastQueuePlace())
    case queueGetItemIDs(mediaSessionID: Int)
    case queueGetItems(mediaSessionID: Int, itemIDs: [Int])
    case queueGetItemRange(mediaSessionID: Int, itemID: Int, CastQueueRange)
    /// What old senders send; an update with a jump is today's way.
    case queueNext(mediaSessionID: Int)
    case queuePrevious(mediaSessionID: Int)

    /// Fetch this, it may be asked for soon. `itemID`: the queue item that it is.
    case preload(CastLoad, itemID: Int?)
    /// `data` means something to the receiver's app only.
    case precache(data: String)
    case loadByEntity(entity: String, shuffle: Bool?)

    case skipAd(mediaSessionID: Int)
    case playAgain(mediaSessionID: Int)
    case userAction(mediaSessionID: Int?, CastUserAction)
    /// `forRequestID`: the receiver's request for fresh ones that this answers.
    case setCredentials(String, forRequestID: Int?)
    /// `mediaSessionID`: what plays, which some receivers want to be told.
    case storeSession(mediaSessionID: Int?)
    case resumeSession(CastStoredSession)
    /// Show on the screen what plays.
    case displayStatus(mediaSessionID: Int?)
    case focusState(inFocus: Bool)

    public enum Resume: String, Sendable, Hashable {
        case start = "PLAYBACK_START"
        case pause = "PLAYBACK_PAUSE"
    }

    /// The rates that devices take.
    public static let playbackRates = 0.5...2.0

    /// The nearest rate that devices take; for what is no number, 1.
    public static func playbackRate(_ rate: Double) -> Double {
        rate.isNaN ? 1 : min(playbackRates.upperBound, max(playbackRates.lowerBound, rate))
    }

    /// Whether it puts something new in place of what is loaded.
    public var isLoad: Bool {
        switch self {
        case .load, .queueLoad, .loadByEntity, .resumeSession: true
        default: false
        }
    }

    /// Whether it changes the order of the queue, or what is in it.
    public var isQueueEdit: Bool {
        switch self {
        case .queueInsert, .queueRemove, .queueReorder: true
        case .queueUpdate(_, let update): update.items != nil || update.shuffle != nil || update.repeatMode != nil
        default: false
        }
    }

    /// `sessionID` is the app's; senders include it, and older receivers ask for it.
    public func json(requestID: Int, sessionID: String?) -> CastJSON {
        var fields = self.fields
        fields["type"] = .string(type)
        fields["requestId"] = .number(Double(requestID))
        fields.put("mediaSessionId", mediaSessionID)
        // The media session is asked for as a whole: naming one that is gone would be an error.
        if self != .getStatus { fields.put("sessionId", sessionID) }
        return .object(fields)
    }

    public var type: String {
        switch self {
        case .getStatus: "GET_STATUS"
        case .load: "LOAD"
        case .play: "PLAY"
        case .pause: "PAUSE"
        case .seek, .seekBy: "SEEK"
        case .stop: "STOP"
        case .setVolume, .setMuted: "SET_VOLUME"
        case .setPlaybackRate, .changePlaybackRate: "SET_PLAYBACK_RATE"
        case .editTracks: "EDIT_TRACKS_INFO"
        case .editAudioTracks: "EDIT_AUDIO_TRACKS"
        case .queueLoad: "QUEUE_LOAD"
        case .queueInsert: "QUEUE_INSERT"
        case .queueUpdate: "QUEUE_UPDATE"
        case .queueRemove: "QUEUE_REMOVE"
        case .queueReorder: "QUEUE_REORDER"
        case .queueGetItemIDs: "QUEUE_GET_ITEM_IDS"
        case .queueGetItems: "QUEUE_GET_ITEMS"
        case .queueGetItemRange: "QUEUE_GET_ITEM_RANGE"
        case .queueNext: "QUEUE_NEXT"
        case .queuePrevious: "QUEUE_PREV"
        case .preload: "PRELOAD"
        case .precache: "PRECACHE"
        case .loadByEntity: "LOAD_BY_ENTITY"
        case .skipAd: "SKIP_AD"
        case .playAgain: "PLAY_AGAIN"
        case .userAction: "USER_ACTION"
        case .setCredentials: "SET_CREDENTIALS"
        case .storeSession: "STORE_SESSION"
        case .resumeSession: "RESUME_SESSION"
        case .displayStatus: "DISPLAY_STATUS"
        case .focusState: "FOCUS_STATE"
        }
    }

    /// The media session that it is about; nil for what is about none.
    public var mediaSessionID: Int? {
        switch self {
        case .play(let id), .pause(let id), .seek(let id, _, _), .seekBy(let id, _, _), .stop(let id),
            .setVolume(let id, _), .setMuted(let id, _), .setPlaybackRate(let id, _), .changePlaybackRate(let id, _),
            .editTracks(let id, _), .editAudioTracks(let id, _, _), .queueInsert(let id, _), .queueUpdate(let id, _),
            .queueRemove(let id, _, _), .queueReorder(let id, _, _, _), .queueGetItemIDs(let id),
            .queueGetItems(let id, _), .queueGetItemRange(let id, _, _), .queueNext(let id), .queuePrevious(let id),
            .skipAd(let id), .playAgain(let id):
            id
        case .userAction(let id, _), .displayStatus(let id), .storeSession(let id): id
        case .getStatus, .load, .queueLoad, .preload, .precache, .loadByEntity, .setCredentials,
            .resumeSession, .focusState:
            nil
        }
    }

    private var fields: [String: CastJSON] {
        var fields: [String: CastJSON] = [:]
        switch self {
        case .getStatus, .play, .pause, .stop, .queueGetItemIDs, .queueNext, .queuePrevious, .skipAd, .playAgain,
            .storeSession, .displayStatus:
            break
        case .load(let load): fields = load.fields
        case .seek(_, let position, let resume):
            fields["currentTime"] = .number(position)
            fields.put("resumeState", resume?.rawValue)
        case .seekBy(_, let offset, let resume):
            fields["relativeTime"] = .number(offset)
            fields.put("resumeState", resume?.rawValue)
        case .setVolume(_, let level):
            fields["volume"] = ["level": .number(level.isNaN ? 0 : min(1, max(0, level)))]
        case .setMuted(_, let muted): fields["volume"] = ["muted": .bool(muted)]
        case .setPlaybackRate(_, let rate): fields["playbackRate"] = .number(Self.playbackRate(rate))
        case .changePlaybackRate(_, let factor): fields["relativePlaybackRate"] = .number(factor)
        case .editTracks(_, let edit): fields = edit.fields
        case .editAudioTracks(_, let language, let isSuggested):
            fields["language"] = .string(language)
            fields.put("isSuggestedLanguage", isSuggested)
        case .queueLoad(let load): fields = load.fields
        case .queueInsert(_, let insertion): fields = insertion.fields
        case .queueUpdate(_, let update): fields = update.fields
        case .queueRemove(_, let itemIDs, let place):
            fields = place.fields
            fields.put("itemIds", itemIDs)
        case .queueReorder(_, let itemIDs, let before, let place):
            fields = place.fields
            fields.put("itemIds", itemIDs)
            fields.put("insertBefore", before)
        case .queueGetItems(_, let itemIDs): fields.put("itemIds", itemIDs)
        case .queueGetItemRange(_, let itemID, let range):
            fields.put("itemId", itemID)
            switch range {
            case .next(let count): fields["nextCount"] = .number(Double(max(1, count)))
            case .previous(let count): fields["prevCount"] = .number(Double(max(1, count)))
            }
        case .preload(let load, let itemID):
            fields = load.fields
            fields.put("itemId", itemID)
        case .precache(let data): fields["precacheData"] = .string(data)
        case .loadByEntity(let entity, let shuffle):
            fields["entity"] = .string(entity)
            fields.put("shuffle", shuffle)
        case .userAction(_, let action): fields = action.fields
        case .setCredentials(let credentials, let requestID):
            fields["credentials"] = .string(credentials)
            fields.put("forRequestId", requestID)
        case .resumeSession(let state): fields["sessionState"] = state.json
        case .focusState(let inFocus): fields["state"] = .string(inFocus ? "IN_FOCUS" : "NOT_IN_FOCUS")
        }
        return fields
    }
}

/// One item to load, or a queue with it.
public struct CastLoad: Sendable, Hashable {
    /// Nil only where `queueData` has the items.
    public var media: CastMediaInformation?
    public var autoplay: Bool
    /// Seconds into the item at which to begin. Nil: at the item's own beginning, or where a live stream is now.
    public var currentTime: Double?
    public var activeTrackIDs: [Int]?
    /// 0.5 to 2.
    public var playbackRate: Double?
    public var queueData: CastQueueData?
    public var credentials: String?
    public var credentialsType: String?
    public var atvCredentials: String?
    public var atvCredentialsType: String?
    public var loadOptions: CastJSON?
    public var customData: CastJSON?

    public init(media: CastMediaInformation?, autoplay: Bool = true, currentTime: Double? = 0) {
        self.media = media
        self.autoplay = autoplay
        self.currentTime = currentTime
    }

    /// Reads what STORE_SESSION gave, or what a person wrote. Nil for what has neither an item nor a queue.
    public init?(json: CastJSON) {
        let media = CastMediaInformation(json: json["media"])
        let queue = CastQueueData(json: json["queueData"])
        guard media != nil || queue?.items.isEmpty == false else { return nil }
        self.init(media: media, autoplay: json["autoplay"].bool ?? true, currentTime: json["currentTime"].double)
        activeTrackIDs = json["activeTrackIds"].ints
        playbackRate = json["playbackRate"].double
        queueData = queue
        credentials = json["credentials"].string
        credentialsType = json["credentialsType"].string
        atvCredentials = json["atvCredentials"].string
        atvCredentialsType = json["atvCredentialsType"].string
        loadOptions = json["loadOptions"].present
        customData = json["customData"].present
    }

    var fields: [String: CastJSON] {
        var fields: [String: CastJSON] = ["autoplay": .bool(autoplay)]
        fields.put("media", media?.json)
        fields.put("currentTime", currentTime)
        fields.put("activeTrackIds", activeTrackIDs)
        fields.put("playbackRate", playbackRate.map(CastMediaRequest.playbackRate))
        fields.put("queueData", queueData?.json)
        fields.put("credentials", credentials)
        fields.put("credentialsType", credentialsType)
        fields.put("atvCredentials", atvCredentials)
        fields.put("atvCredentialsType", atvCredentialsType)
        fields.put("loadOptions", loadOptions)
        fields.put("customData", customData)
        return fields
    }

    public var json: CastJSON { .object(fields) }
}

/// EDIT_TRACKS_INFO: what is nil stays as it is.
public struct CastTracksEdit: Sendable, Hashable {
    /// All that shall be active, of every kind.
    public var activeTrackIDs: [Int]?
    public var textTrackStyle: CastTextTrackStyle?
    /// Text on or off, the track being the device's choice.
    public var enableTextTracks: Bool?
    /// Of text, as a BCP 47 tag.
    public var language: String?
    /// The language is the person's usual one, and not asked for just now.
    public var isSuggestedLanguage: Bool?

    public init(
        activeTrackIDs: [Int]? = nil, textTrackStyle: CastTextTrackStyle? = nil, enableTextTracks: Bool? = nil,
        language: String? = nil, isSuggestedLanguage: Bool? = nil
    ) {
        self.activeTrackIDs = activeTrackIDs
        self.textTrackStyle = textTrackStyle
        self.enableTextTracks = enableTextTracks
        self.language = language
        self.isSuggestedLanguage = isSuggestedLanguage
    }

    var fields: [String: CastJSON] {
        var fields: [String: CastJSON] = [:]
        fields.put("activeTrackIds", activeTrackIDs)
        fields.put("textTrackStyle", textTrackStyle?.json)
        fields.put("enableTextTracks", enableTextTracks)
        fields.put("language", language)
        fields.put("isSuggestedLanguage", isSuggestedLanguage)
        return fields
    }
}

/// USER_ACTION: something that a person thinks of what plays.
public struct CastUserAction: Sendable, Hashable {
    /// LIKE, DISLIKE, FOLLOW, UNFOLLOW, FLAG or SKIP_AD.
    public var action: String
    /// TRACK, ALBUM, ARTIST, PLAYLIST and so on; nil: what plays.
    public var context: String?
    /// Take it back.
    public var clear: Bool?

    public init(_ action: String, context: String? = nil, clear: Bool? = nil) {
        self.action = action
        self.context = context
        self.clear = clear
    }

    var fields: [String: CastJSON] {
        var fields: [String: CastJSON] = ["userAction": .string(action)]
        fields.put("userActionContext", context)
        fields.put("clear", clear)
        return fields
    }
}

/// SESSION_STATE: what STORE_SESSION gives and RESUME_SESSION takes, also on another device. The app's own: only the
/// load in it is read.
public struct CastStoredSession: Sendable, Hashable {
    public var json: CastJSON

    public init(json: CastJSON) { self.json = json }

    /// Whether there is anything to resume.
    public var isEmpty: Bool { json.object?.isEmpty ?? true }

    public var load: CastLoad? { CastLoad(json: json["loadRequestData"]) }
}
