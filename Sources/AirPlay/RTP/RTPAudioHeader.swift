/// The 12 bytes before each packet of audio (`Protocols/airplay/README.md`, “Packets”).
public struct RTPAudioHeader: Sendable, Hashable {
    public static let byteCount = 12
    public static let payloadType: UInt8 = 0x60

    /// Set on the first packet after a start or a flush.
    public var marker: Bool
    public var sequence: UInt16
    /// In frames.
    public var timestamp: UInt32
    public var ssrc: UInt32

    public init(marker: Bool, sequence: UInt16, timestamp: UInt32, ssrc: UInt32) {
        self.marker = marker
        self.sequence = sequence
        self.timestamp = timestamp
        self.ssrc = ssrc
    }

    /// Nil where it is too short, not RTP version 2, or another payload type.
    public init?(decoding bytes: some Collection<UInt8>) {
        var reader = BigEndianReader(bytes)
        guard let first = reader.byte(), first & 0xC0 == 0x80, let type = reader.byte(),
            type & 0x7F == Self.payloadType, let sequence = reader.uint16(), let timestamp = reader.uint32(),
            let ssrc = reader.uint32()
        else { return nil }
        self.init(marker: type & 0x80 != 0, sequence: sequence, timestamp: timestamp, ssrc: ssrc)
    }

    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = [0x80, Self.payloadType | (marker ? 0x80 : 0)]
        bytes.appendBigEndian(sequence)
        bytes.appendBigEndian(timestamp)
        bytes.appendBigEndian(ssrc)
        return bytes
    }
}

/// Takes big-endian numbers from the front of bytes; nil when there are too few left.
struct BigEndianReader<Bytes: Collection> where Bytes.Element == UInt8 {
    private let bytes: Bytes
    private var index: Bytes.Index

    init(_ bytes: Bytes) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    mutating func byte() -> UInt8? {
        guard index != bytes.endIndex else { return nil }
        defer { bytes.formIndex(after: &index) }
        return bytes[index]
    }

    mutating func uint16() -> UInt16? { number() }
    mutating func uint32() -> UInt32? { number() }
    mutating func uint64() -> UInt64? { number() }

    var rest: Bytes.SubSequence { bytes[index...] }

    private mutating func number<Number: FixedWidthInteger>() -> Number? {
        var number: Number = 0
        for _ in 0..<(Number.bitWidth / 8) {
            guard let byte = byte() else { return nil }
            number = number << 8 | Number(byte)
        }
        return number
    }
}

extension [UInt8] {
    mutating func appendBigEndian(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
