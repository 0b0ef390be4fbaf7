import RouteModel

/// What speaks for and against a room being heard while its packets flow. Pure.
///
/// No receiver says that it makes sound. One that follows our clock and answers us does so as a rule; one that does
/// not is the silence that people complain of while every answer is 200.
struct PlayingEvidence: Sendable, Hashable {
    /// How a receiver came by our time.
    enum Clock: Sendable, Hashable {
        /// It asks for it: how often it did, and when last, in host nanoseconds.
        case questions(count: Int, last: Int64)
        /// We tell it, by PTP. It need not ask, but shows itself somehow: whether it did, and whether its host said
        /// lately that nobody listens there.
        case grandmaster(heard: Bool, refused: Bool)
    }

    /// Nanoseconds for which nothing is held against a receiver that has just been started.
    static let patience: Int64 = 5_000_000_000
    /// Receivers ask every three seconds; one that has not for this long has stopped.
    static let silence: Int64 = 15_000_000_000
    /// Of the packets sent lately, the part asked for again from which the sound is likely to have holes.
    static let lossyPart = 0.2

    /// When the packets began to flow, in host nanoseconds.
    var since: Int64
    var clock: Clock
    /// Of the last seconds.
    var sent = 0
    var resent = 0
    /// Asked for again, and no longer there.
    var missed = 0
    /// Whether the system said lately that nobody takes the packets.
    var refused = false
    /// Whether a sign of life waits for its answer for long.
    var unanswered = false
    /// A sentence, where the way it plays is known to be silent on such devices.
    var silentCombination: String?
    /// Who it is, and which of our UDP ports it must reach.
    var name: String
    var host: String
    var ports: ClosedRange<Int>

    func judged(at now: Int64) -> PlayingProof {
        var proof = verdict(at: now)
        proof.timing = timing(at: now)
        return proof
    }

    /// What is known of its clock.
    private func timing(at now: Int64) -> String? {
        switch clock {
        case .questions(let count, let last):
            count > 0 && now - max(last, since) <= Self.silence ? "it asks for our time, and is told it" : nil
        case .grandmaster(let heard, let refused):
            heard && !refused ? "it shows itself to our PTP clock" : nil
        }
    }

    private func verdict(at now: Int64) -> PlayingProof {
        if unanswered {
            return PlayingProof(
                .doubtful, "\(name) does not answer at present",
                hint: "Check its network; it is given up if it stays so")
        }
        if refused {
            return PlayingProof(
                .doubtful, "nobody takes the audio at \(name)", hint: "Stop and play again, or restart the device")
        }
        if let silentCombination {
            return PlayingProof(
                .doubtful, silentCombination, hint: "Listen for it; try another way of playing with --via if it is so")
        }
        let early = now - since < Self.patience
        switch clock {
        case .questions(let count, let last):
            guard count > 0 else { return early ? tooEarly : unasked("never asks for our time") }
            if now - max(last, since) > Self.silence { return unasked("asks for our time no more") }
        case .grandmaster(let heard, let refused):
            if refused {
                return PlayingProof(
                    .doubtful, "nothing listens to our clock at \(name)",
                    hint: "Restart the device: its clock service does not run")
            }
            guard heard else { return early ? tooEarly : unasked("shows no interest in our clock") }
        }
        if missed > 0 || (sent >= 100 && Double(resent) > Double(sent) * Self.lossyPart) {
            return PlayingProof(
                .doubtful, "\(name) loses many packets: there may be holes in the sound",
                hint: "Bring it nearer to the access point, or connect it by cable")
        }
        return PlayingProof(.known, "\(name) follows our clock and takes the audio")
    }

    private var tooEarly: PlayingProof {
        PlayingProof(.unknown, "it is too early to say whether \(name) plays")
    }

    private func unasked(_ what: String) -> PlayingProof {
        PlayingProof(
            .doubtful, "\(name) \(what), so it has nothing to play by",
            hint: "Let UDP from \(host) in to ports \(ports.lowerBound) to \(ports.upperBound) in this machine's "
                + "firewall (\(rule)); if it is open, restart the device")
    }

    /// A command that lets it in for good: ports that the system chose are others the next time.
    private var rule: String {
        let chosen = ports.lowerBound >= 1024
        return "ufw allow proto udp from \(host)"
            + (chosen ? "" : " to any port \(ports.lowerBound):\(ports.upperBound)")
    }
}

extension PlayingEvidence {
    /// Where a session gets its evidence from.
    struct Source: Sendable {
        var clock: @Sendable () async -> Clock
        /// Which of our UDP ports the device must reach.
        var ports: ClosedRange<Int>
        var silentCombination: String?
    }
}
