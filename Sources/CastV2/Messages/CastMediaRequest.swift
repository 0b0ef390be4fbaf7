/// A request of the media namespace, to an app's transport id (`Protocols/cast` section 7).
public enum CastMediaRequest: Sendable, Hashable {
    case getStatus
    case load(CastLoad)
    case play(mediaSessionID: Int)
    case pause(mediaSessionID: Int)
    /// `position` in seconds. Without `resume` the state stays as it is.
    case seek(mediaSessionID: Int, position: Double, resume: Resume?)
    case stop(mediaSessionID: Int)
    /// Stream volume, 0 to 1: not the device's.
    case setVolume(mediaSessionID: Int, level: Double)
    case setMuted(mediaSessionID: Int, Bool)

    public enum Resume: String, Sendable, Hashable {
        case start = "PLAYBACK_START"
        case pause = "PLAYBACK_PAUSE"
    }

    /// `sessionID` is the app's; senders include it, and older receivers ask for it.
    public func json(requestID: Int, sessionID: String?) -> CastJSON {
        var fields: [String: CastJSON] = ["requestId": .number(Double(requestID))]
        fields.put("sessionId", sessionID)
        func address(_ type: String, _ mediaSessionID: Int) {
            fields["type"] = .string(type)
            fields["mediaSessionId"] = .number(Double(mediaSessionID))
        }
        switch self {
        case .getStatus:
            fields["type"] = "GET_STATUS"
            // The media session is asked for as a whole: naming one that is gone would be an error.
            fields["sessionId"] = nil
        case .load(let load):
            fields["type"] = "LOAD"
            fields["media"] = load.media.json
            fields["autoplay"] = .bool(load.autoplay)
            fields["currentTime"] = .number(load.currentTime)
        case .play(let id): address("PLAY", id)
        case .pause(let id): address("PAUSE", id)
        case .seek(let id, let position, let resume):
            address("SEEK", id)
            fields["currentTime"] = .number(position)
            fields.put("resumeState", resume?.rawValue)
        case .stop(let id): address("STOP", id)
        case .setVolume(let id, let level):
            address("SET_VOLUME", id)
            fields["volume"] = ["level": .number(level.isNaN ? 0 : min(1, max(0, level)))]
        case .setMuted(let id, let muted):
            address("SET_VOLUME", id)
            fields["volume"] = ["muted": .bool(muted)]
        }
        return .object(fields)
    }
}

/// One item to load.
public struct CastLoad: Sendable, Hashable {
    public var media: CastMediaInformation
    public var autoplay: Bool
    /// Seconds into the item at which to begin.
    public var currentTime: Double

    public init(media: CastMediaInformation, autoplay: Bool = true, currentTime: Double = 0) {
        self.media = media
        self.autoplay = autoplay
        self.currentTime = currentTime
    }
}
