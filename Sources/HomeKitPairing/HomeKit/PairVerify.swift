/// M1 of pair-verify: a device that knows us lets us in (`Protocols/pairing/README.md`, “pair-verify”).
public struct PairVerifyM1: PairingRung {
    private let credentials: HomeKitCredentials
    private let ourKey: ExchangeKey

    /// - Parameter exchangeKey: of this one exchange.
    public init(_ credentials: HomeKitCredentials, exchangeKey: ExchangeKey = .random()) {
        self.credentials = credentials
        ourKey = exchangeKey
    }

    public var request: PairingRequest {
        .pairVerify([.init(.state, [1]), .init(.publicKey, ourKey.publicKey)])
    }

    /// Throws `wrongIdentifier`, `wrongSignature` and `notAuthentic` where it is not the device that was paired, and
    /// `weakKey`.
    public func accept(_ answer: PairingAnswer) throws(PairingError) -> PairVerifyM3 {
        let message = PairingMessage.verifyM2
        let items = try answer.items(of: message)
        let theirKey = try items.value(.publicKey, count: 32, of: message)
        let sealed = try items.value(.encryptedData, count: 16...4_096, of: message)
        guard let shared = ourKey.shared(with: theirKey) else { throw .weakKey }
        let key = PairingCrypto.hkdf(shared, salt: "Pair-Verify-Encrypt-Salt", info: "Pair-Verify-Encrypt-Info")
        guard let opened = PairingCrypto.open(sealed, key: key, nonce: Array("PV-Msg02".utf8)) else {
            throw .notAuthentic(at: message)
        }
        let theirs = try TLV8(opened, of: message)
        let identifier = try theirs.value(.identifier, count: 1...255, of: message)
        let signature = try theirs.value(.signature, count: 64, of: message)
        guard identifier == credentials.accessoryIdentifier else { throw .wrongIdentifier }
        guard
            SigningKey.verify(
                signature, over: theirKey + identifier + ourKey.publicKey, publicKey: credentials.accessoryKey)
        else { throw .wrongSignature(at: message) }
        return PairVerifyM3(
            credentials: credentials, ourKey: ourKey.publicKey, theirKey: theirKey, key: key, secret: shared)
    }
}

/// M3: our signature; with M4, the channel is encrypted.
public struct PairVerifyM3: PairingRung {
    private let credentials: HomeKitCredentials
    private let ourKey: [UInt8]
    private let theirKey: [UInt8]
    private let key: Hidden
    private let secret: Hidden

    init(credentials: HomeKitCredentials, ourKey: [UInt8], theirKey: [UInt8], key: [UInt8], secret: [UInt8]) {
        self.credentials = credentials
        self.ourKey = ourKey
        self.theirKey = theirKey
        self.key = Hidden(key)
        self.secret = Hidden(secret)
    }

    public var request: PairingRequest {
        let identifier = Array(credentials.controller.identifier.utf8)
        let ours = TLV8([
            .init(.identifier, identifier),
            .init(
                .signature,
                credentials.controller.signingKey.signature(over: ourKey + identifier + theirKey)),
        ])
        let sealed = PairingCrypto.seal(ours.encoded(), key: key.bytes, nonce: Array("PV-Msg03".utf8))
        return .pairVerify([.init(.state, [3]), .init(.encryptedData, sealed)])
    }

    /// Throws `refused` with `authentication` where the device has forgotten us.
    public func accept(_ answer: PairingAnswer) throws(PairingError) -> PairingResult {
        _ = try answer.items(of: .verifyM4)
        return PairingResult(secret: secret.bytes, credentials: credentials)
    }
}

extension PairingRequest {
    fileprivate static func pairVerify(_ items: [TLV8.Item]) -> PairingRequest {
        PairingRequest(path: "/pair-verify", hkp: 3, body: .octets(TLV8(items).encoded()))
    }
}
