import AirPlay

/// How a simulated receiver keeps time.
public struct PTPSlaveConfiguration: Sendable, Hashable {
    /// What it does beside listening.
    public enum Manner: Sendable, Hashable {
        /// Listens only, as nqptp does.
        case listening
        /// Asks for the way's delay, so many times a second.
        case asking(timesPerSecond: Int)
        /// Never hears a thing: a receiver whose clock is broken, or behind a firewall.
        case deaf
    }

    /// The address whose ports it takes; several receivers share a host by different ones.
    public var host: String
    public var ports: PTPPorts
    public var manner: Manner
    /// Announces itself, once to win and once to lose, when it is told of a master: nqptp's way to wake senders.
    public var wakesMaster: Bool
    /// As it calls itself.
    public var clockID: UInt64

    public init(
        host: String, ports: PTPPorts = .standard, manner: Manner = .listening, wakesMaster: Bool = false,
        clockID: UInt64 = .random(in: 1..<(.max))
    ) {
        self.host = host
        self.ports = ports
        self.manner = manner
        self.wakesMaster = wakesMaster
        self.clockID = clockID
    }
}
