import AvahiDiscovery
import Foundation
import Logging
import RouteBackend
import RouteModel
import SimulatedReceivers

/// Simulated receivers of all kinds, started together, on demand announced by mDNS.
actor SimulatedHouse {
    struct Plan: Sendable {
        var cast: [SimulatedCastConfiguration] = []
        var raop: [SimulatedRAOPConfiguration] = []
        var airPlay2: [SimulatedAirPlay2Configuration] = []
        /// Of each group the names of its members that are receivers here.
        var members: [String: [String]] = [:]
        var announces = false
    }

    /// One receiver that listens.
    struct Receiver: Sendable {
        var name: String
        var proto: RouteProtocol
        var host: String
        var port: Int
        /// Of eureka_info; nil without.
        var httpPort: Int?
        var id: String
        /// What a TXT record would say and a sender without discovery must know.
        var facts: [String: String] = [:]
        /// The recording of what it played and the journal of what happened, where it writes any.
        var recording: URL?
        var journal: URL?

        var family: RouteFamily { proto.family }
        /// The word of its option.
        var kind: String { family == .cast ? "cast" : proto == .airplay2 ? "airplay2" : "raop" }
        private var scheme: String { proto == .airplay2 ? "airplay" : kind }

        /// What `--device` takes.
        var uri: String {
            var uri = URLComponents()
            uri.scheme = scheme
            uri.host = host.contains(":") ? "[\(host)]" : host
            uri.port = port
            uri.queryItems =
                [URLQueryItem(name: "name", value: name)]
                + facts.sorted { $0.key < $1.key }.map { URLQueryItem(name: $0.key, value: $0.value) }
            return uri.string ?? "\(scheme)://\(host):\(port)"
        }

        /// One line of JSON.
        var line: JSONValue {
            [
                "event": "listening", "name": .string(name), "kind": .string(kind),
                "protocol": .string(proto.displayName), "uri": .string(uri), "host": .string(host),
                "port": .integer(port), "httpPort": httpPort.map { .integer($0) } ?? .null, "id": .string(id),
                "recording": recording.map { .string($0.path) } ?? .null,
                "journal": journal.map { .string($0.path) } ?? .null,
            ]
        }
    }

    private let plan: Plan
    private let logger: Logger
    /// Finds the senders that buttons are told to.
    private let browser = AvahiBrowser()
    private var publisher: AvahiPublisher?
    private var cast: [SimulatedCastReceiver] = []
    private var raop: [SimulatedRAOPReceiver] = []
    private var airPlay2: [SimulatedAirPlay2Receiver] = []
    /// What mDNS is to say.
    private var services: [PublishedService] = []
    private var announced: [PublishedService.Key: AvahiPublication] = [:]
    private(set) var receivers: [Receiver] = []
    /// What is not as it was asked for.
    private(set) var notices: [String] = []

    init(_ plan: Plan, logger: Logger) {
        self.plan = plan
        self.logger = logger
    }

    func start() async throws {
        // One for all: services of one address share its host record.
        if plan.announces { publisher = AvahiPublisher() }
        do {
            for configuration in plan.cast { try await start(configuration) }
            for configuration in plan.raop { try await start(configuration) }
            for configuration in plan.airPlay2 { try await start(configuration) }
            for (group, receiver) in zip(plan.cast, cast) {
                for (member, configuration) in zip(cast, plan.cast)
                where plan.members[group.name]?.contains(configuration.name) == true {
                    await member.join(receiver)
                }
            }
            try await announceAll()
        } catch {
            await stop()
            throw error
        }
    }

    private func start(_ configuration: SimulatedCastConfiguration) async throws {
        let receiver = try SimulatedCastReceiver(configuration, logger: logger)
        let ports = try await receiver.start()
        cast.append(receiver)
        if let wanted = configuration.httpPort, ports.httpPort == nil {
            notices.append(
                "\(configuration.name) has no eureka_info: port \(wanted) of \(configuration.host) is taken or not allowed"
            )
        }
        let file = configuration.recordingFolder?
            .appendingPathComponent(configuration.recordingName ?? configuration.name)
        receivers.append(
            Receiver(
                name: configuration.name, proto: .cast, host: configuration.host, port: ports.port,
                httpPort: ports.httpPort, id: configuration.deviceID, recording: file?.appendingPathExtension("wav"),
                journal: file?.appendingPathExtension("ndjson")))
        services.append(
            PublishedService(
                type: "_googlecast._tcp", name: configuration.name, port: ports.port, txt: await receiver.txtRecord,
                address: configuration.host))
    }

    private func start(_ configuration: SimulatedRAOPConfiguration) async throws {
        let receiver = SimulatedRAOPReceiver(
            configuration, browser: browser, clock: SystemHostClock(), logger: logger)
        let port = try await receiver.start()
        raop.append(receiver)
        let file = configuration.recordingFolder?
            .appendingPathComponent(configuration.recordingName ?? configuration.name)
        receivers.append(
            Receiver(
                name: configuration.name, proto: .raop, host: configuration.host, port: port,
                id: String(receiver.serviceName.prefix { $0 != "@" }),
                facts: configuration.password == nil ? [:] : ["pw": "true"],
                recording: file?.appendingPathExtension("wav"), journal: file?.appendingPathExtension("ndjson")))
        services.append(
            PublishedService(
                type: "_raop._tcp", name: receiver.serviceName, port: port, txt: receiver.txtRecord,
                address: configuration.host))
    }

    private func start(_ configuration: SimulatedAirPlay2Configuration) async throws {
        let receiver = SimulatedAirPlay2Receiver(
            configuration, browser: browser, clock: SystemHostClock(), logger: logger)
        let port = try await receiver.start()
        airPlay2.append(receiver)
        if let reason = await receiver.missesPTP {
            notices.append("\(configuration.name) does without PTP, by NTP only: \(reason)")
        }
        let file = configuration.recordingFolder?
            .appendingPathComponent(configuration.recordingName ?? configuration.name)
        let record = await receiver.airPlayRecord
        receivers.append(
            Receiver(
                name: configuration.name, proto: .airplay2, host: configuration.host, port: port,
                id: configuration.hardwareID,
                facts: record.filter { ["features", "flags", "deviceid", "pw"].contains($0.key) },
                recording: file?.appendingPathExtension("wav"), journal: file?.appendingPathExtension("ndjson")))
        services.append(
            PublishedService(
                type: "_airplay._tcp", name: configuration.name, port: port, txt: record, address: configuration.host))
        // Where the device is an AirPlay 1 receiver too, that is what its other record leads to.
        guard !plan.raop.contains(where: { $0.name == configuration.name }) else { return }
        services.append(
            PublishedService(
                type: "_raop._tcp", name: receiver.raopServiceName, port: port, txt: await receiver.raopRecord,
                address: configuration.host))
    }

    /// All at once: each takes Avahi a second, in which it asks whether the name is free.
    private func announceAll() async throws {
        guard let publisher else { return }
        try await withThrowingTaskGroup(of: (PublishedService, AvahiPublication).self) { group in
            for service in services {
                group.addTask { (service, try await publisher.publication(of: service)) }
            }
            for try await (service, publication) in group {
                announced[service.key] = publication
                if publication.name != service.name {
                    notices.append(
                        "\(service.name) is announced as \(publication.name): the name was taken on this network")
                }
            }
        }
    }

    /// The records follow the receiver: what runs, and where a group's leader listens.
    private func follow(_ receiver: SimulatedCastReceiver, _ event: SimulatedReceiverEvent) async {
        guard let publisher, Self.recordWords.contains(event.word),
            let index = services.firstIndex(where: {
                $0.type == "_googlecast._tcp" && $0.name == receiver.configuration.name
            })
        else { return }
        let place = await receiver.endpoint
        services[index].txt = await receiver.txtRecord
        let service = services[index]
        guard service.port != place.port || service.address != place.host else {
            try? announced[service.key]?.update(txt: service.txt)
            return
        }
        services[index].port = place.port
        services[index].address = place.host
        await announced[service.key]?.withdraw()
        do {
            announced[service.key] = try await publisher.publication(of: services[index])
        } catch {
            logger.warning("\(service.name) is not announced any more: \(error)")
        }
    }

    /// Events after which the record may have changed.
    private static let recordWords: Set<String> = [
        "launch", "appStopped", "takenOver", "crashed", "restarted", "moved", "launchStatus", "groupPlays", "exited",
    ]

    /// What happens at every receiver, with its name.
    func events() async -> AsyncStream<(name: String, event: SimulatedReceiverEvent)> {
        var streams: [(String, AsyncStream<SimulatedReceiverEvent>)] = []
        for (receiver, configuration) in zip(cast, plan.cast) {
            streams.append((configuration.name, await receiver.events()))
        }
        for (receiver, configuration) in zip(raop, plan.raop) {
            streams.append((configuration.name, await receiver.events()))
        }
        for (receiver, configuration) in zip(airPlay2, plan.airPlay2) {
            streams.append((configuration.name, await receiver.events()))
        }
        let all = streams
        let receivers = Dictionary(zip(plan.cast.map(\.name), cast)) { first, _ in first }
        let (merged, continuation) = AsyncStream.makeStream(of: (name: String, event: SimulatedReceiverEvent).self)
        let pump = Task {
            await withDiscardingTaskGroup { group in
                for (name, stream) in all {
                    group.addTask {
                        for await event in stream {
                            continuation.yield((name, event))
                            if let receiver = receivers[name] { await self.follow(receiver, event) }
                        }
                    }
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in pump.cancel() }
        return merged
    }

    func stop() async {
        for handle in announced.values { await handle.withdraw() }
        publisher?.close()
        publisher = nil
        for receiver in cast { await receiver.stop() }
        for receiver in raop { await receiver.stop() }
        for receiver in airPlay2 { await receiver.stop() }
        announced = [:]
        services = []
        cast = []
        raop = []
        airPlay2 = []
    }
}

extension PublishedService {
    /// Tells one announcement of this process from another.
    fileprivate struct Key: Hashable {
        var type: String
        var name: String
    }

    fileprivate var key: Key { Key(type: type, name: name) }
}
