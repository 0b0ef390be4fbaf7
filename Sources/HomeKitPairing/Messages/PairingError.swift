/// Why a pairing ended. Holds no secret.
public enum PairingError: Error, Sendable, Hashable {
    /// The device says no, in a message of the pairing.
    case refused(PairingRefusal, at: PairingMessage)
    /// 470: this way of pairing is not allowed. After a transient one, the device wants its PIN.
    case connectionAuthorizationRequired
    /// 401: a password is wanted, or another one.
    case unauthorized
    /// 403: access control keeps us out.
    case forbidden
    /// Any other status that is not success.
    case status(Int, at: PairingMessage)

    /// The bytes are no TLV8.
    case malformed(TLV8Error, at: PairingMessage)
    /// The body is of another kind than it has to be here.
    case unreadable(at: PairingMessage)
    /// The message says that it is another one; nil where it says nothing.
    case wrongState(UInt8?, at: PairingMessage)
    case missing(TLV8.Tag, at: PairingMessage)
    /// An entry of a property list.
    case missingEntry(String, at: PairingMessage)
    /// An item of a length that it cannot have.
    case wrongLength(Int, at: PairingMessage)

    /// The device does not know the code, or somebody else answers in its place.
    case wrongProof
    /// A public key that would make the secret known to anybody.
    case weakKey
    /// What only the device can have encrypted does not open.
    case notAuthentic(at: PairingMessage)
    /// The signature is not by the device's key.
    case wrongSignature(at: PairingMessage)
    /// It is another device than the one that was paired.
    case wrongIdentifier

    /// What was typed cannot be the code or password of a device.
    case impossibleCode
}

/// The device's own reason (TLV item 7).
public enum PairingRefusal: Sendable, Hashable {
    case unknown
    /// The code, the password or our key is not the right one.
    case authentication
    /// Too many tries; with how long to wait where the device says so.
    case backOff(seconds: Int?)
    /// The device knows as many controllers as it can.
    case maxPeers
    /// No try is left until the device is restarted.
    case maxTries
    /// The device does not pair now.
    case unavailable
    /// The device is pairing with somebody else.
    case busy
    /// A number that the protocol does not name.
    case other(UInt8)

    init(code: UInt8, retryDelay: [UInt8]?) {
        self =
            switch code {
            case 1: .unknown
            case 2: .authentication
            case 3: .backOff(seconds: retryDelay.flatMap(Self.seconds))
            case 4: .maxPeers
            case 5: .maxTries
            case 6: .unavailable
            case 7: .busy
            default: .other(code)
            }
    }

    /// Little-endian, of any length; nil for what no device can mean: longer than a week.
    private static func seconds(_ bytes: [UInt8]) -> Int? {
        var rest = bytes[...]
        while rest.last == 0 { rest.removeLast() }
        guard rest.count <= 4 else { return nil }
        let value = rest.reversed().reduce(0) { $0 << 8 | Int($1) }
        return value <= 604_800 ? value : nil
    }
}

/// The messages that a device answers with.
public enum PairingMessage: String, Sendable, Hashable, CaseIterable {
    case pinStart = "pair-pin-start"
    case setupM2 = "pair-setup M2"
    case setupM4 = "pair-setup M4"
    case setupM6 = "pair-setup M6"
    case verifyM2 = "pair-verify M2"
    case verifyM4 = "pair-verify M4"
    case addM2 = "pair-add M2"
    case removeM2 = "pair-remove M2"
    case listM2 = "pair-list M2"
    case legacySetupChallenge = "pair-setup-pin, key and salt"
    case legacySetupProof = "pair-setup-pin, proof"
    case legacySetupKey = "pair-setup-pin, long-term key"
    case legacyOpenSetup = "pair-setup without a PIN"
    case legacyVerifyKey = "legacy pair-verify, key and signature"
    case legacyVerifyEnd = "legacy pair-verify, end"

    /// What its state item says.
    var state: UInt8 {
        switch self {
        case .setupM4, .verifyM4: 4
        case .setupM6: 6
        default: 2
        }
    }
}
