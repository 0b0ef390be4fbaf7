import COpenSSL
import HomeKitPairing

/// AES as the older pairing uses it (`Protocols/pairing/README.md`, “Legacy pairing”).
enum PairingServerCipher {
    /// Bytes of a tag.
    static let tagLength = 16

    /// The key and the first counter or nonce that a secret gives, 16 bytes each.
    static func keys(_ purpose: String, secret: [UInt8]) -> (key: [UInt8], start: [UInt8]) {
        func half(_ name: String) -> [UInt8] {
            Array(PairingCrypto.sha512(Array("\(purpose)-\(name)".utf8) + secret).prefix(16))
        }
        return (half("AES-Key"), half("AES-IV"))
    }

    /// AES-128-CTR: the keystream's first bytes.
    static func keystream(_ count: Int, key: [UInt8], start: [UInt8]) -> [UInt8]? {
        var result = [UInt8](repeating: 0, count: count)
        var length: Int32 = 0
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        let zeros = [UInt8](repeating: 0, count: count)
        guard EVP_EncryptInit_ex(context, EVP_aes_128_ctr(), nil, key, start) == 1,
            EVP_EncryptUpdate(context, &result, &length, zeros, Int32(count)) == 1
        else { return nil }
        return result
    }

    /// AES-128-GCM with a nonce of 16 bytes.
    static func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8]) -> (ciphertext: [UInt8], tag: [UInt8])? {
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var ciphertext = [UInt8](repeating: 0, count: plaintext.count)
        var tag = [UInt8](repeating: 0, count: tagLength)
        var length: Int32 = 0
        guard EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, nil, nil) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonce.count), nil) == 1,
            EVP_EncryptInit_ex(context, nil, nil, key, nonce) == 1,
            EVP_EncryptUpdate(context, &ciphertext, &length, plaintext, Int32(plaintext.count)) == 1,
            EVP_EncryptFinal_ex(context, &tag, &length) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagLength), &tag) == 1
        else { return nil }
        return (ciphertext, tag)
    }

    /// The plaintext; nil where the tag is wrong.
    static func open(_ ciphertext: [UInt8], tag: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        guard !ciphertext.isEmpty, tag.count == tagLength else { return nil }
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var plaintext = [UInt8](repeating: 0, count: ciphertext.count)
        var expected = tag
        var rest = [UInt8](repeating: 0, count: 16)
        var length: Int32 = 0
        guard EVP_DecryptInit_ex(context, EVP_aes_128_gcm(), nil, nil, nil) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonce.count), nil) == 1,
            EVP_DecryptInit_ex(context, nil, nil, key, nonce) == 1,
            EVP_DecryptUpdate(context, &plaintext, &length, ciphertext, Int32(ciphertext.count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagLength), &expected) == 1,
            EVP_DecryptFinal_ex(context, &rest, &length) == 1
        else {
            ERR_clear_error()
            return nil
        }
        return plaintext
    }
}
