import RouteModel

/// A store that forgets at the end of the process.
public actor InMemoryStore: RouterStoring {
    private var aliases: [StrongKey: RouteID] = [:]
    private var queues: [SessionID: QueueSnapshot] = [:]
    private var sessions: [SessionID: SessionRecord] = [:]
    private var tokens: [MediaToken: MediaTokenRecord] = [:]
    private var failures: [EndpointID: EndpointFailure] = [:]
    private var facts: [String: [String: String]] = [:]
    private var volumes: [RouteID: VolumeState] = [:]
    private var lastLevels: [RouteID: VolumePosition] = [:]
    private var storedRooms: [String: Room] = [:]
    private var groups: [String: RoomGroup] = [:]
    private var who: InstallationIdentity?
    private var kept: [String: SavedQueue] = [:]
    private var history: [PlayRecord] = []
    private var ended: [SessionEnding] = []
    private var paired: [(record: PairingRecord, credentials: DeviceCredentials)] = []

    private var failure: RouterError?
    private var unreadable: Set<SessionID> = []
    /// How often a session was left with a queue of another moment: after a crash they would contradict each other.
    public private(set) var torn = 0
    /// How often a queue was to be written.
    public private(set) var queueWrites = 0

    public init() {}

    /// Queues and plays cannot be written from now on, as on a full disk; nil: they can again.
    public func refusesQueues(with error: RouterError?) { failure = error }

    /// The queue of this session cannot be read from now on.
    public func damagesQueue(of session: SessionID) { unreadable.insert(session) }

    private func compare(_ session: SessionID) {
        if let record = sessions[session], record.item != queues[session]?.current { torn += 1 }
    }

    public func route(forAnyOf keys: [StrongKey]) -> RouteID? { keys.lazy.compactMap { self.aliases[$0] }.first }
    public func remember(route: RouteID, name: String, keys: [StrongKey]) {
        for key in keys { aliases[key] = route }
    }
    public func forgetRoute(_ id: RouteID?, name: String) -> Bool {
        guard let id, aliases.values.contains(id) || volumes[id] != nil else { return false }
        aliases = aliases.filter { $0.value != id }
        volumes[id] = nil
        lastLevels[id] = nil
        return true
    }
    public func saveQueue(_ queue: QueueSnapshot, session: SessionID) throws {
        queueWrites += 1
        if let failure { throw failure }
        queues[session] = queue
        compare(session)
    }
    public func queue(session: SessionID) throws -> QueueSnapshot? {
        if unreadable.contains(session) { throw RouterError(.storage, "could not read a queue: it is not understood") }
        return queues[session]
    }
    public func saveSession(_ record: SessionRecord, with queue: QueueSnapshot) throws {
        queueWrites += 1
        if let failure { throw failure }
        queues[record.session] = queue
        sessions[record.session] = record
        compare(record.session)
    }
    public func saveLastQueue(_ queue: QueueSnapshot, session: SessionID) throws {
        queueWrites += 1
        if let failure { throw failure }
        queues[session] = queue
        sessions[session] = nil
    }
    public func keepQueue(_ queue: SavedQueue) { kept[queue.name] = queue }
    public func savedQueueNames() -> [String] { kept.keys.sorted() }
    public func savedQueue(_ name: String) -> SavedQueue? { kept[name] }
    public func removeSavedQueue(_ name: String) -> Bool { kept.removeValue(forKey: name) != nil }
    public func addPlay(_ record: PlayRecord) throws -> Int {
        if let failure { throw failure }
        var record = record
        record.id = history.count + 1
        history.append(record)
        return record.id
    }
    public func updatePlay(_ record: PlayRecord) {
        if history.indices.contains(record.id - 1) { history[record.id - 1] = record }
    }
    public func openPlay(session: SessionID) -> PlayRecord? {
        history.last { $0.session == session }.flatMap { $0.stopped == nil ? $0 : nil }
    }
    public func plays(limit: Int) -> [PlayRecord] { history.suffix(limit).reversed() }
    public func saveEnding(_ ending: SessionEnding) {
        ended.removeAll { $0.session == ending.session }
        ended.append(ending)
    }
    public func endings(limit: Int) -> [(ending: SessionEnding, queue: QueueSnapshot)] {
        ended.reversed().compactMap { ending in
            sessions[ending.session] == nil ? queues[ending.session].map { (ending, $0) } : nil
        }.prefix(limit).map { $0 }
    }
    public func saveSession(_ record: SessionRecord) {
        sessions[record.session] = record
        compare(record.session)
    }
    public func sessionsToRejoin() -> [SessionRecord] { Array(sessions.values) }
    public func removeSession(_ session: SessionID) { sessions[session] = nil }
    public func saveMediaToken(_ record: MediaTokenRecord) { tokens[record.token] = record }
    public func mediaTokens() -> [MediaTokenRecord] { Array(tokens.values) }
    public func removeMediaTokens(items: [ItemID]) { tokens = tokens.filter { !items.contains($0.value.item) } }
    public func endpointFailures() -> [EndpointFailure] { Array(failures.values) }
    public func rememberFailure(_ failure: EndpointFailure) { failures[failure.endpoint] = failure }
    public func forgetFailure(of endpoint: EndpointID) { failures[endpoint] = nil }
    public func learn(_ fact: String, value: String, endpoint: EndpointID, firmware: String?) {
        facts["\(endpoint) \(firmware ?? "")", default: [:]][fact] = value
    }
    public func learnt(endpoint: EndpointID, firmware: String?) -> [String: String] {
        facts["\(endpoint) \(firmware ?? "")"] ?? [:]
    }
    public func volume(of route: RouteID) -> VolumeState? { volumes[route] }
    public func saveVolume(_ volume: VolumeState, of route: RouteID) { volumes[route] = volume }
    public func lastLevel(of route: RouteID) -> VolumePosition? { lastLevels[route] }
    public func saveLastLevel(_ level: VolumePosition, of route: RouteID) { lastLevels[route] = level }
    public func rooms() -> [Room] { storedRooms.values.sorted { $0.name < $1.name } }
    public func saveRoom(_ room: Room, replacing name: String?) {
        if let name { storedRooms[name] = nil }
        storedRooms[room.name] = room
    }
    public func removeRoom(_ name: String) { storedRooms[name] = nil }
    public func roomGroups() -> [RoomGroup] { groups.values.sorted { $0.name < $1.name } }
    public func saveRoomGroup(_ group: RoomGroup) { groups[group.name] = group }
    public func removeRoomGroup(_ name: String) { groups[name] = nil }
    public func identity() -> InstallationIdentity {
        let identity = who ?? .random()
        who = identity
        return identity
    }
    public func credentials(forAnyOf keys: [StrongKey]) -> DeviceCredentials? {
        paired.first { $0.record.keys.contains { keys.contains($0) } }?.credentials
    }
    public func savePairing(_ record: PairingRecord, credentials: DeviceCredentials) {
        removePairing(forAnyOf: record.keys)
        paired.append((record, credentials))
    }
    public func pairings() -> [PairingRecord] { paired.map(\.record) }
    public func removePairing(forAnyOf keys: [StrongKey]) {
        paired.removeAll { $0.record.keys.contains { keys.contains($0) } }
    }
}
