/// Tells requests of one channel apart; also `requestId` on the wire, from 1 on.
public typealias CastRequestID = Int

/// Something that a receiver is asked, and where.
public enum CastRequest: Sendable, Hashable {
    /// Who are you? Needs no virtual connection, and its answer carries no request id.
    case authenticate(CastAuthenticationChallenge)
    case receiver(CastReceiverRequest)
    /// To an app: `transport` is where, `session` the app's session id.
    case media(CastMediaRequest, transport: String, session: String?)

    public var destination: String {
        switch self {
        case .authenticate, .receiver: CastAddress.platformReceiver
        case .media(_, let transport, _): transport
        }
    }

    var namespace: String {
        switch self {
        case .authenticate: CastNamespace.deviceAuthentication
        case .receiver: CastNamespace.receiver
        case .media: CastNamespace.media
        }
    }

    func message(id: CastRequestID, from source: String) -> CastMessage {
        let json: CastJSON
        switch self {
        case .authenticate(let challenge): return challenge.message(from: source)
        case .receiver(let request): json = request.json(requestID: id)
        case .media(let request, _, let session): json = request.json(requestID: id, sessionID: session)
        }
        return CastMessage(
            sourceID: source, destinationID: destination, namespace: namespace, payload: .text(json.text))
    }

    /// Whether a newer request of the same kind makes this one pointless: the last place that a slider was left at is
    /// the one that counts.
    func isReplaced(by newer: CastRequest) -> Bool {
        switch (self, newer) {
        case (.receiver(.setVolume), .receiver(.setVolume)), (.receiver(.setMuted), .receiver(.setMuted)):
            return true
        case (.media(let old, let oldTransport, _), .media(let new, let newTransport, _)):
            guard oldTransport == newTransport else { return false }
            switch (old, new) {
            case (.load, .load), (.seek, .seek), (.setVolume, .setVolume), (.setMuted, .setMuted): return true
            default: return false
            }
        default: return false
        }
    }
}

/// The one final result of a request (C7).
public enum CastRequestResult: Sendable, Hashable {
    case completed(CastReply)
    case failed(CastRequestFailure)
    /// A newer request of its kind took its place, ours or another sender's.
    case replaced
    /// Given up by the one who asked, or by the end of the session.
    case cancelled
}

/// What a receiver answered to a request that it took.
public enum CastReply: Sendable, Hashable {
    case authentication(CastAuthenticationReply)
    case receiverStatus(CastReceiverStatus)
    case appAvailability([String: Bool])
    case mediaStatus([CastMediaStatusUpdate])
}

/// Why a request failed.
public enum CastRequestFailure: Error, Sendable, Hashable {
    /// INVALID_REQUEST: the device did not take it.
    case invalidRequest(reason: String?)
    case invalidPlayerState
    case launchFailed(reason: String?)
    /// A person at the device, or its settings, did not allow the launch.
    case launchDenied(status: String)
    case loadFailed(CastMediaFailure)
    case mediaError(CastMediaFailure)
    case timedOut
    /// The app went away before it answered.
    case appClosed
    case connectionLost(CastConnectionError)
    /// Too large for a frame, or without an address.
    case unsendable(CastFramingError)
}

/// How long things may take, in nanoseconds.
public struct CastTimeouts: Sendable, Hashable {
    /// TCP, TLS and all.
    public var connect: Int64 = 10_000_000_000
    /// An answer to the question who the device is.
    public var authentication: Int64 = 6_000_000_000
    /// An answer to an ordinary request.
    public var reply: Int64 = 8_000_000_000
    /// An app to be running.
    public var launch: Int64 = 30_000_000_000
    /// A person to allow the launch on the device's screen.
    public var authorization: Int64 = 60_000_000_000
    /// The answer to LOAD: a receiver fetches the beginning of the media before it gives one.
    public var load: Int64 = 30_000_000_000
    /// An app to stop: the last thing a session asks, and nothing hangs on the answer.
    public var stop: Int64 = 3_000_000_000
    /// Silence after which a PING is sent, in either direction.
    public var pingAfter: Int64 = 5_000_000_000
    /// Silence after which the device is given up.
    public var giveUpAfter: Int64 = 16_000_000_000

    public init() {}

    func limit(of request: CastRequest) -> Int64 {
        switch request {
        case .authenticate: authentication
        case .receiver(.launch): launch
        case .receiver(.stop): stop
        case .media(.load, _, _): load
        default: reply
        }
    }
}
