import RouteBackend
import RouteModel

/// One room of a session, while it plays.
struct Member: Sendable {
    enum Phase: Sendable, Equatable {
        case waiting
        case opening
        /// Connected, nothing loaded.
        case open
        case playing
        /// All that was to be played has been heard.
        case finished
        case failed
    }

    let route: RouteID
    let name: String
    /// The room that was asked for; it may stand for several routes.
    let room: String
    let volumeLimit: VolumePosition?
    let offsetNanoseconds: Int64
    var candidates: [RouteChoice.Candidate]
    var phase: Phase = .waiting
    var session: (any RouteSession)?
    var latest = RouteSessionUpdate()
    var volume: VolumeState?
    var error: RouterError?
    /// Whether it has played anything: fallback is for before that only.
    var heard = false
    /// Failures of endpoints that another endpoint then made good.
    var failures: [EndpointFailure] = []
    /// A load is under way: what becomes of it is told by how it returns, not by the device's news meanwhile.
    var loading = false
    /// Lets one call at a time through to the session, as the contract of backends demands.
    var lane = CommandLane()
    /// Tells news of the session that is open now from news of one that was given up.
    var generation = 0
    /// The pull item that is loaded, and whether it has ended.
    var loaded: (item: ItemID, token: MediaToken)?
    var itemEnded = false

    init(choice: RouteChoice, room: Room) {
        route = choice.route
        name = choice.name
        self.room = room.name
        volumeLimit = room.volumeLimit
        offsetNanoseconds = Int64(room.offsetMilliseconds) * 1_000_000
        candidates = choice.candidates.filter(\.usable)
    }

    var delivery: MediaDelivery? { session?.descriptor.delivery }

    var push: PushRequirements? {
        if case .push(let requirements)? = delivery { requirements } else { nil }
    }

    var pull: PullRequirements? {
        if case .pull(let requirements)? = delivery { requirements } else { nil }
    }

    /// Open or playing, and not yet through.
    var alive: Bool { phase == .open || phase == .playing }

    func limited(_ position: VolumePosition) -> VolumePosition { volumeLimit.map { min($0, position) } ?? position }

    func snapshot() -> SessionMember {
        let endpoint = session?.descriptor.endpoint
        let connection: ConnectionState =
            switch phase {
            case .waiting: .idle
            case .opening: .connecting
            case .open, .playing: latest.connection == .idle ? .connected : latest.connection
            case .finished: .ended
            case .failed: .failed
            }
        let media: MediaState =
            switch phase {
            case .playing: latest.media
            case .finished: .stopped
            default: .none
            }
        return SessionMember(
            route: route, name: name, endpoint: endpoint?.id, protocol: endpoint?.protocol, connection: connection,
            media: media, volume: volume, volumeHandling: session?.descriptor.volume.handling ?? .adjustable,
            error: error, delivery: session?.delivered)
    }
}
