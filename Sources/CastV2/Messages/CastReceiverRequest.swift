/// A request of the receiver namespace, to the device itself (`Protocols/cast` section 6).
public enum CastReceiverRequest: Sendable, Hashable {
    case getStatus
    case launch(appID: String)
    /// Stops one app; nil stops whatever runs.
    case stop(sessionID: String?)
    /// Device volume, 0 to 1.
    case setVolume(level: Double)
    /// Level and mute go in messages of their own: that is what devices take best.
    case setMuted(Bool)
    case getAppAvailability(appIDs: [String])

    public func json(requestID: Int) -> CastJSON {
        var fields: [String: CastJSON] = ["requestId": .number(Double(requestID))]
        switch self {
        case .getStatus: fields["type"] = "GET_STATUS"
        case .launch(let appID):
            fields["type"] = "LAUNCH"
            fields["appId"] = .string(appID)
            fields["language"] = "en"
            fields["supportedAppTypes"] = ["WEB", "ANDROID_TV"]
        case .stop(let sessionID):
            fields["type"] = "STOP"
            fields.put("sessionId", sessionID)
        case .setVolume(let level):
            fields["type"] = "SET_VOLUME"
            fields["volume"] = ["level": .number(level.isNaN ? 0 : min(1, max(0, level)))]
        case .setMuted(let muted):
            fields["type"] = "SET_VOLUME"
            fields["volume"] = ["muted": .bool(muted)]
        case .getAppAvailability(let appIDs):
            fields["type"] = "GET_APP_AVAILABILITY"
            fields["appId"] = .array(appIDs.map(CastJSON.string))
        }
        return .object(fields)
    }
}
