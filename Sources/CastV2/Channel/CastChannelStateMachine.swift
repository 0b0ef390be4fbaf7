/// The sender's side of one CastV2 channel: virtual connections, heartbeat, requests and their one final result.
///
/// Methods are events, return values are what to do about them; there is no I/O and no clock in here. `now` is in
/// nanoseconds of any monotonic clock. After each event the caller asks `nextDeadline` and calls `timePassed` then.
public struct CastChannelStateMachine: Sendable {
    /// What the caller must do, in order.
    public enum Action: Sendable, Hashable {
        case send(CastMessage)
        /// A request has ended. Told once for each.
        case finish(CastRequestID, CastRequestResult)
        /// A launch waits for a person at the device.
        case launchNeedsConsent(CastRequestID)
        /// State for whoever keeps it.
        case deliver(CastInbound, source: String)
        /// A message of a namespace that is not the channel's own, for whoever listens there.
        case hand(CastMessage)
        /// The channel is over: close the transport. Told once.
        case disconnect(CastConnectionError)
    }

    public enum Phase: Sendable, Hashable {
        /// The transport is being made; what is sent now goes out first thing.
        case opening
        case open
        case closed(CastConnectionError)
    }

    private struct Pending: Sendable {
        var request: CastRequest
        var deadline: Int64
    }

    public private(set) var phase = Phase.opening
    public let sourceID: String
    private let sender: CastSender
    private let appConnections: CastConnectionType
    private let timeouts: CastTimeouts

    private var connections: Set<String> = []
    /// The protocol version that each end of a virtual connection agreed to; none where it was not asked, or is silent.
    public private(set) var protocolVersions: [String: Int] = [:]
    private var pending: [CastRequestID: Pending] = [:]
    private var lastRequestID = 0
    private var lastHeard: Int64
    private var lastSent: Int64
    private var lastPing: Int64

    /// - Parameters:
    ///   - sourceID: this sender's id, unique among the senders of the device.
    ///   - sender: who it is.
    ///   - appConnections: how much its connections to apps count; the one to the device is always a strong one.
    public init(
        sourceID: String, sender: CastSender, appConnections: CastConnectionType = .strong,
        timeouts: CastTimeouts = CastTimeouts(), now: Int64
    ) {
        self.sourceID = sourceID
        self.sender = sender
        self.appConnections = appConnections
        self.timeouts = timeouts
        lastHeard = now
        lastSent = now
        lastPing = now
    }

    /// When `timePassed` must be called next; nil when the channel is closed.
    public var nextDeadline: Int64? {
        if case .closed = phase { return nil }
        let requests = pending.values.map(\.deadline).min() ?? .max
        return phase == .open ? min(requests, pingDeadline, lastHeard + timeouts.giveUpAfter) : requests
    }

    /// Requests that have not ended.
    public var pendingRequests: Int { pending.count }

    /// The transport is there. Deadlines count from here: making the connection has a limit of its own.
    public mutating func opened(now: Int64) -> [Action] {
        guard phase == .opening else { return [] }
        phase = .open
        lastHeard = now
        lastSent = now
        lastPing = now
        for (id, entry) in pending { pending[id]?.deadline = now + timeouts.limit(of: entry.request) }
        return []
    }

    /// Opens a virtual connection, if there is none yet.
    public mutating func connect(to destination: String, now: Int64) -> [Action] {
        if case .closed = phase { return [] }
        guard !destination.isEmpty, connections.insert(destination).inserted else { return [] }
        let type = destination == CastAddress.platformReceiver ? .strong : appConnections
        return [send(.connect(sender, type), to: destination, now: now)]
    }

    /// Whether there is a virtual connection, as far as both ends have said.
    public func isConnected(to destination: String) -> Bool { connections.contains(destination) }

    /// Closes a virtual connection; what is asked over it ends as cancelled.
    public mutating func disconnect(from destination: String, now: Int64) -> [Action] {
        if case .closed = phase { return [] }
        guard forget(destination) else { return [] }
        return finish(.cancelled) { $0.destination == destination }
            + [send(.close(.closedBySelf), to: destination, now: now)]
    }

    /// An app has gone, as the device's status says; there is nobody left to say goodbye to.
    public mutating func appVanished(_ transport: String) -> [Action] {
        _ = forget(transport)
        return finish(.failed(.appClosed)) { $0.destination == transport }
    }

    /// Says something that nobody answers to by an id: the messages of custom channels.
    ///
    /// Throws `CastFramingError` where it cannot be sent. Without effect when the channel is closed.
    public mutating func say(
        _ payload: CastMessage.Payload, in namespace: String, to destination: String, now: Int64
    ) throws(CastFramingError) -> [Action] {
        if case .closed = phase { return [] }
        let message = CastMessage(
            sourceID: sourceID, destinationID: destination, namespace: namespace, payload: payload)
        try CastFraming.check(message)
        let actions = connect(to: destination, now: now)
        lastSent = now
        return actions + [.send(message)]
    }

    /// Asks something, after the CONNECT that must come before anything else on that pair of ids.
    ///
    /// The request ends at once where it cannot be sent.
    public mutating func request(_ request: CastRequest, now: Int64) -> (id: CastRequestID, actions: [Action]) {
        lastRequestID += 1
        let id = lastRequestID
        if case .closed(let error) = phase { return (id, [.finish(id, .failed(.connectionLost(error)))]) }
        let message = request.message(id: id, from: sourceID)
        do throws(CastFramingError) {
            try CastFraming.check(message)
        } catch {
            return (id, [.finish(id, .failed(.unsendable(error)))])
        }
        var actions = finish(.replaced) { $0.isReplaced(by: request) }
        guard pending.count < CastLimits.requestsInFlight else {
            return (id, actions + [.finish(id, .failed(.tooManyRequests))])
        }
        if case .authenticate = request {} else { actions += connect(to: request.destination, now: now) }
        pending[id] = Pending(request: request, deadline: now + timeouts.limit(of: request))
        lastSent = now
        actions.append(.send(message))
        return (id, actions)
    }

    /// The caller gives a request up. The device is not told: there is no message for it.
    public mutating func cancel(_ id: CastRequestID) -> [Action] { finish(id, .cancelled) }

    public mutating func received(_ message: CastMessage, now: Int64) -> [Action] {
        if case .closed = phase { return [] }
        // Whatever is heard proves that the device lives.
        lastHeard = now
        let isOurs = message.destinationID == sourceID || message.destinationID == CastAddress.broadcast
        guard CastNamespace.own.contains(message.namespace) else { return isOurs ? [.hand(message)] : [] }
        let inbound = CastInbound(message)
        if message.namespace == CastNamespace.heartbeat {
            // Heartbeats of real devices carry the address of their transport, not ours.
            let asker = message.sourceID.isEmpty ? CastAddress.platformReceiver : message.sourceID
            return inbound == .ping ? [send(.pong, to: asker, now: now)] : []
        }
        guard isOurs else { return [] }
        var actions: [Action]
        switch inbound {
        case .close: return closed(message.sourceID, inbound)
        case .connected(let version):
            if connections.contains(message.sourceID) { protocolVersions[message.sourceID] = version }
            actions = []
        case .receiverStatus(let status, let id): actions = receiverStatus(status, id)
        case .launchStatus(let status, let id): actions = launchStatus(status, id, now: now)
        case .launchError(let reason, let extended, let id): actions = launchError(reason, extended, id)
        case .appAvailability(let answers, let id):
            actions = settle(id, .completed(.appAvailability(answers))) {
                if case .receiver(.getAppAvailability) = $0 { true } else { false }
            }
        case .multizone(let news, let id): actions = multizone(news, id)
        case .deviceInformation(let information, let id):
            actions = settle(id, .completed(.deviceInformation(information))) { $0 == .deviceInformation }
        case .eurekaInformation(let information, let id):
            actions = settle(
                id,
                information.isAnswer
                    ? .completed(.eurekaInformation(information))
                    : .failed(.invalidRequest(reason: information.responseText))
            ) { $0 == .eurekaInformation }
        case .mediaStatus(let updates, let id):
            actions = settle(id, .completed(.mediaStatus(updates))) { Self.isMedia($0, from: message.sourceID) }
        case .queueItemIDs(let ids, let sequence, let id):
            actions = settle(id, .completed(.queueItemIDs(ids, sequenceNumber: sequence))) {
                Self.isMedia($0, from: message.sourceID)
            }
        case .queueItems(let items, let id):
            actions = settle(id, .completed(.queueItems(items))) { Self.isMedia($0, from: message.sourceID) }
        case .queueChange(let change, let id):
            actions = settle(id, .completed(.queueChange(change))) { Self.isMedia($0, from: message.sourceID) }
        case .storedSession(let stored, let id):
            actions = settle(id, .completed(.storedSession(stored))) { Self.isMedia($0, from: message.sourceID) }
        case .loadFailed(let failure, let id):
            actions = loadEnded(.failed(.loadFailed(failure)), id, from: message.sourceID)
        case .loadCancelled(let id): actions = loadEnded(.replaced, id, from: message.sourceID)
        case .invalidPlayerState(let id):
            actions = settle(id, .failed(.invalidPlayerState)) { Self.isMedia($0, from: message.sourceID) }
        case .mediaError(let failure, let id):
            actions = settle(id, .failed(.mediaError(failure))) { Self.isMedia($0, from: message.sourceID) }
        case .deviceAuthentication(let reply):
            // The first answer counts: a second one finds nobody waiting.
            actions = finish(.completed(.authentication(reply))) {
                if case .authenticate = $0 { true } else { false }
            }
        case .invalidRequest(let reason, let id):
            actions = settle(id, .failed(.invalidRequest(reason: reason))) { $0.namespace == message.namespace }
        default: actions = []
        }
        // State first: who waits for the result may look at it.
        actions.insert(.deliver(inbound, source: message.sourceID), at: 0)
        return actions
    }

    public mutating func timePassed(now: Int64) -> [Action] {
        if case .closed = phase { return [] }
        var actions: [Action] = []
        for id in pending.filter({ $0.value.deadline <= now }).keys.sorted() {
            actions += finish(id, .failed(.timedOut))
        }
        guard phase == .open else { return actions }
        if lastHeard + timeouts.giveUpAfter <= now { return actions + close(.silent) }
        if pingDeadline <= now {
            lastPing = now
            actions.append(send(.ping, to: CastAddress.platformReceiver, now: now))
        }
        return actions
    }

    /// Ends the channel from our side: goodbye to everybody, and nothing is left pending.
    public mutating func end(now: Int64) -> [Action] {
        if case .closed = phase { return [] }
        var actions = finish(.cancelled) { _ in true }
        if phase == .open {
            // The platform last: its CLOSE may take the transport down.
            let others = connections.filter { $0 != CastAddress.platformReceiver }.sorted()
            for destination in others + [CastAddress.platformReceiver] where connections.contains(destination) {
                actions.append(send(.close(.closedBySelf), to: destination, now: now))
            }
        }
        connections = []
        protocolVersions = [:]
        phase = .closed(.ended)
        return actions + [.disconnect(.ended)]
    }

    /// The transport is gone, or never came.
    public mutating func transportClosed(_ error: CastConnectionError) -> [Action] {
        if case .closed = phase { return [] }
        return close(error)
    }

    private var pingDeadline: Int64 { max(min(lastHeard, lastSent), lastPing) + timeouts.pingAfter }

    private mutating func send(_ message: CastTransportMessage, to destination: String, now: Int64) -> Action {
        lastSent = now
        return .send(message.message(from: sourceID, to: destination))
    }

    private mutating func close(_ error: CastConnectionError) -> [Action] {
        let actions = finish(.failed(.connectionLost(error))) { _ in true }
        connections = []
        protocolVersions = [:]
        phase = .closed(error)
        return actions + [.disconnect(error)]
    }

    private mutating func closed(_ source: String, _ inbound: CastInbound) -> [Action] {
        _ = forget(source)
        let news = Action.deliver(inbound, source: source)
        // The platform's own CLOSE announces the end of the transport.
        if source == CastAddress.platformReceiver { return [news] + close(.closedByPeer) }
        return [news] + finish(.failed(.appClosed)) { $0.destination == source }
    }

    private mutating func forget(_ destination: String) -> Bool {
        protocolVersions[destination] = nil
        return connections.remove(destination) != nil
    }

    private mutating func receiverStatus(_ status: CastReceiverStatus, _ id: CastRequestID) -> [Action] {
        var actions: [Action] = []
        for (pendingID, entry) in pending.sorted(by: { $0.key < $1.key }) {
            guard case .receiver(let request) = entry.request else { continue }
            let answered =
                switch request {
                case .launch(let launch):
                    // An early status of the launch may come before the app can be talked to; and some receivers tell
                    // of the app by a broadcast only.
                    status.application(appID: launch.appID).map { !$0.transportID.isEmpty } ?? false
                case .stop(let sessionID?):
                    pendingID == id || status.application(sessionID: sessionID) == nil
                case .stop(nil): pendingID == id || status.activeApplication == nil
                case .getAppAvailability: false
                case .getStatus, .setVolume, .setMuted: pendingID == id
                }
            if answered { actions += finish(pendingID, .completed(.receiverStatus(status))) }
        }
        return actions
    }

    private mutating func launchStatus(_ status: String, _ id: CastRequestID, now: Int64) -> [Action] {
        guard let entry = pending[id], case .receiver(.launch) = entry.request else { return [] }
        switch status {
        case "USER_ALLOWED":
            pending[id]?.deadline = now + timeouts.launch
            return []
        case "USER_PENDING_AUTHORIZATION":
            pending[id]?.deadline = now + timeouts.authorization
            return [.launchNeedsConsent(id)]
        case let refusal where CastLaunchProblem(word: refusal).isRefusal:
            return finish(id, .failed(.launchDenied(status: status)))
        default: return []
        }
    }

    /// Newer devices put the refusal of a person into the second field.
    private mutating func launchError(_ reason: String?, _ extended: String?, _ id: CastRequestID) -> [Action] {
        let refusal = [extended, reason].compactMap { $0 }.first { CastLaunchProblem(word: $0).isRefusal }
        let failure: CastRequestFailure =
            refusal.map { .launchDenied(status: $0) } ?? .launchFailed(reason: reason ?? extended)
        return settle(id, .failed(failure)) { if case .receiver(.launch) = $0 { true } else { false } }
    }

    private mutating func multizone(_ news: CastMultizoneNews, _ id: CastRequestID) -> [Action] {
        var actions = settle(id, .completed(.multizone(news))) {
            if case .multizone = $0 { true } else { false }
        }
        // A member's volume may be answered by the news of it alone.
        if case .memberUpdated(let member) = news {
            actions += finish(.completed(.multizone(news))) { request in
                switch request {
                case .multizone(.setVolume(member.deviceID, let level)):
                    member.volume?.level.map { abs($0 - level) < 0.05 } ?? false
                case .multizone(.setMuted(member.deviceID, let muted)): member.volume?.muted == muted
                default: false
                }
            }
        }
        return actions
    }

    /// LOAD_FAILED and LOAD_CANCELLED come with the id of the LOAD, or with none from receivers that failed late.
    private mutating func loadEnded(
        _ result: CastRequestResult, _ id: CastRequestID, from source: String
    ) -> [Action] {
        let isLoad = { (request: CastRequest) in
            if case .media(let request, source, _) = request { request.isLoad } else { false }
        }
        return id != 0 ? settle(id, result, where: isLoad) : finish(result, where: isLoad)
    }

    private static func isMedia(_ request: CastRequest, from source: String) -> Bool {
        if case .media(_, source, _) = request { true } else { false }
    }

    /// Ends the request that a reply names, if it is one that this reply can answer: unknown ids, duplicates and
    /// replies from somebody else change nothing.
    private mutating func settle(
        _ id: CastRequestID, _ result: CastRequestResult, where fits: (CastRequest) -> Bool
    ) -> [Action] {
        guard let entry = pending[id], fits(entry.request) else { return [] }
        return finish(id, result)
    }

    private mutating func finish(_ id: CastRequestID, _ result: CastRequestResult) -> [Action] {
        pending.removeValue(forKey: id) == nil ? [] : [.finish(id, result)]
    }

    private mutating func finish(_ result: CastRequestResult, where fits: (CastRequest) -> Bool) -> [Action] {
        let ids = pending.filter { fits($0.value.request) }.keys.sorted()
        return ids.flatMap { finish($0, result) }
    }
}
