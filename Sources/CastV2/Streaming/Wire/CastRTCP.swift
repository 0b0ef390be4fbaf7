/// Why a datagram is no RTCP.
public enum CastRTCPError: Error, Sendable, Hashable {
    /// Shorter than it says.
    case truncated
    /// Not RTP version 2, or padded, which Cast never is.
    case notRTCP
    /// Payload-specific feedback of another application.
    case notCast
    /// Longer than `CastRTCP.maximumBytes`.
    case tooLong
}

/// The time of a stream, from its sender.
public struct CastSenderReport: Sendable, Hashable {
    public var ssrc: UInt32
    /// The instant of the sender's clock at which `timestamp` was captured.
    public var time: CastNTPTime
    public var timestamp: UInt32
    /// Of the stream so far, wrapping.
    public var packets: UInt32
    public var octets: UInt32

    public init(ssrc: UInt32, time: CastNTPTime, timestamp: UInt32, packets: UInt32 = 0, octets: UInt32 = 0) {
        self.ssrc = ssrc
        self.time = time
        self.timestamp = timestamp
        self.packets = packets
        self.octets = octets
    }
}

/// How one stream arrives, from its receiver.
public struct CastReceptionBlock: Sendable, Hashable {
    public var senderSSRC: UInt32
    /// Of the packets since the last report, in 1/256.
    public var fractionLost: UInt8
    /// 24 bits.
    public var cumulativeLost: UInt32
    public var highestSequence: UInt32
    /// In units of the stream's time base.
    public var jitter: UInt32
    /// `CastNTPTime.middle` of the last sender report; 0 before the first.
    public var lastReport: UInt32
    /// Since that came, in 1/65,536 s.
    public var delay: UInt32

    public init(
        senderSSRC: UInt32, fractionLost: UInt8 = 0, cumulativeLost: UInt32 = 0, highestSequence: UInt32 = 0,
        jitter: UInt32 = 0, lastReport: UInt32 = 0, delay: UInt32 = 0
    ) {
        self.senderSSRC = senderSSRC
        self.fractionLost = fractionLost
        self.cumulativeLost = cumulativeLost
        self.highestSequence = highestSequence
        self.jitter = jitter
        self.lastReport = lastReport
        self.delay = delay
    }

    static let byteCount = 24

    init?(_ reader: inout CastByteReader) {
        guard let ssrc = reader.uint32(), let lost = reader.uint32(), let highest = reader.uint32(),
            let jitter = reader.uint32(), let last = reader.uint32(), let delay = reader.uint32()
        else { return nil }
        self.init(
            senderSSRC: ssrc, fractionLost: UInt8(lost >> 24), cumulativeLost: lost & 0xFF_FFFF,
            highestSequence: highest, jitter: jitter, lastReport: last, delay: delay)
    }

    func append(to bytes: inout [UInt8]) {
        bytes.appendBigEndian(senderSSRC)
        bytes.appendBigEndian(UInt32(fractionLost) << 24 | cumulativeLost & 0xFF_FFFF)
        bytes.appendBigEndian(highestSequence)
        bytes.appendBigEndian(jitter)
        bytes.appendBigEndian(lastReport)
        bytes.appendBigEndian(delay)
    }
}

/// One RTCP packet of those that a datagram has (`Protocols/cast` section 12).
public enum CastRTCP: Sendable, Hashable {
    case senderReport(CastSenderReport)
    case receiverReport(ssrc: UInt32, CastReceptionBlock?)
    /// The receiver's own clock.
    case referenceTime(ssrc: UInt32, CastNTPTime)
    case feedback(CastFeedback)
    /// The receiver can show nothing before the next key frame.
    case pictureLoss(receiverSSRC: UInt32, senderSSRC: UInt32)
    /// Of a type that nothing here handles.
    case other(type: UInt8, subtype: UInt8)

    /// The longest datagram that is read.
    public static let maximumBytes = 9000

    private enum Kind {
        static let senderReport: UInt8 = 200
        static let receiverReport: UInt8 = 201
        static let payloadSpecific: UInt8 = 206
        static let extendedReport: UInt8 = 207
    }

    private static let pictureLossSubtype: UInt8 = 1
    private static let feedbackSubtype: UInt8 = 15
    private static let referenceTimeBlock: UInt8 = 4

    /// Whether a datagram is RTCP, and not RTP, on the port that they share.
    public static func matches(_ bytes: [UInt8]) -> Bool {
        bytes.count >= 4 && bytes[0] & 0xC0 == 0x80 && (192...223).contains(bytes[1])
    }

    /// Reads every packet of a datagram.
    public static func decode(_ bytes: [UInt8]) throws(CastRTCPError) -> [CastRTCP] {
        guard bytes.count <= maximumBytes else { throw .tooLong }
        var packets: [CastRTCP] = []
        var reader = CastByteReader(bytes)
        while !reader.rest.isEmpty {
            guard let first = reader.byte(), let type = reader.byte(), let words = reader.uint16() else {
                throw .truncated
            }
            guard first & 0xE0 == 0x80 else { throw .notRTCP }
            guard let body = reader.bytes(Int(words) * 4) else { throw .truncated }
            packets += try decode(type: type, subtype: first & 0x1F, body: CastByteReader(body))
        }
        guard !packets.isEmpty else { throw .truncated }
        return packets
    }

    private static func decode(
        type: UInt8, subtype: UInt8, body: CastByteReader
    ) throws(CastRTCPError) -> [CastRTCP] {
        var body = body
        switch (type, subtype) {
        case (Kind.senderReport, _):
            guard let ssrc = body.uint32(), let time = body.uint64(), let timestamp = body.uint32(),
                let count = body.uint32(), let octets = body.uint32()
            else { throw .truncated }
            return [
                .senderReport(
                    CastSenderReport(
                        ssrc: ssrc, time: CastNTPTime(rawValue: time), timestamp: timestamp, packets: count,
                        octets: octets))
            ]
        case (Kind.receiverReport, _):
            guard let ssrc = body.uint32() else { throw .truncated }
            guard subtype > 0 else { return [.receiverReport(ssrc: ssrc, nil)] }
            guard body.rest.count >= Int(subtype) * CastReceptionBlock.byteCount else { throw .truncated }
            return (0..<subtype).map { _ in .receiverReport(ssrc: ssrc, CastReceptionBlock(&body)) }
        case (Kind.payloadSpecific, feedbackSubtype): return [.feedback(try CastFeedback(body: &body))]
        case (Kind.payloadSpecific, pictureLossSubtype):
            guard let receiver = body.uint32(), let sender = body.uint32() else { throw .truncated }
            return [.pictureLoss(receiverSSRC: receiver, senderSSRC: sender)]
        case (Kind.extendedReport, _): return try extendedReport(&body)
        default: return [.other(type: type, subtype: subtype)]
        }
    }

    private static func extendedReport(_ body: inout CastByteReader) throws(CastRTCPError) -> [CastRTCP] {
        guard let ssrc = body.uint32() else { throw .truncated }
        var packets: [CastRTCP] = []
        while !body.rest.isEmpty {
            guard let type = body.byte(), body.byte() != nil, let words = body.uint16(),
                let block = body.bytes(Int(words) * 4)
            else { throw .truncated }
            guard type == referenceTimeBlock else { continue }
            var value = CastByteReader(block)
            guard let time = value.uint64() else { throw .truncated }
            packets.append(.referenceTime(ssrc: ssrc, CastNTPTime(rawValue: time)))
        }
        return packets.isEmpty ? [.other(type: Kind.extendedReport, subtype: 0)] : packets
    }

    /// The datagram that has these packets, in this order. `other` has nothing to be written.
    public static func encode(_ packets: [CastRTCP]) -> [UInt8] {
        var bytes: [UInt8] = []
        for packet in packets { packet.append(to: &bytes) }
        return bytes
    }

    private func append(to bytes: inout [UInt8]) {
        let start = bytes.count
        switch self {
        case .senderReport(let report):
            bytes += [0x80, Kind.senderReport, 0, 0]
            bytes.appendBigEndian(report.ssrc)
            bytes.appendBigEndian(report.time.rawValue)
            bytes.appendBigEndian(report.timestamp)
            bytes.appendBigEndian(report.packets)
            bytes.appendBigEndian(report.octets)
        case .receiverReport(let ssrc, let block):
            bytes += [block == nil ? 0x80 : 0x81, Kind.receiverReport, 0, 0]
            bytes.appendBigEndian(ssrc)
            block?.append(to: &bytes)
        case .referenceTime(let ssrc, let time):
            bytes += [0x80, Kind.extendedReport, 0, 0]
            bytes.appendBigEndian(ssrc)
            bytes += [Self.referenceTimeBlock, 0, 0, 2]
            bytes.appendBigEndian(time.rawValue)
        case .feedback(let feedback):
            bytes += [0x80 | Self.feedbackSubtype, Kind.payloadSpecific, 0, 0]
            feedback.appendBody(to: &bytes)
        case .pictureLoss(let receiver, let sender):
            bytes += [0x80 | Self.pictureLossSubtype, Kind.payloadSpecific, 0, 0]
            bytes.appendBigEndian(receiver)
            bytes.appendBigEndian(sender)
        case .other: return
        }
        // The length counts words, without the first.
        let words = (bytes.count - start) / 4 - 1
        bytes[start + 2] = UInt8(truncatingIfNeeded: words >> 8)
        bytes[start + 3] = UInt8(truncatingIfNeeded: words)
    }
}
