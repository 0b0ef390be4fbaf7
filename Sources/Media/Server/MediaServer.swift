import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import RouteBackend
import RouteModel

/// The HTTP server that receivers fetch from. It listens from the first publication until `stop`.
actor MediaServer {
    /// How many ports are tried, from the configured one on.
    private static let attempts = 20

    let registry = PublishedRegistry()
    private let configuration: MediaConfiguration
    private let responder: MediaResponder
    private let logger: Logger
    private var starting: Task<Int, any Error>?
    private var running: Task<Void, Never>?

    init(
        configuration: MediaConfiguration, clock: any HostClock, logger: Logger,
        artwork: @escaping @Sendable (MediaSource) async -> Artwork?
    ) {
        self.configuration = configuration
        self.logger = logger
        responder = MediaResponder(
            registry: registry, artwork: artwork, clock: clock, stallSeconds: configuration.stallSeconds)
    }

    /// The port, listening first if it did not yet.
    func port() async throws -> Int {
        if let starting { return try await starting.value }
        let task = Task { try await listen() }
        starting = task
        do {
            return try await task.value
        } catch {
            starting = nil
            throw error
        }
    }

    /// Closes every connection and returns when all is released.
    func stop() async {
        starting?.cancel()
        _ = try? await starting?.value
        starting = nil
        running?.cancel()
        await running?.value
        running = nil
    }

    private func listen() async throws -> Int {
        let wanted = configuration.serverPort
        let ports = wanted == 0 ? [0] : Array(wanted...min(65_535, wanted + Self.attempts - 1))
        // Both families by one socket; a machine without IPv6 refuses that and gets the other.
        let hosts = configuration.bindHost.map { [$0] } ?? ["::", "0.0.0.0"]
        for port in ports {
            for host in hosts {
                try Task.checkCancellation()
                guard let bound = await bind(host, port) else { continue }
                if bound != wanted, wanted != 0 {
                    logger.notice("media server: port \(wanted) is taken, listening on \(bound)")
                } else {
                    logger.debug("media server: listening on port \(bound)")
                }
                return bound
            }
        }
        throw RouterError(
            .configuration, "the media server finds no free port from \(wanted) on",
            hint: "Set another media port in the configuration", retry: .afterUserAction)
    }

    /// The port that is now listened on, or nil if that could not be had.
    private func bind(_ host: String, _ port: Int) async -> Int? {
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        var quiet = logger
        quiet.logLevel = .error
        let limits = HTTP1Channel.Configuration.DecoderConfiguration(
            maxHeaderFieldSize: 8 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 64)
        let channels = HTTP1Channel.Configuration(
            idleTimeout: .seconds(Int64(configuration.requestSeconds)), httpDecoderConfiguration: limits)
        let application = Application(
            responder: responder, server: .http1(configuration: channels),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port), serverName: "router",
                availableConnectionsDelegate: MaximumAvailableConnections(
                    configuration.maximumConnections, logger: quiet)),
            onServerRunning: { channel in
                continuation.yield(channel.localAddress?.port ?? port)
            }, logger: quiet)
        let logger = logger
        let task = Task {
            do {
                try await application.run()
            } catch {
                logger.debug("media server: \(host) port \(port): \(error)")
            }
            continuation.finish()
        }
        for await port in ports {
            running = task
            return port
        }
        task.cancel()
        await task.value
        return nil
    }
}
