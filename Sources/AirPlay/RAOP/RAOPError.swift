/// What can go wrong with a RAOP receiver. Holds no secret.
public enum RAOPError: Error, Sendable, Hashable {
    /// No connection came about; with the system's reason.
    case unreachable(reason: String)
    case connectTimedOut
    /// The connection is gone.
    case closed
    /// No answer to this method in time.
    case timedOut(method: String)
    /// 401 and no password at hand.
    case passwordRequired
    /// 401 again, with the password tried in every way known.
    case passwordRefused
    /// 453: somebody else plays there.
    case busy
    /// 403: the receiver wants a pairing, or an authentication that isn't ours to give.
    case forbidden(method: String)
    /// Any other answer that isn't success.
    case refused(method: String, status: Int, reason: String)
    /// The bytes are not RTSP.
    case malformed(RTSPDecodingError)
    /// The answer to SETUP lacks what audio needs.
    case incompleteSetup
    /// The stream's key could not be wrapped.
    case encryptionFailed

    /// The error that an answer stands for; nil for success.
    init?(method: String, response: RTSPResponse) {
        switch response.status {
        case 200..<300: return nil
        case 401: self = .passwordRefused
        case 403: self = .forbidden(method: method)
        case 453: self = .busy
        default: self = .refused(method: method, status: response.status, reason: response.reason)
        }
    }
}
