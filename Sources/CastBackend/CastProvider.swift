import CastV2
import Logging
import RouteBackend
import RouteModel

/// The Google Cast backend: finds `_googlecast._tcp` devices and plays on them by handing over URLs.
public struct CastProvider: RouteProvider {
    let clock: any HostClock
    let logger: Logger
    let timeouts: CastTimeouts
    /// Nil: nobody is asked who it is.
    let identity: CastIdentityPolicy?

    public init(
        clock: any HostClock = SystemHostClock(), logger: Logger = Logger(label: "CastBackend"),
        timeouts: CastTimeouts = CastTimeouts(), identity: CastIdentityPolicy? = nil
    ) {
        self.clock = clock
        self.logger = logger
        self.timeouts = timeouts
        self.identity = identity
    }

    public var family: RouteFamily { .cast }
    public var serviceTypes: [String] { [CastRecord.serviceType] }
    public var uriSchemes: [String] { ["cast"] }

    public func endpoint(from record: ServiceRecord) -> Endpoint? { CastRecord.endpoint(from: record) }

    public func endpoint(from uri: DeviceURI) throws -> Endpoint { try CastRecord.endpoint(from: uri) }

    public func open(_ endpoint: Endpoint, options: OpenOptions) async throws -> any RouteSession {
        let errors = CastErrors(endpoint: endpoint)
        let appID = endpoint.facts["app"] ?? CastApplication.defaultMediaReceiverID
        options.phase("connecting")
        let check = try await CastIdentityCheck(identity, endpoint: endpoint)
        let session: CastSession
        do {
            session = try await CastSession.connect(
                CastSession.Configuration(
                    host: endpoint.host, port: endpoint.port, userAgent: options.senderName,
                    timeouts: check?.limits(timeouts) ?? timeouts, challenge: check?.challenge),
                clock: CastClock(clock), logger: logger)
        } catch {
            throw errors.opening(error)
        }
        var app: CastAppSession?
        do {
            // Beside the launch: who waits for music does not wait for this. Nothing is loaded before it has passed.
            async let passed: Void? = check?.pass(session, options: options)
            guard case .receiverStatus(let status) = try CastSession.value(of: await session.receiverStatus()) else {
                throw CastRequestFailure.timedOut
            }
            let rejoin = options.rejoin.flatMap(CastRejoinToken.init)
            // Launching takes the screen from whoever has it, and opening must displace nobody: where another app is in
            // use, the launch waits for the first load.
            if let active = status.activeApplication, active.appID.lowercased() != appID.lowercased() {
                options.phase("\(active.displayName ?? "another app") is in use")
            } else {
                options.phase(status.activeApplication == nil ? "launching the receiver app" : "joining")
                app = try await session.launchOrJoin(appID: appID) { options.phase("allow it on the device's screen") }
            }
            try await passed
            let route = CastRouteSession(
                session: session, endpoint: endpoint, appID: appID, app: app, rejoin: rejoin,
                volume: status.volume, clock: clock, errors: errors)
            await route.start()
            return route
        } catch {
            let lost = await session.current.connection
            await session.end(stopApp: app?.origin == .launched)
            if case .closed(let reason) = lost { throw errors.opening(reason) }
            throw errors.opening(error)
        }
    }
}

extension CastClock {
    init(_ clock: any HostClock) {
        self.init(now: { clock.now() }, sleepUntil: { try await clock.sleep(until: $0) })
    }
}

/// What finds an app session on its device again: the app and its session id.
struct CastRejoinToken: Sendable, Hashable {
    var appID: String
    var sessionID: String

    init(appID: String, sessionID: String) {
        self.appID = appID
        self.sessionID = sessionID
    }

    init?(_ text: String) {
        guard let slash = text.firstIndex(of: "/") else { return nil }
        appID = String(text[..<slash])
        sessionID = String(text[text.index(after: slash)...])
        guard !appID.isEmpty, !sessionID.isEmpty else { return nil }
    }

    var text: String { "\(appID)/\(sessionID)" }
}
