import Foundation
import RouteModel

/// Two FLAC files of one tone each, with tags, made when they are needed.
struct DemoAlbum: Sendable {
    /// Hertz, one for each track.
    static let tones = [440, 660]
    static let trackSeconds = 3.0

    let folder: URL

    /// Throws `dependencyMissing` without ffmpeg.
    func make() throws {
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
}
