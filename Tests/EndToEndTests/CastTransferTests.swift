import CastBackend
import Foundation
import Logging
import Media
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

@testable import RouterCore

/// What plays on one Cast receiver goes on on another, over real sockets: moved by us and by somebody else; judged by
/// what the receivers did.
@Suite("C6 stream transfer between Cast receivers", .serialized, .timeLimit(.minutes(5)))
struct CastTransferTests {
    /// Two receivers that the engine is told of by records, and an album of three.
    private struct House: Sendable {
        let lounge: SimulatedCastReceiver
        let den: SimulatedCastReceiver
        let discovery = InMemoryDiscovery()
        let engine: RouterEngine
        let media: MediaLibrary

        init(stores: Bool, denRefuses: Int?) throws {
            func receiver(_ name: String) throws -> SimulatedCastReceiver {
                var configuration = SimulatedCastConfiguration(name: name, port: 0, httpPort: nil)
                configuration.recordingFolder = nil
                configuration.storesSessions = stores
                if name == "Den" { configuration.faults.loadFails = denRefuses }
                return try SimulatedCastReceiver(configuration)
            }
            lounge = try receiver("Lounge")
            den = try receiver("Den")
            let clock = SystemHostClock()
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            media = MediaLibrary(configuration: MediaConfiguration(serverPort: 0), clock: clock, logger: logger)
            engine = RouterEngine(
                providers: [CastProvider(clock: clock, logger: logger)], browsing: discovery, media: media,
                store: InMemoryStore(), clock: clock, configuration: EngineConfiguration())
        }

        func announce(_ name: String, busyWith: String? = nil) async {
            let receiver = name == "Lounge" ? lounge : den
            discovery.appear(
                ServiceRecord(
                    key: ServiceRecord.Key(type: "_googlecast._tcp", name: name), hostName: "\(name).local",
                    addresses: ["127.0.0.1"], port: await receiver.endpoint.port,
                    txt: [
                        "id": name == "Lounge"
                            ? "0123456789abcdef0123456789abcdef" : "fedcba9876543210fedcba9876543210",
                        "fn": name, "ca": "4", "st": busyWith == nil ? "0" : "1", "rs": busyWith ?? "",
                    ], interface: nil))
        }

        func control(_ receiver: SimulatedCastReceiver) async throws -> CastControl {
            let port = await receiver.endpoint.port
            return try await CastControl.connect(
                try CastProvider().endpoint(from: DeviceURI("cast://127.0.0.1:\(port)")))
        }
    }

    private func withHouse(
        stores: Bool = true, denRefuses: Int? = nil, _ body: @Sendable (House, SessionSnapshot) async throws -> Void
    ) async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        var paths: [String] = []
        for name in ["a", "b", "c"] {
            paths.append(try await sound.file("\(name).flac", seconds: 30, title: name.uppercased()).path)
        }
        let house = try House(stores: stores, denRefuses: denRefuses)
        _ = try await house.lounge.start()
        _ = try await house.den.start()
        await house.announce("Lounge")
        await house.announce("Den")
        let running = Task { await house.engine.run() }
        do {
            let session = try await house.engine.play(PlayRequest(what: paths, rooms: ["Lounge"]))
            #expect(await eventually { await house.lounge.record().position > 2 })
            try await body(house, session)
        } catch {
            Issue.record(error)
        }
        await house.engine.shutdown()
        await running.value
        await house.media.stop()
        await house.lounge.stop()
        await house.den.stop()
    }

    @Test("moved by us: by the app's own means where it has them, else by a load", arguments: [true, false])
    func moved(stores: Bool) async throws {
        try await withHouse(stores: stores) { house, before in
            let result = try await house.engine.transfer(session: before.id, to: ["Den"])
            #expect(result.method == (stores ? .session : .load))
            #expect(result.position.seconds > 2)
            let den = await house.den.record()
            #expect(den.playerState == "PLAYING")
            #expect(den.position >= result.position.seconds && den.position < result.position.seconds + 4)
            #expect(await eventually { await house.lounge.record().playerState != "PLAYING" })
            let now = try #require(await house.engine.sessions().last)
            #expect(now.id == before.id && now.members.map(\.name) == ["Den"])
            #expect(now.queue.items.map(\.id) == before.queue.items.map(\.id))
            // It is ours still: its queue, its commands, its end.
            _ = try await house.engine.perform(.next, session: before.id, origin: .cli)
            #expect(await eventually { await house.engine.sessions().last?.queue.current == before.queue.items[1].id })
            try await house.engine.end(session: before.id, reason: .stop)
            #expect(await eventually { await house.den.record().playerState != "PLAYING" })
        }
    }

    @Test("moved while paused: it stays paused there, and goes on from the same place when asked")
    func paused() async throws {
        try await withHouse { house, before in
            _ = try await house.engine.perform(.pause, session: before.id, origin: .cli)
            let result = try await house.engine.transfer(session: before.id, to: ["Den"])
            #expect(await house.den.record().playerState == "PAUSED")
            #expect(await house.engine.sessions().last?.media == .paused)
            _ = try await house.engine.perform(.play, session: before.id, origin: .cli)
            #expect(await eventually { await house.den.record().position > result.position.seconds + 0.5 })
        }
    }

    @Test("a target that cannot play it: it plays on where it was")
    func refused() async throws {
        try await withHouse(denRefuses: 104) { house, before in
            await #expect(throws: RouterError.self) {
                _ = try await house.engine.transfer(session: before.id, to: ["Den"])
            }
            let position = await house.lounge.record().position
            #expect(await eventually { await house.lounge.record().position > position + 1 })
            #expect(await house.lounge.record().playerState == "PLAYING")
            #expect(await house.engine.sessions().last?.members.map(\.name) == ["Lounge"])
            #expect(await house.lounge.record().loads.count == 1)
        }
    }

    @Test("moved by another sender: the session follows it, with its queue", arguments: [true, false])
    func followed(stores: Bool) async throws {
        try await withHouse(stores: stores) { house, before in
            let (source, target) = (try await house.control(house.lounge), try await house.control(house.den))
            _ = try await source.transfer(to: target)
            await source.end()
            await target.end()
            await house.announce("Den", busyWith: "Default Media Receiver")
            #expect(
                await eventually(within: .seconds(20)) {
                    let now = await house.engine.sessions().last
                    return now?.members.map(\.name) == ["Den"] && now?.connection == .connected
                })
            let now = try #require(await house.engine.sessions().last)
            #expect(now.id == before.id && now.media == .playing)
            #expect(now.queue.items.map(\.id) == before.queue.items.map(\.id))
            #expect(await house.den.record().playerState == "PLAYING")
            #expect(await house.den.record().loads.count == 1)
            let position = await house.den.record().position
            let told = await house.engine.sessions().last?.position?.seconds ?? 0
            #expect(abs(told - position) < 1)
            _ = try await house.engine.perform(.pause, session: before.id, origin: .cli)
            #expect(await eventually { await house.den.record().playerState == "PAUSED" })
        }
    }

    @Test("stopped by another sender and played nowhere: the session ends, and nobody else is disturbed")
    func stopped() async throws {
        try await withHouse { house, before in
            let source = try await house.control(house.lounge)
            try await source.stop()
            await source.end()
            #expect(await eventually(within: .seconds(20)) { await house.engine.sessions().last?.connection == .ended })
            #expect(await house.engine.sessions().last?.members.map(\.name) == ["Lounge"])
            #expect(await house.den.record().events("launch").isEmpty)
        }
    }

    @Test("router session move: what a killed process played goes on in another room, told as JSON")
    func command() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let song = try await sound.file("a.flac", seconds: 30, title: "A").path
        let house = try House(stores: false, denRefuses: nil)
        let places = try await (house.lounge.start().port, house.den.start().port)
        let state = ["XDG_STATE_HOME": sound.folder.appendingPathComponent("state").path]
        let configuration = "version: 1\nmedia:\n  port: \(Int.random(in: 20_000...29_000))\n"
        let first = try RouterProcess(
            ["play", song, "--device", "cast://127.0.0.1:\(places.0)?name=Lounge", "-o", "ndjson"], environment: state,
            configuration: configuration)
        #expect(await eventually { await house.lounge.record().position > 2 })
        // Half a second after a change it is written.
        #expect(await eventually { await house.lounge.record().position > 3 })
        kill(first.processIdentifier, SIGKILL)
        _ = await first.outcome()
        let second = try RouterProcess(
            ["session", "move", "--device", "cast://127.0.0.1:\(places.1)?name=Den", "--to", "Den", "-o", "json"],
            environment: state, configuration: configuration)
        #expect(await eventually { await house.den.record().playerState == "PLAYING" }, "\(second.errors)")
        #expect((await house.den.record().position) > 3)
        #expect(await eventually { await house.lounge.record().playerState != "PLAYING" })
        // It serves the file until the end.
        let outcome = await second.outcome(within: .seconds(60))
        #expect(outcome.status == 0, "\(outcome.errors)")
        let result = try JSONDecoder().decode(TransferResult.self, from: Data(outcome.output.utf8))
        #expect(result.from == ["Lounge"] && result.to == ["Den"])
        #expect(result.method == .load && result.title == "A" && result.position.seconds > 3)
        #expect(result.session.stopReason == .finished)
        await house.media.stop()
        await house.lounge.stop()
        await house.den.stop()
    }
}
