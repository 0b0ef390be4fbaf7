import Foundation

/// Sound made for a test: one tone, then another, with tags and a picture, in any format that ffmpeg writes.
public struct TwoTones: Sendable {
    public let folder: URL
    public static let tones = [440, 660]

    /// A folder for the files, removed by `remove`.
    public init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("two-tones-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    public func remove() { try? FileManager.default.removeItem(at: folder) }

    /// Makes a file of `seconds`, half of it each tone, each channel a little different. 44.1 kHz, stereo.
    ///
    /// A slow tremolo makes every part of it unlike every other, so that a recording can be laid on it in one way only.
    public func file(_ name: String, seconds: Int = 12, title: String = "Zwei Töne") async throws -> URL {
        let picture = folder.appendingPathComponent("cover.jpg")
        if !FileManager.default.fileExists(atPath: picture.path) {
            try await ffmpeg(["-f", "lavfi", "-i", "color=c=red:s=64x64", "-frames:v", "1", picture.path])
        }
        let url = folder.appendingPathComponent(name)
        let half = Double(seconds) / 2
        let wave = { (tone: Int, phase: Double) in
            "0.4*sin(2*PI*\(tone)*t+\(phase))*(0.6+0.4*sin(2*PI*t/\(seconds * 4)))"
        }
        func expression(_ phase: Double) -> String {
            "if(lt(t\\,\(half))\\,\(wave(Self.tones[0], phase))\\,\(wave(Self.tones[1], phase)))"
        }
        var arguments = [
            "-f", "lavfi", "-i", "aevalsrc=\(expression(0.3))|\(expression(1.1)):s=44100:d=\(seconds)",
        ]
        let pictured = ["flac", "mp3", "m4a"].contains(url.pathExtension)
        if pictured {
            arguments += ["-i", picture.path, "-map", "0:a", "-map", "1:v", "-c:v", "copy"]
            arguments += ["-disposition:v", "attached_pic"]
        }
        arguments += ["-metadata", "title=\(title)", "-metadata", "artist=The Oscillators"]
        arguments += ["-metadata", "album=Tones and Tones"]
        if url.pathExtension == "flac" { arguments += ["-sample_fmt", "s16"] }
        if url.pathExtension == "ogg" { arguments += ["-c:a", "libvorbis"] }
        try await ffmpeg(arguments + [url.path])
        return url
    }

    /// Cuts a file in two at a sample, without loss.
    public func cut(_ url: URL, at frame: Int) async throws -> (URL, URL) {
        let first = folder.appendingPathComponent("part 1.flac")
        let second = folder.appendingPathComponent("part 2.flac")
        try await ffmpeg(["-i", url.path, "-map", "0:a", "-af", "atrim=end_sample=\(frame)", first.path])
        try await ffmpeg([
            "-i", url.path, "-map", "0:a", "-af", "atrim=start_sample=\(frame),asetpts=PTS-STARTPTS", second.path,
        ])
        return (first, second)
    }

    /// A file as interleaved 16-bit stereo samples.
    public func samples(_ url: URL) async throws -> [Int16] {
        let raw = folder.appendingPathComponent("\(UUID().uuidString).raw")
        try await ffmpeg(["-i", url.path, "-map", "0:a:0", "-f", "s16le", "-ar", "44100", "-ac", "2", raw.path])
        return Recording.samples(try Data(contentsOf: raw))
    }

    private func ffmpeg(_ arguments: [String]) async throws {
        let result = try await Command.run("ffmpeg", ["-y", "-v", "error", "-nostdin"] + arguments)
        guard result.status == 0 else { throw Command.Failed(message: "ffmpeg: \(result.errors)") }
    }
}
