import COpenSSL

/// The RSA pair of a simulated receiver: it unwraps stream keys and signs challenges.
///
/// Immutable after it is made, and libcrypto allows several threads to use one key.
final class RAOPServerKey: @unchecked Sendable {
    private let key: OpaquePointer

    /// Makes a pair of 2048 bits, which takes some tenths of a second.
    init() throws(SimulatedReceiverError) {
        let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1,
            EVP_PKEY_generate(context, &made) == 1, let made
        else { throw .cryptography("RSA") }
        key = made
    }

    deinit { EVP_PKEY_free(key) }

    /// Big-endian, without leading zeros.
    var modulus: [UInt8] {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &number) == 1, let number else { return [] }
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: Int(BN_num_bits(number) + 7) / 8)
        BN_bn2bin(number, &bytes)
        return bytes
    }

    /// RSAES-OAEP with SHA-1. Nil when it was not wrapped for this key.
    func unwrap(_ wrapped: [UInt8]) -> [UInt8]? {
        let context = EVP_PKEY_CTX_new(key, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var count = 512
        var plain = [UInt8](repeating: 0, count: count)
        guard EVP_PKEY_decrypt_init(context) == 1,
            EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1,
            EVP_PKEY_decrypt(context, &plain, &count, wrapped, wrapped.count) == 1
        else {
            ERR_clear_error()
            return nil
        }
        return Array(plain.prefix(count))
    }

    /// A PKCS #1 type 1 signature over the bytes themselves, without a digest: the answer to `Apple-Challenge`.
    func sign(_ message: [UInt8]) -> [UInt8]? {
        let context = EVP_PKEY_CTX_new(key, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var count = 512
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_PKEY_sign_init(context) == 1, EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1,
            EVP_PKEY_sign(context, &signature, &count, message, message.count) == 1
        else {
            ERR_clear_error()
            return nil
        }
        return Array(signature.prefix(count))
    }
}
