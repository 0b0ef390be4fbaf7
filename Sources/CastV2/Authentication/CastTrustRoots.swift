import Foundation

/// Certificates that a person trusts, read from a file.
public enum CastTrustRoots {
    /// A file of more bytes is none of certificates.
    public static let maximumBytes = 1 << 20
    /// More certificates than this in one file are refused.
    public static let maximumCertificates = 64

    public enum Failure: Error, Sendable, Hashable {
        case tooLarge
        case tooMany
        /// Neither PEM nor DER.
        case noCertificate
        /// The certificate of this number, the first being 1, cannot be read.
        case unreadable(Int)
    }

    /// The certificates in a file: PEM (one or many, with anything between them) or DER (one). DER each.
    public static func read(_ bytes: [UInt8]) throws(Failure) -> [[UInt8]] {
        guard bytes.count <= maximumBytes else { throw .tooLarge }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.contains("-----BEGIN CERTIFICATE-----") else {
            guard CastCertificate(der: bytes) != nil else { throw .noCertificate }
            return [bytes]
        }
        var result: [[UInt8]] = []
        for part in text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst() {
            guard result.count < maximumCertificates else { throw .tooMany }
            guard let end = part.range(of: "-----END CERTIFICATE-----"),
                let data = Data(base64Encoded: part[..<end.lowerBound].filter { !$0.isWhitespace }),
                CastCertificate(der: Array(data)) != nil
            else { throw .unreadable(result.count + 1) }
            result.append(Array(data))
        }
        return result
    }
}
