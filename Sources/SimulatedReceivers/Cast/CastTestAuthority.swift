import COpenSSL
import CastV2
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
        try self.init(
            root: SimulatedKeyPair(), device: SimulatedKeyPair(), server: SimulatedKeyPair(), certificate: nil)
    }

    private init(
        root: SimulatedKeyPair, device: SimulatedKeyPair, server: SimulatedKeyPair, certificate: [UInt8]?
    ) throws {
        self.root = root
        deviceKey = device
        serverKey = server
        rootCertificate =
            try certificate
            ?? SimulatedCertificate(
                name: "Router Test Cast Root", key: root, notBefore: -30 * Self.day, notAfter: 3_650 * Self.day,
                role: .root
            ).signed(by: root, issuer: nil)
        rootPEM = Self.pem(rootCertificate, label: "CERTIFICATE")
    }

    /// An authority that stays: the one that is kept in this folder, or a new one that is kept there from now on (mode
    /// 0600). A simulated device that is started again then shows the same key, as a real one does.
    ///
    /// Throws `SimulatedReceiverError.cryptography` where it cannot be made or kept.
    public static func kept(in folder: URL) throws -> CastTestAuthority {
        let file = folder.appending(path: "simulated-cast-keys.json")
        if let data = try? Data(contentsOf: file), let kept = try? JSONDecoder().decode(Kept.self, from: data),
            CastCertificate(der: Array(kept.certificate)) != nil, kept.isWhole
        {
            return try CastTestAuthority(
                root: SimulatedKeyPair(der: Array(kept.root)), device: SimulatedKeyPair(der: Array(kept.device)),
                server: SimulatedKeyPair(der: Array(kept.server)), certificate: Array(kept.certificate))
        }
        let made = try CastTestAuthority()
        let kept = Kept(
            root: Data(made.root.der), device: Data(made.deviceKey.der), server: Data(made.serverKey.der),
            certificate: Data(made.rootCertificate))
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let path = file.path + "-\(UUID().uuidString)"
            guard
                FileManager.default.createFile(
                    atPath: path, contents: try JSONEncoder().encode(kept), attributes: [.posixPermissions: 0o600])
            else { throw SimulatedReceiverError.cryptography("keeping keys in \(folder.path)") }
            // In one step, so that nobody ever reads half of it.
            guard rename(path, file.path) == 0 else {
                throw SimulatedReceiverError.cryptography("keeping keys in \(folder.path)")
            }
        } catch let error as SimulatedReceiverError {
            throw error
        } catch {
            throw SimulatedReceiverError.cryptography("keeping keys in \(folder.path)")
        }
        return made
    }

    /// DER of each.
    private struct Kept: Codable {
        var root: Data
        var device: Data
        var server: Data
        var certificate: Data

        var isWhole: Bool {
            [root, device, server].allSatisfy { (try? SimulatedKeyPair(der: Array($0)).withKey { _ in true }) == true }
        }
    }

    /// Who a device says it is: its key, its certificate, what it sends along.
    struct Identity: Sendable {
        var key: SimulatedKeyPair
        var certificate: [UInt8]
        var intermediates: [[UInt8]] = []
        var revocationList: [UInt8] = []
        /// The root that a sender would have to be given, DER.
        var root: [UInt8]
    }

    /// A device's identity under the root, or one that fails as `mode` says. What is wrong with dates ended ten days
    /// ago, as the certificates of the 2nd-generation Chromecast did in March 2025.
    func identity(name: String, mode: SimulatedCastConfiguration.AuthenticationMode) throws -> Identity {
        let day = Self.day
        var device = SimulatedCertificate(
            name: name, key: deviceKey, notBefore: -20 * day, notAfter: 3_000 * day, role: .device)
        var middle = SimulatedCertificate(
            name: "Router Test Cast ICA", key: serverKey, notBefore: -25 * day, notAfter: 3_300 * day, role: .middle)
        func underRoot() throws -> Identity {
            let certificate = try device.signed(by: root, issuer: rootCertificate)
            return Identity(key: device.key, certificate: certificate, root: rootCertificate)
        }
        func underMiddle(_ root: [UInt8]? = nil) throws -> Identity {
            let issuer = root ?? rootCertificate
            let authority = try middle.signed(by: self.root, issuer: issuer)
            let certificate = try device.signed(by: serverKey, issuer: authority)
            return Identity(
                key: device.key, certificate: certificate, intermediates: [authority], root: issuer)
        }
        switch mode {
        case .expired: device.notAfter = -10 * day
        case .audioOnly: device.isAudioOnly = true
        case .newKey: device.key = try SimulatedKeyPair()
        case .shortKey: device.key = try SimulatedKeyPair(.rsa(bits: 1_024))
        case .ellipticKey: device.key = try SimulatedKeyPair(.curve)
        case .notForSigning: device.role = .deviceForEncryption
        case .intermediate: return try underMiddle()
        case .missingIntermediate:
            var identity = try underMiddle()
            identity.intermediates = []
            return identity
        case .expiredIntermediate:
            middle.notAfter = -10 * day
            return try underMiddle()
        case .notAnAuthority:
            middle.role = .device
            return try underMiddle()
        case .chainTooLong:
            let lonely = SimulatedCertificate(
                name: "Router Test Lonely Root", key: root, notBefore: -30 * day, notAfter: 3_650 * day,
                role: .rootWithoutMiddle)
            return try underMiddle(try lonely.signed(by: root, issuer: nil))
        case .untrusted:
            let stranger = SimulatedCertificate(
                name: "Router Test Stranger", key: serverKey, notBefore: -30 * day, notAfter: 3_650 * day, role: .root)
            let issuer = try stranger.signed(by: serverKey, issuer: nil)
            let certificate = try device.signed(by: serverKey, issuer: issuer)
            // Whoever trusts the root does not trust this one, though the device sends it.
            return Identity(key: device.key, certificate: certificate, intermediates: [issuer], root: rootCertificate)
        case .selfSigned:
            let certificate = try device.signed(by: device.key, issuer: nil)
            return Identity(key: device.key, certificate: certificate, root: rootCertificate)
        case .manyCertificates:
            var identity = try underRoot()
            identity.intermediates = Array(repeating: rootCertificate, count: 9)
            return identity
        case .revoked, .revokedSerial, .badRevocationList:
            var identity = try underRoot()
            identity.revocationList = try revocationList(
                keys: mode == .revoked ? [identity.certificate] : [],
                serials: mode == .revokedSerial ? [identity.certificate] : [], spoiled: mode == .badRevocationList)
            return identity
        default: break
        }
        return try underRoot()
    }

    /// A list of revoked devices, signed under the root and valid for a day (`Protocols/cast` section 8).
    ///
    /// - Parameters:
    ///   - keys: certificates whose keys count no more, DER.
    ///   - serials: certificates of the root's that count no more, by their serial numbers, DER.
    public func revocationList(keys: [[UInt8]] = [], serials: [[UInt8]] = []) throws -> [UInt8] {
        try revocationList(keys: keys, serials: serials, spoiled: false)
    }

    private func revocationList(keys: [[UInt8]], serials: [[UInt8]], spoiled: Bool) throws -> [UInt8] {
        let now = UInt64(Date().timeIntervalSince1970)
        let issuer = try Self.keyHash(rootCertificate)
        let content = CastRevocationContent(
            notBefore: now - UInt64(Self.day), notAfter: now + UInt64(Self.day), keyHashes: try keys.map(Self.keyHash),
            serialRanges: try serials.map { certificate in
                let serial = try Self.serial(certificate)
                return CastRevocationList.SerialRange(issuerKeyHash: issuer, serials: serial...serial)
            })
        let signer = try SimulatedCertificate(
            name: "Router Test CRL Signer", key: serverKey, notBefore: -Self.day, notAfter: 30 * Self.day, role: .device
        ).signed(by: root, issuer: rootCertificate)
        var signature = try serverKey.sign(content.bytes, hash: .sha256, padding: .pkcs1)
        if spoiled { signature[0] ^= 1 }
        return content.bundle(signer: signer, signature: signature)
    }

    private static func keyHash(_ certificate: [UInt8]) throws -> [UInt8] {
        guard let read = CastCertificate(der: certificate) else {
            throw SimulatedReceiverError.cryptography("reading a certificate")
        }
        return read.keyHash
    }

    private static func serial(_ certificate: [UInt8]) throws -> UInt64 {
        guard let serial = CastCertificate(der: certificate)?.serial else {
            throw SimulatedReceiverError.cryptography("reading a certificate")
        }
        return serial
    }

    /// The certificate of the TLS server, signed by itself. Senders refuse one that is valid for more than four days.
    func serverCertificate(
        name: String, mode: SimulatedCastConfiguration.AuthenticationMode
    ) throws -> [UInt8] {
        let quarter = Self.day / 4
        let (from, to) =
            switch mode {
            case .longLivedTLS: (-quarter, 30 * Self.day)
            case .expiredTLS: (-2 * Self.day, -quarter)
            case .futureTLS: (quarter, 2 * Self.day)
            default: (-quarter, 2 * Self.day - Self.day / 2)
            }
        return try SimulatedCertificate(
            name: name, key: serverKey, notBefore: from, notAfter: to, role: .server
        ).signed(by: serverKey, issuer: nil)
    }

    static func pem(_ der: [UInt8], label: String) -> String {
        let body = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN \(label)-----\n\(body)\n-----END \(label)-----\n"
    }
}

/// A key, kept as DER so that it is a plain value.
struct SimulatedKeyPair: Sendable {
    enum Hash: Sendable { case sha1, sha256 }
    enum Padding: Sendable { case pkcs1, pss }
    enum Kind: Sendable {
        case rsa(bits: Int32)
        /// P-256.
        case curve
    }

    let der: [UInt8]
    private let kind: Kind

    /// An RSA key that was made before.
    init(der: [UInt8]) {
        self.der = der
        kind = .rsa(bits: 2_048)
    }

    init(_ kind: Kind = .rsa(bits: 2_048)) throws {
        self.kind = kind
        let failure = SimulatedReceiverError.cryptography("making a key")
        let context: OpaquePointer?
        if case .curve = kind {
            context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        } else {
            context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        defer { EVP_PKEY_free(key) }
        guard EVP_PKEY_keygen_init(context) == 1 else { throw failure }
        switch kind {
        case .rsa(let bits): guard EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) == 1 else { throw failure }
        case .curve: guard EVP_PKEY_CTX_set_group_name(context, "P-256") == 1 else { throw failure }
        }
        guard EVP_PKEY_generate(context, &key) == 1 else { throw failure }
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
            if padding == .pss, case .rsa = kind {
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
    enum Role {
        case root, middle, device, server
        /// Allows no intermediate below it.
        case rootWithoutMiddle
        /// A device's, whose key is not for signatures.
        case deviceForEncryption
    }

    var name: String
    var key: SimulatedKeyPair
    /// Seconds from now.
    var notBefore: Int
    var notAfter: Int
    var role: Role
    /// Names the policy of devices that play sound only.
    var isAudioOnly = false

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
        if isAudioOnly { try addAudioOnlyPolicy(certificate) }
        try signer.withKey { guard X509_sign(certificate, $0, EVP_sha256()) > 0 else { throw failure } }
        return try derBytes("encoding a certificate") { i2d_X509(certificate, $0) }
    }

    private var extensions: [(Int32, String)] {
        switch role {
        case .root, .middle:
            [(NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign")]
        case .rootWithoutMiddle:
            [(NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign")]
        case .deviceForEncryption:
            [(NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,keyEncipherment")]
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

extension SimulatedCertificate {
    /// certificatePolicies with 1.3.6.1.4.1.11129.2.5.2 alone, written out: a list of one policy, which is an OID.
    private func addAudioOnlyPolicy(_ certificate: OpaquePointer) throws {
        let identifier: [UInt8] = [0x2b, 0x06, 0x01, 0x04, 0x01, 0xd6, 0x79, 0x02, 0x05, 0x02]
        let policy = [0x30, UInt8(identifier.count + 2), 0x06, UInt8(identifier.count)] + identifier
        let policies = [0x30, UInt8(policy.count)] + policy
        guard let octets = ASN1_OCTET_STRING_new() else { throw SimulatedReceiverError.cryptography("an extension") }
        defer { ASN1_OCTET_STRING_free(octets) }
        guard ASN1_OCTET_STRING_set(octets, policies, Int32(policies.count)) == 1,
            let part = X509_EXTENSION_create_by_NID(nil, NID_certificate_policies, 0, octets)
        else { throw SimulatedReceiverError.cryptography("an extension") }
        defer { X509_EXTENSION_free(part) }
        guard X509_add_ext(certificate, part, -1) == 1 else {
            throw SimulatedReceiverError.cryptography("an extension")
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
