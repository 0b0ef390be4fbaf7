import AirPlayBackend
import Foundation
import Pacing
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers

/// A simulated AirPlay 1 speaker with a recording, and a sender of its own beside it.
struct RAOPRoom {
    let receiver: SimulatedRAOPReceiver
    let provider: AirPlayProvider
    let endpoint: Endpoint
    let port: Int
    let folder: URL
    let story = AirPlay2Room.Story()

    /// - Parameter query: of the URI: what a person wishes.
    init(query: String = "", _ change: (inout SimulatedRAOPConfiguration) -> Void = { _ in }) async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "raop-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var configuration = SimulatedRAOPConfiguration(name: "Room", port: 0, recordingFolder: folder)
        change(&configuration)
        receiver = SimulatedRAOPReceiver(configuration)
        port = try await receiver.start()
        provider = AirPlayProvider(clock: SystemHostClock(), pacer: try Pacer())
        let record = receiver.txtRecord
        let told = ["cn", "et", "md", "sf", "pw"].compactMap { key in record[key].map { "\(key)=\($0)" } }
        endpoint = try provider.endpoint(
            from: DeviceURI("raop://127.0.0.1:\(port)?name=Room&\(told.joined(separator: "&"))\(query)"))
    }

    func options(
        password: String? = nil, credentials: DeviceCredentials? = nil, learnt: [String: String] = [:]
    ) -> OpenOptions {
        OpenOptions(
            phase: { [story] in story.tell($0) }, password: password.map(Secret.init), learnt: learnt,
            learn: { [story] in story.learn($0, $1) }, senderName: "Test", credentials: credentials,
            identity: AirPlay2Room.identity)
    }

    func open(password: String? = nil, credentials: DeviceCredentials? = nil) async throws -> any RouteSession {
        try await provider.open(endpoint, options: options(password: password, credentials: credentials))
    }

    func exactFrames(_ frames: Int64) -> Int {
        HeardSignal(folder.appending(path: "Room.wav")).exactFrames(frames)
    }

    func stop() async {
        await receiver.stop()
        try? FileManager.default.removeItem(at: folder)
    }
}
