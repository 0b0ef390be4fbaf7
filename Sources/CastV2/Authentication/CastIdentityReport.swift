import Foundation

/// What a device's answer to the challenge shows, whether it holds or not.
public struct CastIdentityReport: Sendable, Hashable {
    /// How far a device's certificate lets it be used.
    public enum Policy: String, Sendable, Hashable {
        case full
        /// The device plays sound only.
        case audioOnly
    }

    /// What is known of the revocation of its certificates.
    public enum Revocation: String, Sendable, Hashable {
        /// There was no list.
        case unknown
        /// The device sent a list that nobody trusted signed, or that is out of date; it was passed over.
        case unverified
        case notRevoked
        case revoked
    }

    /// The device's certificate first. Up to the root where there is one, else as far as the device sent them.
    public var chain: [CastCertificate]
    /// The subject of the root that the chain ends at; nil where it ends at none.
    public var root: String?
    public var policy: Policy
    public var usesSHA256: Bool
    public var usesPSS: Bool
    public var revocation: Revocation
    /// The end of the first certificate of the chain to end, among those the device sent.
    public var expires: Date
    /// The end of the TLS certificate that was signed, where it could be read.
    public var tlsExpires: Date?
    /// SHA-256 of the device's public key (SubjectPublicKeyInfo), lower-case hexadecimal.
    public var fingerprint: String
}

/// Why a device's identity does not hold, in the order in which the rules are looked at (`Protocols/cast` section 8).
public enum CastIdentityFailure: Error, Sendable, Hashable {
    /// Text where only binary messages belong.
    case notBinary
    case unreadable
    /// The device says that it cannot.
    case refused(CastAuthenticationReply.Refusal)
    /// Neither an answer nor an error in it.
    case noResponse
    case tlsCertificateUnreadable
    case tlsCertificateNotYetValid(from: Date)
    case tlsCertificateExpired(Date)
    /// A TLS certificate that is valid for longer than devices make them could have been stolen long ago.
    case tlsCertificateValidTooLong(Date)
    case wrongNonce
    case tooManyCertificates(Int)
    /// 0 is the device's own, 1 the first intermediate.
    case certificateUnreadable(Int)
    case certificateExpired(subject: String, Date)
    case certificateNotYetValid(subject: String, from: Date)
    /// Signed by itself and by nobody else.
    case selfSigned(subject: String)
    /// No chain to a root: this issuer is neither trusted nor among the certificates.
    case untrusted(issuer: String)
    /// Signed by a certificate that must not sign certificates.
    case notAnAuthority(subject: String)
    case chainTooLong(subject: String)
    /// Any other fault of the chain, in the words of the one who checked it.
    case chainBroken(String)
    case notRSA(subject: String)
    case keyTooShort(subject: String, bits: Int)
    /// The device's certificate is not for signing.
    case notForSigning(subject: String)
    case revoked(subject: String)
    /// SHA-1 where the policy wants better.
    case digestTooWeak
    case wrongSignature

    /// The name of the failure alone, for programs.
    public var name: String {
        let text = String(describing: self)
        return String(text.prefix { $0 != "(" })
    }

    /// A clause that follows "its identity does not hold:".
    public var explanation: String {
        switch self {
        case .notBinary: "it answered with text, and only binary answers count"
        case .unreadable: "its answer cannot be read"
        case .refused(.internalError): "it says that it failed to answer"
        case .refused(.noTLS): "it says that it knows of no TLS connection"
        case .refused(.signatureAlgorithmUnavailable): "it says that it cannot sign as asked"
        case .noResponse: "its answer holds neither a signature nor an error"
        case .tlsCertificateUnreadable: "the certificate of the TLS connection cannot be read"
        case .tlsCertificateNotYetValid(let date):
            "the certificate of the TLS connection is valid only from \(date.shown) on"
        case .tlsCertificateExpired(let date): "the certificate of the TLS connection ended on \(date.shown)"
        case .tlsCertificateValidTooLong(let date):
            "the certificate of the TLS connection is valid until \(date.shown), which is too long"
        case .wrongNonce: "it answered another challenge than ours"
        case .tooManyCertificates(let count): "it sent \(count) certificates, more than any device has"
        case .certificateUnreadable(0): "its certificate cannot be read"
        case .certificateUnreadable(let number): "its intermediate certificate \(number) cannot be read"
        case .certificateExpired(let subject, let date): "the certificate “\(subject)” ended on \(date.shown)"
        case .certificateNotYetValid(let subject, let date):
            "the certificate “\(subject)” is valid only from \(date.shown) on"
        case .selfSigned(let subject): "its certificate “\(subject)” is signed by itself alone"
        case .untrusted(let issuer): "no trusted root stands behind “\(issuer)”"
        case .notAnAuthority(let subject): "“\(subject)” must not sign certificates, and did"
        case .chainTooLong(let subject): "there are more certificates below “\(subject)” than it allows"
        case .chainBroken(let reason): "the chain of its certificates is broken (\(reason))"
        case .notRSA(let subject): "the key of “\(subject)” is not an RSA key"
        case .keyTooShort(let subject, let bits): "the key of “\(subject)” has only \(bits) bits"
        case .notForSigning(let subject): "the certificate “\(subject)” is not for signing"
        case .revoked(let subject): "the certificate “\(subject)” was revoked"
        case .digestTooWeak: "it signed with SHA-1, and SHA-256 is required"
        case .wrongSignature: "its signature does not hold"
        }
    }
}

/// Both: what was shown, as far as it could be read, and the first rule that it broke.
public struct CastIdentityVerdict: Sendable, Hashable {
    /// Nil where not even the device's certificate could be read.
    public var report: CastIdentityReport?
    /// Nil where everything that was to be checked holds.
    public var failure: CastIdentityFailure?

    public var holds: Bool { failure == nil }
}

extension Date {
    /// The day in UTC.
    fileprivate var shown: String { formatted(.iso8601.year().month().day()) }
}
