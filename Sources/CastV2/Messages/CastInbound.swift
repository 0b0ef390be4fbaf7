/// A message from a receiver, read.
public enum CastInbound: Sendable, Hashable {
    case ping
    case pong
    case close(reasonCode: Int?)
    case connected(protocolVersion: Int?)

    case receiverStatus(CastReceiverStatus, requestID: Int)
    case launchStatus(String, requestID: Int)
    case launchError(reason: String?, requestID: Int)
    case appAvailability([String: Bool], requestID: Int)

    case mediaStatus([CastMediaStatusUpdate], requestID: Int)
    case loadFailed(CastMediaFailure, requestID: Int)
    case loadCancelled(requestID: Int)
    case invalidPlayerState(requestID: Int)
    case mediaError(CastMediaFailure, requestID: Int)

    /// Of the receiver or the media namespace: it answers a request that made no sense to the device.
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
                default: nil as CastInbound?
                }
            self = known ?? .other(type: type, json)
        }
    }

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
            return .receiverStatus(CastReceiverStatus(json: json["status"]), requestID: requestID)
        case "LAUNCH_STATUS":
            return .launchStatus(
                json["status"].string?.uppercased() ?? "", requestID: json["launchRequestId"].int ?? requestID)
        case "LAUNCH_ERROR":
            return .launchError(
                reason: json["reason"].string ?? json["extendedError"].string, requestID: requestID)
        case "GET_APP_AVAILABILITY":
            let answers = json["availability"].object ?? [:]
            return .appAvailability(
                answers.compactMapValues { $0.string?.uppercased() == "APP_AVAILABLE" }, requestID: requestID)
        case "INVALID_REQUEST": return .invalidRequest(reason: json["reason"].string, requestID: requestID)
        default: return nil
        }
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
        default: return nil
        }
    }
}

/// Why a receiver could not play.
public struct CastMediaFailure: Sendable, Hashable {
    /// `detailedErrorCode`.
    public var code: Int?
    public var reason: String?

    public init(code: Int? = nil, reason: String? = nil) {
        self.code = code
        self.reason = reason
    }

    init(json: CastJSON) {
        code = json["detailedErrorCode"].int ?? json["customData"]["detailedErrorCode"].int
        reason = json["reason"].string
    }

    /// What kind of trouble a code speaks of.
    public enum Kind: Sendable, Hashable { case unreachable, unsupported, decoding, keys, aborted, other }

    public var kind: Kind {
        switch code ?? 0 {
        case 103, 300, 301, 311, 312, 313, 321, 332: .unreachable
        case 104,
            201...203 where code != 201:
            .unsupported
        case 102, 110, 315, 316, 322, 400...431, 500: .decoding
        case 201, 314: .keys
        case 101, 904: .aborted
        default: .other
        }
    }

    /// The code in words, as a clause that follows "the receiver says that".
    public var explanation: String {
        let words =
            switch code ?? 0 {
            case 100: "it failed without saying why"
            case 101: "loading was aborted"
            case 102: "it could not decode the media"
            case 103: "it could not fetch the media over the network"
            case 104: "it cannot play this kind of media, or could not reach it"
            case 110: "it could not put the media into its buffer"
            case 201: "it could not fetch a key over the network"
            case 202: "it does not support this kind of protection"
            case 203: "it has no way to decrypt here"
            case 300: "the network failed"
            case 301: "it could not fetch a segment"
            case 311, 411: "it could not get or read the HLS master playlist"
            case 312, 412: "it could not get or read an HLS playlist"
            case 313: "nobody answered when it asked for a key"
            case 314: "it could not load a key"
            case 315, 423: "a segment is invalid"
            case 316: "it could not parse a segment"
            case 321: "it could not fetch the DASH manifest"
            case 322: "the DASH initialisation segment is missing"
            case 331, 431: "it could not get or read the Smooth Streaming manifest"
            case 332: "no data came"
            case 400...422: "it could not read the manifest"
            case 500: "a segment failed"
            case 600: "the text track failed"
            case 900, 905, 906, 909: "its app failed to load the media"
            case 901, 902: "an ad break failed"
            case 903: "it could not show the image"
            case 904: "another load came in between"
            default: "it could not load the media"
            }
        let details = [code.map { "code \($0)" }, reason.map { "reason \($0)" }].compactMap { $0 }
        return details.isEmpty ? words : "\(words) (\(details.joined(separator: ", ")))"
    }
}
