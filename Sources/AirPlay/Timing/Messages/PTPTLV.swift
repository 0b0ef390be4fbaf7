/// What may hang on to a message: type 16, length 16, value (`Protocols/airplay/README.md`, “PTP”).
public enum PTPTLV: Sendable, Hashable {
    /// Of Announce: the clocks that it came by, the master first.
    case pathTrace([UInt64])
    /// Of Follow_Up, by IEEE 802.1AS.
    case followUpInformation(PTPFollowUpInformation)
    /// Of Follow_Up, by Apple: the clock's identity once more.
    case appleClock(PTPPortIdentity)
    /// Of Signaling: wants messages of a kind, for so many seconds.
    case requestUnicast(PTPMessageKind, logInterval: Int8, seconds: UInt32)
    /// Of Signaling: they will come for so many seconds; 0 is a refusal.
    case grantUnicast(PTPMessageKind, logInterval: Int8, seconds: UInt32, renewable: Bool)
    /// Of Signaling: they need not come any more, or will not.
    case cancelUnicast(PTPMessageKind)
    case acknowledgeCancelUnicast(PTPMessageKind)
    /// Any other.
    case other(type: UInt16, value: [UInt8])

    public static let headerByteCount = 4

    /// What Apple's senders say to each receiver once a second, by Signaling; nobody outside knows what it means [K].
    static let appleSender: [PTPTLV] = [(subtype: UInt8(1), byteCount: 22), (subtype: 5, byteCount: 32)].map {
        let head: [UInt8] = [0x00, 0x0D, 0x93, 0x00, 0x00, $0.subtype, 0x00, 0x00, 0x03, 0x01]
        return .other(
            type: TypeCode.organization, value: head + [UInt8](repeating: 0, count: $0.byteCount - head.count))
    }

    enum TypeCode {
        static let organization: UInt16 = 0x0003
        static let requestUnicast: UInt16 = 0x0004
        static let grantUnicast: UInt16 = 0x0005
        static let cancelUnicast: UInt16 = 0x0006
        static let acknowledgeCancel: UInt16 = 0x0007
        static let pathTrace: UInt16 = 0x0008
    }

    /// Organization and its subtype: the first six bytes of such a value.
    enum Organization {
        static let followUp: [UInt8] = [0x00, 0x80, 0xC2, 0x00, 0x00, 0x01]
        static let appleClock: [UInt8] = [0x00, 0x0D, 0x93, 0x00, 0x00, 0x04]
    }

    var typeCode: UInt16 {
        switch self {
        case .followUpInformation, .appleClock: TypeCode.organization
        case .requestUnicast: TypeCode.requestUnicast
        case .grantUnicast: TypeCode.grantUnicast
        case .cancelUnicast: TypeCode.cancelUnicast
        case .acknowledgeCancelUnicast: TypeCode.acknowledgeCancel
        case .pathTrace: TypeCode.pathTrace
        case .other(let type, _): type
        }
    }

    var value: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .pathTrace(let clocks):
            for clock in clocks { bytes.appendBigEndian(clock) }
        case .followUpInformation(let information):
            bytes = Organization.followUp
            bytes.appendBigEndian(information.cumulativeScaledRateOffset)
            bytes.appendBigEndian(information.timeBase)
            bytes += information.lastPhaseChange
            bytes.appendBigEndian(information.scaledLastFrequencyChange)
        case .appleClock(let identity):
            bytes = Organization.appleClock
            bytes.append(identity)
        case .requestUnicast(let kind, let logInterval, let seconds):
            bytes = [kind.rawValue << 4, UInt8(bitPattern: logInterval)]
            bytes.appendBigEndian(seconds)
        case .grantUnicast(let kind, let logInterval, let seconds, let renewable):
            bytes = [kind.rawValue << 4, UInt8(bitPattern: logInterval)]
            bytes.appendBigEndian(seconds)
            bytes += [0, renewable ? 1 : 0]
        case .cancelUnicast(let kind), .acknowledgeCancelUnicast(let kind):
            bytes = [kind.rawValue << 4, 0]
        case .other(_, let value): bytes = value
        }
        return bytes
    }

    func encode(into bytes: inout [UInt8]) {
        let value = value
        bytes.appendBigEndian(typeCode)
        bytes.appendBigEndian(UInt16(truncatingIfNeeded: value.count))
        bytes += value
    }

    /// Throws `malformedTLV`: a value of a known type is too short for it.
    init(type: UInt16, value: ArraySlice<UInt8>) throws(PTPDecodingError) {
        let decoded: PTPTLV? =
            switch type {
            case TypeCode.organization: Self.organization(value)
            case TypeCode.requestUnicast: Self.request(value)
            case TypeCode.grantUnicast: Self.grant(value)
            case TypeCode.cancelUnicast: Self.kind(value, atLeast: 2).map { .cancelUnicast($0) }
            case TypeCode.acknowledgeCancel: Self.kind(value, atLeast: 2).map { .acknowledgeCancelUnicast($0) }
            case TypeCode.pathTrace: Self.pathTrace(value)
            default: .other(type: type, value: Array(value))
            }
        guard let decoded else { throw .malformedTLV(type: type) }
        self = decoded
    }

    private static func organization(_ value: ArraySlice<UInt8>) -> PTPTLV? {
        guard value.count >= 6 else { return nil }
        let rest = value.dropFirst(6)
        var reader = BigEndianReader(rest)
        switch Array(value.prefix(6)) {
        case Organization.followUp:
            guard rest.count >= 22, let rate = reader.uint32(), let timeBase = reader.uint16() else { return nil }
            var last = BigEndianReader(rest.dropFirst(18))
            guard let frequency = last.uint32() else { return nil }
            return .followUpInformation(
                PTPFollowUpInformation(
                    cumulativeScaledRateOffset: Int32(bitPattern: rate), timeBase: timeBase,
                    lastPhaseChange: Array(rest.dropFirst(6).prefix(12)),
                    scaledLastFrequencyChange: Int32(bitPattern: frequency)))
        case Organization.appleClock:
            guard let identity = reader.portIdentity() else { return nil }
            return .appleClock(identity)
        default:
            return .other(type: TypeCode.organization, value: Array(value))
        }
    }

    private static func request(_ value: ArraySlice<UInt8>) -> PTPTLV? {
        guard let kind = kind(value, atLeast: 6), let (logInterval, seconds) = terms(value) else { return nil }
        return .requestUnicast(kind, logInterval: logInterval, seconds: seconds)
    }

    private static func grant(_ value: ArraySlice<UInt8>) -> PTPTLV? {
        guard let kind = kind(value, atLeast: 8), let (logInterval, seconds) = terms(value) else { return nil }
        let renewable = value[value.startIndex + 7] & 1 != 0
        return .grantUnicast(kind, logInterval: logInterval, seconds: seconds, renewable: renewable)
    }

    private static func kind(_ value: ArraySlice<UInt8>, atLeast count: Int) -> PTPMessageKind? {
        guard value.count >= count, let first = value.first else { return nil }
        return PTPMessageKind(rawValue: first >> 4)
    }

    private static func terms(_ value: ArraySlice<UInt8>) -> (logInterval: Int8, seconds: UInt32)? {
        var reader = BigEndianReader(value.dropFirst())
        guard let interval = reader.byte(), let seconds = reader.uint32() else { return nil }
        return (Int8(bitPattern: interval), seconds)
    }

    private static func pathTrace(_ value: ArraySlice<UInt8>) -> PTPTLV? {
        guard value.count % 8 == 0 else { return nil }
        var reader = BigEndianReader(value)
        var clocks: [UInt64] = []
        while let clock = reader.uint64() { clocks.append(clock) }
        return .pathTrace(clocks)
    }
}

/// What IEEE 802.1AS adds to Follow_Up. A clock that never steps and has never changed its rate sends zeros.
public struct PTPFollowUpInformation: Sendable, Hashable {
    public var cumulativeScaledRateOffset: Int32
    public var timeBase: UInt16
    /// 12 bytes.
    public let lastPhaseChange: [UInt8]
    public var scaledLastFrequencyChange: Int32

    public init() {
        self.init(
            cumulativeScaledRateOffset: 0, timeBase: 0, lastPhaseChange: [UInt8](repeating: 0, count: 12),
            scaledLastFrequencyChange: 0)
    }

    init(
        cumulativeScaledRateOffset: Int32, timeBase: UInt16, lastPhaseChange: [UInt8],
        scaledLastFrequencyChange: Int32
    ) {
        self.cumulativeScaledRateOffset = cumulativeScaledRateOffset
        self.timeBase = timeBase
        self.lastPhaseChange = lastPhaseChange
        self.scaledLastFrequencyChange = scaledLastFrequencyChange
    }
}
