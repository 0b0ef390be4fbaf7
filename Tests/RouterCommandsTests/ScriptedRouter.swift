import RouteModel
import Synchronization

/// A router that answers as a test says: one device, a play, a pairing.
final class ScriptedRouter: RouterControlling {
    struct Script: Sendable {
        var discovery: [DiscoveryState] = []
        var routes: [Route] = []
        var choices: Result<[RouteChoice], RouterError> = .success([])
        /// What `play` gives, and what is told meanwhile.
        var played: Result<SessionSnapshot, RouterError> = .failure(RouterError(.unsupported, "no play"))
        var told: [RouterEvent.Body] = []
        var pairing: PairingProgress?
        /// Of each code in order.
        var codes: [Result<PairingProgress, RouterError>] = []
    }

    private struct State {
        var script: Script
        var given: [String] = []
        var requests: [PlayRequest] = []
        var cancelled = 0
    }

    private let state: Mutex<State>

    init(_ script: Script) { state = Mutex(State(script: script)) }

    var given: [String] { state.withLock { $0.given } }
    var requests: [PlayRequest] { state.withLock { $0.requests } }
    var cancelled: Int { state.withLock { $0.cancelled } }
    private var script: Script { state.withLock { $0.script } }

    func routes(settle: Bool) async throws -> RouteList {
        RouteList(routes: script.routes, discovery: script.discovery)
    }
    func rooms(settle: Bool) async throws -> [Room] { [] }
    func explain(_ request: PlayRequest) async throws -> [RouteChoice] { try script.choices.get() }

    func play(_ request: PlayRequest) async throws -> SessionSnapshot {
        state.withLock { $0.requests.append(request) }
        return try script.played.get()
    }

    func perform(_ command: RemoteCommand, session: SessionID?, origin: CommandOrigin) async throws -> CommandResult {
        throw RouterError(.unsupported, "no commands")
    }

    func edit(
        _ edit: QueueEdit, session: SessionID?, ifVersion version: Int?, workingDirectory: String
    ) async throws -> QueueSnapshot { throw RouterError(.unsupported, "no edits") }

    func sessions() async -> [SessionSnapshot] { [] }

    func transfer(session: SessionID?, to rooms: [String]) async throws -> TransferResult {
        throw RouterError(.unsupported, "no transfers")
    }

    func end(session: SessionID, reason: EndReason) async throws {}
    func sessionsToRejoin() async throws -> [RejoinableSession] { [] }

    func rejoin(_ session: SessionID) async throws -> SessionSnapshot {
        throw RouterError(.unsupported, "no sessions")
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
    func pairings() async throws -> [PairingRecord] { [] }
    func unpair(_ device: String) async throws -> Notice? { nil }

    /// All that is told, at once; then the stream stays open.
    func events() async -> AsyncStream<RouterEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: RouterEvent.self)
        for (number, body) in script.told.enumerated() {
            continuation.yield(RouterEvent(sequence: number, body: body))
        }
        return stream
    }
}
