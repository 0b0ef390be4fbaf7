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

    /// Applies a command to a session (nil: the only one), as long as it is wanted.
    ///
    /// Throws `configuration` for terms that are out of range.
    func perform(
        _ command: RemoteCommand, session: SessionID?, origin: CommandOrigin, terms: CommandTerms
    ) async throws -> CommandResult

    /// Changes the queue of a session (nil: the only one) and returns it.
    ///
    /// - Parameter version: the change is made only if the queue still is at this version; nil makes it anyhow.
    /// - Parameter workingDirectory: relative paths are taken from here.
    /// - Throws: `queueConflict` where the queue has moved on, `mediaNotFound`.
    func edit(
        _ edit: QueueEdit, session: SessionID?, ifVersion version: Int?, workingDirectory: String
    ) async throws -> QueueSnapshot

    /// How the queue of a session (nil: the only one) came from this version to what it is.
    func queueChanges(session: SessionID?, since version: Int) async throws -> QueueChanges

    /// What was played, the latest first, at most `limit` (1 to 1,000).
    func history(limit: Int) async throws -> [PlayRecord]

    /// Keeps the queue of a session (nil: the only one) under a name, in place of what had that name.
    func saveQueue(session: SessionID?, as name: String) async throws -> SavedQueue
    func savedQueues() async throws -> [SavedQueue]
    func removeSavedQueue(_ name: String) async throws

    func sessions() async -> [SessionSnapshot]

    /// As `sessions`. Throws where nobody says, as `daemonUnavailable`, `rateLimited` and the like.
    func knownSessions() async throws -> [SessionSnapshot]

    /// Moves what a session (nil: the only one) plays to these rooms: it goes on there where it was, playing or paused,
    /// with its queue, and no volume is changed. Returns once the new rooms play it and the old ones are released.
    ///
    /// Throws `unsupported` or `routeUnreachable` and the like where it cannot go on there, and then it goes on where it
    /// was; `cancelled` where the session was ended meanwhile.
    func transfer(session: SessionID?, to rooms: [String]) async throws -> TransferResult

    /// Moves, expands, shrinks or copies what a session plays, or only tells what would be lost. Any failure before it is
    /// done leaves it where it was, as it was.
    func transfer(_ request: TransferRequest) async throws -> TransferResult

    /// Says something into rooms over what plays there, and restores that exactly; returns when all is as before.
    func announce(_ request: AnnounceRequest) async throws -> AnnounceReport

    /// Makes a room, or puts it in place of the stored one called `name`. Throws `configuration` where the configuration
    /// file has a room of that name, or another room has it.
    func saveRoom(_ room: Room, replacing name: String?) async throws -> Room
    /// Throws `routeNotFound`, and `configuration` for a room of the configuration file.
    func removeRoom(_ name: String) async throws

    func groups() async throws -> [RoomGroup]
    /// Makes a group, or takes the place of the one of its name. Throws `routeNotFound` for a room that is not there.
    func saveGroup(_ group: RoomGroup) async throws -> RoomGroup
    func removeGroup(_ name: String) async throws

    /// Adds rooms to what a session (nil: the only one) plays: they come in on its beat, while the others play on. What
    /// such a room played before, in another session, is left there for the other rooms of that one.
    ///
    /// Returns once the rooms play, or have failed and say so in their members. Throws what `play` throws where none of
    /// them does, and then the session is as it was; rooms that are in it already are passed over.
    func join(session: SessionID?, rooms: [String]) async throws -> SessionSnapshot

    /// Takes rooms, by their names there, out of what a session (nil: the only one) plays; the others play on. With the
    /// last room the session ends. Throws `routeNotFound` where it has no such room, and then none is taken out.
    func leave(session: SessionID?, rooms: [String]) async throws -> SessionSnapshot

    /// Ends a session; returns when every device was told. One that could be rejoined is ended too: with `stop` its
    /// devices are stopped, where they still play it, with `leave` it is only forgotten.
    func end(session: SessionID, reason: EndReason) async throws

    /// Sessions of processes that are no more, which may still play.
    func sessionsToRejoin() async throws -> [RejoinableSession]

    /// Takes such a session up again under its own id: joins what still plays, and plays on where nothing does.
    ///
    /// Throws `routeNotFound` for what cannot be rejoined, and whatever `play` throws.
    func rejoin(_ session: SessionID) async throws -> SessionSnapshot

    /// Begins a pairing with a device, by room, name or id; it waits for `finishPairing` for some minutes.
    ///
    /// Throws `unsupported` for a device that needs none, `routeNotFound`, `pairingDenied`.
    func startPairing(_ device: String) async throws -> PairingProgress

    /// Goes on with the code that the device shows, or its password. Throws `authFailed` for a wrong one.
    func finishPairing(_ id: String, code: String) async throws -> PairingProgress

    /// Throws `routeNotFound` where no such pairing waits.
    func cancelPairing(_ id: String) async throws

    func pairings() async throws -> [PairingRecord]

    /// Tells a device to forget us, and forgets what it gave us, also where it cannot be told: then it gives what a
    /// person has to do there. Throws `routeNotFound` for one that was never paired.
    @discardableResult func unpair(_ device: String) async throws -> Notice?

    /// Forgets all that is known of a device, and its pairing: gives what a person should know of that. One that is still
    /// there is shown on, and is a new one from then on.
    ///
    /// Throws `routeNotFound` for one that nothing is known of, and `routeBusy` while it plays.
    func forgetDevice(_ device: String) async throws -> Notice?

    /// Events in order; the first has the full state. A reader that falls behind by more than a thousand events loses
    /// the oldest and sees the gap in the numbers.
    func events() async -> AsyncStream<RouterEvent>
}

extension RouterControlling {
    public func discover(_ activity: DiscoveryActivity) async {}

    public func knownSessions() async throws -> [SessionSnapshot] { await sessions() }

    /// Applies a command to a session (nil: the only one), whatever plays there by then.
    public func perform(
        _ command: RemoteCommand, session: SessionID?, origin: CommandOrigin
    ) async throws -> CommandResult {
        try await perform(command, session: session, origin: origin, terms: CommandTerms())
    }

    public func join(session: SessionID?, rooms: [String]) async throws -> SessionSnapshot { throw Self.noMembership }
    public func leave(session: SessionID?, rooms: [String]) async throws -> SessionSnapshot { throw Self.noMembership }

    private static var noMembership: RouterError {
        RouterError(.unsupported, "this router's sessions keep the rooms that they began with")
    }

    public func queueChanges(session: SessionID?, since version: Int) async throws -> QueueChanges {
        throw Self.without("changes of a queue")
    }
    public func history(limit: Int) async throws -> [PlayRecord] { throw Self.without("history") }
    public func saveQueue(session: SessionID?, as name: String) async throws -> SavedQueue {
        throw Self.without("saved queues")
    }
    public func savedQueues() async throws -> [SavedQueue] { throw Self.without("saved queues") }
    public func removeSavedQueue(_ name: String) async throws { throw Self.without("saved queues") }
    public func transfer(_ request: TransferRequest) async throws -> TransferResult {
        guard request.kind == .move, !request.preflight else { throw Self.without("such transfers") }
        return try await transfer(session: request.session, to: request.rooms)
    }
    public func announce(_ request: AnnounceRequest) async throws -> AnnounceReport {
        throw Self.without("announcements")
    }
    public func saveRoom(_ room: Room, replacing name: String?) async throws -> Room {
        throw Self.without("stored rooms")
    }
    public func removeRoom(_ name: String) async throws { throw Self.without("stored rooms") }
    public func forgetDevice(_ device: String) async throws -> Notice? { throw Self.without("devices") }
    public func groups() async throws -> [RoomGroup] { throw Self.without("groups") }
    public func saveGroup(_ group: RoomGroup) async throws -> RoomGroup { throw Self.without("groups") }
    public func removeGroup(_ name: String) async throws { throw Self.without("groups") }

    /// What a router that plays only for one command does not have.
    private static func without(_ what: String) -> RouterError {
        RouterError(.unsupported, "this router keeps no \(what)", scope: .command)
    }
}

/// How eagerly devices are looked for.
public enum DiscoveryActivity: String, Codable, Sendable, Hashable, CaseIterable {
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
    /// How fast to play, 0.5 to 2.
    public var rate: Double
    public var repeatMode: RepeatMode
    /// Puts all but the first item into a random order.
    public var shuffle: Bool
    /// With one file asked for, what follows it in its folder or playlist follows it.
    public var context: Bool?
    /// Plays this saved queue, in place of `what`.
    public var savedQueue: String?
    public var failurePolicy: FailurePolicy?
    /// False: no picture of these is to be shown on receivers (A6); true: it may, also where the place that they come
    /// from says false; nil: as that place says. Their sound always may be heard.
    public var externalPlayback: Bool?
    /// What some of these are shown as, in place of what their playlist says. Of several for one source each is for one item
    /// of it, in order.
    public var descriptions: [MediaDescription]?
    /// Loads it, and does not begin: a command does. Nil begins.
    public var paused: Bool?

    public init(
        what: [String], rooms: [String], via: ViaPreference = .auto, volume: VolumePosition? = nil,
        start: MediaTime = .zero, workingDirectory: String = "/", subtitles: SubtitleRequest? = nil, rate: Double = 1,
        repeatMode: RepeatMode = .off, shuffle: Bool = false, context: Bool? = nil, savedQueue: String? = nil,
        failurePolicy: FailurePolicy? = nil, externalPlayback: Bool? = nil, descriptions: [MediaDescription]? = nil,
        paused: Bool? = nil
    ) {
        self.descriptions = descriptions
        self.paused = paused
        self.externalPlayback = externalPlayback
        self.context = context
        self.savedQueue = savedQueue
        self.failurePolicy = failurePolicy
        self.what = what
        self.rooms = rooms
        self.via = via
        self.volume = volume
        self.start = start
        self.workingDirectory = workingDirectory
        self.subtitles = subtitles
        self.rate = rate
        self.repeatMode = repeatMode
        self.shuffle = shuffle
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
        /// A command was done, or could not be: whose it was, and what became of it.
        case command(CommandReport)
        /// A step of something that takes time: connecting, probing, waiting.
        case phase(String)
        /// Rooms and groups, where one was made, changed or removed.
        case rooms([Room], groups: [RoomGroup])
        /// A step of a scene began or ended.
        case scene(SceneRun)
        /// A pairing waits for its code, or has ended.
        case pairing(PairingProgress)
    }
}

/// A sentence for people about something that went otherwise than asked, or is worth knowing.
public struct Notice: Codable, Sendable, Hashable {
    public enum Severity: String, Codable, Sendable, Hashable, CaseIterable { case info, warning, error }

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
