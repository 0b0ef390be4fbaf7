import CastV2

/// What a receiver knows of a stream's time: which instant of the host's clock an RTP timestamp was captured at
/// (`Protocols/cast` section 12).
///
/// The sender's reports pair its clock with timestamps. Its clock against ours: of the reports kept, the least delayed
/// counts, because the network only ever makes one late.
struct CastSenderClock: Sendable {
    private struct Report {
        var time: Int64
        var timestamp: Int64
        var arrival: Int64
    }

    /// At one each 500 ms: those of the last 16 s, before clocks drift apart too far.
    static let keptReports = 32
    /// A sender whose clock runs away from ours by more between two reports has set it: what was known is void.
    static let stepLimit: Int64 = 10_000_000_000
    /// Seconds: a timestamp further from the last report's means nothing.
    static let reach: Int64 = 86_400

    /// RTP units in a second.
    let clockRate: Int64
    private var latest: Report?
    /// Arrival here minus the sender's time, of the last reports.
    private var offsets: [Int64] = []

    init(clockRate: Int) { self.clockRate = Int64(clockRate) }

    var isKnown: Bool { latest != nil }

    /// A report came in.
    /// - Parameters:
    ///   - time: nanoseconds of the sender's clock.
    ///   - timestamp: what is captured then, without wrapping.
    ///   - arrival: host nanoseconds.
    mutating func report(time: Int64, timestamp: Int64, arrival: Int64) {
        if let latest, abs((time - latest.time) - (arrival - latest.arrival)) > Self.stepLimit { offsets = [] }
        latest = Report(time: time, timestamp: timestamp, arrival: arrival)
        offsets.append(arrival - time)
        if offsets.count > Self.keptReports { offsets.removeFirst() }
    }

    /// Host nanoseconds at which `timestamp` was captured; nil before the first report, and beyond `reach`.
    func captured(_ timestamp: Int64) -> Int64? {
        guard let latest, let offset = offsets.min() else { return nil }
        let units = timestamp - latest.timestamp
        guard abs(units) <= Self.reach * clockRate else { return nil }
        // In two parts: a day of units times a thousand million is more than 64 bits hold.
        let (seconds, rest) = units.quotientAndRemainder(dividingBy: clockRate)
        return latest.time + offset + seconds * 1_000_000_000 + rest * 1_000_000_000 / clockRate
    }

    /// What was captured at an instant of the host's clock.
    func timestamp(at host: Int64) -> Int64? {
        guard let latest, let offset = offsets.min() else { return nil }
        let (seconds, rest) = (host - offset - latest.time).quotientAndRemainder(dividingBy: 1_000_000_000)
        return latest.timestamp + seconds * clockRate + rest * clockRate / 1_000_000_000
    }
}
