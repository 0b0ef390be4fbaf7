/// A time of a PTP message: 48 bits of seconds and 32 of nanoseconds (`Protocols/airplay/README.md`, “PTP”).
public struct PTPTimestamp: Sendable, Hashable {
    public static let zero = PTPTimestamp(seconds: 0, nanoseconds: 0)

    /// 48 bits.
    public let seconds: UInt64
    /// Less than a thousand million.
    public let nanoseconds: UInt32

    init(seconds: UInt64, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// From nanoseconds of a PTP clock.
    public init(nanosecondsSinceEpoch total: UInt64) {
        seconds = total / 1_000_000_000
        nanoseconds = UInt32(total % 1_000_000_000)
    }

    /// Nanoseconds of the PTP clock; nil beyond 64 bits of them, which is the year 2554.
    public var nanosecondsSinceEpoch: UInt64? {
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (total, carry) = whole.addingReportingOverflow(UInt64(nanoseconds))
        return overflow || carry ? nil : total
    }
}

/// A clock and one of its ports.
public struct PTPPortIdentity: Sendable, Hashable {
    /// All ports of all clocks: whom Signaling addresses that does not know the other's identity yet.
    public static let all = PTPPortIdentity(clockID: .max, port: .max)

    public var clockID: UInt64
    public var port: UInt16

    public init(clockID: UInt64, port: UInt16) {
        self.clockID = clockID
        self.port = port
    }
}
