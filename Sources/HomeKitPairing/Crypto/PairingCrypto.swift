import COpenSSL
import CSodium

/// The primitives that pairing is made of, by libsodium and libcrypto. None of them keeps a secret.
public enum PairingCrypto {
    public static func random(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        randombytes_buf(&bytes, count)
        return bytes
    }

    public static func sha512(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha512_BYTES))
        _ = crypto_hash_sha512(&digest, bytes, UInt64(bytes.count))
        return digest
    }

    public static func sha1(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        _ = SHA1(bytes, bytes.count, &digest)
        return digest
    }

    /// HKDF with SHA-512 (RFC 5869).
    ///
    /// - Parameter count: bytes wanted, at most 255 × 64.
    public static func hkdf(_ secret: [UInt8], salt: String, info: String, count: Int = 32) -> [UInt8] {
        precondition(count <= 255 * 64)
        let pseudorandomKey = hmac(key: Array(salt.utf8), secret)
        var result: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 1
        while result.count < count {
            block = hmac(key: pseudorandomKey, block + Array(info.utf8) + [number])
            result += block
            number &+= 1
        }
        return Array(result.prefix(count))
    }

    private static func hmac(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        var state = crypto_auth_hmacsha512_state()
        var tag = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha512_BYTES))
        _ = crypto_auth_hmacsha512_init(&state, key, key.count)
        _ = crypto_auth_hmacsha512_update(&state, bytes, UInt64(bytes.count))
        _ = crypto_auth_hmacsha512_final(&state, &tag)
        return tag
    }

    /// ChaCha20-Poly1305 (RFC 8439): the ciphertext with its 16-byte tag behind.
    ///
    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - nonce: up to 12 bytes, filled up with zeros in front.
    public static func seal(
        _ plaintext: some Collection<UInt8>, key: [UInt8], nonce: [UInt8], authenticating: [UInt8] = []
    ) -> [UInt8] {
        precondition(key.count == 32 && nonce.count <= 12)
        let plaintext = Array(plaintext)
        var result = [UInt8](repeating: 0, count: plaintext.count + 16)
        var length: UInt64 = 0
        _ = crypto_aead_chacha20poly1305_ietf_encrypt(
            &result, &length, plaintext, UInt64(plaintext.count), authenticating, UInt64(authenticating.count), nil,
            filled(nonce), key)
        return result
    }

    /// The plaintext; nil where the tag is wrong.
    public static func open(
        _ sealed: some Collection<UInt8>, key: [UInt8], nonce: [UInt8], authenticating: [UInt8] = []
    ) -> [UInt8]? {
        precondition(key.count == 32 && nonce.count <= 12)
        guard sealed.count >= 16 else { return nil }
        let sealed = Array(sealed)
        // Never of no length, for there is no pointer to nothing.
        var result = [UInt8](repeating: 0, count: max(1, sealed.count - 16))
        var length: UInt64 = 0
        guard
            crypto_aead_chacha20poly1305_ietf_decrypt(
                &result, &length, nil, sealed, UInt64(sealed.count), authenticating, UInt64(authenticating.count),
                filled(nonce), key) == 0
        else { return nil }
        return Array(result.prefix(sealed.count - 16))
    }

    /// Whether they are the same, in a time that tells nothing of where they differ.
    public static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && sodium_memcmp(left, right, left.count) == 0
    }

    private static func filled(_ nonce: [UInt8]) -> [UInt8] {
        [UInt8](repeating: 0, count: 12 - nonce.count) + nonce
    }
}

/// An Ed25519 pair of keys: who a controller or a receiver is.
public struct SigningKey: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// 32 bytes. Secret.
    public let seed: [UInt8]
    /// 32 bytes.
    public let publicKey: [UInt8]
    private let secretKey: [UInt8]

    /// - Parameter seed: 32 bytes.
    public init(seed: [UInt8]) {
        precondition(seed.count == 32)
        var publicKey = [UInt8](repeating: 0, count: 32)
        var secretKey = [UInt8](repeating: 0, count: 64)
        _ = crypto_sign_seed_keypair(&publicKey, &secretKey, seed)
        self.seed = seed
        self.publicKey = publicKey
        self.secretKey = secretKey
    }

    public static func random() -> SigningKey { SigningKey(seed: PairingCrypto.random(32)) }

    /// 64 bytes.
    public func signature(over message: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: 64)
        _ = crypto_sign_detached(&signature, nil, message, UInt64(message.count), secretKey)
        return signature
    }

    /// False too where a key or a signature is of a wrong length.
    public static func verify(_ signature: [UInt8], over message: [UInt8], publicKey: [UInt8]) -> Bool {
        guard signature.count == 64, publicKey.count == 32 else { return false }
        return crypto_sign_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
    }

    public var description: String { "SigningKey(••••)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A Curve25519 pair of keys, of one exchange.
public struct ExchangeKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// 32 bytes.
    public let publicKey: [UInt8]
    private let secret: [UInt8]

    /// - Parameter secret: 32 bytes.
    public init(secret: [UInt8]) {
        precondition(secret.count == 32)
        var publicKey = [UInt8](repeating: 0, count: 32)
        _ = crypto_scalarmult_base(&publicKey, secret)
        self.publicKey = publicKey
        self.secret = secret
    }

    public static func random() -> ExchangeKey { ExchangeKey(secret: PairingCrypto.random(32)) }

    /// 32 bytes; nil where the other key is no good: of a wrong length, or one that gives zero.
    public func shared(with other: [UInt8]) -> [UInt8]? {
        guard other.count == 32 else { return nil }
        var shared = [UInt8](repeating: 0, count: 32)
        return crypto_scalarmult(&shared, secret, other) == 0 ? shared : nil
    }

    public var description: String { "ExchangeKey(••••)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
