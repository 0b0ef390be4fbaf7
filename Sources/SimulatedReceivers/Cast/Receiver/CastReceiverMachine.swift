import CastV2
import Foundation

/// What a simulated receiver does next.
enum CastReceiverAction: Sendable {
    case send(connection: Int, CastMessage)
    /// Answer a device-authentication challenge.
    case authenticate(connection: Int, asker: String, payload: [UInt8])
    /// Close the TCP connection.
    case drop(connection: Int)
    case player(CastPlayerCommand)
    case stream(CastStreamingCommand)
    case fetchText(url: String, track: Int)
    /// A step of the script is due.
    case control(SimulatedCastControl)
    /// A member of this group gets another volume.
    case member(id: String, level: Double, muted: Bool)
    /// For the journal, in domain words.
    case note(String, [String: JSONValue])
}

/// The device side of a CastV2 channel: virtual connections, heartbeat, the receiver namespace and its small neighbours,
/// and the app that runs (`Protocols/cast` sections 4 to 9). Events in, actions out.
struct CastReceiverMachine: Sendable {
    /// A sender that is silent for this long is gone; half way a PING asks. Real devices: 10 to 15 s.
    static let silenceLimit: Int64 = 15_000_000_000
    static let pingInterval: Int64 = 5_000_000_000
    /// The id that a device's transport itself speaks under.
    static let transportAddress = "Tr@n$p0rt-0"
    static let mediaPlayer = "CC1AD845"
    static let backdrop = "E8C28D3C"

    /// Virtual connections of one TCP connection; the next one is refused.
    static let maximumLinks = 256
    /// Request ids that are remembered of each sender, where repeated ones are refused.
    static let rememberedRequests = 256
    /// The connection of the second sender that lives in here.
    static let otherSender = 0

    struct Link: Hashable, Sendable {
        var sender: String
        var destination: String
    }

    /// `connType` of CONNECT.
    enum LinkKind: Int, Sendable {
        case strong, weak, invisible
    }

    struct LinkState: Sendable {
        var kind: LinkKind
        var lastUsed: Int64
    }

    struct Connection: Sendable {
        var links: [Link: LinkState] = [:]
        var lastHeard: Int64
        var lastPing: Int64
        var messages = 0
        var requests: [String: [Int]] = [:]
    }

    struct App: Sendable {
        var id: String
        var displayName: String
        var sessionID: String
        var transportID: String
        var namespaces: [String]
        var isIdleScreen = false
        var echoes = false
        /// A strong virtual connection was there once.
        var hadStrongSender = false
        var media: CastMediaMachine?
        var statusText: String
    }

    let configuration: SimulatedCastConfiguration
    var identity: SimulatedCastIdentity
    var connections: [Int: Connection] = [:]
    var app: App?
    var level: Double
    var muted = false
    var actions: [CastReceiverAction] = []
    /// The connection whose OFFER is the latest.
    var streamingSender: Int?
    var group: [GroupMember] = []
    /// What a group that this device is in plays; nil is nothing.
    var groupPlays: String?
    /// A launch that waits for somebody's permission.
    var waitingLaunch: (asker: CastAsker, app: SimulatedCastApp)?
    var isStandBy = false
    var isAsleep = false
    private var launches = 0
    private var droppedAfterPlaying = false
    /// When the first sound was heard, and how much of the script was done since.
    private var scriptStart: Int64?
    private var stepsDone = 0

    init(_ configuration: SimulatedCastConfiguration) {
        self.configuration = configuration
        identity = SimulatedCastIdentity(configuration: configuration)
        level = min(1, max(0, configuration.volume))
        group = (configuration.group?.members ?? []).map { GroupMember($0, groupLevel: level) }
        startIdleApp()
    }

    mutating func takeActions() -> [CastReceiverAction] {
        defer { actions = [] }
        return actions
    }

    /// What the mDNS record says is running; nil while idle.
    var runningApp: String? { app.flatMap { $0.isIdleScreen ? nil : $0.statusText } ?? groupPlays }

    // MARK: Events

    mutating func opened(_ connection: Int, at now: Int64) {
        if configuration.faults.refusesConnections || isAsleep {
            note("refusedConnection")
            actions.append(.drop(connection: connection))
            return
        }
        connections[connection] = Connection(lastHeard: now, lastPing: now)
        note("connected", ["connection": .integer(connection)])
    }

    mutating func closed(_ connection: Int) {
        guard connections.removeValue(forKey: connection) != nil else { return }
        streamingSenderLeft(connection)
        note("disconnected", ["connection": .integer(connection)])
    }

    mutating func receive(_ message: CastMessage, on connection: Int, at now: Int64) {
        guard connections[connection] != nil else { return }
        connections[connection]?.lastHeard = now
        connections[connection]?.messages += 1
        let faults = configuration.faults
        if connection != Self.otherSender, connections[connection]?.messages == faults.dropsConnectionAtMessage {
            note("droppedConnection", ["connection": .integer(connection)])
            return actions.append(.drop(connection: connection))
        }
        if faults.neverAnswers { return }

        if isAsleep { return }
        if message.namespace == CastNamespace.deviceAuthentication {
            guard case .binary(let payload) = message.payload else { return }
            actions.append(.authenticate(connection: connection, asker: message.sourceID, payload: payload))
            return
        }
        let link = Link(sender: message.sourceID, destination: message.destinationID)
        if connections[connection]?.links[link] != nil {
            connections[connection]?.links[link]?.lastUsed = now
            if let app, app.echoes, message.destinationID == app.transportID,
                app.namespaces.contains(message.namespace),
                message.namespace != CastNamespace.media
            {
                return echo(message, connection)
            }
        }
        guard let text = message.text, let json = JSONValue(text: text), json.object != nil else {
            return note("dropped", ["why": "not JSON", "namespace": .string(message.namespace)])
        }
        switch message.namespace {
        case CastNamespace.heartbeat: heartbeat(json, message, connection)
        case CastNamespace.connection: connect(json, message, connection, now)
        default:
            guard connections[connection]?.links[link] != nil else {
                return note("dropped", ["why": "not connected", "namespace": .string(message.namespace)])
            }
            request(json, message, connection, now)
        }
    }

    /// To be called a few times each second.
    mutating func tick(at now: Int64) {
        runScript(at: now)
        guard !isAsleep else { return }
        closeIdleLinks(at: now)
        leaveWeakSenders(at: now)
        changeMedia { $0.tick(at: now) }
        for (id, connection) in connections.sorted(by: { $0.key < $1.key }) where id != Self.otherSender {
            if now - connection.lastHeard >= Self.silenceLimit {
                note("silent", ["connection": .integer(id)])
                actions.append(.drop(connection: id))
            } else if now - max(connection.lastHeard, connection.lastPing) >= Self.pingInterval,
                !configuration.faults.neverAnswers
            {
                connections[id]?.lastPing = now
                send(["type": "PING"], CastNamespace.heartbeat, Self.transportAddress, Self.transportAddress, id)
            }
        }
        if let limit = configuration.faults.dropsAfterPlaying, !droppedAfterPlaying, let media = app?.media,
            Duration.nanoseconds(media.playedNanoseconds(at: now)) >= limit
        {
            droppedAfterPlaying = true
            dropConnections()
        }
    }

    mutating func receive(_ event: PlayerEvent, at now: Int64) {
        changeMedia { $0.receive(event, at: now) }
        if scriptStart == nil, app?.media?.since != nil { scriptStart = now }
    }

    mutating func receive(_ text: FetchedText, at now: Int64) { changeMedia { $0.receive(text, at: now) } }

    private mutating func runScript(at now: Int64) {
        guard let scriptStart else { return }
        let steps = configuration.script.sorted { $0.after < $1.after }
        while steps.indices.contains(stepsDone), .nanoseconds(now - scriptStart) >= steps[stepsDone].after {
            actions.append(.control(steps[stepsDone].control))
            stepsDone += 1
        }
    }

    /// Closes every TCP connection, as a device that lost its network does.
    mutating func dropConnections() {
        note("droppedConnections")
        for id in connections.keys.sorted() where id != Self.otherSender { actions.append(.drop(connection: id)) }
    }

    /// The device starts again. Its sessions go on if they are kept.
    mutating func restart(keepingSessions: Bool, at now: Int64) {
        note("restarted", ["keepsSessions": .bool(keepingSessions)])
        dropConnections()
        isAsleep = false
        guard !keepingSessions else { return }
        waitingLaunch = nil
        connections = connections.filter { $0.key != Self.otherSender }
        if app?.media != nil { actions.append(.player(.stop)) }
        startIdleApp()
    }

    // MARK: Connections and heartbeat

    private mutating func heartbeat(_ json: JSONValue, _ message: CastMessage, _ connection: Int) {
        guard json["type"]?.string == "PING" else { return }
        send(["type": "PONG"], CastNamespace.heartbeat, message.destinationID, message.sourceID, connection)
    }

    private mutating func connect(_ json: JSONValue, _ message: CastMessage, _ connection: Int, _ now: Int64) {
        let link = Link(sender: message.sourceID, destination: message.destinationID)
        switch json["type"]?.string {
        case "CONNECT":
            guard link.destination == CastAddress.platformReceiver || link.destination == app?.transportID else {
                return refuse(link, .closedBySelf, connection)
            }
            guard let kind = json["connType"].map({ $0.int.flatMap(LinkKind.init(rawValue:)) }) ?? .strong else {
                return refuse(link, .invalidMessage, connection)
            }
            guard connections[connection]?.links.count ?? 0 < Self.maximumLinks else {
                return refuse(link, .aborted, connection)
            }
            connections[connection]?.links[link] = LinkState(kind: kind, lastUsed: now)
            if kind == .strong, link.destination == app?.transportID { app?.hadStrongSender = true }
            note(
                "senderJoined",
                [
                    "sender": .string(link.sender), "destination": .string(link.destination),
                    "userAgent": json["userAgent"] ?? .null, "connType": .integer(kind.rawValue),
                ])
            let offered =
                [json["protocolVersion"]?.int].compactMap { $0 }
                + (json["protocolVersionList"]?.array?.compactMap(\.int) ?? [])
            if let version = offered.filter({ (0...3).contains($0) }).max() {
                let answer: JSONValue = ["type": "CONNECTED", "protocolVersion": .integer(version)]
                send(answer, CastNamespace.connection, link.destination, link.sender, connection)
            }
        case "CLOSE":
            guard connections[connection]?.links.removeValue(forKey: link) != nil else { return }
            note(
                "senderLeft",
                [
                    "sender": .string(link.sender), "destination": .string(link.destination),
                    "reason": json["reasonCode"] ?? .null,
                ])
        default: break
        }
    }

    /// `reasonCode` of CLOSE (`Protocols/cast` section 3).
    enum CloseReason: Int, Sendable {
        case aborted = 2, invalidMessage = 3, idleTooLong = 4, closedBySelf = 5
    }

    private mutating func refuse(_ link: Link, _ reason: CloseReason, _ connection: Int) {
        note("refusedSender", ["destination": .string(link.destination), "reason": .integer(reason.rawValue)])
        close(link, reason, connection)
    }

    /// Says CLOSE and forgets the virtual connection.
    mutating func close(_ link: Link, _ reason: CloseReason, _ connection: Int) {
        let message: JSONValue = ["type": "CLOSE", "reasonCode": .integer(reason.rawValue)]
        send(message, CastNamespace.connection, link.destination, link.sender, connection)
        connections[connection]?.links[link] = nil
    }

    private mutating func closeIdleLinks(at now: Int64) {
        guard let limit = configuration.idleLimit else { return }
        for (id, connection) in connections.sorted(by: { $0.key < $1.key }) {
            for (link, state) in connection.links.sorted(by: { $0.key.sender < $1.key.sender })
            where link.destination != CastAddress.platformReceiver && .nanoseconds(now - state.lastUsed) >= limit {
                note("idleSender", ["sender": .string(link.sender)])
                close(link, .idleTooLong, id)
            }
        }
    }

    /// An app may exit once only weak senders are left.
    private mutating func leaveWeakSenders(at now: Int64) {
        guard configuration.exitsWithWeakSenders, let app, app.hadStrongSender else { return }
        let kinds = connections.values.flatMap { $0.links.filter { $0.key.destination == app.transportID }.values }
        guard !kinds.isEmpty, kinds.allSatisfy({ $0.kind == .weak }) else { return }
        note("exited", ["why": "only weak senders are left"])
        stopApp(at: now)
        broadcastStatus()
    }

    /// What an app of the user's own does with its messages: sends them back.
    private mutating func echo(_ message: CastMessage, _ connection: Int) {
        switch message.payload {
        case .text(let text): note("appMessage", ["namespace": .string(message.namespace), "text": .string(text)])
        case .binary(let bytes):
            note("appMessage", ["namespace": .string(message.namespace), "bytes": .integer(bytes.count)])
        }
        actions.append(
            .send(
                connection: connection,
                CastMessage(
                    sourceID: message.destinationID, destinationID: message.sourceID, namespace: message.namespace,
                    payload: message.payload)))
    }

    // MARK: Requests

    private mutating func request(_ json: JSONValue, _ message: CastMessage, _ connection: Int, _ now: Int64) {
        let asker = CastAsker(
            connection: connection, sender: message.sourceID, requestID: json["requestId"]?.int ?? 0)
        if message.destinationID == app?.transportID, let app, Self.streamingApps[app.id] != nil {
            return streamingRequest(json, message, connection)
        }
        if asker.requestID != 0, isRepeated(asker, message.namespace) {
            note("refused", ["reason": "DUPLICATE_REQUEST_ID"])
            let answer: JSONValue = [
                "type": "INVALID_REQUEST", "requestId": .integer(asker.requestID), "reason": "DUPLICATE_REQUEST_ID",
            ]
            return send(answer, message.namespace, message.destinationID, message.sourceID, connection)
        }
        if message.destinationID == app?.transportID, let app, app.media != nil {
            switch message.namespace {
            case CastNamespace.media:
                guard asker.requestID != 0 else { return note("dropped", ["why": "no requestId"]) }
                changeMedia { $0.receive(json, from: asker, at: now) }
            default: note("dropped", ["why": "unknown namespace", "namespace": .string(message.namespace)])
            }
            return
        }
        guard message.destinationID == CastAddress.platformReceiver else {
            return note("dropped", ["why": "unknown namespace", "namespace": .string(message.namespace)])
        }
        switch message.namespace {
        case CastNamespace.receiver:
            guard asker.requestID != 0 else { return note("dropped", ["why": "no requestId"]) }
            receiverRequest(json, asker, now)
        case CastNamespace.discovery where json["type"]?.string == "GET_DEVICE_INFO":
            reply(identity.deviceInformation(requestID: asker.requestID), CastNamespace.discovery, asker)
        case CastNamespace.setup where json["type"]?.string == "eureka_info":
            let id = json["request_id"]?.int ?? asker.requestID
            reply(identity.setupInformation(requestID: id), CastNamespace.setup, asker)
        case CastNamespace.multizone: multizoneRequest(json, asker)
        default: note("dropped", ["why": "unknown request", "namespace": .string(message.namespace)])
        }
    }

    /// Whether this sender used the request id before in this namespace, as far as that is remembered.
    private mutating func isRepeated(_ asker: CastAsker, _ namespace: String) -> Bool {
        guard configuration.refusesDuplicateRequestIDs else { return false }
        let key = asker.sender + " " + namespace
        var seen = connections[asker.connection]?.requests[key] ?? []
        if seen.contains(asker.requestID) { return true }
        seen.append(asker.requestID)
        // Source ids that come and go are not kept for ever.
        if connections[asker.connection]?.requests.count ?? 0 > Self.maximumLinks {
            connections[asker.connection]?.requests = [:]
        }
        connections[asker.connection]?.requests[key] = seen.suffix(Self.rememberedRequests)
        return false
    }

    /// Lets the media app act, and carries out what it wants.
    mutating func changeMedia(_ change: (inout CastMediaMachine) -> Void) {
        guard var media = app?.media, let transport = app?.transportID else { return }
        change(&media)
        let wanted = media.takeActions()
        app?.media = media
        for action in wanted {
            switch action {
            case .reply(let asker, let json):
                var fields = json.object ?? [:]
                fields["requestId"] = .integer(asker.requestID)
                // To an invisible sender an app can only speak by broadcast.
                let link = Link(sender: asker.sender, destination: transport)
                let isInvisible = connections[asker.connection]?.links[link]?.kind == .invisible
                send(
                    .object(fields), CastNamespace.media, transport, isInvisible ? CastAddress.broadcast : asker.sender,
                    asker.connection)
            case .push(let json): broadcast(json, CastNamespace.media, from: transport)
            case .player(let command): actions.append(.player(command))
            case .fetchText(let url, let track): actions.append(.fetchText(url: url, track: track))
            case .note(let word, let details): note(word, details)
            }
        }
    }

    // MARK: Sending

    mutating func note(_ word: String, _ details: [String: JSONValue] = [:]) { actions.append(.note(word, details)) }

    mutating func send(
        _ json: JSONValue, _ namespace: String, _ source: String, _ destination: String, _ connection: Int
    ) {
        let message = CastMessage(
            sourceID: source, destinationID: destination, namespace: namespace, payload: .text(json.text))
        actions.append(.send(connection: connection, message))
    }

    mutating func reply(_ json: JSONValue, _ namespace: String, _ asker: CastAsker) {
        send(json, namespace, CastAddress.platformReceiver, asker.sender, asker.connection)
    }

    /// To `*`, on every TCP connection that has a virtual connection to the source.
    mutating func broadcast(_ json: JSONValue, _ namespace: String, from source: String) {
        for (id, connection) in connections.sorted(by: { $0.key < $1.key })
        where connection.links.keys.contains(where: { $0.destination == source }) {
            send(json, namespace, source, CastAddress.broadcast, id)
        }
    }

    mutating func nextLaunch() -> Int {
        launches += 1
        return launches
    }
}
