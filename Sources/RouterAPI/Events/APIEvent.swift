import RouteModel

/// What a reader of events may choose among.
public enum EventTopic: String, Codable, Sendable, Hashable, CaseIterable {
    case routes, rooms, sessions, commands, scenes, pairings, notices, phases
    /// Only for who names it.
    case logs
}

/// One event as it goes over HTTP: small, and yet enough to bring a reader's view up to date without another request.
public enum APIEvent: Sendable, Hashable {
    /// Everything: the first event, and again wherever events were lost.
    case snapshot(StateSnapshot)
    case routeChanged(RouteChange)
    case roomsChanged(RoomsChange)
    case sessionChanged(SessionChange)
    case queueChanged(QueueUpdate)
    case volumeChanged(VolumeChange)
    case positionAnchor(AnchorChange)
    case commandResult(CommandReport)
    case sceneStep(SceneRun)
    case pairingPrompt(PairingProgress)
    case notice(Notice)
    case phase(PhaseStep)
    case log(LogLine)

    /// The `event` field.
    public var name: String {
        switch self {
        case .snapshot: "snapshot"
        case .routeChanged: "route.changed"
        case .roomsChanged: "rooms.changed"
        case .sessionChanged: "session.changed"
        case .queueChanged: "queue.changed"
        case .volumeChanged: "volume.changed"
        case .positionAnchor: "position.anchor"
        case .commandResult: "command.result"
        case .sceneStep: "scene.step"
        case .pairingPrompt: "pairing.prompt"
        case .notice: "notice"
        case .phase: "phase"
        case .log: "log"
        }
    }

    /// Nil for a snapshot, which every reader gets.
    public var topic: EventTopic? {
        switch self {
        case .snapshot: nil
        case .routeChanged: .routes
        case .roomsChanged: .rooms
        case .sessionChanged, .queueChanged, .volumeChanged, .positionAnchor: .sessions
        case .commandResult: .commands
        case .sceneStep: .scenes
        case .pairingPrompt: .pairings
        case .notice: .notices
        case .phase: .phases
        case .log: .logs
        }
    }

    public var payload: any Codable & Sendable {
        switch self {
        case .snapshot(let value): value
        case .routeChanged(let value): value
        case .roomsChanged(let value): value
        case .sessionChanged(let value): value
        case .queueChanged(let value): value
        case .volumeChanged(let value): value
        case .positionAnchor(let value): value
        case .commandResult(let value): value
        case .sceneStep(let value): value
        case .pairingPrompt(let value): value
        case .notice(let value): value
        case .phase(let value): value
        case .log(let value): value
        }
    }

    /// The payload's type, by the event's name: the document's table.
    public static let payloads: [(name: String, type: APIOperation.Payload)] = [
        ("snapshot", StateSnapshot.self), ("route.changed", RouteChange.self), ("rooms.changed", RoomsChange.self),
        ("session.changed", SessionChange.self), ("queue.changed", QueueUpdate.self),
        ("volume.changed", VolumeChange.self), ("position.anchor", AnchorChange.self),
        ("command.result", CommandReport.self), ("scene.step", SceneRun.self),
        ("pairing.prompt", PairingProgress.self), ("notice", Notice.self), ("phase", PhaseStep.self),
        ("log", LogLine.self),
    ]
}

/// The full state.
public struct StateSnapshot: Codable, Sendable, Hashable {
    public var routes: RouteList
    public var sessions: [SessionSnapshot]
    /// Nil where the router has not told of any yet.
    public var rooms: RoomsChange?
    /// Scenes that are being run, and the last of those that were.
    public var scenes: [SceneRun]
    /// Those that wait for a code.
    public var pairings: [PairingProgress]
    /// The router's monotonic clock when it was taken, in nanoseconds; nil where nothing plays.
    public var now: Int64?

    public init(
        routes: RouteList, sessions: [SessionSnapshot], rooms: RoomsChange? = nil, scenes: [SceneRun] = [],
        pairings: [PairingProgress] = [], now: Int64? = nil
    ) {
        self.routes = routes
        self.sessions = sessions
        self.rooms = rooms
        self.scenes = scenes
        self.pairings = pairings
        self.now = now
    }
}

/// Devices that are new or other than before, and those that are gone.
public struct RouteChange: Codable, Sendable, Hashable {
    public var changed: [Route]
    public var removed: [RouteID]
    /// The order of all, where that is another one.
    public var order: [RouteID]?
    /// How finding them goes, where that has changed.
    public var discovery: [DiscoveryState]?

    public init(
        changed: [Route], removed: [RouteID], order: [RouteID]? = nil, discovery: [DiscoveryState]? = nil
    ) {
        self.changed = changed
        self.removed = removed
        self.order = order
        self.discovery = discovery
    }
}

public struct RoomsChange: Codable, Sendable, Hashable {
    public var rooms: [Room]
    public var groups: [RoomGroup]

    public init(rooms: [Room], groups: [RoomGroup]) {
        self.rooms = rooms
        self.groups = groups
    }
}

/// A session but for its queue's content.
public struct SessionState: Codable, Sendable, Hashable, Identifiable {
    public var id: SessionID
    public var connection: ConnectionState
    public var media: MediaState
    public var stopReason: StopReason?
    public var ownership: SessionOwnership
    public var members: [SessionMember]
    /// The version of its queue.
    public var queueVersion: Int
    /// What plays.
    public var currentItem: QueueItem?
    public var anchor: PlaybackAnchor?
    public var error: RouterError?
    public var volume: VolumeState?
    /// True: a volume that is changed on a device moves the master, and not that room's trim.
    public var volumesLinked: Bool?
    public var announcement: String?
    public var lastEnd: ItemEnd?
    /// What a station says that it plays now.
    public var nowPlaying: LiveMetadata?
    /// The router's monotonic clock, in nanoseconds.
    public var now: Int64

    public init(_ snapshot: SessionSnapshot) {
        id = snapshot.id
        connection = snapshot.connection
        media = snapshot.media
        stopReason = snapshot.stopReason
        ownership = snapshot.ownership
        members = snapshot.members
        queueVersion = snapshot.queue.version
        currentItem = snapshot.currentItem
        anchor = snapshot.anchor
        error = snapshot.error
        volume = snapshot.volume
        volumesLinked = snapshot.volumesLinked
        announcement = snapshot.announcement
        lastEnd = snapshot.lastEnd
        nowPlaying = snapshot.nowPlaying
        now = snapshot.now
    }

    public func snapshot(queue: QueueSnapshot) -> SessionSnapshot {
        var snapshot = SessionSnapshot(
            id: id, connection: connection, media: media, stopReason: stopReason, ownership: ownership,
            members: members, queue: queue, anchor: anchor, error: error, volume: volume, announcement: announcement,
            lastEnd: lastEnd, now: now)
        snapshot.nowPlaying = nowPlaying
        snapshot.volumesLinked = volumesLinked
        return snapshot
    }
}

/// A session began or changed otherwise than in its queue.
public struct SessionChange: Codable, Sendable, Hashable {
    public var session: SessionState
    /// Its queue, where this is the first that is told of the session.
    public var queue: QueueSnapshot?

    public init(session: SessionState, queue: QueueSnapshot? = nil) {
        self.session = session
        self.queue = queue
    }
}

/// A queue changed; with what else changed in that moment, so that no new title stands beside an old position.
public struct QueueUpdate: Codable, Sendable, Hashable {
    public var changes: QueueChanges
    public var session: SessionState

    public init(changes: QueueChanges, session: SessionState) {
        self.changes = changes
        self.session = session
    }
}

/// Volumes changed, and nothing else.
public struct VolumeChange: Codable, Sendable, Hashable {
    public struct Member: Codable, Sendable, Hashable {
        public var route: RouteID
        public var name: String
        public var volume: VolumeState?
        public var streamVolume: VolumeState?
        public var trim: Double?
        public var volumeLimit: VolumePosition?

        public init(_ member: SessionMember) {
            route = member.route
            name = member.name
            volume = member.volume
            streamVolume = member.streamVolume
            trim = member.trim
            volumeLimit = member.volumeLimit
        }
    }

    public var session: SessionID
    /// The master.
    public var volume: VolumeState?
    /// All of them, in the session's order.
    public var members: [Member]
    public var now: Int64

    public init(_ snapshot: SessionSnapshot) {
        session = snapshot.id
        volume = snapshot.volume
        members = snapshot.members.map(Member.init)
        now = snapshot.now
    }
}

/// The position jumped, or goes on at another rate, and nothing else changed.
public struct AnchorChange: Codable, Sendable, Hashable {
    public var session: SessionID
    public var anchor: PlaybackAnchor?
    public var now: Int64

    public init(session: SessionID, anchor: PlaybackAnchor?, now: Int64) {
        self.session = session
        self.anchor = anchor
        self.now = now
    }
}

/// A step of something that takes time.
public struct PhaseStep: Codable, Sendable, Hashable {
    public var phase: String

    public init(phase: String) { self.phase = phase }
}
