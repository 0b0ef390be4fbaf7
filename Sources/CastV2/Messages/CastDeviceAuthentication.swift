import Foundation
import SwiftProtobuf

/// The question whether a device is a real one (`Protocols/cast` section 8). Only the messages: what a sender must check
/// of the answer needs the certificate of the TLS connection, which `CastSession.peerCertificate` has.
public struct CastAuthenticationChallenge: Sendable, Hashable {
    /// What the device must sign before the certificate, against replay; empty to have the certificate alone signed.
    public var nonce: [UInt8]
    public var wantsSHA256: Bool

    public init(nonce: [UInt8], wantsSHA256: Bool = true) {
        self.nonce = nonce
        self.wantsSHA256 = wantsSHA256
    }

    public func message(from source: String) throws -> CastMessage {
        var challenge = Router_Cast_AuthChallenge()
        if !nonce.isEmpty { challenge.senderNonce = Data(nonce) }
        if wantsSHA256 { challenge.hashAlgorithm = .sha256 }
        var wire = Router_Cast_DeviceAuthMessage()
        wire.challenge = challenge
        return CastMessage(
            sourceID: source, destinationID: CastAddress.platformReceiver,
            namespace: CastNamespace.deviceAuthentication, payload: .binary(try wire.serializedBytes()))
    }
}

/// What a device answers to the challenge.
public enum CastAuthenticationReply: Sendable, Hashable {
    case response(Response)
    case refused(Refusal)

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

    /// Nil where the payload is no answer.
    public init?(payload: [UInt8]) {
        guard let wire = try? Router_Cast_DeviceAuthMessage(serializedBytes: payload, partial: true) else { return nil }
        if wire.hasError {
            self = .refused(Refusal(rawValue: wire.error.errorType.rawValue) ?? .internalError)
        } else if wire.hasResponse {
            let response = wire.response
            self = .response(
                Response(
                    signature: Array(response.signature), certificate: Array(response.clientAuthCertificate),
                    intermediates: response.intermediateCertificate.map { Array($0) },
                    nonce: Array(response.senderNonce), usesPSS: response.signatureAlgorithm == .rsassaPss,
                    usesSHA256: response.hashAlgorithm == .sha256, revocationList: Array(response.crl)))
        } else {
            return nil
        }
    }
}
