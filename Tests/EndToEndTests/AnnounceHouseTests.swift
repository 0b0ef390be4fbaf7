import AirPlayBackend
import CastBackend
import Foundation
import Logging
import Media
import Pacing
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

@testable import RouterCore

/// Announcements and volumes of a real engine over real sockets, judged by what simulated receivers recorded.
@Suite("R4 announcements in a house of every kind", .serialized, .timeLimit(.minutes(3)))
struct AnnounceHouseTests {
    /// A room of each kind, and one more in which nothing plays.
    private struct Rig {
        let engine: RouterEngine
        private let media: MediaLibrary
        private let running: Task<Void, Never>
        private let stops: [@Sendable () async -> Void]

        init(in folder: URL) async throws {
            let clock = SystemHostClock()
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            media = MediaLibrary(configuration: MediaConfiguration(serverPort: 0), clock: clock, logger: logger)
            let airplay = AirPlayProvider(clock: clock, pacer: try Pacer(), logger: logger)
            let cast = CastProvider(clock: clock, logger: logger)
            let kitchen = try await SimulatedSpeaker("Kitchen", .raop, in: folder)
            let bath = try await SimulatedSpeaker("Bath", .ntp, in: folder)
            let den = try await SimulatedSpeaker("Den", .raop, in: folder)
            var configuration = SimulatedCastConfiguration(name: "Lounge", port: 0, httpPort: nil)
            configuration.recordingFolder = folder
            let lounge = try SimulatedCastReceiver(configuration)
            let port = try await lounge.start().port
            let stated =
                try [kitchen, bath, den].map { try airplay.endpoint(from: DeviceURI($0.uri)) }
                + [try cast.endpoint(from: DeviceURI("cast://127.0.0.1:\(port)?name=Lounge"))]
            let engine = RouterEngine(
                providers: [airplay, cast], browsing: nil, media: media, store: InMemoryStore(), clock: clock,
                configuration: EngineConfiguration(stated: stated))
            self.engine = engine
            running = Task { await engine.run() }
            stops = [kitchen, bath, den].map { speaker in { await speaker.stop() } } + [{ await lounge.stop() }]
        }

        func end() async {
            await engine.shutdown()
            await running.value
            await media.stop()
            for stop in stops { await stop() }
        }
    }

    private func bell(in folder: URL) async throws -> URL {
        let url = folder.appendingPathComponent("bell.wav")
        let made = try await PeerPrograms.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-f", "lavfi", "-i", "sine=frequency=1000:sample_rate=44100:duration=1",
                "-ac",
                "2", "-af", "volume=12dB", url.path,
            ])
        try #require(made.succeeded, "\(made.errors)")
        return url
    }

    @Test(
        "R4 it is said in every room; what played goes on where it was, without a gap or a repeat, where nothing did none does"
    )
    func everyRoom() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let song = try await sound.file("song.flac", seconds: 8)
        let bell = try await bell(in: sound.folder)
        let rig = try await Rig(in: sound.folder)
        let playing = ["Kitchen", "Bath", "Lounge"]
        for room in playing { _ = try await rig.engine.play(PlayRequest(what: [song.path], rooms: [room])) }
        func heard(_ room: String) -> [Int: Double] {
            let samples = try? Recording.samples(wav: sound.folder.appendingPathComponent("\(room).wav"))
            return Recording.seconds(of: TwoTones.tones + [1000], in: samples ?? [])
        }
        #expect(await eventually { playing.allSatisfy { heard($0)[440] ?? 0 > 0.8 } })
        let report = try await rig.engine.announce(
            AnnounceRequest(what: bell.path, rooms: ["@all"], volume: VolumePosition(0.7)))
        #expect(report.rooms.map(\.room).sorted() == ["Bath", "Den", "Kitchen", "Lounge"])
        for room in report.rooms {
            #expect(room.said, "\(room)")
            #expect(room.restored == (room.room == "Den" ? .nothing : .resumed), "\(room)")
        }
        #expect(
            await eventually(within: .seconds(40)) {
                await rig.engine.sessions().allSatisfy { $0.connection == .ended && $0.stopReason == .finished }
            })
        #expect(await rig.engine.sessions().count == 3)
        await rig.end()
        for room in playing {
            let tones = heard(room)
            #expect(abs((tones[440] ?? 0) - 4) < 0.5, "\(room): \(tones)")
            #expect(abs((tones[660] ?? 0) - 4) < 0.5, "\(room): \(tones)")
            #expect(abs((tones[1000] ?? 0) - 1) < 0.3, "\(room): \(tones)")
        }
        let den = heard("Den")
        #expect(abs((den[1000] ?? 0) - 1) < 0.3, "\(den)")
        #expect(den[440] == nil && den[660] == nil)
    }
}
