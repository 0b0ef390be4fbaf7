import CastV2
import Foundation
import Testing

private let pythonWithCryptography: String? = {
    let peers = ProcessInfo.processInfo.environment["ROUTER_PEERS"] ?? ".build/peers"
    let path = "\(peers)/bin/python3"
    return FileManager.default.isExecutableFile(atPath: path) ? path : nil
}()

/// Against answers that `cast_identity_vectors.py` made with another library's certificates and signatures.
@Suite(.enabled(if: pythonWithCryptography != nil, "no Python with cryptography in ROUTER_PEERS"))
struct CastIdentityVectorTests {
    struct Vector: Decodable, Sendable {
        var name: String
        var expect: String
        var payload: String
        var nonce: String
        var tls: String
        var roots: [String]
        var now: Double
        var policy: String
        var revocation: String
        var fingerprint: String
        var strict: Bool

        var verifier: CastIdentityVerifier {
            CastIdentityVerifier(roots: roots.map(\.unhexed), requiresSHA256: strict)
        }

        func verdict(_ payload: [UInt8]? = nil) -> CastIdentityVerdict {
            verifier.verify(
                CastAuthenticationReply(.binary(payload ?? self.payload.unhexed)), nonce: nonce.unhexed,
                peerCertificate: tls.unhexed, now: Date(timeIntervalSince1970: now))
        }
    }

    private static let vectors: [Vector] = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: pythonWithCryptography ?? "")
        process.arguments = [
            URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .appending(path: "EndToEndTests/peers/cast_identity_vectors.py").path
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        guard (try? process.run()) != nil else { return [] }
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return output.split(separator: 10).compactMap { try? JSONDecoder().decode(Vector.self, from: Data($0)) }
    }()

    @Test("C21 each answer ends as it must, with its own failure") func verdicts() {
        #expect(Self.vectors.count >= 45)
        for vector in Self.vectors {
            let verdict = vector.verdict()
            #expect((verdict.failure?.name ?? "holds") == vector.expect, "\(vector.name)")
            #expect(verdict.holds == (vector.expect == "holds"), "\(vector.name)")
            #expect(verdict.failure?.explanation.isEmpty != true, "\(vector.name)")
            #expect(verdict.report?.fingerprint == vector.fingerprint, "\(vector.name)")
            guard verdict.holds else { continue }
            #expect(verdict.report?.policy.rawValue == vector.policy, "\(vector.name)")
            #expect(verdict.report?.revocation.rawValue == vector.revocation, "\(vector.name)")
            #expect(verdict.report?.root?.contains("Root") == true, "\(vector.name)")
        }
    }

    @Test("C21 without roots the chain is not looked at, and signature, nonce and TLS certificate are")
    func trustOnFirstUse() {
        for vector in Self.vectors {
            let verdict = CastIdentityVerifier().verify(
                CastAuthenticationReply(.binary(vector.payload.unhexed)), nonce: vector.nonce.unhexed,
                peerCertificate: vector.tls.unhexed, now: Date(timeIntervalSince1970: vector.now))
            let still = [
                "wrongNonce", "wrongSignature", "tlsCertificateExpired", "tlsCertificateNotYetValid",
                "tlsCertificateValidTooLong", "tooManyCertificates", "notRSA", "keyTooShort",
            ]
            #expect(
                (verdict.failure?.name ?? "holds") == (still.contains(vector.expect) ? vector.expect : "holds"),
                "\(vector.name)")
            #expect(verdict.report?.root == nil)
        }
    }

    @Test("an answer cut anywhere fails, and one with a turned bit holds only where that bit says nothing")
    func damaged() throws {
        let vector = try #require(Self.vectors.first { $0.name == "intermediate" })
        let whole = vector.payload.unhexed
        let original = CastAuthenticationReply(.binary(whole))
        for length in stride(from: 0, to: whole.count, by: 7) {
            #expect(!vector.verdict(Array(whole.prefix(length))).holds)
        }
        for place in stride(from: 0, to: whole.count, by: 3) {
            var bytes = whole
            bytes[place] ^= 1 << UInt8(place % 8)
            #expect(
                !vector.verdict(bytes).holds || CastAuthenticationReply(.binary(bytes)) == original, "byte \(place)")
        }
    }

    @Test("roots are read from PEM, from several in one file and from DER, and what is none is named") func roots()
        throws
    {
        let vector = try #require(Self.vectors.first)
        let root = vector.roots[0].unhexed
        func pem(_ der: [UInt8]) -> String {
            "-----BEGIN CERTIFICATE-----\n\(Data(der).base64EncodedString(options: .lineLength64Characters))\n"
                + "-----END CERTIFICATE-----\n"
        }
        #expect(try CastTrustRoots.read(root) == [root])
        #expect(try CastTrustRoots.read(Array(("about it\n" + pem(root) + "\r\n" + pem(root)).utf8)) == [root, root])
        func failure(_ bytes: [UInt8]) -> CastTrustRoots.Failure? {
            do throws(CastTrustRoots.Failure) { _ = try CastTrustRoots.read(bytes) } catch { return error }
            return nil
        }
        #expect(failure([]) == .noCertificate)
        #expect(failure(root + [0]) == .noCertificate)
        #expect(failure(Array("-----BEGIN CERTIFICATE-----\nAAAA\n".utf8)) == .unreadable(1))
        #expect(
            failure(Array((pem(root) + "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----").utf8))
                == .unreadable(2))
        #expect(failure(Array(String(repeating: pem(root), count: 65).utf8)) == .tooMany)
        #expect(failure([UInt8](repeating: 0x30, count: CastTrustRoots.maximumBytes + 1)) == .tooLarge)
    }
}

extension String {
    /// The bytes of hexadecimal text.
    fileprivate var unhexed: [UInt8] {
        stride(from: 0, to: utf8.count - 1, by: 2).compactMap { offset in
            let start = index(startIndex, offsetBy: offset)
            return UInt8(self[start..<index(start, offsetBy: 2)], radix: 16)
        }
    }
}
