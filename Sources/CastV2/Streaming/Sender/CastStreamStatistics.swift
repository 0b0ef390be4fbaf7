/// How a stream has gone so far, as its receiver tells.
public struct CastStreamStatistics: Sendable, Hashable {
    /// Frames taken to be sent, and those of them that the receiver has.
    public var frames = 0
    public var acknowledged = 0
    /// Packets sent again because the receiver asked, and those sent again so that it would ask.
    public var resent = 0
    public var kickstarts = 0
    /// Packets the receiver asked for that are not held any more.
    public var missed = 0
    /// Datagrams of RTCP that came, and those that made no sense.
    public var reports = 0
    public var malformed = 0
    /// As the receiver last said: part of the packets lost, all lost, jitter in nanoseconds.
    public var fractionLost = 0.0
    public var cumulativeLost = 0
    public var jitter: Int64 = 0
    /// Nanoseconds of the last round trip; nil before the first.
    public var roundTrip: Int64?
    /// Nanoseconds from capture to being heard, as the receiver last said; nil before it has.
    public var playoutDelay: Int64?
    /// The receiver's clock minus ours, in nanoseconds, to within half a round trip; nil before it has told its time.
    public var clockOffset: Int64?

    public init() {}
}

/// How long the network takes, one way, out of round trips: half of the shortest of late, for what is longer waited in
/// a queue.
struct CastRoundTrips: Sendable {
    /// Sender reports, of each of which the shortest trip is kept: those of 16 s, before clocks drift apart too far.
    /// A receiver may answer one many times, so that trips themselves are not counted.
    static let window = 32

    private var recent: [(report: UInt32, trip: Int64)] = []

    /// - Parameter report: names the sender report that was answered.
    mutating func add(_ nanoseconds: Int64, of report: UInt32) {
        if let index = recent.firstIndex(where: { $0.report == report }) {
            recent[index].trip = min(recent[index].trip, nanoseconds)
            return
        }
        recent.append((report, nanoseconds))
        if recent.count > Self.window { recent.removeFirst() }
    }

    var shortest: Int64? { recent.lazy.map(\.trip).min() }
}

/// By how much a stream's capture times are set earlier, so that it is heard when it should be: what the receiver adds
/// to the delay that was agreed on, and the way through the network. Measured, never guessed: 0 before the first
/// report.
public struct CastDelayCorrection: Sendable, Hashable {
    /// A difference beyond this is made up for at once; a smaller one in steps that nobody hears.
    public static let jump: Int64 = 20_000_000
    public static let step: Int64 = 500_000
    /// What is no more than noise.
    public static let tolerance: Int64 = 100_000

    /// Nanoseconds.
    public private(set) var current: Int64 = 0

    public init() {}

    /// Takes one step, and says whether it changed anything.
    ///
    /// - Parameters:
    ///   - measured: nanoseconds from capture to being heard, and the network's; nil: not known.
    ///   - agreed: nanoseconds that the sender counts with.
    public mutating func update(measured: Int64?, agreed: Int64) -> Bool {
        guard let measured else { return false }
        let difference = measured - agreed - current
        guard abs(difference) > Self.tolerance else { return false }
        current += abs(difference) > Self.jump ? difference : min(max(difference, -Self.step), Self.step)
        return true
    }
}
