/// How a room that fetches is kept in step with a timeline: a device takes a while from being asked to being heard, each
/// its own, and what it took the last time is the best guess of what it takes the next.
struct RoomStep: Sendable {
    enum Move: Sendable {
        case load
        case seek
    }

    /// Farther from the timeline than this, in nanoseconds, it is moved: nearer, the gap that a move makes is worse.
    static let toleranceNanoseconds: Int64 = 500_000_000
    /// A move that takes longer than this says nothing of the next one.
    static let longestLagNanoseconds: Int64 = 5_000_000_000
    /// How often it is moved at most in `windowNanoseconds`: a device that cannot keep step is let alone.
    static let moveLimit = 2
    static let windowNanoseconds: Int64 = 60_000_000_000

    private var lags: [Move: Int64] = [:]
    private var pending: (move: Move, ahead: Int64, since: Int64)?
    private var moved: [Int64] = []

    /// How long after being asked it is likely to be heard, in nanoseconds; 0 where nothing is known yet.
    func lag(of move: Move) -> Int64 { lags[move] ?? 0 }

    /// It is asked to go to a place that is so much ahead of where it is to be now.
    mutating func begins(_ move: Move, ahead: Int64, at now: Int64) { pending = (move, ahead, now) }

    /// What it was asked for last tells nothing: it was held, say.
    mutating func forgetMove() { pending = nil }

    /// It plays, and has said where.
    ///
    /// - Parameters:
    ///   - drift: nanoseconds that it is ahead of the timeline.
    ///   - instant: when that was so.
    /// - Returns: whether it is to be moved.
    mutating func plays(drift: Int64, at instant: Int64, now: Int64) -> Bool {
        if let pending {
            guard instant > pending.since else { return false }
            let lag = pending.ahead - drift
            if (0...Self.longestLagNanoseconds).contains(lag) { lags[pending.move] = lag }
            self.pending = nil
        }
        guard abs(drift) > Self.toleranceNanoseconds else { return false }
        moved.removeAll { now - $0 > Self.windowNanoseconds }
        guard moved.count < Self.moveLimit else { return false }
        moved.append(now)
        return true
    }
}
