/// A length or position of media, in ticks of 1/28,224,000 s.
///
/// The tick divides 44,100, 48,000 (with their halves, doubles and fourfolds) and 1,000 per second, so that frames, RTP
/// ticks of audio and milliseconds convert without loss. It does not divide 90,000 (313.6 ticks): video's clock rounds.
public struct MediaTime: Codable, Sendable, Hashable, Comparable, AdditiveArithmetic {
    public static let ticksPerSecond: Int64 = 28_224_000

    /// No time is longer than some 100 years, either way: what is beyond is clamped, so that what anybody says can be
    /// added, and told in nanoseconds, in 64 bits.
    public static let mostTicks: Int64 = 100_000_000_000_000_000

    public let ticks: Int64

    public init(ticks: Int64) { self.ticks = max(-Self.mostTicks, min(Self.mostTicks, ticks)) }

    /// NaN is zero.
    public init(seconds: Double) {
        let wanted = seconds * Double(Self.ticksPerSecond)
        let most = Double(Self.mostTicks)
        self.init(ticks: wanted.isNaN ? 0 : Int64(max(-most, min(most, wanted.rounded()))))
    }

    public init(frames: Int64, sampleRate: Int) {
        self.init(frames, times: Self.ticksPerSecond / Int64(sampleRate))
    }

    public init(milliseconds: Int64) { self.init(milliseconds, times: Self.ticksPerSecond / 1000) }

    private init(_ count: Int64, times ticks: Int64) {
        let (product, isTooLarge) = count.multipliedReportingOverflow(by: ticks)
        self.init(ticks: isTooLarge ? (count < 0 ? -Self.mostTicks : Self.mostTicks) : product)
    }

    public var seconds: Double { Double(ticks) / Double(Self.ticksPerSecond) }

    /// Whole frames at `sampleRate`, rounded down.
    public func frames(sampleRate: Int) -> Int64 {
        let perFrame = Self.ticksPerSecond / Int64(sampleRate)
        let quotient = ticks / perFrame
        return ticks % perFrame < 0 ? quotient - 1 : quotient
    }

    public var nanoseconds: Int64 {
        // 28,224,000 ticks = 10^9 ns: 3528 ticks = 125,000 ns. Split so that long positions do not overflow.
        (ticks / 3528) * 125_000 + (ticks % 3528) * 125_000 / 3528
    }

    public init(nanoseconds: Int64) {
        self.init(ticks: (nanoseconds / 125_000) * 3528 + (nanoseconds % 125_000) * 3528 / 125_000)
    }

    public static let zero = MediaTime(ticks: 0)
    public static func < (left: MediaTime, right: MediaTime) -> Bool { left.ticks < right.ticks }
    public static func + (left: MediaTime, right: MediaTime) -> MediaTime { MediaTime(ticks: left.ticks + right.ticks) }
    public static func - (left: MediaTime, right: MediaTime) -> MediaTime { MediaTime(ticks: left.ticks - right.ticks) }

    /// In JSON a time is seconds, as people and other programs expect.
    public init(from decoder: any Decoder) throws {
        self.init(seconds: try decoder.singleValueContainer().decode(Double.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(seconds)
    }
}

/// Where playback was at one instant; everything else is extrapolated (`model.md` section 7).
public struct PlaybackAnchor: Codable, Sendable, Hashable {
    public enum Quality: String, Codable, Sendable, Hashable, CaseIterable {
        case exact, deviceReported, estimated
    }

    public var item: ItemID
    /// Position in the item.
    public var time: MediaTime
    /// The router's monotonic clock at that position, in nanoseconds.
    public var instant: Int64
    /// 0 while paused or buffering.
    public var rate: Double
    public var quality: Quality
    /// The item's length, where known: positions are clamped to it.
    public var duration: MediaTime?

    public init(
        item: ItemID, time: MediaTime, instant: Int64, rate: Double, quality: Quality, duration: MediaTime? = nil
    ) {
        self.item = item
        self.time = time
        self.instant = instant
        self.rate = rate
        self.quality = quality
        self.duration = duration
    }

    /// Position in the item at a later (or earlier) instant of the same clock, never below zero nor past the end.
    public func position(at instant: Int64) -> MediaTime {
        // By seconds, which are clamped: the rate may be what a device says.
        let elapsed = MediaTime(seconds: Double(instant - self.instant) / 1e9 * rate)
        let position = max(.zero, time + elapsed)
        return duration.map { min($0, position) } ?? position
    }
}
