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
    private var storedRooms: [String: Room] = [:]
    private var groups: [String: RoomGroup] = [:]
    private var who: InstallationIdentity?
    private var paired: [(record: PairingRecord, credentials: DeviceCredentials)] = []

    public init() {}

    public func route(forAnyOf keys: [StrongKey]) -> RouteID? { keys.lazy.compactMap { self.aliases[$0] }.first }
    public func remember(route: RouteID, name: String, keys: [StrongKey]) {
        for key in keys { aliases[key] = route }
    }
    public func saveQueue(_ queue: QueueSnapshot, session: SessionID) { queues[session] = queue }
    public func queue(session: SessionID) -> QueueSnapshot? { queues[session] }
    public func saveSession(_ record: SessionRecord) { sessions[record.session] = record }
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
