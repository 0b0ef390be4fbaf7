/// 64 bits of NTP time: seconds since 1900 and a fraction of 2^32.
public struct NTPTime: Sendable, Hashable, Comparable {
    /// Seconds from 1900 to 1970.
    public static let epochOffset: UInt64 = 2_208_988_800

    public var rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// From nanoseconds of any clock. Receivers only compare sync packets with timing answers, so a monotonic clock
    /// does, and has no steps; it is written as if it had begun in 1970.
    public init(nanoseconds: Int64) {
        let nanoseconds = UInt64(max(0, nanoseconds))
        let seconds = nanoseconds / 1_000_000_000 + Self.epochOffset
        let fraction = ((nanoseconds % 1_000_000_000) << 32) / 1_000_000_000
        rawValue = seconds << 32 | fraction
    }

    /// Nanoseconds of the clock it was made from, to within one.
    public var nanoseconds: Int64 {
        let seconds = Int64(rawValue >> 32) - Int64(Self.epochOffset)
        let fraction = ((rawValue & 0xFFFF_FFFF) * 1_000_000_000 + (1 << 31)) >> 32
        return seconds * 1_000_000_000 + Int64(fraction)
    }

    public static func < (left: NTPTime, right: NTPTime) -> Bool { left.rawValue < right.rawValue }
}
