import AvahiDiscovery
import Foundation
import Logging
import RouteBackend
import RouteModel
import SimulatedReceivers

/// Simulated receivers of both kinds, started together, on demand announced by mDNS.
actor SimulatedHouse {
    struct Plan: Sendable {
        var cast: [SimulatedCastConfiguration] = []
        var raop: [SimulatedRAOPConfiguration] = []
        var announces = false
    }

    /// One receiver that runs.
    struct Receiver: Sendable, Encodable {
        var name: String
        var family: RouteFamily
        var host: String
        var port: Int
        /// What `--device` takes.
        var uri: String
        /// The recording of what it played, where it records.
        var recording: String?
    }

    private let plan: Plan
    private let logger: Logger
    private var cast: [SimulatedCastReceiver] = []
    private var raop: [SimulatedRAOPReceiver] = []
    private var services: [PublishedService] = []
    private var announced: [any PublishedHandle] = []
    private(set) var receivers: [Receiver] = []
    /// What runs otherwise than planned.
    private(set) var notices: [Notice] = []

    init(_ plan: Plan, logger: Logger) {
        self.plan = plan
        self.logger = logger
    }

    func start() async throws {
        do {
            for configuration in plan.cast { try await start(configuration) }
            for configuration in plan.raop { try await start(configuration) }
            if plan.announces { try await announce() }
        } catch {
            await stop()
            throw error
        }
    }

    private func start(_ configuration: SimulatedCastConfiguration) async throws {
        let receiver = try SimulatedCastReceiver(configuration, logger: logger)
        let ports = try await receiver.start()
        if let wanted = configuration.httpPort, ports.httpPort == nil {
            notices.append(
                Notice(
                    .warning,
                    "\(configuration.name) has no set-up page (eureka_info): port \(wanted) of \(configuration.host) is taken"
                ))
        }
        cast.append(receiver)
        add(configuration.name, .cast, "cast", configuration.host, ports.port, configuration.recordingFolder)
        services.append(
            PublishedService(
                type: "_googlecast._tcp", name: configuration.name, port: ports.port, txt: await receiver.txtRecord,
                address: configuration.host))
    }

    private func start(_ configuration: SimulatedRAOPConfiguration) async throws {
        let receiver = SimulatedRAOPReceiver(configuration, clock: SystemHostClock(), logger: logger)
        let port = try await receiver.start()
        raop.append(receiver)
        add(configuration.name, .airplay, "raop", configuration.host, port, configuration.recordingFolder)
        services.append(
            PublishedService(
                type: "_raop._tcp", name: receiver.serviceName, port: port, txt: receiver.txtRecord,
                address: configuration.host))
    }

    private func add(
        _ name: String, _ family: RouteFamily, _ scheme: String, _ host: String, _ port: Int, _ folder: URL?
    ) {
        var uri = URLComponents()
        uri.scheme = scheme
        uri.host = host
        uri.port = port
        uri.queryItems = [URLQueryItem(name: "name", value: name)]
        receivers.append(
            Receiver(
                name: name, family: family, host: host, port: port, uri: uri.string ?? "\(scheme)://\(host):\(port)",
                recording: folder?.appendingPathComponent("\(name).wav").path))
    }

    /// All at once: each is probed for on the network for about a second.
    private func announce() async throws {
        try await withThrowingTaskGroup(of: (any PublishedHandle).self) { group in
            for service in services { group.addTask { try await AvahiPublisher().publish(service) } }
            for try await handle in group { announced.append(handle) }
        }
    }

    /// What happens at every receiver, with its name.
    func events() async -> AsyncStream<(name: String, event: SimulatedReceiverEvent)> {
        var streams: [(String, AsyncStream<SimulatedReceiverEvent>)] = []
        for (receiver, configuration) in zip(cast, plan.cast) {
            streams.append((configuration.name, await receiver.events()))
        }
        for (receiver, configuration) in zip(raop, plan.raop) {
            streams.append((configuration.name, await receiver.events()))
        }
        let all = streams
        let (merged, continuation) = AsyncStream.makeStream(of: (name: String, event: SimulatedReceiverEvent).self)
        let pump = Task {
            await withDiscardingTaskGroup { group in
                for (name, stream) in all {
                    group.addTask { for await event in stream { continuation.yield((name, event)) } }
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in pump.cancel() }
        return merged
    }

    func stop() async {
        for handle in announced { await handle.withdraw() }
        for receiver in cast { await receiver.stop() }
        for receiver in raop { await receiver.stop() }
        announced = []
        cast = []
        raop = []
    }
}
