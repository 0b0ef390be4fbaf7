import COpenSSL

/// AES-128 as the legacy pairing uses it.
enum LegacyCipher {
    /// 16 bytes: the beginning of SHA-512 over the label and the secret.
    static func derive(_ label: String, _ secret: [UInt8]) -> [UInt8] {
        Array(PairingCrypto.sha512(Array(label.utf8) + secret).prefix(16))
    }

    /// GCM with a vector of 16 bytes.
    static func seal(_ plaintext: [UInt8], key: [UInt8], vector: [UInt8]) -> (ciphertext: [UInt8], tag: [UInt8]) {
        let context = start(EVP_aes_128_gcm(), key: key, vector: vector, encrypting: true)
        defer { EVP_CIPHER_CTX_free(context) }
        let ciphertext = update(context, plaintext)
        var nothing = [UInt8](repeating: 0, count: 16)
        var length: Int32 = 0
        precondition(EVP_CipherFinal_ex(context, &nothing, &length) == 1)
        var tag = [UInt8](repeating: 0, count: 16)
        precondition(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1)
        return (ciphertext, tag)
    }

    /// The plaintext; nil where the tag, of 16 bytes, is wrong.
    static func open(_ ciphertext: [UInt8], tag: [UInt8], key: [UInt8], vector: [UInt8]) -> [UInt8]? {
        guard tag.count == 16 else { return nil }
        let context = start(EVP_aes_128_gcm(), key: key, vector: vector, encrypting: false)
        defer { EVP_CIPHER_CTX_free(context) }
        let plaintext = update(context, ciphertext)
        var tag = tag
        precondition(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1)
        var nothing = [UInt8](repeating: 0, count: 16)
        var length: Int32 = 0
        return EVP_CipherFinal_ex(context, &nothing, &length) == 1 ? plaintext : nil
    }

    /// The first bytes of the key stream of counter mode.
    static func stream(_ count: Int, key: [UInt8], vector: [UInt8]) -> [UInt8] {
        let context = start(EVP_aes_128_ctr(), key: key, vector: vector, encrypting: true)
        defer { EVP_CIPHER_CTX_free(context) }
        return update(context, [UInt8](repeating: 0, count: count))
    }

    /// None of this fails but for want of memory, for key and vector have the right lengths.
    private static func start(
        _ cipher: OpaquePointer?, key: [UInt8], vector: [UInt8], encrypting: Bool
    ) -> OpaquePointer {
        precondition(key.count == 16 && vector.count == 16)
        guard let context = EVP_CIPHER_CTX_new() else { fatalError("libcrypto has no memory for a cipher") }
        let direction: Int32 = encrypting ? 1 : 0
        precondition(EVP_CipherInit_ex(context, cipher, nil, nil, nil, direction) == 1)
        if EVP_CIPHER_get_mode(cipher) == EVP_CIPH_GCM_MODE {
            precondition(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, 16, nil) == 1)
        }
        precondition(EVP_CipherInit_ex(context, nil, nil, key, vector, direction) == 1)
        return context
    }

    private static func update(_ context: OpaquePointer, _ bytes: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: bytes.count + 16)
        var length: Int32 = 0
        precondition(EVP_CipherUpdate(context, &result, &length, bytes, Int32(bytes.count)) == 1)
        return Array(result.prefix(Int(length)))
    }
}
