import Foundation
import Logging
import PeerSupport
import RouteModel
import RouterDaemon
import RouterTestKit
import SceneScript
import SimulatedReceivers
import Synchronization
import Testing

/// Every scene of `Samples/Scenes` on a house of simulated receivers over real sockets, judged by what they heard.
@Suite("R4 scene samples", .serialized, .timeLimit(.minutes(5)))
struct SceneSampleTests {
    /// The machine's clock, with another time of day on the wall.
    private final class WallClock: SceneClock {
        private let system = SystemSceneClock()
        private let offset: Mutex<Double>

        init(hour: Int, minute: Int, second: Int = 0) {
            let now = SystemSceneClock().wallTime()
            let day = (now / 86_400).rounded(.down) * 86_400
            offset = Mutex(day + Double(hour * 3600 + minute * 60 + second) - now)
        }

        func now() -> Int64 { system.now() }
        func sleep(until instant: Int64) async throws { try await system.sleep(until: instant) }
        func wallTime() -> Double { system.wallTime() + offset.withLock { $0 } }
        func timeZone() -> TimeZone { .gmt }
        func jump(_ seconds: Double) { offset.withLock { $0 += seconds } }
    }

    /// Kitchen and Patio are AirPlay 1 speakers, Bedroom is one of AirPlay 2, Lounge a Cast device.
    private struct House: Sendable {
        let folder: URL
        let speakers: [SimulatedSpeaker]
        let lounge: SimulatedCastReceiver
        let uris: [String]

        init() async throws {
            folder = FileManager.default.temporaryDirectory.appending(path: "scenes-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            speakers = [
                try await SimulatedSpeaker("Kitchen", .raop, in: folder),
                try await SimulatedSpeaker("Patio", .raop, in: folder),
                try await SimulatedSpeaker("Bedroom", .ntp, in: folder),
            ]
            var configuration = SimulatedCastConfiguration(name: "Lounge", port: 0, httpPort: nil)
            configuration.recordingFolder = folder
            lounge = try SimulatedCastReceiver(configuration)
            uris = speakers.map(\.uri) + ["cast://127.0.0.1:\(try await lounge.start().port)?name=Lounge"]
        }

        func end() async {
            for speaker in speakers { await speaker.stop() }
            await lounge.stop()
            try? FileManager.default.removeItem(at: folder)
        }

        /// Seconds of sound, by room.
        func heard(_ room: String) async -> Double {
            if room == "Lounge" { return Double(await lounge.record().heardFrames) / 44_100 }
            guard let speaker = speakers.first(where: { $0.name == room }) else { return 0 }
            return Double(await speaker.heard().frames) / 44_100
        }
    }

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Samples/Scenes")

    private func run(
        _ name: String, clock: WallClock = WallClock(hour: 12, minute: 0), values: [String: String] = [:],
        before: @escaping @Sendable (any RouterControlling) async throws -> Void = { _ in },
        during: @escaping @Sendable (SceneRun) async throws -> Void = { _ in },
        after: @escaping @Sendable (SceneRun, House, [SessionSnapshot]) async throws -> Void
    ) async throws {
        let house = try await House()
        let request = SceneRequest(
            text: try String(contentsOf: Self.folder.appending(path: "\(name).yaml"), encoding: .utf8),
            path: "\(name).yaml", values: values, workingDirectory: Self.folder.path)
        var configuration = RouterConfiguration()
        configuration.mediaPort = 0
        let setup = RouterSetup(
            configuration: configuration, deviceURIs: house.uris,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, discovers: false)
        do {
            try await InProcessRouter.run(setup) { router in
                let host = SceneHost(router: router, clock: clock)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { await host.run() }
                    let check = await SceneChecker().check(request, router: router)
                    #expect(!check.diagnostics.hasErrors, "\(check.diagnostics)")
                    try await before(router)
                    let updates = await host.sceneUpdates()
                    let started = try await host.startScene(request)
                    var last = started
                    for await update in updates where update.id == started.id {
                        last = update
                        try await during(update)
                        if update.state != .running { break }
                    }
                    let living = await router.sessions().filter { $0.connection != .ended && $0.connection != .failed }
                    try await after(last, house, living)
                    await host.shutdown()
                    group.cancelAll()
                }
            }
        } catch {
            await house.end()
            throw error
        }
        await house.end()
    }

    private static func play(_ room: String) -> @Sendable (any RouterControlling) async throws -> Void {
        { router in
            _ = try await router.play(
                PlayRequest(
                    what: [folder.appending(path: "music/evening.mp3").path], rooms: [room], repeatMode: .all))
        }
    }

    @Test("R4 morning: the bedroom grows louder, the kitchen joins, and in the end it is quiet")
    func morning() async throws {
        try await run("morning", values: ["rise": "2s", "breakfast": "3s", "farewell": "1s"]) { run, house, sessions in
            #expect(run.steps.allSatisfy { $0.result == .done || $0.result == .doneUnverified }, "\(run.steps)")
            #expect(run.state == .done)
            #expect(await house.heard("Bedroom") > 4)
            #expect(await house.heard("Kitchen") > 1)
            #expect(sessions.allSatisfy { $0.connection == .ended })
        }
    }

    @Test("R4 party: a speaker and a television play one queue, and the patio joins") func party() async throws {
        try await run("party") { run, house, sessions in
            #expect(run.state == .done, "\(run.steps)")
            let session = try #require(sessions.first)
            #expect(Set(session.members.map(\.name)) == ["Lounge", "Kitchen", "Patio"])
            #expect(session.queue.items.count == 3 && session.queue.repeatMode == .all)
            #expect(await eventually { await house.heard("Kitchen") > 0.5 })
            #expect(await eventually { await house.heard("Lounge") > 0.5 })
            #expect(await eventually { abs(await house.lounge.record().level - 0.6) < 0.02 })
        }
    }

    @Test("R4 doorbell: what plays goes on as before, and where nothing played nothing does") func doorbell()
        async throws
    {
        try await run("doorbell", before: Self.play("Kitchen")) { run, house, sessions in
            #expect(run.state == .done, "\(run.steps)")
            for room in ["Kitchen", "Lounge", "Bedroom", "Patio"] { #expect(await house.heard(room) > 2, "\(room)") }
            #expect(sessions.flatMap(\.members).map(\.name) == ["Kitchen"])
            #expect(sessions.first?.media == .playing)
            #expect(sessions.first?.queue.items.map(\.source.label) == ["evening.mp3"])
        }
    }

    @Test("R4 bedtime: it fades to silence, stops, and the rest of the house is paused") func bedtime() async throws {
        try await run("bedtime", values: ["fade": "3s"], before: Self.play("Lounge")) { run, house, sessions in
            #expect(run.state == .done, "\(run.steps)")
            #expect(await house.heard("Bedroom") > 2)
            #expect(sessions.filter { $0.media == .playing }.isEmpty)
            #expect(sessions.flatMap(\.members).map(\.name) == ["Lounge"])
            #expect(sessions.first?.media == .paused)
        }
    }

    @Test("R4 follow me: what plays moves, and goes on where it was") func followMe() async throws {
        try await run("follow-me", values: ["to": "Kitchen"], before: Self.play("Lounge")) { run, house, sessions in
            #expect(run.state == .done, "\(run.steps)")
            #expect(sessions.flatMap(\.members).map(\.name) == ["Kitchen"])
            #expect(await eventually { await house.heard("Kitchen") > 0.5 })
        }
    }

    @Test("R4 opening hours: plays until ten to six, says goodbye, and is silent at six") func openingHours()
        async throws
    {
        let clock = WallClock(hour: 17, minute: 49, second: 56)
        try await run(
            "opening-hours", clock: clock, values: ["look": "1s"],
            during: { run in
                // The ten minutes from the farewell to the end.
                if run.steps.contains(where: { $0.verb == "wait_for" && $0.result == .running }) { clock.jump(600) }
            },
            after: { run, house, sessions in
                #expect(run.state == .done, "\(run.steps)")
                #expect(run.steps.contains { $0.verb == "announce" && $0.result == .done })
                #expect(await house.heard("Lounge") > 2)
                #expect(sessions.isEmpty)
            })
    }
}
