import Testing

@testable import HomeKitPairing

@Suite("R6 who is paired")
struct PairingListTests {
    private func controller(_ name: String, _ byte: UInt8, isAdmin: Bool) -> PairedController {
        PairedController(
            identifier: Array(name.utf8), publicKey: [UInt8](repeating: byte, count: 32), isAdmin: isAdmin)
    }

    private func items(_ controller: PairedController) -> [TLV8.Item] {
        [
            .init(.identifier, controller.identifier), .init(.publicKey, controller.publicKey),
            .init(.permissions, [controller.isAdmin ? 1 : 0]),
        ]
    }

    @Test("the requests, item by item")
    func requests() throws {
        let someone = controller("Kitchen", 7, isAdmin: true)
        #expect(
            PairAdd(someone).request
                == PairingRequest(
                    path: "/pair-add", hkp: 3,
                    body: .octets(
                        [6, 1, 1, 0, 1, 3, 1, 7] + Array("Kitchen".utf8) + [3, 32] + someone.publicKey + [11, 1, 1])))
        #expect(
            PairRemove(identifier: someone.identifier).request
                == PairingRequest(
                    path: "/pair-remove", hkp: 3,
                    body: .octets([6, 1, 1, 0, 1, 4, 1, 7] + Array("Kitchen".utf8))))
        #expect(
            PairList().request
                == PairingRequest(path: "/pair-list", hkp: 3, body: .octets([6, 1, 1, 0, 1, 5])))
    }

    @Test("a list with separators, without, with nobody")
    func lists() throws {
        let two = [controller("A", 1, isAdmin: true), controller("B", 2, isAdmin: false)]
        let separated = [TLV8.Item(.state, [2])] + items(two[0]) + [.init(.separator, [])] + items(two[1])
        let unseparated = [TLV8.Item(.state, [2])] + items(two[0]) + items(two[1])
        for message in [separated, unseparated] {
            #expect(try PairList().accept(PairingAnswer(body: .octets(TLV8(message).encoded()))) == two)
        }
        #expect(try PairList().accept(answer(.init(.state, [2]))) == [])
    }

    @Test("a controller without a key, with a short one, with no name, and far too many")
    func malformedLists() {
        #expect(throws: PairingError.missing(.publicKey, at: .listM2)) {
            try PairList().accept(answer(.init(.state, [2]), .init(.identifier, [65])))
        }
        #expect(throws: PairingError.wrongLength(31, at: .listM2)) {
            try PairList().accept(
                answer(
                    .init(.state, [2]), .init(.identifier, [65]),
                    .init(.publicKey, [UInt8](repeating: 1, count: 31))))
        }
        #expect(throws: PairingError.wrongLength(0, at: .listM2)) {
            try PairList().accept(answer(.init(.state, [2]), .init(.identifier, [])))
        }
        let many = (0..<257).flatMap { _ in items(controller("A", 1, isAdmin: false)) }
        #expect(throws: PairingError.wrongLength(257, at: .listM2)) {
            try PairList().accept(
                PairingAnswer(body: .octets(TLV8([TLV8.Item(.state, [2])] + many).encoded())))
        }
    }

    @Test("no admin, no room, and none of it over an open channel")
    func refusals() {
        #expect(throws: PairingError.refused(.maxPeers, at: .addM2)) {
            try PairAdd(controller("A", 1, isAdmin: true)).accept(answer(.init(.state, [2]), .init(.error, [4])))
        }
        #expect(throws: PairingError.refused(.authentication, at: .removeM2)) {
            try PairRemove(identifier: [65]).accept(answer(.init(.state, [2]), .init(.error, [2])))
        }
        #expect(throws: PairingError.connectionAuthorizationRequired) {
            try PairList().accept(PairingAnswer(status: 470))
        }
    }
}
