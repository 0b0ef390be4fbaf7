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
    /// With fewer, the shortest may have waited too.
    static let enough = 3

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

    /// Nanoseconds of the way there; nil before enough trips were made.
    var oneWay: Int64? { recent.count < Self.enough ? nil : shortest.map { $0 / 2 } }
}

/// By how much a stream's capture times are set earlier, so that it is heard when it should be: what the receiver adds
/// to the delay that was agreed on, and the way through the network. Measured, never guessed: 0 before the first
/// report.
///
/// While sound is heard, each change of it is heard too. So what is measured with an error, the network, is followed in
/// steps too small for that; what the receiver says of itself, and has done by then, at once where it is much.
public struct CastDelayCorrection: Sendable, Hashable {
    /// A difference that the receiver tells of is made up for at once beyond this; else in steps that nobody hears. Of a
    /// network, more than this is at first more likely a busy machine.
    public static let jump: Int64 = 20_000_000
    public static let step: Int64 = 500_000
    /// What is no more than noise.
    public static let tolerance: Int64 = 100_000

    private var told: Int64 = 0
    private var network: Int64 = 0

    /// Nanoseconds.
    public var current: Int64 { told + network }

    public init() {}

    /// Takes one step, and says whether it changed anything.
    ///
    /// - Parameters:
    ///   - delay: nanoseconds from capture to being heard, as the receiver says; nil: not known.
    ///   - network: nanoseconds of the way to it; nil: not known.
    ///   - agreed: nanoseconds that the sender counts with.
    ///   - isHeard: sound comes out; where none does, what is believed is made up for at once.
    public mutating func update(delay: Int64?, network: Int64?, agreed: Int64, isHeard: Bool) -> Bool {
        let before = current
        if let delay {
            let isMuch = abs(delay - agreed - told) > Self.jump
            Self.approach(delay - agreed, &told, atOnce: isMuch || !isHeard)
        }
        if let network { Self.approach(network, &self.network, atOnce: !isHeard && network <= Self.jump) }
        return current != before
    }

    private static func approach(_ target: Int64, _ value: inout Int64, atOnce: Bool) {
        let difference = target - value
        guard abs(difference) > tolerance else { return }
        value += atOnce ? difference : min(max(difference, -step), step)
    }
}
