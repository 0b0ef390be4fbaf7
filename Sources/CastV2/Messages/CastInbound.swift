/// A message from a receiver, read.
public enum CastInbound: Sendable, Hashable {
    case ping
    case pong
    case close(reasonCode: Int?)
    case connected(protocolVersion: Int?)

    case receiverStatus(CastReceiverStatus, requestID: Int)
    case launchStatus(String, requestID: Int)
    /// `extended` says more, in newer devices: `extendedError`.
    case launchError(reason: String?, extended: String?, requestID: Int)
    /// Apps that the device said nothing clear about are left out.
    case appAvailability([String: Bool], requestID: Int)

    case mediaStatus([CastMediaStatusUpdate], requestID: Int)
    case loadFailed(CastMediaFailure, requestID: Int)
    case loadCancelled(requestID: Int)
    case invalidPlayerState(requestID: Int)
    case mediaError(CastMediaFailure, requestID: Int)
    case queueItemIDs([Int], sequenceNumber: Int?, requestID: Int)
    case queueItems([CastQueueItem], requestID: Int)
    case queueChange(CastQueueChange, requestID: Int)
    case storedSession(CastStoredSession, requestID: Int)

    case multizone(CastMultizoneNews, requestID: Int)
    case deviceInformation(CastDeviceInformation, requestID: Int)
    case eurekaInformation(CastEurekaInformation, requestID: Int)

    /// Of any namespace with requests: it answers a request that made no sense to the device.
    case invalidRequest(reason: String?, requestID: Int)
    case deviceAuthentication(CastAuthenticationReply)
    /// A message of a type or namespace that nothing here handles.
    case other(type: String?, CastJSON)
    /// No JSON where JSON belongs.
    case unreadable

    /// Never fails: what is not understood is `other` or `unreadable`. A request id that is missing counts as 0, which
    /// is what devices give to messages that answer nobody.
    public init(_ message: CastMessage) {
        if message.namespace == CastNamespace.deviceAuthentication {
            self = .deviceAuthentication(CastAuthenticationReply(message.payload))
            return
        }
        switch message.payload {
        case .binary: self = .unreadable
        case .text(let text):
            // The most of what is said on a connection where nothing happens.
            if message.namespace == CastNamespace.heartbeat, let beat = Self.beats[text] {
                self = beat
                return
            }
            guard let json = CastJSON(text: text), json.object != nil else {
                self = .unreadable
                return
            }
            // GET_APP_AVAILABILITY is answered with `responseType` in place of `type`.
            let type = (json["type"].string ?? json["responseType"].string)?.uppercased()
            let known =
                switch message.namespace {
                case CastNamespace.connection: Self.connection(type, json)
                case CastNamespace.heartbeat: Self.heartbeat(type)
                case CastNamespace.receiver: Self.receiver(type, json)
                case CastNamespace.media: Self.media(type, json)
                case CastNamespace.multizone: Self.multizone(type, json)
                case CastNamespace.discovery: Self.discovery(type, json)
                case CastNamespace.setup: Self.setup(type, json)
                default: nil as CastInbound?
                }
            self = known ?? .other(type: type, json)
        }
    }

    /// As devices write them.
    private static let beats: [String: CastInbound] = [#"{"type":"PING"}"#: .ping, #"{"type":"PONG"}"#: .pong]

    private static func connection(_ type: String?, _ json: CastJSON) -> CastInbound? {
        switch type {
        case "CLOSE": .close(reasonCode: json["reasonCode"].int)
        case "CONNECTED": .connected(protocolVersion: json["protocolVersion"].int)
        default: nil
        }
    }

    private static func heartbeat(_ type: String?) -> CastInbound? {
        switch type {
        case "PING": .ping
        case "PONG": .pong
        default: nil
        }
    }

    private static func receiver(_ type: String?, _ json: CastJSON) -> CastInbound? {
        let requestID = json["requestId"].int ?? 0
        switch type {
        case "RECEIVER_STATUS":
            // Without a status it can still be the answer that nothing runs; as news it says nothing.
            guard json["status"].object != nil || json["status"].isNull && requestID != 0 else { return nil }
            return .receiverStatus(CastReceiverStatus(json: json["status"]), requestID: requestID)
        case "LAUNCH_STATUS":
            return .launchStatus(
                json["status"].string?.uppercased() ?? "", requestID: json["launchRequestId"].int ?? requestID)
        case "LAUNCH_ERROR":
            return .launchError(
                reason: json["reason"].string, extended: json["extendedError"].string, requestID: requestID)
        case "GET_APP_AVAILABILITY":
            let answers = json["availability"].object ?? [:]
            return .appAvailability(answers.compactMapValues(available), requestID: requestID)
        case "INVALID_REQUEST": return .invalidRequest(reason: json["reason"].string, requestID: requestID)
        default: return nil
        }
    }

    private static func available(_ answer: CastJSON) -> Bool? {
        switch answer.string?.uppercased() {
        case "APP_AVAILABLE": true
        case "APP_UNAVAILABLE": false
        default: nil
        }
    }

    private static func multizone(_ type: String?, _ json: CastJSON) -> CastInbound? {
        let requestID = json["requestId"].int ?? 0
        if type == "INVALID_REQUEST" { return .invalidRequest(reason: json["reason"].string, requestID: requestID) }
        return CastMultizoneNews(type: type, json: json).map { .multizone($0, requestID: requestID) }
    }

    private static func discovery(_ type: String?, _ json: CastJSON) -> CastInbound? {
        let requestID = json["requestId"].int ?? 0
        switch type {
        case "GET_DEVICE_INFO": return .deviceInformation(CastDeviceInformation(json: json), requestID: requestID)
        case "INVALID_REQUEST": return .invalidRequest(reason: json["reason"].string, requestID: requestID)
        default: return nil
        }
    }

    private static func setup(_ type: String?, _ json: CastJSON) -> CastInbound? {
        guard type == "EUREKA_INFO" else { return nil }
        return .eurekaInformation(CastEurekaInformation(json: json), requestID: json["request_id"].int ?? 0)
    }

    private static func media(_ type: String?, _ json: CastJSON) -> CastInbound? {
        let requestID = json["requestId"].int ?? 0
        switch type {
        case "MEDIA_STATUS":
            return .mediaStatus(json["status"].elements.map(CastMediaStatusUpdate.init(json:)), requestID: requestID)
        case "LOAD_FAILED": return .loadFailed(CastMediaFailure(json: json), requestID: requestID)
        case "LOAD_CANCELLED": return .loadCancelled(requestID: requestID)
        case "INVALID_PLAYER_STATE": return .invalidPlayerState(requestID: requestID)
        case "INVALID_REQUEST": return .invalidRequest(reason: json["reason"].string, requestID: requestID)
        case "ERROR": return .mediaError(CastMediaFailure(json: json), requestID: requestID)
        case "QUEUE_ITEM_IDS":
            return .queueItemIDs(
                json["itemIds"].ints ?? [], sequenceNumber: json["sequenceNumber"].int, requestID: requestID)
        case "QUEUE_ITEMS":
            return .queueItems(
                json["items"].elements.compactMap(CastQueueItem.init(json:)), requestID: requestID)
        case "QUEUE_CHANGE": return .queueChange(CastQueueChange(json: json), requestID: requestID)
        case "SESSION_STATE":
            return .storedSession(CastStoredSession(json: json["sessionState"]), requestID: requestID)
        default: return nil
        }
    }
}
