/// An answer of pairing, by what it answers to. The number is the state that the answer has.
public enum PairingServerStep: String, Sendable, Hashable, CaseIterable {
    case pinStart = "pin-start"
    case setup2 = "setup-2"
    case setup4 = "setup-4"
    case setup6 = "setup-6"
    case verify2 = "verify-2"
    case verify4 = "verify-4"
    case add, list, remove
    case legacySetup = "legacy-setup"
    case legacyPin1 = "legacy-pin-1"
    case legacyPin2 = "legacy-pin-2"
    case legacyPin3 = "legacy-pin-3"
    case legacyVerify1 = "legacy-verify-1"
    case legacyVerify2 = "legacy-verify-2"

    var state: UInt8 {
        switch self {
        case .setup4, .verify4: 4
        case .setup6: 6
        default: 2
        }
    }
}

/// What goes wrong at a step on purpose.
public struct PairingServerFault: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// In place of the step: a TLV8 error, with the seconds to wait where there are any.
        case error(PairingServerError, retryAfter: Int?)
        /// In place of the step.
        case status(Int)
        /// The step is done and nothing is said of it.
        case hang
        /// The step is done and the connection ends.
        case close
        /// The answer's last byte is missing.
        case truncate
        /// A bit of the receiver's proof or authentication tag is turned.
        case wrongProof
        /// A bit of its signature is turned.
        case wrongSignature
        /// It says that it is another.
        case wrongIdentity
    }

    public var kind: Kind
    /// How often; from then on the step goes right.
    public var times: Int

    public init(_ kind: Kind, times: Int = .max) {
        self.kind = kind
        self.times = times
    }

    /// Reads `error-2`, `error-3-30` (with the seconds to wait), `status-470`, `hang`, `close`, `truncate`,
    /// `wrong-proof`, `wrong-signature` and `wrong-identity`, each with `×3` or `x3` behind for three times.
    public init?(_ text: String) {
        var text = text
        var times = Int.max
        if let mark = text.lastIndex(where: { $0 == "×" || $0 == "x" }) {
            guard let count = Int(text[text.index(after: mark)...]), count > 0 else { return nil }
            times = count
            text = String(text[..<mark])
        }
        let words = text.split(separator: "-", omittingEmptySubsequences: false)
        let numbers = words.dropFirst().map { Int($0) }
        switch (words.first, numbers.count) {
        case ("error", 1), ("error", 2):
            guard let number = numbers[0].flatMap(UInt8.init(exactly:)), numbers.allSatisfy({ $0 ?? -1 >= 0 }) else {
                return nil
            }
            let delay = numbers.count == 2 ? numbers[1] : nil
            self.init(.error(PairingServerError(rawValue: number), retryAfter: delay), times: times)
        case ("status", 1):
            guard let status = numbers[0], (100...599).contains(status) else { return nil }
            self.init(.status(status), times: times)
        default:
            let kinds: [String: Kind] = [
                "hang": .hang, "close": .close, "truncate": .truncate, "wrong-proof": .wrongProof,
                "wrong-signature": .wrongSignature, "wrong-identity": .wrongIdentity,
            ]
            guard let kind = kinds[text] else { return nil }
            self.init(kind, times: times)
        }
    }
}
