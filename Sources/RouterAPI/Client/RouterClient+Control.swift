import RouteModel

extension RouterClient: RouterControlling {
    /// What the path says for a session that is not named.
    public static let onlySession = "current"

    private func path(_ session: SessionID?) -> String { session?.rawValue ?? Self.onlySession }

    private func settled(_ settle: Bool) -> [(String, String)] { settle ? [("settle", "true")] : [] }

    public func routes(settle: Bool) async throws -> RouteList { try await call(.listRoutes, query: settled(settle)) }

    public func discover(_ activity: DiscoveryActivity) async {
        try? await ask(.setDiscovery, body: DiscoveryBody(activity: activity))
    }

    public func rooms(settle: Bool) async throws -> [Room] { try await call(.listRooms, query: settled(settle)) }

    public func explain(_ request: PlayRequest) async throws -> [RouteChoice] {
        try await call(.explainPlay, body: PlayBody(request))
    }

    public func play(_ request: PlayRequest) async throws -> SessionSnapshot {
        try await call(.play, body: PlayBody(request))
    }

    public func perform(
        _ command: RemoteCommand, session: SessionID?, origin: CommandOrigin, terms: CommandTerms
    ) async throws -> CommandResult {
        try await call(
            .performCommand, [path(session)],
            body: CommandBody(command: command, origin: ClientOrigin(origin), terms: terms))
    }

    public func edit(
        _ edit: QueueEdit, session: SessionID?, ifVersion version: Int?, workingDirectory: String
    ) async throws -> QueueSnapshot {
        try await call(
            .editQueue, [path(session)], body: EditBody(edit: edit, workingDirectory: workingDirectory),
            fields: version.map { [("If-Match", "\"\($0)\"")] } ?? [])
    }

    public func queueChanges(session: SessionID?, since version: Int) async throws -> QueueChanges {
        try await call(.getQueueChanges, [path(session)], query: [("since", String(version))])
    }

    public func history(limit: Int) async throws -> [PlayRecord] {
        try await call(.listHistory, query: [("limit", String(limit))])
    }

    public func saveQueue(session: SessionID?, as name: String) async throws -> SavedQueue {
        try await call(.saveQueue, [name], body: SaveQueueBody(session: session))
    }

    public func savedQueues() async throws -> [SavedQueue] { try await call(.listSavedQueues) }
    public func removeSavedQueue(_ name: String) async throws { try await ask(.removeSavedQueue, [name]) }

    /// None where no daemon answers.
    public func sessions() async -> [SessionSnapshot] { (try? await knownSessions()) ?? [] }

    public func knownSessions() async throws -> [SessionSnapshot] { try await call(.listSessions) }

    public func transfer(session: SessionID?, to rooms: [String]) async throws -> TransferResult {
        try await transfer(TransferRequest(.move, session: session, rooms: rooms))
    }

    public func transfer(_ request: TransferRequest) async throws -> TransferResult {
        try await call(.transfer, [path(request.session)], body: TransferBody(request))
    }

    public func announce(_ request: AnnounceRequest) async throws -> AnnounceReport {
        try await call(.announce, body: AnnounceBody(request))
    }

    public func saveRoom(_ room: Room, replacing name: String?) async throws -> Room {
        if let name { return try await call(.replaceRoom, [name], body: RoomBody(room)) }
        return try await call(.createRoom, body: RoomBody(room))
    }

    public func removeRoom(_ name: String) async throws { try await ask(.removeRoom, [name]) }

    public func groups() async throws -> [RoomGroup] { try await call(.listGroups) }
    public func saveGroup(_ group: RoomGroup) async throws -> RoomGroup {
        try await call(.saveGroup, [group.name], body: GroupBody(group))
    }
    public func removeGroup(_ name: String) async throws { try await ask(.removeGroup, [name]) }

    public func join(session: SessionID?, rooms: [String]) async throws -> SessionSnapshot {
        try await call(.joinRooms, [path(session)], body: RoomsBody(rooms: rooms))
    }

    public func leave(session: SessionID?, rooms: [String]) async throws -> SessionSnapshot {
        try await call(.leaveRooms, [path(session)], query: rooms.map { ("room", $0) })
    }

    public func end(session: SessionID, reason: EndReason) async throws {
        try await ask(
            .endSession, [session.rawValue],
            query: [("reason", (reason == .leave ? EndReason.leave : EndReason.stop).rawValue)])
    }

    public func sessionsToRejoin() async throws -> [RejoinableSession] { try await call(.listRejoinable) }
    public func rejoin(_ session: SessionID) async throws -> SessionSnapshot {
        try await call(.rejoin, [session.rawValue])
    }

    public func startPairing(_ device: String) async throws -> PairingProgress {
        try await call(.startPairing, body: PairBody(device: device))
    }

    public func finishPairing(_ id: String, code: String) async throws -> PairingProgress {
        try await call(.finishPairing, [id], body: CodeBody(code: code))
    }

    public func cancelPairing(_ id: String) async throws { try await ask(.cancelPairing, [id]) }
    public func pairings() async throws -> [PairingRecord] { try await call(.listPairings) }

    public func forgetDevice(_ device: String) async throws -> Notice? {
        let report: UnpairReport = try await call(.forgetDevice, [device])
        return report.notice
    }

    @discardableResult public func unpair(_ device: String) async throws -> Notice? {
        let report: UnpairReport = try await call(.unpair, [device])
        return report.notice
    }
}

extension RouterClient: SceneControlling, SceneScheduling {
    public func startScene(_ request: SceneRequest) async throws -> SceneRun {
        try await call(.startScene, body: SceneBody(request))
    }

    public func sceneRun(_ id: String) async throws -> SceneRun { try await call(.getSceneRun, [id]) }
    public func sceneRuns() async throws -> [SceneRun] { try await call(.listSceneRuns) }
    public func cancelScene(_ id: String) async throws { try await ask(.cancelScene, [id]) }

    public func schedules() async throws -> [SceneSchedule] { try await call(.listSchedules) }
    public func saveSchedule(_ schedule: SceneSchedule) async throws {
        try await ask(.saveSchedule, [schedule.id], body: ScheduleBody(schedule))
    }
    public func removeSchedule(_ id: String) async throws { try await ask(.removeSchedule, [id]) }
}
