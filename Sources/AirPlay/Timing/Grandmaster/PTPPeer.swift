/// One kind of message that a peer gets: when it goes, and what the peer has asked of it.
struct PTPMessageStream: Sendable {
    /// Log2 of seconds between messages, for those who ask for nothing else.
    private let standard: Int8
    private(set) var logInterval: Int8
    /// The instant of the next one.
    private(set) var due: Int64
    private var sequence: UInt16 = 0
    /// When what the peer has asked for ends; nil where it has asked for nothing.
    private var grantedUntil: Int64?

    init(standard: Int8, due: Int64) {
        self.standard = standard
        logInterval = standard
        self.due = due
    }

    /// The sequence number of the message that is due; those that were missed beside it are left out.
    mutating func take(at now: Int64) -> UInt16? {
        guard due <= now else { return nil }
        if let end = grantedUntil, end <= now {
            // It goes on as for those who ask for nothing.
            grantedUntil = nil
            logInterval = standard
        }
        // All peers' messages go at the same instants, so that the host wakes once for all of them.
        let period: Int64 =
            logInterval >= 0 ? 1_000_000_000 << Int64(logInterval) : 1_000_000_000 >> Int64(-logInterval)
        due = (now / period + 1) * period
        return takeSequence()
    }

    /// The number of a message that goes whenever it must.
    mutating func takeSequence() -> UInt16 {
        defer { sequence &+= 1 }
        return sequence
    }

    /// The next one goes at once, unless the peer wants none.
    mutating func hasten(to now: Int64) { if !isCancelled { due = min(due, now) } }

    mutating func grant(_ logInterval: Int8, seconds: UInt32, at now: Int64) {
        self.logInterval = logInterval
        grantedUntil = now + Int64(seconds) * 1_000_000_000
        due = now
    }

    /// The peer wants no more of it.
    mutating func cancel() { due = .max }

    private var isCancelled: Bool { due == .max }
}

/// What the grandmaster keeps of a peer.
struct PTPPeer: Sendable {
    var announce: PTPMessageStream
    var sync: PTPMessageStream
    var signaling: PTPMessageStream
    /// Announces still to go with the first Syncs.
    var opening: Int
    /// Syncs still to come close together.
    var openingSyncs: Int
    var windowStart: Int64
    var windowCount = 0
    var status: PTPPeerStatus

    /// The opening's Announces go with the first Syncs, so that they are spaced like them.
    mutating func open(at now: Int64) {
        guard opening > 0, sync.due <= now else { return }
        opening -= 1
        announce.hasten(to: now)
    }

    /// The opening once more.
    mutating func greet(at now: Int64) {
        opening = PTPGrandmaster.openingAnnounces
        openingSyncs = PTPGrandmaster.openingSyncs
        sync.hasten(to: now)
    }

    /// A Sync has gone: the next one follows sooner in the opening.
    mutating func spaceOpeningSync(after now: Int64) {
        guard openingSyncs > 0 else { return }
        openingSyncs -= 1
        sync.hasten(to: now + PTPGrandmaster.openingSyncSpacing)
    }

    /// Counts a message; false beyond what a peer may send in a second.
    mutating func admits(at now: Int64) -> Bool {
        if now - windowStart >= 1_000_000_000 || now < windowStart {
            windowStart = now
            windowCount = 0
        }
        windowCount += 1
        return windowCount <= PTPGrandmaster.messagesPerSecond
    }

    /// The answer to one wish of a Signaling message; nil where it wants none.
    mutating func answer(_ wish: PTPTLV, at now: Int64) -> PTPTLV? {
        switch wish {
        case .requestUnicast(let kind, let logInterval, let wanted):
            let seconds = min(wanted, PTPGrandmaster.longestGrant)
            let possible = PTPGrandmaster.intervals.contains(logInterval) && seconds > 0
            switch kind {
            case .announce where possible: announce.grant(logInterval, seconds: seconds, at: now)
            case .sync where possible: sync.grant(logInterval, seconds: seconds, at: now)
            // Every question is answered, asked for or not.
            case .delayResponse where possible, .peerDelayResponse where possible: break
            default: return .grantUnicast(kind, logInterval: logInterval, seconds: 0, renewable: false)
            }
            return .grantUnicast(kind, logInterval: logInterval, seconds: seconds, renewable: true)
        case .cancelUnicast(let kind):
            if kind == .announce { announce.cancel() }
            if kind == .sync { sync.cancel() }
            return .acknowledgeCancelUnicast(kind)
        default:
            return nil
        }
    }
}
