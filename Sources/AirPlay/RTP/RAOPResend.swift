/// A receiver asks for packets again: to the sender's control port (`Protocols/airplay/README.md`, “Packets”).
public struct RAOPResendRequest: Sendable, Hashable {
    public static let byteCount = 8

    public var firstSequence: UInt16
    /// At least 1.
    public var count: UInt16
    /// The request's own sequence number; receivers send 1.
    public var sequence: UInt16

    public init(firstSequence: UInt16, count: UInt16, sequence: UInt16 = 1) {
        self.firstSequence = firstSequence
        self.count = max(1, count)
        self.sequence = sequence
    }

    /// Nil where it is too short, or another kind. A count of 0 means 1.
    public init?(decoding bytes: some Collection<UInt8>) {
        var reader = BigEndianReader(bytes)
        guard let flags = reader.byte(), flags & 0xC0 == 0x80, let type = reader.byte(), type & 0x7F == 0x55,
            let sequence = reader.uint16(), let first = reader.uint16(), let count = reader.uint16()
        else { return nil }
        self.init(firstSequence: first, count: count, sequence: sequence)
    }

    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = [0x80, 0xD5]
        bytes.appendBigEndian(sequence)
        bytes.appendBigEndian(firstSequence)
        bytes.appendBigEndian(count)
        return bytes
    }
}

/// A packet sent again: to the receiver's control port, the whole of it behind four bytes.
public struct RAOPResendAnswer: Sendable, Hashable {
    public static let headerByteCount = 4

    public var sequence: UInt16
    /// The packet as it was sent at first, with its header.
    public var packet: [UInt8]

    public init(sequence: UInt16, packet: [UInt8]) {
        self.sequence = sequence
        self.packet = packet
    }

    /// Nil where it is too short, or another kind.
    public init?(decoding bytes: some Collection<UInt8>) {
        var reader = BigEndianReader(bytes)
        guard let flags = reader.byte(), flags & 0xC0 == 0x80, let type = reader.byte(), type & 0x7F == 0x56,
            let sequence = reader.uint16()
        else { return nil }
        self.init(sequence: sequence, packet: Array(reader.rest))
    }

    /// What goes before the packet.
    public static func header(sequence: UInt16) -> [UInt8] {
        var bytes: [UInt8] = [0x80, 0xD6]
        bytes.appendBigEndian(sequence)
        return bytes
    }

    public func encoded() -> [UInt8] { Self.header(sequence: sequence) + packet }
}
