import HomeKitPairing

/// Adding, listing and removing controllers, on a verified connection (`Protocols/pairing/README.md`, “Pairings”).
extension PairingServer {
    private enum Method {
        static let add: UInt8 = 3
        static let remove: UInt8 = 4
        static let list: UInt8 = 5
    }

    mutating func answerControllers(_ request: Request, _ book: inout PairingServerBook) -> PairingServerAnswer {
        let (step, method): (PairingServerStep, UInt8) =
            switch request.path {
            case "/pair-add": (.add, Method.add)
            case "/pair-remove": (.remove, Method.remove)
            default: (.list, Method.list)
            }
        guard case .controller(let identifier, _) = standing else { return .status(470) }
        if let instead = fault(step, &book) { return instead }
        guard let message = try? TLV8(parsing: request.body) else { return .status(400) }
        guard message.byte(.state) == 1, message.byte(.method) == method else { return .error(.unknown, state: 2) }
        // As the book has it now: another connection may have taken the right away.
        guard book.controller(identifier)?.isAdmin == true else { return .error(.authentication, state: 2) }
        let answer: PairingServerAnswer =
            switch step {
            case .add: add(message, &book)
            case .remove: remove(message, &book)
            default: .binary(Self.list(book.controllers).encoded())
            }
        return finish(step, answer, &book)
    }

    private func add(_ message: TLV8, _ book: inout PairingServerBook) -> PairingServerAnswer {
        guard let identifier = message[.identifier], (1...Self.maximumIdentifier).contains(identifier.count),
            let name = String(validating: identifier, as: UTF8.self), let key = message[.publicKey], key.count == 32,
            let permissions = message.byte(.permissions)
        else { return .error(.unknown, state: 2) }
        if let known = book.controller(name) {
            // The same name with another key is somebody else.
            guard known.publicKey == key else { return .error(.unknown, state: 2) }
        } else if book.controllers.count >= policy.maximumControllers {
            return .error(.tooManyPeers, state: 2)
        }
        book.add(PairingServerBook.Controller(identifier: name, publicKey: key, isAdmin: permissions & 1 != 0))
        var answer = PairingServerAnswer.items(TLV8.Item(.state, [2]))
        answer.news = [.paired(name)]
        return answer
    }

    /// Whoever is not there is removed already.
    private func remove(_ message: TLV8, _ book: inout PairingServerBook) -> PairingServerAnswer {
        guard let identifier = message[.identifier], let name = String(validating: identifier, as: UTF8.self) else {
            return .error(.unknown, state: 2)
        }
        let removed = book.remove(name)
        var answer = PairingServerAnswer.items(TLV8.Item(.state, [2]))
        if !removed.isEmpty { answer.news = [.removed(removed)] }
        return answer
    }

    private static func list(_ controllers: [PairingServerBook.Controller]) -> TLV8 {
        var items = [TLV8.Item(.state, [2])]
        for (index, controller) in controllers.enumerated() {
            if index > 0 { items.append(TLV8.Item(.separator, [])) }
            items.append(TLV8.Item(.identifier, Array(controller.identifier.utf8)))
            items.append(TLV8.Item(.publicKey, controller.publicKey))
            items.append(TLV8.Item(.permissions, [controller.isAdmin ? 1 : 0]))
        }
        return TLV8(items)
    }
}
