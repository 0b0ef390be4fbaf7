import RouteModel
import RouterStore

/// The composition root for a lone command: the same engine that the daemon runs, inside this process.
public enum InProcessRouter {
    /// Runs a router for as long as `body` does, then ends its sessions and everything it started.
    ///
    /// `body` may end sessions with `.leave` itself, for what goes on without this process.
    public static func run<Value: Sendable>(
        _ setup: RouterSetup, _ body: @escaping @Sendable (any RouterControlling) async throws -> Value
    ) async throws -> Value {
        try await RouterComposition(setup).run(body)
    }

    /// Opens the store as a run would; what it has to say of how it came up, if anything.
    static func storeForChecking(_ path: String) throws -> Notice? { try RouterStore(path: path).openingNotice }
}
