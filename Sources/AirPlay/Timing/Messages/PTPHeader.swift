/// The kinds of messages that are in use; the low four bits of a message's first byte.
public enum PTPMessageKind: UInt8, Sendable, Hashable, CaseIterable {
    case sync = 0x0
    case delayRequest = 0x1
    case peerDelayRequest = 0x2
    case peerDelayResponse = 0x3
    case followUp = 0x8
    case delayResponse = 0x9
    case peerDelayFollowUp = 0xA
    case announce = 0xB
    case signaling = 0xC

    /// Whether its time of sending or arrival counts: such messages have a port of their own.
    public var isEvent: Bool { rawValue < 0x8 }
}

/// What every PTP message begins with: 34 bytes (`Protocols/airplay/README.md`, “PTP”).
public struct PTPHeader: Sendable, Hashable {
    public static let byteCount = 34
    /// What AirPlay's senders and receivers use: 1, gPTP's.
    public static let gPTP: UInt8 = 1

    /// Bits of the flag field.
    public struct Flags: OptionSet, Sendable, Hashable {
        public var rawValue: UInt16

        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// Seconds since 1970 without leap seconds, or of a clock of that sort.
        public static let ptpTimescale = Flags(rawValue: 1 << 3)
        /// A Follow_Up comes behind.
        public static let twoStep = Flags(rawValue: 1 << 9)
        public static let unicast = Flags(rawValue: 1 << 10)
    }

    /// The upper four bits of the first byte (majorSdoId, once transportSpecific).
    public var sdo: UInt8
    public var domain: UInt8
    public var flags: Flags
    /// Nanoseconds × 2^16.
    public var correction: Int64
    public var source: PTPPortIdentity
    public var sequence: UInt16
    public var control: UInt8
    /// Log2 of seconds between two messages of this kind; 127 where it says nothing.
    public var logInterval: Int8

    public init(
        source: PTPPortIdentity, sequence: UInt16, flags: Flags = [], logInterval: Int8 = 127, sdo: UInt8 = Self.gPTP,
        domain: UInt8 = 0, correction: Int64 = 0, control: UInt8 = 0
    ) {
        self.sdo = sdo
        self.domain = domain
        self.flags = flags
        self.correction = correction
        self.source = source
        self.sequence = sequence
        self.control = control
        self.logInterval = logInterval
    }
}
