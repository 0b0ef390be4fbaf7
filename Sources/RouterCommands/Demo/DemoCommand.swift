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
            Starts an AirPlay and a Google Cast receiver in this process, plays a small album of two tones to both over \
            the real protocols, and then listens to what each of them recorded. Needs ffmpeg and no network.

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
            try FileManager.default.createDirectory(at: heard, withIntermediateDirectories: true)

            var plan = SimulatedHouse.Plan()
            plan.announces = mdns
            plan.raop = [
                SimulatedRAOPConfiguration(name: "Kitchen", host: host, port: 0, recordingFolder: heard)
            ]
            var tv = SimulatedCastConfiguration(name: "Living Room", host: host, port: 0, httpPort: 0)
            tv.recordingFolder = heard
            plan.cast = [tv]
            let house = SimulatedHouse(plan, logger: options.logger())
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

    private func play(_ album: URL, to receivers: [SimulatedHouse.Receiver]) async throws -> Int32 {
        let console = options.console
        console.out("A simulated house:")
        for receiver in receivers { console.out("  \(receiver.name): \(receiver.family.displayName)") }
        var setup = try options.setup(discovers: mdns)
        setup.configuration = RouterConfiguration()
        setup.configuration.mediaPort = 0
        setup.storePath = nil
        setup.deviceURIs = mdns ? [] : receivers.map(\.uri)
        console.out("router play '\(album.lastPathComponent)' --room Kitchen --room 'Living Room'")
        let request = PlayRequest(what: [album.path], rooms: receivers.map(\.name))
        return try await InProcessRouter.run(setup) { control in
            try await PlaySession(options: options, detach: false, control: control).run(request)
        }
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
        for receiver in receivers {
            guard let recording = receiver.recording else { continue }
            let check = try ToneCheck(wav: recording, tones: Self.tones)
            let story = Self.tones.map { tone in
                String(format: "%d Hz for %.1f s", tone, check.seconds[tone] ?? 0)
            }
            let whole = Self.tones.allSatisfy { (check.seconds[$0] ?? 0) >= Self.trackSeconds - 0.3 }
            complete = complete && whole
            let mark = whole ? console.styled("✓", .green) : console.styled("✗", .red)
            console.out("  \(mark) \(receiver.name) heard \(story.joined(separator: ", then "))")
        }
        console.out(complete ? "Sound really came out, in both rooms." : "Something is missing.")
        return complete
    }
}
