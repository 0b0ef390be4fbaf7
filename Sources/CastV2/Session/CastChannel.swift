/// A namespace that an app and its senders have for themselves, as one listener has it (C16; `Protocols/cast`
/// “Custom channels”).
///
/// It attaches by itself when the app of the session lists the namespace, also when it does so only later, and detaches
/// when app or namespace go. It lives until it is closed or the connection ends, across apps.
public struct CastChannel: Sendable {
    public let namespace: String
    /// What happens in the channel, in order. Finishes when it is closed, or with the connection.
    public let events: AsyncStream<CastChannelEvent>
    private let session: CastSession
    private let id: Int

    init(namespace: String, events: AsyncStream<CastChannelEvent>, session: CastSession, id: Int) {
        self.namespace = namespace
        self.events = events
        self.session = session
        self.id = id
    }

    /// Says something to the app. Returns when it is queued: nothing tells whether the app took it.
    ///
    /// Throws `CastChannelError`.
    public func send(_ payload: CastMessage.Payload) async throws {
        try await session.send(payload, in: namespace)
    }

    public func send(text: String) async throws { try await send(.text(text)) }
    public func send(json: CastJSON) async throws { try await send(.text(json.text)) }

    /// Ends `events`. The app is not told: other listeners may be there.
    public func close() async { await session.closeChannel(id) }
}

public enum CastChannelEvent: Sendable, Hashable {
    case attached(CastAppSession)
    case message(CastChannelMessage)
    /// So many messages came that were not taken in time, and are lost.
    case missed(Int)
    case detached(CastChannelDetachment)
}

public struct CastChannelMessage: Sendable, Hashable {
    /// Text or binary, as it came: which of them a namespace holds is between the app and its senders.
    public var payload: CastMessage.Payload
    /// To all senders, not to this one alone.
    public var isBroadcast: Bool

    public init(payload: CastMessage.Payload, isBroadcast: Bool) {
        self.payload = payload
        self.isBroadcast = isBroadcast
    }

    /// The text; nil for binary.
    public var text: String? { if case .text(let text) = payload { text } else { nil } }
    /// The text as JSON; nil where it is none.
    public var json: CastJSON? { text.flatMap(CastJSON.init(text:)) }
}

/// Why a channel has nobody at its other end any more.
public enum CastChannelDetachment: Sendable, Hashable {
    /// The app is gone, or this session left it.
    case appGone
    /// The app goes on, and does not list the namespace any more.
    case namespaceGone
    case connectionLost(CastConnectionError)
}

/// Why a message of a custom channel was not sent, or no channel opened.
public enum CastChannelError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Not of the form `urn:x-cast:…`, or longer than `CastChannel.maximumNamespace`.
    case notANamespace
    /// One that the session itself speaks: it has requests for that.
    case reserved
    /// No app that lists the namespace is attached.
    case notAttached
    case connectionLost(CastConnectionError)
    /// Too large: a message with all its addresses must fit `CastFraming.maximumBody`.
    case unsendable(CastFramingError)
    /// The device does not take what was sent before.
    case congested

    public var description: String {
        switch self {
        case .notANamespace: "a namespace begins with \(CastChannel.prefix) and has a name after it"
        case .reserved: "this namespace belongs to the protocol itself"
        case .notAttached: "no app that speaks this namespace runs on the device"
        case .connectionLost(let error): "the connection is gone: \(error)"
        case .unsendable(let error): "the message cannot be sent: \(error)"
        case .congested: "the device takes no more messages at present"
        }
    }
}

extension CastChannel {
    public static let prefix = "urn:x-cast:"
    /// Characters of a namespace, as Google's own library allows.
    public static let maximumNamespace = 128

    /// Throws `notANamespace` or `reserved`.
    public static func check(namespace: String) throws(CastChannelError) {
        guard namespace.hasPrefix(prefix), namespace.count > prefix.count, namespace.count <= maximumNamespace,
            namespace.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7f })
        else { throw .notANamespace }
        guard !CastNamespace.own.contains(namespace) else { throw .reserved }
    }
}

/// Something with a state of its own that lives in one namespace: what an app's own protocol is made of.
///
/// `CastSession.serve` runs it: `attached` first, then messages, then `detached`, and again for the next app. One call
/// at a time.
public protocol CastChannelHandler: Actor {
    nonisolated var namespace: String { get }
    func attached(to app: CastAppSession, by channel: CastChannel) async
    func received(_ message: CastChannelMessage) async
    /// So many messages were not taken in time, and are lost.
    func missed(_ count: Int) async
    func detached(_ why: CastChannelDetachment) async
}

extension CastChannelHandler {
    public func missed(_ count: Int) async {}
}
