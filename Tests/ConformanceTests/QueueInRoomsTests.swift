import AirPlayBackend
import CastBackend
import Pacing
import RouteBackend
import RouteModel
import RouterCore
import RouterTestKit
import SimulatedReceivers
import Testing

@Suite("C10 a queue does the same on simulated receivers", .serialized, .timeLimit(.minutes(2)))
struct QueueInRoomsTests {
    @Test(
        "Cast by its own queue, AirPlay by a feed, both together", arguments: QueueConformance.cases,
        [["Lounge"], ["Kitchen"], ["Kitchen", "Lounge"]])
    func conforms(_ name: String, in rooms: [String]) async throws {
        let (cast, raop) = (try await CastHarness(), try await RAOPHarness())
        let engine = RouterEngine(
            providers: [cast.provider, raop.provider], browsing: nil, media: cast.media, store: InMemoryStore(),
            clock: SystemHostClock(),
            configuration: EngineConfiguration(stated: [cast.endpoint, raop.endpoint]))
        var words: [String] = []
        for _ in 0..<4 {
            if case .file(let path) = try await cast.tune(seconds: 60) { words.append(path) }
        }
        let tunes = words
        let result = await withTaskGroup(of: Result<Void, any Error>?.self) { group in
            group.addTask {
                await engine.run()
                return nil
            }
            group.addTask {
                let result: Result<Void, any Error>
                do {
                    result = .success(try await QueueConformance(engine, rooms: rooms, tunes: tunes).run(name))
                } catch {
                    result = .failure(error)
                }
                await engine.shutdown()
                return result
            }
            return await group.reduce(nil) { $0 ?? $1 }
        }
        await cast.stop()
        await raop.stop()
        try result?.get()
    }
}
