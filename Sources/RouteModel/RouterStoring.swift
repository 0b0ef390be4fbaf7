/// What outlives the process. `RouterStore` implements it; the engine sees this and no database.
///
/// Every function throws `RouterError` with code `storage`.
public protocol RouterStoring: Sendable {
    /// The route that any of these keys belongs to, if one was ever seen.
    func route(forAnyOf keys: [StrongKey]) async throws -> RouteID?
    /// Makes every key an alias of the route. A key that belonged to another route moves.
    func remember(route: RouteID, name: String, keys: [StrongKey]) async throws
    /// Forgets the routes of this id or, without regard to case, of this name: their keys, volumes, and by which key each
    /// device was known. False where there is none.
    func forgetRoute(_ id: RouteID?, name: String) async throws -> Bool

    func saveQueue(_ queue: QueueSnapshot, session: SessionID) async throws
    func queue(session: SessionID) async throws -> QueueSnapshot?
    /// Writes a session with its queue at once: a later process finds both of one moment.
    func saveSession(_ record: SessionRecord, with queue: QueueSnapshot) async throws
    /// Writes the last queue of a session and removes the session, at once.
    func saveLastQueue(_ queue: QueueSnapshot, session: SessionID) async throws

    /// Takes the place of what was kept under its name.
    func keepQueue(_ queue: SavedQueue) async throws
    /// In the order of the alphabet.
    func savedQueueNames() async throws -> [String]
    func savedQueue(_ name: String) async throws -> SavedQueue?
    /// False where there is none of this name.
    func removeSavedQueue(_ name: String) async throws -> Bool

    /// Adds a play to the history, and gives the id that it has from now on. The oldest of more than 10,000 go.
    func addPlay(_ record: PlayRecord) async throws -> Int
    /// What became of a play, by its id.
    func updatePlay(_ record: PlayRecord) async throws
    /// The last play of a session, where it was not ended; nil where it was.
    func openPlay(session: SessionID) async throws -> PlayRecord?
    /// The latest first. One that a process had not ended when it was cut short counts as cancelled then.
    func plays(limit: Int) async throws -> [PlayRecord]

    /// Keeps how a session ended beside its queue, for as long as that is kept.
    func saveEnding(_ ending: SessionEnding) async throws
    /// Sessions that have ended, with their queues, the latest first. At most `limit`.
    func endings(limit: Int) async throws -> [(ending: SessionEnding, queue: QueueSnapshot)]

    func saveSession(_ record: SessionRecord) async throws
    /// Sessions that were running when the process ended without ending them.
    func sessionsToRejoin() async throws -> [SessionRecord]
    func removeSession(_ session: SessionID) async throws

    func saveMediaToken(_ record: MediaTokenRecord) async throws
    func mediaTokens() async throws -> [MediaTokenRecord]
    func removeMediaTokens(items: [ItemID]) async throws

    func endpointFailures() async throws -> [EndpointFailure]
    func rememberFailure(_ failure: EndpointFailure) async throws
    func forgetFailure(of endpoint: EndpointID) async throws
    /// Something learnt of an endpoint at a firmware version, such as which spelling it takes.
    func learn(_ fact: String, value: String, endpoint: EndpointID, firmware: String?) async throws
    func learnt(endpoint: EndpointID, firmware: String?) async throws -> [String: String]

    /// How loud it was last known to be, or told to be.
    func volume(of route: RouteID) async throws -> VolumeState?
    func saveVolume(_ volume: VolumeState, of route: RouteID) async throws
    /// What a person last set it to, by us or on the device while we played there; not what quiet hours, an announcement
    /// or fading out made of it.
    func lastLevel(of route: RouteID) async throws -> VolumePosition?
    func saveLastLevel(_ level: VolumePosition, of route: RouteID) async throws

    /// Rooms that commands made, by name.
    func rooms() async throws -> [Room]
    /// Puts the room in place of what was stored under its name, and of the one called `name`.
    func saveRoom(_ room: Room, replacing name: String?) async throws
    func removeRoom(_ name: String) async throws
    func roomGroups() async throws -> [RoomGroup]
    /// Takes the place of the group of its name.
    func saveRoomGroup(_ group: RoomGroup) async throws
    func removeRoomGroup(_ name: String) async throws

    /// Who this installation is; made at the first call.
    func identity() async throws -> InstallationIdentity
    /// What a pairing with the device of any of these keys gave.
    func credentials(forAnyOf keys: [StrongKey]) async throws -> DeviceCredentials?
    /// Takes the place of an earlier pairing with the device.
    func savePairing(_ record: PairingRecord, credentials: DeviceCredentials) async throws
    func pairings() async throws -> [PairingRecord]
    func removePairing(forAnyOf keys: [StrongKey]) async throws
}

/// Enough of a session to join it again after a crash.
public struct SessionRecord: Codable, Sendable, Hashable {
    public var session: SessionID
    public var routes: [RouteID]
    public var item: ItemID?
    /// Position in the item when it was written.
    public var position: MediaTime
    public var playing: Bool
    /// What a backend needs to find its own again, by route: a Cast session and transport id, for one.
    public var rejoin: [RouteID: String]
    /// What the routes were called, and the endpoint that each played by.
    public var members: [Member]
    /// What `position` grew from: the monotonic clock goes on over a restart of the process.
    public var anchor: PlaybackAnchor?
    public var rate: Double
    /// The volume of all rooms together, 0 to 1.
    public var master: Double?
    /// While `master` is 0: the last one that was not.
    public var silencedMaster: Double?
    /// True: a change on a device moves the master.
    public var volumesLinked: Bool?
    /// What was played before the current item, the latest last.
    public var played: [ItemID]?

    /// How much of `played` is kept.
    public static let maximumPlayed = 100
    /// What was announced over it of late: a device that still holds one of these holds nothing of its queue.
    public var clips: [MediaToken]?

    /// Where it was just being moved to: these may play it too, where the process was gone before that was done.
    public var moving: [Member]?

    public struct Member: Codable, Sendable, Hashable {
        public var route: RouteID
        public var name: String
        public var room: String
        /// As it was then: where it is not found anew, it is tried where it was.
        public var endpoint: Endpoint?
        /// What the device held after its current item, where it has a queue of its own.
        public var window: [MediaToken]?
        /// How loud it was last known to be.
        public var volume: VolumeState?
        /// How loud it was against the master, 0 to 1.
        public var trim: Double?

        public init(
            route: RouteID, name: String, room: String, endpoint: Endpoint?, window: [MediaToken]? = nil,
            volume: VolumeState? = nil, trim: Double? = nil
        ) {
            self.volume = volume
            self.trim = trim
            self.route = route
            self.name = name
            self.room = room
            self.endpoint = endpoint
            self.window = window
        }
    }

    public init(
        session: SessionID, routes: [RouteID], item: ItemID?, position: MediaTime, playing: Bool,
        rejoin: [RouteID: String] = [:], members: [Member] = [], anchor: PlaybackAnchor? = nil, rate: Double = 1
    ) {
        self.session = session
        self.routes = routes
        self.item = item
        self.position = position
        self.playing = playing
        self.rejoin = rejoin
        self.members = members
        self.anchor = anchor
        self.rate = rate
    }
}

/// How a session ended: what is shown of it beside its queue.
public struct SessionEnding: Codable, Sendable, Hashable {
    public var session: SessionID
    public var reason: StopReason
    public var members: [Member]

    public struct Member: Codable, Sendable, Hashable {
        public var route: RouteID
        public var name: String
        public var `protocol`: RouteProtocol?

        public init(route: RouteID, name: String, protocol: RouteProtocol?) {
            self.route = route
            self.name = name
            self.protocol = `protocol`
        }
    }

    public init(session: SessionID, reason: StopReason, members: [Member]) {
        self.session = session
        self.reason = reason
        self.members = members
    }
}

/// A media URL's token with the item it stands for: kept so that a receiver can go on fetching after our restart, and so
/// that what it plays is known again.
public struct MediaTokenRecord: Codable, Sendable, Hashable {
    public var token: MediaToken
    public var item: ItemID
    /// The file that it serves; empty for an item that is fetched from elsewhere.
    public var path: String

    public init(token: MediaToken, item: ItemID, path: String) {
        self.token = token
        self.item = item
        self.path = path
    }
}
