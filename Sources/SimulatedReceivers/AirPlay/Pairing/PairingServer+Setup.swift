import HomeKitPairing

/// HomeKit pair-setup (`Protocols/pairing/README.md`, “Pair-setup”).
extension PairingServer {
    enum Setup: Sendable {
        case idle
        /// M2 went out.
        case offered(SRPServer, isTransient: Bool)
        /// M4 went out; the session key of SRP.
        case proven([UInt8])
    }

    /// Bytes of a controller's identifier at most.
    static let maximumIdentifier = 64
    /// The password of transient pair-setup where the receiver has none of its own.
    static let transientPassword = "3939"
    /// The bit of `flags`.
    private static let transientFlag: UInt8 = 0x10

    mutating func answerSetup(_ request: Request, _ book: inout PairingServerBook) -> PairingServerAnswer {
        guard request.kit == "3" || request.kit == "4", let message = try? TLV8(parsing: request.body),
            let state = message.byte(.state)
        else { return abandonSetup(.status(400), &book) }
        switch state {
        case 1: return offer(message, &book, at: request.now)
        case 3: return prove(message, &book, at: request.now)
        case 5: return exchange(message, &book)
        default: return abandonSetup(.error(.unknown, state: 2), &book)
        }
    }

    private mutating func abandonSetup(
        _ answer: PairingServerAnswer, _ book: inout PairingServerBook
    ) -> PairingServerAnswer {
        setup = .idle
        book.release(id)
        return answer
    }

    // MARK: M1 and M2

    private mutating func offer(
        _ message: TLV8, _ book: inout PairingServerBook, at now: Int64
    ) -> PairingServerAnswer {
        if let instead = fault(.setup2, &book) { return instead }
        switch message.byte(.method) {
        case 0: break
        // With the proof of an authentication chip, which this receiver hasn't got.
        case 1: return abandonSetup(.error(.unavailable, state: 2), &book)
        default: return abandonSetup(.error(.unknown, state: 2), &book)
        }
        let isTransient = (message[.flags]?.first ?? 0) & Self.transientFlag != 0
        if let refusal = isTransient ? policy.transientRefusal : policy.setupRefusal {
            return abandonSetup(refuse(refusal, state: 2), &book)
        }
        var news: [PairingServerNews] = []
        let password: String
        if isTransient {
            password = policy.password ?? Self.transientPassword
        } else if let own = policy.password {
            password = own
        } else if let code = showCode(legacy: false, &book) {
            password = code
            news.append(.showsCode(code))
        } else {
            return abandonSetup(.error(.unavailable, state: 2), &book)
        }
        if isGuess(isTransient), let closed = book.closed(policy, at: now) {
            return abandonSetup(.error(closed.error, state: 2, retryAfter: closed.delay), &book)
        }
        if !isTransient, !book.claim(id, at: now) { return abandonSetup(.error(.busy, state: 2), &book) }
        let server = SRPServer(
            .homeKit, user: "Pair-Setup", password: password, salt: random(16), exponent: random(32))
        setup = .offered(server, isTransient: isTransient)
        var answer = PairingServerAnswer.items(
            TLV8.Item(.state, [2]), TLV8.Item(.salt, server.salt), TLV8.Item(.publicKey, server.publicKey))
        answer.news = news
        return finish(.setup2, answer, &book)
    }

    // MARK: M3 and M4

    private mutating func prove(
        _ message: TLV8, _ book: inout PairingServerBook, at now: Int64
    ) -> PairingServerAnswer {
        guard case .offered(let server, let isTransient) = setup else {
            return abandonSetup(.error(.unknown, state: 4), &book)
        }
        if let instead = fault(.setup4, &book) { return instead }
        guard let clientKey = message[.publicKey], let proof = message[.proof],
            let session = server.session(with: clientKey), proof == session.clientProof
        else {
            var answer = abandonSetup(.error(.authentication, state: 4), &book)
            if isGuess(isTransient) { answer.news += wrongTry(&book, at: now) }
            return answer
        }
        var serverProof = session.serverProof
        if makes(.wrongProof, .setup4, &book) { serverProof[0] ^= 1 }
        var answer = PairingServerAnswer.items(TLV8.Item(.state, [4]), TLV8.Item(.proof, serverProof))
        if isTransient {
            if isGuess(isTransient) { book.countRightTry() }
            setup = .idle
            standing = .transient
            answer.secretEstablished = session.key
            answer.news.append(.pairedForConnection)
        } else {
            book.countRightTry()
            setup = .proven(session.key)
        }
        return finish(.setup4, answer, &book)
    }

    /// Whether there is a secret to be guessed: what stands for the code in transient pair-setup is none.
    private func isGuess(_ isTransient: Bool) -> Bool { !isTransient || policy.password != nil }

    /// Counts it, and takes a code that was made for this pairing from the screen.
    func wrongTry(_ book: inout PairingServerBook, at now: Int64) -> [PairingServerNews] {
        book.countWrongTry(policy, at: now)
        return [.wrongCode(tries: book.wrongTries)] + hideCode(&book)
    }

    /// The screen is empty again; a code that was made for one pairing is not shown twice.
    func hideCode(_ book: inout PairingServerBook) -> [PairingServerNews] {
        guard book.code != nil else { return [] }
        book.code = nil
        return [.hidesCode]
    }

    // MARK: M5 and M6

    private mutating func exchange(_ message: TLV8, _ book: inout PairingServerBook) -> PairingServerAnswer {
        guard case .proven(let secret) = setup else { return abandonSetup(.error(.unknown, state: 6), &book) }
        if let instead = fault(.setup6, &book) { return instead }
        let key = PairingCrypto.hkdf(secret, salt: "Pair-Setup-Encrypt-Salt", info: "Pair-Setup-Encrypt-Info")
        guard let sealed = message[.encryptedData],
            let opened = PairingCrypto.open(sealed, key: key, nonce: Array("PS-Msg05".utf8)),
            let controller = Self.introduced(opened, secret: secret)
        else { return abandonSetup(.error(.authentication, state: 6), &book) }
        let isKnown = book.controller(controller.identifier) != nil
        guard isKnown || book.controllers.count < policy.maximumControllers else {
            return abandonSetup(.error(.tooManyPeers, state: 6), &book)
        }
        book.add(controller)
        var answer = PairingServerAnswer.items(
            TLV8.Item(.state, [6]),
            TLV8.Item(
                .encryptedData,
                PairingCrypto.seal(introduction(secret, &book), key: key, nonce: Array("PS-Msg06".utf8))))
        answer.news = [.paired(controller.identifier)] + hideCode(&book)
        return finish(.setup6, abandonSetup(answer, &book), &book)
    }

    /// Who the controller says that it is, where its signature holds.
    private static func introduced(_ bytes: [UInt8], secret: [UInt8]) -> PairingServerBook.Controller? {
        guard let message = try? TLV8(parsing: bytes), let identifier = message[.identifier],
            (1...maximumIdentifier).contains(identifier.count),
            let name = String(validating: identifier, as: UTF8.self),
            let key = message[.publicKey], key.count == 32, let signature = message[.signature]
        else { return nil }
        let seed = PairingCrypto.hkdf(
            secret, salt: "Pair-Setup-Controller-Sign-Salt", info: "Pair-Setup-Controller-Sign-Info")
        guard SigningKey.verify(signature, over: seed + identifier + key, publicKey: key) else { return nil }
        return PairingServerBook.Controller(identifier: name, publicKey: key)
    }

    private func introduction(_ secret: [UInt8], _ book: inout PairingServerBook) -> [UInt8] {
        let seed = PairingCrypto.hkdf(
            secret, salt: "Pair-Setup-Accessory-Sign-Salt", info: "Pair-Setup-Accessory-Sign-Info")
        let identifier = identity(.setup6, &book)
        var signature = book.key.signature(over: seed + identifier + book.key.publicKey)
        if makes(.wrongSignature, .setup6, &book) { signature[0] ^= 1 }
        return TLV8([
            TLV8.Item(.identifier, identifier), TLV8.Item(.publicKey, book.key.publicKey),
            TLV8.Item(.signature, signature),
        ]).encoded()
    }

    /// The receiver's identifier, or another's.
    func identity(_ step: PairingServerStep, _ book: inout PairingServerBook) -> [UInt8] {
        makes(.wrongIdentity, step, &book) ? Array("somebody-else".utf8) : Array(book.identifier.utf8)
    }
}
