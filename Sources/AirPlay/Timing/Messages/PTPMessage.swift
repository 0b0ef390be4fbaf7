/// Why bytes are not a PTP message: the limit or rule that was broken.
public enum PTPDecodingError: Error, Sendable, Hashable {
    /// More bytes than `PTPMessage.maximumByteCount`.
    case tooLong(limit: Int)
    /// Fewer bytes than the header, or than its kind needs.
    case truncated
    /// Another version than 2.
    case unsupportedVersion(UInt8)
    /// A kind that is not in use here: management, say.
    case unsupportedKind(UInt8)
    /// The header says a length that the bytes or its kind do not have.
    case wrongLength(stated: Int)
    /// A thousand million nanoseconds or more.
    case malformedTimestamp
    /// A TLV that goes beyond the message.
    case truncatedTLV
    /// A TLV too short for its type.
    case malformedTLV(type: UInt16)
    /// More than `PTPMessage.maximumTLVCount`.
    case tooManyTLVs(limit: Int)
}

/// One PTP datagram (IEEE 1588-2008, as AirPlay uses it: `Protocols/airplay/README.md`, “PTP”).
public struct PTPMessage: Sendable, Hashable {
    /// More than any in use: an Ethernet frame's.
    public static let maximumByteCount = 1500
    public static let maximumTLVCount = 16

    public enum Content: Sendable, Hashable {
        /// The origin is zero where a Follow_Up comes behind.
        case sync(origin: PTPTimestamp)
        case delayRequest(origin: PTPTimestamp)
        case peerDelayRequest(origin: PTPTimestamp)
        /// When the request came in.
        case peerDelayResponse(received: PTPTimestamp, requester: PTPPortIdentity)
        /// When the Sync of the same sequence number left.
        case followUp(preciseOrigin: PTPTimestamp)
        /// When the request came in.
        case delayResponse(received: PTPTimestamp, requester: PTPPortIdentity)
        /// When the response left.
        case peerDelayFollowUp(sent: PTPTimestamp, requester: PTPPortIdentity)
        case announce(PTPAnnounce)
        case signaling(target: PTPPortIdentity)

        public var kind: PTPMessageKind {
            switch self {
            case .sync: .sync
            case .delayRequest: .delayRequest
            case .peerDelayRequest: .peerDelayRequest
            case .peerDelayResponse: .peerDelayResponse
            case .followUp: .followUp
            case .delayResponse: .delayResponse
            case .peerDelayFollowUp: .peerDelayFollowUp
            case .announce: .announce
            case .signaling: .signaling
            }
        }
    }

    public var header: PTPHeader
    public var content: Content
    public var tlvs: [PTPTLV]

    public init(_ header: PTPHeader, _ content: Content, tlvs: [PTPTLV] = []) {
        self.header = header
        self.content = content
        self.tlvs = tlvs
    }

    // MARK: Encoding

    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = [header.sdo << 4 | content.kind.rawValue, 2, 0, 0, header.domain, 0]
        bytes.reserveCapacity(128)
        bytes.appendBigEndian(header.flags.rawValue)
        bytes.appendBigEndian(header.correction)
        bytes.appendBigEndian(0 as UInt32)
        bytes.append(header.source)
        bytes.appendBigEndian(header.sequence)
        bytes += [header.control, UInt8(bitPattern: header.logInterval)]
        encodeContent(into: &bytes)
        for tlv in tlvs { tlv.encode(into: &bytes) }
        bytes[2] = UInt8(truncatingIfNeeded: bytes.count >> 8)
        bytes[3] = UInt8(truncatingIfNeeded: bytes.count)
        return bytes
    }

    private func encodeContent(into bytes: inout [UInt8]) {
        switch content {
        case .sync(let time), .delayRequest(let time), .followUp(let time):
            bytes.append(time)
        case .peerDelayRequest(let time):
            bytes.append(time)
            // As long as its response, so that both are on the way for the same time.
            bytes += [UInt8](repeating: 0, count: 10)
        case .peerDelayResponse(let time, let requester), .delayResponse(let time, let requester),
            .peerDelayFollowUp(let time, let requester):
            bytes.append(time)
            bytes.append(requester)
        case .announce(let announce):
            bytes.append(announce.origin)
            bytes.appendBigEndian(announce.utcOffset)
            bytes += [0, announce.quality.priority1, announce.quality.clockClass, announce.quality.accuracy]
            bytes.appendBigEndian(announce.quality.variance)
            bytes.append(announce.quality.priority2)
            bytes.appendBigEndian(announce.grandmasterID)
            bytes.appendBigEndian(announce.stepsRemoved)
            bytes.append(announce.timeSource)
        case .signaling(let target):
            bytes.append(target)
        }
    }

    // MARK: Decoding

    /// Bytes behind the length that the header states are padding, as some put it after a datagram of IPv6.
    public init(decoding bytes: some Collection<UInt8>) throws(PTPDecodingError) {
        guard bytes.count <= Self.maximumByteCount else { throw .tooLong(limit: Self.maximumByteCount) }
        guard bytes.count >= PTPHeader.byteCount else { throw .truncated }
        let all = Array(bytes)
        guard all[1] & 0x0F == 2 else { throw .unsupportedVersion(all[1] & 0x0F) }
        guard let kind = PTPMessageKind(rawValue: all[0] & 0x0F) else { throw .unsupportedKind(all[0] & 0x0F) }
        let stated = Int(all[2]) << 8 | Int(all[3])
        guard stated >= PTPHeader.byteCount, stated <= all.count else { throw .wrongLength(stated: stated) }
        var reader = BigEndianReader(all[4..<stated])
        guard let header = Self.header(sdo: all[0] >> 4, &reader) else { throw .truncated }
        self.header = header
        content = try Self.content(kind, &reader)
        tlvs = try Self.tlvs(reader.rest)
    }

    private static func header(sdo: UInt8, _ reader: inout BigEndianReader<ArraySlice<UInt8>>) -> PTPHeader? {
        guard let domain = reader.byte(), reader.byte() != nil, let flags = reader.uint16(),
            let correction = reader.uint64(), reader.uint32() != nil, let source = reader.portIdentity(),
            let sequence = reader.uint16(), let control = reader.byte(), let logInterval = reader.byte()
        else { return nil }
        return PTPHeader(
            source: source, sequence: sequence, flags: PTPHeader.Flags(rawValue: flags),
            logInterval: Int8(bitPattern: logInterval), sdo: sdo, domain: domain,
            correction: Int64(bitPattern: correction), control: control)
    }

    private static func content(
        _ kind: PTPMessageKind, _ reader: inout BigEndianReader<ArraySlice<UInt8>>
    ) throws(PTPDecodingError) -> Content {
        if kind == .signaling {
            guard let target = reader.portIdentity() else { throw .truncated }
            return .signaling(target: target)
        }
        let time = try reader.timestamp()
        switch kind {
        case .sync: return .sync(origin: time)
        case .delayRequest: return .delayRequest(origin: time)
        case .followUp: return .followUp(preciseOrigin: time)
        case .peerDelayRequest:
            for _ in 0..<10 where reader.byte() == nil { throw .truncated }
            return .peerDelayRequest(origin: time)
        case .announce, .signaling:
            guard let announce = announce(time, &reader) else { throw .truncated }
            return .announce(announce)
        case .peerDelayResponse, .delayResponse, .peerDelayFollowUp:
            guard let requester = reader.portIdentity() else { throw .truncated }
            return switch kind {
            case .delayResponse: .delayResponse(received: time, requester: requester)
            case .peerDelayResponse: .peerDelayResponse(received: time, requester: requester)
            default: .peerDelayFollowUp(sent: time, requester: requester)
            }
        }
    }

    private static func announce(
        _ origin: PTPTimestamp, _ reader: inout BigEndianReader<ArraySlice<UInt8>>
    ) -> PTPAnnounce? {
        guard let utcOffset = reader.uint16(), reader.byte() != nil, let priority1 = reader.byte(),
            let clockClass = reader.byte(), let accuracy = reader.byte(), let variance = reader.uint16(),
            let priority2 = reader.byte(), let grandmaster = reader.uint64(), let steps = reader.uint16(),
            let timeSource = reader.byte()
        else { return nil }
        return PTPAnnounce(
            grandmasterID: grandmaster,
            quality: PTPClockQuality(
                priority1: priority1, clockClass: clockClass, accuracy: accuracy, variance: variance,
                priority2: priority2),
            origin: origin, utcOffset: Int16(bitPattern: utcOffset), stepsRemoved: steps, timeSource: timeSource)
    }

    private static func tlvs(_ bytes: ArraySlice<UInt8>) throws(PTPDecodingError) -> [PTPTLV] {
        var tlvs: [PTPTLV] = []
        var rest = bytes
        while !rest.isEmpty {
            guard tlvs.count < maximumTLVCount else { throw .tooManyTLVs(limit: maximumTLVCount) }
            var reader = BigEndianReader(rest)
            guard let type = reader.uint16(), let length = reader.uint16(), reader.rest.count >= Int(length) else {
                throw .truncatedTLV
            }
            let value = reader.rest.prefix(Int(length))
            tlvs.append(try PTPTLV(type: type, value: value))
            rest = reader.rest.dropFirst(Int(length))
        }
        return tlvs
    }
}

extension BigEndianReader {
    mutating func portIdentity() -> PTPPortIdentity? {
        guard let clockID = uint64(), let port = uint16() else { return nil }
        return PTPPortIdentity(clockID: clockID, port: port)
    }

    mutating func timestamp() throws(PTPDecodingError) -> PTPTimestamp {
        guard let high = uint16(), let low = uint32(), let nanoseconds = uint32() else { throw .truncated }
        guard nanoseconds < 1_000_000_000 else { throw .malformedTimestamp }
        return PTPTimestamp(seconds: UInt64(high) << 32 | UInt64(low), nanoseconds: nanoseconds)
    }
}

extension [UInt8] {
    mutating func append(_ identity: PTPPortIdentity) {
        appendBigEndian(identity.clockID)
        appendBigEndian(identity.port)
    }

    mutating func append(_ time: PTPTimestamp) {
        appendBigEndian(UInt16(truncatingIfNeeded: time.seconds >> 32))
        appendBigEndian(UInt32(truncatingIfNeeded: time.seconds))
        appendBigEndian(time.nanoseconds)
    }
}
