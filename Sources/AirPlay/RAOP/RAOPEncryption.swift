import COpenSSL

/// An RSA public key that a stream's AES key is wrapped for (`Protocols/airplay/README.md`, “RSA”).
public struct RAOPPublicKey: Sendable, Hashable {
    /// Big-endian.
    public var modulus: [UInt8]
    public var exponent: UInt64

    public init(modulus: [UInt8], exponent: UInt64 = 65537) {
        self.modulus = modulus
        self.exponent = exponent
    }

    /// The key that every receiver with `et=1` holds the private half of.
    public static let airPortExpress = RAOPPublicKey(
        modulus: Base64.decode(
            "59dE8qLieItsH1WgjrcFRKj6eUWqi+bGLOX1HL3U3GhC/j0Qg90u3sG/1CUtwC5vOYvfDmFI6oSFXi5ELabWJmT2dKHzBJKa3k9ok+8t"
                + "9ucRqMd6DZHJ2YCCLlDRKSKv6kDqnw4UwPdpOMXziC/AMj3Z/lUVX1G7WSHCAWKf1zNS1eLvqr+boEjXuBOitnZ/bDzPHrTOZz0D"
                + "ew0uowxf/+sG+NCK3eQJVxqcaJ/vEHKIVd2M+5qL71yJQ+87X6oV3eaYvt3zWZYD6z5vYTcrtij2VZ9Zmni/UAaHqn9JdsBWLUEp"
                + "VviYnhimNVvYFZeCXg/IdTQ+x4IRdiXNv5hEew==")!)

    /// RSAES-OAEP with SHA-1; nil where the key is no key.
    public func encrypt(_ message: [UInt8]) -> [UInt8]? {
        guard let modulus = BN_bin2bn(modulus, Int32(modulus.count), nil) else { return nil }
        defer { BN_free(modulus) }
        guard let exponent = BN_new() else { return nil }
        defer { BN_free(exponent) }
        guard BN_set_word(exponent, UInt(self.exponent)) == 1, let builder = OSSL_PARAM_BLD_new() else { return nil }
        defer { OSSL_PARAM_BLD_free(builder) }
        guard OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1,
            OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1,
            let parameters = OSSL_PARAM_BLD_to_param(builder)
        else { return nil }
        defer { OSSL_PARAM_free(parameters) }
        guard let maker = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { return nil }
        defer { EVP_PKEY_CTX_free(maker) }
        var key: OpaquePointer?
        // The selection “public key”: a macro that Swift does not import (key parameters | public key).
        let publicKeySelection: Int32 = 0x86
        guard EVP_PKEY_fromdata_init(maker) == 1,
            EVP_PKEY_fromdata(maker, &key, publicKeySelection, parameters) == 1, let key
        else { return nil }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_PKEY_CTX_new(key, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var length = 0
        guard EVP_PKEY_encrypt_init(context) == 1,
            EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1,
            EVP_PKEY_encrypt(context, nil, &length, message, message.count) == 1
        else { return nil }
        var wrapped = [UInt8](repeating: 0, count: length)
        guard EVP_PKEY_encrypt(context, &wrapped, &length, message, message.count) == 1 else { return nil }
        return Array(wrapped.prefix(length))
    }
}

/// AES-128-CBC as RAOP uses it: every packet begins anew with the same vector, and what is left over after whole blocks
/// of 16 goes in the clear. Printing it shows no key.
public struct RAOPAudioCipher: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    private let key: [UInt8]
    public let initialVector: [UInt8]

    /// - Parameters:
    ///   - key: 16 bytes.
    ///   - initialVector: 16 bytes.
    public init(key: [UInt8], initialVector: [UInt8]) {
        precondition(key.count == 16 && initialVector.count == 16)
        self.key = key
        self.initialVector = initialVector
    }

    /// With a fresh random key and vector.
    public static func random() -> RAOPAudioCipher {
        var generator = SystemRandomNumberGenerator()
        func bytes() -> [UInt8] { (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) } }
        return RAOPAudioCipher(key: bytes(), initialVector: bytes())
    }

    /// The key as ANNOUNCE carries it; nil where `publicKey` is no key.
    public func wrapped(for publicKey: RAOPPublicKey) -> RAOPSessionDescription.RSAEncryption? {
        publicKey.encrypt(key).map {
            RAOPSessionDescription.RSAEncryption(encryptedKey: $0, initialVector: initialVector)
        }
    }

    public func encrypt(_ payload: [UInt8]) -> [UInt8] { crypt(payload, encrypting: 1) }
    public func decrypt(_ payload: [UInt8]) -> [UInt8] { crypt(payload, encrypting: 0) }

    private func crypt(_ payload: [UInt8], encrypting: Int32) -> [UInt8] {
        let whole = payload.count & ~15
        guard whole > 0, let context = EVP_CIPHER_CTX_new() else { return payload }
        defer { EVP_CIPHER_CTX_free(context) }
        var result = payload
        var length: Int32 = 0
        EVP_CipherInit_ex(context, EVP_aes_128_cbc(), nil, key, initialVector, encrypting)
        EVP_CIPHER_CTX_set_padding(context, 0)
        EVP_CipherUpdate(context, &result, &length, payload, Int32(whole))
        return result
    }

    public var description: String { "AES-128-CBC, key hidden" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
