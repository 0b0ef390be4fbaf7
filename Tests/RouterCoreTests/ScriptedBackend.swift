import RouteBackend
import RouteModel
import RouterTestKit
import Synchronization

/// A gate that a test opens.
final class Latch: Sendable {
    private let value = LatestValue(false)
    func open() { value.set(true) }
    func wait() async { for await isOpen in value.stream() where isOpen { return } }
}

/// A backend whose sessions do at a load what a test says.
final class ScriptedProvider: RouteProvider {
    let family: RouteFamily
    let delivery: MediaDelivery
    let openGate: [String: Latch]
    let onLoad: @Sendable (ScriptedSession) async throws -> Void
    let readback: VolumeDescriptor.Readback
    let made = Mutex<[ScriptedSession]>([])
    init(
        family: RouteFamily, delivery: MediaDelivery, openGate: [String: Latch] = [:],
        readback: VolumeDescriptor.Readback = .events,
        onLoad: @escaping @Sendable (ScriptedSession) async throws -> Void
    ) {
        self.family = family
        self.delivery = delivery
        self.openGate = openGate
        self.onLoad = onLoad
        self.readback = readback
    }
    var serviceTypes: [String] { [] }
    var uriSchemes: [String] { [] }
    func endpoint(from record: ServiceRecord) -> Endpoint? { nil }
    func endpoint(from uri: DeviceURI) throws -> Endpoint { throw RouterError(.configuration, "no") }
    func open(_ endpoint: Endpoint, options: OpenOptions) async throws -> any RouteSession {
        await openGate[endpoint.name]?.wait()
        let session = ScriptedSession(endpoint, delivery, readback, onLoad)
        made.withLock { $0.append(session) }
        return session
    }
    func session(_ name: String) -> ScriptedSession? {
        made.withLock { $0.last { $0.descriptor.endpoint.name == name } }
    }
}

/// A session that notes what it is asked.
final class ScriptedSession: RouteSession {
    let descriptor: RouteSessionDescriptor
    let latest = LatestValue(RouteSessionUpdate())
    let calls = Mutex<[String]>([])
    let onLoad: @Sendable (ScriptedSession) async throws -> Void
    init(
        _ endpoint: Endpoint, _ delivery: MediaDelivery, _ readback: VolumeDescriptor.Readback,
        _ onLoad: @escaping @Sendable (ScriptedSession) async throws -> Void
    ) {
        descriptor = RouteSessionDescriptor(
            endpoint: endpoint, delivery: delivery, capabilities: endpoint.capabilities,
            volume: VolumeDescriptor(handling: .adjustable, readback: readback))
        self.onLoad = onLoad
    }
    var asked: [String] { calls.withLock { $0 } }
    func note(_ text: String) { calls.withLock { $0.append(text) } }
    func updates() -> AsyncStream<RouteSessionUpdate> { latest.stream() }
    func load(_ media: PreparedMedia, timeline: Timeline?, autoplay: Bool) async throws {
        note("load")
        if case .pull(let pull) = media { latest.update { $0.loaded = pull.token } }
        latest.update { $0.media = autoplay ? .playing : .paused }
        try await onLoad(self)
    }
    func perform(_ command: RouteCommand) async throws -> CommandOutcome {
        switch command {
        case .play(_, let frame): note("play \(frame)")
        case .pause: note("pause")
        default: note("\(command)")
        }
        return .succeeded
    }
    func present(_ nowPlaying: NowPlaying) async throws {}
    func setVolume(_ volume: VolumeState) async throws { note("volume") }
    func end(_ reason: EndReason) async {
        note("end \(reason)")
        latest.update { $0.connection = .ended }
        latest.finish()
    }
}

/// A backend whose sessions say to every command that they cannot.
final class RefusingProvider: RouteProvider {
    var family: RouteFamily { .cast }
    var serviceTypes: [String] { [] }
    var uriSchemes: [String] { [] }
    func endpoint(from record: ServiceRecord) -> Endpoint? { nil }
    func endpoint(from uri: DeviceURI) throws -> Endpoint { throw RouterError(.configuration, "no") }
    func open(_ endpoint: Endpoint, options: OpenOptions) async throws -> any RouteSession {
        RefusingSession(endpoint)
    }
}

final class RefusingSession: RouteSession {
    let descriptor: RouteSessionDescriptor
    let latest = LatestValue(RouteSessionUpdate())
    init(_ endpoint: Endpoint) {
        descriptor = RouteSessionDescriptor(
            endpoint: endpoint, delivery: .pull(PullRequirements(receiverAddress: "127.0.0.1")),
            capabilities: endpoint.capabilities, volume: .fixed)
    }
    func updates() -> AsyncStream<RouteSessionUpdate> { latest.stream() }
    func load(_ media: PreparedMedia, timeline: Timeline?, autoplay: Bool) async throws {}
    func perform(_ command: RouteCommand) async throws -> CommandOutcome { .unsupported }
    func present(_ nowPlaying: NowPlaying) async throws {}
    func setVolume(_ volume: VolumeState) async throws {}
    func end(_ reason: EndReason) async {
        latest.update { $0.connection = .ended }
        latest.finish()
    }
}

/// A backend whose sessions answer a command when a test opens the gate.
final class SlowPauseProvider: RouteProvider {
    let gate: Latch
    init(_ gate: Latch) { self.gate = gate }
    var family: RouteFamily { .cast }
    var serviceTypes: [String] { [] }
    var uriSchemes: [String] { [] }
    func endpoint(from record: ServiceRecord) -> Endpoint? { nil }
    func endpoint(from uri: DeviceURI) throws -> Endpoint { throw RouterError(.configuration, "no") }
    func open(_ endpoint: Endpoint, options: OpenOptions) async throws -> any RouteSession {
        SlowPauseSession(endpoint, gate)
    }
}

final class SlowPauseSession: RouteSession {
    let descriptor: RouteSessionDescriptor
    let latest = LatestValue(RouteSessionUpdate())
    let gate: Latch
    init(_ endpoint: Endpoint, _ gate: Latch) {
        self.gate = gate
        descriptor = RouteSessionDescriptor(
            endpoint: endpoint, delivery: .pull(PullRequirements(receiverAddress: "127.0.0.1")),
            capabilities: endpoint.capabilities, volume: .fixed)
    }
    func updates() -> AsyncStream<RouteSessionUpdate> { latest.stream() }
    func load(_ media: PreparedMedia, timeline: Timeline?, autoplay: Bool) async throws {}
    func perform(_ command: RouteCommand) async throws -> CommandOutcome {
        await gate.wait()
        return .succeeded
    }
    func present(_ nowPlaying: NowPlaying) async throws {}
    func setVolume(_ volume: VolumeState) async throws {}
    func end(_ reason: EndReason) async {
        latest.update { $0.connection = .ended }
        latest.finish()
    }
}
