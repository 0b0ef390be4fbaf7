/// Why a datagram is no packet of a Cast stream.
public enum CastRTPError: Error, Sendable, Hashable {
    /// Shorter than its headers.
    case truncated
    /// Not RTP version 2, or with padding, header extension or contributing sources, which Cast never has.
    case notRTP
    /// A packet number beyond the frame's last one, or a frame of 65,536 packets.
    case packetNumber
    /// A playout delay that is not two bytes.
    case playoutDelay
    /// Longer than `CastRTPPacket.maximumBytes`.
    case tooLong
}

/// One packet of a frame: RTP header, Cast header, payload (`Protocols/cast` section 12).
public struct CastRTPPacket: Sendable, Hashable {
    /// What a packet may have, sent over Ethernet and IPv4.
    public static let ethernetBytes = 1472
    /// The longest that is read; packets for other networks than Ethernet may be longer than `ethernetBytes`.
    public static let maximumBytes = 9000
    /// Without the optional parts.
    public static let minimumHeaderBytes = 18

    /// The extension that changes the playout delay.
    static let playoutDelayExtension: UInt16 = 1

    /// 0 to 127.
    public var payloadType: UInt8
    /// Set on the last packet of a frame; not all senders do.
    public var marker: Bool
    /// Of the datagram. Of a packet that is sent again it may be the same or a new one: senders do both.
    public var sequence: UInt16
    /// In units of the stream's time base.
    public var timestamp: UInt32
    public var ssrc: UInt32
    public var keyFrame: Bool
    /// The low bits of the frame's number.
    public var frameID: UInt8
    /// Counted from 0 in each frame.
    public var packetID: UInt16
    public var lastPacketID: UInt16
    /// The low bits of the frame that this one needs; where it is left out, a key frame needs none and another one the
    /// frame before it.
    public var referencedFrameID: UInt8?
    /// From this frame on, milliseconds from capture to being heard or seen.
    public var playoutDelay: UInt16?
    public var payload: [UInt8]

    public init(
        payloadType: UInt8, marker: Bool, sequence: UInt16, timestamp: UInt32, ssrc: UInt32, keyFrame: Bool,
        frameID: UInt8, packetID: UInt16, lastPacketID: UInt16, referencedFrameID: UInt8? = nil,
        playoutDelay: UInt16? = nil, payload: [UInt8]
    ) {
        self.payloadType = payloadType
        self.marker = marker
        self.sequence = sequence
        self.timestamp = timestamp
        self.ssrc = ssrc
        self.keyFrame = keyFrame
        self.frameID = frameID
        self.packetID = packetID
        self.lastPacketID = lastPacketID
        self.referencedFrameID = referencedFrameID
        self.playoutDelay = playoutDelay
        self.payload = payload
    }

    /// Reads a datagram. Extensions that are not known are passed over.
    public init(decoding bytes: [UInt8]) throws(CastRTPError) {
        guard bytes.count <= Self.maximumBytes else { throw .tooLong }
        var reader = CastByteReader(bytes)
        guard let first = reader.byte(), let second = reader.byte() else { throw .truncated }
        guard first == 0x80 else { throw .notRTP }
        guard let sequence = reader.uint16(), let timestamp = reader.uint32(), let ssrc = reader.uint32(),
            let flags = reader.byte(), let frameID = reader.byte(), let packetID = reader.uint16(),
            let lastPacketID = reader.uint16()
        else { throw .truncated }
        guard packetID <= lastPacketID, lastPacketID < .max else { throw .packetNumber }
        var referenced: UInt8?
        if flags & 0x40 != 0 {
            guard let id = reader.byte() else { throw .truncated }
            referenced = id
        }
        var delay: UInt16?
        for _ in 0..<(flags & 0x3F) {
            guard let head = reader.uint16(), let body = reader.bytes(Int(head & 0x3FF)) else { throw .truncated }
            guard head >> 10 == Self.playoutDelayExtension else { continue }
            var value = CastByteReader(body)
            guard body.count == 2, let milliseconds = value.uint16() else { throw .playoutDelay }
            delay = milliseconds
        }
        self.init(
            payloadType: second & 0x7F, marker: second & 0x80 != 0, sequence: sequence, timestamp: timestamp,
            ssrc: ssrc, keyFrame: flags & 0x80 != 0, frameID: frameID, packetID: packetID,
            lastPacketID: lastPacketID, referencedFrameID: referenced, playoutDelay: delay,
            payload: Array(reader.rest))
    }

    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = [0x80, payloadType & 0x7F | (marker ? 0x80 : 0)]
        bytes.reserveCapacity(Self.minimumHeaderBytes + 5 + payload.count)
        bytes.appendBigEndian(sequence)
        bytes.appendBigEndian(timestamp)
        bytes.appendBigEndian(ssrc)
        bytes.append(
            (keyFrame ? 0x80 : 0) | (referencedFrameID == nil ? 0 : 0x40) | (playoutDelay == nil ? 0 : 1))
        bytes.append(frameID)
        bytes.appendBigEndian(packetID)
        bytes.appendBigEndian(lastPacketID)
        if let referencedFrameID { bytes.append(referencedFrameID) }
        if let playoutDelay {
            bytes.appendBigEndian(Self.playoutDelayExtension << 10 | 2)
            bytes.appendBigEndian(playoutDelay)
        }
        return bytes + payload
    }
}
