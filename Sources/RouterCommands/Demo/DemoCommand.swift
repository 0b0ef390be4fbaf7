import ArgumentParser
import Foundation
import RouteModel
import RouterDaemon
import SimulatedReceivers

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Play to a simulated house and prove that sound came out.",
        discussion: """
            Starts a house of four rooms in this process, two with AirPlay, one with Google Cast and one whose device \
            speaks both; plays a small album of two tones to all of them over the real protocols, and then listens to what \
            each of them recorded. Needs ffmpeg and no network.

              router demo
              router demo --mdns
            """)

    @OptionGroup var options: GlobalOptions

    @Flag(name: .long, help: "Announce the house by mDNS, and find it by mDNS, as real receivers are.")
    var mdns = false

    @Option(name: .long, help: "The address the house listens on.")
    var host = "127.0.0.1"

    private static let tones = [440, 660]
    private static let trackSeconds = 4.0

    func run() async throws {
        try await reporting(options) {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("router-demo-\(UUID().uuidString)", isDirectory: true)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let album = folder.appendingPathComponent("Two Tones", isDirectory: true)
            try makeAlbum(in: album)
            let heard = folder.appendingPathComponent("heard", isDirectory: true)
            let house = SimulatedHouse(try plan(recording: heard), logger: options.logger())
            try await house.start()
            let receivers = await house.receivers
            let played: Result<Int32, any Error>
            do {
                played = .success(try await play(album, to: receivers))
            } catch {
                played = .failure(error)
            }
            await house.stop()
            let status = try played.get()
            guard status == 0 else { return status }
            return try listen(receivers) ? 0 : 1
        }
    }

    /// Two AirPlay rooms, a Cast room, and one whose device speaks both.
    private func plan(recording heard: URL) throws -> SimulatedHouse.Plan {
        // One folder for each kind: the device that is both would write one file twice.
        let folders = try ["airplay", "cast"].map { name in
            let folder = heard.appendingPathComponent(name, isDirectory: true)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            return folder
        }
        var plan = SimulatedHouse.Plan()
        plan.announces = mdns
        plan.raop = ["Kitchen", "Study", "Bedroom"].map {
            SimulatedRAOPConfiguration(name: $0, host: host, port: 0, recordingFolder: folders[0])
        }
        plan.cast = ["Living Room", "Bedroom"].map {
            var configuration = SimulatedCastConfiguration(name: $0, host: host, port: 0, httpPort: 0)
            configuration.recordingFolder = folders[1]
            return configuration
        }
        return plan
    }

    private func play(_ album: URL, to receivers: [SimulatedHouse.Receiver]) async throws -> Int32 {
        let console = options.console
        let rooms = rooms(of: receivers)
        console.out("A simulated house:")
        for room in rooms {
            let kinds = receivers.filter { $0.name == room }.map(\.family.displayName)
            console.out("  \(room): \(kinds.joined(separator: " and "))")
        }
        var setup = try options.setup(discovers: mdns)
        setup.configuration = RouterConfiguration()
        setup.configuration.mediaPort = 0
        setup.storePath = nil
        setup.deviceURIs = mdns ? [] : receivers.map(\.uri)
        console.out("router play '\(album.lastPathComponent)' \(rooms.map { "-r '\($0)'" }.joined(separator: " "))")
        let request = PlayRequest(what: [album.path], rooms: rooms)
        return try await InProcessRouter.run(setup) { control in
            try await PlaySession(options: options, detach: false, control: control).run(request)
        }
    }

    private func rooms(of receivers: [SimulatedHouse.Receiver]) -> [String] {
        Set(receivers.map(\.name)).sorted()
    }

    /// Two FLAC files of one tone each, with tags and a cover.
    private func makeAlbum(in folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (index, tone) in Self.tones.enumerated() {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [
                "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                "sine=frequency=\(tone):sample_rate=44100:duration=\(Self.trackSeconds),volume=8dB", "-ac", "2",
                "-metadata", "title=\(tone) hertz", "-metadata", "artist=The Oscillators", "-metadata",
                "album=Two Tones", "-metadata", "track=\(index + 1)",
                folder.appendingPathComponent("\(index + 1) \(tone) hertz.flac").path,
            ]
            do {
                try process.run()
            } catch {
                throw missingFFmpeg
            }
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw missingFFmpeg }
        }
    }

    private var missingFFmpeg: RouterError {
        RouterError(
            .dependencyMissing, "ffmpeg is needed to make the demo's sound, and did not run",
            hint: "Install it: apt-get install ffmpeg")
    }

    /// Listens to each recording; true when every room heard every tone for nearly all of its length.
    private func listen(_ receivers: [SimulatedHouse.Receiver]) throws -> Bool {
        let console = options.console
        var complete = true
        console.out("What the receivers recorded:")
        for room in rooms(of: receivers) {
            // Of a device that is both, what played is what was chosen.
            let checks = try receivers.filter { $0.name == room }.compactMap(\.recording)
                .filter { FileManager.default.fileExists(atPath: $0) }
                .map { try ToneCheck(wav: URL(fileURLWithPath: $0), tones: Self.tones) }
            let check = checks.max { $0.seconds.values.reduce(0, +) < $1.seconds.values.reduce(0, +) }
            let story = Self.tones.map { tone in
                String(format: "%d Hz for %.1f s", tone, check?.seconds[tone] ?? 0)
            }
            let whole = Self.tones.allSatisfy { (check?.seconds[$0] ?? 0) >= Self.trackSeconds - 0.3 }
            complete = complete && whole
            let mark = whole ? console.styled("✓", .green) : console.styled("✗", .red)
            console.out("  \(mark) \(room) heard \(story.joined(separator: ", then "))")
        }
        console.out(complete ? "Sound really came out, in every room." : "Something is missing.")
        return complete
    }
}
