import HomeKitPairing

/// Climbs the ladders of pairing over a connection that somebody else holds. All calls throw `PairingError`, and what the
/// exchange throws.
///
/// Between `begin…` and `finish…` a person may take all the time that the connection lives. After a wrong code, begin
/// again.
public struct PairingClient: Sendable {
    /// Sends one request and gives its answer. Whoever gives it decides on the spelling, RTSP or HTTP.
    public typealias Exchange = @Sendable (PairingRequest) async throws -> PairingAnswer

    private let exchange: Exchange

    public init(exchange: @escaping Exchange) { self.exchange = exchange }

    /// One rung: sends its request and takes its answer.
    public func climb<Rung: PairingRung>(_ rung: Rung) async throws -> Rung.Next {
        try rung.accept(await exchange(rung.request))
    }

    // MARK: HomeKit

    /// Makes the device show its PIN.
    public func beginPIN(_ controller: ControllerIdentity) async throws -> PairSetupM2 {
        try await climb(climb(PairPINStart(controller)))
    }

    /// As `beginPIN`, for a device with a password: nothing is shown.
    public func beginPassword(_ controller: ControllerIdentity) async throws -> PairSetupM2 {
        try await climb(PairSetupM1(controller))
    }

    /// The result has credentials; nothing is encrypted yet, `verify` comes next.
    public func finishPIN(_ challenge: PairSetupM2, pin: String) async throws -> PairingResult {
        try await climb(climb(challenge.proof(pin: pin)))
    }

    /// As `finishPIN`.
    public func finishPassword(_ challenge: PairSetupM2, password: String) async throws -> PairingResult {
        try await climb(climb(challenge.proof(password: password)))
    }

    /// For this connection only. Its channel is encrypted from the next byte on.
    ///
    /// - Parameter password: of the device, where it has one.
    public func transient(password: String? = nil) async throws -> PairingResult {
        let first = try password.map { password in try TransientPairSetupM1(password: password) }
        return try await climb(climb(first ?? TransientPairSetupM1()))
    }

    /// The channel is encrypted from the next byte on.
    public func verify(_ credentials: HomeKitCredentials) async throws -> PairingResult {
        try await climb(climb(PairVerifyM1(credentials)))
    }

    /// Over the encrypted channel of an admin.
    public func add(_ controller: PairedController) async throws { try await climb(PairAdd(controller)) }

    /// Over the encrypted channel of an admin.
    public func remove(identifier: [UInt8]) async throws { try await climb(PairRemove(identifier: identifier)) }

    /// Over the encrypted channel of an admin.
    public func list() async throws -> [PairedController] { try await climb(PairList()) }

    // MARK: Legacy

    /// Makes the device show its PIN.
    public func beginLegacyPIN(_ controller: ControllerIdentity) async throws -> LegacyPairSetupChallenge {
        try await climb(climb(LegacyPairPINStart(controller)))
    }

    public func finishLegacyPIN(_ challenge: LegacyPairSetupChallenge, pin: String) async throws -> LegacyCredentials {
        try await climb(climb(challenge.proof(pin: pin)))
    }

    /// Where the device takes everybody; `verifyLegacy` on the same connection comes next.
    public func openLegacy(_ controller: ControllerIdentity) async throws -> LegacyCredentials {
        try await climb(LegacyOpenPairSetup(controller))
    }

    /// Nothing is encrypted after it.
    public func verifyLegacy(_ credentials: LegacyCredentials) async throws -> LegacyPairingResult {
        try await climb(climb(LegacyPairVerifyKey(credentials)))
    }
}
