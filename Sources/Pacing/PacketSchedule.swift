/// When the packets of one stream go: the deciding half of pacing, without a clock, a socket or a thread.
///
/// Packets have positions 0, 1, 2… in the order they were added. Those before `sent` have gone and are kept for a
/// while, in case the receiver asks again; those from `sent` to `end` wait for their deadlines.
public struct PacketSchedule: Sendable {
    public struct Policy: Sendable, Hashable {
        /// How many packets are held, sent or not.
        public var capacity: Int
        /// How many that were sent are kept at least.
        public var history: Int
        /// Nanoseconds by which a packet may go early, to share a wake-up with the one before it.
        public var slack: Int64
        /// How many may go at once when they are late, and how many nanoseconds later the next lot goes: a receiver's
        /// socket buffer holds some 100 packets.
        public var burst: Int
        public var burstPause: Int64

        public init(
            capacity: Int = 1536, history: Int = 1024, slack: Int64 = 20_000_000, burst: Int = 32,
            burstPause: Int64 = 4_000_000
        ) {
            self.capacity = capacity
            self.history = history
            self.slack = slack
            self.burst = burst
            self.burstPause = burstPause
        }
    }

    public let policy: Policy
    /// The first position still held.
    public private(set) var oldest = 0
    /// The first position not sent.
    public private(set) var sent = 0
    /// The position that the next packet gets.
    public private(set) var end = 0

    private var deadlines: [Int64]
    private var notBefore: Int64 = .min

    public init(policy: Policy = Policy()) {
        precondition(policy.history < policy.capacity && policy.burst > 0)
        self.policy = policy
        deadlines = [Int64](repeating: 0, count: policy.capacity)
    }

    public var pending: Int { end - sent }
    public var hasRoom: Bool { pending < policy.capacity - policy.history }

    /// Where in a store of `capacity` slots a position lies.
    public func slot(of position: Int) -> Int { position % policy.capacity }

    /// Adds a packet to be sent at `deadline`, which isn't before the last one's. Ask `hasRoom` first.
    ///
    /// - Returns: its position.
    public mutating func add(deadline: Int64) -> Int {
        precondition(hasRoom)
        let position = end
        end += 1
        if end - oldest > policy.capacity { oldest = end - policy.capacity }
        deadlines[slot(of: position)] = deadline
        return position
    }

    public func deadline(of position: Int) -> Int64 { deadlines[slot(of: position)] }

    /// The instant to look again; nil while nothing waits.
    public var nextWake: Int64? { pending > 0 ? max(deadline(of: sent), notBefore) : nil }

    /// The positions to send at `now`. They count as sent; what could not be sent is given back by `unsend`.
    public mutating func take(at now: Int64) -> Range<Int> {
        guard let wake = nextWake, wake <= now else { return sent..<sent }
        let first = sent
        while sent < end, sent - first < policy.burst, deadline(of: sent) <= now + policy.slack { sent += 1 }
        notBefore = sent - first == policy.burst ? now + policy.burstPause : .min
        return first..<sent
    }

    /// The last `count` taken did not go: they go at `retry`.
    public mutating func unsend(_ count: Int, retry: Int64) {
        sent -= count
        notBefore = retry
    }

    /// Forgets what waits.
    ///
    /// - Returns: how many that were.
    public mutating func dropPending() -> Int {
        defer {
            end = sent
            notBefore = .min
        }
        return pending
    }

    /// The position that is `distance` before the last one sent, while it is held.
    public func sentPosition(back distance: Int) -> Int? {
        let position = sent - 1 - distance
        return distance >= 0 && position >= oldest ? position : nil
    }
}
