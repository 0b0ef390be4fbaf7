import AirPlay
import AirPlayBackend
import Foundation
import Logging
import Media
import Pacing
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers

@testable import RouterCore

/// A real engine with one room, “Kitchen”: a simulated AirPlay 2 receiver with a recording, and what finds our remote
/// control for it.
struct AirPlay2House {
    let receiver: SimulatedAirPlay2Receiver
    let engine: RouterEngine
    let folder: URL
    private let media: MediaLibrary
    private let running: [Task<Void, Never>]
    private let told = LatestValue<[RouterEvent]>([])

    /// What was announced is found at once.
    private struct Announcing: ServicePublishing {
        let discovery: InMemoryDiscovery

        struct Handle: PublishedHandle {
            func withdraw() async {}
        }

        func publish(_ service: PublishedService) async throws -> any PublishedHandle {
            discovery.appear(
                ServiceRecord(
                    key: .init(type: service.type, name: service.name), hostName: "localhost",
                    addresses: ["127.0.0.1"], port: service.port, txt: service.txt))
            return Handle()
        }
    }

    /// - Parameters:
    ///   - query: of the URI: what a person wishes.
    ///   - limit: of the room's volume.
    init(
        query: String = "", limit: VolumePosition? = nil,
        _ change: (inout SimulatedAirPlay2Configuration) -> Void = { _ in }
    ) async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "house-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var configuration = SimulatedAirPlay2Configuration(name: "Kitchen", port: 0, recordingFolder: folder)
        // Above 1023, so that nobody needs to be privileged.
        let event = UInt16.random(in: 10_000...15_000) * 2
        configuration.ptpPorts = PTPPorts(event: event, general: event + 1)
        change(&configuration)
        let discovery = InMemoryDiscovery()
        receiver = SimulatedAirPlay2Receiver(configuration, browser: discovery)
        let port = try await receiver.start()
        let clock = SystemHostClock()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        media = MediaLibrary(configuration: MediaConfiguration(serverPort: 0), clock: clock, logger: logger)
        let remotes = AirPlayRemoteControl(
            publishing: Announcing(discovery: discovery), clock: clock, hosts: ["127.0.0.1"])
        let provider = AirPlayProvider(
            clock: clock, pacer: try Pacer(), clockPorts: configuration.ptpPorts, remotes: remotes, logger: logger)
        let record = await receiver.airPlayRecord
        let facts = ["features", "flags", "deviceid", "model", "osvers"].compactMap { key in
            record[key].map { "\(key)=\($0)" }
        }
        let endpoint = try provider.endpoint(
            from: DeviceURI("airplay://127.0.0.1:\(port)?name=Kitchen&\(facts.joined(separator: "&"))\(query)"))
        let rooms = limit.map { [Room(name: "Kitchen", devices: ["Kitchen"], volumeLimit: $0)] } ?? []
        let engine = RouterEngine(
            providers: [provider], browsing: nil, media: media, store: InMemoryStore(), clock: clock,
            configuration: EngineConfiguration(rooms: rooms, stated: [endpoint]))
        self.engine = engine
        let events = await engine.events()
        running = [
            Task { await engine.run() }, Task { await remotes.run() },
            Task { [told] in for await event in events { told.update { $0.append(event) } } },
        ]
    }

    func play(_ files: [URL]) async throws {
        _ = try await engine.play(PlayRequest(what: files.map(\.path), rooms: ["Kitchen"]))
    }

    @discardableResult
    func perform(_ command: RemoteCommand) async throws -> CommandOutcome {
        try await engine.perform(command, session: nil, origin: .cli).outcome
    }

    /// The session as it is, or was last.
    var session: SessionSnapshot? {
        get async { await engine.sessions().last }
    }

    /// The room's volume as people see it.
    var volume: VolumeState? {
        get async { await session?.members.first?.volume }
    }

    /// What devices asked for, in order.
    var deviceCommands: [CommandReport] {
        told.value.compactMap { if case .command(let report) = $0.body { report } else { nil } }
            .filter { if case .device = $0.origin { true } else { false } }
    }

    var record: SimulatedAirPlay2Record {
        get async { await receiver.record() }
    }

    /// The newest recording; whole once `stop` was called.
    var recording: URL { folder.appending(path: "Kitchen.wav") }

    /// Ends all of it; the folder stays.
    func stop() async {
        await engine.shutdown()
        for task in running.dropFirst() { task.cancel() }
        for task in running { await task.value }
        await media.stop()
        await receiver.stop()
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}
