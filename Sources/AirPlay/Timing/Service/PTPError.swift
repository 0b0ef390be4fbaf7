import Foundation

/// What can go wrong with the PTP clock. The description says what, `cure` what to do.
public enum PTPError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The system lets only the privileged bind these ports.
    case notPermitted(PTPPorts)
    /// Another program has them: nqptp, ptp4l, or a router that is running already.
    case portsInUse(PTPPorts, address: String)
    /// No numeric IPv4 or IPv6 address, or one of a link (fe80::…) without its interface.
    case unusableAddress(String)
    /// No network leads there.
    case unreachable(String, reason: String)
    /// `PTPClockService.maximumPeers` are served already.
    case tooManyPeers(limit: Int)
    /// `start` has not been called, or `stop` has.
    case notRunning
    /// Any other refusal of the system.
    case system(operation: String, code: Int32)

    public var description: String {
        switch self {
        case .notPermitted(let ports):
            "UDP ports \(ports.event) and \(ports.general), which an AirPlay clock (PTP) needs, are not open to this user"
        case .portsInUse(let ports, let address):
            "UDP ports \(ports.event) and \(ports.general) of \(address) are held by another PTP program"
        case .unusableAddress(let address): "“\(address)” is no address that a clock can be sent to"
        case .unreachable(let address, let reason): "no network leads to \(address): \(reason)"
        case .tooManyPeers(let limit): "the clock serves \(limit) addresses already, which is all it does"
        case .notRunning: "the PTP clock is not running"
        case .system(let operation, let code): "\(operation): \(String(cString: strerror(code)))"
        }
    }

    /// What to do about it.
    public var cure: String {
        switch self {
        case .notPermitted:
            """
            Run “sudo setcap cap_net_bind_service=+ep \(Self.program)”, or give the systemd service \
            AmbientCapabilities=CAP_NET_BIND_SERVICE
            """
        case .portsInUse:
            """
            “sudo ss -lunp 'sport = :319'” names the program: stop nqptp, ptp4l or the router that runs already, or run \
            it on another host
            """
        case .unusableAddress: "Name a numeric address; one that begins with fe80 needs its interface: fe80::1%eth0"
        case .unreachable: "Check that this host is on the receiver's network"
        case .tooManyPeers: "Play to fewer receivers from one host"
        case .notRunning: "Start it first"
        case .system: "Check the system's limits (ulimit -n) and its log"
        }
    }

    /// This program's file, as setcap takes it.
    private static var program: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    }
}

/// The two ports of PTP; other than the standard's only where both sides are told.
public struct PTPPorts: Sendable, Hashable {
    public static let standard = PTPPorts(event: 319, general: 320)

    /// For messages whose time counts.
    public var event: UInt16
    public var general: UInt16

    public init(event: UInt16, general: UInt16) {
        self.event = event
        self.general = general
    }
}
