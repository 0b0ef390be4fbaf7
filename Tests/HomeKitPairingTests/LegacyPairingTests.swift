import Testing

@testable import HomeKitPairing

@Suite("R6 legacy pairing")
struct LegacyPairingTests {
    private func controller(_ user: String, _ seed: String) -> ControllerIdentity {
        ControllerIdentity(identifier: user, signingKey: SigningKey(seed: bytes(seed)))
    }

    private func proof(_ vector: Vectors.LegacySetup) throws -> LegacyPairSetupProof {
        try LegacyPairSetupUser(controller(vector.user, vector.controllerSeed))
            .accept(
                PairingAnswer(body: .dictionary(["pk": .data(bytes(vector.B)), "salt": .data(bytes(vector.salt))]))
            )
            .proof(Array(vector.pin.utf8), client: SRPClient(.legacy, secret: bytes(vector.a)))
    }

    private func key(_ vector: Vectors.LegacySetup) throws -> LegacyPairSetupKey {
        try proof(vector).accept(PairingAnswer(body: .dictionary(["proof": .data(bytes(vector.M2))])))
    }

    @Test("the three requests are those of the vectors; the vector's last byte wraps", arguments: [false, true])
    func ladder(wrapping: Bool) throws {
        let vectors = try Vectors.load()
        let vector = wrapping ? vectors.legacySetupWrapping : vectors.legacySetup
        #expect((vector.lastByteOfVector == 255) == wrapping)
        let user = LegacyPairSetupUser(controller(vector.user, vector.controllerSeed))
        #expect(
            user.request
                == PairingRequest(
                    path: "/pair-setup-pin", body: .dictionary(["method": .text("pin"), "user": .text(vector.user)])))
        #expect(user.request.contentType == "application/x-apple-binary-plist")
        let proof = try proof(vector)
        #expect(
            proof.request.body == .dictionary(["pk": .data(bytes(vector.A)), "proof": .data(bytes(vector.M1))]))
        let key = try key(vector)
        #expect(
            key.request.body
                == .dictionary([
                    "epk": .data(bytes(vector.controllerKey.epk)),
                    "authTag": .data(bytes(vector.controllerKey.authTag)),
                ]))
        let credentials = try key.accept(
            PairingAnswer(
                body: .dictionary([
                    "epk": .data(bytes(vector.accessoryKeySealed.epk)),
                    "authTag": .data(bytes(vector.accessoryKeySealed.authTag)),
                ])))
        #expect(credentials.accessoryKey == bytes(vector.accessoryKey))
    }

    @Test("it begins with the PIN being shown, under a name of 16 digits that stays the same")
    func start() throws {
        let identity = controller("5D7F7A4C-1B0E-4A77-9C33-0A1B2C3D4E5F", try Vectors.load().setup.controllerSeed)
        let start = LegacyPairPINStart(identity)
        #expect(start.request == PairingRequest(path: "/pair-pin-start"))
        let body = try start.accept(PairingAnswer()).request.body
        #expect(body == .dictionary(["method": .text("pin"), "user": .text(identity.legacy.identifier)]))
        #expect(identity.legacy.identifier.count == 16)
        #expect(identity.legacy.identifier.allSatisfy { $0.isHexDigit && !$0.isLowercase })
        #expect(identity.legacy.signingKey == identity.signingKey)
        #expect(throws: PairingError.status(404, at: .pinStart)) { try start.accept(PairingAnswer(status: 404)) }
        #expect(throws: PairingError.forbidden) { try start.accept(PairingAnswer(status: 403)) }
    }

    @Test("a wrong PIN is said by a status", arguments: [401, 403, 470])
    func wrongPIN(status: Int) throws {
        let proof = try proof(try Vectors.load().legacySetup)
        #expect(throws: PairingError.refused(.authentication, at: .legacySetupProof)) {
            try proof.accept(PairingAnswer(status: status))
        }
    }

    @Test("entries that are missing, of another type, too long, too short; no property list at all")
    func malformed() throws {
        let vector = try Vectors.load().legacySetup
        let user = LegacyPairSetupUser(controller(vector.user, vector.controllerSeed))
        let good: [String: PairingValue] = ["pk": .data(bytes(vector.B)), "salt": .data(bytes(vector.salt))]
        for name in good.keys {
            var without = good
            without[name] = nil
            #expect(throws: PairingError.missingEntry(name, at: .legacySetupChallenge)) {
                try user.accept(PairingAnswer(body: .dictionary(without)))
            }
            without[name] = .text("text")
            #expect(throws: PairingError.missingEntry(name, at: .legacySetupChallenge)) {
                try user.accept(PairingAnswer(body: .dictionary(without)))
            }
            without[name] = .data([])
            #expect(throws: PairingError.wrongLength(0, at: .legacySetupChallenge)) {
                try user.accept(PairingAnswer(body: .dictionary(without)))
            }
        }
        var long = good
        long["pk"] = .data([UInt8](repeating: 1, count: 257))
        #expect(throws: PairingError.wrongLength(257, at: .legacySetupChallenge)) {
            try user.accept(PairingAnswer(body: .dictionary(long)))
        }
        for body in [PairingBody.none, .octets([1, 2, 3])] {
            #expect(throws: PairingError.unreadable(at: .legacySetupChallenge)) {
                try user.accept(PairingAnswer(body: body))
            }
        }
        let proof = try proof(vector)
        #expect(throws: PairingError.wrongProof) {
            try proof.accept(PairingAnswer(body: .dictionary(["proof": .data(flipped(bytes(vector.M2)))])))
        }
        #expect(throws: PairingError.wrongLength(64, at: .legacySetupProof)) {
            try proof.accept(
                PairingAnswer(body: .dictionary(["proof": .data([UInt8](repeating: 1, count: 64))])))
        }
        var weak = good
        weak["pk"] = .data(SRPGroup.legacy.prime)
        let challenge = try user.accept(PairingAnswer(body: .dictionary(weak)))
        #expect(throws: PairingError.weakKey) { try challenge.proof(pin: "1234") }
        #expect(throws: PairingError.impossibleCode) { try challenge.proof(pin: "abcd") }
    }

    @Test("the device's key: kept to itself, half sent, changed")
    func accessoryKey() throws {
        let vector = try Vectors.load().legacySetup
        let key = try key(vector)
        for body in [PairingBody.none, .octets([0]), .dictionary([:])] {
            #expect(try key.accept(PairingAnswer(body: body)).accessoryKey == nil)
        }
        let sealed = bytes(vector.accessoryKeySealed.epk)
        let tag = bytes(vector.accessoryKeySealed.authTag)
        #expect(throws: PairingError.missingEntry("authTag", at: .legacySetupKey)) {
            try key.accept(PairingAnswer(body: .dictionary(["epk": .data(sealed)])))
        }
        #expect(throws: PairingError.notAuthentic(at: .legacySetupKey)) {
            try key.accept(
                PairingAnswer(body: .dictionary(["epk": .data(flipped(sealed)), "authTag": .data(tag)])))
        }
        // Our own message sent back.
        let ours = vector.controllerKey
        #expect(throws: PairingError.notAuthentic(at: .legacySetupKey)) {
            try key.accept(
                PairingAnswer(
                    body: .dictionary(["epk": .data(bytes(ours.epk)), "authTag": .data(bytes(ours.authTag))])))
        }
        #expect(throws: PairingError.status(500, at: .legacySetupKey)) {
            try key.accept(PairingAnswer(status: 500))
        }
    }

    @Test("pair-verify's two requests are those of the vectors")
    func verify() throws {
        let vector = try Vectors.load().legacyVerify
        let credentials = LegacyCredentials(
            controller: controller("0123456789ABCDEF", vector.controllerSeed), accessoryKey: bytes(vector.accessoryKey))
        let exchangeKey = ExchangeKey(secret: bytes(vector.exchangeSecret))
        let first = LegacyPairVerifyKey(credentials, exchangeKey: exchangeKey)
        #expect(first.request == PairingRequest(path: "/pair-verify", body: .octets(bytes(vector.request1))))
        let second = try first.accept(octets(vector.answer1))
        #expect(second.request == PairingRequest(path: "/pair-verify", body: .octets(bytes(vector.request2))))
        #expect(try second.accept(PairingAnswer()).secret == bytes(vector.secret))
        #expect(throws: PairingError.connectionAuthorizationRequired) {
            try second.accept(PairingAnswer(status: 470))
        }
        #expect(throws: PairingError.status(400, at: .legacyVerifyEnd)) {
            try second.accept(PairingAnswer(status: 400))
        }

        let changed = PairingAnswer(body: .octets(flipped(bytes(vector.answer1))))
        #expect(throws: PairingError.wrongSignature(at: .legacyVerifyKey)) { try first.accept(changed) }
        // A device that never told its key cannot be checked.
        let unchecked = LegacyCredentials(controller: credentials.controller, accessoryKey: nil)
        _ = try LegacyPairVerifyKey(unchecked, exchangeKey: exchangeKey).accept(changed)
        for count in [0, 1, 32, 95, 97] {
            let body = Array((bytes(vector.answer1) + [0]).prefix(count))
            #expect(throws: PairingError.wrongLength(count, at: .legacyVerifyKey)) {
                try first.accept(PairingAnswer(body: .octets(body)))
            }
        }
        #expect(throws: PairingError.unreadable(at: .legacyVerifyKey)) { try first.accept(PairingAnswer()) }
        let zero = PairingAnswer(body: .octets([UInt8](repeating: 0, count: 96)))
        #expect(throws: PairingError.weakKey) { try first.accept(zero) }
    }

    @Test("without a PIN, keys are swapped")
    func open() throws {
        let vector = try Vectors.load().legacyVerify
        let identity = controller("0123456789ABCDEF", vector.controllerSeed)
        let setup = LegacyOpenPairSetup(identity)
        #expect(
            setup.request == PairingRequest(path: "/pair-setup", body: .octets(identity.signingKey.publicKey)))
        #expect(try setup.accept(octets(vector.accessoryKey)).accessoryKey == bytes(vector.accessoryKey))
        #expect(throws: PairingError.wrongLength(31, at: .legacyOpenSetup)) {
            try setup.accept(PairingAnswer(body: .octets([UInt8](repeating: 1, count: 31))))
        }
        #expect(throws: PairingError.forbidden) { try setup.accept(PairingAnswer(status: 403)) }
    }
}
