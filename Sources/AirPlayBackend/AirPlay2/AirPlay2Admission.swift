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

    /// What an earlier pairing left comes first, then what the device allows.
    ///
    /// Throws `authRequired` with what to do, and `storage` for credentials that cannot be read.
    static func choose(
        _ facts: AirPlay2Facts, credentials: DeviceCredentials?, password: Secret?, endpoint: Endpoint
    ) throws(RouterError) -> AirPlay2Admission {
        if let credentials { return try stored(credentials, endpoint: endpoint) }
        if !facts.flags.isDisjoint(with: [.pinRequired, .oneTimePairingRequired]) {
            throw AirPlayErrors.pairingWanted(endpoint)
        }
        if facts.passwordRequired, password == nil {
            throw AirPlayErrors.routerError(.passwordRequired, endpoint: endpoint)
        }
        if !facts.allowsTransient, facts.features?.contains(.legacyPairing) == true { return .openLegacy }
        return .transient(password: password)
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
