import AirPlay
import HomeKitPairing
import Logging
import RouteBackend
import RouteModel

/// A pairing with one AirPlay device (`Protocols/pairing/README.md`). The device waits for its code for as long as the
/// connection lives, which is here.
actor AirPlayPairingFlow: PairingFlow {
    nonisolated let endpoint: Endpoint
    nonisolated let kind: PairingKind

    private enum Challenge {
        case homeKit(PairSetupM2)
        case legacy(LegacyPairSetupChallenge)
    }

    private enum Stage {
        case idle
        case waiting(PairingClient, Challenge)
        case ended
    }

    private let controller: ControllerIdentity
    private let logger: Logger
    private let learn: @Sendable (String, String) async -> Void
    private var spelling: AirPlay2Way.Spelling
    private var connection: RTSPConnection?
    private var stage = Stage.idle

    /// The fact by which the spelling that a device takes is remembered.
    static let spellingFact = "airplay.pairing-spelling"

    /// Throws `unsupported` for a device that is not paired with, and `storage` without an identity.
    init(endpoint: Endpoint, options: OpenOptions, logger: Logger) throws {
        self.endpoint = endpoint
        self.logger = logger
        let facts = AirPlay2Facts(txt: endpoint.facts)
        kind = try Self.kind(facts, endpoint)
        controller = try AirPlayPairing.controller(options.identity)
        learn = options.learn
        spelling = options.learnt[Self.spellingFact].flatMap(AirPlay2Way.Spelling.init) ?? .rtsp
    }

    private static func kind(_ facts: AirPlay2Facts, _ endpoint: Endpoint) throws(RouterError) -> PairingKind {
        // A RAOP record that says nothing of features is of a device from before they were.
        guard endpoint.protocol != .raop || facts.features?.supportsAirPlay2 == true else {
            if facts.flags.contains(.oneTimePairingRequired) { return .legacyPin }
            if facts.features?.contains(.legacyPairing) == true { return .legacy }
            throw RouterError(
                .unsupported, "\(endpoint.name) is not paired with: it lets in whoever asks, or has the password",
                hint: "Just play to it", scope: .route)
        }
        return facts.access == .password && facts.pairing == .pin ? .password : facts.pairing
    }

    func begin() async throws -> PairingStep {
        if case .ended = stage { throw Self.ended(endpoint) }
        do {
            return try await attempt()
        } catch  where AirPlayPairing.isAboutSpelling(error) {
            let first = error
            spelling = spelling == .rtsp ? .http : .rtsp
            do {
                let step = try await attempt()
                await learn(Self.spellingFact, spelling.rawValue)
                return step
            } catch  where AirPlayPairing.isAboutSpelling(error) {
                throw await failed(first)
            } catch {
                throw await failed(error)
            }
        } catch {
            throw await failed(error)
        }
    }

    func supply(_ code: Secret) async throws -> PairingStep {
        guard case .waiting(let client, let challenge) = stage else {
            if case .ended = stage { throw Self.ended(endpoint) }
            throw RouterError(
                .unavailable, "\(endpoint.name) waits for no code", hint: "Begin the pairing again", scope: .route)
        }
        // Whatever comes of it, this challenge is used up.
        stage = .idle
        do {
            let credentials: DeviceCredentials
            switch challenge {
            case .homeKit(let challenge):
                let result =
                    kind == .password
                    ? try await client.finishPassword(challenge, password: code.revealed)
                    : try await client.finishPIN(challenge, pin: code.revealed)
                guard let kept = result.credentials else {
                    throw RouterError(.internal, "the pairing with \(endpoint.name) left nothing", scope: .route)
                }
                credentials = DeviceCredentials(kind: kind, secret: kept.encoded())
            case .legacy(let challenge):
                let kept = try await client.finishLegacyPIN(challenge, pin: code.revealed)
                credentials = DeviceCredentials(kind: kind, secret: kept.encoded())
            }
            await close()
            return .done(credentials)
        } catch {
            throw await failed(error)
        }
    }

    func end() async {
        stage = .ended
        await close()
    }

    /// A fresh connection, and as far as the device waits.
    private func attempt() async throws -> PairingStep {
        await close()
        let connection = try await RTSPConnection.connect(
            host: endpoint.host, port: endpoint.port, password: nil, logger: logger)
        if case .ended = stage {
            await connection.close()
            throw Self.ended(endpoint)
        }
        self.connection = connection
        let client = AirPlayPairing.client(on: connection, spelling: spelling)
        switch kind {
        case .pin:
            stage = .waiting(client, .homeKit(try await client.beginPIN(controller)))
            return .needsCode(prompt: Self.prompt(endpoint))
        case .password:
            stage = .waiting(client, .homeKit(try await client.beginPassword(controller)))
            return .needsCode(prompt: "Type the password that was set on \(endpoint.name)")
        case .legacyPin:
            stage = .waiting(client, .legacy(try await client.beginLegacyPIN(controller)))
            return .needsCode(prompt: Self.prompt(endpoint))
        case .legacy:
            let kept = try await client.openLegacy(controller)
            await close()
            return .done(DeviceCredentials(kind: .legacy, secret: kept.encoded()))
        case .transient:
            throw RouterError(
                .unsupported, "\(endpoint.name) lets in whoever asks and needs no pairing", hint: "Just play to it",
                scope: .route)
        }
    }

    private func failed(_ error: any Error) async -> RouterError {
        if case .ended = stage { return Self.ended(endpoint) }
        stage = .idle
        await close()
        return AirPlayPairing.translate(error, .pairing(kind), endpoint: endpoint)
    }

    private func close() async {
        await connection?.close()
        connection = nil
    }

    private static func prompt(_ endpoint: Endpoint) -> String {
        endpoint.deviceType == .tv
            ? "\(endpoint.name) shows a code on its screen: type it"
            : "Type the code that \(endpoint.name) shows, or that its app or label names"
    }

    private static func ended(_ endpoint: Endpoint) -> RouterError {
        RouterError(.cancelled, "the pairing with \(endpoint.name) was ended", scope: .route)
    }
}
