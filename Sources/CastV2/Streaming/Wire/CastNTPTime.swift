/// 64 bits of NTP time: seconds since 1900 and a fraction of 2^32 (`Protocols/cast` section 12).
public struct CastNTPTime: Sendable, Hashable, Comparable {
    /// Seconds from 1900 to 1970.
    public static let epochOffset: Int64 = 2_208_988_800

    public var rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// From nanoseconds of any clock. The other side only compares our times with each other, so a monotonic clock
    /// does, and has no steps; it is written as if it had begun in 1970.
    public init(nanoseconds: Int64) {
        let nanoseconds = UInt64(max(0, nanoseconds))
        let seconds = nanoseconds / 1_000_000_000 &+ UInt64(Self.epochOffset)
        // Rounded up, so that reading it back gives the very nanosecond.
        let fraction = ((nanoseconds % 1_000_000_000) << 32 + 999_999_999) / 1_000_000_000
        rawValue = (seconds & 0xFFFF_FFFF) << 32 | fraction
    }

    /// Nanoseconds of the clock that it was made from; negative where it was none that had begun in 1970.
    public var nanoseconds: Int64 {
        let seconds = Int64(rawValue >> 32) - Self.epochOffset
        return seconds * 1_000_000_000 + Int64(((rawValue & 0xFFFF_FFFF) * 1_000_000_000) >> 32)
    }

    /// The middle 32 bits, by which a report names a sender report: units of 1/65,536 s.
    public var middle: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 16) }

    public static func < (left: CastNTPTime, right: CastNTPTime) -> Bool { left.rawValue < right.rawValue }
}
