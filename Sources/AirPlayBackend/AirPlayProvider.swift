import AirPlay
import Logging
import Pacing
import RouteBackend
import RouteModel

/// AirPlay for the engine: reads the records of `_raop._tcp` and `_airplay._tcp`, opens sessions of both generations, and
/// pairs.
public struct AirPlayProvider: RouteProvider {
    private let clock: any HostClock
    private let pacer: Pacer
    private let publicKey: RAOPPublicKey
    private let logger: Logger
    private let clockKeeper: AirPlayClockKeeper
    private let remotes: AirPlayRemoteControl?

    /// - Parameters:
    ///   - pacer: the process's one sending thread.
    ///   - remotes: where devices' buttons are heard; nil: nowhere.
    ///   - publicKey: whom RSA receivers' keys are wrapped for; tests have a pair of their own.
    ///   - clockPorts: of the clock that AirPlay 2 receivers follow; real ones know the standard's only.
    public init(
        clock: any HostClock, pacer: Pacer, publicKey: RAOPPublicKey = .airPortExpress,
        clockPorts: PTPPorts = .standard,
        remotes: AirPlayRemoteControl? = nil,
        logger: Logger = Logger(label: "router.airplay") { _ in SwiftLogNoOpLogHandler() }
    ) {
        self.clock = clock
        self.pacer = pacer
        self.publicKey = publicKey
        self.logger = logger
        clockKeeper = AirPlayClockKeeper(ports: clockPorts)
        self.remotes = remotes
    }

    public var family: RouteFamily { .airplay }
    public var serviceTypes: [String] { [AirPlayEndpoint.airPlayType, AirPlayEndpoint.raopType] }
    public var uriSchemes: [String] { ["raop", "airplay"] }

    public func endpoint(from record: ServiceRecord) -> Endpoint? { AirPlayEndpoint.endpoint(from: record) }

    public func endpoint(from uri: DeviceURI) throws -> Endpoint { try AirPlayEndpoint.endpoint(from: uri) }

    public func open(_ endpoint: Endpoint, options: OpenOptions) async throws -> any RouteSession {
        let session: AirPlayRouteSession
        do {
            switch endpoint.protocol {
            case .raop: session = try await openRAOP(endpoint, options)
            case .airplay2:
                let opening = AirPlay2Opening(
                    endpoint: endpoint, plan: try AirPlay2Plan(endpoint: endpoint), options: options,
                    sender: AirPlaySender(identity: options.identity), clock: clock, pacer: pacer,
                    clockKeeper: clockKeeper, remotes: remotes, logger: logger)
                session = try await opening.open()
            default:
                throw RouterError(
                    .unsupported,
                    "\(endpoint.name) is reached by \(endpoint.protocol.displayName), and "
                        + "\(AirPlayEndpoint.unsupportedReason(endpoint.protocol))",
                    hint: "Use the device's AirPlay audio service or Google Cast where it has one", scope: .route)
            }
        } catch let error as RouterError where !Task.isCancelled {
            throw error
        } catch {
            throw Self.cancelled(endpoint)
        }
        guard !Task.isCancelled else {
            await session.end(.stop)
            throw Self.cancelled(endpoint)
        }
        return session
    }

    public func pairing(with endpoint: Endpoint, options: OpenOptions) async throws -> any PairingFlow {
        try AirPlayPairingFlow(endpoint: endpoint, options: options, logger: logger)
    }

    public func unpair(_ endpoint: Endpoint, options: OpenOptions) async throws {
        try await AirPlayPairing.forget(endpoint, options, logger)
    }

    private func openRAOP(_ endpoint: Endpoint, _ options: OpenOptions) async throws -> AirPlayRouteSession {
        let opening = RAOPOpening(
            endpoint: endpoint, plan: try RAOPPlan(endpoint: endpoint), publicKey: publicKey, options: options,
            clock: clock, pacer: pacer, logger: logger, remotes: remotes)
        return try await opening.open()
    }

    private static func cancelled(_ endpoint: Endpoint) -> RouterError {
        RouterError(.cancelled, "connecting to \(endpoint.name) was cancelled", scope: .route)
    }
}
