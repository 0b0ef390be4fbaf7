/// Tells the receiver of a realtime stream which frame is heard at which time of the PTP master: to its control port, at
/// the start and then once a second (`Protocols/airplay/README.md`, “Packets”).
public struct AirPlayPTPSyncPacket: Sendable, Hashable {
    public static let byteCount = 28
    /// Frames by which receivers are late on purpose: the frame heard at `time` is `timestamp` less these.
    public static let offset: UInt32 = 11_035

    /// Set after a start or a flush.
    public var first: Bool
    /// The frame heard at `time`, and `offset` more.
    public var timestamp: UInt32
    /// Nanoseconds of the PTP master.
    public var time: UInt64
    /// `timestamp`, and the latency less 11,025 frames: 77,175 more in Apple's own sessions.
    public var next: UInt32
    /// Of the PTP master.
    public var clockID: UInt64

    public init(first: Bool, timestamp: UInt32, time: UInt64, next: UInt32, clockID: UInt64) {
        self.first = first
        self.timestamp = timestamp
        self.time = time
        self.next = next
        self.clockID = clockID
    }

    /// - Parameters:
    ///   - heard: the frame heard at `time`.
    ///   - lead: frames between sending and hearing.
    public init(first: Bool, heard: UInt32, time: UInt64, lead: Int, clockID: UInt64) {
        self.init(
            first: first, timestamp: heard &+ Self.offset, time: time,
            next: heard &+ Self.offset &+ UInt32(truncatingIfNeeded: lead - 11_025), clockID: clockID)
    }

    /// The frame heard at `time`.
    public var heard: UInt32 { timestamp &- Self.offset }

    /// Nil where it is too short, or another kind.
    public init?(decoding bytes: some Collection<UInt8>) {
        var reader = BigEndianReader(bytes)
        guard let flags = reader.byte(), flags & 0xC0 == 0x80, let type = reader.byte(), type & 0x7F == 0x57,
            reader.uint16() != nil, let timestamp = reader.uint32(), let time = reader.uint64(),
            let next = reader.uint32(), let clockID = reader.uint64()
        else { return nil }
        self.init(first: flags & 0x10 != 0, timestamp: timestamp, time: time, next: next, clockID: clockID)
    }

    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = [first ? 0x90 : 0x80, 0xD7, 0x00, 0x06]
        bytes.appendBigEndian(timestamp)
        bytes.appendBigEndian(time)
        bytes.appendBigEndian(next)
        bytes.appendBigEndian(clockID)
        return bytes
    }
}

extension RAOPStreamClock {
    /// The sync packet for `now`, of a session by PTP.
    ///
    /// - Parameters:
    ///   - lead: frames between sending and hearing, all in all.
    ///   - time: the PTP master's time at an instant of the host's clock.
    public func ptpSync(
        at now: Int64, first: Bool, lead: Int, clockID: UInt64, time: (Int64) -> UInt64
    ) -> AirPlayPTPSyncPacket {
        let heard = timestamp(at: now)
        return AirPlayPTPSyncPacket(
            // The instant of that very frame, not of now: else the clock would jitter by a part of a frame.
            first: first, heard: UInt32(truncatingIfNeeded: heard), time: time(instant(of: heard)), lead: lead,
            clockID: clockID)
    }
}
