import COpenSSL
import Testing

@testable import AirPlay

@Suite("Passwords and encryption")
struct EncryptionTests {
    @Test("A1 Digest responses agree with RFC 2069 in both styles")
    func digest() throws {
        for vector in try Vectors.load().digest {
            let challenge = DigestChallenge(realm: vector.realm, nonce: vector.nonce)
            let authorization = DigestAuthorization(
                challenge: challenge, user: vector.user, password: vector.password, method: vector.method,
                uri: vector.uri, uppercase: vector.uppercase)
            #expect(authorization.response == vector.response)
            let read = try #require(DigestAuthorization(parsing: authorization.text))
            #expect(read == authorization)
            #expect(read.matches(password: vector.password, method: vector.method))
            #expect(!read.matches(password: "other", method: vector.method))
            #expect(!"\(read)".contains(vector.response))
        }
    }

    @Test("Challenges, as receivers write them")
    func challenges() {
        #expect(
            DigestChallenge(parsing: "Digest realm=\"a \\\"b\\\", c\",nonce=xyz")
                == DigestChallenge(realm: "a \"b\", c", nonce: "xyz"))
        #expect(
            DigestChallenge(parsing: "digest  nonce=\"1\" , realm=\"r\"") == DigestChallenge(realm: "r", nonce: "1"))
        #expect(DigestChallenge(parsing: "Basic realm=\"r\"") == nil)
        #expect(DigestChallenge(parsing: "Digest realm=\"r\"") == nil)
        #expect(
            DigestChallenge(parsing: "Digest nonce=\"unfinished") == DigestChallenge(realm: "", nonce: "unfinished"))
    }

    @Test("A1 Packets are encrypted as OpenSSL's own command does it, tails in the clear")
    func aes() throws {
        let vectors = try Vectors.load().aes
        let cipher = RAOPAudioCipher(key: bytes(hex: vectors.key), initialVector: bytes(hex: vectors.iv))
        for vector in vectors.cases {
            #expect(cipher.encrypt(bytes(hex: vector.plain)) == bytes(hex: vector.cipher))
            #expect(cipher.decrypt(bytes(hex: vector.cipher)) == bytes(hex: vector.plain))
        }
        #expect(!"\(cipher) \(String(reflecting: cipher))".contains("0, 1, 2"))
    }

    @Test("A1 A wrapped key can be unwrapped by the owner of the key pair, and by nobody's broken key")
    func rsa() throws {
        let maker = try #require(EVP_PKEY_CTX_new_from_name(nil, "RSA", nil))
        defer { EVP_PKEY_CTX_free(maker) }
        var key: OpaquePointer?
        EVP_PKEY_keygen_init(maker)
        EVP_PKEY_CTX_set_rsa_keygen_bits(maker, 1024)
        #expect(EVP_PKEY_generate(maker, &key) == 1)
        let pair = try #require(key)
        defer { EVP_PKEY_free(pair) }
        var number: OpaquePointer?
        #expect(EVP_PKEY_get_bn_param(pair, "n", &number) == 1)
        var modulus = [UInt8](repeating: 0, count: 128)
        BN_bn2bin(number, &modulus)
        BN_free(number)
        let secret = [UInt8](0..<16)
        let wrapped = try #require(RAOPPublicKey(modulus: modulus).encrypt(secret))
        #expect(wrapped.count == 128)
        let context = try #require(EVP_PKEY_CTX_new(pair, nil))
        defer { EVP_PKEY_CTX_free(context) }
        EVP_PKEY_decrypt_init(context)
        EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING)
        var plain = [UInt8](repeating: 0, count: 128)
        var length = plain.count
        #expect(EVP_PKEY_decrypt(context, &plain, &length, wrapped, wrapped.count) == 1)
        #expect(Array(plain.prefix(length)) == secret)
        #expect(RAOPPublicKey.airPortExpress.modulus.count == 256)
        #expect(RAOPPublicKey.airPortExpress.encrypt(secret)?.count == 256)
        #expect(RAOPPublicKey(modulus: []).encrypt(secret) == nil)
        ERR_clear_error()
    }
}
