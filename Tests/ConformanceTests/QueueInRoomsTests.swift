import AirPlayBackend
import CastBackend
import Foundation
import RouteBackend
import RouteModel
import RouterCore
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

    private static func run(_ name: String, in rooms: [String]) async throws {
        let house = try await HouseOfReceivers(rooms)
        let result: Result<Void, any Error>
        do {
            result = .success(try await house.run { try await QueueConformance($0, rooms: rooms, tunes: $1).run(name) })
        } catch {
            result = .failure(error)
        }
        await house.stop()
        try result.get()
    }
}

/// The receivers of some rooms on real sockets, behind one engine.
private struct HouseOfReceivers {
    let tunes: Tunes
    let engine: RouterEngine
    private var stops: [@Sendable () async -> Void] = []

    /// - Parameter rooms: Lounge (Cast), Kitchen (AirPlay 1), Den (AirPlay 2), Null (the template).
    init(_ rooms: [String]) async throws {
        var providers: [any RouteProvider] = []
        var endpoints: [Endpoint] = []
        let tunes = try Tunes()
        var stops: [@Sendable () async -> Void] = [{ await tunes.stop() }]
        if rooms.contains("Lounge") {
            let cast = try await CastHarness()
            providers.append(cast.provider)
            endpoints.append(cast.endpoint)
            stops.append { await cast.stop() }
        }
        if rooms.contains("Den") {
            let speaker = try await AirPlay2Harness()
            providers.append(speaker.provider)
            endpoints.append(speaker.endpoint)
            stops.append { await speaker.stop() }
        }
        if rooms.contains("Kitchen") {
            let speaker = try await RAOPHarness()
            // Both kinds of AirPlay are one backend's.
            if !rooms.contains("Den") { providers.append(speaker.provider) }
            endpoints.append(speaker.endpoint)
            stops.append { await speaker.stop() }
        }
        if rooms.contains("Null") {
            let null = try TemplateHarness()
            providers.append(null.provider)
            endpoints.append(null.endpoint)
            stops.append { await null.stop() }
        }
        self.tunes = tunes
        self.stops = stops
        engine = RouterEngine(
            providers: providers, browsing: nil, media: tunes.media, store: InMemoryStore(), clock: SystemHostClock(),
            configuration: EngineConfiguration(stated: endpoints))
    }

    /// Runs the engine for as long as `body` does, which is given four files.
    func run(_ body: @escaping @Sendable (RouterEngine, [String]) async throws -> Void) async throws {
        let words = try (0..<4).compactMap { _ -> String? in
            if case .file(let path) = try tunes.tune(seconds: 60) { path } else { nil }
        }
        let engine = engine
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await engine.run() }
            let result: Result<Void, any Error>
            do { result = .success(try await body(engine, words)) } catch { result = .failure(error) }
            await engine.shutdown()
            try result.get()
        }
    }

    func stop() async {
        for stop in stops { await stop() }
    }
}
