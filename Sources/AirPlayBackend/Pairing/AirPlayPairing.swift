import AirPlay
import HomeKitPairing
import Logging
import RouteBackend
import RouteModel

/// What pairing needs, beside the connection: who we are, and how requests are spelled.
struct AirPlayPairing: Sendable {
    static let userAgent = "AirPlay/670.6.2"
    /// Of one request: the device computes with large numbers meanwhile.
    static let timeout = Duration.seconds(10)

    /// Who we are towards devices. Throws `internal` where the caller gave no identity.
    static func controller(_ identity: InstallationIdentity?) throws -> ControllerIdentity {
        guard let identity, (1...255).contains(identity.identifier.utf8.count), identity.seed.count == 32 else {
            throw RouterError(
                .storage, "this installation has no identity to be known to devices by",
                hint: "Check that the state folder can be written to")
        }
        return ControllerIdentity(identifier: identity.identifier, signingKey: SigningKey(seed: identity.seed))
    }

    /// The ladders of pairing on a connection.
    ///
    /// - Parameter spelling: RTSP or HTTP; devices are not of one mind.
    static func client(on connection: RTSPConnection, spelling: AirPlay2Way.Spelling) -> PairingClient {
        PairingClient { request in
            let spelled = request.rtsp(
                spelling == .rtsp ? .rtsp1 : .http11, headers: ["User-Agent": Self.userAgent])
            let response = try await connection.perform(spelled, timeout: Self.timeout, holding: true)
            return PairingAnswer(response, to: request)
        }
    }

    /// Why a device that has paired with us does not know us on a connection of RAOP.
    struct Unproven: Error {
        var error: RouterError
        /// It may be how the requests were written.
        var isAboutSpelling: Bool
    }

    /// Shows what an earlier pairing left, on a connection that RAOP is to go by. Nothing is encrypted after it, whichever
    /// pairing it was. Does nothing without credentials that a device keeps.
    static func prove(
        on connection: RTSPConnection, spelling: AirPlay2Way.Spelling, endpoint: Endpoint, options: OpenOptions
    ) async throws(Unproven) {
        guard let credentials = options.credentials, credentials.kind != .transient else { return }
        options.phase("proving who we are")
        let client = client(on: connection, spelling: spelling)
        do {
            switch credentials.kind {
            case .legacyPin, .legacy:
                _ = try await client.verifyLegacy(LegacyCredentials(parsing: credentials.secret))
            case .pin, .password, .transient:
                _ = try await client.verify(HomeKitCredentials(parsing: credentials.secret))
            }
        } catch is CredentialsError {
            throw Unproven(
                error: RouterError(
                    .storage, "what was kept of the pairing with \(endpoint.name) cannot be read",
                    hint: "Pair it again", scope: .route, retry: .afterUserAction), isAboutSpelling: false)
        } catch {
            throw Unproven(
                error: translate(error, .verifying, endpoint: endpoint), isAboutSpelling: isAboutSpelling(error))
        }
    }

    /// Has a device forget us, by the credentials in `options`. The older pairing knows no way to do so: there it is
    /// enough that we forget.
    static func forget(_ endpoint: Endpoint, _ options: OpenOptions, _ logger: Logger) async throws {
        guard let credentials = options.credentials, credentials.kind == .pin || credentials.kind == .password else {
            return
        }
        let kept: HomeKitCredentials
        do { kept = try HomeKitCredentials(parsing: credentials.secret) } catch {
            throw RouterError(
                .storage, "what was kept of the pairing with \(endpoint.name) cannot be read",
                hint: "It is removed here; remove it in the device's settings too", scope: .route)
        }
        do {
            let connection = try await RTSPConnection.connect(
                host: endpoint.host, port: endpoint.port, password: options.password?.revealed, logger: logger)
            do {
                let client = client(on: connection, spelling: .rtsp)
                let result = try await client.verify(kept)
                try await connection.encrypt(with: .control(result.secret))
                try await client.remove(identifier: Array(kept.controller.identifier.utf8))
            } catch {
                await connection.close()
                throw error
            }
            await connection.close()
        } catch {
            throw translate(error, .verifying, endpoint: endpoint)
        }
    }

    /// Whether a failure speaks against the spelling of requests and not against us.
    static func isAboutSpelling(_ error: any Error) -> Bool {
        switch error {
        case PairingError.status(let status, _): [400, 404, 405, 500, 501, 505].contains(status)
        case RAOPError.malformed: true
        // UxPlay closes on what it takes for another protocol.
        case RAOPError.closed: true
        default: false
        }
    }

    /// Any error of a pairing in the product's own.
    static func translate(
        _ error: any Error, _ purpose: AirPlayErrors.PairingPurpose, endpoint: Endpoint
    ) -> RouterError {
        switch error {
        case let error as RouterError: error
        case let error as PairingError: AirPlayErrors.routerError(error, purpose, endpoint: endpoint)
        case let error as RAOPError: AirPlayErrors.opening(error, endpoint: endpoint)
        default:
            RouterError(.internal, "pairing with \(endpoint.name) failed", scope: .route, causes: ["\(error)"])
        }
    }
}
