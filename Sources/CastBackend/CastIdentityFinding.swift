import CastV2
import Foundation
import RouteBackend
import RouteModel

/// What a Cast device shows when it is asked who it is, and what follows from it: the JSON of `router cast auth`.
public struct CastIdentityFinding: Codable, Sendable, Hashable {
    public enum Verdict: String, Codable, Sendable, Hashable {
        /// A chain to a trusted root.
        case verified
        /// The key that it is known by.
        case pinned
        /// Its key was not known before, and is kept now.
        case firstSeen
        /// A person accepted a new key just now.
        case accepted
        /// Another key than the one that it is known by.
        case changed
        /// What it shows does not hold.
        case refused
        /// It did not answer; nothing was known of it.
        case silent
    }

    public struct Certificate: Codable, Sendable, Hashable {
        public var subject: String
        public var issuer: String
        public var notBefore: Date
        public var notAfter: Date
        public var keyBits: Int
        /// SHA-256 of the public key, hexadecimal.
        public var fingerprint: String
    }

    public var device: String
    public var address: String
    public var verdict: Verdict
    /// The rule that was broken, by name.
    public var failure: String?
    /// The device's certificate first.
    public var chain: [Certificate] = []
    /// Subject of the root at the end of the chain.
    public var root: String?
    /// `full` or `audioOnly`.
    public var policy: String?
    /// `SHA-1` or `SHA-256`.
    public var digest: String?
    /// `RSASSA-PKCS1-v1_5` or `RSASSA-PSS`.
    public var signature: String?
    /// `unknown`, `unverified`, `notRevoked` or `revoked`.
    public var revocation: String?
    /// The end of the first certificate of the chain to end.
    public var expires: Date?
    /// The end of the certificate of the TLS connection.
    public var tlsExpires: Date?
    /// SHA-256 of the device's public key, hexadecimal.
    public var fingerprint: String?
    /// The key that it was known by when it was asked.
    public var pinned: String?
    /// Set where the device is not to be trusted: what to tell, and what to do.
    public var error: RouterError?

    init(_ endpoint: Endpoint, verdict: Verdict, report: CastIdentityReport?, pinned: String?) {
        device = endpoint.name
        address = endpoint.address
        self.verdict = verdict
        self.pinned = pinned
        guard let report else { return }
        chain = report.chain.map { certificate in
            Certificate(
                subject: certificate.subject, issuer: certificate.issuer, notBefore: certificate.notBefore,
                notAfter: certificate.notAfter, keyBits: certificate.keyBits, fingerprint: certificate.fingerprint)
        }
        root = report.root
        policy = report.policy.rawValue
        digest = report.usesSHA256 ? "SHA-256" : "SHA-1"
        signature = report.usesPSS ? "RSASSA-PSS" : "RSASSA-PKCS1-v1_5"
        revocation = report.revocation.rawValue
        expires = report.expires
        tlsExpires = report.tlsExpires
        fingerprint = report.fingerprint
    }
}

extension CastProvider {
    /// Asks a device who it is, by a connection of its own that launches nothing.
    ///
    /// - Parameter accept: a key that holds by itself is kept in place of the one that the device was known by.
    /// - Throws: what `open` throws when there is no connection; `configuration`, `storage`. A device that is not to be
    ///   trusted is a finding, not an error.
    public func identify(_ endpoint: Endpoint, accept: Bool = false) async throws -> CastIdentityFinding {
        guard let check = try await CastIdentityCheck(identity, endpoint: endpoint) else {
            throw RouterError(
                .configuration, "the identity of Cast devices is not looked at (cast: identity: off)",
                hint: "Write “identity: pin” there, or name a root with --root")
        }
        let errors = CastErrors(endpoint: endpoint)
        let session: CastSession
        do {
            session = try await CastSession.connect(
                CastSession.Configuration(
                    host: endpoint.host, port: endpoint.port, timeouts: timeouts, challenge: check.challenge),
                clock: CastClock(clock), logger: logger)
        } catch {
            throw errors.opening(error)
        }
        let answer: Result<CastAuthenticationReply?, any Error>
        do {
            answer = .success(try await check.answer(session))
        } catch {
            answer = .failure(error)
        }
        await session.end(stopApp: false)
        do {
            return try await finding(check, session, try answer.get(), accept: accept)
        } catch {
            throw errors.opening(error)
        }
    }

    private func finding(
        _ check: CastIdentityCheck, _ session: CastSession, _ reply: CastAuthenticationReply?, accept: Bool
    ) async throws -> CastIdentityFinding {
        func finding(_ verdict: CastIdentityFinding.Verdict, _ report: CastIdentityReport? = nil)
            -> CastIdentityFinding
        {
            CastIdentityFinding(check.endpoint, verdict: verdict, report: report, pinned: check.pin)
        }
        guard let reply else {
            var result = finding(.silent)
            if check.mustAnswer { result.error = check.refusal(check.silence) }
            return result
        }
        let verdict = check.verdict(reply, session)
        if let failure = verdict.failure {
            var result = finding(.refused, verdict.report)
            result.failure = failure.name
            result.error = check.refusal("its identity does not hold: \(failure.explanation)")
            return result
        }
        guard check.policy.mode == .pin, let shown = verdict.report?.fingerprint else {
            return finding(.verified, verdict.report)
        }
        if check.pin == shown { return finding(.pinned, verdict.report) }
        if check.pin != nil, !accept {
            var result = finding(.changed, verdict.report)
            result.error = check.changed(shown)
            return result
        }
        try await check.policy.pins.savePin(shown, of: CastIdentityPolicy.name(of: check.endpoint))
        return finding(check.pin == nil ? .firstSeen : .accepted, verdict.report)
    }
}
