import Foundation

/// Compares what a receiver played with what it was to play.
public enum Recording {
    /// Interleaved samples of raw little-endian 16-bit PCM.
    public static func samples(_ data: Data) -> [Int16] {
        data.withUnsafeBytes { raw in
            (0..<(raw.count / 2)).map { Int16(littleEndian: raw.loadUnaligned(fromByteOffset: $0 * 2, as: Int16.self)) }
        }
    }

    /// Interleaved samples of a 16-bit WAV file with a 44-byte header.
    public static func samples(wav: URL) throws -> [Int16] { samples(try Data(contentsOf: wav).dropFirst(44)) }

    /// How well a recording holds a source.
    public struct Match: Sendable, CustomStringConvertible {
        /// Frames of the source, and how many of them were played within 2 of their value on both channels.
        public var frames: Int
        public var matching: Int
        /// The first and the last frame of the source that were played rightly.
        public var first: Int
        public var last: Int

        public var share: Double { frames == 0 ? 0 : Double(matching) / Double(frames) }
        public var description: String { "\(matching) of \(frames) frames, from \(first) to \(last)" }
    }

    /// Lays the recording on the source where both end, and counts.
    public static func match(_ recorded: [Int16], _ source: [Int16]) -> Match {
        func lastLoud(_ samples: [Int16]) -> Int? {
            stride(from: samples.count / 2 - 1, through: 0, by: -1).first { abs(Int(samples[$0 * 2])) > 200 }
        }
        let frames = source.count / 2
        guard let sourceEnd = lastLoud(source), let end = lastLoud(recorded) else {
            return Match(frames: frames, matching: 0, first: -1, last: -1)
        }
        func isRight(_ frame: Int, _ offset: Int) -> Bool {
            let place = frame + offset
            guard place >= 0, place * 2 + 1 < recorded.count else { return false }
            return abs(Int(recorded[place * 2]) - Int(source[frame * 2])) <= 2
                && abs(Int(recorded[place * 2 + 1]) - Int(source[frame * 2 + 1])) <= 2
        }
        // A dithered last sample may fall below what counts as loud: look a little to both sides.
        let offsets = (end - sourceEnd - 40)...(end - sourceEnd + 40)
        let best = offsets.max { left, right in
            let count = { (offset: Int) in
                stride(from: 0, to: frames, by: 997).reduce(0) { $0 + (isRight($1, offset) ? 1 : 0) }
            }
            return count(left) < count(right)
        }
        guard let offset = best else { return Match(frames: frames, matching: 0, first: -1, last: -1) }
        var match = Match(frames: frames, matching: 0, first: -1, last: -1)
        for frame in 0..<frames where isRight(frame, offset) {
            match.matching += 1
            if match.first < 0 { match.first = frame }
            match.last = frame
        }
        return match
    }

    /// Seconds that each tone sounded, by its frequency in Hz, in steps of `window` seconds: where a step has more or less
    /// than that tone, none of it counts.
    public static func seconds(
        of tones: [Int], in samples: [Int16], rate: Int = 44_100, window step: Double = 0.1
    ) -> [Int: Double] {
        let window = Int(Double(rate) * step)
        var result: [Int: Double] = [:]
        for start in stride(from: 0, to: samples.count / 2 - window, by: window) {
            var energy = 0.0
            for frame in start..<(start + window) {
                let value = Double(samples[frame * 2])
                energy += value * value
            }
            guard energy / Double(window) > 10_000 else { continue }
            for tone in tones {
                let coefficient = 2 * cos(2 * Double.pi * Double(tone) / Double(rate))
                var previous = 0.0
                var before = 0.0
                for frame in start..<(start + window) {
                    (previous, before) = (Double(samples[frame * 2]) + coefficient * previous - before, previous)
                }
                let power = previous * previous + before * before - coefficient * previous * before
                if power * 2 / Double(window) > 0.8 * energy { result[tone, default: 0] += step }
            }
        }
        return result
    }
}
