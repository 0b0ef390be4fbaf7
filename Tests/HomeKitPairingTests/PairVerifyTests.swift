import Testing

@testable import HomeKitPairing

@Suite("R6 pair-verify")
struct PairVerifyTests {
    let vector: Vectors.Verify
    let credentials: HomeKitCredentials
    let first: PairVerifyM1

    init() throws {
        vector = try Vectors.load().verify
        credentials = HomeKitCredentials(
            controller: ControllerIdentity(
                identifier: vector.controller, signingKey: SigningKey(seed: bytes(vector.controllerSeed))),
            accessoryIdentifier: Array(vector.accessory.utf8), accessoryKey: bytes(vector.accessoryKey))
        first = PairVerifyM1(credentials, exchangeKey: ExchangeKey(secret: bytes(vector.exchangeSecret)))
    }

    /// M2 with an inner message of one's own, sealed as the device does.
    func sealed(_ items: [TLV8.Item]) throws -> PairingAnswer {
        let key = PairingCrypto.hkdf(
            bytes(vector.secret), salt: "Pair-Verify-Encrypt-Salt", info: "Pair-Verify-Encrypt-Info")
        let inner = PairingCrypto.seal(TLV8(items).encoded(), key: key, nonce: Array("PV-Msg02".utf8))
        return try octets(vector.m2).changing(.encryptedData) { _ in inner }
    }

    @Test("M1 to M4 are those of the vectors, byte by byte")
    func ladder() throws {
        #expect(first.request == PairingRequest(path: "/pair-verify", hkp: 3, body: .octets(bytes(vector.m1))))
        let second = try first.accept(octets(vector.m2))
        #expect(second.request == PairingRequest(path: "/pair-verify", hkp: 3, body: .octets(bytes(vector.m3))))
        let result = try second.accept(octets(vector.m4))
        #expect(result.secret == bytes(vector.secret))
        #expect(result.secret.count == 32)
        #expect(result.credentials == credentials)
    }

    @Test("another device: another identifier, another key")
    func otherDevice() throws {
        let other = HomeKitCredentials(
            controller: credentials.controller, accessoryIdentifier: Array("00:00:00:00:00:00".utf8),
            accessoryKey: credentials.accessoryKey)
        let exchangeKey = ExchangeKey(secret: bytes(vector.exchangeSecret))
        #expect(throws: PairingError.wrongIdentifier) {
            try PairVerifyM1(other, exchangeKey: exchangeKey).accept(octets(vector.m2))
        }
        let otherKey = HomeKitCredentials(
            controller: credentials.controller, accessoryIdentifier: credentials.accessoryIdentifier,
            accessoryKey: SigningKey.random().publicKey)
        #expect(throws: PairingError.wrongSignature(at: .verifyM2)) {
            try PairVerifyM1(otherKey, exchangeKey: exchangeKey).accept(octets(vector.m2))
        }
    }

    @Test("an answer that was heard before does not fit a new exchange")
    func replay() {
        #expect(throws: PairingError.notAuthentic(at: .verifyM2)) {
            try PairVerifyM1(credentials).accept(octets(vector.m2))
        }
    }

    @Test("M2 changed, weak or lacking something")
    func changed() throws {
        let flippedData = try octets(vector.m2).changing(.encryptedData, flipped)
        #expect(throws: PairingError.notAuthentic(at: .verifyM2)) { try first.accept(flippedData) }
        let zeroKey = try octets(vector.m2).changing(.publicKey) { _ in [UInt8](repeating: 0, count: 32) }
        #expect(throws: PairingError.weakKey) { try first.accept(zeroKey) }
        let shortKey = try octets(vector.m2).changing(.publicKey) { Array($0.prefix(31)) }
        #expect(throws: PairingError.wrongLength(31, at: .verifyM2)) { try first.accept(shortKey) }
        for tag in [TLV8.Tag.publicKey, .encryptedData] {
            let without = try octets(vector.m2).changing(tag) { _ in nil }
            #expect(throws: PairingError.missing(tag, at: .verifyM2)) { try first.accept(without) }
        }
        let identifier = TLV8.Item(.identifier, Array(vector.accessory.utf8))
        let signature = TLV8.Item(.signature, [UInt8](repeating: 1, count: 64))
        #expect(throws: PairingError.missing(.identifier, at: .verifyM2)) { try first.accept(sealed([signature])) }
        #expect(throws: PairingError.missing(.signature, at: .verifyM2)) { try first.accept(sealed([identifier])) }
        #expect(throws: PairingError.wrongSignature(at: .verifyM2)) {
            try first.accept(sealed([identifier, signature]))
        }
        #expect(throws: PairingError.wrongLength(63, at: .verifyM2)) {
            try first.accept(sealed([identifier, .init(.signature, [UInt8](repeating: 1, count: 63))]))
        }
    }

    @Test("a device that has forgotten us, with status 200 and otherwise")
    func forgotten() throws {
        let second = try first.accept(octets(vector.m2))
        #expect(throws: PairingError.refused(.authentication, at: .verifyM4)) {
            try second.accept(answer(.init(.state, [4]), .init(.error, [2])))
        }
        #expect(throws: PairingError.connectionAuthorizationRequired) {
            try second.accept(PairingAnswer(status: 470))
        }
        #expect(throws: PairingError.wrongState(2, at: .verifyM4)) { try second.accept(octets(vector.m2)) }
        #expect(throws: PairingError.wrongState(nil, at: .verifyM4)) { try second.accept(PairingAnswer()) }
    }
}
