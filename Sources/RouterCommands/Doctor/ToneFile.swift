import Foundation
import RouteModel

/// A second of a quiet tone, and then silence for as long as a device needs to show that it plays.
struct ToneFile: Sendable {
    static let rate = 44_100
    static let toneSeconds = 1
    static let silenceSeconds = 6

    let path: String

    init(silent: Bool) throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "router-tone-\(UUID().uuidString).wav")
        path = url.path
        do {
            try Data(Self.wav(silent: silent)).write(to: url)
        } catch {
            throw RouterError(
                .storage, "no file can be written in \(FileManager.default.temporaryDirectory.path)",
                hint: "Make room there, or set TMPDIR")
        }
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// 440 Hz at −34 dBFS, faded in and out so that it does not click.
    static func wav(silent: Bool) -> [UInt8] {
        let frames = rate * (toneSeconds + silenceSeconds)
        func little(_ value: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        var bytes: [UInt8] = Array("RIFF".utf8) + little(36 + frames * 4, 4) + Array("WAVEfmt ".utf8)
        bytes += little(16, 4) + little(1, 2) + little(2, 2) + little(rate, 4) + little(rate * 4, 4)
        bytes += little(4, 2) + little(16, 2) + Array("data".utf8) + little(frames * 4, 4)
        bytes.reserveCapacity(bytes.count + frames * 4)
        let tone = silent ? 0 : rate * toneSeconds
        for frame in 0..<frames {
            var sample = 0
            if frame < tone {
                let fade = min(1, Double(min(frame, tone - frame)) / Double(rate / 20))
                sample = Int(650 * fade * sin(2 * .pi * 440 * Double(frame) / Double(rate)))
            }
            bytes += little(sample, 2) + little(sample, 2)
        }
        return bytes
    }
}
