/// What a receiver has and lacks of one stream: Cast feedback (`Protocols/cast` section 12).
public struct CastFeedback: Sendable, Hashable {
    /// A packet that is missing, and which of the eight after it.
    public struct Loss: Sendable, Hashable {
        /// In place of a packet: nothing of the frame has come.
        public static let wholeFrame: UInt16 = 0xFFFF

        /// The low bits of a frame after the checkpoint.
        public var frameID: UInt8
        public var packetID: UInt16
        /// Bit 0: the packet after `packetID` is missing too; bit 7: the eighth.
        public var following: UInt8

        public init(frameID: UInt8, packetID: UInt16, following: UInt8 = 0) {
            self.frameID = frameID
            self.packetID = packetID
            self.following = following
        }

        /// Every missing packet that it names; nil for the whole frame.
        public var packets: [UInt16]? {
            guard packetID != Self.wholeFrame else { return nil }
            return [packetID]
                + (0..<8).filter { following & 1 << $0 != 0 }.map { packetID &+ 1 &+ UInt16($0) }
        }

        /// The fields that name these packets of one frame.
        ///
        /// - Parameter packets: ascending.
        public static func fields(frameID: UInt8, packets: [UInt16]) -> [Loss] {
            var fields: [Loss] = []
            for packet in packets {
                if let last = fields.last, packet > last.packetID, packet - last.packetID <= 8 {
                    fields[fields.count - 1].following |= 1 << UInt8(packet - last.packetID - 1)
                } else {
                    fields.append(Loss(frameID: frameID, packetID: packet))
                }
            }
            return fields
        }
    }

    /// Which frames after the checkpoint have come whole.
    public struct Acknowledgements: Sendable, Hashable {
        /// Counts feedback messages, and wraps.
        public var count: UInt8
        /// Bit 0 of the first byte: the second frame after the checkpoint. As on the wire: 2 bytes and a multiple of 4
        /// more, 254 at most.
        public var bits: [UInt8]

        public init(count: UInt8, bits: [UInt8]) {
            self.count = count
            self.bits = bits
        }

        /// - Parameter frames: frames after the checkpoint but the very next, which cannot have come; those too far
        ///   ahead for the wire are left out.
        public init(count: UInt8, frames: some Sequence<Int>, after checkpoint: Int) {
            self.count = count
            bits = [0, 0]
            for frame in frames {
                let bit = frame - checkpoint - 2
                guard bit >= 0, bit < CastFeedback.maximumAcknowledgementBytes * 8 else { continue }
                while bits.count * 8 <= bit { bits += [0, 0, 0, 0] }
                bits[bit / 8] |= 1 << UInt8(bit % 8)
            }
        }

        public func frames(after checkpoint: Int) -> [Int] {
            bits.indices.flatMap { index in
                (0..<8).filter { bits[index] & 1 << $0 != 0 }.map { checkpoint + 2 + index * 8 + $0 }
            }
        }
    }

    static let name: UInt32 = 0x4341_5354  // CAST
    static let acknowledgementName: UInt32 = 0x4353_5432  // CST2
    /// As one byte of count holds.
    public static let maximumLosses = 255
    public static let maximumAcknowledgementBytes = 254

    public var receiverSSRC: UInt32
    public var senderSSRC: UInt32
    /// The low bits of the last frame up to which everything has come; 255 before the first.
    public var checkpoint: UInt8
    /// Milliseconds from capture to being heard or seen, as the receiver plays now.
    public var playoutDelay: UInt16
    /// At most `maximumLosses`.
    public var losses: [Loss]
    public var acknowledgements: Acknowledgements?

    public init(
        receiverSSRC: UInt32, senderSSRC: UInt32, checkpoint: UInt8, playoutDelay: UInt16, losses: [Loss] = [],
        acknowledgements: Acknowledgements? = nil
    ) {
        self.receiverSSRC = receiverSSRC
        self.senderSSRC = senderSSRC
        self.checkpoint = checkpoint
        self.playoutDelay = playoutDelay
        self.losses = losses
        self.acknowledgements = acknowledgements
    }

    init(body reader: inout CastByteReader) throws(CastRTCPError) {
        guard let receiver = reader.uint32(), let sender = reader.uint32(), let name = reader.uint32(),
            let checkpoint = reader.byte(), let count = reader.byte(), let delay = reader.uint16()
        else { throw .truncated }
        guard name == Self.name else { throw .notCast }
        self.init(receiverSSRC: receiver, senderSSRC: sender, checkpoint: checkpoint, playoutDelay: delay)
        for _ in 0..<count {
            guard let frame = reader.byte(), let packet = reader.uint16(), let following = reader.byte() else {
                throw .truncated
            }
            losses.append(Loss(frameID: frame, packetID: packet, following: following))
        }
        // What follows is optional, and what it is, its name says.
        guard let name = reader.uint32(), name == Self.acknowledgementName else { return }
        guard let number = reader.byte(), let length = reader.byte(), let bits = reader.bytes(Int(length)) else {
            throw .truncated
        }
        acknowledgements = Acknowledgements(count: number, bits: Array(bits))
    }

    func appendBody(to bytes: inout [UInt8]) {
        bytes.appendBigEndian(receiverSSRC)
        bytes.appendBigEndian(senderSSRC)
        bytes.appendBigEndian(Self.name)
        bytes.append(checkpoint)
        let losses = losses.prefix(Self.maximumLosses)
        bytes.append(UInt8(losses.count))
        bytes.appendBigEndian(playoutDelay)
        for loss in losses {
            bytes.append(loss.frameID)
            bytes.appendBigEndian(loss.packetID)
            bytes.append(loss.following)
        }
        guard let acknowledgements else { return }
        var bits = Array(acknowledgements.bits.prefix(Self.maximumAcknowledgementBytes))
        // Two bytes fill the word that the two counts begin; more come by whole words.
        while bits.count < 2 || bits.count % 4 != 2 { bits.append(0) }
        bytes.appendBigEndian(Self.acknowledgementName)
        bytes.append(acknowledgements.count)
        bytes.append(UInt8(bits.count))
        bytes += bits
    }
}
