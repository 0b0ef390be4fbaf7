import COpenSSL
import Foundation

/// Checks who a device is by its answer to the challenge (`Protocols/cast` section 8): pure, with the time given.
public struct CastIdentityVerifier: Sendable {
    /// DER of the certificates that a chain may end at. Without any the chain is not looked at: what then holds is that
    /// the owner of the key that the device shows sits at the other end of this very TLS connection.
    public var roots: [[UInt8]]
    /// DER of the certificates that lists of revoked devices must be signed under; without any, `roots`.
    public var revocationRoots: [[UInt8]]
    /// A list of revoked devices that was given by hand; the device's own is looked at as well.
    public var revocations: CastRevocationList?
    public var requiresSHA256: Bool

    /// A TLS certificate that ends later than this many seconds from now is refused.
    public static let maximumTLSValidity: TimeInterval = 4 * 86_400
    /// Devices send one or two.
    public static let maximumIntermediates = 8
    /// Bits of an RSA key.
    public static let minimumKeyBits = 2048

    public init(
        roots: [[UInt8]] = [], revocationRoots: [[UInt8]] = [], revocations: CastRevocationList? = nil,
        requiresSHA256: Bool = false
    ) {
        self.roots = roots
        self.revocationRoots = revocationRoots
        self.revocations = revocations
        self.requiresSHA256 = requiresSHA256
    }

    /// Looks at a device's answer.
    ///
    /// - Parameters:
    ///   - nonce: what our challenge held.
    ///   - peerCertificate: the certificate of the TLS connection that the answer came by, DER.
    public func verify(
        _ reply: CastAuthenticationReply, nonce: [UInt8], peerCertificate: [UInt8], now: Date
    ) -> CastIdentityVerdict {
        let response: CastAuthenticationReply.Response
        switch reply {
        case .notBinary: return CastIdentityVerdict(failure: .notBinary)
        case .unreadable: return CastIdentityVerdict(failure: .unreadable)
        case .refused(let refusal): return CastIdentityVerdict(failure: .refused(refusal))
        case .empty: return CastIdentityVerdict(failure: .noResponse)
        case .response(let given): response = given
        }
        var verdict = CastIdentityVerdict(report: shown(response, peerCertificate: peerCertificate))
        do throws(CastIdentityFailure) {
            try checkTLS(peerCertificate, now: now)
            guard response.nonce == nonce else { throw .wrongNonce }
            let handles = try read(response)
            if !roots.isEmpty {
                let (chain, root) = try self.chain(handles, now: now)
                verdict.report?.chain = chain
                verdict.report?.root = root
                // The policy may stand anywhere in the chain.
                if chain.contains(where: \.isAudioOnly) { verdict.report?.policy = .audioOnly }
            }
            guard let device = verdict.report?.chain.first else { throw .certificateUnreadable(0) }
            try checkKey(device)
            if !roots.isEmpty, !device.signsData { throw .notForSigning(subject: device.subject) }
            try checkRevocation(response, &verdict, now: now)
            if requiresSHA256, !response.usesSHA256 { throw .digestTooWeak }
            guard
                handles[0].verifies(
                    response.signature, over: nonce + peerCertificate, sha256: response.usesSHA256,
                    pss: response.usesPSS)
            else { throw .wrongSignature }
        } catch {
            verdict.failure = error
        }
        return verdict
    }

    /// What the answer says of itself, whether it is true or not.
    private func shown(
        _ response: CastAuthenticationReply.Response, peerCertificate: [UInt8]
    ) -> CastIdentityReport? {
        guard let device = CastCertificate(der: response.certificate) else { return nil }
        let chain =
            [device]
            + response.intermediates.prefix(Self.maximumIntermediates).compactMap { CastCertificate(der: $0) }
        return CastIdentityReport(
            chain: chain, root: nil, policy: chain.contains(where: \.isAudioOnly) ? .audioOnly : .full,
            usesSHA256: response.usesSHA256, usesPSS: response.usesPSS, revocation: .unknown,
            expires: chain.map(\.notAfter).min() ?? device.notAfter,
            tlsExpires: CastCertificate(der: peerCertificate)?.notAfter, fingerprint: device.fingerprint)
    }

    private func checkTLS(_ certificate: [UInt8], now: Date) throws(CastIdentityFailure) {
        guard let certificate = CastCertificate(der: certificate) else { throw .tlsCertificateUnreadable }
        guard certificate.notBefore <= now else { throw .tlsCertificateNotYetValid(from: certificate.notBefore) }
        guard now <= certificate.notAfter else { throw .tlsCertificateExpired(certificate.notAfter) }
        guard certificate.notAfter <= now + Self.maximumTLSValidity else {
            throw .tlsCertificateValidTooLong(certificate.notAfter)
        }
    }

    /// The device's certificate and its intermediates.
    private func read(
        _ response: CastAuthenticationReply.Response
    ) throws(CastIdentityFailure) -> [CertificateHandle] {
        guard response.intermediates.count <= Self.maximumIntermediates else {
            throw .tooManyCertificates(response.intermediates.count + 1)
        }
        var handles: [CertificateHandle] = []
        for der in [response.certificate] + response.intermediates {
            guard let handle = CertificateHandle(der: der) else { throw .certificateUnreadable(handles.count) }
            handles.append(handle)
        }
        return handles
    }

    private func checkKey(_ certificate: CastCertificate) throws(CastIdentityFailure) {
        guard certificate.isRSA else { throw .notRSA(subject: certificate.subject) }
        guard certificate.keyBits >= Self.minimumKeyBits else {
            throw .keyTooShort(subject: certificate.subject, bits: certificate.keyBits)
        }
    }

    private func chain(
        _ handles: [CertificateHandle], now: Date
    ) throws(CastIdentityFailure) -> (chain: [CastCertificate], root: String) {
        let path = try CertificatePath.build(handles, roots: roots, now: now)
        for certificate in path { try checkKey(certificate) }
        return (path, path.last?.subject ?? "")
    }

    private func checkRevocation(
        _ response: CastAuthenticationReply.Response, _ verdict: inout CastIdentityVerdict, now: Date
    ) throws(CastIdentityFailure) {
        var lists = revocations.map { [$0] } ?? []
        if !response.revocationList.isEmpty {
            // A device that sends a list which nobody trusts is no worse than one that sends none.
            let signers = revocationRoots.isEmpty ? roots : revocationRoots
            if let own = try? CastRevocationList(response.revocationList, roots: signers, now: now) {
                lists.append(own)
            } else {
                verdict.report?.revocation = .unverified
            }
        }
        guard !lists.isEmpty, let chain = verdict.report?.chain else { return }
        for list in lists {
            if let revoked = list.revoked(in: chain) {
                verdict.report?.revocation = .revoked
                throw .revoked(subject: revoked.subject)
            }
        }
        verdict.report?.revocation = .notRevoked
    }
}

/// Builds a chain of certificates up to a root, by libcrypto's rules: signatures, times, basic constraints, path
/// lengths, critical extensions.
enum CertificatePath {
    /// The device's certificate first, the root last.
    static func build(
        _ handles: [CertificateHandle], roots: [[UInt8]], now: Date
    ) throws(CastIdentityFailure) -> [CastCertificate] {
        guard let device = handles.first, let store = X509_STORE_new(), let context = X509_STORE_CTX_new(),
            let others = OPENSSL_sk_new_null()
        else { throw .chainBroken("out of memory") }
        defer {
            X509_STORE_CTX_free(context)
            X509_STORE_free(store)
            OPENSSL_sk_free(others)
            ERR_clear_error()
        }
        for root in roots {
            if let handle = CertificateHandle(der: root) { X509_STORE_add_cert(store, handle.pointer) }
        }
        for handle in handles.dropFirst() { OPENSSL_sk_push(others, UnsafeRawPointer(handle.pointer)) }
        guard X509_STORE_CTX_init(context, store, device.pointer, others) == 1 else {
            throw .chainBroken("the checker did not start")
        }
        let parameters = X509_STORE_CTX_get0_param(context)
        X509_VERIFY_PARAM_set_time(parameters, time_t(now.timeIntervalSince1970))
        // A root that somebody trusts need not be signed by itself.
        X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        let holds = withExtendedLifetime(handles) { X509_verify_cert(context) == 1 }
        guard holds else { throw failure(of: context) }
        let path = X509_STORE_CTX_get0_chain(context)
        var chain: [CastCertificate] = []
        for index in 0..<max(0, OPENSSL_sk_num(path)) {
            guard let certificate = certificate(OPENSSL_sk_value(path, index)) else {
                throw .chainBroken("a certificate cannot be read")
            }
            chain.append(certificate)
        }
        return chain
    }

    private static func certificate(_ pointer: UnsafeMutableRawPointer?) -> CastCertificate? {
        pointer.flatMap { certificate(OpaquePointer($0)) }
    }

    private static func certificate(_ pointer: OpaquePointer) -> CastCertificate? {
        var bytes: UnsafeMutablePointer<UInt8>?
        let length = i2d_X509(pointer, &bytes)
        guard length > 0, let bytes else { return nil }
        defer { CRYPTO_free(bytes, nil, 0) }
        return CastCertificate(der: Array(UnsafeBufferPointer(start: bytes, count: Int(length))))
    }

    private static func failure(of context: OpaquePointer) -> CastIdentityFailure {
        let code = X509_STORE_CTX_get_error(context)
        let culprit = X509_STORE_CTX_get_current_cert(context).flatMap { certificate($0) }
        let subject = culprit?.subject ?? ""
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return .certificateExpired(subject: subject, culprit?.notAfter ?? .distantPast)
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return .certificateNotYetValid(subject: subject, from: culprit?.notBefore ?? .distantFuture)
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: return .selfSigned(subject: subject)
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            return .untrusted(issuer: culprit?.issuer ?? "")
        case X509_V_ERR_INVALID_CA, X509_V_ERR_KEYUSAGE_NO_CERTSIGN: return .notAnAuthority(subject: subject)
        case X509_V_ERR_PATH_LENGTH_EXCEEDED: return .chainTooLong(subject: subject)
        default: return .chainBroken(String(cString: X509_verify_cert_error_string(Int(code))))
        }
    }
}
