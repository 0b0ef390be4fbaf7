/// What a session knows of its device, whole.
public struct CastSessionState: Sendable, Hashable {
    public enum Connection: Sendable, Hashable {
        case open
        case closed(CastConnectionError)
    }

    public enum App: Sendable, Hashable {
        case none
        case running(CastAppSession)
        /// It was there and is not any more. `by` runs now; nil: nothing does.
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

    public init() {}

    public var runningApp: CastAppSession? {
        if case .running(let app) = app { app } else { nil }
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
