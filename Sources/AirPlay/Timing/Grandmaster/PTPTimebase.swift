import Foundation

/// The time that a PTP clock tells: the host's monotonic clock and something fixed. It never steps, whatever happens to the
/// time of day.
public struct PTPTimebase: Sendable, Hashable {
    /// PTP time at zero of the host's monotonic clock, in nanoseconds.
    public let offset: UInt64

    public init(offset: UInt64) { self.offset = offset }

    /// Looks like TAI, as the PTP time scale is, to within what the time of day is off at this moment.
    init(host: Int64, secondsSince1970: Double) {
        let now = UInt64(max(0, secondsSince1970) * 1e9) + Self.leapSeconds * 1_000_000_000
        offset = now > UInt64(max(0, host)) ? now - UInt64(max(0, host)) : 0
    }

    /// TAI − UTC since 2017.
    private static let leapSeconds: UInt64 = 37

    /// PTP nanoseconds at an instant of the host's monotonic clock.
    public func time(atHost host: Int64) -> UInt64 { offset &+ UInt64(bitPattern: host) }

    /// The instant of the host's monotonic clock at which the PTP clock shows `time`.
    public func host(atTime time: UInt64) -> Int64 { Int64(bitPattern: time &- offset) }
}
