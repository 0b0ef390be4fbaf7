/// Tells requests of one channel apart; also `requestId` on the wire, from 1 on.
public typealias CastRequestID = Int

/// Something that a receiver is asked, and where.
public enum CastRequest: Sendable, Hashable {
    /// Who are you? Needs no virtual connection, and its answer carries no request id.
    case authenticate(CastAuthenticationChallenge)
    case receiver(CastReceiverRequest)
    case multizone(CastMultizoneRequest)
    /// GET_DEVICE_INFO. Nothing sends it unasked.
    case deviceInformation
    /// `eureka_info`. Nothing sends it unasked: there are speakers that crash when it is asked for often.
    case eurekaInformation
    /// To an app: `transport` is where, `session` the app's session id.
    case media(CastMediaRequest, transport: String, session: String?)

    public var destination: String {
        switch self {
        case .authenticate, .receiver, .multizone, .deviceInformation, .eurekaInformation: CastAddress.platformReceiver
        case .media(_, let transport, _): transport
        }
    }

    var namespace: String {
        switch self {
        case .authenticate: CastNamespace.deviceAuthentication
        case .receiver: CastNamespace.receiver
        case .multizone: CastNamespace.multizone
        case .deviceInformation: CastNamespace.discovery
        case .eurekaInformation: CastNamespace.setup
        case .media: CastNamespace.media
        }
    }

    func message(id: CastRequestID, from source: String) -> CastMessage {
        let number = CastJSON.number(Double(id))
        let json: CastJSON
        switch self {
        case .authenticate(let challenge): return challenge.message(from: source)
        case .receiver(let request): json = request.json(requestID: id)
        case .multizone(let request): json = request.json(requestID: id)
        case .deviceInformation: json = ["type": "GET_DEVICE_INFO", "requestId": number]
        // The one namespace that writes its keys like this.
        case .eurekaInformation: json = ["type": "eureka_info", "request_id": number]
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
        case (
            .multizone(.setVolume(let old, _)), .multizone(.setVolume(let new, _))
        ), (.multizone(.setMuted(let old, _)), .multizone(.setMuted(let new, _))):
            return old == new
        case (.media(let old, let oldTransport, _), .media(let new, let newTransport, _)):
            guard oldTransport == newTransport else { return false }
            switch (old, new) {
            case (.seek, .seek), (.setVolume, .setVolume), (.setMuted, .setMuted),
                (.setPlaybackRate, .setPlaybackRate), (.editTracks, .editTracks), (.focusState, .focusState):
                return true
            default: return old.isLoad && new.isLoad
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
    /// By app id; an id that the device does not speak of is not known to be either.
    case appAvailability([String: Bool])
    case mediaStatus([CastMediaStatusUpdate])
    case queueItemIDs([Int], sequenceNumber: Int?)
    case queueItems([CastQueueItem])
    case queueChange(CastQueueChange)
    case storedSession(CastStoredSession)
    case multizone(CastMultizoneNews)
    case deviceInformation(CastDeviceInformation)
    case eurekaInformation(CastEurekaInformation)
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
    /// More requests than `CastLimits.requestsInFlight` wait for an answer.
    case tooManyRequests

    /// Why a launch failed; nil where none did.
    public var launchProblem: CastLaunchProblem? {
        switch self {
        case .launchFailed(let reason): CastLaunchProblem(word: reason ?? "")
        case .launchDenied(let status): CastLaunchProblem(word: status)
        default: nil
        }
    }
}

/// How much is kept for one device, so that none can make this process grow.
public enum CastLimits {
    /// Requests that wait for an answer.
    public static let requestsInFlight = 64
    /// Messages that wait in one custom channel for whoever listens.
    public static let channelBacklog = 256
    /// Bytes that wait to be sent before custom channels take no more.
    public static let unsentBytes = 1_048_576
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
    /// Silence after which a PING is sent, in either direction. More than the 5 s of devices, so that one side asks.
    public var pingAfter: Int64 = 6_000_000_000
    /// Silence after which the device is given up.
    public var giveUpAfter: Int64 = 16_000_000_000

    public init() {}

    func limit(of request: CastRequest) -> Int64 {
        switch request {
        case .authenticate: authentication
        case .receiver(.launch): launch
        case .receiver(.stop): stop
        case .media(let request, _, _) where request.isLoad: load
        default: reply
        }
    }
}
