import Foundation

/// When a simulated room was heard to play what: its recording, and the `clock` lines of its journal, which say at which
/// time of the host's clock a frame of the recording came out. Of one such clock for all rooms of a host, so that what
/// one hears later than another can be computed.
public struct RoomClock: Sendable {
    public struct Mark: Sendable, Hashable {
        public var frame: Int
        public var hostNanoseconds: Int64

        public init(frame: Int, hostNanoseconds: Int64) {
            self.frame = frame
            self.hostNanoseconds = hostNanoseconds
        }
    }

    /// The left channel.
    public var samples: [Int16]
    public var sampleRate: Int
    public var marks: [Mark]

    public init(samples: [Int16], sampleRate: Int = 44_100, marks: [Mark]) {
        self.samples = samples
        self.sampleRate = sampleRate
        self.marks = marks
    }

    /// Of a recording of 16 bits and the journal beside it.
    public init(wav: URL, journal: URL) throws {
        let samples = try Recording.samples(wav: wav)
        let marks = try String(contentsOf: journal, encoding: .utf8).split(separator: "\n").compactMap {
            line -> Mark? in
            guard let fields = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                fields["event"] as? String == "clock", let frame = (fields["frame"] as? NSNumber)?.intValue,
                let heard = (fields["heard_ns"] as? NSNumber)?.int64Value
            else { return nil }
            return Mark(frame: frame, hostNanoseconds: heard)
        }
        self.init(samples: stride(from: 0, to: samples.count, by: 2).map { samples[$0] }, marks: marks)
    }

    /// Frames that have to be the same to count as the same sound.
    private static let window = 256
    /// Seconds by which rooms are at most apart.
    private static let reach = 0.02

    /// Nanoseconds by which this room hears the sound later than the other, at each of the other's marks; none for those
    /// whose sound this one did not hear.
    ///
    /// The sound must not repeat itself within 40 ms.
    public func skews(against other: RoomClock) -> [Int64] {
        other.marks.compactMap { mark in
            guard mark.frame + Self.window <= other.samples.count else { return nil }
            let sought = other.samples[mark.frame..<(mark.frame + Self.window)]
            // A stretch of silence is everywhere.
            guard sought.contains(where: { $0 != 0 }), let near = frame(heardAt: mark.hostNanoseconds) else {
                return nil
            }
            let reach = Int(Double(sampleRate) * Self.reach)
            guard near + reach >= 0 else { return nil }
            let candidates = max(0, near - reach)...(near + reach)
            let found = candidates.filter { start in
                start + Self.window <= samples.count && sought.elementsEqual(samples[start..<(start + Self.window)])
            }
            guard let best = found.min(by: { abs($0 - near) < abs($1 - near) }) else { return nil }
            return heard(best) - mark.hostNanoseconds
        }
    }

    private func mark(before frame: Int) -> Mark? { marks.last { $0.frame <= frame } ?? marks.first }

    private func heard(_ frame: Int) -> Int64 {
        guard let mark = mark(before: frame) else { return 0 }
        return mark.hostNanoseconds + Int64(frame - mark.frame) * 1_000_000_000 / Int64(sampleRate)
    }

    private func frame(heardAt host: Int64) -> Int? {
        guard let mark = marks.last(where: { $0.hostNanoseconds <= host }) ?? marks.first else { return nil }
        return mark.frame + Int((host - mark.hostNanoseconds) * Int64(sampleRate) / 1_000_000_000)
    }
}
