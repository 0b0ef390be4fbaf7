import AirPlay
import HomeKitPairing
import RouteBackend
import RouteModel

/// How a session is let in by a receiver. Pure.
enum AirPlay2Admission: Sendable {
    /// It knows us.
    case verify(HomeKitCredentials)
    /// For this connection only; with the device's password where it has one.
    case transient(password: Secret?)
    /// It knows us in the older way: nothing is encrypted.
    case verifyLegacy(LegacyCredentials)
    /// The older way, open to everybody.
    case openLegacy

    /// The fact by which is remembered how a device takes its password: “header”, or else in the pairing.
    static let passwordFact = "airplay2.password"
    static let byHeader = "header"

    /// The ways to try, best first: what an earlier pairing left, then what the device allows.
    ///
    /// Who has forgotten us may let us in as it does everybody. A password goes into the pairing with most devices, and
    /// into the header of the requests behind one without it with others.
    ///
    /// Throws `authRequired` with what to do, and `storage` for credentials that cannot be read.
    ///
    /// - Parameter byHeader: the device took its password so last time.
    static func choices(
        _ facts: AirPlay2Facts, credentials: DeviceCredentials?, password: Secret?, byHeader: Bool, endpoint: Endpoint
    ) throws(RouterError) -> [AirPlay2Admission] {
        if let credentials {
            let known = try stored(credentials, endpoint: endpoint)
            guard case .verify = known, facts.allowsTransient, password != nil || !facts.passwordRequired else {
                return [known]
            }
            return [known] + transient(facts, password, byHeader)
        }
        if !facts.flags.isDisjoint(with: [.pinRequired, .oneTimePairingRequired]) {
            throw AirPlayErrors.pairingWanted(endpoint)
        }
        if facts.passwordRequired, password == nil {
            throw AirPlayErrors.routerError(.passwordRequired, endpoint: endpoint)
        }
        if !facts.allowsTransient, facts.features?.contains(.legacyPairing) == true { return [.openLegacy] }
        return transient(facts, password, byHeader)
    }

    private static func transient(
        _ facts: AirPlay2Facts, _ password: Secret?, _ byHeader: Bool
    ) -> [AirPlay2Admission] {
        guard let password else { return [.transient(password: nil)] }
        let ways: [AirPlay2Admission] = [.transient(password: password), .transient(password: nil)]
        return facts.passwordRequired && !byHeader ? ways : ways.reversed()
    }

    /// Whether this failure leaves another way in to be tried. Not where the device could not prove who it is: what
    /// answers in its place is not to be given anything.
    static func isRefusal(_ error: PairingError) -> Bool {
        switch error {
        case .refused(.authentication, _), .refused(.unknown, _), .wrongProof, .connectionAuthorizationRequired: true
        default: false
        }
    }

    private static func stored(
        _ credentials: DeviceCredentials, endpoint: Endpoint
    ) throws(RouterError) -> AirPlay2Admission {
        do {
            switch credentials.kind {
            case .pin, .password, .transient: return .verify(try HomeKitCredentials(parsing: credentials.secret))
            case .legacyPin, .legacy: return .verifyLegacy(try LegacyCredentials(parsing: credentials.secret))
            }
        } catch {
            throw RouterError(
                .storage, "what was kept of the pairing with \(endpoint.name) cannot be read",
                hint: "Pair it again", scope: .route, retry: .afterUserAction)
        }
    }

    /// For errors: what was being done.
    var purpose: AirPlayErrors.PairingPurpose {
        switch self {
        case .verify, .verifyLegacy: .verifying
        case .transient(let password): .letIn(password: password != nil)
        case .openLegacy: .letIn(password: false)
        }
    }

    /// What is told while it goes on.
    var words: String {
        switch self {
        case .verify, .verifyLegacy: "proving who we are"
        case .transient(let password): password == nil ? "agreeing on keys" : "giving the password"
        case .openLegacy: "swapping keys"
        }
    }

    /// What is told where it is tried because another way in was refused.
    var insteadWords: String {
        switch self {
        case .transient(.some): "giving the password while pairing"
        case .transient(.none): "asking to be let in without it"
        default: words
        }
    }

    /// Climbs the ladder; the secret that the channel's keys come from, nil where it stays in the clear.
    func climb(_ client: PairingClient) async throws -> [UInt8]? {
        switch self {
        case .verify(let credentials): return try await client.verify(credentials).secret
        case .transient(let password): return try await client.transient(password: password?.revealed).secret
        case .verifyLegacy(let credentials):
            _ = try await client.verifyLegacy(credentials)
            return nil
        case .openLegacy:
            _ = try await client.verifyLegacy(client.openLegacy(Self.nobody()))
            return nil
        }
    }

    /// Who takes everybody need not know who we are.
    private static func nobody() -> ControllerIdentity {
        ControllerIdentity(
            identifier: "router", signingKey: SigningKey(seed: (0..<32).map { _ in UInt8.random(in: 0...255) }))
    }
}
