import AirPlay
import Logging
import Pacing
import RouteBackend
import RouteModel

/// AirPlay for the engine: reads the records of `_raop._tcp` and `_airplay._tcp`, and opens RAOP sessions.
public struct AirPlayProvider: RouteProvider {
    private let clock: any HostClock
    private let pacer: Pacer
    private let publicKey: RAOPPublicKey
    private let logger: Logger
    private let remotes: AirPlayRemoteControl?

    /// - Parameters:
    ///   - pacer: the process's one sending thread.
    ///   - remotes: where devices' buttons are heard; nil: nowhere.
    ///   - publicKey: whom RSA receivers' keys are wrapped for; tests have a pair of their own.
    public init(
        clock: any HostClock, pacer: Pacer, publicKey: RAOPPublicKey = .airPortExpress,
        remotes: AirPlayRemoteControl? = nil,
        logger: Logger = Logger(label: "router.airplay") { _ in SwiftLogNoOpLogHandler() }
    ) {
        self.clock = clock
        self.pacer = pacer
        self.publicKey = publicKey
        self.logger = logger
        self.remotes = remotes
    }

    public var family: RouteFamily { .airplay }
    public var serviceTypes: [String] { [AirPlayEndpoint.airPlayType, AirPlayEndpoint.raopType] }
    public var uriSchemes: [String] { ["raop", "airplay"] }

    public func endpoint(from record: ServiceRecord) -> Endpoint? { AirPlayEndpoint.endpoint(from: record) }

    public func endpoint(from uri: DeviceURI) throws -> Endpoint { try AirPlayEndpoint.endpoint(from: uri) }

    public func open(_ endpoint: Endpoint, options: OpenOptions) async throws -> any RouteSession {
        guard endpoint.protocol == .raop else {
            throw RouterError(
                .unsupported,
                "\(endpoint.name) is reached by \(endpoint.protocol.displayName), and "
                    + "\(AirPlayEndpoint.unsupportedReason(endpoint.protocol))",
                hint: "Use the device's AirPlay 1 (RAOP) service or Google Cast where it has one", scope: .route)
        }
        let plan = try RAOPPlan(endpoint: endpoint)
        options.phase("connecting")
        let connection: RTSPConnection
        do {
            connection = try await RTSPConnection.connect(
                host: endpoint.host, port: endpoint.port, password: options.password?.revealed)
        } catch {
            guard !Task.isCancelled else { throw Self.cancelled(endpoint) }
            throw AirPlayErrors.opening(error, endpoint: endpoint)
        }
        do {
            return try await withTaskCancellationHandler {
                let session = try await RAOPOpening(
                    endpoint: endpoint, plan: plan, publicKey: publicKey, options: options, clock: clock,
                    pacer: pacer, logger: logger, remotes: remotes
                ).open(on: connection)
                if Task.isCancelled {
                    await session.end(.stop)
                    throw CancellationError()
                }
                return session
            } onCancel: {
                connection.abort()
            }
        } catch let error as RouterError where !Task.isCancelled {
            throw error
        } catch {
            await connection.close()
            throw Self.cancelled(endpoint)
        }
    }

    private static func cancelled(_ endpoint: Endpoint) -> RouterError {
        RouterError(.cancelled, "connecting to \(endpoint.name) was cancelled", scope: .route)
    }
}

