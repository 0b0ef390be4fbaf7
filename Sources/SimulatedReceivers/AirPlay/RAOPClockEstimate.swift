/// How far the sender's clock is from ours, learnt from timing exchanges.
///
/// Of the exchanges kept, the one with the shortest way there and back counts: delays only ever make an answer worse.
struct RAOPClockEstimate {
    private struct Exchange {
        var offset: Int64
        var roundTrip: Int64
    }

    /// At one exchange each 3 s: those of the last minute and a half, before clocks drift apart too far.
    private static let kept = 32

    private var recent: [Exchange] = []
    /// The last one asked for: answers to others are old, or somebody else's.
    private var pending: Int64?
    /// A sender that never answers is taken to have sent its sync packets without delay.
    private var guess: Int64?
    private(set) var exchanges = 0

    /// Sender's nanoseconds minus ours, as its answers say.
    var measured: Int64? { recent.min { $0.roundTrip < $1.roundTrip }?.offset }

    /// Sender's nanoseconds minus ours. Nil before anything is known.
    var offset: Int64? { measured ?? guess }

    mutating func asked(at host: Int64) { pending = host }

    /// An answer came in.
    /// - Parameters:
    ///   - origin: when the question went out, of our clock.
    ///   - received: when the sender got it, of its clock; `transmitted`: when it answered.
    ///   - host: now, of our clock.
    mutating func answered(origin: Int64, received: Int64, transmitted: Int64, at host: Int64) {
        // Times go through 32-bit fractions of a second and come back within a nanosecond or two.
        guard let pending, abs(pending - origin) < 1000 else { return }
        self.pending = nil
        let roundTrip = (host - pending) - (transmitted - received)
        guard roundTrip >= 0, host - pending < 1_000_000_000 else { return }
        exchanges += 1
        recent.append(Exchange(offset: ((received - pending) + (transmitted - host)) / 2, roundTrip: roundTrip))
        if recent.count > Self.kept { recent.removeFirst() }
    }

    /// A sync packet that says `sender` came in at `host`.
    mutating func sawSync(sender: Int64, at host: Int64) {
        // The least delayed packet shows the largest difference.
        guess = max(guess ?? .min, sender - host)
    }
}
