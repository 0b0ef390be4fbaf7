import Foundation

/// How a device is made to know us (`Protocols/pairing/README.md`).
public enum PairingKind: String, Codable, Sendable, Hashable, CaseIterable {
    /// HomeKit pair-setup with the code that the device shows.
    case pin
    /// HomeKit pair-setup for one connection; nothing is kept.
    case transient
    /// The older pairing with a code, of Apple TV 3 and its like.
    case legacyPin = "legacy-pin"
    /// The older pairing, open to everybody.
    case legacy
    /// The password of the device takes the place of the code.
    case password
}

/// What a device gave us to be known by. Printing it gives a mask.
public struct DeviceCredentials: Codable, Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    public var kind: PairingKind
    /// In the backend's own form. Secret.
    public var secret: [UInt8]

    public init(kind: PairingKind, secret: [UInt8]) {
        self.kind = kind
        self.secret = secret
    }

    public var description: String { "DeviceCredentials(\(kind.rawValue), ••••)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Who this installation is towards devices: minted once and kept.
public struct InstallationIdentity: Codable, Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// A UUID in upper case.
    public var identifier: String
    /// Of its Ed25519 key, 32 bytes. Secret.
    public var seed: [UInt8]

    public init(identifier: String, seed: [UInt8]) {
        self.identifier = identifier
        self.seed = seed
    }

    /// A new one, from the system's source of randomness.
    public static func random() -> InstallationIdentity {
        var generator = SystemRandomNumberGenerator()
        return InstallationIdentity(
            identifier: UUID().uuidString, seed: (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    public var description: String { "InstallationIdentity(\(identifier), ••••)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A device that knows us.
public struct PairingRecord: Codable, Sendable, Hashable {
    public var name: String
    public var kind: PairingKind
    public var keys: [StrongKey]
    /// Seconds since 1970.
    public var madeAt: Double

    public init(name: String, kind: PairingKind, keys: [StrongKey], madeAt: Double) {
        self.name = name
        self.kind = kind
        self.keys = keys
        self.madeAt = madeAt
    }
}

/// A pairing that was begun, as whoever goes on with it sees it. It holds no secret.
public struct PairingProgress: Codable, Sendable, Hashable, Identifiable {
    public enum State: String, Codable, Sendable, Hashable, CaseIterable {
        /// The device waits for its code or password.
        case waiting
        case done
        case failed
    }

    /// Whoever has it may finish the pairing.
    public var id: String
    /// The device's name.
    public var device: String
    public var kind: PairingKind
    public var state: State
    /// What to do now, in words: where the code is shown, how many digits it has.
    public var prompt: String
    public var error: RouterError?

    public init(
        id: String, device: String, kind: PairingKind, state: State, prompt: String, error: RouterError? = nil
    ) {
        self.id = id
        self.device = device
        self.kind = kind
        self.state = state
        self.prompt = prompt
        self.error = error
    }
}

/// Whether a room is known to be heard, or why that is not sure.
public struct PlayingProof: Codable, Sendable, Hashable {
    public enum Certainty: String, Codable, Sendable, Hashable, CaseIterable {
        /// The device shows by what it does that it plays.
        case known
        /// Something speaks against it; `reason` says what.
        case doubtful
        /// It is too early, or the device says nothing.
        case unknown
    }

    public var certainty: Certainty
    /// One sentence for people.
    public var reason: String
    /// What to do about it.
    public var hint: String?
    /// By what it knows when to play, in a sentence; nil where that cannot be told.
    public var timing: String?

    public init(_ certainty: Certainty, _ reason: String, hint: String? = nil, timing: String? = nil) {
        self.certainty = certainty
        self.reason = reason
        self.hint = hint
        self.timing = timing
    }
}
