/// Which RTP timestamp of a stream is captured at which instant of the host's clock.
public struct CastStreamClock: Sendable, Hashable {
    /// Host nanoseconds at which `timestamp` is captured.
    public var instant: Int64
    /// In 64 bits, so that it doesn't wrap; the wire has the low 32.
    public var timestamp: Int64
    /// Timestamps per second.
    public var timeBase: Int

    public init(instant: Int64, timestamp: Int64, timeBase: Int) {
        self.instant = instant
        self.timestamp = timestamp
        self.timeBase = timeBase
    }

    /// The timestamp captured at an instant, rounded down.
    public func timestamp(at instant: Int64) -> Int64 {
        let elapsed = instant - self.instant
        let rate = Int64(timeBase)
        // Whole seconds apart, so that days do not overflow.
        let (seconds, rest) = Self.divide(elapsed, 1_000_000_000)
        return timestamp + seconds * rate + rest * rate / 1_000_000_000
    }

    public func instant(of timestamp: Int64) -> Int64 {
        let rate = Int64(timeBase)
        let (seconds, rest) = Self.divide(timestamp - self.timestamp, rate)
        return instant + seconds * 1_000_000_000 + rest * 1_000_000_000 / rate
    }

    /// The sender report for `now`, of a stream of which so much has been sent.
    public func report(ssrc: UInt32, at now: Int64, packets: Int, octets: Int) -> CastSenderReport {
        let timestamp = timestamp(at: now)
        return CastSenderReport(
            // The instant of that very timestamp, not of now: else the clock would jitter by a part of a sample.
            ssrc: ssrc, time: CastNTPTime(nanoseconds: instant(of: timestamp)),
            timestamp: UInt32(truncatingIfNeeded: timestamp), packets: UInt32(truncatingIfNeeded: packets),
            octets: UInt32(truncatingIfNeeded: octets))
    }

    /// Quotient rounded down, and a remainder that isn't negative.
    private static func divide(_ number: Int64, _ by: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: by)
        return remainder < 0 ? (quotient - 1, remainder + by) : (quotient, remainder)
    }
}
