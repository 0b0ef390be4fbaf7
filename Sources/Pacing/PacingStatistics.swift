/// What became of a stream's packets. Lateness is how long after its deadline a packet went, in nanoseconds.
public struct PacingStatistics: Sendable, Hashable {
    /// Datagrams of audio sent, resends apart.
    public var sent = 0
    /// Packets sent again because the receiver asked.
    public var resent = 0
    /// Packets the receiver asked for that were no longer, or not yet, there.
    public var resendsMissed = 0
    /// Packets that came from the feed after they should have been sent.
    public var underruns = 0
    /// Packets that came so late that their time to be heard had passed, and were not sent.
    public var skipped = 0
    public var maximumLateness: Int64 = 0

    /// Buckets of 1/8 octave of microseconds, for median and percentile at no cost to the sending thread.
    private var buckets = [UInt32](repeating: 0, count: 8 * 24)

    public init() {}

    public var medianLateness: Int64 { percentile(0.5) }
    public var lateness99: Int64 { percentile(0.99) }

    mutating func note(lateness: Int64) {
        sent += 1
        maximumLateness = max(maximumLateness, lateness)
        buckets[Self.bucket(lateness)] += 1
    }

    /// The lateness that this part of packets does not exceed, to within an eighth of an octave.
    public func percentile(_ part: Double) -> Int64 {
        let total = buckets.reduce(0) { $0 + Int($1) }
        let wanted = max(1, Int((Double(total) * part).rounded(.up)))
        var seen = 0
        for (index, count) in buckets.enumerated() {
            seen += Int(count)
            if seen >= wanted { return index == 0 ? 0 : min(maximumLateness, Self.upperBound(index)) }
        }
        return 0
    }

    private static func bucket(_ lateness: Int64) -> Int {
        let microseconds = max(0, lateness) / 1000
        guard microseconds > 0 else { return 0 }
        let octave = 63 - microseconds.leadingZeroBitCount
        let eighth = octave >= 3 ? Int(microseconds >> (octave - 3)) & 7 : Int(microseconds << (3 - octave)) & 7
        return min(8 * 24 - 1, octave * 8 + eighth + 1)
    }

    private static func upperBound(_ bucket: Int) -> Int64 {
        let octave = bucket / 8
        let eighth = Int64(bucket % 8)
        return (((8 + eighth) << octave) * 1000) >> 3
    }
}
