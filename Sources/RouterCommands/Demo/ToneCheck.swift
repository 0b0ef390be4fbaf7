import Foundation

/// Listens to a recording: which of some tones sounds, for how long.
struct ToneCheck {
    /// Seconds that each tone sounded, by frequency in Hz; what was silence, or no such tone, is not counted.
    var seconds: [Int: Double] = [:]
    var total = 0.0

    /// - Parameter wav: 16-bit PCM with a 44-byte header, as simulated receivers write it.
    init(wav: URL, tones: [Int]) throws {
        let data = try Data(contentsOf: wav)
        guard data.count > 44 else { return }
        let rate = 44_100
        let window = rate / 10
        let samples = data.dropFirst(44).withUnsafeBytes { bytes in
            // The left channel is enough: the demo's tones are the same on both.
            stride(from: 0, to: bytes.count - 3, by: 4).map { offset in
                Double(Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int16.self)))
            }
        }
        total = Double(samples.count) / Double(rate)
        for start in stride(from: 0, to: samples.count - window + 1, by: window) {
            let part = samples[start..<(start + window)]
            let energy = part.reduce(0) { $0 + $1 * $1 }
            guard energy / Double(window) > 100 * 100 else { continue }
            for tone in tones {
                // Goertzel's sum against all the energy: a pure tone holds nearly all of it.
                let coefficient = 2 * cos(2 * Double.pi * Double(tone) / Double(rate))
                var previous = 0.0
                var before = 0.0
                for sample in part {
                    (previous, before) = (sample + coefficient * previous - before, previous)
                }
                let power = previous * previous + before * before - coefficient * previous * before
                if power * 2 / Double(window) > 0.8 * energy { seconds[tone, default: 0] += 0.1 }
            }
        }
    }
}
