/// The one control boundary: commands in, snapshots and numbered events out.
///
/// The engine implements it, and so will the daemon's client; the command line, scenes, MPRIS and HTTP use it and
/// nothing else, so that a caller neither knows nor cares whether a daemon is there. Every function throws
/// `RouterError` and no other error.
public protocol RouterControlling: Sendable {
    /// What is known now. With `settle`, waits until discovery has had a fair chance (about a second), or until every
    /// way of discovery is known not to work.
    func routes(settle: Bool) async throws -> RouteList

    /// How eagerly to look for devices from now on: actively while somebody looks at a list of them. A router that cannot
    /// choose does nothing.
    func discover(_ activity: DiscoveryActivity) async

    /// Configured rooms, then each device that is in none as a room of its own name.
    func rooms(settle: Bool) async throws -> [Room]

    /// What would be chosen for this request, without playing.
    func explain(_ request: PlayRequest) async throws -> [RouteChoice]

    /// Starts a session; returns once every room asked for plays, or has failed and says so in its member.
    ///
    /// Throws when no room plays.
    func play(_ request: PlayRequest) async throws -> SessionSnapshot

    /// Applies a command to a session (nil: the only one).
    func perform(_ command: RemoteCommand, session: SessionID?, origin: CommandOrigin) async throws -> CommandResult

    func sessions() async -> [SessionSnapshot]

    /// Ends a session; returns when every device was told.
    func end(session: SessionID, reason: EndReason) async throws

    /// Events in order; the first has the full state. A reader that falls behind by more than a thousand events loses
    /// the oldest and sees the gap in the numbers.
    func events() async -> AsyncStream<RouterEvent>
}

extension RouterControlling {
    public func discover(_ activity: DiscoveryActivity) async {}
}

/// How eagerly devices are looked for.
public enum DiscoveryActivity: String, Codable, Sendable, Hashable {
    /// Only what devices announce by themselves, and what was asked for once.
    case passive
    /// The network is asked again and again.
    case active
}

/// What to play, where and how.
public struct PlayRequest: Codable, Sendable, Hashable {
    /// Files, folders, playlists and URLs, in order.
    public var what: [String]
    /// Rooms, devices, aliases, ids or unique prefixes; empty: the only room there is.
    public var rooms: [String]
    public var via: ViaPreference
    /// Nil leaves every volume alone.
    public var volume: VolumePosition?
    /// Where in the first item to begin.
    public var start: MediaTime
    /// Relative paths are taken from here.
    public var workingDirectory: String
    /// Of every item asked for.
    public var subtitles: SubtitleRequest?

    public init(
        what: [String], rooms: [String], via: ViaPreference = .auto, volume: VolumePosition? = nil,
        start: MediaTime = .zero, workingDirectory: String = "/", subtitles: SubtitleRequest? = nil
    ) {
        self.what = what
        self.rooms = rooms
        self.via = via
        self.volume = volume
        self.start = start
        self.workingDirectory = workingDirectory
        self.subtitles = subtitles
    }
}

/// One thing that happened, numbered.
public struct RouterEvent: Codable, Sendable, Hashable {
    public var sequence: Int
    public var body: Body

    public init(sequence: Int, body: Body) {
        self.sequence = sequence
        self.body = body
    }

    public enum Body: Codable, Sendable, Hashable {
        /// The full state: the first event of every stream.
        case snapshot(routes: RouteList, sessions: [SessionSnapshot])
        case routes(RouteList)
        case session(SessionSnapshot)
        /// Something a person should read: a fallback taken, an entry skipped, a room lost.
        case notice(Notice)
        /// A step of something that takes time: connecting, probing, waiting.
        case phase(String)
    }
}

/// A sentence for people about something that went otherwise than asked, or is worth knowing.
public struct Notice: Codable, Sendable, Hashable {
    public enum Severity: String, Codable, Sendable, Hashable { case info, warning, error }

    public var severity: Severity
    public var message: String
    public var hint: String?
    public var route: RouteID?

    public init(_ severity: Severity, _ message: String, hint: String? = nil, route: RouteID? = nil) {
        self.severity = severity
        self.message = message
        self.hint = hint
        self.route = route
    }
}
