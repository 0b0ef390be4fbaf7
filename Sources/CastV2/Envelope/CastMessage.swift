/// One message of a CastV2 channel: who says it to whom, in which namespace, and what (`Protocols/cast` section 2).
public struct CastMessage: Sendable, Hashable {
    public enum Payload: Sendable, Hashable {
        /// JSON, in every namespace but device authentication and remoting.
        case text(String)
        case binary([UInt8])
    }

    /// `sender-0`, `receiver-0`, a transport id, or any id that its owner chose.
    public var sourceID: String
    /// As `sourceID`, or `*` for everybody on the channel.
    public var destinationID: String
    public var namespace: String
    public var payload: Payload

    public init(sourceID: String, destinationID: String, namespace: String, payload: Payload) {
        self.sourceID = sourceID
        self.destinationID = destinationID
        self.namespace = namespace
        self.payload = payload
    }

    /// The text payload, or nil for a binary one.
    public var text: String? {
        if case .text(let text) = payload { text } else { nil }
    }

    /// The `type` of a JSON payload, for logs, which show no more of it.
    var kind: String {
        switch payload {
        case .text(let text):
            let json = CastJSON(text: text)
            return String((json?["type"].string ?? json?["responseType"].string ?? "text").prefix(64))
        case .binary(let bytes): return "\(bytes.count) bytes"
        }
    }
}

/// Well-known ends of a channel.
public enum CastAddress {
    /// The device itself, whatever app it runs.
    public static let platformReceiver = "receiver-0"
    /// The id that senders use for the platform by custom.
    public static let platformSender = "sender-0"
    public static let broadcast = "*"
}

/// Namespaces in use (`Protocols/cast` section 3).
public enum CastNamespace {
    public static let prefix = "urn:x-cast:com.google.cast."

    public static let connection = prefix + "tp.connection"
    public static let heartbeat = prefix + "tp.heartbeat"
    public static let deviceAuthentication = prefix + "tp.deviceauth"
    public static let receiver = prefix + "receiver"
    public static let discovery = prefix + "receiver.discovery"
    public static let setup = prefix + "setup"
    public static let media = prefix + "media"
    public static let multizone = prefix + "multizone"
    /// Cast Streaming: offers, answers and what a receiver is able to do.
    public static let webRTC = prefix + "webrtc"

    /// Those that the channel itself speaks: what comes in any other is handed on as it is.
    static let own: Set = [
        connection, heartbeat, deviceAuthentication, receiver, discovery, setup, media, multizone,
    ]
}
