import RouteModel

/// What a daemon can do, for clients that are older or newer.
public struct APICapabilities: Codable, Sendable, Hashable {
    /// Of the API: what its paths begin with.
    public var version: String
    public var operations: [String]
    public var topics: [String]
    public var commands: [String]
    public var edits: [String]
    /// Whether scenes can be run here.
    public var scenes: Bool

    public init(scenes: Bool) {
        version = "v1"
        operations = OperationID.allCases.map(\.rawValue)
        topics = EventTopic.allCases.map(\.rawValue)
        commands = RemoteCommand.tags
        edits = QueueEdit.tags
        self.scenes = scenes
    }
}

public struct DaemonStatus: Codable, Sendable, Hashable {
    public var pid: Int
    /// Seconds since 1970.
    public var started: Double
    /// Seconds.
    public var uptime: Double
    public var routes: Int
    public var sessions: Int
    /// Who reads events now.
    public var eventReaders: Int
    /// Of the last event.
    public var sequence: Int
    /// Where it listens.
    public var places: [String]

    public init(
        pid: Int, started: Double, uptime: Double, routes: Int, sessions: Int, eventReaders: Int, sequence: Int,
        places: [String]
    ) {
        self.pid = pid
        self.started = started
        self.uptime = uptime
        self.routes = routes
        self.sessions = sessions
        self.eventReaders = eventReaders
        self.sequence = sequence
        self.places = places
    }
}

/// One thing that was logged.
public struct LogLine: Codable, Sendable, Hashable {
    /// Least severe first.
    public static let levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    /// Seconds since 1970.
    public var time: Double
    public var level: String
    /// The module and the file that speak: `CastV2.CastSession`.
    public var component: String
    public var text: String

    public init(time: Double, level: String, component: String, text: String) {
        self.time = time
        self.level = level
        self.component = component
        self.text = text
    }
}

/// A request that was answered before it was done.
public struct PendingWork: Codable, Sendable, Hashable, Identifiable {
    public enum State: String, Codable, Sendable, Hashable, CaseIterable { case running, done, failed }

    public var id: String
    public var operation: String
    public var state: State
    public var error: RouterError?
    /// What the request would have been answered, where that is not too large to be kept (1 MiB).
    public var result: JSONValue?

    public init(id: String, operation: String, state: State, error: RouterError? = nil, result: JSONValue? = nil) {
        self.id = id
        self.operation = operation
        self.state = state
        self.error = error
        self.result = result
    }
}

/// What came of telling a device to forget us.
public struct UnpairReport: Codable, Sendable, Hashable {
    /// What a person has to do at the device, where it could not be told.
    public var notice: Notice?

    public init(notice: Notice?) { self.notice = notice }
}
