/// Asks the device to show its PIN; the rung before pair-setup (`Protocols/pairing/README.md`, “pair-setup”).
public struct PairPINStart: PairingRung {
    private let controller: ControllerIdentity

    public init(_ controller: ControllerIdentity) { self.controller = controller }

    public var request: PairingRequest { PairingRequest(path: "/pair-pin-start", hkp: 3) }

    /// Devices that show their PIN all the time may not know this request: a status that M1 gets as well, or that says
    /// nothing about us, is passed over.
    public func accept(_ answer: PairingAnswer) throws(PairingError) -> PairSetupM1 {
        switch answer.status {
        case 401, 403, 470: try answer.success(of: .pinStart)
        default: break
        }
        return PairSetupM1(controller)
    }
}

/// M1: pair-setup begins. What a device has on its screen from before will do, and a password needs no screen.
public struct PairSetupM1: PairingRung {
    private let controller: ControllerIdentity

    public init(_ controller: ControllerIdentity) { self.controller = controller }

    public var request: PairingRequest {
        .pairSetup([.init(.state, [1]), .init(.method, [0])], hkp: 3)
    }

    public func accept(_ answer: PairingAnswer) throws(PairingError) -> PairSetupM2 {
        PairSetupM2(controller: controller, challenge: try SRPChallenge(answer))
    }
}

/// M2 has come: the device waits for a code, for as long as the connection lives.
public struct PairSetupM2: Sendable {
    let controller: ControllerIdentity
    let challenge: SRPChallenge

    /// M3 with the PIN that the device shows, as it is shown.
    ///
    /// Throws `impossibleCode` for what is no digits and dashes, and `weakKey`.
    public func proof(pin: String) throws(PairingError) -> PairSetupM3 {
        try proof(PairingCode.pin(pin), client: .random(.homeKit))
    }

    /// M3 with the password that was set on the device. Throws `impossibleCode` for none, or more than 255 bytes, and
    /// `weakKey`.
    public func proof(password: String) throws(PairingError) -> PairSetupM3 {
        try proof(PairingCode.password(password), client: .random(.homeKit))
    }

    func proof(_ code: [UInt8], client: SRPClient) throws(PairingError) -> PairSetupM3 {
        PairSetupM3(controller: controller, exchange: try challenge.exchange(code, client: client))
    }
}

/// M3: our proof that we know the code.
public struct PairSetupM3: PairingRung {
    private let controller: ControllerIdentity
    private let exchange: SRPExchange

    init(controller: ControllerIdentity, exchange: SRPExchange) {
        self.controller = controller
        self.exchange = exchange
    }

    public var request: PairingRequest { exchange.request(hkp: 3) }

    /// Throws `refused` with `authentication` for a wrong code.
    public func accept(_ answer: PairingAnswer) throws(PairingError) -> PairSetupM5 {
        PairSetupM5(controller: controller, secret: try exchange.secret(answer))
    }
}

/// M5: who we are, for good.
public struct PairSetupM5: PairingRung {
    private let controller: ControllerIdentity
    private let secret: Hidden

    init(controller: ControllerIdentity, secret: [UInt8]) {
        self.controller = controller
        self.secret = Hidden(secret)
    }

    private var key: [UInt8] {
        PairingCrypto.hkdf(secret.bytes, salt: "Pair-Setup-Encrypt-Salt", info: "Pair-Setup-Encrypt-Info")
    }

    public var request: PairingRequest {
        let proof = PairingCrypto.hkdf(
            secret.bytes, salt: "Pair-Setup-Controller-Sign-Salt", info: "Pair-Setup-Controller-Sign-Info")
        let identifier = Array(controller.identifier.utf8)
        let ourKey = controller.signingKey
        let ours = TLV8([
            .init(.identifier, identifier), .init(.publicKey, ourKey.publicKey),
            .init(.signature, ourKey.signature(over: proof + identifier + ourKey.publicKey)),
        ])
        let sealed = PairingCrypto.seal(ours.encoded(), key: key, nonce: Array("PS-Msg05".utf8))
        return .pairSetup([.init(.state, [5]), .init(.encryptedData, sealed)], hkp: 3)
    }

    /// Throws `notAuthentic` and `wrongSignature`.
    public func accept(_ answer: PairingAnswer) throws(PairingError) -> PairingResult {
        let message = PairingMessage.setupM6
        let sealed = try answer.items(of: message).value(.encryptedData, count: 16...4_096, of: message)
        guard let opened = PairingCrypto.open(sealed, key: key, nonce: Array("PS-Msg06".utf8)) else {
            throw .notAuthentic(at: message)
        }
        let theirs = try TLV8(opened, of: message)
        let identifier = try theirs.value(.identifier, count: 1...255, of: message)
        let theirKey = try theirs.value(.publicKey, count: 32, of: message)
        let signature = try theirs.value(.signature, count: 64, of: message)
        let proof = PairingCrypto.hkdf(
            secret.bytes, salt: "Pair-Setup-Accessory-Sign-Salt", info: "Pair-Setup-Accessory-Sign-Info")
        guard SigningKey.verify(signature, over: proof + identifier + theirKey, publicKey: theirKey) else {
            throw .wrongSignature(at: message)
        }
        return PairingResult(
            secret: secret.bytes,
            credentials: HomeKitCredentials(
                controller: controller, accessoryIdentifier: identifier, accessoryKey: theirKey))
    }
}

/// What a ladder of HomeKit pairing leads to.
public struct PairingResult: Sendable, Hashable {
    private let hiddenSecret: Hidden
    /// What to keep, so that pair-verify does next time; nil after transient pairing.
    public let credentials: HomeKitCredentials?

    public init(secret: [UInt8], credentials: HomeKitCredentials? = nil) {
        hiddenSecret = Hidden(secret)
        self.credentials = credentials
    }

    /// 32 bytes after pair-verify, 64 after transient pair-setup: what the channel's keys come from, beginning with the
    /// byte after the last answer. After pair-setup with a PIN (64 bytes) nothing is encrypted: pair-verify comes next.
    public var secret: [UInt8] { hiddenSecret.bytes }
}

extension PairingRequest {
    static func pairSetup(_ items: [TLV8.Item], hkp: Int) -> PairingRequest {
        PairingRequest(path: "/pair-setup", hkp: hkp, body: .octets(TLV8(items).encoded()))
    }
}
