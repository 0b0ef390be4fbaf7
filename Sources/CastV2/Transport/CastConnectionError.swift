/// Why there is no connection, or no more.
public enum CastConnectionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No address for the name.
    case nameNotFound
    /// Nothing listens on that port.
    case refused
    /// No way to the host, in the system's words.
    case unreachable(String)
    /// Neither TCP nor TLS came about in time.
    case timedOut
    /// Something listens, but it does not speak TLS.
    case notTLS
    case tlsFailed(String)
    /// TLS, but not Cast inside.
    case notCast(CastFramingError)
    case closedByPeer
    /// Nothing was heard for so long that the device must be gone.
    case silent
    /// More messages than a device sends in its right mind.
    case flooded
    case network(String)
    /// We ended it.
    case ended

    public var description: String {
        switch self {
        case .nameNotFound: "there is no address for this name"
        case .refused: "nothing listens on this port"
        case .unreachable(let reason): "there is no way to the host (\(reason))"
        case .timedOut: "no connection came about in time"
        case .notTLS: "what listens there does not speak TLS"
        case .tlsFailed(let reason): "TLS failed (\(reason))"
        case .notCast(let error): "what answers there is no Cast device (\(error))"
        case .closedByPeer: "the device closed the connection"
        case .silent: "the device has fallen silent"
        case .flooded: "the device sends more than can be read"
        case .network(let reason): "the network failed (\(reason))"
        case .ended: "the connection was ended"
        }
    }
}
