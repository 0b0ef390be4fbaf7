import RouteModel
import Synchronization

/// A router that answers as a test says, and keeps what it was asked: devices, rooms, sessions, queues, groups, pairings.
final class ScriptedRouter: RouterControlling {
    struct Script: Sendable {
        var discovery: [DiscoveryState] = []
        var routes: [Route] = []
        var rooms: [Room] = []
        var groups: [RoomGroup] = []
        var sessions: [SessionSnapshot] = []
        var left: [RejoinableSession] = []
        var saved: [SavedQueue] = []
        var history: [PlayRecord] = []
        var records: [PairingRecord] = []
        var choices: Result<[RouteChoice], RouterError> = .success([])
        /// What `play` gives, and what is told meanwhile.
        var played: Result<SessionSnapshot, RouterError> = .failure(RouterError(.unsupported, "no play"))
        var told: [RouterEvent.Body] = []
        /// How commands end, and what they make of a session.
        var outcome: Result<CommandOutcome, RouterError> = .success(.succeeded)
        /// Sessions in which every command fails, as unreachable.
        var failing: Set<SessionID> = []
        var effect: @Sendable (RemoteCommand, inout SessionSnapshot) -> Void = { _, _ in }
        var edited: Result<QueueSnapshot, RouterError> = .failure(RouterError(.unsupported, "no edits"))
        var transferred: Result<TransferResult, RouterError> = .failure(RouterError(.unsupported, "no transfers"))
        var announced: Result<AnnounceReport, RouterError> = .failure(RouterError(.unsupported, "no announcements"))
        var pairing: PairingProgress?
        /// Of each code in order.
        var codes: [Result<PairingProgress, RouterError>] = []
        var unpaired: Notice?
        /// What is begun never comes to an end.
        var hangs = false
    }

    struct Asked: Equatable {
        var command: RemoteCommand
        var session: SessionID?
        var origin: CommandOrigin
        var terms = CommandTerms()
    }

    struct Edited: Equatable {
        var edit: QueueEdit
        var session: SessionID?
        var version: Int?
        var folder: String
    }

    private struct State {
        var script: Script
        var given: [String] = []
        var requests: [PlayRequest] = []
        var cancelled = 0
        var commands: [Asked] = []
        var edits: [Edited] = []
        var transfers: [TransferRequest] = []
        var announcements: [AnnounceRequest] = []
        var ended: [(SessionID, EndReason)] = []
        var left: [(session: SessionID?, rooms: [String])] = []
        var rejoined: [SessionID] = []
        var savedRooms: [(Room, replacing: String?)] = []
        var removed: [String] = []
    }

    private let state: Mutex<State>

    init(_ script: Script) { state = Mutex(State(script: script)) }

    var given: [String] { state.withLock { $0.given } }
    var requests: [PlayRequest] { state.withLock { $0.requests } }
    var cancelled: Int { state.withLock { $0.cancelled } }
    var commands: [Asked] { state.withLock { $0.commands } }
    var edits: [Edited] { state.withLock { $0.edits } }
    var transfers: [TransferRequest] { state.withLock { $0.transfers } }
    var announcements: [AnnounceRequest] { state.withLock { $0.announcements } }
    var ended: [(SessionID, EndReason)] { state.withLock { $0.ended } }
    /// Rooms that were taken out of a session.
    var left: [(session: SessionID?, rooms: [String])] { state.withLock { $0.left } }
    var rejoined: [SessionID] { state.withLock { $0.rejoined } }
    var savedRooms: [(Room, replacing: String?)] { state.withLock { $0.savedRooms } }
    /// Names of rooms, groups, queues and devices that were removed.
    var removed: [String] { state.withLock { $0.removed } }
    private var script: Script { state.withLock { $0.script } }

    func routes(settle: Bool) async throws -> RouteList {
        RouteList(routes: script.routes, discovery: script.discovery)
    }
    func rooms(settle: Bool) async throws -> [Room] { script.rooms }
    func explain(_ request: PlayRequest) async throws -> [RouteChoice] { try script.choices.get() }

    func play(_ request: PlayRequest) async throws -> SessionSnapshot {
        state.withLock { $0.requests.append(request) }
        try await hang()
        return try script.played.get()
    }

    /// Until it is cancelled, where the script says so.
    private func hang() async throws {
        guard script.hangs else { return }
        let (never, continuation) = AsyncStream.makeStream(of: Void.self)
        for await _ in never {}
        continuation.finish()
        throw CancellationError()
    }

    func perform(
        _ command: RemoteCommand, session: SessionID?, origin: CommandOrigin, terms: CommandTerms
    ) async throws -> CommandResult {
        let outcome: Result<CommandOutcome, RouterError> = state.withLock { state in
            state.commands.append(Asked(command: command, session: session, origin: origin, terms: terms))
            if let session, state.script.failing.contains(session) {
                return .failure(RouterError(.routeUnreachable, "gone", hint: "Look"))
            }
            for index in state.script.sessions.indices where state.script.sessions[index].id == session {
                state.script.effect(command, &state.script.sessions[index])
            }
            return state.script.outcome
        }
        return CommandResult(id: CommandID(rawValue: "co-1"), outcome: try outcome.get())
    }

    func edit(
        _ edit: QueueEdit, session: SessionID?, ifVersion version: Int?, workingDirectory: String
    ) async throws -> QueueSnapshot {
        state.withLock {
            $0.edits.append(Edited(edit: edit, session: session, version: version, folder: workingDirectory))
        }
        return try script.edited.get()
    }

    func history(limit: Int) async throws -> [PlayRecord] { Array(script.history.prefix(limit)) }

    func saveQueue(session: SessionID?, as name: String) async throws -> SavedQueue {
        let items = script.sessions.first { $0.id == session }.map { Array($0.queue.items) } ?? []
        let saved = SavedQueue(name: name, items: items, saved: 0)
        state.withLock { $0.script.saved.append(saved) }
        return saved
    }

    func savedQueues() async throws -> [SavedQueue] { script.saved }
    func removeSavedQueue(_ name: String) async throws { state.withLock { $0.removed.append(name) } }
    func sessions() async -> [SessionSnapshot] { script.sessions }

    func transfer(session: SessionID?, to rooms: [String]) async throws -> TransferResult {
        try await transfer(TransferRequest(.move, session: session, rooms: rooms))
    }

    func transfer(_ request: TransferRequest) async throws -> TransferResult {
        state.withLock { $0.transfers.append(request) }
        return try script.transferred.get()
    }

    func announce(_ request: AnnounceRequest) async throws -> AnnounceReport {
        state.withLock { $0.announcements.append(request) }
        try await hang()
        return try script.announced.get()
    }

    func saveRoom(_ room: Room, replacing name: String?) async throws -> Room {
        state.withLock { $0.savedRooms.append((room, name)) }
        return room
    }

    func removeRoom(_ name: String) async throws { state.withLock { $0.removed.append(name) } }
    func groups() async throws -> [RoomGroup] { script.groups }

    func saveGroup(_ group: RoomGroup) async throws -> RoomGroup {
        state.withLock { state in
            state.script.groups.removeAll { $0.name == group.name }
            state.script.groups.append(group)
        }
        return group
    }

    func removeGroup(_ name: String) async throws { state.withLock { $0.removed.append(name) } }
    func end(session: SessionID, reason: EndReason) async throws {
        state.withLock { $0.ended.append((session, reason)) }
    }

    func leave(session: SessionID?, rooms: [String]) async throws -> SessionSnapshot {
        try state.withLock { state in
            state.left.append((session, rooms))
            guard let index = state.script.sessions.firstIndex(where: { $0.id == session }),
                !state.script.failing.contains(state.script.sessions[index].id)
            else { throw RouterError(.routeUnreachable, "gone", hint: "Look") }
            state.script.sessions[index].members.removeAll { rooms.contains($0.roomName) || rooms.contains($0.name) }
            return state.script.sessions[index]
        }
    }

    func sessionsToRejoin() async throws -> [RejoinableSession] { script.left }

    func rejoin(_ session: SessionID) async throws -> SessionSnapshot {
        state.withLock { $0.rejoined.append(session) }
        try await hang()
        return try script.played.get()
    }

    func startPairing(_ device: String) async throws -> PairingProgress {
        guard let pairing = script.pairing else { throw RouterError(.unsupported, "\(device) needs no pairing") }
        return pairing
    }

    func finishPairing(_ id: String, code: String) async throws -> PairingProgress {
        let answer = state.withLock { state in
            state.given.append(code)
            return state.script.codes.isEmpty ? nil : state.script.codes.removeFirst()
        }
        guard let answer else { throw RouterError(.routeNotFound, "no pairing waits") }
        return try answer.get()
    }

    func cancelPairing(_ id: String) async throws { state.withLock { $0.cancelled += 1 } }
    func pairings() async throws -> [PairingRecord] { script.records }
    func forgetDevice(_ device: String) async throws -> Notice? {
        state.withLock { $0.removed.append(device) }
        return script.unpaired
    }

    func unpair(_ device: String) async throws -> Notice? {
        state.withLock { $0.removed.append(device) }
        return script.unpaired
    }

    /// The state, and all that is told, at once; then the stream stays open.
    func events() async -> AsyncStream<RouterEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: RouterEvent.self)
        let (told, list, sessions) = state.withLock { state in
            (
                state.script.told, RouteList(routes: state.script.routes, discovery: state.script.discovery),
                state.script.sessions
            )
        }
        continuation.yield(RouterEvent(sequence: 0, body: .snapshot(routes: list, sessions: sessions)))
        for (number, body) in told.enumerated() {
            continuation.yield(RouterEvent(sequence: number + 1, body: body))
        }
        return stream
    }
}
