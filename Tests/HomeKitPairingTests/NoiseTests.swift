import Testing

@testable import HomeKitPairing

/// Answers that no device sends: every rung throws, and nothing worse.
@Suite("R6 noise")
struct NoiseTests {
    /// The same numbers in every run (SplitMix64).
    struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }

    /// One message: a good one with some bytes changed, cut or doubled, or nothing but noise.
    private func spoilt(_ message: [UInt8], _ numbers: inout Numbers) -> PairingAnswer {
        var bytes = message
        switch Int.random(in: 0..<4, using: &numbers) {
        case 0:
            for _ in 0..<Int.random(in: 1...4, using: &numbers) {
                bytes[Int.random(in: 0..<bytes.count, using: &numbers)] ^= .random(in: 1...255, using: &numbers)
            }
        case 1: bytes = Array(bytes.prefix(Int.random(in: 0..<bytes.count, using: &numbers)))
        case 2: bytes.insert(contentsOf: bytes, at: Int.random(in: 0..<bytes.count, using: &numbers))
        default:
            let count = Int.random(in: 0..<600, using: &numbers)
            bytes = (0..<count).map { _ in .random(in: 0...255, using: &numbers) }
        }
        return PairingAnswer(body: .octets(bytes))
    }

    /// Where an answer is taken in spite of it all, it was changed where nothing is looked at: items that a rung does not
    /// know, or a salt or key that only the proof can tell from the right one.
    private func climb<Rung: PairingRung>(_ rung: Rung, _ message: String, _ numbers: inout Numbers) -> Int {
        let message = bytes(message)
        return (0..<2_000).count { _ in
            do throws(PairingError) {
                _ = try rung.accept(spoilt(message, &numbers))
                return false
            } catch {
                return true
            }
        }
    }

    @Test("2,000 spoilt answers to each rung")
    func spoiltAnswers() throws {
        let vectors = try Vectors.load()
        let (setup, verify) = (vectors.setup, vectors.verify)
        var numbers = Numbers(state: 4)
        let controller = ControllerIdentity(
            identifier: setup.controller, signingKey: SigningKey(seed: bytes(setup.controllerSeed)))
        let first = PairSetupM1(controller)
        #expect(climb(first, setup.m2, &numbers) > 800)
        let proof = try first.accept(octets(setup.m2)).proof(
            Array(setup.pin.utf8), client: SRPClient(.homeKit, secret: bytes(setup.a)))
        #expect(climb(proof, setup.m4, &numbers) > 1_000)
        #expect(climb(try proof.accept(octets(setup.m4)), setup.m6, &numbers) > 1_000)
        let credentials = HomeKitCredentials(
            controller: controller, accessoryIdentifier: Array(verify.accessory.utf8),
            accessoryKey: bytes(verify.accessoryKey))
        let verifying = PairVerifyM1(credentials, exchangeKey: ExchangeKey(secret: bytes(verify.exchangeSecret)))
        #expect(climb(verifying, verify.m2, &numbers) > 1_000)
        #expect(climb(try verifying.accept(octets(verify.m2)), verify.m4, &numbers) > 800)
        #expect(climb(PairList(), setup.m2, &numbers) > 800)
        let legacy = LegacyCredentials(controller: controller, accessoryKey: bytes(verify.accessoryKey))
        let key = ExchangeKey(secret: bytes(verify.exchangeSecret))
        #expect(climb(LegacyPairVerifyKey(legacy, exchangeKey: key), vectors.legacyVerify.answer1, &numbers) == 2_000)
        for _ in 0..<2_000 {
            guard case .octets(let bytes) = spoilt(credentials.encoded(), &numbers).body else { continue }
            if let kept = try? HomeKitCredentials(parsing: bytes) { #expect(kept.accessoryKey.count == 32) }
        }
    }
}
