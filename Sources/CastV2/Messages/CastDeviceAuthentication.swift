import Foundation
import SwiftProtobuf

/// The question whether a device is a real one (`Protocols/cast` section 8). What a sender must check of the answer is in
/// `CastIdentityVerifier`.
public struct CastAuthenticationChallenge: Sendable, Hashable {
    /// What the device must sign before the certificate, against replay; empty to have the certificate alone signed.
    public var nonce: [UInt8]
    public var wantsSHA256: Bool

    public init(nonce: [UInt8], wantsSHA256: Bool = true) {
        self.nonce = nonce
        self.wantsSHA256 = wantsSHA256
    }

    /// Bytes of a nonce, as other senders have it.
    public static let nonceLength = 16

    /// A challenge that nobody can have an old answer to.
    public static func fresh() -> CastAuthenticationChallenge {
        var random = SystemRandomNumberGenerator()
        return CastAuthenticationChallenge(
            nonce: (0..<nonceLength).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    public func message(from source: String) -> CastMessage {
        var challenge = Router_Cast_AuthChallenge()
        if !nonce.isEmpty { challenge.senderNonce = Data(nonce) }
        if wantsSHA256 { challenge.hashAlgorithm = .sha256 }
        var wire = Router_Cast_DeviceAuthMessage()
        wire.challenge = challenge
        // No field of it is required, so that nothing can be missing.
        let payload: [UInt8] = (try? wire.serializedBytes()) ?? []
        return CastMessage(
            sourceID: source, destinationID: CastAddress.platformReceiver,
            namespace: CastNamespace.deviceAuthentication, payload: .binary(payload))
    }
}

/// What a device answers to the challenge.
public enum CastAuthenticationReply: Sendable, Hashable {
    case response(Response)
    case refused(Refusal)
    /// A text payload, whatever it says.
    case notBinary
    /// Bytes that are no message of this namespace, or lack what must be there.
    case unreadable
    /// A message with neither a response nor an error.
    case empty

    public struct Response: Sendable, Hashable {
        public var signature: [UInt8]
        /// DER.
        public var certificate: [UInt8]
        /// DER each, from the one that signed `certificate` upwards.
        public var intermediates: [[UInt8]]
        public var nonce: [UInt8]
        public var usesPSS: Bool
        public var usesSHA256: Bool
        public var revocationList: [UInt8]
    }

    public enum Refusal: Int, Sendable, Hashable {
        case internalError = 0
        case noTLS
        case signatureAlgorithmUnavailable
    }

    /// Whatever came: what is no answer says so.
    public init(_ payload: CastMessage.Payload) {
        guard case .binary(let bytes) = payload else {
            self = .notBinary
            return
        }
        guard let wire = try? Router_Cast_DeviceAuthMessage(serializedBytes: bytes, partial: true) else {
            self = .unreadable
            return
        }
        if wire.hasError {
            self = .refused(Refusal(rawValue: wire.error.errorType.rawValue) ?? .internalError)
        } else if wire.hasResponse {
            let response = wire.response
            guard response.hasSignature, response.hasClientAuthCertificate else {
                self = .unreadable
                return
            }
            self = .response(
                Response(
                    signature: Array(response.signature), certificate: Array(response.clientAuthCertificate),
                    intermediates: response.intermediateCertificate.map { Array($0) },
                    nonce: Array(response.senderNonce), usesPSS: response.signatureAlgorithm == .rsassaPss,
                    usesSHA256: response.hashAlgorithm == .sha256, revocationList: Array(response.crl)))
        } else {
            self = .empty
        }
    }
}
