import RouteBackend
import RouteModel
import Synchronization

/// A backend whose devices are values in memory: they do what a test says, and remember what they were asked.
public final class FakeProvider: RouteProvider {
    public let family: RouteFamily
    public var serviceTypes: [String] { ["_fake-\(family.rawValue)._tcp"] }
    public var uriSchemes: [String] { ["fake-\(family.rawValue)"] }

    private struct State {
        var refusals: [EndpointID: RouterError] = [:]
        var gates: [EndpointID: AsyncStream<Void>] = [:]
        var loadGates: [EndpointID: AsyncStream<Void>] = [:]
        var loadRefusals: [EndpointID: RouterError] = [:]
        var sessions: [FakeRouteSession] = []
        var kept: [EndpointID: RouteSessionUpdate] = [:]
        var opened: [(endpoint: Endpoint, rejoin: String?)] = []
        var sought: [EndpointID] = []
        var stores = false
        var saysNoVolume = false
        var pairings: [EndpointID: FakePairing] = [:]
        var unpaired: [(endpoint: Endpoint, credentials: DeviceCredentials?)] = []
        var credentials: [DeviceCredentials?] = []
        var exclusive = false
        var overlaps = 0
        var underWay: [EndpointID: Int] = [:]
    }

    private let state = Mutex(State())
    private let delivery: MediaDelivery
    private let clock: any HostClock
    private let queueOnDevice: Bool

    /// - Parameter queueOnDevice: the devices hold what comes next and go on by themselves.
    public init(family: RouteFamily, delivery: MediaDelivery, clock: any HostClock, queueOnDevice: Bool = false) {
        self.family = family
        self.delivery = delivery
        self.clock = clock
        self.queueOnDevice = queueOnDevice
    }

    public func endpoint(from record: ServiceRecord) -> Endpoint? {
        guard serviceTypes.contains(record.key.type) else { return nil }
        var endpoint = endpoint(
            named: record.key.name, host: record.addresses.first ?? record.hostName, port: record.port)
        endpoint.busyWith = record.txt["rs"]
        return endpoint
    }

    public func endpoint(from uri: DeviceURI) throws -> Endpoint {
        var endpoint = endpoint(named: uri.query["name"] ?? uri.host, host: uri.host, port: uri.port ?? 1)
        endpoint.origin = .stated
        return endpoint
    }

    public func endpoint(named name: String, host: String, port: Int = 1) -> Endpoint {
        let pushes = if case .push = delivery { true } else { false }
        return Endpoint(
            id: EndpointID(rawValue: "\(family.rawValue):\(host):\(port)"),
            protocol: family == .cast ? .cast : .raop, name: name, host: host, port: port,
            strongKeys: [StrongKey(.statedURI, "fake-\(family.rawValue)://\(host):\(port)")], origin: .discovered,
            capabilities: RouteCapabilities(
                available: pushes
                    ? [.playAudioStream, .playsSenderOnlyFiles, .gapless, .pause, .seek]
                    : [.playURL, .continuesWithoutSender, .acceptsManySenders, .pause, .seek]
                        + (queueOnDevice ? [.queueOnDevice, .preload, .gapless, .rate, .tracks, .adSkip] : []),
                sync: pushes ? .tight : .loose))
    }

    // MARK: What a test says

    /// The device refuses connections from now on.
    public func refuse(_ endpoint: Endpoint, with error: RouterError) {
        state.withLock { $0.refusals[endpoint.id] = error }
    }

    /// Whoever opens a session there next waits until what this gives is finished.
    public func holdsOpening(of endpoint: Endpoint) -> AsyncStream<Void>.Continuation {
        let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
        state.withLock { $0.gates[endpoint.id] = gate }
        return continuation
    }

    /// The first load of whoever opens a session there next does not return until what this gives is finished.
    public func holdsLoad(on endpoint: Endpoint) -> AsyncStream<Void>.Continuation {
        let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
        state.withLock { $0.loadGates[endpoint.id] = gate }
        return continuation
    }

    /// The device lets itself be connected to, and then takes no media.
    public func refuseLoads(_ endpoint: Endpoint, with error: RouterError) {
        state.withLock { $0.loadRefusals[endpoint.id] = error }
    }

    /// The devices take one connection at a time, and say that they are busy to a second one.
    public func isExclusive() { state.withLock { $0.exclusive = true } }

    /// How often a device was to be opened while it was being opened already, or was opened while another session there
    /// had not ended yet. One that says that it is busy keeps the other out.
    public var overlaps: Int { state.withLock { $0.overlaps } }

    /// The device takes connections again.
    public func accept(_ endpoint: Endpoint) { state.withLock { $0.refusals[endpoint.id] = nil } }

    /// Who next opens a session there with a rejoin token joins one that stands like this.
    public func keeps(_ update: RouteSessionUpdate, on endpoint: Endpoint) {
        state.withLock { $0.kept[endpoint.id] = update }
    }

    /// The devices can store what they play, and resume what another one has stored.
    public func storesSessions() { state.withLock { $0.stores = true } }

    /// Sessions from now on do not say how loud their devices are.
    public func saysNoVolume() { state.withLock { $0.saysNoVolume = true } }

    /// The devices that were asked what they play, in order.
    public var sought: [EndpointID] { state.withLock { $0.sought } }

    /// A device that `keeps` one of these plays it.
    public func find(
        _ items: Set<MediaToken>, on endpoint: Endpoint, within limit: Int64, options: OpenOptions
    ) async -> String? {
        state.withLock {
            $0.sought.append(endpoint.id)
            guard let loaded = $0.kept[endpoint.id]?.loaded, items.contains(loaded) else { return nil }
            return "app/\(endpoint.name)"
        }
    }

    /// Every attempt to open, in order, with the rejoin token that was brought along.
    public var opened: [(endpoint: Endpoint, rejoin: String?)] { state.withLock { $0.opened } }

    /// Every session that was opened, in order.
    public var sessions: [FakeRouteSession] { state.withLock { $0.sessions } }

    /// The last session that was opened on a device of this name.
    public func session(named name: String) -> FakeRouteSession? {
        sessions.last { $0.descriptor.endpoint.name == name }
    }

    /// The device asks for a code from now on.
    public func asksForCode(_ endpoint: Endpoint, _ pairing: FakePairing) {
        state.withLock { $0.pairings[endpoint.id] = pairing }
    }

    /// Who was told to forget us, with what.
    public var unpaired: [(endpoint: Endpoint, credentials: DeviceCredentials?)] { state.withLock { $0.unpaired } }

    /// What sessions were opened with, in order.
    public var credentials: [DeviceCredentials?] { state.withLock { $0.credentials } }

    public func pairing(with endpoint: Endpoint, options: OpenOptions) async throws -> any PairingFlow {
        guard var pairing = state.withLock({ $0.pairings[endpoint.id] }) else {
            throw RouterError(.unsupported, "\(endpoint.name) needs no pairing", scope: .route)
        }
        pairing.endpoint = endpoint
        return FakePairingFlow(pairing)
    }

    public func unpair(_ endpoint: Endpoint, options: OpenOptions) async throws {
        if let refusal = state.withLock({ $0.refusals[endpoint.id] }) { throw refusal }
        state.withLock { $0.unpaired.append((endpoint, options.credentials)) }
    }

    public func open(_ endpoint: Endpoint, options: OpenOptions) async throws -> any RouteSession {
        state.withLock { $0.opened.append((endpoint, options.rejoin)) }
        state.withLock { $0.credentials.append(options.credentials) }
        let isOther = sessions.contains { $0.descriptor.endpoint.id == endpoint.id && !$0.isClosed }
        state.withLock {
            if $0.underWay[endpoint.id, default: 0] > 0 { $0.overlaps += 1 }
            $0.underWay[endpoint.id, default: 0] += 1
        }
        defer { state.withLock { $0.underWay[endpoint.id, default: 0] -= 1 } }
        if let gate = state.withLock({ $0.gates.removeValue(forKey: endpoint.id) }) { for await _ in gate {} }
        // What is given up takes its time to go.
        if Task.isCancelled { await othersHaveRun() }
        if let refusal = state.withLock({ $0.refusals[endpoint.id] }) { throw refusal }
        let isTaken = sessions.contains { $0.descriptor.endpoint.id == endpoint.id && !$0.isClosed }
        if isTaken, state.withLock({ $0.exclusive }) {
            throw RouterError(.routeBusy, "\(endpoint.name) has another sender", scope: .route)
        }
        if isOther || isTaken { state.withLock { $0.overlaps += 1 } }
        let kept = options.rejoin == nil ? nil : state.withLock { $0.kept.removeValue(forKey: endpoint.id) }
        let session = FakeRouteSession(
            endpoint: endpoint, delivery: delivery, clock: clock, joining: kept, stores: state.withLock { $0.stores },
            readback: state.withLock { $0.saysNoVolume } ? .none : .events)
        state.withLock {
            session.failLoads(with: $0.loadRefusals[endpoint.id])
            session.holdsLoad(by: $0.loadGates.removeValue(forKey: endpoint.id))
            $0.sessions.append(session)
        }
        return session
    }
}

/// A session on a fake device.
public final class FakeRouteSession: RouteSession {
    /// What the device was asked, in order.
    public enum Call: Sendable, Equatable {
        case load(MediaToken?, fromFrame: Int64?, timeline: Timeline?, autoplay: Bool)
        case perform(RouteCommand)
        case present(ItemID)
        case volume(VolumeState)
        case upcoming([MediaToken])
        case store
        case resume(MediaToken)
        case end(EndReason)
    }

    public let descriptor: RouteSessionDescriptor
    private let calls = Mutex<[Call]>([])
    private let starts = Mutex<[MediaTime]>([])
    private let loadError = Mutex<RouterError?>(nil)
    private let commandError = Mutex<RouterError?>(nil)
    private let coarseStep = Mutex<Double?>(nil)
    private let latest: LatestValue<RouteSessionUpdate>
    private let clock: any HostClock
    private let stores: Bool
    private let buttons = AsyncStream.makeStream(of: RemoteCommand.self)
    private let closed = Mutex(false)
    private let endGate = Mutex<AsyncStream<Void>?>(nil)
    private let loadGate = Mutex<(gate: AsyncStream<Void>, error: RouterError?)?>(nil)
    private let commandGate = Mutex<AsyncStream<Void>?>(nil)
    private let upcomingGate = Mutex<AsyncStream<Void>?>(nil)

    init(
        endpoint: Endpoint, delivery: MediaDelivery, clock: any HostClock, joining: RouteSessionUpdate? = nil,
        stores: Bool = false, readback: VolumeDescriptor.Readback = .events
    ) {
        self.stores = stores
        descriptor = RouteSessionDescriptor(
            endpoint: endpoint, delivery: delivery, capabilities: endpoint.capabilities,
            volume: VolumeDescriptor(handling: .adjustable, readback: readback), rejoinToken: "app/\(endpoint.name)",
            joined: joining?.loaded != nil)
        let volume = readback == .none ? nil : VolumeState(level: VolumePosition(0.5))
        latest = LatestValue(joining ?? RouteSessionUpdate(volume: volume))
        self.clock = clock
    }

    private var hasQueue: Bool { descriptor.capabilities.has(.queueOnDevice) }

    public var asked: [Call] { calls.withLock { $0 } }

    /// The loads of pull media, in order.
    public var loadedTokens: [MediaToken] {
        asked.compactMap { if case .load(let token?, _, _, _) = $0 { token } else { nil } }
    }

    /// Where in their items they were to begin.
    public var loadedStarts: [MediaTime] { starts.withLock { $0 } }

    // MARK: What a test says

    public func failLoads(with error: RouterError?) { loadError.withLock { $0 = error } }

    /// The next load does not return until what this gives is finished, and fails then where an error is given.
    public func holdsLoad(failing error: RouterError? = nil) -> AsyncStream<Void>.Continuation {
        let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
        holdsLoad(by: gate, failing: error)
        return continuation
    }

    func holdsLoad(by gate: AsyncStream<Void>?, failing error: RouterError? = nil) {
        loadGate.withLock { $0 = gate.map { ($0, error) } }
    }

    /// Whether the connection is no more.
    public var isClosed: Bool { closed.withLock { $0 } || latest.value.connection == .failed }

    /// Whoever ends the session waits until what this gives is finished.
    public func holdsEnd() -> AsyncStream<Void>.Continuation {
        let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
        endGate.withLock { $0 = gate }
        return continuation
    }

    /// The next command is taken when what this gives is finished.
    public func holdsCommand() -> AsyncStream<Void>.Continuation {
        let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
        commandGate.withLock { $0 = gate }
        return continuation
    }

    /// The next `setUpcoming` returns when the continuation is finished; the device holds the items before that.
    public func holdsUpcoming() -> AsyncStream<Void>.Continuation {
        let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
        upcomingGate.withLock { $0 = gate }
        return continuation
    }

    /// The device refuses what it is told beside loads; nil: it obeys again.
    public func failCommands(with error: RouterError?) { commandError.withLock { $0 = error } }

    /// The device reports the end of what it plays.
    public func reachesEnd() {
        latest.update {
            $0.media = .stopped
            $0.stopReason = .finished
        }
    }

    public func cannotPlay(_ error: RouterError) {
        latest.update {
            $0.media = .stopped
            $0.stopReason = .error
            $0.error = error
        }
    }

    /// The device goes away without a word.
    public func isLost() {
        latest.update {
            $0.connection = .failed
            $0.error = RouterError(.routeLost, "the device is gone", scope: .route)
        }
        latest.finish()
    }

    /// The state as it is now.
    public var state: RouteSessionUpdate { latest.value }

    /// The device reports something.
    public func reports(_ change: (inout RouteSessionUpdate) -> Void) { latest.update(change) }

    /// What the device holds after its current item.
    public var held: [MediaToken] {
        let update = latest.value
        guard let window = update.window, let place = window.lastIndex(where: { $0.token == update.loaded }) else {
            return []
        }
        return window[(place + 1)...].map(\.token)
    }

    /// The device goes on to the next item that it holds.
    public func goesOn() {
        guard let next = held.first else { return reachesEnd() }
        goes(to: next)
    }

    /// The device plays another item that it holds, from its beginning.
    public func goes(to token: MediaToken) {
        let now = clock.now()
        latest.update {
            $0.loaded = token
            $0.media = .playing
            $0.position = ReportedPosition(time: .zero, instant: now, rate: 1)
        }
    }

    /// Another sender changes what the device holds after its current item.
    public func otherSender(_ change: ([WindowEntry]) -> [WindowEntry]) {
        latest.update {
            let loaded = $0.loaded
            let window = $0.window ?? []
            let place = window.lastIndex { $0.token == loaded } ?? -1
            $0.window = Array(window[...place]) + change(Array(window[(place + 1)...]))
        }
    }

    /// Somebody presses a button on the device, or turns its knob.
    public func presses(_ command: RemoteCommand) { buttons.continuation.yield(command) }

    /// The device takes no other levels than multiples of this from now on, whatever its descriptor says.
    public func roundsVolume(to step: Double) { coarseStep.withLock { $0 = step } }

    public func reports(position: MediaTime, rate: Double = 1) {
        let now = clock.now()
        latest.update { $0.position = ReportedPosition(time: position, instant: now, rate: rate) }
    }

    // MARK: RouteSession

    public func updates() -> AsyncStream<RouteSessionUpdate> { latest.stream() }

    public func deviceCommands() -> AsyncStream<RemoteCommand> { buttons.stream }

    public func load(_ media: PreparedMedia, timeline: Timeline?, autoplay: Bool) async throws {
        switch media {
        case .pull(let pull):
            calls.withLock {
                $0.append(.load(pull.token, fromFrame: nil, timeline: timeline, autoplay: autoplay))
            }
            starts.withLock { $0.append(pull.start) }
        case .push(let push):
            calls.withLock {
                $0.append(.load(nil, fromFrame: push.fromFrame, timeline: timeline, autoplay: autoplay))
            }
            // Packets that never come.
            if let failure = (push.feed as? FakeFeed)?.failure { throw failure }
        }
        let gate = loadGate.withLock { gate in
            defer { gate = nil }
            return gate
        }
        defer { if hasQueue { latest.update { $0.calls += 1 } } }
        if let gate {
            for await _ in gate.gate {}
            if let error = gate.error { throw error }
        }
        if let error = loadError.withLock({ $0 }) { throw error }
        let hasQueue = hasQueue
        latest.update {
            $0.media = autoplay ? .playing : .paused
            $0.stopReason = nil
            $0.error = nil
            guard case .pull(let pull) = media else { return }
            // What it said of the item before is not said of this one.
            if $0.loaded != pull.token { $0.position = nil }
            $0.loaded = pull.token
            if hasQueue { $0.window = [WindowEntry(token: pull.token, url: pull.url)] }
        }
    }

    public func setUpcoming(_ items: [PullMedia]) async throws {
        guard hasQueue else { return }
        calls.withLock { $0.append(.upcoming(items.map(\.token))) }
        latest.update {
            let loaded = $0.loaded
            let window = $0.window ?? []
            let place = window.lastIndex { $0.token == loaded } ?? -1
            let passed = items.firstIndex { $0.token == loaded }.map { $0 + 1 } ?? 0
            $0.window =
                Array(window[...place]) + items[passed...].map { WindowEntry(token: $0.token, url: $0.url) }
            $0.calls += 1
        }
        let gate = upcomingGate.withLock { gate in
            defer { gate = nil }
            return gate
        }
        if let gate { for await _ in gate {} }
    }

    public func storeState() async throws -> TransferState? {
        guard stores else { return nil }
        calls.withLock { $0.append(.store) }
        return TransferState(family: .cast, bytes: [latest.value.media == .paused ? 0 : 1])
    }

    public func resume(_ state: TransferState, media: PullMedia) async throws {
        calls.withLock { $0.append(.resume(media.token)) }
        defer { if hasQueue { latest.update { $0.calls += 1 } } }
        if let error = loadError.withLock({ $0 }) { throw error }
        let hasQueue = hasQueue
        latest.update {
            $0.media = state.bytes == [0] ? .paused : .playing
            $0.loaded = media.token
            if hasQueue { $0.window = [WindowEntry(token: media.token, url: media.url)] }
        }
    }

    public func perform(_ command: RouteCommand) async throws -> CommandOutcome {
        calls.withLock { $0.append(.perform(command)) }
        let gate = commandGate.withLock { gate in
            defer { gate = nil }
            return gate
        }
        if let gate { for await _ in gate {} }
        if let error = commandError.withLock({ $0 }) { throw error }
        latest.update {
            switch command {
            case .play: $0.media = .playing
            case .pause: $0.media = .paused
            case .setRate(let rate): $0.rate = rate
            case .selectTracks(let tracks): $0.activeTracks = tracks
            case .setRepeat(let mode): $0.repeatMode = mode
            case .skipAd: $0.adBreak = nil
            case .seek, .stop: break
            }
        }
        return .succeeded
    }

    public func present(_ nowPlaying: NowPlaying) async throws {
        calls.withLock { $0.append(.present(nowPlaying.item)) }
    }

    public func setVolume(_ volume: VolumeState) async throws {
        calls.withLock { $0.append(.volume(volume)) }
        var volume = volume
        if let step = coarseStep.withLock({ $0 }) {
            volume.level = VolumePosition((volume.level.value / step).rounded() * step)
        }
        if descriptor.volume.readback != .none { latest.update { $0.volume = volume } }
    }

    public func end(_ reason: EndReason) async {
        calls.withLock { $0.append(.end(reason)) }
        if let gate = endGate.withLock({ $0 }) { for await _ in gate {} }
        closed.withLock { $0 = true }
        latest.update { $0.connection = .ended }
        latest.finish()
    }
}
