import COpenSSL
import Foundation

/// Keys and certificates of simulated Cast devices: a root of our own, a device certificate under it, and the
/// short-lived certificate of the TLS server. Keys are made once for each process, because each takes a tenth of a second.
///
/// A sender that verifies devices accepts them when it is given `rootPEM` as a root (openscreen: `cast_sender -d`).
public struct CastTestAuthority: Sendable {
    /// The root certificate in PEM.
    public let rootPEM: String
    private let root: SimulatedKeyPair
    private let rootCertificate: [UInt8]
    private let deviceKey: SimulatedKeyPair
    let serverKey: SimulatedKeyPair

    private static let day = 86_400

    /// The authority of this process. Throws `SimulatedReceiverError.cryptography` if it could not be made.
    public static func ofProcess() throws -> CastTestAuthority { try made.get() }

    private static let made = Result { try CastTestAuthority() }

    init() throws {
        root = try SimulatedKeyPair()
        deviceKey = try SimulatedKeyPair()
        serverKey = try SimulatedKeyPair()
        rootCertificate = try SimulatedCertificate(
            name: "Router Test Cast Root", key: root, notBefore: -30 * Self.day, notAfter: 3_650 * Self.day, role: .root
        ).signed(by: root, issuer: nil)
        rootPEM = Self.pem(rootCertificate, label: "CERTIFICATE")
    }

    /// A device certificate under the root. An expired one ended ten days ago, as those of the 2nd-generation
    /// Chromecast did in March 2025.
    func deviceCertificate(name: String, expired: Bool) throws -> [UInt8] {
        let end = expired ? -10 * Self.day : 3_000 * Self.day
        return try SimulatedCertificate(
            name: name, key: deviceKey, notBefore: -20 * Self.day, notAfter: end, role: .device
        ).signed(by: root, issuer: rootCertificate)
    }

    /// The certificate of the TLS server, signed by itself. Senders refuse one that is valid for more than four days.
    func serverCertificate(name: String, days: Int) throws -> [UInt8] {
        try SimulatedCertificate(
            name: name, key: serverKey, notBefore: -Self.day / 4, notAfter: days * Self.day - Self.day / 2,
            role: .server
        ).signed(by: serverKey, issuer: nil)
    }

    /// Signs with the device's key (`Protocols/cast` section 6).
    func signAsDevice(_ bytes: [UInt8], hash: SimulatedKeyPair.Hash, padding: SimulatedKeyPair.Padding) throws
        -> [UInt8]
    {
        try deviceKey.sign(bytes, hash: hash, padding: padding)
    }

    static func pem(_ der: [UInt8], label: String) -> String {
        let body = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN \(label)-----\n\(body)\n-----END \(label)-----\n"
    }
}

/// An RSA key of 2,048 bits, kept as DER so that it is a plain value.
struct SimulatedKeyPair: Sendable {
    enum Hash: Sendable { case sha1, sha256 }
    enum Padding: Sendable { case pkcs1, pss }

    let der: [UInt8]

    init() throws {
        let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        defer { EVP_PKEY_free(key) }
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2_048) == 1,
            EVP_PKEY_generate(context, &key) == 1
        else { throw SimulatedReceiverError.cryptography("making a key") }
        der = try derBytes("encoding a key") { i2d_PrivateKey(key, $0) }
    }

    /// Gives the key to a closure in libcrypto's own form.
    func withKey<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        let key = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_AutoPrivateKey(nil, &start, bytes.count)
        }
        guard let key else { throw SimulatedReceiverError.cryptography("reading a key") }
        defer { EVP_PKEY_free(key) }
        return try body(key)
    }

    func sign(_ bytes: [UInt8], hash: Hash, padding: Padding) throws -> [UInt8] {
        try withKey { key in
            let context = EVP_MD_CTX_new()
            defer { EVP_MD_CTX_free(context) }
            var keyContext: OpaquePointer?
            let failure = SimulatedReceiverError.cryptography("signing")
            let digest = hash == .sha1 ? EVP_sha1() : EVP_sha256()
            guard EVP_DigestSignInit(context, &keyContext, digest, nil, key) == 1 else { throw failure }
            if padding == .pss {
                guard EVP_PKEY_CTX_set_rsa_padding(keyContext, RSA_PKCS1_PSS_PADDING) == 1 else { throw failure }
            }
            var length = 0
            guard EVP_DigestSign(context, nil, &length, bytes, bytes.count) == 1 else { throw failure }
            var signature = [UInt8](repeating: 0, count: length)
            guard EVP_DigestSign(context, &signature, &length, bytes, bytes.count) == 1 else { throw failure }
            return Array(signature.prefix(length))
        }
    }
}

/// What a certificate is to say.
struct SimulatedCertificate {
    enum Role { case root, device, server }

    var name: String
    var key: SimulatedKeyPair
    /// Seconds from now.
    var notBefore: Int
    var notAfter: Int
    var role: Role

    /// The certificate in DER. Without an issuer it names itself as that.
    func signed(by signer: SimulatedKeyPair, issuer: [UInt8]?) throws -> [UInt8] {
        let failure = SimulatedReceiverError.cryptography("making a certificate")
        guard let certificate = X509_new() else { throw failure }
        defer { X509_free(certificate) }
        let issuerCertificate = issuer.flatMap { der in
            der.withUnsafeBufferPointer { bytes in
                var start = bytes.baseAddress
                return d2i_X509(nil, &start, bytes.count)
            }
        }
        defer { X509_free(issuerCertificate) }
        guard X509_set_version(certificate, 2) == 1,
            ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), Int64.random(in: 1 << 32..<1 << 62)) == 1,
            X509_gmtime_adj(X509_getm_notBefore(certificate), notBefore) != nil,
            X509_gmtime_adj(X509_getm_notAfter(certificate), notAfter) != nil,
            let subject = X509_get_subject_name(certificate),
            X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, "Router simulated receivers", -1, -1, 0) == 1,
            // A common name has at most 64 characters.
            X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, String(name.prefix(64)), -1, -1, 0) == 1,
            X509_set_issuer_name(certificate, issuerCertificate.flatMap { X509_get_subject_name($0) } ?? subject) == 1
        else { throw failure }
        try key.withKey { guard X509_set_pubkey(certificate, $0) == 1 else { throw failure } }
        for (identifier, value) in extensions {
            guard let part = X509V3_EXT_conf_nid(nil, nil, identifier, value) else { throw failure }
            defer { X509_EXTENSION_free(part) }
            guard X509_add_ext(certificate, part, -1) == 1 else { throw failure }
        }
        try signer.withKey { guard X509_sign(certificate, $0, EVP_sha256()) > 0 else { throw failure } }
        return try derBytes("encoding a certificate") { i2d_X509(certificate, $0) }
    }

    private var extensions: [(Int32, String)] {
        switch role {
        case .root:
            [(NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign")]
        case .device:
            [
                (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "clientAuth"),
            ]
        case .server:
            [(NID_key_usage, "critical,digitalSignature,keyEncipherment"), (NID_ext_key_usage, "serverAuth")]
        }
    }
}

/// Calls an `i2d` function twice: for the length and for the bytes.
private func derBytes(
    _ step: String, _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
) throws -> [UInt8] {
    let length = encode(nil)
    guard length > 0 else { throw SimulatedReceiverError.cryptography(step) }
    return [UInt8](unsafeUninitializedCapacity: Int(length)) { target, count in
        var start = target.baseAddress
        count = Int(encode(&start))
    }
}
