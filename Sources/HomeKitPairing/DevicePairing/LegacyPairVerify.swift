/// Pair-verify of the legacy kind: a device that knows us lets us in. Nothing is encrypted after it
/// (`Protocols/pairing/README.md`, “Legacy pairing”).
public struct LegacyPairVerifyKey: PairingRung {
    private let credentials: LegacyCredentials
    private let ourKey: ExchangeKey

    /// - Parameter exchangeKey: of this one exchange.
    public init(_ credentials: LegacyCredentials, exchangeKey: ExchangeKey = .random()) {
        self.credentials = credentials
        ourKey = exchangeKey
    }

    public var request: PairingRequest {
        .legacyPairVerify([1, 0, 0, 0] + ourKey.publicKey + credentials.controller.signingKey.publicKey)
    }

    /// Throws `wrongSignature` where it is not the device that was paired, and `weakKey`.
    public func accept(_ answer: PairingAnswer) throws(PairingError) -> LegacyPairVerifySignature {
        let message = PairingMessage.legacyVerifyKey
        let bytes = try answer.octets(count: 96, of: message)
        let theirKey = Array(bytes.prefix(32))
        guard let shared = ourKey.shared(with: theirKey) else { throw .weakKey }
        // One key stream: it runs on from their signature to ours.
        let stream = LegacyCipher.stream(
            128, key: LegacyCipher.derive("Pair-Verify-AES-Key", shared),
            vector: LegacyCipher.derive("Pair-Verify-AES-IV", shared))
        if let known = credentials.accessoryKey {
            let signature = zip(bytes.dropFirst(32), stream).map { $0 ^ $1 }
            guard SigningKey.verify(signature, over: theirKey + ourKey.publicKey, publicKey: known) else {
                throw .wrongSignature(at: message)
            }
        }
        let signature = credentials.controller.signingKey.signature(over: ourKey.publicKey + theirKey)
        return LegacyPairVerifySignature(
            sealed: zip(signature, stream.dropFirst(64)).map { $0 ^ $1 }, secret: shared)
    }
}

/// Our signature.
public struct LegacyPairVerifySignature: PairingRung {
    private let sealed: [UInt8]
    private let secret: Hidden

    init(sealed: [UInt8], secret: [UInt8]) {
        self.sealed = sealed
        self.secret = Hidden(secret)
    }

    public var request: PairingRequest { .legacyPairVerify([0, 0, 0, 0] + sealed) }

    /// Throws `forbidden`, `connectionAuthorizationRequired` or `status` where the device has forgotten us.
    public func accept(_ answer: PairingAnswer) throws(PairingError) -> LegacyPairingResult {
        try answer.success(of: .legacyVerifyEnd)
        return LegacyPairingResult(secret: secret.bytes)
    }
}

/// The device has let us in. No channel is encrypted.
public struct LegacyPairingResult: Sendable, Hashable {
    private let hiddenSecret: Hidden

    public init(secret: [UInt8]) { hiddenSecret = Hidden(secret) }

    /// 32 bytes: video's keys are made with it.
    public var secret: [UInt8] { hiddenSecret.bytes }
}

extension PairingRequest {
    fileprivate static func legacyPairVerify(_ bytes: [UInt8]) -> PairingRequest {
        PairingRequest(path: "/pair-verify", body: .octets(bytes))
    }
}
