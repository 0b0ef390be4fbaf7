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
        var loadRefusals: [EndpointID: RouterError] = [:]
        var sessions: [FakeRouteSession] = []
    }

    private let state = Mutex(State())
    private let delivery: MediaDelivery
    private let clock: any HostClock

    public init(family: RouteFamily, delivery: MediaDelivery, clock: any HostClock) {
        self.family = family
        self.delivery = delivery
        self.clock = clock
    }

    public func endpoint(from record: ServiceRecord) -> Endpoint? {
        guard serviceTypes.contains(record.key.type) else { return nil }
        return endpoint(named: record.key.name, host: record.addresses.first ?? record.hostName, port: record.port)
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
                    : [.playURL, .continuesWithoutSender, .pause, .seek],
                sync: pushes ? .tight : .loose))
    }

    // MARK: What a test says

    /// The device refuses connections from now on.
    public func refuse(_ endpoint: Endpoint, with error: RouterError) {
        state.withLock { $0.refusals[endpoint.id] = error }
    }

    /// The device lets itself be connected to, and then takes no media.
    public func refuseLoads(_ endpoint: Endpoint, with error: RouterError) {
        state.withLock { $0.loadRefusals[endpoint.id] = error }
    }

    /// Every session that was opened, in order.
    public var sessions: [FakeRouteSession] { state.withLock { $0.sessions } }

    /// The last session that was opened on a device of this name.
    public func session(named name: String) -> FakeRouteSession? {
        sessions.last { $0.descriptor.endpoint.name == name }
    }

    public func open(_ endpoint: Endpoint, options: OpenOptions) async throws -> any RouteSession {
        if let refusal = state.withLock({ $0.refusals[endpoint.id] }) { throw refusal }
        let session = FakeRouteSession(endpoint: endpoint, delivery: delivery, clock: clock)
        state.withLock {
            session.failLoads(with: $0.loadRefusals[endpoint.id])
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
        case end(EndReason)
    }

    public let descriptor: RouteSessionDescriptor
    private let calls = Mutex<[Call]>([])
    private let loadError = Mutex<RouterError?>(nil)
    private let latest: LatestValue<RouteSessionUpdate>
    private let clock: any HostClock

    init(endpoint: Endpoint, delivery: MediaDelivery, clock: any HostClock) {
        descriptor = RouteSessionDescriptor(
            endpoint: endpoint, delivery: delivery, capabilities: endpoint.capabilities,
            volume: VolumeDescriptor(handling: .adjustable, readback: .events))
        latest = LatestValue(RouteSessionUpdate(volume: VolumeState(level: VolumePosition(0.5))))
        self.clock = clock
    }

    public var asked: [Call] { calls.withLock { $0 } }

    /// The loads of pull media, in order.
    public var loadedTokens: [MediaToken] {
        asked.compactMap { if case .load(let token?, _, _, _) = $0 { token } else { nil } }
    }

    // MARK: What a test says

    public func failLoads(with error: RouterError?) { loadError.withLock { $0 = error } }

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

    public func reports(position: MediaTime, rate: Double = 1) {
        let now = clock.now()
        latest.update { $0.position = ReportedPosition(time: position, instant: now, rate: rate) }
    }

    // MARK: RouteSession

    public func updates() -> AsyncStream<RouteSessionUpdate> { latest.stream() }

    public func load(_ media: PreparedMedia, timeline: Timeline?, autoplay: Bool) async throws {
        switch media {
        case .pull(let pull):
            calls.withLock {
                $0.append(.load(pull.token, fromFrame: nil, timeline: timeline, autoplay: autoplay))
            }
        case .push(let push):
            calls.withLock {
                $0.append(.load(nil, fromFrame: push.fromFrame, timeline: timeline, autoplay: autoplay))
            }
        }
        if let error = loadError.withLock({ $0 }) { throw error }
        latest.update {
            $0.media = autoplay ? .playing : .paused
            $0.stopReason = nil
            $0.error = nil
            if case .pull(let pull) = media { $0.loaded = pull.token }
        }
    }

    public func perform(_ command: RouteCommand) async throws -> CommandOutcome {
        calls.withLock { $0.append(.perform(command)) }
        latest.update {
            switch command {
            case .play: $0.media = .playing
            case .pause: $0.media = .paused
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
        latest.update { $0.volume = volume }
    }

    public func end(_ reason: EndReason) async {
        calls.withLock { $0.append(.end(reason)) }
        latest.update { $0.connection = .ended }
        latest.finish()
    }
}
