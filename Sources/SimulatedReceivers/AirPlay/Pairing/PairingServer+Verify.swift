import HomeKitPairing

/// HomeKit pair-verify (`Protocols/pairing/README.md`, “Pair-verify”).
extension PairingServer {
    enum Verify: Sendable {
        case idle
        /// M2 went out.
        case offered(own: [UInt8], theirs: [UInt8], shared: [UInt8])
    }

    mutating func answerVerify(_ request: Request, _ book: inout PairingServerBook) -> PairingServerAnswer {
        let before = verify
        verify = .idle
        guard request.kit == "3" || request.kit == "4", let message = try? TLV8(parsing: request.body),
            let state = message.byte(.state)
        else { return .status(400) }
        switch (state, before) {
        case (1, _): return offerVerify(message, &book)
        case (3, .offered(let own, let theirs, let shared)):
            return finishVerify(message, own: own, theirs: theirs, shared: shared, &book)
        case (3, .idle): return .error(.unknown, state: 4)
        default: return .error(.unknown, state: 2)
        }
    }

    private mutating func offerVerify(_ message: TLV8, _ book: inout PairingServerBook) -> PairingServerAnswer {
        if let instead = fault(.verify2, &book) { return instead }
        let own = ExchangeKey(secret: random(32))
        guard let theirs = message[.publicKey], let shared = own.shared(with: theirs) else {
            return .error(.authentication, state: 2)
        }
        let identifier = identity(.verify2, &book)
        var signature = book.key.signature(over: own.publicKey + identifier + theirs)
        if makes(.wrongSignature, .verify2, &book) { signature[0] ^= 1 }
        let introduction = TLV8([TLV8.Item(.identifier, identifier), TLV8.Item(.signature, signature)]).encoded()
        verify = .offered(own: own.publicKey, theirs: theirs, shared: shared)
        let answer = PairingServerAnswer.items(
            TLV8.Item(.state, [2]), TLV8.Item(.publicKey, own.publicKey),
            TLV8.Item(
                .encryptedData,
                PairingCrypto.seal(introduction, key: Self.verifyKey(shared), nonce: Array("PV-Msg02".utf8))))
        return finish(.verify2, answer, &book)
    }

    private mutating func finishVerify(
        _ message: TLV8, own: [UInt8], theirs: [UInt8], shared: [UInt8], _ book: inout PairingServerBook
    ) -> PairingServerAnswer {
        if let instead = fault(.verify4, &book) { return instead }
        guard let sealed = message[.encryptedData],
            let opened = PairingCrypto.open(sealed, key: Self.verifyKey(shared), nonce: Array("PV-Msg03".utf8)),
            let introduction = try? TLV8(parsing: opened), let identifier = introduction[.identifier],
            let signature = introduction[.signature],
            let controller = book.controllers.first(where: { Array($0.identifier.utf8) == identifier }),
            SigningKey.verify(signature, over: theirs + identifier + own, publicKey: controller.publicKey)
        else { return .error(.authentication, state: 4) }
        standing = .controller(controller.identifier, isAdmin: controller.isAdmin)
        var answer = PairingServerAnswer.items(TLV8.Item(.state, [4]))
        answer.secretEstablished = shared
        answer.news = [.verified(controller.identifier)]
        return finish(.verify4, answer, &book)
    }

    private static func verifyKey(_ shared: [UInt8]) -> [UInt8] {
        PairingCrypto.hkdf(shared, salt: "Pair-Verify-Encrypt-Salt", info: "Pair-Verify-Encrypt-Info")
    }
}
