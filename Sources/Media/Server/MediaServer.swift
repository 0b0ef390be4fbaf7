import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import RouteBackend
import RouteModel

/// The HTTP server that receivers fetch from. It listens from the first publication until `stop`.
actor MediaServer {
    /// How many ports are tried, from the configured one on.
    private static let attempts = 20

    private struct Running {
        var port: Int
        var server: Server<MediaChannel>
        var task: Task<Void, Never>
        var loops: MultiThreadedEventLoopGroup
    }

    let registry = PublishedRegistry()
    private let exchanges = OpenExchanges()
    private let configuration: MediaConfiguration
    private let responder: MediaResponder
    private let logger: Logger
    private var starting: Task<Running, any Error>?

    init(
        configuration: MediaConfiguration, clock: any HostClock, logger: Logger,
        sources: MediaResponder.Sources
    ) {
        self.configuration = configuration
        self.logger = logger
        responder = MediaResponder(
            registry: registry, sources: sources, clock: clock, logger: logger,
            stallSeconds: configuration.stallSeconds)
    }

    /// The port, listening first if it did not yet.
    func port() async throws -> Int {
        if let starting { return try await starting.value.port }
        let task = Task { try await listen() }
        starting = task
        do {
            return try await task.value.port
        } catch {
            starting = nil
            throw error
        }
    }

    /// Connections in the middle of an answer.
    var answersInProgress: Int { get async { await exchanges.count } }

    /// Closes every connection and returns when all is released. It cannot be used again.
    func stop() async {
        guard let running = try? await starting?.value else { return }
        starting = nil
        // Idle connections are closed by the shutdown, those in the middle of an answer by us. The task is not
        // cancelled: a connection accepted in that moment would be dropped unserved, which NIO takes for a mistake.
        await exchanges.closeAll()
        try? await running.server.shutdownGracefully()
        await running.task.value
        try? await running.loops.shutdownGracefully()
    }

    private func listen() async throws -> Running {
        let wanted = configuration.serverPort
        let ports = wanted == 0 ? [0] : Array(wanted...min(65_535, wanted + Self.attempts - 1))
        // Both families by one socket; a machine without IPv6 refuses that and gets the other.
        let hosts = configuration.bindHost.map { [$0] } ?? ["::", "0.0.0.0"]
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: min(4, System.coreCount))
        for port in ports {
            for host in hosts {
                guard let running = await listen(host, port, loops) else { continue }
                if wanted != 0, running.port != wanted {
                    logger.notice("media server: port \(wanted) is taken, listening on \(running.port)")
                } else {
                    logger.debug("media server: listening on port \(running.port)")
                }
                return running
            }
        }
        try? await loops.shutdownGracefully()
        throw RouterError(
            .configuration, "the media server finds no free port from \(wanted) on",
            hint: "Set another media port in the configuration", retry: .afterUserAction)
    }

    /// Nil if that port could not be had.
    private func listen(_ host: String, _ port: Int, _ loops: MultiThreadedEventLoopGroup) async -> Running? {
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        var quiet = logger
        quiet.logLevel = .error
        let channel = HTTP1Channel(
            responder: { [responder, exchanges] request, writer, channel in
                try await Self.exchange(request, writer, channel, responder, exchanges)
            },
            configuration: HTTP1Channel.Configuration(
                idleTimeout: .seconds(Int64(configuration.requestSeconds)),
                httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                    maxHeaderFieldSize: 8 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 64)))
        let server = Server(
            childChannelSetup: MediaChannel(http: channel),
            configuration: ServerConfiguration(
                address: .hostname(host, port: port),
                availableConnectionsDelegate: MaximumAvailableConnections(
                    configuration.maximumConnections, logger: quiet)),
            onServerRunning: { channel in continuation.yield(channel.localAddress?.port ?? port) },
            eventLoopGroup: loops, logger: quiet)
        let task = Task { [logger] in
            do {
                try await server.run()
            } catch {
                logger.debug("media server: \(host) port \(port): \(error)")
            }
            continuation.finish()
        }
        for await port in ports { return Running(port: port, server: server, task: task, loops: loops) }
        await task.value
        return nil
    }

    private static func exchange(
        _ request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel, _ responder: MediaResponder,
        _ exchanges: OpenExchanges
    ) async throws {
        guard await exchanges.begin(channel) else {
            try await channel.close()
            return
        }
        do {
            try await answer(request, writer, channel, responder)
        } catch {
            await exchanges.end(channel)
            throw error
        }
        await exchanges.end(channel)
    }

    /// Answers, and records how that went.
    private static func answer(
        _ request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel, _ responder: MediaResponder
    ) async throws {
        let answer = try await responder.respond(to: request, channel)
        var response = answer.response
        response.headers[.date] = HTTPDate.text(Int64(time(nil)))
        let (registry, clock) = (responder.registry, responder.clock)
        if let exchange = answer.exchange { await registry.began(exchange, nanoseconds: clock.now()) }
        do {
            try await writer.write(response: response.head, body: response.body)
        } catch {
            if let exchange = answer.exchange {
                await registry.finished(exchange, whole: false, nanoseconds: clock.now())
            }
            throw error
        }
        if let exchange = answer.exchange { await registry.finished(exchange, whole: true, nanoseconds: clock.now()) }
    }
}

/// The connections that are in the middle of an answer.
private actor OpenExchanges {
    private var channels: [ObjectIdentifier: any Channel] = [:]
    private var closing = false

    /// False when the server ends and nothing is to be begun any more.
    func begin(_ channel: any Channel) -> Bool {
        guard !closing else { return false }
        channels[ObjectIdentifier(channel)] = channel
        return true
    }

    func end(_ channel: any Channel) { channels[ObjectIdentifier(channel)] = nil }

    var count: Int { channels.count }

    func closeAll() {
        closing = true
        for channel in channels.values { channel.close(promise: nil) }
    }
}
