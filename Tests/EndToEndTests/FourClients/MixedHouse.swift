import Foundation
import PeerSupport
import RouteModel
import RouterAPI
import RouterTestKit
import SimulatedReceivers
import Testing

/// Four rooms of three kinds with records of their own, a desktop's bus, and the home of one daemon: what all clients act
/// on. Kitchen is an AirPlay 1 speaker, Bath one of AirPlay 2, Lounge and Den are Cast devices.
final class MixedHouse: Sendable {
    static let rooms = ["Kitchen", "Bath", "Lounge", "Den"]
    static let titles = ["One", "Two", "Three", "Four", "Five"]
    /// Of each item. Its sound tells which item it is, and where in it it is.
    static let itemSeconds = 60

    let folder: URL
    /// Files, in the order of `titles`.
    let album: [String]
    let gong: String
    let speakers: [String: SimulatedSpeaker]
    let screens: [String: SimulatedCastReceiver]
    let bus: DesktopBus
    /// By the daemon's socket, as its owner.
    let owner: RouterClient
    /// By HTTP, as anybody on this machine.
    let web: RouterClient
    private let environment: [String: String]
    private let place: String

    init() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "house-\(UUID().uuidString.prefix(8))")
        self.folder = folder
        try FileManager.default.createDirectory(
            at: folder.appending(path: "config/router"), withIntermediateDirectories: true)
        (album, gong) = try await Self.music(in: folder)
        let kitchen = try await SimulatedSpeaker("Kitchen", .raop, in: folder)
        let bath = try await SimulatedSpeaker("Bath", .ntp, in: folder)
        speakers = ["Kitchen": kitchen, "Bath": bath]
        var screens: [String: SimulatedCastReceiver] = [:]
        var uris = [kitchen.uri, bath.uri]
        for (name, volume) in [("Lounge", 0.5), ("Den", 0.35)] {
            var configuration = SimulatedCastConfiguration(name: name, port: 0, httpPort: nil)
            configuration.recordingFolder = nil
            configuration.volume = volume
            let screen = try SimulatedCastReceiver(configuration)
            uris.append("cast://127.0.0.1:\(try await screen.start().port)?name=\(name)")
            screens[name] = screen
        }
        self.screens = screens
        bus = try DesktopBus()
        let up = await bus.isUp()
        try #require(up)
        // Fixed for all daemons of this house: what devices fetch must be there again after a restart.
        let port = Int.random(in: 20_000...29_000)
        place = "127.0.0.1:\(port + 1)"
        let lines = ["version: 1", "media:", "  port: \(port)", "devices:"] + uris.map { "  - \"\($0)\"" }
        try Data(lines.joined(separator: "\n").utf8).write(to: folder.appending(path: "config/router/config.yaml"))
        environment = [
            "XDG_CONFIG_HOME": folder.appending(path: "config").path,
            "XDG_STATE_HOME": folder.appending(path: "state").path,
            "XDG_CACHE_HOME": folder.appending(path: "cache").path,
            "XDG_RUNTIME_DIR": folder.appending(path: "run").path,
            "DBUS_SESSION_BUS_ADDRESS": bus.address,
        ]
        try FileManager.default.createDirectory(
            at: folder.appending(path: "run"), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        owner = RouterClient(RouterPlace.defaultSocket(environment: environment))
        web = RouterClient(try RouterPlace(place))
    }

    /// One tone through all items, so that any frame of it is of one item and one place in it; and something to announce.
    private static func music(in folder: URL) async throws -> (album: [String], gong: String) {
        let whole = folder.appending(path: "whole.wav").path
        try PositionTone.write(seconds: titles.count * itemSeconds, to: whole)
        var album: [String] = []
        for (index, title) in titles.enumerated() {
            let path = folder.appending(path: "\(title.lowercased()).flac").path
            try await ffmpeg([
                "-ss", "\(index * itemSeconds)", "-t", "\(itemSeconds)", "-i", whole, "-metadata", "title=\(title)",
                path,
            ])
            album.append(path)
        }
        try FileManager.default.removeItem(atPath: whole)
        let gong = folder.appending(path: "gong.wav").path
        try await ffmpeg(["-f", "lavfi", "-i", "sine=frequency=800:sample_rate=44100:duration=1", "-ac", "2", gong])
        return (album, gong)
    }

    private static func ffmpeg(_ arguments: [String]) async throws {
        let made = try await Command.run("ffmpeg", ["-y", "-v", "error", "-nostdin"] + arguments)
        guard made.status == 0 else { throw Command.Failed(message: "ffmpeg: \(made.errors)") }
    }

    // MARK: The daemon

    /// Returns once it answers.
    func startDaemon() async throws -> RouterProcess {
        let daemon = try RouterProcess(
            ["daemon", "run", "--listen", place, "--root", folder.path] + Self.logging, environment: environment)
        let answers = await eventually(within: .seconds(30)) {
            guard daemon.isRunning else { return true }
            let places = [owner, web]
            for place in places where (try? await place.status()) == nil { return false }
            return true
        }
        try #require(answers && daemon.isRunning, "the daemon does not answer: \(daemon.errors)")
        return daemon
    }

    /// `ROUTER_HOUSE_LOG` names a file for what the daemons log.
    private static let logging: [String] = {
        guard let file = ProcessInfo.processInfo.environment["ROUTER_HOUSE_LOG"] else { return [] }
        return ["-v", "--log-file", file]
    }()

    /// The `router` command, as in a terminal of this house.
    func router(_ arguments: [String]) async throws -> RouterProcess.Outcome {
        try await RouterProcess.run(arguments, environment: environment, workingDirectory: folder, within: .seconds(60))
    }

    /// What the files of its state are, for a look at them while no daemon has them.
    var state: URL { folder.appending(path: "state") }

    func end(_ daemon: RouterProcess?) async {
        if let daemon, daemon.isRunning {
            daemon.interrupt()
            _ = await daemon.outcome(within: .seconds(20))
        }
        for speaker in speakers.values { await speaker.stop() }
        for screen in screens.values { await screen.stop() }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Which item a tone is of, and where in it, in seconds.
    static func item(ofTone frame: Int64) -> (title: String, seconds: Double)? {
        let perItem = Int64(itemSeconds * PositionTone.sampleRate)
        guard frame >= 0, frame / perItem < titles.count else { return nil }
        return (titles[Int(frame / perItem)], Double(frame % perItem) / Double(PositionTone.sampleRate))
    }
}

/// Numbers from a seed, the same on every machine.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// `ROUTER_SEED`, or another one each time.
    static let seed: UInt64 =
        ProcessInfo.processInfo.environment["ROUTER_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...999_999)
}
