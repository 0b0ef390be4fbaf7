import Foundation
import Logging
import RouteBackend
import RouteModel
import RouterAPI
import RouterCore
import RouterTestKit
import SceneScript

@testable import RouterDaemon

/// A daemon of fake devices, reached by its socket and by TCP on loopback.
struct ServiceHouse: Sendable {
    let folder: URL
    let media = FakeMedia()
    let cast: FakeProvider
    let airplay: FakeProvider
    let engine: RouterEngine
    var options: ServiceOptions
    let logs = LogRing()
    var parts: ServiceParts.Make = { _, _ in ServiceParts() }

    init(
        store: any RouterStoring = InMemoryStore(), browsing: (any ServiceBrowsing)? = nil,
        change: (inout ServiceOptions, URL) throws -> Void = { _, _ in }
    ) throws {
        // Short, for a socket's path has 107 bytes at most.
        folder = URL(fileURLWithPath: "/tmp/rs-\(UUID().uuidString.prefix(8))", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let clock = SystemHostClock()
        cast = FakeProvider(
            family: .cast, delivery: .pull(PullRequirements(receiverAddress: "127.0.0.1")), clock: clock)
        airplay = FakeProvider(
            family: .airplay,
            delivery: .push(
                PushRequirements(
                    format: AudioPacketFormat(codec: .alac), leadNanoseconds: 1_000_000,
                    startLeadNanoseconds: 1_000_000)), clock: clock)
        engine = RouterEngine(
            providers: [airplay, cast], browsing: browsing, media: media, store: store, clock: clock,
            configuration: EngineConfiguration(stated: [
                airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), cast.endpoint(named: "Lounge", host: "10.0.0.2"),
                cast.endpoint(named: "Den", host: "10.0.0.3"),
            ]))
        for name in ["/one", "/two", "/three"] { media.add(name, seconds: 600) }
        var options = ServiceOptions(
            socketPath: folder.appendingPathComponent("r.sock").path, http: .http(host: "127.0.0.1", port: 0),
            environment: [:])
        options.handlesSignals = false
        options.rejoins = false
        options.limits.requestsPerSecond = 10_000
        options.limits.burst = 10_000
        try change(&options, folder)
        self.options = options
    }

    /// Scenes as a daemon runs them, with schedules that are kept nowhere.
    static let scenes: ServiceParts.Make = { router, tell in
        let host = SceneHost(router: router, schedules: nil, tell: tell)
        return ServiceParts(scenes: host, jobs: [{ await host.run() }], endings: [{ await host.shutdown() }])
    }

    var socket: RouterPlace { .socket(path: options.socketPath ?? "") }

    struct Reached: Sendable {
        var client: RouterClient
        var raw: RawClient
        var port: Int
    }

    /// Runs the daemon for as long as `body` does; ends it as a signal would.
    @discardableResult
    func live<Value: Sendable>(_ body: @escaping @Sendable (Reached) async throws -> Value) async throws -> Value {
        defer { try? FileManager.default.removeItem(at: folder) }
        let (ready, continuation) = AsyncStream.makeStream(of: [RouterPlace].self)
        var options = options
        options.ready = { continuation.yield($0) }
        let (endings, end) = AsyncStream.makeStream(of: Int32.self)
        options.endings = endings
        let (ended, over) = AsyncStream.makeStream(of: Void.self)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let sockets = try RouterService.open(options)
        let parts = parts
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                await engine.run()
                return nil
            }
            group.addTask { [options, logger] in
                defer {
                    for socket in sockets { socket.remove() }
                    continuation.finish()
                    over.finish()
                }
                try await RouterService.serve(
                    engine, parts: parts, options, sockets: sockets, logs: logs, clock: SystemHostClock(),
                    logger: logs.teed(logger))
                return nil
            }
            var places: [RouterPlace] = []
            for await found in ready {
                places = found
                break
            }
            var port = 0
            for case .http(_, let found) in places { port = found }
            let result: Result<Value, any Error>
            do {
                result = .success(
                    try await body(
                        Reached(client: RouterClient(socket), raw: RawClient(port: port), port: port)))
            } catch {
                result = .failure(error)
            }
            end.yield(SIGTERM)
            for await _ in ended {}
            await engine.shutdown()
            group.cancelAll()
            while let _ = try? await group.next() {}
            return try result.get()
        }
    }
}
