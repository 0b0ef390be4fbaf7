/// Tells the receiver which frame is heard at which time: to its control port, at the start and then once a second
/// (`Protocols/airplay/README.md`, “Packets”).
public struct RAOPSyncPacket: Sendable, Hashable {
    public static let byteCount = 20

    /// Set after a start or a flush.
    public var first: Bool
    /// The frame heard at `time`, not counting the latency that the device adds by itself.
    public var playing: UInt32
    public var time: NTPTime
    /// The frame sent next: `playing` and the latency.
    public var next: UInt32

    public init(first: Bool, playing: UInt32, time: NTPTime, next: UInt32) {
        self.first = first
        self.playing = playing
        self.time = time
        self.next = next
    }

    /// Nil where it is too short, or another kind.
    public init?(decoding bytes: some Collection<UInt8>) {
        var reader = BigEndianReader(bytes)
        guard let flags = reader.byte(), flags & 0xC0 == 0x80, let type = reader.byte(), type & 0x7F == 0x54,
            reader.uint16() != nil, let playing = reader.uint32(), let time = reader.uint64(),
            let next = reader.uint32()
        else { return nil }
        self.init(first: flags & 0x10 != 0, playing: playing, time: NTPTime(rawValue: time), next: next)
    }

    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = [first ? 0x90 : 0x80, 0xD4, 0x00, 0x07]
        bytes.appendBigEndian(playing)
        bytes.appendBigEndian(time.rawValue)
        bytes.appendBigEndian(next)
        return bytes
    }
}
