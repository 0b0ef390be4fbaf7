import Foundation
import Logging
import NIOCore
import NIOPosix
import RouteBackend
import RouteModel
import RouterAPI
import RouterCore

/// The daemon: the engine behind a Unix socket and HTTP, for many clients at once.
public enum RouterService {
    /// Runs until SIGTERM, SIGINT or cancellation, and ends in order: what plays without us plays on and is taken up again
    /// by the next daemon; what needs us is stopped.
    ///
    /// Throws `configuration` where another daemon has the socket, a place cannot be listened on, or TCP beyond loopback
    /// is asked for without a token.
    public static func run(_ setup: RouterSetup, _ options: ServiceOptions) async throws {
        // Before anything is opened: a daemon that is refused must not have touched the store of the one that runs.
        let sockets = try open(options) { setup.say($0) }
        let logs = LogRing()
        var setup = setup
        setup.logger = logs.teed(setup.logger)
        defer { for socket in sockets { socket.remove() } }
        let composition = try RouterComposition(setup, stays: true)
        let logger = setup.logger
        let parts = ServiceParts.all(setup, composition)
        try await composition.run { router in
            try await serve(
                router, parts: parts, options, sockets: sockets, logs: logs, clock: composition.clock, logger: logger)
        }
    }

    /// Serves any router the same way, until it is to end. The router is the caller's.
    ///
    /// Throws as `run` does.
    public static func serve(_ router: any RouterControlling, _ options: ServiceOptions, logger: Logger) async throws {
        let sockets = try open(options)
        defer { for socket in sockets { socket.remove() } }
        let logs = LogRing()
        try await serve(
            router, parts: { _, _ in ServiceParts() }, options, sockets: sockets, logs: logs, clock: SystemHostClock(),
            logger: logs.teed(logger))
    }

    // MARK: Listening

    /// Throws `configuration`.
    static func open(
        _ options: ServiceOptions, say: (Notice) -> Void = { _ in }
    ) throws -> [ServiceSocket] {
        raiseFileLimit()
        // What systemd has opened takes the place of what was asked for.
        var sockets = try ServiceSocket.inherited(options.environment)
        let kinds = sockets.map { if case .socket = $0.place { true } else { false } }
        do {
            for case .http(let host, _) in sockets.map(\.place) { try requireToken(options, host: host) }
            if let path = options.socketPath, !kinds.contains(true) {
                sockets.append(try ServiceSocket.unix(path: path))
            }
            if case .http(let host, let port) = options.http, !kinds.contains(false) {
                try requireToken(options, host: host)
                do {
                    sockets.append(try ServiceSocket.tcp(host: host, port: port))
                } catch let error as RouterError where options.httpMayFail && !sockets.isEmpty {
                    say(
                        Notice(
                            .warning, "\(error.message); this daemon is reached by its socket only", hint: error.hint))
                }
            }
            guard !sockets.isEmpty else {
                throw RouterError(
                    .configuration, "the daemon is to listen nowhere", hint: "Give it a socket or an address",
                    retry: .afterUserAction)
            }
        } catch {
            for socket in sockets {
                socket.remove()
                close(socket.descriptor)
            }
            throw error
        }
        return sockets
    }

    private static func requireToken(_ options: ServiceOptions, host: String) throws {
        guard options.token == nil, !isLoopback(host) else { return }
        throw RouterError(
            .configuration, "listening on \(host) lets others in, and needs a token",
            hint: "Give a token, or listen on 127.0.0.1", retry: .afterUserAction)
    }

    static func isLoopback(_ host: String) -> Bool {
        host.lowercased() == "localhost" || host == "::1"
            || (host.hasPrefix("127.") && host.split(separator: ".").count == 4
                && host.split(separator: ".").allSatisfy { UInt8($0) != nil })
    }

    /// A thousand clients are more files than a process may open by itself.
    private static func raiseFileLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = min(limit.rlim_max, 65_536)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    // MARK: Running

    /// Serves a router until it is to end. The sockets are this function's; removing them is the caller's.
    static func serve(
        _ router: any RouterControlling, parts make: ServiceParts.Make, _ options: ServiceOptions,
        sockets: [ServiceSocket], logs: LogRing, clock: any HostClock, logger: Logger
    ) async throws {
        let started = Date().timeIntervalSince1970
        let now: @Sendable () -> Int64 = { clock.now() }
        let places = sockets.map(\.place)
        // Larger than any number that a daemon before this one has given: it would have had to tell a thousand events in
        // every second of its life.
        let hub = EventHub(limits: options.limits, base: Int(started * 1000), logger: logger, now: now)
        let desk = WorkDesk(limit: options.limits.pendingWork)
        // Who reads no events then finds it in the log.
        let tell: @Sendable (Notice) async -> Void = { notice in
            logger.log(level: notice.severity == .info ? .notice : .warning, "\(notice.message)")
            await hub.take(.notice(notice))
        }
        let parts = make(router, tell)
        let handlers = APIHandlers(
            router: router, scenes: parts.scenes, hub: hub, desk: desk, meter: ServiceMeter(), logs: logs,
            paths: PathRules(roots: options.roots), started: started, places: places)
        let responder = APIResponder(
            handlers: handlers,
            guardian: RequestGuard(hostNames: options.hostNames + hostNames(places), token: options.token),
            limiter: RateLimiter(limits: options.limits, now: now), keys: IdempotencyKeys(now: now),
            reader: try RequestReader(), limits: options.limits, clock: clock, logger: logger)
        let notifier = ServiceNotifier(options.environment)
        let signals =
            options.endings ?? (options.handlesSignals ? TerminationSignals.stream() : AsyncStream { _ in })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await hub.follow(router) }
            group.addTask { await hub.follow(logs.news) }
            if let scenes = parts.scenes { group.addTask { await hub.follow(scenes) } }
            group.addTask { await desk.run() }
            for job in parts.jobs { group.addTask { await job() } }
            group.addTask {
                while (try? await clock.sleep(nanoseconds: options.limits.heartbeatSeconds * 1_000_000_000)) != nil {
                    await hub.beat()
                }
            }
            if options.rejoins {
                let recovery = SessionRecovery(router: router, clock: clock, tell: tell)
                group.addTask { await recovery.run() }
            }
            let server = try await HTTPServer.start(sockets, responder, options.limits, logger)
            notifier.tell("READY=1\nSTATUS=listening")
            logger.notice("listening at \(places.map(\.description).joined(separator: ", "))")
            options.ready(places)
            for await number in signals {
                logger.notice("ending by signal \(number)")
                break
            }
            notifier.tell("STOPPING=1")
            for end in parts.endings { await end() }
            await leave(router, logger)
            await hub.finish()
            await server.stop()
            desk.finish()
            group.cancelAll()
        }
    }

    private static func hostNames(_ places: [RouterPlace]) -> [String] {
        places.compactMap { if case .http(let host, _) = $0 { host } else { nil } }
    }

    /// What goes on without us is left alone, and known to the next daemon; the rest is stopped.
    private static func leave(_ router: any RouterControlling, _ logger: Logger) async {
        // What was not taken up is left as it is.
        let foreign = Set(((try? await router.sessionsToRejoin()) ?? []).map(\.id))
        let sessions = await router.sessions().filter {
            $0.connection != .ended && $0.connection != .failed && !foreign.contains($0.id)
        }
        await withDiscardingTaskGroup { group in
            for session in sessions {
                let goesOn = session.members.contains { $0.protocol == .cast }
                group.addTask {
                    try? await router.end(session: session.id, reason: goesOn ? .leave : .stop)
                }
            }
        }
    }
}

/// All listeners of a daemon, and the event loops that they share.
struct HTTPServer: Sendable {
    private let listeners: [HTTPListener]
    private let loops: MultiThreadedEventLoopGroup

    /// Throws `configuration`; then no socket is listened on any more.
    static func start(
        _ sockets: [ServiceSocket], _ responder: APIResponder, _ limits: ServiceLimits, _ logger: Logger
    ) async throws -> HTTPServer {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: min(4, System.coreCount))
        // Strangers who hold all connections must not keep the owner out.
        let (own, others) = (
            OpenConnections(limit: limits.connections, ofOne: limits.connections),
            OpenConnections(limit: limits.connections, ofOne: limits.connectionsOfOne)
        )
        var listeners: [HTTPListener] = []
        do {
            for socket in sockets {
                let owner = if case .socket = socket.place { true } else { false }
                listeners.append(
                    try await HTTPListener.start(
                        socket, on: loops, connections: owner ? own : others, limits: limits, logger: logger
                    ) { request, writer, channel in
                        try await responder.respond(to: request, writer, channel, owner: owner)
                    })
            }
        } catch {
            await HTTPServer(listeners: listeners, loops: loops).stop()
            throw error
        }
        return HTTPServer(listeners: listeners, loops: loops)
    }

    func stop() async {
        await withDiscardingTaskGroup { group in
            for listener in listeners { group.addTask { await listener.stop() } }
        }
        try? await loops.shutdownGracefully()
    }
}
