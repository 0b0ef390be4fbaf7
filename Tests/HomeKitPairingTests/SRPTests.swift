import COpenSSL
import Testing

@testable import HomeKitPairing

@Suite("R6 SRP")
struct SRPTests {
    @Test("both sides of srptools agree with ours, short numbers and all", arguments: Vectors.all?.srp ?? [])
    func vectors(_ vector: Vectors.SRP) throws {
        let client = SRPClient(vector.group == "homeKit" ? .homeKit : .legacy, secret: bytes(vector.a))
        #expect(client.publicKey == bytes(vector.A))
        let session = try client.session(
            user: vector.user, password: Array(vector.password.utf8), salt: bytes(vector.salt),
            deviceKey: bytes(vector.B))
        #expect(session.key == bytes(vector.K))
        #expect(session.proof == bytes(vector.M1))
        #expect(session.accepts(bytes(vector.M2)))
        #expect(!session.accepts(flipped(bytes(vector.M2))))
        #expect(!session.accepts(bytes(vector.M2).dropLast()))
        #expect(!session.accepts([]))
    }

    @Test("the vectors hold a short A, B and S of each group, by one byte")
    func shortNumbers() throws {
        let vectors = try Vectors.load().srp
        for (group, length) in [("homeKit", 384), ("legacy", 256)] {
            let lengths = { (name: String, key: KeyPath<Vectors.SRP, String>) in
                vectors.first { $0.group == group && $0.name == name }.map { bytes($0[keyPath: key]).count }
            }
            #expect(lengths("short A", \.A) == length - 1)
            #expect(lengths("short B", \.B) == length - 1)
            #expect(lengths("short S", \.S) == length - 1)
            #expect(lengths("plain", \.A) == length)
        }
    }

    @Test("a device's key may come with its zeros in front")
    func paddedKey() throws {
        let vector = try #require(try Vectors.load().srp.first { $0.name == "short B" && $0.group == "homeKit" })
        let client = SRPClient(.homeKit, secret: bytes(vector.a))
        let session = try client.session(
            user: vector.user, password: Array(vector.password.utf8), salt: bytes(vector.salt),
            deviceKey: [0] + bytes(vector.B))
        #expect(session.proof == bytes(vector.M1))
    }

    @Test("keys that give the secret away are refused: 0, N, more than N", arguments: [SRPGroup.homeKit, .legacy])
    func weakKeys(group: SRPGroup) throws {
        let client = SRPClient(group, secret: [UInt8](repeating: 7, count: 32))
        let above = [UInt8](repeating: 0xFF, count: group.prime.count)
        for key in [[0], [UInt8](repeating: 0, count: group.prime.count), [], group.prime, above] {
            #expect(throws: PairingError.weakKey) {
                try client.session(user: "Pair-Setup", password: [], salt: [1], deviceKey: key)
            }
        }
    }

    @Test("u = 0 is refused, and a B that makes S zero")
    func zeroes() throws {
        let client = SRPClient(.homeKit, secret: [UInt8](repeating: 7, count: 32))
        #expect(throws: PairingError.weakKey) {
            try client.premaster(deviceKey: [9], scrambler: [0, 0, 0], passwordHash: [1, 2, 3])
        }
        let multiplier = BigNumber(SRPGroup.homeKit.hash(SRPGroup.homeKit.prime, SRPGroup.homeKit.padded([5])))
        let prime = BigNumber(SRPGroup.homeKit.prime)
        let verifier = BigNumber([5]).raised(to: BigNumber([1, 2, 3]), modulo: prime)
        let key = multiplier.multiplied(by: verifier, modulo: prime).bytes
        #expect(throws: PairingError.weakKey) {
            try client.premaster(deviceKey: key, scrambler: [1], passwordHash: [1, 2, 3])
        }
    }

    @Test("the 3072-bit prime is RFC 3526's, by libcrypto; both primes are safe ones")
    func primes() throws {
        let number = BN_get_rfc3526_prime_3072(nil)
        defer { BN_free(number) }
        var prime = [UInt8](repeating: 0, count: 384)
        BN_bn2binpad(number, &prime, 384)
        #expect(SRPGroup.homeKit.prime == prime)
        #expect(SRPGroup.legacy.prime.count == 256)
        // Fermat's test at 2, of N and of (N − 1) / 2.
        for group in [SRPGroup.homeKit, .legacy] {
            let whole = BigNumber(group.prime)
            var lessOne = group.prime
            lessOne[lessOne.count - 1] -= 1
            #expect(BigNumber([2]).raised(to: BigNumber(lessOne), modulo: whole).bytes == [1])
            var half: [UInt8] = []
            var carry: UInt8 = 0
            for byte in lessOne {
                half.append(byte >> 1 | carry)
                carry = byte << 7
            }
            var halfLessOne = half
            halfLessOne[halfLessOne.count - 1] -= 1
            #expect(BigNumber([2]).raised(to: BigNumber(halfLessOne), modulo: BigNumber(half)).bytes == [1])
        }
    }

    @Test("our own keys have the full length and differ")
    func randomKeys() {
        let keys = (0..<4).map { _ in SRPClient.random(.homeKit).publicKey }
        #expect(keys.allSatisfy { $0.count == 384 })
        #expect(Set(keys).count == 4)
    }

    @Test("printing what holds a secret shows none")
    func masks() throws {
        let vector = try #require(try Vectors.load().srp.first)
        let client = SRPClient(.homeKit, secret: bytes(vector.a))
        let session = try client.session(
            user: vector.user, password: Array(vector.password.utf8), salt: bytes(vector.salt),
            deviceKey: bytes(vector.B))
        var printed = ""
        dump(client, to: &printed)
        dump(session, to: &printed)
        printed += "\(client) \(session)"
        let first = bytes(vector.a)[0..<4].map(String.init)
        let firstOfKey = bytes(vector.K)[0..<4].map(String.init)
        for digits in [first, firstOfKey] {
            #expect(!printed.contains(digits.joined(separator: ", ")))
            #expect(!printed.contains(digits.map { "- \($0)" }.joined(separator: "\n")))
        }
        #expect(printed.contains("••••"))
    }
}
