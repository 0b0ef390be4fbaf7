/// Messages of `tp.connection` and `tp.heartbeat` (`Protocols/cast` sections 3 and 4).
public enum CastTransportMessage: Sendable, Hashable {
    /// Opens the virtual connection from source to destination; everything else on that pair comes after it.
    case connect(userAgent: String)
    case close
    case ping
    case pong

    public var namespace: String {
        switch self {
        case .connect, .close: CastNamespace.connection
        case .ping, .pong: CastNamespace.heartbeat
        }
    }

    public var json: CastJSON {
        switch self {
        case .connect(let userAgent): ["type": "CONNECT", "origin": [:], "userAgent": .string(userAgent)]
        case .close: ["type": "CLOSE"]
        case .ping: ["type": "PING"]
        case .pong: ["type": "PONG"]
        }
    }

    public func message(from source: String, to destination: String) -> CastMessage {
        CastMessage(
            sourceID: source, destinationID: destination, namespace: namespace, payload: .text(json.text))
    }
}
