import CastV2
import Foundation
import PeerSupport
import RouterTestKit
import SimulatedReceivers
import SwiftProtobuf
import Testing

/// Device authentication, checked by the openssl command: independent of the code that signs.
@Suite struct CastAuthenticationTests {
    /// Asynchronous: it may ask a receiver in this process, which needs one of the few threads that all tests share.
    private func openssl(_ arguments: [String]) async throws -> (code: Int32, output: String) {
        let outcome = try await Command.run("openssl", arguments)
        return (outcome.status, outcome.output + outcome.errors)
    }

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-auth-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    /// Asks a receiver, and leaves in the folder what openssl needs to check the answer.
    private func ask(
        _ mode: SimulatedCastConfiguration.AuthenticationMode, _ challenge: Router_Cast_AuthChallenge, in folder: URL
    ) async throws -> Router_Cast_DeviceAuthMessage? {
        var answer: Router_Cast_DeviceAuthMessage?
        try await CastReceiverTests.withReceiver {
            $0.authentication = mode
        } _: { receiver, port, _ in
            var message = Router_Cast_DeviceAuthMessage()
            message.challenge = challenge
            let sender = try await CastTestSender(port: port, joining: false)
            try await sender.challenge(try message.serializedBytes())
            if mode == .silent {
                #expect(await eventually { await receiver.record().words.contains("challenged") })
                await sender.say(CastTestSender.ping, in: CastNamespace.heartbeat)
                #expect(await sender.hear("PONG") != nil)
            }
            let received = mode == .silent ? nil : await sender.hear { $0.binary != nil }
            answer = try received?.binary.map { try Router_Cast_DeviceAuthMessage(serializedBytes: $0) }
            await sender.close()

            func put(_ bytes: Data, _ name: String) throws { try bytes.write(to: folder.appending(path: name)) }
            let shown = try await openssl(["s_client", "-connect", "127.0.0.1:\(port)", "-showcerts"]).output
            let begin = try #require(shown.range(of: "-----BEGIN CERTIFICATE-----"))
            let end = try #require(shown.range(of: "-----END CERTIFICATE-----\n"))
            try put(Data(shown[begin.lowerBound..<end.upperBound].utf8), "tls.pem")
            let der = folder.appending(path: "tls.der").path
            _ = try await openssl([
                "x509", "-in", folder.appending(path: "tls.pem").path, "-outform", "DER", "-out", der,
            ])
            try put(Data(receiver.rootCertificatePEM.utf8), "root.pem")
            guard let response = answer?.response else { return }
            try put(response.signature, "signature")
            try put(response.clientAuthCertificate, "device.der")
            let nonce = answer?.response.senderNonce ?? Data()
            try put(nonce + (try Data(contentsOf: URL(fileURLWithPath: der))), "signed")
            let device = folder.appending(path: "device").path
            _ = try await openssl(["x509", "-inform", "DER", "-in", device + ".der", "-out", device + ".pem"])
            let key = try await openssl(["x509", "-in", device + ".pem", "-noout", "-pubkey"]).output
            try put(Data(key.utf8), "key.pem")
        }
        return answer
    }

    private func signatureHolds(_ hash: String, in folder: URL, pss: Bool = false) async throws -> Bool {
        func path(_ name: String) -> String { folder.appending(path: name).path }
        let options = pss ? ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-2"] : []
        let arguments = ["dgst", "-\(hash)", "-verify", path("key.pem")] + options
        return try await openssl(arguments + ["-signature", path("signature"), path("signed")]).code == 0
    }

    private func chainHolds(in folder: URL) async throws -> Bool {
        func path(_ name: String) -> String { folder.appending(path: name).path }
        return try await openssl(["verify", "-CAfile", path("root.pem"), path("device.pem")]).code == 0
    }

    private func validForFourDays(in folder: URL) async throws -> Bool {
        let path = folder.appending(path: "tls.pem").path
        let now = try await openssl(["x509", "-in", path, "-noout", "-checkend", "0"]).code == 0
        let later = try await openssl(["x509", "-in", path, "-noout", "-checkend", String(4 * 86_400)]).code == 0
        return now && !later
    }

    @Test("R8 a valid answer holds for every hash and padding, and for an empty challenge")
    func valid() async throws {
        var plain = Router_Cast_AuthChallenge()
        plain.senderNonce = Data((0..<16).map { UInt8($0) })
        var strong = plain
        strong.hashAlgorithm = .sha256
        var pss = strong
        pss.signatureAlgorithm = .rsassaPss
        for (challenge, hash) in [
            (Router_Cast_AuthChallenge(), "sha1"), (plain, "sha1"), (strong, "sha256"), (pss, "sha256"),
        ] {
            try await withFolder { folder in
                let answer = try #require(try await ask(.valid, challenge, in: folder))
                #expect(answer.hasResponse && answer.response.senderNonce == challenge.senderNonce)
                let isPSS = challenge.signatureAlgorithm == .rsassaPss
                #expect(try await signatureHolds(hash, in: folder, pss: isPSS))
                #expect(try await chainHolds(in: folder))
                #expect(try await validForFourDays(in: folder))
            }
        }
    }

    @Test("R8 devices that are odd but real: an intermediate, sound only, SHA-1, PSS")
    func odd() async throws {
        var challenge = Router_Cast_AuthChallenge()
        challenge.senderNonce = Data(repeating: 7, count: 16)
        challenge.hashAlgorithm = .sha256
        for mode in [SimulatedCastConfiguration.AuthenticationMode.intermediate, .audioOnly, .sha1, .pss] {
            try await withFolder { folder in
                let answer = try #require(try await ask(mode, challenge, in: folder)).response
                #expect(try await signatureHolds(mode == .sha1 ? "sha1" : "sha256", in: folder, pss: mode == .pss))
                func path(_ name: String) -> String { folder.appending(path: name).path }
                var untrusted: [String] = []
                if mode == .intermediate {
                    try answer.intermediateCertificate[0].write(to: folder.appending(path: "ica.der"))
                    _ = try await openssl(["x509", "-inform", "DER", "-in", path("ica.der"), "-out", path("ica.pem")])
                    untrusted = ["-untrusted", path("ica.pem")]
                    #expect(try await !chainHolds(in: folder))
                }
                let verdict = try await openssl(
                    ["verify", "-CAfile", path("root.pem")] + untrusted + [path("device.pem")])
                #expect(verdict.code == 0, "\(verdict.output)")
                let text = try await openssl(["x509", "-in", path("device.pem"), "-noout", "-text"]).output
                #expect(text.contains("1.3.6.1.4.1.11129.2.5.2") == (mode == .audioOnly))
            }
        }
    }

    @Test(
        "R8 each way to fail authentication fails in its own way",
        arguments: [
            SimulatedCastConfiguration.AuthenticationMode.silent, .error, .wrongNonce, .wrongCertificate, .expired,
            .longLivedTLS, .badSignature, .untrusted, .selfSigned, .missingIntermediate,
        ])
    func invalid(_ mode: SimulatedCastConfiguration.AuthenticationMode) async throws {
        var challenge = Router_Cast_AuthChallenge()
        challenge.senderNonce = Data(repeating: 7, count: 16)
        challenge.hashAlgorithm = .sha256
        try await withFolder { folder in
            let answer = try await ask(mode, challenge, in: folder)
            switch mode {
            case .silent: #expect(answer == nil)
            case .error: #expect(answer?.error.errorType == .internalError && answer?.hasResponse == false)
            case .wrongNonce:
                #expect(answer?.response.senderNonce != challenge.senderNonce)
                #expect(try await signatureHolds("sha256", in: folder))
            case .wrongCertificate: #expect(try await !signatureHolds("sha256", in: folder))
            case .expired:
                #expect(try await signatureHolds("sha256", in: folder))
                #expect(try await !chainHolds(in: folder))
            case .longLivedTLS: #expect(try await !validForFourDays(in: folder))
            case .badSignature:
                #expect(try await !signatureHolds("sha256", in: folder))
                #expect(try await chainHolds(in: folder))
            default:
                #expect(try await signatureHolds("sha256", in: folder))
                #expect(try await !chainHolds(in: folder))
            }
        }
    }
}
