import COpenSSL
import Foundation

/// What a certificate of a device says, read out of it.
public struct CastCertificate: Sendable, Hashable {
    /// As in `O=…, CN=…`.
    public var subject: String
    public var issuer: String
    public var notBefore: Date
    public var notAfter: Date
    /// The SHA-256 of its SubjectPublicKeyInfo, 32 bytes: the identity of the key, whatever certificate it stands in.
    public var keyHash: [UInt8]
    public var keyBits: Int
    public var isRSA: Bool
    /// Nil where it has more than 64 bits or is negative.
    public var serial: UInt64?
    /// Whether it names the audio-only policy (`Protocols/cast` section 8).
    public var isAudioOnly: Bool
    /// Whether its key may sign data; false also where it does not say.
    public var signsData: Bool

    /// The hash of the key in lower-case hexadecimal.
    public var fingerprint: String { keyHash.hexadecimal }

    /// 1.3.6.1.4.1.11129.2.5.2: a device of this kind plays sound only.
    static let audioOnlyPolicy = "1.3.6.1.4.1.11129.2.5.2"

    /// Nil where the bytes are no certificate, or hold anything beside it.
    public init?(der: [UInt8]) {
        guard let handle = CertificateHandle(der: der), let certificate = Self(handle) else { return nil }
        self = certificate
    }

    init?(_ handle: CertificateHandle) {
        let certificate = handle.pointer
        guard let notBefore = Self.date(X509_get0_notBefore(certificate)),
            let notAfter = Self.date(X509_get0_notAfter(certificate)),
            let key = X509_get0_pubkey(certificate), let keyInfo = handle.keyInfo
        else { return nil }
        subject = Self.text(X509_get_subject_name(certificate))
        issuer = Self.text(X509_get_issuer_name(certificate))
        self.notBefore = notBefore
        self.notAfter = notAfter
        keyHash = Self.sha256(keyInfo)
        keyBits = Int(EVP_PKEY_get_bits(key))
        isRSA = EVP_PKEY_get_id(key) == NID_rsaEncryption
        var serial: UInt64 = 0
        self.serial =
            ASN1_INTEGER_get_uint64(&serial, X509_get0_serialNumber(certificate)) == 1 ? serial : nil
        isAudioOnly = Self.policies(certificate).contains(Self.audioOnlyPolicy)
        // Without the extension libcrypto answers with all bits set; here it has to be said.
        let usage = X509_get_key_usage(certificate)
        signsData = usage != UInt32.max && usage & 0x80 != 0
    }

    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        return digest
    }

    private static func date(_ time: UnsafePointer<ASN1_TIME>?) -> Date? {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(timegm(&parts)))
    }

    /// Longer names than this are cut: they are for people.
    private static let maximumNameBytes: Int32 = 512

    private static func text(_ name: OpaquePointer?) -> String {
        guard let name, let output = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(output) }
        // Of RFC 2253: escapes, but UTF-8 as it is and the order as it stands; a comma and a blank between the parts.
        X509_NAME_print_ex(output, name, 0, 0x0102_0313)
        var bytes = [UInt8](repeating: 0, count: Int(maximumNameBytes))
        let count = BIO_read(output, &bytes, maximumNameBytes)
        return String(decoding: bytes.prefix(Int(max(0, count))), as: UTF8.self)
    }

    private static func policies(_ certificate: OpaquePointer) -> [String] {
        guard let found = X509_get_ext_d2i(certificate, NID_certificate_policies, nil, nil) else { return [] }
        let stack = OpaquePointer(found)
        defer { CERTIFICATEPOLICIES_free(stack) }
        return (0..<max(0, OPENSSL_sk_num(stack))).compactMap { index in
            guard let entry = OPENSSL_sk_value(stack, index) else { return nil }
            let policy = entry.assumingMemoryBound(to: POLICYINFO.self).pointee.policyid
            var text = [CChar](repeating: 0, count: 128)
            let length = OBJ_obj2txt(&text, Int32(text.count), policy, 1)
            guard length > 0, length < text.count else { return nil }
            return String(decoding: text.prefix(Int(length)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }
}

/// A certificate in libcrypto's own form, freed with the handle.
final class CertificateHandle {
    let pointer: OpaquePointer

    init?(der: [UInt8]) {
        var rest = 0
        let parsed = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var start = bytes.baseAddress
            guard let certificate = d2i_X509(nil, &start, bytes.count) else { return nil }
            rest = bytes.baseAddress.map { bytes.count - ((start ?? $0) - $0) } ?? 0
            return certificate
        }
        ERR_clear_error()
        guard let parsed else { return nil }
        pointer = parsed
        guard rest == 0 else { return nil }
    }

    deinit { X509_free(pointer) }

    /// DER of the SubjectPublicKeyInfo.
    var keyInfo: [UInt8]? {
        var bytes: UnsafeMutablePointer<UInt8>?
        let length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(pointer), &bytes)
        guard length > 0, let bytes else { return nil }
        defer { CRYPTO_free(bytes, nil, 0) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(length)))
    }

    /// Whether the key of this certificate made the signature. A signature that cannot be checked does not hold.
    func verifies(_ signature: [UInt8], over bytes: [UInt8], sha256: Bool, pss: Bool) -> Bool {
        guard let key = X509_get0_pubkey(pointer), let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        var keyContext: OpaquePointer?
        guard EVP_DigestVerifyInit(context, &keyContext, sha256 ? EVP_sha256() : EVP_sha1(), nil, key) == 1,
            EVP_PKEY_CTX_set_rsa_padding(keyContext, pss ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING) == 1
        else { return false }
        return EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
    }
}

extension Sequence<UInt8> {
    /// Two lower-case digits for each byte.
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
