import Logging

/// A sender's session with one receiver: connect, launch or join an app, play.
///
/// Two tasks belong to it, one that reads and one that waits for the next deadline; both end with `end`, which every
/// session that was connected must be given.
public actor CastSession {
    public struct Configuration: Sendable {
        public var host: String
        public var port: Int
        /// Unique among the senders of the device.
        public var sourceID: String
        /// Who we are.
        public var sender: CastSender
        /// How much our connections to apps count: an onlooker's should not keep an app alive.
        public var appConnections = CastConnectionType.strong
        public var timeouts: CastTimeouts
        /// Sent before anything else; the answer is waited for by `authentication`.
        public var challenge: CastAuthenticationChallenge?
        /// While something plays, its position is asked for after this many nanoseconds without news of it: players
        /// drift, and say so only when something happens. One that is found where it was expected is asked half as
        /// often from then on, down to once in `refreshLimit` of these.
        public var refreshPositionAfter: Int64 = 10_000_000_000
        public static let refreshLimit: Int64 = 6
        /// Seconds from where it was expected that are drift.
        static let noticeableDrift = 0.1

        public init(
            host: String, port: Int = 8009, sourceID: String = "client-\(Int.random(in: 10_000...999_999))",
            userAgent: String = "router", timeouts: CastTimeouts = CastTimeouts(),
            challenge: CastAuthenticationChallenge? = nil
        ) {
            self.host = host
            self.port = port
            self.sourceID = sourceID
            sender = CastSender(userAgent: userAgent)
            self.timeouts = timeouts
            self.challenge = challenge
        }
    }

    /// The address that was reached, numeric.
    public nonisolated let remoteAddress: String
    /// The certificate of the TLS connection, DER: what device authentication signs.
    public nonisolated let peerCertificate: [UInt8]

    private let configuration: Configuration
    let clock: CastClock
    private let logger: Logger
    let connection: CastConnection
    var machine: CastChannelStateMachine
    private var handles: [CastRequestID: CastRequestHandle] = [:]
    private var consents: [CastRequestID: @Sendable () -> Void] = [:]
    var state = CastSessionState()
    private var readers: [Int: AsyncStream<CastSessionState>.Continuation] = [:]
    private var lastReader = 0
    var listeners: [Int: ChannelListener] = [:]
    var lastListener = 0
    var rememberedTrims: [String: Double] = [:]
    private var positionNews: Int64
    /// Nanoseconds after which it is asked for next.
    private var refreshAfter: Int64
    private var isRefreshing = false
    var reconnectedApp = false
    private var reading: Task<Void, Never>?
    private var timer: Task<Void, Never>?
    private var timerDeadline = Int64.max
    private let firstStatus: CastRequestHandle
    private let firstAnswer: CastRequestHandle?

    /// Connects, opens the virtual connection and asks for the device's status, all in one go.
    ///
    /// Throws `CastConnectionError`. What the status says is waited for by `receiverStatus`.
    public static func connect(
        _ configuration: Configuration, clock: CastClock, logger: Logger
    ) async throws -> CastSession {
        var machine = CastChannelStateMachine(
            sourceID: configuration.sourceID, sender: configuration.sender,
            appConnections: configuration.appConnections, timeouts: configuration.timeouts, now: clock.now())
        let asked = configuration.challenge.map { machine.request(.authenticate($0), now: clock.now()) }
        let (statusID, actions) = machine.request(.receiver(.getStatus), now: clock.now())
        let greeting = ((asked?.actions ?? []) + actions).compactMap {
            if case .send(let message) = $0 { message } else { nil }
        }
        let deadline = clock.now() + configuration.timeouts.connect
        let connection = try await withThrowingTaskGroup(of: CastConnection.self) { group in
            group.addTask {
                try await CastConnection.connect(
                    host: configuration.host, port: configuration.port, greeting: greeting)
            }
            group.addTask {
                try await clock.sleepUntil(deadline)
                throw CastConnectionError.timedOut
            }
            let first = await group.nextResult()
            group.cancelAll()
            // A connection that came about in the very moment of the deadline is nobody's any more.
            while let late = await group.nextResult() {
                if case .success(let connection) = late { await connection.close() }
            }
            guard let first else { throw CastConnectionError.timedOut }
            return try first.get()
        }
        let session = CastSession(
            configuration, clock: clock, logger: logger, connection: connection, machine: machine, statusID: statusID,
            answerID: asked?.id)
        await session.start()
        return session
    }

    private init(
        _ configuration: Configuration, clock: CastClock, logger: Logger, connection: CastConnection,
        machine: CastChannelStateMachine, statusID: CastRequestID, answerID: CastRequestID?
    ) {
        self.configuration = configuration
        self.clock = clock
        self.logger = logger
        self.connection = connection
        self.machine = machine
        remoteAddress = connection.remoteAddress
        peerCertificate = connection.peerCertificate
        positionNews = clock.now()
        refreshAfter = configuration.refreshPositionAfter
        // The session does not exist yet when this request is made, so nobody can give it up through it.
        firstStatus = CastRequestHandle(id: statusID) { _ in }
        handles[statusID] = firstStatus
        firstAnswer = answerID.map { id in CastRequestHandle(id: id) { _ in } }
        if let firstAnswer { handles[firstAnswer.id] = firstAnswer }
    }

    private func start() async {
        await apply(machine.opened(now: clock.now()))
        reading = Task { [connection] in
            do {
                for try await message in connection.inbound { await self.received(message) }
                await self.transportClosed(.closedByPeer)
            } catch {
                await self.transportClosed(error as? CastConnectionError ?? .closedByPeer)
            }
        }
    }

    // MARK: State

    /// The state now, then each newer one; finishes when the connection has closed.
    public func states() -> AsyncStream<CastSessionState> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: CastSessionState.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield(state)
        guard case .open = state.connection else {
            continuation.finish()
            return stream
        }
        lastReader += 1
        readers[lastReader] = continuation
        return stream
    }

    public var current: CastSessionState { state }

    /// Requests that wait for an answer, those of the session itself with them.
    public var requestsInFlight: Int { max(machine.pendingRequests, handles.count) }

    /// The device's first status, which `connect` asked for: proof that a Cast device is there.
    public func receiverStatus() async -> CastRequestResult { await firstStatus.result() }

    /// The version of the virtual connection's protocol that its other end agreed to; nil where it said none.
    public func protocolVersion(of destination: String = CastAddress.platformReceiver) -> Int? {
        machine.protocolVersions[destination]
    }

    /// What the device answered to the challenge that `connect` sent; nil where none was sent.
    public func authentication() async -> CastRequestResult? { await firstAnswer?.result() }

    // MARK: Requests

    /// Asks the device or an app something.
    public func request(_ request: CastRequest) async -> CastRequestHandle { await submit(request, consent: nil) }

    func submit(_ request: CastRequest, consent: (@Sendable () -> Void)?) async -> CastRequestHandle {
        let (id, actions) = machine.request(request, now: clock.now())
        let handle = CastRequestHandle(id: id) { [weak self] id in await self?.cancel(id) }
        handles[id] = handle
        consents[id] = consent
        // Whatever failed before has nothing to do with what is loaded now.
        if case .media(let asked, _, _) = request {
            state.media.asked(asked, id: id)
            if asked.isLoad, state.mediaFailure != nil {
                state.mediaFailure = nil
                publish()
            }
        }
        await apply(actions)
        return handle
    }

    /// Asks the app; ends at once as `appClosed` where none runs.
    public func media(_ request: CastMediaRequest) async -> CastRequestHandle {
        guard let app = state.runningApp else {
            let handle = CastRequestHandle(id: 0) { _ in }
            await handle.finish(.failed(.appClosed))
            return handle
        }
        return await self.request(.media(request, transport: app.transportID, session: app.sessionID))
    }

    private func cancel(_ id: CastRequestID) async { await apply(machine.cancel(id)) }

    /// The answer of a request that was taken; throws `CastRequestFailure` or `CancellationError` for every other end.
    public static func value(of result: CastRequestResult) throws -> CastReply {
        switch result {
        case .completed(let reply): return reply
        case .failed(let failure): throw failure
        case .replaced, .cancelled: throw CancellationError()
        }
    }

    // MARK: End

    /// Says goodbye and closes. With `stopApp`, the app is stopped first.
    public func end(stopApp: Bool) async {
        if stopApp, case .open = state.connection { _ = await self.stopApp() }
        await apply(machine.end(now: clock.now()))
        await connection.close()
        reading?.cancel()
        timer?.cancel()
        await reading?.value
        await timer?.value
        reading = nil
        timer = nil
    }

    // MARK: Events

    private func received(_ message: CastMessage) async {
        logger.trace(
            "received \(message.kind)",
            metadata: ["namespace": "\(message.namespace)", "source": "\(message.sourceID)"])
        await apply(machine.received(message, now: clock.now()))
    }

    private func transportClosed(_ error: CastConnectionError) async { await apply(machine.transportClosed(error)) }

    /// Does what the machine says. Everything that changes state is done before anybody is waited for.
    func apply(_ actions: [CastChannelStateMachine.Action]) async {
        var outgoing: [CastMessage] = []
        var ended: [(CastRequestHandle, CastRequestResult)] = []
        var again: [CastChannelStateMachine.Action] = []
        var news = false
        for action in actions {
            switch action {
            case .send(let message): outgoing.append(message)
            case .finish(let id, let result):
                consents[id] = nil
                state.media.ended(id, result)
                if let handle = handles.removeValue(forKey: id) { ended.append((handle, result)) }
            case .launchNeedsConsent(let id): consents[id]?()
            case .deliver(let inbound, let source):
                again += deliver(inbound, from: source)
                news = true
            case .hand(let message): hand(message)
            case .disconnect(let error):
                state.connection = .closed(error)
                endChannels(error)
                // One line, and no more: devices restart at night, and that is nobody's fault.
                if error != .ended, let end = state.end {
                    logger.info("connection over: \(end)", metadata: ["device": "\(remoteAddress)"])
                }
                news = true
            }
        }
        // A device that does not read gets no more answers to its heartbeats.
        if !connection.takesMore { outgoing.removeAll { $0.namespace == CastNamespace.heartbeat } }
        for message in outgoing {
            logger.trace(
                "sent \(message.kind)",
                metadata: ["namespace": "\(message.namespace)", "destination": "\(message.destinationID)"])
        }
        // Nothing leaves the machine that cannot be sent, so that this has no error to tell.
        try? connection.send(outgoing)
        if news { publish() }
        if case .closed = state.connection {
            for reader in readers.values { reader.finish() }
            readers = [:]
            timer?.cancel()
        } else {
            arm()
        }
        for (handle, result) in ended { await handle.finish(result) }
        if !again.isEmpty { await apply(again) }
    }

    private func deliver(_ inbound: CastInbound, from source: String) -> [CastChannelStateMachine.Action] {
        let now = clock.now()
        switch inbound {
        case .receiverStatus(let status, _):
            state.receiver = status
            return followApp(status)
        case .mediaStatus(let updates, _) where source == state.runningApp?.transportID:
            let before = state.media.current
            state.media.apply(updates, now: now)
            positionNews = now
            setRefresh(from: before, to: state.media.current, now: now)
        case .queueItemIDs, .queueItems, .queueChange:
            if source == state.runningApp?.transportID { state.media.apply(inbound) }
        case .loadFailed(let failure, _), .mediaError(let failure, _):
            if source == state.runningApp?.transportID { state.mediaFailure = failure }
        case .multizone(let multizone, _): follow(multizone)
        case .close(let reason) where source == CastAddress.platformReceiver:
            state.goodbye = reason.map { CastCloseReason(rawValue: $0) ?? .unknown }
        case .close(let reason) where source == state.runningApp?.transportID:
            state.appGoodbye = reason.map { CastCloseReason(rawValue: $0) ?? .unknown }
            // The app is gone, or only tired of us: the device knows.
            return ask(.receiver(.getStatus))
        default: break
        }
        return []
    }

    /// A request of the session's own, whose answer is of interest as state only.
    func ask(_ request: CastRequest) -> [CastChannelStateMachine.Action] {
        machine.request(request, now: clock.now()).actions
    }

    func publish() {
        state.revision += 1
        for reader in readers.values { reader.yield(state) }
    }

    // MARK: Time

    private var nextDeadline: Int64? {
        guard let deadline = machine.nextDeadline else { return nil }
        guard state.runningApp != nil, state.media.current?.playerState == .playing else { return deadline }
        return min(deadline, positionNews + refreshAfter)
    }

    /// How long the position is believed from now on.
    private func setRefresh(from before: CastMediaStatus?, to status: CastMediaStatus?, now: Int64) {
        defer { isRefreshing = false }
        guard isRefreshing, let before, let status, before.mediaSessionID == status.mediaSessionID,
            before.playerState == .playing, status.playerState == .playing,
            abs(before.position(at: now) - status.position(at: now)) < Configuration.noticeableDrift
        else { return refreshAfter = configuration.refreshPositionAfter }
        refreshAfter = min(2 * refreshAfter, Configuration.refreshLimit * configuration.refreshPositionAfter)
    }

    /// Sees to it that somebody wakes at the next deadline. One that has moved away is noticed on waking.
    private func arm() {
        guard let deadline = nextDeadline, deadline < timerDeadline else { return }
        let previous = timer
        previous?.cancel()
        timerDeadline = deadline
        timer = Task { [clock] in
            await previous?.value
            guard (try? await clock.sleepUntil(deadline)) != nil else { return }
            await self.deadlinePassed(deadline)
        }
    }

    private func deadlinePassed(_ deadline: Int64) async {
        // A newer timer has taken over while this one was waking.
        guard timerDeadline == deadline else { return }
        timerDeadline = .max
        let now = clock.now()
        var actions = machine.timePassed(now: now)
        if let app = state.runningApp, state.media.current?.playerState == .playing,
            positionNews + refreshAfter <= now
        {
            positionNews = now
            isRefreshing = true
            actions += ask(.media(.getStatus, transport: app.transportID, session: app.sessionID))
        }
        await apply(actions)
    }
}
