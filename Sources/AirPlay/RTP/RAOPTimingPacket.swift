/// A question for the sender's time, or its answer (`Protocols/airplay/README.md`, “Packets”).
public struct RAOPTimingPacket: Sendable, Hashable {
    public static let byteCount = 32

    public enum Kind: UInt8, Sendable { case request = 0x52, reply = 0x53 }

    public var kind: Kind
    /// Of a reply: the request's `transmit`.
    public var origin: NTPTime
    /// When the request came in.
    public var receive: NTPTime
    /// When this packet went out.
    public var transmit: NTPTime

    public init(kind: Kind, origin: NTPTime, receive: NTPTime, transmit: NTPTime) {
        self.kind = kind
        self.origin = origin
        self.receive = receive
        self.transmit = transmit
    }

    /// Nil where it is too short, or another kind.
    public init?(decoding bytes: some Collection<UInt8>) {
        var reader = BigEndianReader(bytes)
        guard let flags = reader.byte(), flags & 0xC0 == 0x80, let type = reader.byte(),
            let kind = Kind(rawValue: type & 0x7F), reader.uint16() != nil, reader.uint32() != nil,
            let origin = reader.uint64(), let receive = reader.uint64(), let transmit = reader.uint64()
        else { return nil }
        self.init(
            kind: kind, origin: NTPTime(rawValue: origin), receive: NTPTime(rawValue: receive),
            transmit: NTPTime(rawValue: transmit))
    }

    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = [0x80, kind.rawValue | 0x80, 0x00, 0x07, 0, 0, 0, 0]
        for time in [origin, receive, transmit] { bytes.appendBigEndian(time.rawValue) }
        return bytes
    }

    /// The answer to this request.
    public func reply(received: NTPTime, transmitted: NTPTime) -> RAOPTimingPacket {
        RAOPTimingPacket(kind: .reply, origin: transmit, receive: received, transmit: transmitted)
    }
}
