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
    /// For the journal, in domain words.
    case note(String, [String: JSONValue])
}

/// What the player is to do; instants are host nanoseconds, positions seconds.
enum CastPlayerCommand: Sendable, Hashable {
    case load(PlayerLoad, generation: Int)
    case seek(position: Double, rate: Double, generation: Int)
    case play(since: Int64)
    case halt(at: Int64)
    case stop
    case gain(Double)
}

/// The media namespace of the Default Media Receiver (`Protocols/cast` section 10): requests and the player's events in,
/// replies, pushes and commands out.
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

    var items: [Item] = []
    var currentIndex = 0
    var repeatMode = "REPEAT_OFF"
    var nextItemID = 1
    var sequenceNumber = 0

    private(set) var phase = Phase.empty
    private(set) var mediaSessionID: Int?
    private(set) var generation = 0
    private var nextMediaSessionID = 1
    /// Whose load it is that is not answered yet.
    private var loader: CastAsker?
    /// Whether it plays as soon as it can.
    private var wantsPlay = true
    private var basePosition: Double = 0
    private var since: Int64?
    private(set) var rate: Double = 1
    private var duration: Double?
    private var activeTracks: [JSONValue] = []
    private var streamLevel: Double = 1
    private var streamMuted = false
    private var deviceGain: Double
    private let loadFailure: Int?
    /// What was played before the clock that runs now.
    private var playedBefore: Int64 = 0
    var actions: [CastMediaAction] = []

    /// - Parameter loadFailure: the detailedErrorCode with which every load fails; nil for none.
    init(deviceGain: Double, loadFailure: Int? = nil) {
        self.deviceGain = deviceGain
        self.loadFailure = loadFailure
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

    /// Seconds into the media.
    func position(at now: Int64) -> Double {
        let position = basePosition + (since.map { Double(max(0, now - $0)) / 1e9 * rate } ?? 0)
        return duration.map { min(position, $0) } ?? position
    }

    /// How long sound was heard in this app.
    func playedNanoseconds(at now: Int64) -> Int64 { playedBefore + (since.map { max(0, now - $0) } ?? 0) }

    // MARK: Requests

    mutating func receive(_ request: JSONValue, from asker: CastAsker, at now: Int64) {
        switch request["type"]?.string {
        case "GET_STATUS": reply(asker, at: now)
        case "LOAD": load(request, asker, now)
        case "QUEUE_LOAD": queueLoad(request, asker, now)
        case let type?:
            guard let session = request["mediaSessionId"]?.int else { return refuse(asker, "INVALID_PARAMS") }
            guard session == mediaSessionID else { return refuse(asker, "INVALID_MEDIA_SESSION_ID") }
            guard isActive else { return invalidState(asker) }
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
        case "SET_VOLUME":
            let volume = request["volume"]
            guard volume?["level"]?.double != nil || volume?["muted"]?.bool != nil else {
                return refuse(asker, "INVALID_PARAMS")
            }
            if let level = volume?["level"]?.double { streamLevel = min(1, max(0, level)) }
            if let muted = volume?["muted"]?.bool { streamMuted = muted }
            note("streamVolume", ["level": .number(streamLevel), "muted": .bool(streamMuted)])
            tellGain()
            replyAndPush(asker, at: now)
        case "SET_PLAYBACK_RATE": setRate(request, asker, now)
        case "EDIT_TRACKS_INFO":
            activeTracks = request["activeTrackIds"]?.array ?? activeTracks
            note("tracks", ["active": .array(activeTracks)])
            replyAndPush(asker, at: now)
        case _ where type.hasPrefix("QUEUE_"): queue(type, request, asker, now)
        default: refuse(asker, "INVALID_COMMAND")
        }
    }

    private mutating func load(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let queued = request["queueData"]?["items"]?.array?.compactMap(\.object) ?? []
        var single: [String: JSONValue] = [:]
        single["media"] = request["media"]
        for (key, field) in [
            ("autoplay", "autoplay"), ("activeTrackIds", "activeTrackIds"), ("customData", "customData"),
        ] { single[key] = request[field] }
        let fields = queued.isEmpty ? [single] : queued
        let index = queued.isEmpty ? 0 : request["queueData"]?["startIndex"]?.int ?? 0
        guard fields.indices.contains(index), fields.allSatisfy({ Self.isPlayable($0["media"]) }) else {
            return refuse(asker, "INVALID_PARAMS")
        }
        makeWay(at: now)
        setQueue(fields, repeatMode: request["queueData"]?["repeatMode"]?.string)
        activeTracks = request["activeTrackIds"]?.array ?? []
        note(
            "load",
            [
                "request": request, "sender": .string(asker.sender),
                "url": .string(Self.url(of: fields[index]["media"]) ?? ""),
            ])
        let start = request["currentTime"]?.double ?? request["queueData"]?["startTime"]?.double
        // VLC sends the string "false", never sends PLAY, and does play on devices: they take it as JavaScript does.
        begin(
            index, from: start ?? 0, autoplay: request["autoplay"]?.isTruthy ?? true,
            rate: request["playbackRate"]?.double,
            newSession: true, loader: asker, at: now)
    }

    /// A media item must say what it is and where (`Protocols/cast` section 10).
    static func isPlayable(_ media: JSONValue?) -> Bool {
        url(of: media) != nil && media?["contentType"]?.string.map { !$0.isEmpty } ?? false
    }

    static func url(of media: JSONValue?) -> String? {
        let url = media?["contentUrl"]?.string ?? media?["contentId"]?.string
        return url?.isEmpty ?? true ? nil : url
    }

    mutating func setQueue(_ fields: [[String: JSONValue]], repeatMode: String?) {
        items = fields.map { makeItem($0) }
        self.repeatMode = repeatMode ?? "REPEAT_OFF"
        sequenceNumber += 1
    }

    mutating func makeItem(_ fields: [String: JSONValue]) -> Item {
        defer { nextItemID += 1 }
        return Item(id: nextItemID, fields: fields)
    }

    /// Starts an item of the queue.
    mutating func begin(
        _ index: Int, from start: Double, autoplay: Bool, rate: Double? = nil, newSession: Bool, loader: CastAsker?,
        at now: Int64
    ) {
        stopClock(at: now)
        cancelLoad()
        if newSession {
            mediaSessionID = nextMediaSessionID
            nextMediaSessionID += 1
        }
        currentIndex = index
        phase = .loading
        wantsPlay = autoplay
        self.loader = loader
        self.rate = rate.map { min(2, max(0.5, $0)) } ?? 1
        basePosition = max(0, start)
        duration = nil
        generation += 1
        pushLoading(at: now)
        if let loadFailure {
            actions.append(.player(.stop))
            return fail(code: loadFailure, reason: "a fault that was asked for", at: now)
        }
        let media = items[index].media
        let load = PlayerLoad(
            url: Self.url(of: media) ?? "", contentType: media?["contentType"]?.string ?? "", start: basePosition)
        actions.append(.player(.load(load, generation: generation)))
    }

    private mutating func cancelLoad() {
        guard let loader else { return }
        actions.append(.reply(loader, message("LOAD_CANCELLED", ["itemId": itemID])))
        note("loadCancelled")
        self.loader = nil
    }

    /// Ends what was loaded before in favour of a new load, while the queue is still the old one.
    mutating func makeWay(at now: Int64) {
        stopClock(at: now)
        if loader != nil {
            cancelLoad()
        } else if isActive {
            push([status(idle: "INTERRUPTED", session: mediaSessionID, at: now)])
        }
    }

    private mutating func setPlaying(_ playing: Bool, _ asker: CastAsker, _ now: Int64) {
        changePlaying(playing, now)
        replyAndPush(asker, at: now)
    }

    /// Somebody presses play or pause on the device's own remote control.
    mutating func remoteControl(play: Bool, at now: Int64) {
        guard isActive else { return }
        changePlaying(play, now)
        pushStatus(at: now)
    }

    private mutating func changePlaying(_ playing: Bool, _ now: Int64) {
        note(playing ? "play" : "pause", ["position": .number(position(at: now))])
        wantsPlay = playing
        if playing, phase == .paused {
            start(at: now)
        } else if !playing, phase == .playing {
            stopClock(at: now)
            phase = .paused
        }
    }

    private mutating func seek(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let absolute = request["currentTime"]?.double
        let relative = request["relativeTime"]?.double.map { position(at: now) + $0 }
        guard let target = absolute ?? relative else { return refuse(asker, "INVALID_PARAMS") }
        guard let duration, phase != .loading else { return invalidState(asker) }
        note("seek", ["from": .number(position(at: now)), "to": .number(target)])
        switch request["resumeState"]?.string {
        case "PLAYBACK_START": wantsPlay = true
        case "PLAYBACK_PAUSE": wantsPlay = false
        default: break
        }
        restart(from: min(duration, max(0, target)), at: now)
        replyAndPush(asker, at: now)
    }

    private mutating func setRate(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let absolute = request["playbackRate"]?.double
        let relative = request["relativePlaybackRate"]?.double.map { rate * $0 }
        guard let target = absolute ?? relative, (0.5...2).contains(target) else {
            return refuse(asker, "INVALID_PARAMS")
        }
        guard duration != nil, phase != .loading else { return invalidState(asker) }
        note("rate", ["rate": .number(target)])
        let position = position(at: now)
        stopClock(at: now)
        rate = target
        restart(from: position, at: now)
        replyAndPush(asker, at: now)
    }

    private mutating func restart(from position: Double, at now: Int64) {
        stopClock(at: now)
        basePosition = position
        phase = .buffering
        generation += 1
        actions.append(.player(.seek(position: position, rate: rate, generation: generation)))
    }

    // MARK: The player

    mutating func receive(_ event: PlayerEvent, at now: Int64) {
        if case .fetched(let fetch) = event.kind { note("fetch", fetch.details) }
        guard event.generation == generation, isActive else { return }
        switch event.kind {
        case .fetched: break
        case .content(let bytes, let digest): note("content", ["bytes": .integer(bytes), "sha256": .string(digest)])
        case .loaded(let duration, _):
            guard phase == .loading else { return }
            self.duration = duration
            phase = .buffering
            note("loaded", ["duration": duration.map { .number($0) } ?? .null])
            // A stream begins where it is; a rate needs a restart of the decoder.
            if duration == nil {
                basePosition = 0
                rate = 1
            }
            if let loader { reply(loader, at: now) }
            loader = nil
            pushStatus(at: now, withMedia: true)
            if rate != 1 { restart(from: basePosition, at: now) }
        case .buffered:
            guard phase == .buffering else { return }
            if wantsPlay { start(at: now) } else { phase = .paused }
            note(wantsPlay ? "playing" : "paused", ["position": .number(basePosition)])
            pushStatus(at: now)
        case .starved(let frames):
            stopClock(heardFrames: frames, at: now)
            phase = .buffering
            note("starved", ["position": .number(basePosition)])
            pushStatus(at: now)
        case .ended(let frames):
            stopClock(heardFrames: frames, at: now)
            finish(at: now)
        case .failed(let code, let reason): fail(code: code, reason: reason, at: now)
        }
    }

    private mutating func start(at now: Int64) {
        phase = .playing
        since = now
        actions.append(.player(.play(since: now)))
    }

    /// Falls silent at an instant, or where the player itself ran out.
    private mutating func stopClock(heardFrames: Int? = nil, at now: Int64) {
        guard let since else { return }
        let elapsed =
            heardFrames.map { Int64(Double($0) * 1e9 / Double(AudioDecoder.sampleRate)) } ?? max(0, now - since)
        let from = basePosition
        basePosition = position(at: since + elapsed)
        self.since = nil
        playedBefore += elapsed
        if heardFrames == nil { actions.append(.player(.halt(at: now))) }
        note(
            "played",
            [
                "hostStart": .integer(Int(since)), "hostEnd": .integer(Int(since + elapsed)), "from": .number(from),
                "to": .number(basePosition), "rate": .number(rate),
            ])
    }

    private mutating func finish(at now: Int64) {
        note("finished", ["position": .number(basePosition)])
        let next: Int? =
            switch repeatMode {
            case "REPEAT_SINGLE": currentIndex
            case "REPEAT_ALL", "REPEAT_ALL_AND_SHUFFLE": (currentIndex + 1) % max(1, items.count)
            default: currentIndex + 1 < items.count ? currentIndex + 1 : nil
            }
        if let next {
            let start = items[next].fields["startTime"]?.double ?? 0
            begin(next, from: start, autoplay: true, newSession: false, loader: nil, at: now)
        } else {
            end(reason: "FINISHED", at: now, answering: nil)
        }
    }

    private mutating func fail(code: Int, reason: String, at now: Int64) {
        note("failed", ["code": .integer(code), "reason": .string(reason)])
        if let loader {
            actions.append(
                .reply(loader, message("LOAD_FAILED", ["detailedErrorCode": .integer(code), "itemId": itemID])))
            self.loader = nil
        } else {
            actions.append(
                .push(message("ERROR", ["detailedErrorCode": .integer(code), "requestId": 0, "severity": 1])))
        }
        end(reason: "ERROR", at: now, answering: nil)
    }

    /// Ends the media session; the last status that names it says why.
    mutating func end(reason: String, at now: Int64, answering asker: CastAsker?) {
        stopClock(at: now)
        cancelLoad()
        let last = status(idle: reason, session: mediaSessionID, at: now)
        phase = .idle(reason)
        mediaSessionID = nil
        generation += 1
        items = []
        actions.append(.player(.stop))
        if let asker { actions.append(.reply(asker, message("MEDIA_STATUS", ["status": [last]]))) }
        push([last])
    }

    // MARK: Volume

    /// Device volume, as amplitude; what is heard is device times stream.
    mutating func setDeviceGain(_ gain: Double) {
        deviceGain = gain
        tellGain()
    }

    private mutating func tellGain() {
        actions.append(.player(.gain(streamMuted ? 0 : deviceGain * streamLevel)))
    }

    // MARK: Messages

    private var itemID: JSONValue { items.indices.contains(currentIndex) ? .integer(items[currentIndex].id) : .null }

    func message(_ type: String, _ fields: [String: JSONValue]) -> JSONValue {
        .object(fields.merging(["type": .string(type)]) { $1 })
    }

    mutating func note(_ word: String, _ details: [String: JSONValue] = [:]) { actions.append(.note(word, details)) }

    mutating func refuse(_ asker: CastAsker, _ reason: String) {
        note("refused", ["reason": .string(reason)])
        actions.append(.reply(asker, message("INVALID_REQUEST", ["reason": .string(reason)])))
    }

    private mutating func invalidState(_ asker: CastAsker) {
        note("refused", ["reason": "INVALID_PLAYER_STATE"])
        actions.append(.reply(asker, message("INVALID_PLAYER_STATE", [:])))
    }

    mutating func reply(_ asker: CastAsker, at now: Int64) {
        actions.append(.reply(asker, message("MEDIA_STATUS", ["status": .array(statuses(at: now, withMedia: true))])))
    }

    mutating func replyAndPush(_ asker: CastAsker, at now: Int64) {
        reply(asker, at: now)
        pushStatus(at: now)
    }

    mutating func pushStatus(at now: Int64, withMedia: Bool = false) { push(statuses(at: now, withMedia: withMedia)) }

    private mutating func push(_ statuses: [JSONValue]) {
        actions.append(.push(message("MEDIA_STATUS", ["requestId": 0, "status": .array(statuses)])))
    }

    private mutating func pushLoading(at now: Int64) {
        var fields = baseStatus(at: now)
        fields["mediaSessionId"] = mediaSessionID.map { .integer($0) }
        fields["playerState"] = "IDLE"
        fields["loadingItemId"] = itemID
        fields["extendedStatus"] = [
            "playerState": "LOADING", "media": items[currentIndex].media ?? .null,
            "mediaSessionId": mediaSessionID.map { .integer($0) } ?? .null,
        ]
        push([.object(fields)])
    }

    private func baseStatus(at now: Int64) -> [String: JSONValue] {
        var commands = 12_303
        if duration == nil, isActive, phase != .loading { commands &= ~(2 | 8_192) }
        if items.count > 1 { commands |= 64 | 128 }
        return [
            "currentTime": .number(position(at: now)), "playbackRate": .number(rate),
            "supportedMediaCommands": .integer(commands), "repeatMode": .string(repeatMode),
            "volume": ["level": .number(streamLevel), "muted": .bool(streamMuted)],
        ]
    }

    private func status(idle reason: String, session: Int?, at now: Int64) -> JSONValue {
        var fields = baseStatus(at: now)
        fields["playerState"] = "IDLE"
        fields["idleReason"] = .string(reason)
        fields["mediaSessionId"] = session.map { .integer($0) }
        fields["currentItemId"] = session == nil ? nil : itemID
        return .object(fields)
    }

    /// The list of a MEDIA_STATUS. Media and items are left out where nothing changed: senders merge.
    private func statuses(at now: Int64, withMedia: Bool) -> [JSONValue] {
        var fields = baseStatus(at: now)
        switch phase {
        case .empty: return []
        case .idle(let reason): return [status(idle: reason, session: nil, at: now)]
        case .loading: fields["playerState"] = "IDLE"
        case .buffering, .playing, .paused: fields["playerState"] = .string(phase.word)
        }
        fields["mediaSessionId"] = mediaSessionID.map { .integer($0) }
        fields["currentItemId"] = itemID
        if phase == .loading { fields["extendedStatus"] = ["playerState": "LOADING"] }
        if !activeTracks.isEmpty { fields["activeTrackIds"] = .array(activeTracks) }
        if withMedia, var media = items[currentIndex].media?.object {
            if let duration { media["duration"] = .number(duration) }
            // catt leaves the type open, and seeks only in what the device calls buffered.
            if media["streamType"]?.string == nil { media["streamType"] = duration == nil ? "LIVE" : "BUFFERED" }
            fields["media"] = .object(media)
            // At most the item before and the one after go along.
            let window = max(0, currentIndex - 1)...min(items.count - 1, currentIndex + 1)
            fields["items"] = .array(items[window].map(\.wire))
        }
        return [.object(fields)]
    }
}
