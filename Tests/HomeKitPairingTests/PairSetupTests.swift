import Testing

@testable import HomeKitPairing

@Suite("R6 pair-setup")
struct PairSetupTests {
    let vector: Vectors.Setup
    let controller: ControllerIdentity
    let challenge: PairSetupM2

    init() throws {
        vector = try Vectors.load().setup
        controller = ControllerIdentity(
            identifier: vector.controller, signingKey: SigningKey(seed: bytes(vector.controllerSeed)))
        challenge = try PairPINStart(controller).accept(PairingAnswer()).accept(octets(vector.m2))
    }

    /// M3 with the vector's own secret.
    func proof() throws -> PairSetupM3 {
        try challenge.proof(
            Array(vector.pin.utf8), client: SRPClient(.homeKit, secret: bytes(vector.a)))
    }

    @Test("M1 to M6 are those of the vectors, byte by byte")
    func ladder() throws {
        let start = PairPINStart(controller)
        #expect(start.request == PairingRequest(path: "/pair-pin-start", hkp: 3))
        #expect(start.request.contentType == nil)
        let first = try start.accept(PairingAnswer()).request
        #expect(first == PairingRequest(path: "/pair-setup", hkp: 3, body: .octets(bytes(vector.m1))))
        #expect(first.contentType == "application/octet-stream")
        let proof = try proof()
        #expect(proof.request == PairingRequest(path: "/pair-setup", hkp: 3, body: .octets(bytes(vector.m3))))
        let exchange = try proof.accept(octets(vector.m4))
        #expect(exchange.request == PairingRequest(path: "/pair-setup", hkp: 3, body: .octets(bytes(vector.m5))))
        let result = try exchange.accept(octets(vector.m6))
        #expect(result.secret == bytes(vector.secret))
        let credentials = try #require(result.credentials)
        #expect(credentials.accessoryIdentifier == Array(vector.accessory.utf8))
        #expect(credentials.accessoryKey == bytes(vector.accessoryKey))
        #expect(credentials.controller == controller)
    }

    @Test("without a PIN to be shown, it begins with M1")
    func withoutStart() throws {
        let first = PairSetupM1(controller)
        #expect(first.request.body == .octets(bytes(vector.m1)))
        _ = try first.accept(octets(vector.m2))
    }

    @Test("a device that does not know pair-pin-start is asked for M2 all the same", arguments: [404, 400, 501, 503])
    func unknownStart(status: Int) throws {
        _ = try PairPINStart(controller).accept(PairingAnswer(status: status))
    }

    @Test("every code that the protocol names, at each of the three answers")
    func refusals() throws {
        let codes: [(UInt8, PairingRefusal)] = [
            (1, .unknown), (2, .authentication), (3, .backOff(seconds: nil)), (4, .maxPeers), (5, .maxTries),
            (6, .unavailable), (7, .busy), (0, .other(0)), (200, .other(200)),
        ]
        let proof = try proof()
        let exchange = try proof.accept(octets(vector.m4))
        for (code, refusal) in codes {
            #expect(throws: PairingError.refused(refusal, at: .setupM2)) {
                try PairSetupM1(controller).accept(answer(.init(.state, [2]), .init(.error, [code])))
            }
            #expect(throws: PairingError.refused(refusal, at: .setupM4)) {
                try proof.accept(answer(.init(.state, [4]), .init(.error, [code])))
            }
            #expect(throws: PairingError.refused(refusal, at: .setupM6)) {
                try exchange.accept(answer(.init(.error, [code]), .init(.state, [6])))
            }
        }
    }

    @Test(
        "how long to wait, little-endian and of any length",
        arguments: [
            ([30], 30), ([44, 1], 300), ([60, 0, 0, 0], 60), ([1, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1), ([], 0),
            ([0xFF, 0xFF, 0xFF, 0xFF], nil), ([1, 2, 3, 4, 5, 6, 7, 8, 9], nil),
        ] as [([UInt8], Int?)])
    func backOff(delay: [UInt8], seconds: Int?) {
        #expect(throws: PairingError.refused(.backOff(seconds: seconds), at: .setupM2)) {
            try PairSetupM1(controller).accept(
                answer(.init(.state, [2]), .init(.error, [3]), .init(.retryDelay, delay)))
        }
    }

    @Test("the statuses with a meaning of their own, and the others")
    func statuses() throws {
        let proof = try proof()
        for (status, error) in [
            (401, PairingError.unauthorized), (403, .forbidden), (470, .connectionAuthorizationRequired),
        ] {
            #expect(throws: error) { try PairPINStart(controller).accept(PairingAnswer(status: status)) }
            #expect(throws: error) { try PairSetupM1(controller).accept(PairingAnswer(status: status)) }
            #expect(throws: error) { try proof.accept(PairingAnswer(status: status)) }
        }
        #expect(throws: PairingError.status(500, at: .setupM4)) { try proof.accept(PairingAnswer(status: 500)) }
        // A status that says less than the items.
        var refused = answer(.init(.state, [4]), .init(.error, [2]))
        refused.status = 400
        #expect(throws: PairingError.refused(.authentication, at: .setupM4)) { try proof.accept(refused) }
    }

    @Test("an answer of another state, or of none")
    func states() throws {
        for state: UInt8 in [0, 1, 3, 4, 6, 255] {
            let changed = try octets(vector.m2).changing(.state) { _ in [state] }
            #expect(throws: PairingError.wrongState(state, at: .setupM2)) {
                try PairSetupM1(controller).accept(changed)
            }
        }
        let without = try octets(vector.m2).changing(.state) { _ in nil }
        #expect(throws: PairingError.wrongState(nil, at: .setupM2)) { try PairSetupM1(controller).accept(without) }
        let proof = try proof()
        #expect(throws: PairingError.wrongState(2, at: .setupM4)) { try proof.accept(octets(vector.m2)) }
        #expect(throws: PairingError.wrongState(nil, at: .setupM4)) { try proof.accept(PairingAnswer()) }
    }

    @Test("what M2, M4 and M6 have to have, and how long it may be")
    func items() throws {
        let first = PairSetupM1(controller)
        for tag in [TLV8.Tag.salt, .publicKey] {
            let without = try octets(vector.m2).changing(tag) { _ in nil }
            #expect(throws: PairingError.missing(tag, at: .setupM2)) { try first.accept(without) }
        }
        let longKey = try octets(vector.m2).changing(.publicKey) { $0 + [1] }
        #expect(throws: PairingError.wrongLength(385, at: .setupM2)) { try first.accept(longKey) }
        let longSalt = try octets(vector.m2).changing(.salt) { _ in [UInt8](repeating: 1, count: 65) }
        #expect(throws: PairingError.wrongLength(65, at: .setupM2)) { try first.accept(longSalt) }
        let noKey = try octets(vector.m2).changing(.publicKey) { _ in [] }
        #expect(throws: PairingError.wrongLength(0, at: .setupM2)) { try first.accept(noKey) }
        let proof = try proof()
        let noProof = try octets(vector.m4).changing(.proof) { _ in nil }
        #expect(throws: PairingError.missing(.proof, at: .setupM4)) { try proof.accept(noProof) }
        let shortProof = try octets(vector.m4).changing(.proof) { $0.dropLast() }
        #expect(throws: PairingError.wrongLength(63, at: .setupM4)) { try proof.accept(shortProof) }
        let exchange = try proof.accept(octets(vector.m4))
        let nothing = try octets(vector.m6).changing(.encryptedData) { _ in nil }
        #expect(throws: PairingError.missing(.encryptedData, at: .setupM6)) { try exchange.accept(nothing) }
        let tagOnly = try octets(vector.m6).changing(.encryptedData) { Array($0.prefix(15)) }
        #expect(throws: PairingError.wrongLength(15, at: .setupM6)) { try exchange.accept(tagOnly) }
        #expect(throws: PairingError.wrongLength(2, at: .setupM2)) {
            try first.accept(answer(.init(.state, [2]), .init(.error, [2, 2])))
        }
    }

    @Test("what is cut off at any byte, too long, or no items at all")
    func malformed() throws {
        let message = bytes(vector.m2)
        // After the key's first piece, a whole message of a shorter key ends: only the proof can tell.
        let piece = message.count - (2 + 384 - 255)
        for count in 0..<message.count where count != piece {
            #expect(throws: PairingError.self) {
                try PairSetupM1(controller).accept(PairingAnswer(body: .octets(Array(message.prefix(count)))))
            }
        }
        let shortKey = try PairSetupM1(controller).accept(PairingAnswer(body: .octets(Array(message.prefix(piece)))))
        let proof = try shortKey.proof(
            Array(vector.pin.utf8), client: SRPClient(.homeKit, secret: bytes(vector.a)))
        #expect(throws: PairingError.wrongProof) { try proof.accept(octets(vector.m4)) }
        let oversized = PairingAnswer(body: .octets([UInt8](repeating: 0, count: 65_537)))
        #expect(throws: PairingError.malformed(.tooLong(65_537), at: .setupM2)) {
            try PairSetupM1(controller).accept(oversized)
        }
        #expect(throws: PairingError.malformed(.truncated(at: 0), at: .setupM2)) {
            try PairSetupM1(controller).accept(PairingAnswer(body: .octets(Array("<html>".utf8))))
        }
        #expect(throws: PairingError.unreadable(at: .setupM2)) {
            try PairSetupM1(controller).accept(PairingAnswer(body: .dictionary([:])))
        }
    }

    @Test("a device that does not know the code is found out")
    func wrongProof() throws {
        let proof = try proof()
        let changed = try octets(vector.m4).changing(.proof, flipped)
        #expect(throws: PairingError.wrongProof) { try proof.accept(changed) }
        // Its own proof for another code.
        let other = try challenge.proof(Array("0000".utf8), client: SRPClient(.homeKit, secret: bytes(vector.a)))
        #expect(throws: PairingError.wrongProof) { try other.accept(octets(vector.m4)) }
    }

    @Test("B mod N = 0 is refused before anything is proven")
    func weakKey() throws {
        for key in [SRPGroup.homeKit.prime, [0]] {
            let changed = try octets(vector.m2).changing(.publicKey) { _ in key }
            let challenge = try PairSetupM1(controller).accept(changed)
            #expect(throws: PairingError.weakKey) { try challenge.proof(pin: "1234") }
        }
    }

    @Test("M6 changed, or signed by another key")
    func lastAnswer() throws {
        let exchange = try proof().accept(octets(vector.m4))
        let changed = try octets(vector.m6).changing(.encryptedData, flipped)
        #expect(throws: PairingError.notAuthentic(at: .setupM6)) { try exchange.accept(changed) }

        let key = PairingCrypto.hkdf(
            bytes(vector.secret), salt: "Pair-Setup-Encrypt-Salt", info: "Pair-Setup-Encrypt-Info")
        func sealed(_ items: [TLV8.Item]) -> PairingAnswer {
            answer(
                .init(.state, [6]),
                .init(
                    .encryptedData,
                    PairingCrypto.seal(TLV8(items).encoded(), key: key, nonce: Array("PS-Msg06".utf8))))
        }
        let identifier = TLV8.Item(.identifier, Array(vector.accessory.utf8))
        let publicKey = TLV8.Item(.publicKey, bytes(vector.accessoryKey))
        let signature = TLV8.Item(.signature, SigningKey.random().signature(over: [1, 2, 3]))
        #expect(throws: PairingError.wrongSignature(at: .setupM6)) {
            try exchange.accept(sealed([identifier, publicKey, signature]))
        }
        for (items, missing) in [
            ([publicKey, signature], TLV8.Tag.identifier), ([identifier, signature], .publicKey),
            ([identifier, publicKey], .signature),
        ] {
            #expect(throws: PairingError.missing(missing, at: .setupM6)) { try exchange.accept(sealed(items)) }
        }
        #expect(throws: PairingError.wrongLength(0, at: .setupM6)) {
            try exchange.accept(sealed([.init(.identifier, []), publicKey, signature]))
        }
    }

    @Test(
        "what cannot be a PIN is not sent",
        arguments: ["", " ", "12a4", "１２３４", "-", "1234\n5", String(repeating: "1", count: 33)])
    func impossiblePIN(_ text: String) {
        #expect(throws: PairingError.impossibleCode) { try challenge.proof(pin: text) }
    }

    @Test(
        "blanks around a PIN are nothing; dashes stay",
        arguments: [(" 1234\r\n", "1234"), ("123-45-678", "123-45-678")])
    func typedPIN(_ text: String, _ sent: String) throws {
        #expect(try PairingCode.pin(text) == Array(sent.utf8))
    }

    @Test("a password may be anything but nothing, up to 255 bytes")
    func password() throws {
        #expect(try PairingCode.password(" café\n") == Array(" café\n".utf8))
        #expect(throws: PairingError.impossibleCode) { try challenge.proof(password: "") }
        #expect(throws: PairingError.impossibleCode) {
            try challenge.proof(password: String(repeating: "a", count: 256))
        }
    }

    @Test("no rung tells a secret when it is printed")
    func masks() throws {
        let proof = try proof()
        let exchange = try proof.accept(octets(vector.m4))
        let result = try exchange.accept(octets(vector.m6))
        var printed = ""
        dump(challenge, to: &printed)
        dump(proof, to: &printed)
        dump(exchange, to: &printed)
        dump(result, to: &printed)
        printed += "\(challenge) \(proof) \(exchange) \(result) \(String(reflecting: result))"
        for secret in [vector.secret, vector.controllerSeed, vector.a] {
            let first = bytes(secret).prefix(4).map(String.init)
            #expect(!printed.contains(first.joined(separator: ", ")))
        }
        #expect(!printed.contains("[3, 9, 3, 9"))
    }
}

@Suite("R6 transient pair-setup")
struct TransientPairSetupTests {
    @Test("M1 to M4 are those of the vectors, and the secret has 64 bytes")
    func ladder() throws {
        let vector = try Vectors.load().transient
        let first = TransientPairSetupM1()
        #expect(first.request == PairingRequest(path: "/pair-setup", hkp: 4, body: .octets(bytes(vector.m1))))
        let proof = try first.accept(octets(vector.m2), client: SRPClient(.homeKit, secret: bytes(vector.a)))
        #expect(proof.request == PairingRequest(path: "/pair-setup", hkp: 4, body: .octets(bytes(vector.m3))))
        let result = try proof.accept(octets(vector.m4))
        #expect(result.secret == bytes(vector.secret))
        #expect(result.secret.count == 64)
        #expect(result.credentials == nil)
    }

    @Test("a device that wants its PIN says so by a status, or by an error with status 200")
    func notAllowed() {
        let first = TransientPairSetupM1()
        #expect(throws: PairingError.connectionAuthorizationRequired) { try first.accept(PairingAnswer(status: 470)) }
        #expect(throws: PairingError.refused(.unavailable, at: .setupM2)) {
            try first.accept(answer(.init(.state, [2]), .init(.error, [6])))
        }
    }

    @Test("with a password, that is the code")
    func password() throws {
        let vector = try Vectors.load().transient
        let client = SRPClient(.homeKit, secret: bytes(vector.a))
        let same = try TransientPairSetupM1(password: "3939").accept(octets(vector.m2), client: client)
        #expect(same.request.body == .octets(bytes(vector.m3)))
        let other = try TransientPairSetupM1(password: "3938").accept(octets(vector.m2), client: client)
        #expect(other.request.body != .octets(bytes(vector.m3)))
        #expect(throws: PairingError.impossibleCode) { try TransientPairSetupM1(password: "") }
    }
}
