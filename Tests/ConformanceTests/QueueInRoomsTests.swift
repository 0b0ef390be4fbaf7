import AirPlayBackend
import CastBackend
import Foundation
import RouteBackend
import RouteModel
import RouterCore
import RouterStore
import RouterTestKit
import SimulatedReceivers
import Testing

/// One house for each kind of room and each case; those are run beside each other.
@Suite("C10 a queue does the same on simulated receivers", .serialized, .timeLimit(.minutes(2)))
struct QueueInRoomsTests {
    private static let rounds = QueueConformance.cases.inRounds(of: 1)

    @Test("Cast by its own queue, AirPlay 1 and 2 by a feed, the template, and sets of them", arguments: rounds)
    func conforms(_ names: [String]) async {
        await withDiscardingTaskGroup { group in
            for name in names {
                for rooms in Self.sets {
                    group.addTask {
                        do {
                            try await Self.run(name, in: rooms)
                        } catch {
                            Issue.record("\(rooms.joined(separator: " and ")), “\(name)”: \(error)")
                        }
                    }
                }
            }
        }
    }

    private static let sets = [
        ["Lounge"], ["Kitchen"], ["Den"], ["Null"], ["Kitchen", "Lounge"], ["Den", "Lounge", "Kitchen"],
    ]

    @Test("what befalls queues, in each of those kinds of room", arguments: QueueConformance.casesInSurroundings)
    func inSurroundings(_ name: String) async {
        await withDiscardingTaskGroup { group in
            for rooms in Self.sets {
                group.addTask {
                    do {
                        // What another sender does to the queue on a device has a meaning for Cast alone.
                        let hasMeaning = try await Self.runInSurroundings(name, in: rooms)
                        #expect(hasMeaning || rooms != ["Lounge"])
                    } catch {
                        Issue.record("\(rooms.joined(separator: " and ")), “\(name)”: \(error)")
                    }
                }
            }
        }
    }

    private static func run(_ name: String, in rooms: [String]) async throws {
        let house = try await HouseOfReceivers(rooms)
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await house.run { try await QueueConformance($0, rooms: rooms, tunes: $1).run(name) })
        } catch {
            result = .failure(error)
        }
        await house.stop()
        try result.get()
    }

    private static func runInSurroundings(_ name: String, in rooms: [String]) async throws -> Bool {
        let house = try await HouseOfReceivers(rooms)
        let result: Result<Bool, any Error>
        do {
            let surroundings = try await house.surroundings()
            result = .success(
                try await house.run { router, tunes in
                    try await QueueConformance(router, rooms: rooms, tunes: tunes).run(name, in: surroundings)
                })
        } catch {
            result = .failure(error)
        }
        await house.stop()
        return try result.get()
    }
}

/// The receivers of some rooms on real sockets, behind one engine at a time.
private actor HouseOfReceivers {
    private let tunes: Tunes
    private let cast: CastHarness?
    private let harnesses: [any BackendHarness]
    private let providers: [any RouteProvider]
    private let folder = FileManager.default.temporaryDirectory.appending(path: "queues-\(UUID().uuidString)")
    private var stops: [@Sendable () async -> Void] = []
    private var engine: RouterEngine?
    private var running: Task<Void, Never>?

    /// - Parameter rooms: Lounge (Cast), Kitchen (AirPlay 1), Den (AirPlay 2), Null (the template).
    init(_ rooms: [String]) async throws {
        var providers: [any RouteProvider] = []
        var harnesses: [any BackendHarness] = []
        let tunes = try Tunes()
        var stops: [@Sendable () async -> Void] = [{ await tunes.stop() }]
        var cast: CastHarness?
        if rooms.contains("Lounge") {
            let device = try await CastHarness()
            providers.append(device.provider)
            harnesses.append(device)
            stops.append { await device.stop() }
            cast = device
        }
        if rooms.contains("Den") {
            let speaker = try await AirPlay2Harness()
            providers.append(speaker.provider)
            harnesses.append(speaker)
            stops.append { await speaker.stop() }
        }
        if rooms.contains("Kitchen") {
            let speaker = try await RAOPHarness()
            // Both kinds of AirPlay are one backend's.
            if !rooms.contains("Den") { providers.append(speaker.provider) }
            harnesses.append(speaker)
            stops.append { await speaker.stop() }
        }
        if rooms.contains("Null") {
            let null = try TemplateHarness()
            providers.append(null.provider)
            harnesses.append(null)
            stops.append { await null.stop() }
        }
        self.tunes = tunes
        self.stops = stops
        self.cast = cast
        self.providers = providers
        self.harnesses = harnesses
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// Runs an engine for as long as `body` does, which is given four files.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable (RouterEngine, [String]) async throws -> Value
    ) async throws -> Value {
        var words: [String] = []
        for _ in 0..<4 { words.append(Self.path(try tunes.tune(seconds: 60))) }
        let engine = try begin()
        let result: Result<Value, any Error>
        do { result = .success(try await body(engine, words)) } catch { result = .failure(error) }
        await self.engine?.shutdown()
        await running?.value
        return try result.get()
    }

    private func begin() throws -> RouterEngine {
        let engine = RouterEngine(
            providers: providers, browsing: nil, media: tunes.media,
            store: try RouterStore(path: folder.path() + "/router.sqlite"), clock: SystemHostClock(),
            configuration: EngineConfiguration(stated: harnesses.map(\.endpoint)))
        self.engine = engine
        running = Task { await engine.run() }
        return engine
    }

    func surroundings() throws -> QueueSurroundings {
        // A set with speakers in it is led by a timeline, item by item, and speakers hold no queue.
        var removeNext: (@Sendable () async throws -> Void)?
        if let cast, harnesses.count == 1 {
            removeNext = { try await Self.removeNext(on: cast) }
        }
        return QueueSurroundings(
            noise: Self.path(try tunes.noise()), shortTune: Self.path(try tunes.tune(seconds: 5)),
            dropConnections: { [self] in try await dropConnections() },
            beginAnew: { [self] in try await beginAnew() }, otherSenderRemovesNext: removeNext)
    }

    private func dropConnections() async throws {
        for harness in harnesses { try await harness.loseConnection() }
    }

    /// The engine stops wherever it is, and what the system closes for a process that is killed is closed.
    private func beginAnew() async throws -> RouterEngine {
        running?.cancel()
        try await dropConnections()
        await running?.value
        return try begin()
    }

    /// Once the device holds what comes next.
    private static func removeNext(on cast: CastHarness) async throws {
        guard await eventually({ (await cast.receiver.record().events("queue").last?["items"]?.int ?? 0) >= 2 }) else {
            throw ConformanceFailure("the device holds no queue")
        }
        cast.receiver.control(.otherSender(.remove(at: 1)))
    }

    private static func path(_ source: MediaSource) -> String {
        if case .file(let path) = source { path } else { "" }
    }

    func stop() async {
        for stop in stops { await stop() }
        try? FileManager.default.removeItem(at: folder)
    }
}
