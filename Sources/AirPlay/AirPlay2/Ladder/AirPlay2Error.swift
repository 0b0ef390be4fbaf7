import HomeKitPairing

/// What can go wrong with an AirPlay 2 receiver. Holds no secret.
public enum AirPlay2Error: Error, Sendable, Hashable {
    /// The connection, or an answer that isn't success and has no case of its own here.
    case rtsp(RAOPError)
    /// 470: the receiver lets nobody in who isn't paired with it.
    case pairingRequired(method: String)
    /// 455: not in this state; HomePods say so of a volume that comes before the stream.
    case notValidNow(method: String)
    /// An answer that could not be read.
    case malformedAnswer(method: String, AirPlay2MessageError)
    /// An answer that lacks what audio needs.
    case incompleteAnswer(method: String, key: String)
    /// A call that the session isn't ready for, or that comes after its end.
    case wrongOrder

    /// The error that an answer stands for; nil for success.
    init?(method: String, response: RTSPResponse) {
        switch response.status {
        case 470: self = .pairingRequired(method: method)
        case 455: self = .notValidNow(method: method)
        default:
            guard let error = RAOPError(method: method, response: response) else { return nil }
            self = .rtsp(error)
        }
    }
}
