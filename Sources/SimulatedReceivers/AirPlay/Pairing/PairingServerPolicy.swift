/// Whom a simulated receiver lets in, how it wants to be paired, and what it does wrong on purpose.
public struct PairingServerPolicy: Sendable, Hashable {
    public enum Code: Sendable, Hashable {
        /// Stays the same, as one on a label.
        case fixed(String)
        /// Four digits, new for every pairing.
        case random
    }

    /// How somebody is turned away.
    public enum Refusal: Sendable, Hashable {
        case status(Int)
        /// As a TLV8 error in an answer of 200.
        case error(PairingServerError)
    }

    /// The older pairing.
    public enum Legacy: Sendable, Hashable {
        /// Anybody may register a key.
        case open
        case code(Code)
    }

    /// The code of pair-setup; nil has none, and pair-setup with a code is unavailable then, unless there is a password.
    public var code: Code?
    /// Takes the place of the code, and of what stands for it in transient pair-setup.
    public var password: String?
    /// How transient pair-setup is turned away; nil lets it in.
    public var transientRefusal: Refusal?
    /// How pair-setup for good is turned away: only whoever is in the book comes in. Nil lets it be tried.
    public var setupRefusal: Refusal?
    /// Nil has none.
    public var legacy: Legacy?
    /// Whether requests are answered on connections that nobody paired on.
    public var admitsStrangers: Bool
    /// The status that they get otherwise.
    public var strangerStatus = 470
    /// Wrong codes in a row until nobody may try any more; nil has no end.
    public var maximumTries: Int?
    /// Seconds until the next try after the first wrong code, the second, …; the last goes on for all others. Empty: none.
    public var backOff: [Int] = []
    /// Controllers at most.
    public var maximumControllers = 16
    public var faults: [PairingServerStep: PairingServerFault] = [:]

    public init(
        code: Code? = .random, password: String? = nil, transientRefusal: Refusal? = nil,
        setupRefusal: Refusal? = nil, legacy: Legacy? = nil, admitsStrangers: Bool = false
    ) {
        self.code = code
        self.password = password
        self.transientRefusal = transientRefusal
        self.setupRefusal = setupRefusal
        self.legacy = legacy
        self.admitsStrangers = admitsStrangers
    }

    /// Everybody may come for a connection, as a HomePod lets everybody on the network.
    public static let everybody = PairingServerPolicy()

    /// Only who has paired with the code: transient pair-setup gets 470.
    public static func code(_ code: Code) -> PairingServerPolicy {
        PairingServerPolicy(code: code, transientRefusal: .status(470))
    }

    public static func password(_ password: String) -> PairingServerPolicy {
        PairingServerPolicy(code: nil, password: password)
    }

    /// HomeKit access control: only controllers that are in the book come in, and none can get there by itself.
    public static func accessControl(_ refusal: Refusal = .status(403)) -> PairingServerPolicy {
        PairingServerPolicy(code: nil, transientRefusal: refusal, setupRefusal: refusal)
    }

    /// The older pairing only. Strangers get 403, which senders take for the wish to be paired with.
    public static func legacy(_ legacy: Legacy) -> PairingServerPolicy {
        var policy = PairingServerPolicy(code: nil, transientRefusal: .status(470), legacy: legacy)
        policy.strangerStatus = 403
        return policy
    }

    /// The bits of `flags` and `sf` that announce it (`Protocols/airplay/README.md`, “Records”).
    public var statusFlags: Int {
        var flags = 0
        if transientRefusal != nil, code != nil { flags |= 0x8 }
        if password != nil { flags |= 0x80 }
        if case .code = legacy { flags |= 0x200 }
        if setupRefusal != nil { flags |= 0x400 }
        return flags
    }
}
