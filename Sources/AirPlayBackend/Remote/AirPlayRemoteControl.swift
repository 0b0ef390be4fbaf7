import AirPlay
import Logging
import RouteBackend

/// Where the remote controls of receivers reach this process: one DACP server for all sessions, announced while there is
/// one (`Protocols/dacp`).
///
/// Without it, or where it cannot listen, devices play all the same, and their buttons do nothing.
public actor AirPlayRemoteControl {
    private enum Stage {
        case idle
        case starting
        case running(DACPServer)
        case failed
    }

    /// How long after an announcement that failed it is tried again, in nanoseconds.
    private static let retryNanoseconds: Int64 = 60_000_000_000

    private let publishing: (any ServicePublishing)?
    private let hosts: [String]
    private let clock: any HostClock
    private let logger: Logger
    private var stage = Stage.idle
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private let started = AsyncStream.makeStream(of: DACPServer.self)

    /// - Parameters:
    ///   - publishing: nil announces nothing.
    ///   - hosts: addresses to listen on, the first that can be had is taken.
    public init(
        publishing: (any ServicePublishing)?, clock: any HostClock, hosts: [String] = ["::", "0.0.0.0"],
        logger: Logger = Logger(label: "router.airplay") { _ in SwiftLogNoOpLogHandler() }
    ) {
        self.publishing = publishing
        self.clock = clock
        self.hosts = hosts
        self.logger = logger
    }

    /// A session's place at the server, which begins to listen with the first; nil where it cannot.
    public func open() async -> DACPSession? {
        if case .idle = stage { await start() }
        if case .starting = stage { await withCheckedContinuation { waiting.append($0) } }
        guard case .running(let server) = stage else { return nil }
        return await server.open()
    }

    private func start() async {
        stage = .starting
        do {
            let server = try await DACPServer.start(hosts: hosts)
            stage = .running(server)
            started.continuation.yield(server)
        } catch {
            logger.notice("no commands from devices", metadata: ["error": "\(error)"])
            stage = .failed
        }
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    /// Announces the server once there is one, until cancelled; then nothing listens any more.
    public func run() async {
        for await server in started.stream {
            let publication = await announced(server)
            // Until cancelled: the stream has no other.
            for await _ in started.stream {}
            await publication?.withdraw()
        }
        if case .running(let server) = stage { await server.stop() }
        stage = .failed
    }

    /// Tries until it is announced, or cancelled.
    private func announced(_ server: DACPServer) async -> (any PublishedHandle)? {
        guard let publishing else { return nil }
        let service = PublishedService(
            type: DACPServer.serviceType, name: server.serviceName, port: server.port, txt: server.serviceText)
        while !Task.isCancelled {
            do {
                return try await publishing.publish(service)
            } catch {
                logger.debug("remote control not announced", metadata: ["error": "\(error)"])
                try? await clock.sleep(nanoseconds: Self.retryNanoseconds)
            }
        }
        return nil
    }
}
