/// What a session knows of its device, whole.
public struct CastSessionState: Sendable, Hashable {
    public enum Connection: Sendable, Hashable {
        case open
        case closed(CastConnectionError)
    }

    public enum App: Sendable, Hashable {
        case none
        case running(CastAppSession)
        /// It was there and is not any more. `by` runs now; nil: nothing does, or the app closed its door to us.
        case gone(by: CastApplication?)
    }

    /// Grows with every change, to tell newer from older.
    public var revision = 0
    public var connection = Connection.open
    /// Nil until the device has told.
    public var receiver: CastReceiverStatus?
    public var app = App.none
    public var media = CastMediaTracker()
    /// The last failure to play that no request asked for.
    public var mediaFailure: CastMediaFailure?
    /// The members of a group; nil until it was asked for (`followGroup`) and has told.
    public var group: CastMultizoneStatus?
    /// The same members' volumes, with trims that survive 0.
    public var groupVolumes = CastGroupVolumes()
    /// What the device said when it closed the connection to itself; nil where it said nothing.
    public var goodbye: CastCloseReason?
    /// What the app said when it closed its connection to us; nil where it said nothing.
    public var appGoodbye: CastCloseReason?
    /// Whether the app was stopped by this session.
    public var stoppedByUs = false

    public init() {}

    public var runningApp: CastAppSession? {
        if case .running(let app) = app { app } else { nil }
    }

    /// Why it is over with the app or the device; nil while it is not.
    public var end: CastSessionEnd? {
        switch connection {
        case .closed(.ended): return .ended
        case .closed(.closedByPeer): return .deviceClosed(goodbye)
        case .closed(.silent): return .silent
        case .closed(let error): return .network(error)
        case .open: break
        }
        switch app {
        case .none, .running: return nil
        case .gone(let other?): return .takenOver(by: other)
        case .gone(nil): return stoppedByUs ? .ended : appGoodbye.map { .appLeft($0) } ?? .appStopped
        }
    }

    /// Each member of the group with whether sound comes out of it: a group plays on all of its members.
    public var memberPlayback: [CastMemberPlayback] {
        let plays = media.current?.playerState == .playing
        return (group?.members ?? []).map {
            CastMemberPlayback(member: $0, app: receiver?.activeApplication, plays: plays)
        }
    }
}

/// What one member of a group does.
public struct CastMemberPlayback: Sendable, Hashable {
    public var member: CastGroupMember
    /// The group's app, which occupies the member too.
    public var app: CastApplication?
    public var plays: Bool
}

/// Why a session with an app or a device is over (C5).
public enum CastSessionEnd: Sendable, Hashable, CustomStringConvertible {
    /// By us.
    case ended
    /// The app was stopped there, and nothing has taken its place.
    case appStopped
    /// The app closed its connection to us, for this reason, and would not have us again.
    case appLeft(CastCloseReason)
    case takenOver(by: CastApplication)
    /// The device closed the connection; for what reason, where it said so: `idle` when it heard too little of us.
    case deviceClosed(CastCloseReason?)
    /// The device is not heard any more.
    case silent
    case network(CastConnectionError)

    public var description: String {
        switch self {
        case .ended: "it was ended here"
        case .appStopped: "the app was stopped on the device"
        case .appLeft(let reason): "the app closed the connection: \(reason)"
        case .takenOver(let app): "\(app.displayName ?? app.appID) took the device over"
        case .deviceClosed(nil): "the device closed the connection"
        case .deviceClosed(let reason?): "the device closed the connection: \(reason)"
        case .silent: "the device has fallen silent"
        case .network(let error): "\(error)"
        }
    }

    /// Whether the app may still run there, so that connecting again and joining it may carry on.
    public var mayResume: Bool {
        switch self {
        case .deviceClosed, .silent, .network: true
        case .ended, .appStopped, .appLeft, .takenOver: false
        }
    }
}

/// An app that this session talks to.
public struct CastAppSession: Sendable, Hashable {
    public enum Origin: Sendable, Hashable {
        /// We started it.
        case launched
        /// It ran already.
        case joined
    }

    public var appID: String
    public var displayName: String?
    public var sessionID: String
    public var transportID: String
    public var origin: Origin

    public init(appID: String, displayName: String?, sessionID: String, transportID: String, origin: Origin) {
        self.appID = appID
        self.displayName = displayName
        self.sessionID = sessionID
        self.transportID = transportID
        self.origin = origin
    }
}

/// How an attempt to join a running app ended.
public enum CastJoinResult: Sendable, Hashable {
    case joined(CastAppSession)
    /// Nothing runs there.
    case gone
    /// That app session does not run any more; this does. It may be the same app, in a session of its own.
    case other(CastApplication)
}
