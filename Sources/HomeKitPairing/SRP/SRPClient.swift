/// Our side of an SRP-6a exchange: it shows that we know the password without telling it
/// (`Protocols/pairing/README.md`, “SRP”).
struct SRPClient: Sendable {
    let group: SRPGroup
    private let secret: Hidden
    /// A: big-endian, without leading zeros.
    let publicKey: [UInt8]

    /// - Parameter secret: 32 bytes.
    init(_ group: SRPGroup, secret: [UInt8]) {
        self.group = group
        self.secret = Hidden(secret)
        publicKey = BigNumber(group.generator).raised(to: BigNumber(secret), modulo: BigNumber(group.prime)).bytes
    }

    /// With a secret of its own whose public key has the full length: devices disagree on whether a shorter one is
    /// hashed with its zeros.
    static func random(_ group: SRPGroup) -> SRPClient {
        while true {
            let client = SRPClient(group, secret: PairingCrypto.random(32))
            if client.publicKey.count == group.prime.count { return client }
        }
    }

    /// What is common with a device of this salt and public key.
    ///
    /// Throws `weakKey` for a key of the device that would make the secret known to anybody.
    func session(
        user: String, password: [UInt8], salt: [UInt8], deviceKey: [UInt8]
    ) throws(PairingError) -> SRPSession {
        let prime = BigNumber(group.prime)
        let other = BigNumber(deviceKey)
        guard !other.isZero, other.isLess(than: prime) else { throw .weakKey }
        let scrambler = group.hash(group.padded(publicKey), group.padded(other.bytes))
        let inner = group.hash(Array(user.utf8), Array(":".utf8), password)
        let shared = try premaster(
            deviceKey: deviceKey, scrambler: scrambler, passwordHash: group.hash(salt, inner))
        let key = group.key(shared)
        let both = zip(group.hash(group.prime), group.hash(group.generator)).map { $0 ^ $1 }
        let proof = group.hash(both, group.hash(Array(user.utf8)), salt, publicKey, other.bytes, key)
        return SRPSession(key: key, proof: proof, expected: group.hash(publicKey, proof, key))
    }

    /// S = (B − k·g^x)^(a + u·x), without leading zeros.
    func premaster(
        deviceKey: [UInt8], scrambler: [UInt8], passwordHash: [UInt8]
    ) throws(PairingError) -> [UInt8] {
        let prime = BigNumber(group.prime)
        let scramblerNumber = BigNumber(scrambler)
        guard !scramblerNumber.isZero else { throw .weakKey }
        let exponent = BigNumber(passwordHash)
        let multiplier = BigNumber(group.hash(group.prime, group.padded(group.generator)))
        let verifier = BigNumber(group.generator).raised(to: exponent, modulo: prime)
        let base = BigNumber(deviceKey).subtracting(
            multiplier.multiplied(by: verifier, modulo: prime), modulo: prime)
        guard !base.isZero else { throw .weakKey }
        return base.raised(
            to: BigNumber(secret.bytes).adding(scramblerNumber.multiplied(by: exponent)), modulo: prime
        ).bytes
    }
}

/// What both sides have in common once the password is the same.
struct SRPSession: Sendable {
    private let hiddenKey: Hidden
    /// M1: ours.
    let proof: [UInt8]
    /// M2: the device's.
    private let expected: Hidden

    init(key: [UInt8], proof: [UInt8], expected: [UInt8]) {
        hiddenKey = Hidden(key)
        self.proof = proof
        self.expected = Hidden(expected)
    }

    /// 64 bytes, or 40. Secret.
    var key: [UInt8] { hiddenKey.bytes }

    /// Whether the device knows the password too.
    func accepts(_ proof: [UInt8]) -> Bool { PairingCrypto.equal(proof, expected.bytes) }
}
