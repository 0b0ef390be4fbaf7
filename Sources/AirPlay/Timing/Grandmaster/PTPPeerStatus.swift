/// What is known of one of the clock's peers. All instants are nanoseconds of the host's monotonic clock.
///
/// A receiver need not ever ask: nqptp, by which shairport-sync keeps time, only listens. One that has asked does follow.
public struct PTPPeerStatus: Sendable, Hashable {
    /// Our address that it hears from: what AirPlay's SETUP and SETPEERS must name.
    public var localAddress: String
    public var announcesSent = 0
    public var syncsSent = 0
    /// Syncs whose time of leaving was too uncertain to be told.
    public var syncsWithheld = 0
    /// Its questions for the way's delay: Delay_Req and Pdelay_Req.
    public var delayRequests = 0
    /// Its Signaling messages: wishes for what shall be sent to it.
    public var signalings = 0
    /// Its own Announces: it would be master itself if it could.
    public var announces = 0
    /// Its messages that could not be read.
    public var malformed = 0
    /// Its messages beyond what one peer may send.
    public var excess = 0
    /// When it has last been heard, whatever it said; nil: never.
    public var lastHeardAt: Int64?
    /// When it last asked: Delay_Req, Pdelay_Req or Signaling; nil: never.
    public var lastAskedAt: Int64?
    /// The mean time between its last questions, in nanoseconds; nil before the second.
    public var askingInterval: Int64?
    public var lastAnnounce: PTPAnnounce?
    /// When its host last said that nothing listens on the ports; nil: never.
    public var refusedAt: Int64?
    /// `errno` of the last message if it could not be sent; nil if it could.
    public var sendError: Int32?

    /// Whether it follows our clock for all we can see.
    public var hasAsked: Bool { lastAskedAt != nil }

    public init(localAddress: String) { self.localAddress = localAddress }

    mutating func asked(at now: Int64) {
        if let last = lastAskedAt {
            let interval = max(0, now - last)
            askingInterval = askingInterval.map { ($0 * 7 + interval) / 8 } ?? interval
        }
        lastAskedAt = now
    }
}

/// What came to the clock from elsewhere than its peers.
public struct PTPStatistics: Sendable, Hashable {
    /// Datagrams from addresses that are no peers: not answered.
    public var strangers = 0
    /// The address of the last of them.
    public var lastStranger: String?
    /// Datagrams sent to peers.
    public var sent = 0

    public init() {}
}
