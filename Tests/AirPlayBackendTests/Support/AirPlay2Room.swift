import AirPlay
import AirPlayBackend
import Foundation
import Pacing
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Synchronization

/// A simulated AirPlay 2 receiver with a recording, and a sender of its own beside it.
struct AirPlay2Room {
    let receiver: SimulatedAirPlay2Receiver
    let provider: AirPlayProvider
    let endpoint: Endpoint
    let folder: URL
    /// What was told on the way, and learnt.
    let story = Story()

    final class Story: Sendable {
        private let kept = LatestValue<(phases: [String], facts: [String: String])>(([], [:]))
        var phases: [String] { kept.value.phases }
        var facts: [String: String] { kept.value.facts }
        func tell(_ phase: String) { kept.update { $0.phases.append(phase) } }
        func learn(_ fact: String, _ value: String) { kept.update { $0.facts[fact] = value } }
    }

    /// - Parameters:
    ///   - query: of the URI: what a person wishes.
    ///   - senderPorts: of our clock, where they are not to be the receiver's.
    init(
        query: String = "", senderPorts: PTPPorts? = nil,
        _ change: (inout SimulatedAirPlay2Configuration) -> Void = { _ in }
    ) async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "airplay2-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var configuration = SimulatedAirPlay2Configuration(name: "Room", port: 0, recordingFolder: folder)
        // Above 1023, so that nobody needs to be privileged; each room has its own.
        let event = UInt16.random(in: 10_000...15_000) * 2
        configuration.ptpPorts = PTPPorts(event: event, general: event + 1)
        change(&configuration)
        receiver = SimulatedAirPlay2Receiver(configuration)
        let port = try await receiver.start()
        provider = AirPlayProvider(
            clock: SystemHostClock(), pacer: try Pacer(), clockPorts: senderPorts ?? configuration.ptpPorts)
        let record = await receiver.airPlayRecord
        let told = ["features", "flags", "deviceid"].compactMap { key in record[key].map { "\(key)=\($0)" } }
        endpoint = try provider.endpoint(
            from: DeviceURI("airplay://127.0.0.1:\(port)?name=Room&\(told.joined(separator: "&"))\(query)"))
    }

    func options(
        password: String? = nil, credentials: DeviceCredentials? = nil, learnt: [String: String] = [:]
    ) -> OpenOptions {
        OpenOptions(
            phase: { [story] in story.tell($0) }, password: password.map(Secret.init), learnt: learnt,
            learn: { [story] in story.learn($0, $1) }, senderName: "Test", credentials: credentials,
            identity: Self.identity)
    }

    static let identity = InstallationIdentity(
        identifier: "6F1E5E0A-52B8-4D4A-8E6C-0A1B2C3D4E5F", seed: (0..<32).map { UInt8($0) })

    func open(
        password: String? = nil, credentials: DeviceCredentials? = nil, learnt: [String: String] = [:]
    ) async throws -> any RouteSession {
        try await provider.open(
            endpoint, options: options(password: password, credentials: credentials, learnt: learnt))
    }

    /// Plays a feed of `SignalFeed`, the first frame this many milliseconds from now: as far ahead as the URI's latency.
    func play(_ feed: SignalFeed, on session: any RouteSession, after milliseconds: Int64 = 2050) async throws {
        try await HeardSignal.play(feed, on: session, after: milliseconds)
    }

    /// How many frames of the signal were heard exactly, from its first one on.
    func exactFrames(_ frames: Int64, from first: Int64 = 0) -> Int {
        HeardSignal(folder.appending(path: "Room.wav")).exactFrames(frames, from: first)
    }

    func stop() async {
        await receiver.stop()
        try? FileManager.default.removeItem(at: folder)
    }
}
