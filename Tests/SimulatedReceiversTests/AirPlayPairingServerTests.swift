import AirPlay
import Foundation
import HomeKitPairing
import Testing

@testable import SimulatedReceivers

/// The pairing server by itself, request by request.
@Suite struct AirPlayPairingServerTests {
    /// An exchange as srptools had it (`peers/pairing_vectors.py`).
    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        var name: String
        var group: String
        var user: String
        var password: String
        var salt: String
        var serverExponent: String
        var clientKey: String
        var serverKey: String
        var sessionKey: String
        var clientProof: String
        var serverProof: String

        var testDescription: String { name }

        static func of(_ group: String) -> [Vector] {
            let file = AirPlayPairingPeers.folder.appending(path: "pairing_vectors.json")
            let all = (try? JSONDecoder().decode([Vector].self, from: Data(contentsOf: file))) ?? []
            return all.filter { $0.group == group }
        }

        /// Gives its numbers instead of random ones.
        func numbers(_ count: Int) -> [UInt8] {
            switch count {
            case 16: salt.unhexed
            case 32: serverExponent.unhexed
            default: [UInt8](repeating: 0, count: count)
            }
        }
    }

    /// A connection with the book it works on.
    struct Line {
        var server: PairingServer
        var book = PairingServerBook(name: "Test")
        var now: Int64 = 0

        init(_ policy: PairingServerPolicy, _ vector: Vector? = nil) {
            server = vector.map { PairingServer(policy, random: $0.numbers) } ?? PairingServer(policy)
        }

        mutating func ask(_ path: String, _ body: [UInt8] = [], kit: String? = "3") -> PairingServerAnswer {
            server.answer(
                path: path, headers: kit.map { ["X-Apple-HKP": $0] } ?? [:], body: body, in: &book, at: now)
        }

        mutating func ask(_ path: String, _ first: TLV8.Item, _ others: TLV8.Item...) -> PairingServerAnswer {
            ask(path, TLV8([first] + others).encoded())
        }
    }

    private static let begin = TLV8([.init(.method, [0]), .init(.state, [1])]).encoded()
    private static let beginTransient = TLV8([.init(.method, [0]), .init(.state, [1]), .init(.flags, [0x10])])
        .encoded()

    private func error(_ answer: PairingServerAnswer) -> PairingServerError? {
        (try? TLV8(parsing: answer.body))?.byte(.error).map(PairingServerError.init)
    }

    // MARK: SRP

    @Test("R6 HomeKit's SRP comes to srptools' numbers, short ones too", arguments: Vector.of("homeKit"))
    func homeKitVectors(_ vector: Vector) throws {
        var line = Line(.everybody, vector)
        let offer = try TLV8(parsing: line.ask("/pair-setup", Self.beginTransient).body)
        #expect(offer.items.map(\.tag) == [.state, .salt, .publicKey])
        #expect(offer[.salt] == vector.salt.unhexed)
        #expect(offer[.publicKey] == vector.serverKey.unhexed)
        let answer = line.ask(
            "/pair-setup", .init(.state, [3]), .init(.publicKey, vector.clientKey.unhexed),
            .init(.proof, vector.clientProof.unhexed))
        #expect(try TLV8(parsing: answer.body)[.proof] == vector.serverProof.unhexed)
        #expect(answer.secretEstablished == vector.sessionKey.unhexed)
        #expect(line.server.standing == .transient)
        #expect(line.server.refusal == nil)
    }

    @Test("R6 the older SRP comes to srptools' numbers, short ones too", arguments: Vector.of("legacy"))
    func legacyVectors(_ vector: Vector) throws {
        var line = Line(.legacy(.code(.fixed(vector.password))), vector)
        let offer = try PropertyList(
            parsing: line.ask(
                "/pair-setup-pin",
                PropertyList.dictionary(["method": .string("pin"), "user": .string(vector.user)]).encoded(), kit: nil
            ).body)
        #expect(offer["salt"]?.data == vector.salt.unhexed)
        #expect(offer["pk"]?.data == vector.serverKey.unhexed)
        let answer = line.ask(
            "/pair-setup-pin",
            PropertyList.dictionary([
                "pk": .data(vector.clientKey.unhexed), "proof": .data(vector.clientProof.unhexed),
            ]).encoded(), kit: nil)
        #expect(try PropertyList(parsing: answer.body)["proof"]?.data == vector.serverProof.unhexed)
    }

    @Test("R6 there are eight vectors") func vectorsThere() {
        #expect(Vector.of("homeKit").count == 4)
        #expect(Vector.of("legacy").count == 4)
    }

    @Test("R6 a sender's key that is none, and a proof that is none, are refused and counted") func badKeys() throws {
        let vector = try #require(Vector.of("homeKit").first)
        let prime = """
            FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B
            302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE6
            49286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F83655D23DCA3AD961C62F356208552BB9ED529077096966D
            670C354E4ABC9804F1746C08CA18217C32905E462E36CE3BE39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF695581718
            3995497CEA956AE515D2261898FA051015728E5A8AAAC42DAD33170D04507A33A85521ABDF1CBA64ECFB850458DBEF0A8AEA71575D060C7D
            B3970F85A6E1E4C7ABF5AE8CDB0933D71E8C94E04A25619DCEE3D2261AD2EE6BF12FFA06D98A0864D87602733EC86A64521F2B18177B200C
            BBE117577A615D6C770988C0BAD946E208E24FA074E5AB3143DB5BFCE0FD108E4B82D120A93AD2CAFFFFFFFFFFFFFFFF
            """.split(separator: "\n").joined().unhexed
        let proof = vector.clientProof.unhexed
        let key = vector.clientKey.unhexed
        var line = Line(.code(.fixed("3939")), vector)
        let bad: [(key: [UInt8], proof: [UInt8])] = [
            ([], proof), ([0], proof), (prime, proof), ([UInt8](repeating: 0, count: 384), proof),
            ([UInt8](repeating: 1, count: 385), proof), (key, []), (key, Array(proof.dropLast())),
            (key, proof.reversed()), (key, proof + [0]),
        ]
        for (index, bad) in bad.enumerated() {
            #expect(error(line.ask("/pair-setup", Self.begin)) == nil)
            let answer = line.ask(
                "/pair-setup", .init(.state, [3]), .init(.publicKey, bad.key), .init(.proof, bad.proof))
            #expect(error(answer) == .authentication, "\(index)")
            #expect(answer.secretEstablished == nil)
            #expect(line.book.wrongTries == index + 1)
        }
        // The right one still is.
        _ = line.ask("/pair-setup", Self.begin)
        let right = line.ask("/pair-setup", .init(.state, [3]), .init(.publicKey, key), .init(.proof, proof))
        #expect(error(right) == nil)
        // With a leading zero it is the same number.
        _ = line.ask("/pair-setup", Self.begin)
        let short = try #require(Vector.of("homeKit").first { $0.name.contains("short-client") })
        let padded = line.ask(
            "/pair-setup", .init(.state, [3]), .init(.publicKey, [0] + short.clientKey.unhexed),
            .init(.proof, short.clientProof.unhexed))
        #expect(error(padded) == nil)
    }

    // MARK: M5

    /// A line that has come to M4, with the session key.
    private func proven() throws -> (line: Line, secret: [UInt8]) {
        let vector = try #require(Vector.of("homeKit").first)
        var line = Line(.code(.fixed("3939")), vector)
        _ = line.ask("/pair-setup", Self.begin)
        let answer = line.ask(
            "/pair-setup", .init(.state, [3]), .init(.publicKey, vector.clientKey.unhexed),
            .init(.proof, vector.clientProof.unhexed))
        #expect(answer.secretEstablished == nil)
        return (line, vector.sessionKey.unhexed)
    }

    private func introduction(
        _ secret: [UInt8], identifier: [UInt8] = Array("A".utf8), key: SigningKey = .random(),
        alter: (inout TLV8) -> Void = { _ in }
    ) -> [UInt8] {
        let seed = PairingCrypto.hkdf(
            secret, salt: "Pair-Setup-Controller-Sign-Salt", info: "Pair-Setup-Controller-Sign-Info")
        var message = TLV8([
            .init(.identifier, identifier), .init(.publicKey, key.publicKey),
            .init(.signature, key.signature(over: seed + identifier + key.publicKey)),
        ])
        alter(&message)
        return PairingCrypto.seal(
            message.encoded(),
            key: PairingCrypto.hkdf(secret, salt: "Pair-Setup-Encrypt-Salt", info: "Pair-Setup-Encrypt-Info"),
            nonce: Array("PS-Msg05".utf8))
    }

    @Test("R6 M5 is taken once, and every mistake in it is an authentication error") func introductions() throws {
        let (fresh, secret) = try proven()
        var line = fresh
        let right = line.ask("/pair-setup", .init(.state, [5]), .init(.encryptedData, introduction(secret)))
        #expect(error(right) == nil)
        #expect(line.book.controllers.map(\.identifier) == ["A"])
        // Again is out of step.
        let again = line.ask("/pair-setup", .init(.state, [5]), .init(.encryptedData, introduction(secret)))
        #expect(error(again) == .unknown)

        let mistakes: [(inout TLV8) -> Void] = [
            { $0.items[0].value = [] }, { $0.items[0].value = [UInt8](repeating: 65, count: 65) },
            { $0.items[0].value = [0xFF, 0xFE] }, { $0.items[1].value.removeLast() },
            { $0.items[2].value[0] ^= 1 }, { $0.items[2].value.removeLast() }, { $0.items.removeAll() },
            { $0.items[0].value = Array("B".utf8) },
        ]
        for (index, mistake) in mistakes.enumerated() {
            var line = fresh
            let answer = line.ask(
                "/pair-setup", .init(.state, [5]), .init(.encryptedData, introduction(secret, alter: mistake)))
            #expect(error(answer) == .authentication, "\(index)")
            #expect(line.book.controllers.isEmpty)
        }
        let sealed = introduction(secret)
        for wrong in [[], Array(sealed.dropLast()), sealed.reversed(), [UInt8](repeating: 0, count: 8000)] {
            var line = fresh
            let answer = line.ask("/pair-setup", .init(.state, [5]), .init(.encryptedData, Array(wrong)))
            #expect(error(answer) == .authentication)
        }
    }

    @Test("R6 no more controllers than there is room for, and one that is known keeps its place") func fullBook() throws
    {
        let (fresh, secret) = try proven()
        var line = fresh
        for number in 0..<16 {
            line.book.add(.init(identifier: "\(number)", publicKey: [UInt8](repeating: UInt8(number), count: 32)))
        }
        var known = line
        let full = line.ask("/pair-setup", .init(.state, [5]), .init(.encryptedData, introduction(secret)))
        #expect(error(full) == .tooManyPeers)
        let same = known.ask(
            "/pair-setup", .init(.state, [5]),
            .init(.encryptedData, introduction(secret, identifier: Array("3".utf8))))
        #expect(error(same) == nil)
        #expect(known.book.controllers.count == 16)
    }

    // MARK: Refusals

    @Test("R6 policies refuse as they say, and announce themselves in the status flags") func policies() {
        func first(_ policy: PairingServerPolicy, transient: Bool) -> String {
            var line = Line(policy)
            let answer = line.ask("/pair-setup", transient ? Self.beginTransient : Self.begin)
            return error(answer).map { "error \($0.rawValue)" } ?? "\(answer.status)"
        }
        let cases: [(policy: PairingServerPolicy, code: String, transient: String, flags: Int)] = [
            (.everybody, "200", "200", 0), (.code(.random), "200", "470", 0x8),
            (.password("x"), "200", "200", 0x80), (.accessControl(), "403", "403", 0x400),
            (.accessControl(.error(.authentication)), "error 2", "error 2", 0x400),
            (.legacy(.open), "error 6", "470", 0), (.legacy(.code(.random)), "error 6", "470", 0x200),
        ]
        for one in cases {
            #expect(first(one.policy, transient: false) == one.code, "\(one.policy)")
            #expect(first(one.policy, transient: true) == one.transient, "\(one.policy)")
            #expect(one.policy.statusFlags == one.flags, "\(one.policy)")
            #expect(PairingServer(one.policy).refusal == (one.policy.legacy == nil ? 470 : 403))
        }
        #expect(PairingServer(PairingServerPolicy(admitsStrangers: true)).refusal == nil)
    }

    @Test("R6 a receiver of one generation has not the other's paths") func generations() {
        var modern = Line(.everybody)
        #expect(modern.ask("/pair-setup-pin", kit: nil).status == 404)
        #expect(modern.ask("/pair-pin-start", kit: nil).status == 404)
        #expect(modern.ask("/pair-setup", [UInt8](repeating: 1, count: 32), kit: nil).status == 404)
        #expect(modern.ask("/pair-verify", [1, 0, 0, 0] + [UInt8](repeating: 1, count: 64), kit: nil).status == 404)
        #expect(modern.ask("/nothing").status == 404)
        var coded = Line(.legacy(.code(.fixed("1"))))
        #expect(coded.ask("/pair-setup", [UInt8](repeating: 1, count: 32), kit: nil).status == 470)
    }

    @Test("R6 MFi setup and other methods are refused") func methods() {
        for (method, expected) in [(UInt8(1), PairingServerError.unavailable), (2, .unknown), (200, .unknown)] {
            var line = Line(.everybody)
            #expect(error(line.ask("/pair-setup", .init(.state, [1]), .init(.method, [method]))) == expected)
        }
        var line = Line(.everybody)
        #expect(error(line.ask("/pair-setup", .init(.state, [1]))) == .unknown)
    }

    // MARK: Malformed

    @Test("R6 malformed requests get a status or an error, in any state") func malformed() throws {
        let bodies: [(name: String, body: [UInt8], status: Int)] = [
            ("empty", [], 400), ("half an item", [6], 400), ("an item beyond the end", [6, 1], 400),
            ("no state", [0, 1, 0], 400), ("a state of no length", [6, 0], 400), ("a long state", [6, 2, 1, 1], 400),
            ("state 0", [6, 1, 0], 200), ("state 2", [6, 1, 2], 200), ("state 255", [6, 1, 255], 200),
            ("too long", [UInt8](repeating: 0, count: PairingServer.maximumBody + 1), 413),
        ]
        for path in ["/pair-setup", "/pair-verify"] {
            for (name, body, status) in bodies {
                var line = Line(.everybody)
                let answer = line.ask(path, body)
                #expect(answer.status == status, "\(path) \(name)")
                if status == 200 { #expect(error(answer) == .unknown, "\(path) \(name)") }
                #expect(line.server.standing == .stranger)
            }
            // HomeKit's messages need HomeKit's header.
            for kit in [nil, "0", "5", "3 "] {
                var line = Line(.everybody)
                #expect(line.ask(path, Self.begin, kit: kit).status == 400)
            }
        }
        // An exchange that was begun is over after any of them.
        for (name, body, _) in bodies {
            let (fresh, secret) = try proven()
            var line = fresh
            _ = line.ask("/pair-setup", body)
            let after = line.ask("/pair-setup", .init(.state, [5]), .init(.encryptedData, introduction(secret)))
            // What is too long is not even looked at.
            #expect(error(after) == (body.count > PairingServer.maximumBody ? nil : .unknown), "\(name)")
        }
    }

    @Test("R6 steps out of their order are errors of the state that they ask for") func outOfStep() throws {
        for (state, path) in [(UInt8(3), "/pair-setup"), (5, "/pair-setup"), (3, "/pair-verify")] {
            var line = Line(.everybody)
            let answer = line.ask(path, .init(.state, [state]))
            #expect(error(answer) == .unknown)
            #expect(try TLV8(parsing: answer.body).byte(.state) == state + 1)
        }
        var (line, _) = try proven()
        #expect(error(line.ask("/pair-setup", .init(.state, [3]))) == .unknown)
    }

    @Test("R6 malformed requests of the older pairing get a status") func malformedLegacy() {
        let bodies: [PropertyList] = [
            .array([]), .dictionary([:]), .dictionary(["method": .string("pin")]),
            .dictionary(["method": .string("password"), "user": .string("A")]),
            .dictionary(["method": .integer(1), "user": .string("A")]),
            .dictionary(["method": .string("pin"), "user": .string("")]),
            .dictionary(["method": .string("pin"), "user": .string(String(repeating: "A", count: 65))]),
            .dictionary(["pk": .data([1]), "proof": .data([1])]),
            .dictionary(["epk": .data([1]), "authTag": .data([1])]),
        ]
        for body in bodies {
            var line = Line(.legacy(.code(.fixed("1234"))))
            #expect([400, 470].contains(line.ask("/pair-setup-pin", body.encoded(), kit: nil).status), "\(body)")
        }
        var line = Line(.legacy(.code(.fixed("1234"))))
        #expect(line.ask("/pair-setup-pin", Array("bplist00".utf8), kit: nil).status == 400)
        let first = PropertyList.dictionary(["method": .string("pin"), "user": .string("A")]).encoded()
        for body in [bodies[7], bodies[8], bodies[1]] {
            #expect(line.ask("/pair-setup-pin", first, kit: nil).status == 200)
            #expect(line.ask("/pair-setup-pin", body.encoded(), kit: nil).status == 470)
        }
        #expect(line.book.wrongTries == 3)
    }

    @Test("R6 the older pair-verify takes registered keys only, and no second step without the first")
    func malformedLegacyVerify() {
        var line = Line(.legacy(.open))
        let exchange = ExchangeKey.random()
        let key = SigningKey.random()
        let first = [1, 0, 0, 0] + exchange.publicKey + key.publicKey
        #expect(line.ask("/pair-verify", first, kit: nil).status == 470)
        #expect(line.ask("/pair-setup", key.publicKey, kit: nil).body == line.book.key.publicKey)
        #expect(line.ask("/pair-verify", [0, 0, 0, 0] + [UInt8](repeating: 0, count: 64), kit: nil).status == 470)
        #expect(line.ask("/pair-verify", [9, 0, 0, 0] + [UInt8](repeating: 0, count: 64), kit: nil).status == 400)
        // A key that gives zero.
        let zero = [1, 0, 0, 0] + [UInt8](repeating: 0, count: 32) + key.publicKey
        #expect(line.ask("/pair-verify", zero, kit: nil).status == 470)
        #expect(line.ask("/pair-verify", first, kit: nil).body.count == 96)
        #expect(line.ask("/pair-verify", [0, 0, 0, 0] + [UInt8](repeating: 7, count: 64), kit: nil).status == 470)
        #expect(line.server.standing == .stranger)
        for length in [0, 4, 67, 69] {
            #expect(line.ask("/pair-verify", [UInt8](repeating: 1, count: length), kit: nil).status == 400)
        }
    }

    @Test("R6 pair-verify refuses keys that are none, strangers and a signature over other keys") func verify() throws {
        let key = SigningKey.random()
        let fresh = Line(.everybody)
        for bad in [[], [UInt8](repeating: 0, count: 32), [UInt8](repeating: 9, count: 31)] {
            var line = fresh
            #expect(error(line.ask("/pair-verify", .init(.state, [1]), .init(.publicKey, bad))) == .authentication)
        }
        func attempt(_ identifier: String, alter: ([UInt8]) -> [UInt8] = { $0 }) throws -> Line {
            var line = fresh
            line.book.add(.init(identifier: "A", publicKey: key.publicKey, isAdmin: false))
            let own = ExchangeKey.random()
            let offer = try TLV8(
                parsing: line.ask("/pair-verify", .init(.state, [1]), .init(.publicKey, own.publicKey)).body)
            let other = try #require(offer[.publicKey])
            let shared = try #require(own.shared(with: other))
            let name = Array(identifier.utf8)
            let message = TLV8([
                .init(.identifier, name),
                .init(.signature, key.signature(over: alter(own.publicKey + name + other))),
            ]).encoded()
            let sealed = PairingCrypto.seal(
                message,
                key: PairingCrypto.hkdf(shared, salt: "Pair-Verify-Encrypt-Salt", info: "Pair-Verify-Encrypt-Info"),
                nonce: Array("PV-Msg03".utf8))
            let answer = line.ask("/pair-verify", .init(.state, [3]), .init(.encryptedData, sealed))
            #expect((answer.secretEstablished == shared) == (line.server.standing != .stranger))
            return line
        }
        #expect(try attempt("A").server.standing == .controller("A", isAdmin: false))
        #expect(try attempt("B").server.standing == .stranger)
        #expect(try attempt("A") { $0.reversed() }.server.standing == .stranger)
    }

    // MARK: The book

    @Test("R6 a name gives the same device at every start") func names() {
        let book = PairingServerBook(name: "Kitchen")
        #expect(book.key.publicKey == PairingServerBook(name: "Kitchen").key.publicKey)
        #expect(book.key.publicKey != PairingServerBook(name: "Bath").key.publicKey)
        #expect(UUID(uuidString: book.identifier) != nil)
        #expect(book.identifier == book.identifier.lowercased())
    }

    @Test("R6 random codes have four digits, leading zeros too, and each pairing shows a new one") func codes() {
        var line = Line(.code(.random))
        line.server = PairingServer(.code(.random)) { [UInt8](repeating: 0, count: $0 - 1) + [42] }
        #expect(line.ask("/pair-pin-start").news == [.showsCode("0042")])
        #expect(line.ask("/pair-pin-start", kit: "4").news == [])
        var news: Set<[PairingServerNews]> = []
        for _ in 0..<5 {
            var line = Line(.code(.random))
            news.insert(line.ask("/pair-pin-start").news)
        }
        #expect(news.count > 1)
    }

    @Test("R6 who holds up others is put aside after a minute") func patience() {
        var line = Line(.code(.fixed("1")))
        #expect(error(line.ask("/pair-setup", Self.begin)) == nil)
        line.server = PairingServer(.code(.fixed("1")))
        line.now = 59_000_000_000
        #expect(error(line.ask("/pair-setup", Self.begin)) == .busy)
        line.now = 60_000_000_000
        #expect(error(line.ask("/pair-setup", Self.begin)) == nil)
    }

    // MARK: Faults

    @Test("R6 faults are read from their words") func faultWords() {
        let words: [(String, PairingServerFault?)] = [
            ("error-2", .init(.error(.authentication, retryAfter: nil))),
            ("error-3-30", .init(.error(.backOff, retryAfter: 30))),
            ("status-470x2", .init(.status(470), times: 2)), ("hang×1", .init(.hang, times: 1)),
            ("close", .init(.close)), ("truncate", .init(.truncate)), ("wrong-proof", .init(.wrongProof)),
            ("wrong-signature", .init(.wrongSignature)), ("wrong-identity", .init(.wrongIdentity)),
            ("", nil), ("error", nil), ("error-256", nil), ("error-2-", nil), ("error-2-3-4", nil),
            ("status-99", nil), ("status-600", nil), ("status", nil), ("wrong", nil), ("hang-1", nil),
            ("closex0", nil), ("closexy", nil), ("x3", nil),
        ]
        for (word, fault) in words { #expect(PairingServerFault(word) == fault, "\(word)") }
        #expect(PairingServerStep(rawValue: "setup-4") == .setup4)
    }

    @Test("R6 faults happen as often as they are asked for") func faultsHappen() throws {
        var policy = PairingServerPolicy.everybody
        policy.faults = [.setup2: .init(.status(401), times: 2)]
        var line = Line(policy)
        #expect(line.ask("/pair-setup", Self.beginTransient).status == 401)
        // They are counted across connections.
        line.server = PairingServer(policy)
        #expect(line.ask("/pair-setup", Self.beginTransient).status == 401)
        #expect(line.ask("/pair-setup", Self.beginTransient).status == 200)

        policy.faults = [.setup2: .init(.truncate)]
        line = Line(policy)
        #expect(throws: TLV8Error.self) { try TLV8(parsing: line.ask("/pair-setup", Self.beginTransient).body) }
        policy.faults = [.setup2: .init(.hang), .pinStart: .init(.close)]
        line = Line(policy)
        #expect(line.ask("/pair-setup", Self.beginTransient).delivery == .never)
        #expect(line.ask("/pair-pin-start").delivery == .hangUp)
    }
}

extension String {
    /// The bytes of hexadecimal text.
    fileprivate var unhexed: [UInt8] {
        let digits = Array(utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
        }
    }
}
