import CastBackend
import RouteModel
import RouterStore

/// The store, as the Cast backend sees it.
struct StoredCastPins: CastPinStoring {
    let store: RouterStore

    func pin(of device: String) async throws -> String? { try await store.pin(of: device) }

    func savePin(_ fingerprint: String, of device: String) async throws {
        try await store.savePin(fingerprint, of: device)
    }
}

/// Asks Cast devices who they are, for `router cast auth`.
public enum CastIdentityService {
    /// - Parameter accept: keeps the key that the device shows now, if all else holds.
    /// - Throws: `routeUnreachable` and its like where there is no connection, `configuration`, `storage`.
    public static func identify(
        _ endpoint: Endpoint, setup: RouterSetup, accept: Bool
    ) async throws -> CastIdentityFinding {
        let store = try InProcessRouter.openStore(setup)
        let provider = CastProvider(
            logger: setup.logger, identity: try setup.configuration.cast.policy(pins: StoredCastPins(store: store)))
        return try await provider.identify(endpoint, accept: accept)
    }
}
