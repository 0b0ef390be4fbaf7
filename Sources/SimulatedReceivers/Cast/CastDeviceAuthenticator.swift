import CastV2
import Foundation
import SwiftProtobuf

/// Answers device-authentication challenges with a real signature (`Protocols/cast` section 8).
struct CastDeviceAuthenticator: Sendable {
    let mode: SimulatedCastConfiguration.AuthenticationMode
    /// The certificate of the TLS connection, DER.
    let serverCertificate: [UInt8]
    let identity: CastTestAuthority.Identity

    init(mode: SimulatedCastConfiguration.AuthenticationMode, name: String, authority: CastTestAuthority) throws {
        self.mode = mode
        serverCertificate = try authority.serverCertificate(name: name, mode: mode)
        identity = try authority.identity(name: name, mode: mode)
    }

    /// The root that a sender has to be given to believe this device.
    var rootPEM: String { CastTestAuthority.pem(identity.root, label: "CERTIFICATE") }

    /// The answers to a payload; none where a device says nothing: it is no challenge, or the mode is silent.
    func answers(to payload: [UInt8]) throws -> [CastMessage.Payload] {
        guard mode != .silent,
            let message = try? Router_Cast_DeviceAuthMessage(serializedBytes: payload, partial: true),
            message.hasChallenge
        else { return [] }
        switch mode {
        case .garbage: return [.binary([0xff, 0xff, 0xff])]
        case .text: return [.text(#"{"type":"AUTHENTICATED"}"#)]
        case .empty: return [.binary([])]
        case .error:
            var answer = Router_Cast_DeviceAuthMessage()
            answer.error.errorType = .internalError
            return [.binary(try answer.serializedBytes())]
        default:
            let answer = CastMessage.Payload.binary(try response(to: message.challenge))
            return Array(repeating: answer, count: mode == .twice ? 2 : 1)
        }
    }

    private func response(to challenge: Router_Cast_AuthChallenge) throws -> [UInt8] {
        let asksPSS = challenge.hasSignatureAlgorithm && challenge.signatureAlgorithm == .rsassaPss
        let asksSHA256 = challenge.hasHashAlgorithm && challenge.hashAlgorithm == .sha256
        let usesPSS = mode == .pss || asksPSS
        let usesSHA256 = mode != .sha1 && asksSHA256
        var nonce = Array(challenge.senderNonce)
        if mode == .wrongNonce { nonce = (nonce.isEmpty ? [0] : nonce).map { ~$0 } }
        var signedCertificate = serverCertificate
        if mode == .wrongCertificate { signedCertificate[signedCertificate.count - 1] ^= 1 }
        var signature = try identity.key.sign(
            nonce + signedCertificate, hash: usesSHA256 ? .sha256 : .sha1, padding: usesPSS ? .pss : .pkcs1)
        if mode == .badSignature { signature[signature.count / 2] ^= 1 }

        var response = Router_Cast_AuthResponse()
        response.signature = Data(signature)
        response.clientAuthCertificate = Data(identity.certificate)
        response.intermediateCertificate = identity.intermediates.map { Data($0) }
        response.signatureAlgorithm = usesPSS ? .rsassaPss : .rsassaPkcs1V15
        response.hashAlgorithm = usesSHA256 ? .sha256 : .sha1
        if !nonce.isEmpty { response.senderNonce = Data(nonce) }
        if !identity.revocationList.isEmpty { response.crl = Data(identity.revocationList) }
        var answer = Router_Cast_DeviceAuthMessage()
        answer.response = response
        return try answer.serializedBytes()
    }
}
