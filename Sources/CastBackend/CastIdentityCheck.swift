import CastV2
import Foundation
import RouteBackend
import RouteModel

/// Who is at the other end of one connection: the challenge that goes out with it, and what is made of the answer.
///
/// Every connection to a device needs a check of its own, a second one to the same device too. The answer is waited for
/// beside whatever else is done on the connection.
struct CastIdentityCheck: Sendable {
    /// A device that need not answer is waited for this many nanoseconds.
    static let patience: Int64 = 1_500_000_000
    /// What is remembered of a device that did not answer, until its firmware changes.
    static let silenceFact = "deviceAuthentication"

    let policy: CastIdentityPolicy
    let endpoint: Endpoint
    let challenge = CastAuthenticationChallenge.fresh()
    let pin: String?
    private let verifier: CastIdentityVerifier

    /// Nil where nobody is to be asked. Throws `configuration` and `storage`.
    init?(_ policy: CastIdentityPolicy?, endpoint: Endpoint) async throws {
        guard let policy, policy.mode != .off else { return nil }
        self.policy = policy
        self.endpoint = endpoint
        verifier = try policy.verifier()
        pin = policy.mode == .pin ? try await policy.pins.pin(of: CastIdentityPolicy.name(of: endpoint)) : nil
    }

    /// A device that has shown a key before, or that has to show a chain.
    var mustAnswer: Bool { policy.mode == .require || pin != nil }

    /// The time limits of a connection whose device may be silent.
    func limits(_ timeouts: CastTimeouts) -> CastTimeouts {
        var timeouts = timeouts
        if !mustAnswer { timeouts.authentication = min(timeouts.authentication, Self.patience) }
        return timeouts
    }

    /// Waits for the answer and lets it pass, or throws `authFailed`. Throws what the connection threw if it ended.
    func pass(_ session: CastSession, options: OpenOptions) async throws {
        // It was silent before, and is not waited for again.
        if !mustAnswer, options.learnt[Self.silenceFact] == "silent" { return }
        switch try await answer(session) {
        case nil where mustAnswer: throw refusal(silence)
        case nil: await options.learn(Self.silenceFact, "silent")
        // A device that says that it cannot has shown no key; that is no worse than silence.
        case .refused? where !mustAnswer: return
        case let reply?:
            let verdict = verdict(reply, session)
            if let failure = verdict.failure { throw refusal("its identity does not hold: \(failure.explanation)") }
            try await settlePin(verdict)
        }
    }

    /// Nil where the device did not answer in time.
    func answer(_ session: CastSession) async throws -> CastAuthenticationReply? {
        guard let result = await session.authentication() else { return nil }
        if case .failed(.timedOut) = result { return nil }
        guard case .authentication(let reply) = try CastSession.value(of: result) else { return nil }
        return reply
    }

    func verdict(_ reply: CastAuthenticationReply, _ session: CastSession) -> CastIdentityVerdict {
        verifier.verify(
            reply, nonce: challenge.nonce, peerCertificate: session.peerCertificate, now: policy.date())
    }

    private func settlePin(_ verdict: CastIdentityVerdict) async throws {
        guard policy.mode == .pin, let shown = verdict.report?.fingerprint else { return }
        guard let pin else {
            return try await policy.pins.savePin(shown, of: CastIdentityPolicy.name(of: endpoint))
        }
        guard pin == shown else { throw changed(shown) }
    }

    // MARK: Words

    var silence: String {
        policy.mode == .require
            ? "it does not say who it is" : "it does not say who it is any more, and did so before"
    }

    func refusal(_ reason: String) -> RouterError {
        RouterError(
            .authFailed, "“\(endpoint.name)” is not trusted: \(reason)",
            hint: "Run: router cast auth \(endpoint.words) to see what it shows", scope: .route,
            retry: .afterUserAction)
    }

    func changed(_ shown: String) -> RouterError {
        RouterError(
            .authFailed,
            "“\(endpoint.name)” shows another key than before (\(shown.prefix(16))… in place of "
                + "\((pin ?? "").prefix(16))…): it was reset or replaced, or something else answers in its place",
            hint: "If that is so, accept the new key: router cast auth \(endpoint.words) --accept", scope: .route,
            retry: .afterUserAction)
    }
}
