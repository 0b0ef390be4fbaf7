import CastV2
import Logging
import Pacing
import RouteBackend
import RouteModel

/// The Google Cast backend: finds `_googlecast._tcp` devices and plays on them by handing over URLs.
public struct CastProvider: RouteProvider {
    let clock: any HostClock
    let logger: Logger
    let timeouts: CastTimeouts
    /// Nil: nobody is asked who it is.
    let identity: CastIdentityPolicy?
    let pacer: Pacer?
    let images: any ImageChoosing

    /// - Parameters:
    ///   - pacer: the process's one sending thread; without one, nothing is streamed.
    ///   - images: chooses the picture that a device draws (C18).
    public init(
        clock: any HostClock = SystemHostClock(), logger: Logger = Logger(label: "CastBackend"),
        timeouts: CastTimeouts = CastTimeouts(), identity: CastIdentityPolicy? = nil, pacer: Pacer? = nil,
        images: any ImageChoosing = FittingImage()
    ) {
        self.images = images
        self.pacer = pacer
        self.clock = clock
        self.logger = logger
        self.timeouts = timeouts
        self.identity = identity
    }

    public var family: RouteFamily { .cast }
    public var serviceTypes: [String] { [CastRecord.serviceType] }
    public var uriSchemes: [String] { ["cast"] }

    public func endpoint(from record: ServiceRecord) -> Endpoint? { CastRecord.endpoint(from: record) }

    /// With `?stream=1`, the device's streaming side.
    public func endpoint(from uri: DeviceURI) throws -> Endpoint {
        let endpoint = try CastRecord.endpoint(from: uri)
        return uri.query["stream"] == "1" ? CastStreamEndpoint.companion(of: endpoint) : endpoint
    }

    public func companions(of endpoint: Endpoint) -> [Endpoint] {
        endpoint.protocol == .cast && pacer != nil ? [CastStreamEndpoint.companion(of: endpoint)] : []
    }

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
        if endpoint.protocol == .castStreaming {
            return try await stream(to: endpoint, over: session, check: check, options: options, errors: errors)
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
            if let rejoin {
                app = try await self.rejoin(rejoin, appID: appID, in: session, options: options)
            } else if let active = status.activeApplication, active.appID.lowercased() != appID.lowercased() {
                options.phase("\(active.displayName ?? "another app") is in use")
            } else {
                options.phase(status.activeApplication == nil ? "launching the receiver app" : "joining")
                app = try await session.launchOrJoin(appID: appID) { options.phase("allow it on the device's screen") }
            }
            try await passed
            let route = CastRouteSession(
                session: session, endpoint: endpoint, appID: appID, app: app, rejoin: rejoin,
                volume: status.volume, clock: clock, errors: errors, images: images)
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

extension CastProvider {
    /// Joins the very session that was, launches anew where nothing runs, and leaves alone what is somebody else's.
    private func rejoin(
        _ token: CastRejoinToken, appID: String, in session: CastSession, options: OpenOptions
    ) async throws -> CastAppSession? {
        options.phase("joining again")
        switch try await session.join(sessionID: token.sessionID, appID: token.appID) {
        case .joined(let app): return app
        case .gone:
            guard options.launches else { return nil }
            options.phase("launching the receiver app")
            return try await session.launchOrJoin(appID: appID) { options.phase("allow it on the device's screen") }
        case .other(let other):
            options.phase("\(other.displayName ?? "another app") is in use")
            return nil
        }
    }

    /// Goes on to a stream. The connection is closed when it throws.
    private func stream(
        to endpoint: Endpoint, over session: CastSession, check: CastIdentityCheck?, options: OpenOptions,
        errors: CastErrors
    ) async throws -> any RouteSession {
        do {
            guard let pacer else { throw CastStreamingError.noApp }
            // Before the launch: an offer holds the keys of the sound.
            try await check?.pass(session, options: options)
            guard case .receiverStatus(let status) = try CastSession.value(of: await session.receiverStatus()) else {
                throw CastRequestFailure.timedOut
            }
            let route = CastStreamingSession(
                session: session, endpoint: endpoint, plan: try CastStreamPlan(endpoint: endpoint),
                volume: status.volume, clock: clock, pacer: pacer, errors: errors, logger: logger)
            await route.start()
            // As for URLs: what is in use is displaced by playing, not by opening.
            if let active = status.activeApplication {
                options.phase("\(active.displayName ?? "another app") is in use")
            } else {
                options.phase("offering a stream")
                do {
                    try await route.ensureStream { options.phase("allow it on the device's screen") }
                } catch {
                    await route.end(.lost)
                    throw error
                }
            }
            return route
        } catch {
            let lost = await session.current.connection
            await session.end(stopApp: false)
            if case .closed(let reason) = lost, reason != .ended { throw errors.opening(reason) }
            throw errors.streaming(error)
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
