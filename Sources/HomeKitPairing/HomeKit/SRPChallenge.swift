/// What M2 of pair-setup says: the salt and the device's public key.
struct SRPChallenge: Sendable {
    /// Bytes that a salt may have: HomeKit's has 16.
    static let saltLength = 1...64

    let salt: [UInt8]
    let deviceKey: [UInt8]

    init(_ answer: PairingAnswer) throws(PairingError) {
        let items = try answer.items(of: .setupM2)
        salt = try items.value(.salt, count: Self.saltLength, of: .setupM2)
        deviceKey = try items.value(.publicKey, count: 1...SRPGroup.homeKit.prime.count, of: .setupM2)
    }

    func exchange(_ code: [UInt8], client: SRPClient) throws(PairingError) -> SRPExchange {
        SRPExchange(
            publicKey: client.publicKey,
            session: try client.session(user: "Pair-Setup", password: code, salt: salt, deviceKey: deviceKey))
    }
}

/// M3 and M4 of pair-setup: proof against proof.
struct SRPExchange: Sendable {
    let publicKey: [UInt8]
    let session: SRPSession

    func request(hkp: Int) -> PairingRequest {
        .pairSetup(
            [.init(.state, [3]), .init(.publicKey, publicKey), .init(.proof, session.proof)], hkp: hkp)
    }

    /// 64 bytes.
    func secret(_ answer: PairingAnswer) throws(PairingError) -> [UInt8] {
        let proof = try answer.items(of: .setupM4).value(
            .proof, count: SRPGroup.homeKit.hashLength, of: .setupM4)
        guard session.accepts(proof) else { throw .wrongProof }
        return session.key
    }
}

/// What people type.
enum PairingCode {
    /// A PIN as it is shown: digits, and dashes between them. Blanks around it are passed over.
    static func pin(_ text: String) throws(PairingError) -> [UInt8] {
        var bytes = Array(text.utf8)[...]
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (9...13).contains($0) }
        while let first = bytes.first, isBlank(first) { bytes.removeFirst() }
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        let isDigit: (UInt8) -> Bool = { (0x30...0x39).contains($0) }
        guard (1...32).contains(bytes.count), bytes.contains(where: isDigit),
            bytes.allSatisfy({ isDigit($0) || $0 == 0x2D })
        else { throw .impossibleCode }
        return Array(bytes)
    }

    static func password(_ text: String) throws(PairingError) -> [UInt8] {
        guard (1...255).contains(text.utf8.count) else { throw .impossibleCode }
        return Array(text.utf8)
    }
}
