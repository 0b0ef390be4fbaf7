import Foundation
import Subprocess

/// A tone made for a test, in a file of its own.
struct Tune {
    var path: String
    var sha256: String

    static func make(seconds: Int, as format: String) async throws -> Tune {
        let path = FileManager.default.temporaryDirectory.appending(path: "router-tune-\(UUID().uuidString).\(format)")
            .path
        _ = try await run(
            .name("ffmpeg"),
            arguments: [
                "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                "sine=frequency=440:sample_rate=44100:duration=\(seconds)",
                "-f", "lavfi", "-i", "sine=frequency=660:sample_rate=44100:duration=\(seconds)", "-filter_complex",
                "[0:a][1:a]join=inputs=2:channel_layout=stereo", "-metadata", "title=A tune", "-metadata",
                "artist=Somebody", path,
            ], output: .discarded, error: .discarded)
        let sum = try await run(.name("sha256sum"), arguments: [path], output: .string(limit: 4_096))
        return Tune(path: path, sha256: String(sum.standardOutput.prefix(64)))
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
