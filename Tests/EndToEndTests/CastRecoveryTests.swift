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

/// What breaks in the middle of a queue on a Cast receiver, over real sockets; judged by what the receiver did.
@Suite("C4 C5 C6 recovery of a Cast session", .serialized, .timeLimit(.minutes(5)))
struct CastRecoveryTests {
    private static func receiver() throws -> SimulatedCastReceiver {
        var configuration = SimulatedCastConfiguration(name: "Lounge", port: 0, httpPort: nil)
        configuration.recordingFolder = nil
        return try SimulatedCastReceiver(configuration)
    }

    private static func album(_ sound: TwoTones, seconds: Int = 30) async throws -> [String] {
        var paths: [String] = []
        for name in ["a", "b", "c"] {
            paths.append(try await sound.file("\(name).flac", seconds: seconds, title: name.uppercased()).path)
        }
        return paths
    }

    /// The last state of the session that a process has printed.
    private static func session(_ process: RouterProcess) -> SessionSnapshot? {
        for line in process.output.split(separator: "\n").reversed() {
            guard let event = try? JSONDecoder().decode(RouterEvent.self, from: Data(line.utf8)) else { continue }
            if case .session(let snapshot) = event.body { return snapshot }
        }
        return nil
    }

    /// How far the session's own idea of the position is from the receiver's, in seconds.
    private static func error(_ snapshot: SessionSnapshot?, _ receiver: SimulatedCastReceiver) async -> Double {
        let position = await receiver.record().position
        guard let anchor = snapshot?.anchor else { return .infinity }
        return abs(anchor.position(at: SystemHostClock().now()).seconds - position)
    }

    private static func ids(_ snapshot: SessionSnapshot?) -> [ItemID] { snapshot?.queue.items.map(\.id) ?? [] }

    /// Plays an album, lets `disturb` happen in the middle of its first item, and sees it go on.
    private func recovers(
        loads: Int, _ disturb: @escaping (SimulatedCastReceiver) async throws -> Void
    ) async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let receiver = try Self.receiver()
        let port = try await receiver.start().port
        let process = try RouterProcess(
            try await ["play"] + Self.album(sound) + [
                "--device", "cast://127.0.0.1:\(port)?name=Lounge", "-o", "ndjson",
            ],
            configuration: "version: 1\nmedia:\n  port: 0\n")
        #expect(await eventually { await receiver.record().position > 2 })
        let before = Self.session(process)
        #expect(Self.ids(before).count == 3)
        try await disturb(receiver)
        #expect(await eventually { Self.session(process)?.connection == .suspended })
        #expect(await eventually(within: .seconds(60)) { Self.session(process)?.connection == .connected })
        #expect(await eventually { await receiver.record().playerState == "PLAYING" })
        #expect(await eventually { await Self.error(Self.session(process), receiver) < 1 })
        let after = Self.session(process)
        #expect(after?.id == before?.id)
        #expect(Self.ids(after) == Self.ids(before))
        #expect(after?.queue.current == before?.queue.current)
        #expect(await receiver.record().loads.count == loads)
        #expect((await receiver.record().position) > 2)
        process.interrupt()
        #expect(await process.outcome(within: .seconds(20)).status == 130)
        await receiver.stop()
    }

    @Test("a cut connection: joined again, nothing loaded anew")
    func cut() async throws { try await recovers(loads: 1) { $0.control(.dropConnections) } }

    @Test("the receiver killed and started again: launched and loaded where it would be by now")
    func receiverKilled() async throws {
        try await recovers(loads: 2) { $0.control(.restart(keepsSessions: false, downFor: .seconds(2))) }
    }

    @Test("kill -9 of the sender: the next process joins the same session, and the receiver never stopped")
    func senderKilled() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let receiver = try Self.receiver()
        let port = try await receiver.start().port
        let state = ["XDG_STATE_HOME": sound.folder.appendingPathComponent("state").path]
        let configuration = "version: 1\nmedia:\n  port: \(Int.random(in: 20_000...29_000))\n"
        let first = try RouterProcess(
            try await ["play"] + Self.album(sound) + [
                "--device", "cast://127.0.0.1:\(port)?name=Lounge", "-o", "ndjson",
            ],
            environment: state, configuration: configuration)
        #expect(await eventually { await receiver.record().position > 3 })
        let before = try #require(Self.session(first))
        kill(first.processIdentifier, SIGKILL)
        _ = await first.outcome()
        let list = try await RouterProcess.run(
            ["session", "list", "-o", "json"], environment: state, configuration: configuration)
        #expect(list.output.contains(before.id.rawValue), "\(list.output)\(list.errors)")
        #expect(await receiver.record().playerState == "PLAYING")

        // No device is named: the record has it.
        let second = try RouterProcess(["play", "-o", "ndjson"], environment: state, configuration: configuration)
        #expect(
            await eventually { Self.session(second)?.connection == .connected && Self.session(second)?.anchor != nil },
            "\(second.errors)")
        let after = try #require(Self.session(second))
        #expect(after.id == before.id)
        #expect(Self.ids(after) == Self.ids(before))
        #expect(after.queue.current == before.queue.current)
        #expect(await eventually { await Self.error(Self.session(second), receiver) < 1 })
        let record = await receiver.record()
        #expect(record.loads.count == 1)
        #expect(record.playerState == "PLAYING" && record.position > 3)
        // And the rest of the queue is its to fill and to end.
        second.interrupt()
        #expect(await second.outcome(within: .seconds(20)).status == 130)
        #expect(await eventually { await receiver.record().playerState != "PLAYING" })
        let rest = try await RouterProcess.run(["session", "list", "-q"], environment: state)
        #expect(rest.output.isEmpty, "\(rest.output)")
        await receiver.stop()
    }

    @Test("C6 a moved group leader and a changed address are found again by the group's id")
    func moved() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let paths = try await Self.album(sound)
        let receiver = try Self.receiver()
        _ = try await receiver.start()
        let discovery = InMemoryDiscovery()
        func announce() async {
            let place = await receiver.endpoint
            discovery.appear(
                ServiceRecord(
                    key: ServiceRecord.Key(type: "_googlecast._tcp", name: "Lounge-0123"), hostName: "lounge.local",
                    addresses: [place.host == "0.0.0.0" ? "127.0.0.1" : place.host], port: place.port,
                    txt: [
                        "id": "0123456789abcdef0123456789abcdef", "fn": "Lounge", "md": "Google Cast Group",
                        "ca": "2084",
                    ], interface: nil))
        }
        await announce()
        let clock = SystemHostClock()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let media = MediaLibrary(configuration: MediaConfiguration(serverPort: 0), clock: clock, logger: logger)
        let engine = RouterEngine(
            providers: [CastProvider(clock: clock, logger: logger)], browsing: discovery, media: media,
            store: InMemoryStore(), clock: clock, configuration: EngineConfiguration())
        let running = Task { await engine.run() }
        let before = try await engine.play(PlayRequest(what: paths, rooms: ["Lounge"]))
        for (host, place) in [("127.0.0.1", "leader"), ("127.0.0.2", "address")] {
            #expect(await eventually { await receiver.record().position > 2 })
            receiver.control(.moveLeader(host: host, port: 0))
            #expect(
                await eventually { await engine.sessions().last?.connection == .suspended }, "the \(place) moved")
            await announce()
            #expect(
                await eventually(within: .seconds(30)) { await engine.sessions().last?.connection == .connected },
                "the \(place) moved")
            #expect(await eventually { await Self.error(engine.sessions().last, receiver) < 1 })
            let after = await engine.sessions().last
            #expect(after?.id == before.id)
            #expect(Self.ids(after) == Self.ids(before))
            #expect(await receiver.record().loads.count == 1)
        }
        await engine.shutdown()
        await running.value
        await media.stop()
        await receiver.stop()
    }

    @Test("C10 three items go by without a second load, and another sender's removal is taken over")
    func queue() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let paths = try await Self.album(sound, seconds: 4)
        let receiver = try Self.receiver()
        let port = try await receiver.start().port
        let process = try RouterProcess(
            ["play"] + paths + [paths[0], "--device", "cast://127.0.0.1:\(port)?name=Lounge", "-o", "ndjson"],
            configuration: "version: 1\nmedia:\n  port: 0\n")
        #expect(await eventually { await receiver.record().position > 1 })
        let before = Self.session(process)
        #expect(Self.ids(before).count == 4)
        // The item after the current one.
        receiver.control(.otherSender(.remove(at: 1)))
        #expect(await eventually { Self.ids(Self.session(process)).count == 3 })
        let result = await process.outcome(within: .seconds(60))
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("another sender"))
        #expect(await receiver.record().loads.count == 1)
        await receiver.stop()
    }
}
