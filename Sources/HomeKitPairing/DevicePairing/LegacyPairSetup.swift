/// Asks a device of the legacy kind to show its PIN (`Protocols/pairing/README.md`, “Legacy pairing”).
public struct LegacyPairPINStart: PairingRung {
    private let controller: ControllerIdentity

    /// Known to the device by `controller.legacy`.
    public init(_ controller: ControllerIdentity) { self.controller = controller.legacy }

    public var request: PairingRequest { PairingRequest(path: "/pair-pin-start") }

    public func accept(_ answer: PairingAnswer) throws(PairingError) -> LegacyPairSetupUser {
        try answer.success(of: .pinStart)
        return LegacyPairSetupUser(controller)
    }
}

/// The first of three: who asks.
public struct LegacyPairSetupUser: PairingRung {
    private let controller: ControllerIdentity

    init(_ controller: ControllerIdentity) { self.controller = controller }

    public var request: PairingRequest {
        .pairSetupPIN(["method": .text("pin"), "user": .text(controller.identifier)])
    }

    public func accept(_ answer: PairingAnswer) throws(PairingError) -> LegacyPairSetupChallenge {
        let message = PairingMessage.legacySetupChallenge
        let entries = try answer.entries(of: message)
        return LegacyPairSetupChallenge(
            controller: controller,
            salt: try entries.data("salt", count: SRPChallenge.saltLength, of: message),
            deviceKey: try entries.data("pk", count: 1...SRPGroup.legacy.prime.count, of: message))
    }
}

/// The device waits for its PIN, for as long as the connection lives.
public struct LegacyPairSetupChallenge: Sendable {
    private let controller: ControllerIdentity
    private let salt: [UInt8]
    private let deviceKey: [UInt8]

    init(controller: ControllerIdentity, salt: [UInt8], deviceKey: [UInt8]) {
        self.controller = controller
        self.salt = salt
        self.deviceKey = deviceKey
    }

    /// The second request, with the PIN that the device shows. Throws `impossibleCode` for what is no digits and dashes,
    /// and `weakKey`.
    public func proof(pin: String) throws(PairingError) -> LegacyPairSetupProof {
        try proof(PairingCode.pin(pin), client: .random(.legacy))
    }

    func proof(_ code: [UInt8], client: SRPClient) throws(PairingError) -> LegacyPairSetupProof {
        LegacyPairSetupProof(
            controller: controller, publicKey: client.publicKey,
            session: try client.session(
                user: controller.identifier, password: code, salt: salt, deviceKey: deviceKey))
    }
}

/// The second: our proof that we know the PIN.
public struct LegacyPairSetupProof: PairingRung {
    private let controller: ControllerIdentity
    private let publicKey: [UInt8]
    private let session: SRPSession

    init(controller: ControllerIdentity, publicKey: [UInt8], session: SRPSession) {
        self.controller = controller
        self.publicKey = publicKey
        self.session = session
    }

    public var request: PairingRequest { .pairSetupPIN(["pk": .data(publicKey), "proof": .data(session.proof)]) }

    /// Throws `refused` with `authentication` for a wrong PIN, which these devices say by a status.
    public func accept(_ answer: PairingAnswer) throws(PairingError) -> LegacyPairSetupKey {
        let message = PairingMessage.legacySetupProof
        if [401, 403, 470].contains(answer.status) { throw .refused(.authentication, at: message) }
        let length = SRPGroup.legacy.hashLength
        let proof = try answer.entries(of: message).data("proof", count: length...length, of: message)
        guard session.accepts(proof) else { throw .wrongProof }
        return LegacyPairSetupKey(controller: controller, sessionKey: session.key)
    }
}

/// The third: our long-term key.
public struct LegacyPairSetupKey: PairingRung {
    private let controller: ControllerIdentity
    private let key: Hidden
    private let vector: Hidden

    init(controller: ControllerIdentity, sessionKey: [UInt8]) {
        self.controller = controller
        key = Hidden(LegacyCipher.derive("Pair-Setup-AES-Key", sessionKey))
        var vector = LegacyCipher.derive("Pair-Setup-AES-IV", sessionKey)
        // Each message has the vector one on from the one before.
        vector[15] &+= 1
        self.vector = Hidden(vector)
    }

    public var request: PairingRequest {
        let sealed = LegacyCipher.seal(controller.signingKey.publicKey, key: key.bytes, vector: vector.bytes)
        return .pairSetupPIN(["epk": .data(sealed.ciphertext), "authTag": .data(sealed.tag)])
    }

    /// A device may keep its own key to itself: pair-verify cannot check its signature then. Throws `notAuthentic` for one
    /// that does not open.
    public func accept(_ answer: PairingAnswer) throws(PairingError) -> LegacyCredentials {
        let message = PairingMessage.legacySetupKey
        try answer.success(of: message)
        guard case .dictionary(let entries) = answer.body, entries["epk"] != nil || entries["authTag"] != nil else {
            return LegacyCredentials(controller: controller, accessoryKey: nil)
        }
        let ciphertext = try entries.data("epk", count: 32...32, of: message)
        let tag = try entries.data("authTag", count: 16...16, of: message)
        var theirVector = vector.bytes
        theirVector[15] &+= 1
        guard let theirKey = LegacyCipher.open(ciphertext, tag: tag, key: key.bytes, vector: theirVector) else {
            throw .notAuthentic(at: message)
        }
        return LegacyCredentials(controller: controller, accessoryKey: theirKey)
    }
}

/// Pair-setup where the device takes everybody: keys are swapped, and pair-verify follows on the same connection.
public struct LegacyOpenPairSetup: PairingRung {
    private let controller: ControllerIdentity

    public init(_ controller: ControllerIdentity) { self.controller = controller }

    public var request: PairingRequest {
        PairingRequest(path: "/pair-setup", body: .octets(controller.signingKey.publicKey))
    }

    public func accept(_ answer: PairingAnswer) throws(PairingError) -> LegacyCredentials {
        let theirKey = try answer.octets(count: 32, of: .legacyOpenSetup)
        return LegacyCredentials(controller: controller, accessoryKey: theirKey)
    }
}

extension PairingRequest {
    fileprivate static func pairSetupPIN(_ entries: [String: PairingValue]) -> PairingRequest {
        PairingRequest(path: "/pair-setup-pin", body: .dictionary(entries))
    }
}

extension PairingAnswer {
    fileprivate func entries(of message: PairingMessage) throws(PairingError) -> [String: PairingValue] {
        try success(of: message)
        guard case .dictionary(let entries) = body else { throw .unreadable(at: message) }
        return entries
    }

    func octets(count: Int, of message: PairingMessage) throws(PairingError) -> [UInt8] {
        try success(of: message)
        guard case .octets(let bytes) = body else { throw .unreadable(at: message) }
        guard bytes.count == count else { throw .wrongLength(bytes.count, at: message) }
        return bytes
    }
}

extension [String: PairingValue] {
    fileprivate func data(
        _ name: String, count: ClosedRange<Int>, of message: PairingMessage
    ) throws(PairingError) -> [UInt8] {
        guard case .data(let value) = self[name] else { throw .missingEntry(name, at: message) }
        guard count.contains(value.count) else { throw .wrongLength(value.count, at: message) }
        return value
    }
}
