import RouteModel

/// A pairing with one device, step by step. It may wait between the steps for as long as a person needs, so that one
/// caller begins it and another goes on; it holds the connection meanwhile.
public protocol PairingFlow: Sendable {
    var endpoint: Endpoint { get }
    var kind: PairingKind { get }

    /// Brings the device to where it waits for a code, and says in words what a person has to do; where nothing is asked
    /// for, the pairing is done.
    ///
    /// Throws `routeUnreachable`, `authFailed`, `pairingDenied`, `rateLimited` (with how long to wait), `unsupported`.
    func begin() async throws -> PairingStep

    /// Goes on with the code or password. Throws as `begin`; after `authFailed` with tries left, `begin` may be called
    /// again.
    func supply(_ code: Secret) async throws -> PairingStep

    /// Lets go of the device. Calling it again does nothing.
    func end() async
}

public enum PairingStep: Sendable, Hashable {
    /// What to ask a person for.
    case needsCode(prompt: String)
    case done(DeviceCredentials)
}
