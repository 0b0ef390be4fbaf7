import AirPlay
import HomeKitPairing

/// The older pairing, with a code and without, and its pair-verify (`Protocols/pairing/README.md`, “Legacy pairing”).
extension PairingServer {
    enum LegacySetup: Sendable {
        case idle
        /// The salt went out.
        case offered(SRPServer)
        /// The proof went out; the session key of SRP.
        case proven([UInt8])
    }

    /// What the first step of the older pair-verify left.
    struct LegacyVerify: Sendable {
        var own: [UInt8]
        var theirs: [UInt8]
        var controller: [UInt8]
        /// What the controller's signature comes under.
        var keystream: [UInt8]
    }

    // MARK: With a code

    mutating func answerLegacyPinSetup(
        _ request: Request, _ book: inout PairingServerBook
    ) -> PairingServerAnswer {
        guard case .code = policy.legacy else { return .status(404) }
        let before = legacySetup
        legacySetup = .idle
        guard let message = try? PropertyList(parsing: request.body) else { return .status(400) }
        switch before {
        case _ where message["method"] != nil: return offerLegacy(message, &book, at: request.now)
        case .offered(let server): return proveLegacy(message, server, &book, at: request.now)
        case .proven(let secret): return exchangeLegacy(message, secret, &book)
        case .idle: return .status(470)
        }
    }

    private mutating func offerLegacy(
        _ message: PropertyList, _ book: inout PairingServerBook, at now: Int64
    ) -> PairingServerAnswer {
        if let instead = fault(.legacyPin1, &book) { return instead }
        guard message["method"]?.string == "pin", let user = message["user"]?.string,
            (1...Self.maximumIdentifier).contains(user.utf8.count)
        else { return .status(400) }
        guard book.closed(policy, at: now) == nil, let code = showCode(legacy: true, &book) else { return .status(470) }
        let server = SRPServer(.legacy, user: user, password: code, salt: random(16), exponent: random(32))
        legacySetup = .offered(server)
        var answer = PairingServerAnswer.list(
            .dictionary(["pk": .data(server.publicKey), "salt": .data(server.salt)]))
        answer.news = [.showsCode(code)]
        return finish(.legacyPin1, answer, &book)
    }

    private mutating func proveLegacy(
        _ message: PropertyList, _ server: SRPServer, _ book: inout PairingServerBook, at now: Int64
    ) -> PairingServerAnswer {
        if let instead = fault(.legacyPin2, &book) { return instead }
        guard let key = message["pk"]?.data, let proof = message["proof"]?.data,
            let session = server.session(with: key), proof == session.clientProof
        else {
            var answer = PairingServerAnswer.status(470)
            answer.news = wrongTry(&book, at: now)
            return answer
        }
        book.countRightTry()
        legacySetup = .proven(session.key)
        var serverProof = session.serverProof
        if makes(.wrongProof, .legacyPin2, &book) { serverProof[0] ^= 1 }
        return finish(.legacyPin2, .list(.dictionary(["proof": .data(serverProof)])), &book)
    }

    private mutating func exchangeLegacy(
        _ message: PropertyList, _ secret: [UInt8], _ book: inout PairingServerBook
    ) -> PairingServerAnswer {
        if let instead = fault(.legacyPin3, &book) { return instead }
        let (key, start) = PairingServerCipher.keys("Pair-Setup", secret: secret)
        // The one that a secret gives is nobody's; the sender takes the next, the receiver the one after that.
        let theirs = Self.next(start)
        guard let sealed = message["epk"]?.data, sealed.count == 32, let tag = message["authTag"]?.data,
            let controller = PairingServerCipher.open(sealed, tag: tag, key: key, nonce: theirs),
            var own = PairingServerCipher.seal(book.key.publicKey, key: key, nonce: Self.next(theirs))
        else { return .status(470) }
        book.addLegacy(controller)
        if makes(.wrongProof, .legacyPin3, &book) { own.tag[0] ^= 1 }
        var answer = PairingServerAnswer.list(
            .dictionary(["epk": .data(own.ciphertext), "authTag": .data(own.tag)]))
        answer.news = [.paired(Self.name(controller))] + hideCode(&book)
        return finish(.legacyPin3, answer, &book)
    }

    /// The last byte counts up, without a carry.
    private static func next(_ nonce: [UInt8]) -> [UInt8] { nonce.dropLast() + [nonce[nonce.count - 1] &+ 1] }

    // MARK: Without

    mutating func answerLegacySetup(_ request: Request, _ book: inout PairingServerBook) -> PairingServerAnswer {
        guard policy.legacy == .open else { return .status(policy.legacy == nil ? 404 : 470) }
        if let instead = fault(.legacySetup, &book) { return instead }
        book.addLegacy(request.body)
        let answer = PairingServerAnswer.binary(book.key.publicKey, .paired(Self.name(request.body)))
        return finish(.legacySetup, answer, &book)
    }

    // MARK: pair-verify

    mutating func answerLegacyVerify(_ request: Request, _ book: inout PairingServerBook) -> PairingServerAnswer {
        guard policy.legacy != nil else { return .status(404) }
        let before = legacyVerify
        legacyVerify = nil
        switch (Array(request.body.prefix(4)), before) {
        case ([1, 0, 0, 0], _): return offerLegacyVerify(request.body, &book)
        case ([0, 0, 0, 0], let before?): return finishLegacyVerify(request.body, before, &book)
        case ([0, 0, 0, 0], nil): return .status(470)
        default: return .status(400)
        }
    }

    private mutating func offerLegacyVerify(
        _ body: [UInt8], _ book: inout PairingServerBook
    ) -> PairingServerAnswer {
        if let instead = fault(.legacyVerify1, &book) { return instead }
        let (theirs, controller) = (Array(body[4..<36]), Array(body[36..<68]))
        let own = ExchangeKey(secret: random(32))
        guard book.legacyKeys.contains(controller), let shared = own.shared(with: theirs) else { return .status(470) }
        let (key, start) = PairingServerCipher.keys("Pair-Verify", secret: shared)
        guard let keystream = PairingServerCipher.keystream(128, key: key, start: start) else { return .status(500) }
        var signature = book.key.signature(over: own.publicKey + theirs)
        if makes(.wrongSignature, .legacyVerify1, &book) { signature[0] ^= 1 }
        legacyVerify = LegacyVerify(
            own: own.publicKey, theirs: theirs, controller: controller, keystream: Array(keystream[64...]))
        let answer = PairingServerAnswer.binary(own.publicKey + zip(signature, keystream).map { $0 ^ $1 })
        return finish(.legacyVerify1, answer, &book)
    }

    /// Nothing is encrypted after it.
    private mutating func finishLegacyVerify(
        _ body: [UInt8], _ before: LegacyVerify, _ book: inout PairingServerBook
    ) -> PairingServerAnswer {
        if let instead = fault(.legacyVerify2, &book) { return instead }
        let signature = zip(body[4...], before.keystream).map { $0 ^ $1 }
        guard SigningKey.verify(signature, over: before.theirs + before.own, publicKey: before.controller) else {
            return .status(470)
        }
        standing = .legacy(before.controller)
        return finish(.legacyVerify2, .binary([], .verified(Self.name(before.controller))), &book)
    }

    /// How news call a key: its first bytes.
    private static func name(_ key: [UInt8]) -> String {
        key.prefix(8).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }
}
