/// Keeps live input in step with the clock that it is heard by. Pure.
///
/// What plays is timed by the host's clock; what comes in has a clock of its own, or stops now and then. Where readers wait
/// for longer than `patience`, silence takes the place of what did not come, so that whatever comes next is heard at once
/// and not late for ever after. Where a source runs a little fast or slow, a frame is taken out or doubled now and then.
/// Neither is resampling: what comes in time passes bit by bit, and the two seconds that receivers hold back take up some
/// hours of a usual clock's drift before anything is touched at all.
///
/// A pipe is not hurried: it waits while nobody reads, and its clock begins anew after that. A capture waits for nobody.
struct LivePace: Sendable {
    /// Nanoseconds that a reader waits before it is given silence.
    static let patience: Int64 = 250_000_000
    /// Frames of drift beyond which the source is corrected.
    static let slack: Int64 = 2205
    /// Nanoseconds over which drift is looked at: single arrivals come late, and the least late tells.
    static let period: Int64 = 5_000_000_000

    let isCapture: Bool
    let sampleRate: Int64
    /// The instant at which a frame was, or would have been, due to come.
    private var origin: (instant: Int64, frame: Int64)?
    /// When somebody was last found waiting.
    private var waitedAt: Int64 = .min / 2
    private var periodEnd: Int64?
    /// How far ahead of the clock the source was at best, in this period.
    private var best: Int64 = .min
    /// Frames still to be doubled, or taken out where it is negative.
    private var owed: Int64 = 0

    init(isCapture: Bool, sampleRate: Int) {
        self.isCapture = isCapture
        self.sampleRate = Int64(sampleRate)
    }

    /// Frames came, up to `end`.
    ///
    /// - Parameter waiting: whether a reader had been waiting for them.
    /// - Returns: 1 to double the newest frame, -1 to take it out, else 0.
    mutating func arrived(upTo end: Int64, at now: Int64, waiting: Bool) -> Int {
        guard let due = due(at: now) else {
            begin(end, now)
            return 0
        }
        let ahead = end - due
        if !isCapture, !waiting || ahead > 0 {
            begin(end, now)
            return 0
        }
        best = max(best, ahead)
        if now >= periodEnd ?? .max {
            if abs(best) > Self.slack { owed = -best }
            best = .min
            periodEnd = now + Self.period
        }
        guard owed != 0 else { return 0 }
        let step = owed.signum()
        owed -= step
        return Int(step)
    }

    /// How many frames of silence are to be put in after `end`, for a reader that waits for frame `wanted`.
    mutating func silence(after end: Int64, wanted: Int64, at now: Int64) -> Int64 {
        let patience = Self.patience * sampleRate / 1_000_000_000
        defer { waitedAt = now }
        guard let due = due(at: now) else {
            begin(end, now)
            return 0
        }
        // The timeline went on while nobody read.
        if wanted - end > patience {
            begin(wanted, now)
            return wanted - end
        }
        // What was not asked for is not missing.
        if !isCapture, now - waitedAt > 2 * Self.patience {
            begin(end, now)
            return 0
        }
        let missing = due - end
        guard missing > patience else { return 0 }
        best = .min
        owed = 0
        return missing
    }

    private mutating func begin(_ frame: Int64, _ instant: Int64) {
        origin = (instant, frame)
        periodEnd = instant + Self.period
        best = .min
        owed = 0
    }

    /// The frame that is due at an instant.
    private func due(at now: Int64) -> Int64? {
        origin.map { $0.frame + (now - $0.instant) / 1000 * sampleRate / 1_000_000 }
    }
}
