/// A packet of a buffered stream, as it goes over TCP (`Protocols/airplay/README.md`, “AirPlay 2 audio”): a length of 16
/// bits that counts itself, a header of 12 bytes, and what `AirPlay2AudioCipher` makes of the payload.
public struct BufferedAudioPacket: Sendable, Hashable {
    /// Sequence numbers have 23 bits.
    public static let sequenceMask: UInt32 = 0x7F_FFFF

    public var sequence: UInt32
    public var timestamp: UInt32
    /// Names the codec, see `AirPlayAudioFormat.codecWord`.
    public var ssrc: UInt32
    /// Header, ciphertext, tag and nonce: what the cipher opens.
    public var sealed: [UInt8]

    /// The header.
    static func header(sequence: UInt32, timestamp: UInt32, ssrc: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        // Version 2, and a marker that is always set.
        bytes.appendBigEndian(0x8080_0000 | sequence & sequenceMask)
        bytes.appendBigEndian(timestamp)
        bytes.appendBigEndian(ssrc)
        return bytes
    }

    /// Nil where it is too short, or no such packet.
    init?(sealed: [UInt8]) {
        var reader = BigEndianReader(sealed)
        guard sealed.count >= RTPAudioHeader.byteCount + AirPlay2AudioCipher.overhead, let word = reader.uint32(),
            word >> 24 == 0x80, let timestamp = reader.uint32(), let ssrc = reader.uint32()
        else { return nil }
        sequence = word & Self.sequenceMask
        self.timestamp = timestamp
        self.ssrc = ssrc
        self.sealed = sealed
    }

    /// The first packet of `bytes` and how many bytes it took; nil while it isn't whole. A length holds 65,535 bytes at
    /// most, so no more need ever be kept.
    public static func decode(
        _ bytes: ArraySlice<UInt8>
    ) throws(BufferedAudioError) -> (packet: BufferedAudioPacket, used: Int)? {
        guard bytes.count >= 2 else { return nil }
        let length = Int(bytes[bytes.startIndex]) << 8 | Int(bytes[bytes.startIndex + 1])
        guard length >= 2 + RTPAudioHeader.byteCount + AirPlay2AudioCipher.overhead else { throw .tooShort(length) }
        guard bytes.count >= length else { return nil }
        guard let packet = BufferedAudioPacket(sealed: Array(bytes.prefix(length).dropFirst(2))) else {
            throw .notAudio
        }
        return (packet, length)
    }
}

/// Why bytes are no buffered stream.
public enum BufferedAudioError: Error, Sendable, Hashable {
    /// The length, of which header, tag and nonce alone take more.
    case tooShort(Int)
    case notAudio
}

/// Turns payloads into the packets of a buffered stream. No I/O.
public struct BufferedAudioPacketizer: Sendable {
    public let ssrc: UInt32
    /// Of the packet to come, 23 bits.
    public private(set) var nextSequence: UInt32
    private let cipher: AirPlay2AudioCipher
    private var number: UInt64 = 0

    /// - Parameter ssrc: the codec's word; a receiver that doesn't know it is silent.
    public init(cipher: AirPlay2AudioCipher, ssrc: UInt32, firstSequence: UInt32 = 0) {
        self.cipher = cipher
        self.ssrc = ssrc
        nextSequence = firstSequence & BufferedAudioPacket.sequenceMask
    }

    /// The bytes on the wire, with their length in front.
    ///
    /// - Parameter payload: one access unit, at most 65,000 bytes.
    public mutating func packet(_ payload: [UInt8], timestamp: UInt32) -> [UInt8] {
        precondition(payload.count <= 65_000)
        let header = BufferedAudioPacket.header(sequence: nextSequence, timestamp: timestamp, ssrc: ssrc)
        let sealed = cipher.seal(payload, header: header, number: number)
        nextSequence = (nextSequence + 1) & BufferedAudioPacket.sequenceMask
        number += 1
        var bytes: [UInt8] = []
        bytes.appendBigEndian(UInt16(sealed.count + 2))
        return bytes + sealed
    }
}
