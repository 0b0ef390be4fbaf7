import RouteModel
import RouterTestKit
import Synchronization

/// A router of sessions in memory: it does what it is told at once, and remembers who told it.
final class ScriptedPlayers: RouterControlling {
    struct Told: Sendable, Equatable {
        var session: SessionID?
        var command: RemoteCommand
        var origin: CommandOrigin
    }

    private struct State {
        var sessions: [SessionID: SessionSnapshot]
        var told: [Told] = []
        var outcomes: [CommandOutcome] = []
        var readers: [AsyncStream<RouterEvent>.Continuation] = []
        var sequence = 0
        var held: [CheckedContinuation<Void, Never>]?
        var edits: [QueueEdit] = []
    }

    private let state: Mutex<State>
    private let clock: ManualClock

    init(_ sessions: [SessionSnapshot], clock: ManualClock) {
        state = Mutex(State(sessions: Dictionary(uniqueKeysWithValues: sessions.map { ($0.id, $0) })))
        self.clock = clock
    }

    // MARK: What a test says

    var told: [Told] { state.withLock { $0.told } }
    var edits: [QueueEdit] { state.withLock { $0.edits } }

    func session(_ id: String) -> SessionSnapshot? { state.withLock { $0.sessions[SessionID(rawValue: id)] } }

    /// The next commands end so, and do nothing.
    func answers(_ outcomes: [CommandOutcome]) { state.withLock { $0.outcomes = outcomes } }

    /// Commands wait from now on, until `release`.
    func hold() { state.withLock { $0.held = [] } }

    var holding: Int { state.withLock { $0.held?.count ?? 0 } }

    func release() {
        let waiting = state.withLock { state in
            defer { state.held = nil }
            return state.held ?? []
        }
        for waiter in waiting { waiter.resume() }
    }

    /// Something happens to a session.
    func change(_ id: SessionID, _ change: (inout SessionSnapshot) -> Void) {
        let now = clock.now()
        state.withLock { state in
            guard var session = state.sessions[id] else { return }
            change(&session)
            session.now = now
            state.sessions[id] = session
            Self.tell(.session(session), &state)
        }
    }

    func change(_ id: String, _ body: (inout SessionSnapshot) -> Void) { change(SessionID(rawValue: id), body) }

    func begin(_ session: SessionSnapshot) {
        state.withLock { state in
            state.sessions[session.id] = session
            Self.tell(.session(session), &state)
        }
    }

    /// No more events.
    func finish() {
        for reader in state.withLock({ $0.readers }) { reader.finish() }
    }

    private static func tell(_ body: RouterEvent.Body, _ state: inout State) {
        state.sequence += 1
        for reader in state.readers { reader.yield(RouterEvent(sequence: state.sequence, body: body)) }
    }

    // MARK: RouterControlling

    func routes(settle: Bool) async throws -> RouteList { RouteList(routes: [], discovery: []) }
    func rooms(settle: Bool) async throws -> [Room] { [] }
    func explain(_ request: PlayRequest) async throws -> [RouteChoice] { [] }
    func play(_ request: PlayRequest) async throws -> SessionSnapshot { throw RouterError(.unsupported, "no play") }

    func perform(
        _ command: RemoteCommand, session: SessionID?, origin: CommandOrigin, terms: CommandTerms
    ) async throws -> CommandResult {
        let outcome = state.withLock { state in
            state.told.append(Told(session: session, command: command, origin: origin))
            return state.outcomes.isEmpty ? nil : state.outcomes.removeFirst()
        }
        await withCheckedContinuation { continuation in
            let waits = state.withLock { state in
                state.held?.append(continuation)
                return state.held != nil
            }
            if !waits { continuation.resume() }
        }
        if let outcome { return CommandResult(id: .random(), outcome: outcome) }
        if let session { apply(command, session) }
        return CommandResult(id: .random(), outcome: .succeeded)
    }

    private func apply(_ command: RemoteCommand, _ id: SessionID) {
        let now = clock.now()
        change(id) { session in
            func move(to time: MediaTime? = nil, item: ItemID? = nil, rate: Double? = nil) {
                guard var anchor = session.anchor else { return }
                anchor.time = time ?? (item == nil ? anchor.position(at: now) : .zero)
                anchor.item = item ?? anchor.item
                anchor.rate = rate ?? anchor.rate
                anchor.instant = now
                session.anchor = anchor
                if let item { session.queue.current = item }
            }
            let items = session.queue.items.map(\.id)
            let place = items.firstIndex { $0 == session.queue.current } ?? 0
            switch command {
            case .pause, .play, .toggle:
                let plays = command == .play || (command == .toggle && session.media == .paused)
                session.media = plays ? .playing : .paused
                move(rate: plays ? 1 : 0)
            case .next: if place + 1 < items.count { move(item: items[place + 1]) }
            case .previous: if place > 0 { move(item: items[place - 1]) }
            case .jump(let item): move(item: item)
            case .seek(let time): move(to: time)
            case .seekBy(let delta): move(to: (session.anchor?.position(at: now) ?? .zero) + delta)
            case .setVolume(let level, _):
                session.members[0].volume = VolumeState(
                    level: level, muted: session.members[0].volume?.muted ?? false)
            case .mute(let muted, _): session.members[0].volume?.muted = muted
            case .repeatMode(let mode): session.queue.repeatMode = mode
            case .shuffle(let on): session.queue.original = on ? items : nil
            case .stop: session.connection = .ended
            default: break
            }
        }
    }

    func edit(
        _ edit: QueueEdit, session: SessionID?, ifVersion version: Int?, workingDirectory: String
    ) async throws -> QueueSnapshot {
        guard let session else { throw RouterError(.routeNotFound, "no session") }
        state.withLock { $0.edits.append(edit) }
        func item(_ what: [String]) throws -> QueueItem {
            guard let name = what.first, !name.contains("missing") else {
                throw RouterError(.mediaNotFound, "it is not there", hint: "Check the name")
            }
            let number = state.withLock { $0.sequence }
            return QueueItem(id: ItemID(rawValue: "new\(number)"), source: .url(name))
        }
        switch edit {
        case .playNext(let what, _):
            let item = try item(what)
            change(session) { session in
                let place = session.queue.items.firstIndex { $0.id == session.queue.current } ?? -1
                session.queue.items.insert(item, at: place + 1)
            }
        case .append(let what, _):
            let item = try item(what)
            change(session) { $0.queue.items.append(item) }
        case .remove(let ids): change(session) { $0.queue.items.removeAll { ids.contains($0.id) } }
        default: throw RouterError(.unsupported, "no such edit")
        }
        guard let queue = state.withLock({ $0.sessions[session]?.queue }) else {
            throw RouterError(.routeNotFound, "no session")
        }
        return queue
    }

    func sessions() async -> [SessionSnapshot] { state.withLock { Array($0.sessions.values) } }

    func transfer(session: SessionID?, to rooms: [String]) async throws -> TransferResult {
        throw RouterError(.unsupported, "no transfers")
    }

    func end(session: SessionID, reason: EndReason) async throws { change(session) { $0.connection = .ended } }
    func sessionsToRejoin() async throws -> [RejoinableSession] { [] }
    func rejoin(_ session: SessionID) async throws -> SessionSnapshot { throw RouterError(.unsupported, "none") }
    func startPairing(_ device: String) async throws -> PairingProgress { throw RouterError(.unsupported, "none") }
    func finishPairing(_ id: String, code: String) async throws -> PairingProgress {
        throw RouterError(.unsupported, "none")
    }
    func cancelPairing(_ id: String) async throws {}
    func pairings() async throws -> [PairingRecord] { [] }
    func unpair(_ device: String) async throws -> Notice? { nil }

    func events() async -> AsyncStream<RouterEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: RouterEvent.self)
        state.withLock { state in
            let sessions = state.sessions.values.sorted { $0.id < $1.id }
            continuation.yield(
                RouterEvent(
                    sequence: state.sequence,
                    body: .snapshot(routes: RouteList(routes: [], discovery: []), sessions: sessions)))
            state.readers.append(continuation)
        }
        return stream
    }
}
