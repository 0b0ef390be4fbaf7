import RouteBackend
import RouteModel

/// What a fake device asks for.
public struct FakePairing: Sendable {
    public var kind: PairingKind
    public var code: String
    /// Wrong codes that it takes before it refuses to be asked again.
    public var tries: Int
    var endpoint: Endpoint?

    public init(kind: PairingKind = .pin, code: String, tries: Int = 3) {
        self.kind = kind
        self.code = code
        self.tries = tries
    }
}

/// A pairing with a fake device.
actor FakePairingFlow: PairingFlow {
    nonisolated let endpoint: Endpoint
    nonisolated let kind: PairingKind
    private let code: String
    private var tries: Int

    init(_ pairing: FakePairing) {
        guard let endpoint = pairing.endpoint else { preconditionFailure("a pairing is with some device") }
        self.endpoint = endpoint
        kind = pairing.kind
        code = pairing.code
        tries = pairing.tries
    }

    func begin() throws -> PairingStep {
        guard tries > 0 else {
            throw RouterError(.pairingDenied, "\(endpoint.name) was asked too often", scope: .route)
        }
        return .needsCode(prompt: "\(endpoint.name) shows a code; \(tries) tries are left")
    }

    func supply(_ code: Secret) throws -> PairingStep {
        guard code.revealed == self.code else {
            tries -= 1
            throw RouterError(.authFailed, "\(endpoint.name) did not take that code", scope: .route)
        }
        return .done(DeviceCredentials(kind: kind, secret: Array("key of \(endpoint.name)".utf8)))
    }

    func end() { tries = 0 }
}
