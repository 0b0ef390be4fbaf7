/// One frame of a stream, encoded and, where the stream is, encrypted.
public struct CastStreamFrame: Sendable, Hashable {
    /// Counted from 0.
    public var id: Int
    public var keyFrame: Bool
    /// The frame that this one needs; its own id for a key frame.
    public var referencedID: Int
    /// In units of the stream's time base.
    public var timestamp: UInt32
    /// From this frame on, milliseconds from capture to being heard or seen.
    public var playoutDelay: UInt16?
    public var payload: [UInt8]

    public init(
        id: Int, keyFrame: Bool = true, referencedID: Int? = nil, timestamp: UInt32, playoutDelay: UInt16? = nil,
        payload: [UInt8]
    ) {
        self.id = id
        self.keyFrame = keyFrame
        self.referencedID = referencedID ?? (keyFrame ? id : id - 1)
        self.timestamp = timestamp
        self.playoutDelay = playoutDelay
        self.payload = payload
    }
}

/// Cuts frames into datagrams, whose sequence numbers have no gaps. No I/O.
public struct CastFramePacketizer: Sendable {
    /// The longest header: with the referenced frame and a new playout delay.
    static let maximumHeaderBytes = CastRTPPacket.minimumHeaderBytes + 1 + 4

    public let payloadType: UInt8
    public let ssrc: UInt32
    /// Bytes of the longest datagram.
    public let maximumBytes: Int
    public private(set) var nextSequence: UInt16

    /// - Parameter maximumBytes: more than 23, the longest header.
    public init(
        payloadType: UInt8, ssrc: UInt32, firstSequence: UInt16, maximumBytes: Int = CastRTPPacket.ethernetBytes
    ) {
        precondition(maximumBytes > Self.maximumHeaderBytes)
        self.payloadType = payloadType
        self.ssrc = ssrc
        self.maximumBytes = maximumBytes
        nextSequence = firstSequence
    }

    /// The datagrams of a frame, in order; an empty frame, as codecs make of silence, is one. Nil where it would be
    /// more than 65,535.
    public mutating func packets(_ frame: CastStreamFrame) -> [[UInt8]]? {
        let room = maximumBytes - Self.maximumHeaderBytes
        let count = max(1, (frame.payload.count + room - 1) / room)
        guard count <= Int(UInt16.max) else { return nil }
        return (0..<count).map { number in
            let start = number * room
            let packet = CastRTPPacket(
                payloadType: payloadType, marker: number == count - 1, sequence: takeSequence(),
                timestamp: frame.timestamp, ssrc: ssrc, keyFrame: frame.keyFrame,
                frameID: CastFrameID.wire(frame.id), packetID: UInt16(number), lastPacketID: UInt16(count - 1),
                referencedFrameID: CastFrameID.wire(frame.referencedID),
                playoutDelay: number == 0 ? frame.playoutDelay : nil,
                payload: Array(frame.payload[start..<min(start + room, frame.payload.count)]))
            return packet.encoded()
        }
    }

    /// The last `count` datagrams were never sent: their numbers are used again.
    public mutating func rewind(_ count: Int) { nextSequence &-= UInt16(truncatingIfNeeded: count) }

    /// The number of the next datagram, which is taken by that.
    public mutating func takeSequence() -> UInt16 {
        defer { nextSequence &+= 1 }
        return nextSequence
    }
}
