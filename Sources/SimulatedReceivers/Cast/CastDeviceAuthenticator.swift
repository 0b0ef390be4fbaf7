import CastV2
import Foundation
import SwiftProtobuf

/// Answers device-authentication challenges with a real signature (`Protocols/cast` section 6).
struct CastDeviceAuthenticator: Sendable {
    let mode: SimulatedCastConfiguration.AuthenticationMode
    /// The certificate of the TLS connection, DER.
    let serverCertificate: [UInt8]
    private let authority: CastTestAuthority
    private let deviceCertificate: [UInt8]

    init(mode: SimulatedCastConfiguration.AuthenticationMode, name: String, authority: CastTestAuthority) throws {
        self.mode = mode
        self.authority = authority
        serverCertificate = try authority.serverCertificate(name: name, days: mode == .longLivedTLS ? 30 : 2)
        deviceCertificate = try authority.deviceCertificate(name: name, expired: mode == .expired)
    }

    /// The answer to a payload, or nil where a device says nothing: it is no challenge, or the mode is silent.
    func answer(_ payload: [UInt8]) throws -> [UInt8]? {
        guard mode != .silent,
            let message = try? Router_Cast_DeviceAuthMessage(serializedBytes: payload, partial: true),
            message.hasChallenge
        else { return nil }
        var answer = Router_Cast_DeviceAuthMessage()
        if mode == .error {
            answer.error.errorType = .internalError
            return try answer.serializedBytes()
        }
        let challenge = message.challenge
        let usesPSS = challenge.hasSignatureAlgorithm && challenge.signatureAlgorithm == .rsassaPss
        let usesSHA256 = challenge.hasHashAlgorithm && challenge.hashAlgorithm == .sha256
        var nonce = Array(challenge.senderNonce)
        if mode == .wrongNonce { nonce = (nonce.isEmpty ? [0] : nonce).map { ~$0 } }
        var signedCertificate = serverCertificate
        if mode == .wrongCertificate { signedCertificate[signedCertificate.count - 1] ^= 1 }

        var response = Router_Cast_AuthResponse()
        response.signature = Data(
            try authority.signAsDevice(
                nonce + signedCertificate, hash: usesSHA256 ? .sha256 : .sha1, padding: usesPSS ? .pss : .pkcs1))
        response.clientAuthCertificate = Data(deviceCertificate)
        response.signatureAlgorithm = usesPSS ? .rsassaPss : .rsassaPkcs1V15
        response.hashAlgorithm = usesSHA256 ? .sha256 : .sha1
        if !nonce.isEmpty { response.senderNonce = Data(nonce) }
        answer.response = response
        return try answer.serializedBytes()
    }
}
