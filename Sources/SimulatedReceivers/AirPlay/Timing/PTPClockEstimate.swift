/// How a master's clock and ours are related, as a slave knows it at one moment.
public struct PTPClockEstimate: Sendable, Hashable {
    /// Whose clock.
    public var masterID: UInt64
    /// Master's nanoseconds minus the host's.
    public var offset: Int64
    /// Nanoseconds from the master to us; nil where it was not asked for and is taken as none.
    public var delay: Int64?
    /// Syncs, with Follow_Ups, that it rests on.
    public var samples: Int
    /// Host monotonic nanoseconds of the last of them.
    public var updatedAt: Int64

    public init(masterID: UInt64, offset: Int64, delay: Int64?, samples: Int, updatedAt: Int64) {
        self.masterID = masterID
        self.offset = offset
        self.delay = delay
        self.samples = samples
        self.updatedAt = updatedAt
    }

    /// Nanoseconds that the master's clock shows at an instant of the host's.
    public func masterTime(atHost host: Int64) -> UInt64 { UInt64(bitPattern: host &+ offset) }

    /// The host's instant at which the master's clock shows `time`.
    public func host(atMaster time: UInt64) -> Int64 { Int64(bitPattern: time) &- offset }
}
