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

/// Asks Cast devices who they are, for the verbs of `router cast`.
public enum CastIdentityService {
    /// What a device has to show before it is told anything. Throws `configuration`.
    public static func policy(_ setup: RouterSetup) throws -> CastIdentityPolicy {
        try setup.configuration.cast.policy(pins: StoredCastPins(store: try RouterComposition.openStore(setup)))
    }

    /// - Parameter accept: keeps the key that the device shows now, if all else holds.
    /// - Throws: `routeUnreachable` and its like where there is no connection, `configuration`, `storage`.
    public static func identify(
        _ endpoint: Endpoint, setup: RouterSetup, accept: Bool
    ) async throws -> CastIdentityFinding {
        let provider = CastProvider(logger: setup.logger, identity: try policy(setup))
        return try await provider.identify(endpoint, accept: accept)
    }
}
