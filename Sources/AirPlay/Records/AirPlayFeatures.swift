/// The feature bits of an AirPlay receiver (`Protocols/airplay/README.md`, “Feature bits”).
public struct AirPlayFeatures: OptionSet, Sendable, Hashable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }
    private init(bit: Int) { rawValue = 1 << bit }

    public static let videoV1 = AirPlayFeatures(bit: 0)
    public static let photo = AirPlayFeatures(bit: 1)
    public static let screen = AirPlayFeatures(bit: 7)
    public static let audio = AirPlayFeatures(bit: 9)
    public static let artwork = AirPlayFeatures(bit: 15)
    public static let progress = AirPlayFeatures(bit: 16)
    public static let text = AirPlayFeatures(bit: 17)
    public static let mfiAuthentication = AirPlayFeatures(bit: 26)
    public static let legacyPairing = AirPlayFeatures(bit: 27)
    public static let raopOnThisPort = AirPlayFeatures(bit: 30)
    public static let unifiedMediaControl = AirPlayFeatures(bit: 38)
    public static let bufferedAudio = AirPlayFeatures(bit: 40)
    public static let ptp = AirPlayFeatures(bit: 41)
    public static let systemPairing = AirPlayFeatures(bit: 43)
    public static let homeKitPairing = AirPlayFeatures(bit: 46)
    public static let transientPairing = AirPlayFeatures(bit: 48)
    public static let videoV2 = AirPlayFeatures(bit: 49)
    /// It draws what `/command` says of what plays.
    public static let nowPlayingInfo = AirPlayFeatures(bit: 50)
    /// It wants `SETPEERSX` in place of `SETPEERS`.
    public static let extendedPeers = AirPlayFeatures(bit: 52)

    /// The names of bits 38 and 48 are swapped between sources, so either will do.
    public var supportsAirPlay2: Bool { contains(.unifiedMediaControl) || contains(.transientPairing) }

    /// `0xLOW,0xHIGH` or one `0x` number, as in `features` and `ft`; nil where it is neither.
    public init?(text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Self.hex($0.trimmed) }
        switch parts.count {
        case 1:
            guard let whole = parts[0] else { return nil }
            self.init(rawValue: whole)
        case 2:
            guard let low = parts[0], let high = parts[1], low <= 0xFFFF_FFFF, high <= 0xFFFF_FFFF else { return nil }
            self.init(rawValue: high << 32 | low)
        default: return nil
        }
    }

    /// The base64 form of `fex`: little-endian bytes, of which the first 8 are these bits.
    public init?(extendedText: String) {
        guard let bytes = Base64.decode(extendedText), !bytes.isEmpty else { return nil }
        self.init(rawValue: bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) })
    }

    private static func hex(_ text: String) -> UInt64? {
        let digits = text.lowercased().hasPrefix("0x") ? String(text.dropFirst(2)) : text
        return UInt64(digits, radix: 16)
    }
}

/// The status flags of a receiver (`sf`, `flags`).
public struct AirPlayStatusFlags: OptionSet, Sendable, Hashable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static let pinRequired = AirPlayStatusFlags(rawValue: 0x8)
    public static let passwordRequired = AirPlayStatusFlags(rawValue: 0x80)
    public static let oneTimePairingRequired = AirPlayStatusFlags(rawValue: 0x200)
    public static let homeKitAccessControl = AirPlayStatusFlags(rawValue: 0x400)
    public static let receivingNow = AirPlayStatusFlags(rawValue: 0x20000)

    /// Hexadecimal with or without `0x`; nil where it isn't.
    public init?(text: String) {
        let digits = text.lowercased().hasPrefix("0x") ? String(text.dropFirst(2)) : text
        guard let value = UInt64(digits, radix: 16) else { return nil }
        self.init(rawValue: value)
    }
}
