/// M1 of pair-setup for one connection: nothing is shown and nothing is kept (`Protocols/pairing/README.md`,
/// “Transient pair-setup”).
public struct TransientPairSetupM1: PairingRung {
    private let code: Hidden

    /// With the code that all devices share.
    public init() { code = Hidden(Array("3939".utf8)) }

    /// With the password that was set on the device. Throws `impossibleCode` for none, or more than 255 bytes.
    public init(password: String) throws(PairingError) { code = Hidden(try PairingCode.password(password)) }

    public var request: PairingRequest {
        .pairSetup([.init(.state, [1]), .init(.method, [0]), .init(.flags, [0x10])], hkp: 4)
    }

    /// Throws `connectionAuthorizationRequired`, or `refused`, where the device wants its PIN, and `weakKey`.
    public func accept(_ answer: PairingAnswer) throws(PairingError) -> TransientPairSetupM3 {
        try accept(answer, client: .random(.homeKit))
    }

    func accept(_ answer: PairingAnswer, client: SRPClient) throws(PairingError) -> TransientPairSetupM3 {
        TransientPairSetupM3(exchange: try SRPChallenge(answer).exchange(code.bytes, client: client))
    }
}

/// M3: our proof; with M4, the channel is encrypted.
public struct TransientPairSetupM3: PairingRung {
    let exchange: SRPExchange

    public var request: PairingRequest { exchange.request(hkp: 4) }

    /// Throws `refused` with `authentication` for a wrong password.
    public func accept(_ answer: PairingAnswer) throws(PairingError) -> PairingResult {
        PairingResult(secret: try exchange.secret(answer))
    }
}
