import CastV2
import Logging
import RouteBackend
import RouteModel

/// One Cast device as one more sender drives it: it joins what runs, sees what plays, and commands it (C7, C10 to C15).
///
/// Nothing that plays is displaced unless it is asked for (`load`, `transfer`), and the app goes on when this has
/// ended. Every function throws `RouterError`, also where the task is cancelled.
public actor CastControl {
    public nonisolated let endpoint: Endpoint
    nonisolated let errors: CastErrors
    let session: CastSession
    let clock: any HostClock

    /// Time that a device may take from having the URL to playing it, in nanoseconds.
    static let startLimit: Int64 = 60_000_000_000
    /// Time in which a device tells what plays in an app that was just joined.
    static let joinLimit: Int64 = 5_000_000_000

    init(endpoint: Endpoint, session: CastSession, clock: any HostClock) {
        self.endpoint = endpoint
        errors = CastErrors(endpoint: endpoint)
        self.session = session
        self.clock = clock
    }

    /// Connects, runs `body` and says goodbye, however it went.
    public static func with<Value: Sendable>(
        _ endpoint: Endpoint, senderName: String = "router", identity: CastIdentityPolicy? = nil,
        clock: any HostClock = SystemHostClock(), logger: Logger = Logger(label: "CastBackend"),
        _ body: @Sendable (CastControl) async throws -> Value
    ) async throws -> Value {
        let control = try await connect(
            endpoint, senderName: senderName, identity: identity, clock: clock, logger: logger)
        do {
            let value = try await body(control)
            await control.end()
            return value
        } catch {
            await control.end()
            throw error
        }
    }

    /// Connects and waits for the device's first status, and for its identity where there is a policy. To be ended by
    /// `end`. Throws `authFailed` for a device that the policy does not let pass.
    public static func connect(
        _ endpoint: Endpoint, senderName: String = "router", identity: CastIdentityPolicy? = nil,
        clock: any HostClock = SystemHostClock(), logger: Logger = Logger(label: "CastBackend")
    ) async throws -> CastControl {
        let errors = CastErrors(endpoint: endpoint)
        let check = try await CastIdentityCheck(identity, endpoint: endpoint)
        let session: CastSession
        do {
            session = try await CastSession.connect(
                CastSession.Configuration(
                    host: endpoint.host, port: endpoint.port, userAgent: senderName,
                    timeouts: check?.limits(CastTimeouts()) ?? CastTimeouts(), challenge: check?.challenge),
                clock: CastClock(clock), logger: logger)
        } catch {
            throw errors.opening(error)
        }
        do {
            _ = try CastSession.value(of: await session.receiverStatus())
            try await check?.pass(session, options: OpenOptions(senderName: senderName))
        } catch {
            await session.end(stopApp: false)
            throw errors.opening(error)
        }
        return CastControl(endpoint: endpoint, session: session, clock: clock)
    }

    /// Says goodbye. What plays goes on.
    public func end() async { await session.end(stopApp: false) }

    // MARK: What there is

    /// The device now. What plays is told where its app lets senders see it; nothing is launched.
    public func report() async throws -> CastDeviceReport {
        _ = try await joinIfPossible()
        if await session.current.media.current != nil { try await completeQueue(radius: 3) }
        // Only groups have members that are not themselves.
        if endpoint.kind == .group { _ = await session.followGroup() }
        return CastDeviceReport(
            name: endpoint.name, address: endpoint.address, state: await session.current, now: clock.now())
    }

    /// The device now, then again at each change; ends with the connection.
    public func reports() async throws -> AsyncStream<CastDeviceReport> {
        _ = try await joinIfPossible()
        let (states, clock, endpoint) = (await session.states(), clock, endpoint)
        return AsyncStream {
            for await state in states {
                return CastDeviceReport(
                    name: endpoint.name, address: endpoint.address, state: state, now: clock.now())
            }
            return nil
        }
    }

    /// Joins the app that runs, if it lets senders see what plays; false where there is none.
    func joinIfPossible() async throws -> Bool {
        if await session.current.runningApp != nil { return true }
        do {
            guard case .joined = try await session.joinRunning(speaking: CastNamespace.media) else { return false }
        } catch {
            throw errors.opening(error)
        }
        // Apps that never answer this play nothing that could be commanded.
        switch await session.media(.getStatus).result() {
        case .completed, .failed(.timedOut), .failed(.invalidRequest): return true
        case let result:
            _ = try reply(result, doing: "asking what plays")
            return true
        }
    }

    /// Joins what runs. Throws `unavailable` where nothing does that could be commanded.
    func join() async throws {
        guard try await joinIfPossible() else {
            let app = await session.current.receiver?.activeApplication
            throw RouterError(
                .unavailable,
                app.map { "“\($0.displayName ?? $0.appID)” on \(errors.name) takes no commands from other senders" }
                    ?? "nothing runs on \(errors.name)",
                hint: "Start something first: router cast load \(endpoint.words) URL", scope: .command)
        }
    }

    /// What is loaded. Throws `unavailable` where nothing is.
    func loaded() async throws -> CastMediaStatus {
        try await join()
        guard let status = await session.current.media.current, !status.hasEnded else {
            throw RouterError(
                .unavailable, "nothing is loaded on \(errors.name)",
                hint: "Start something first: router cast load \(endpoint.words) URL", scope: .command)
        }
        return status
    }

    // MARK: Asking

    /// Asks the app, and waits for its answer.
    @discardableResult
    func ask(_ request: CastMediaRequest, doing: String) async throws -> CastReply {
        try reply(await session.media(request).result(), doing: doing)
    }

    @discardableResult
    func ask(_ request: CastReceiverRequest, doing: String) async throws -> CastReply {
        try reply(await session.request(.receiver(request)).result(), doing: doing)
    }

    func reply(_ result: CastRequestResult, doing: String) throws -> CastReply {
        switch result {
        case .completed(let reply): return reply
        case .replaced:
            throw RouterError(
                .commandSuperseded, "another sender's command took the place of this one (\(doing))",
                hint: "Try again if it is still wanted", scope: .command)
        case .cancelled: throw RouterError(.cancelled, "\(doing) on \(errors.name) was given up", scope: .command)
        case .failed(let failure): throw errors.request(failure, doing: doing)
        }
    }

    // MARK: Device

    /// Which of these apps the device can run. Throws `timeout` for devices that do not answer the question.
    public func availability(of appIDs: [String]) async throws -> [String: Bool] {
        guard case .appAvailability(let answers) = try await ask(.getAppAvailability(appIDs: appIDs), doing: "asking")
        else { return [:] }
        return answers
    }

    /// `level` 0 to 1. Throws `unsupported` where the volume is fixed.
    public func setVolume(_ level: Double) async throws {
        try await checkVolume()
        if endpoint.kind == .group, case .completed = await session.followGroup() {
            // Member by member, so that their proportions outlive 0.
            _ = try reply(await session.setGroupVolume(level), doing: "setting the volume")
            return
        }
        try await ask(.setVolume(level: level), doing: "setting the volume")
    }

    public func setMuted(_ muted: Bool) async throws {
        try await checkVolume()
        try await ask(.setMuted(muted), doing: "muting")
    }

    /// One member of a group, by its name or id. Throws `routeNotFound` with the names that there are.
    public func setMember(_ name: String, level: Double? = nil, muted: Bool? = nil) async throws {
        _ = try reply(await session.followGroup(), doing: "asking for the members")
        let members = await session.current.group?.members ?? []
        let wanted = name.lowercased()
        let named = members.filter { $0.name?.lowercased() == wanted || $0.deviceID.lowercased() == wanted }
        let found = named.isEmpty ? members.filter { $0.name?.lowercased().hasPrefix(wanted) ?? false } : named
        let names = members.map { $0.name ?? $0.deviceID }
        guard let member = found.first, found.count == 1 else {
            throw RouterError(
                found.isEmpty ? .routeNotFound : .routeAmbiguous,
                found.isEmpty
                    ? "\(errors.name) has no member “\(name)”"
                    : "“\(name)” could be \(found.map { $0.name ?? $0.deviceID }.joined(separator: " or "))",
                hint: names.isEmpty ? "It is no group" : "Its members: \(names.joined(separator: ", "))",
                scope: .command, candidates: names)
        }
        let doing = "setting the volume of \(member.name ?? member.deviceID)"
        if let level { _ = try reply(await session.setMemberVolume(member.deviceID, to: level), doing: doing) }
        if let muted { _ = try reply(await session.setMemberMuted(member.deviceID, muted), doing: doing) }
    }

    private func checkVolume() async throws {
        guard await session.current.receiver?.volume?.controlType != .fixed else {
            throw RouterError(
                .unsupported, "the volume of \(errors.name) is fixed", hint: "Use the device's own control",
                scope: .command)
        }
    }

    /// Stops what plays and the app with it. Without effect where nothing runs.
    public func stopApp() async throws {
        guard let app = await session.current.receiver?.activeApplication else { return }
        try await ask(.stop(sessionID: app.sessionID), doing: "stopping")
    }
}
