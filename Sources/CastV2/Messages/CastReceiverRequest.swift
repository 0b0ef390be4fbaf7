/// A request of the receiver namespace, to the device itself (`Protocols/cast` section 6).
public enum CastReceiverRequest: Sendable, Hashable {
    case getStatus
    case launch(CastLaunch)
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
        case .launch(let launch):
            fields["type"] = "LAUNCH"
            fields["appId"] = .string(launch.appID)
            fields["language"] = .string(launch.language)
            fields["supportedAppTypes"] = .array(launch.supportedAppTypes.map(CastJSON.string))
            fields.put("appParams", launch.parameters)
            fields.put("credentials", launch.credentials)
        case .stop(let sessionID):
            fields["type"] = "STOP"
            fields.put("sessionId", sessionID)
        case .setVolume(let level):
            fields["type"] = "SET_VOLUME"
            fields["volume"] = CastVolume.json(level: level)
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

extension CastVolume {
    /// A level to set, 0 to 1; what is no number is 0, never full.
    static func json(level: Double) -> CastJSON { ["level": .number(level.isNaN ? 0 : min(1, max(0, level)))] }
}
