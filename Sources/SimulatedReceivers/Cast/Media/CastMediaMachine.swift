/// Who asked, and under which number: where a reply goes.
struct CastAsker: Sendable, Hashable {
    var connection: Int
    var sender: String
    var requestID: Int
}

/// What the media app wants done.
enum CastMediaAction: Sendable, Hashable {
    /// To the one who asked.
    case reply(CastAsker, JSONValue)
    /// To `*`.
    case push(JSONValue)
    case player(CastPlayerCommand)
    /// Fetch a text track.
    case fetchText(url: String, track: Int)
    /// For the journal, in domain words.
    case note(String, [String: JSONValue])
}

/// What the player is to do; instants are host nanoseconds, positions seconds.
enum CastPlayerCommand: Sendable, Hashable {
    case load(PlayerLoad, generation: Int, keeping: Int?)
    case preload(PlayerLoad, generation: Int)
    case take(generation: Int)
    case drop(generation: Int)
    case seek(position: Double, rate: Double, end: Double?, generation: Int)
    case play(since: Int64)
    case halt(at: Int64)
    case stop
    case gain(Double)
}

/// The media namespace of the Default Media Receiver (`Protocols/cast` section 7): requests and the player's events in,
/// replies, pushes and commands out. One concern in each of its extensions.
struct CastMediaMachine: Sendable {
    enum Phase: Sendable, Hashable {
        /// Nothing was loaded yet.
        case empty
        case loading, buffering, playing, paused
        /// Over, for this reason.
        case idle(String)

        /// The player state as the protocol names it.
        var word: String {
            switch self {
            case .empty, .idle: "IDLE"
            case .loading: "LOADING"
            case .buffering: "BUFFERING"
            case .playing: "PLAYING"
            case .paused: "PAUSED"
            }
        }
    }

    struct Item: Sendable, Hashable {
        var id: Int
        /// The item as the sender gave it, without its id.
        var fields: [String: JSONValue]

        var media: JSONValue? { fields["media"] }
        var wire: JSONValue { .object(fields.merging(["itemId": .integer(id)]) { $1 }) }
    }

    let configuration: SimulatedCastConfiguration

    // The queue
    var items: [Item] = []
    var currentIndex = 0
    var repeatMode = "REPEAT_OFF"
    var isShuffled = false
    /// `queueData` as the sender gave it, without its items.
    var queueData: [String: JSONValue] = [:]
    var nextItemID = 1
    var sequenceNumber = 0
    /// Makes every shuffle of a run another one, and every run the same.
    var shuffles: UInt64 = 0
    var preload: Preload?

    // What plays
    var phase = Phase.empty
    var mediaSessionID: Int?
    var generation = 0
    var lastGeneration = 0
    var nextMediaSessionID = 1
    /// Whose load it is that is not answered yet.
    var loader: CastAsker?
    /// The load as it was asked for: what a stored session is made of.
    var loadRequest: [String: JSONValue] = [:]
    /// Whether it plays as soon as it can.
    var wantsPlay = true
    var basePosition: Double = 0
    var since: Int64?
    var rate: Double = 1
    var duration: Double?
    var picture: MediaProbe.Picture?
    var live: LiveWindow?
    /// The break that plays in place of the content.
    var adBreak: AdBreak?
    /// Ids of the breaks of the current item that were watched.
    var watchedBreaks: Set<String> = []

    // Tracks and volume
    var activeTracks: [Int] = []
    var textTrackStyle: JSONValue?
    var cues: [Int: [WebVTTCue]] = [:]
    var cuesShownUntil: Double = 0
    var streamLevel: Double = 1
    var streamMuted = false
    var deviceGain: Double
    /// What was played before the clock that runs now.
    var playedBefore: Int64 = 0
    var actions: [CastMediaAction] = []

    init(_ configuration: SimulatedCastConfiguration, deviceGain: Double) {
        self.configuration = configuration
        self.deviceGain = deviceGain
        actions = [.player(.gain(deviceGain))]
    }

    /// What is to be done since the last call.
    mutating func takeActions() -> [CastMediaAction] {
        defer { actions = [] }
        return actions
    }

    var isActive: Bool {
        switch phase {
        case .loading, .buffering, .playing, .paused: true
        case .empty, .idle: false
        }
    }

    /// Seconds into what is heard, be it the content or an ad.
    func heardPosition(at now: Int64) -> Double {
        let position = basePosition + (since.map { Double(max(0, now - $0)) / 1e9 * rate } ?? 0)
        return duration.map { min(position, $0) } ?? position
    }

    /// Seconds into the content; it stands still during an ad.
    func position(at now: Int64) -> Double { adBreak?.contentPosition ?? heardPosition(at: now) }

    /// How long sound was heard in this app.
    func playedNanoseconds(at now: Int64) -> Int64 { playedBefore + (since.map { max(0, now - $0) } ?? 0) }

    // MARK: Requests

    mutating func receive(_ request: JSONValue, from asker: CastAsker, at now: Int64) {
        switch request["type"]?.string {
        case "GET_STATUS": reply(asker, at: now)
        case "LOAD": load(request, asker, now)
        case "QUEUE_LOAD": queueLoad(request, asker, now)
        case "RESUME_SESSION": resumeSession(request, asker, now)
        case "PRECACHE", "SET_CREDENTIALS", "DISPLAY_STATUS", "FOCUS_STATE":
            // Hints: taken, and answered by the status as it is.
            note("hint", ["type": request["type"] ?? .null])
            reply(asker, at: now)
        case "LOAD_BY_ENTITY": refuse(asker, "NOT_SUPPORTED")
        case let type?:
            guard let session = request["mediaSessionId"]?.int else { return refuse(asker, "INVALID_PARAMS") }
            guard session == mediaSessionID else { return refuse(asker, "INVALID_MEDIA_SESSION_ID") }
            guard isActive else { return invalidState(asker) }
            if let fault = configuration.faults.mediaCommandFails { return refuse(asker, fault) }
            control(type, request, asker, now)
        case nil: refuse(asker, "INVALID_PARAMS")
        }
    }

    private mutating func control(_ type: String, _ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        switch type {
        case "PLAY", "PAUSE": setPlaying(type == "PLAY", asker, now)
        case "STOP":
            note("stop", ["position": .number(position(at: now))])
            end(reason: "CANCELLED", at: now, answering: asker)
        case "SEEK": seek(request, asker, now)
        case "SET_VOLUME": setVolume(request, asker, now)
        case "SET_PLAYBACK_RATE": setRate(request, asker, now)
        case "EDIT_TRACKS_INFO": editTracks(request, asker, now)
        case "EDIT_AUDIO_TRACKS": editAudioTracks(request, asker, now)
        case "SKIP_AD": skipAd(asker, now)
        case "STORE_SESSION": storeSession(asker, now)
        case "PLAY_AGAIN":
            begin(currentIndex, from: 0, autoplay: true, newSession: false, loader: nil, at: now)
            reply(asker, at: now)
        case "USER_ACTION": userAction(request, asker, now)
        case _ where type.hasPrefix("QUEUE_"): queue(type, request, asker, now)
        default: refuse(asker, "INVALID_COMMAND")
        }
    }

    /// To be called a few times each second.
    mutating func tick(at now: Int64) {
        guard isActive else { return }
        tickBreak(at: now)
        showCues(at: now)
        preloadIfDue(at: now)
    }

    // MARK: Messages

    var itemID: JSONValue { items.indices.contains(currentIndex) ? .integer(items[currentIndex].id) : .null }

    var currentMedia: JSONValue? { items.indices.contains(currentIndex) ? items[currentIndex].media : nil }

    func message(_ type: String, _ fields: [String: JSONValue]) -> JSONValue {
        .object(fields.merging(["type": .string(type)]) { $1 })
    }

    mutating func note(_ word: String, _ details: [String: JSONValue] = [:]) { actions.append(.note(word, details)) }

    mutating func refuse(_ asker: CastAsker, _ reason: String) {
        note("refused", ["reason": .string(reason)])
        actions.append(.reply(asker, message("INVALID_REQUEST", ["reason": .string(reason)])))
    }

    mutating func invalidState(_ asker: CastAsker) {
        note("refused", ["reason": "INVALID_PLAYER_STATE"])
        actions.append(.reply(asker, message("INVALID_PLAYER_STATE", [:])))
    }

    mutating func nextGeneration() -> Int {
        lastGeneration += 1
        return lastGeneration
    }
}
