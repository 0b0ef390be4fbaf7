/// What the packetizers of both AirPlay generations do.
public protocol RTPPacketizing: Sendable {
    var nextSequence: UInt16 { get }
    /// The timestamp after the last packet's last frame. In 64 bits, so that it doesn't wrap; the wire has the low 32.
    var nextTimestamp: Int64 { get }

    /// The next packet is the first of a new run that begins at `timestamp`, or later if packets went beyond it.
    mutating func begin(at timestamp: Int64)
    mutating func packet(_ payload: [UInt8], at timestamp: Int64) -> RAOPPacketizer.Packet
    /// The last `count` packets were never sent: their numbers are used again.
    mutating func rewind(_ count: Int)
}

extension RTPPacketizing {
    /// What FLUSH and RECORD say of the packet to come.
    public var next: RTPInfo {
        RTPInfo(sequence: nextSequence, timestamp: UInt32(truncatingIfNeeded: nextTimestamp))
    }
}

extension RAOPPacketizer: RTPPacketizing {}

/// Turns payloads into the packets of a realtime stream, each sealed once: sent again it is the same bytes. No I/O.
public struct AirPlay2Packetizer: RTPPacketizing {
    /// 0 with PTP, random with NTP.
    public let ssrc: UInt32
    public private(set) var nextTimestamp: Int64
    private let cipher: AirPlay2AudioCipher
    private let framesPerPacket: Int
    private var marker = true
    /// The low 16 bits are the sequence number; all of it is the nonce, so that none comes twice when the former wraps.
    private var number: UInt64

    public init(
        cipher: AirPlay2AudioCipher, ssrc: UInt32, firstSequence: UInt16, firstTimestamp: UInt32,
        framesPerPacket: Int = 352
    ) {
        self.cipher = cipher
        self.ssrc = ssrc
        number = UInt64(firstSequence)
        nextTimestamp = Int64(firstTimestamp)
        self.framesPerPacket = framesPerPacket
    }

    public var nextSequence: UInt16 { UInt16(truncatingIfNeeded: number) }

    public mutating func begin(at timestamp: Int64) {
        marker = true
        nextTimestamp = max(nextTimestamp, timestamp)
    }

    public mutating func packet(_ payload: [UInt8], at timestamp: Int64) -> RAOPPacketizer.Packet {
        let header = RTPAudioHeader(
            marker: marker, sequence: nextSequence, timestamp: UInt32(truncatingIfNeeded: timestamp), ssrc: ssrc)
        let packet = RAOPPacketizer.Packet(
            sequence: nextSequence, bytes: cipher.seal(payload, header: header.encoded(), number: number))
        marker = false
        number += 1
        nextTimestamp = max(nextTimestamp, timestamp + Int64(framesPerPacket))
        return packet
    }

    public mutating func rewind(_ count: Int) {
        number -= min(number, UInt64(max(0, count)))
        nextTimestamp -= Int64(count * framesPerPacket)
    }
}
