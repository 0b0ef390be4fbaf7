import COpenSSL

/// AES-128-CTR as Cast streams use it: each frame's payload by itself, with a counter made of its number and a mask
/// (`Protocols/cast` section 12). Printing it shows no key.
public struct CastFrameCipher: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// 16 bytes.
    public let key: [UInt8]
    /// 16 bytes.
    public let mask: [UInt8]

    /// Nil unless both are of 16 bytes.
    public init?(key: [UInt8], mask: [UInt8]) {
        guard key.count == 16, mask.count == 16 else { return nil }
        self.key = key
        self.mask = mask
    }

    private init(random generator: inout some RandomNumberGenerator) {
        key = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
        mask = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// With a fresh random key and mask.
    public static func random() -> CastFrameCipher {
        var generator = SystemRandomNumberGenerator()
        return CastFrameCipher(random: &generator)
    }

    /// Encrypts, or decrypts, which is the same. Nil where OpenSSL fails, which it does for want of memory only.
    public func crypt(_ payload: [UInt8], frame: Int) -> [UInt8]? {
        guard !payload.isEmpty else { return [] }
        guard let length = Int32(exactly: payload.count), let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        var result = [UInt8](repeating: 0, count: payload.count)
        var written: Int32 = 0
        guard EVP_EncryptInit_ex(context, EVP_aes_128_ctr(), nil, key, counter(frame: frame)) == 1,
            EVP_EncryptUpdate(context, &result, &written, payload, length) == 1, written == length
        else { return nil }
        return result
    }

    private func counter(frame: Int) -> [UInt8] {
        let number = UInt32(truncatingIfNeeded: frame)
        var counter = mask
        for (index, shift) in [24, 16, 8, 0].enumerated() {
            counter[8 + index] ^= UInt8(truncatingIfNeeded: number >> shift)
        }
        return counter
    }

    public var description: String { "AES-128-CTR, key hidden" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
