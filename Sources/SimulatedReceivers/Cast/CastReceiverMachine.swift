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

    struct Link: Hashable, Sendable {
        var sender: String
        var destination: String
    }

    struct Connection: Sendable {
        var links: Set<Link> = []
        var lastHeard: Int64
        var lastPing: Int64
        var messages = 0
    }

    struct App: Sendable {
        var id: String
        var displayName: String
        var sessionID: String
        var transportID: String
        var namespaces: [String]
        var isIdleScreen = false
        var media: CastMediaMachine?
        var statusText: String
    }

    let configuration: SimulatedCastConfiguration
    let identity: SimulatedCastIdentity
    var connections: [Int: Connection] = [:]
    var app: App?
    var level: Double
    var muted = false
    var actions: [CastReceiverAction] = []
    /// The connection whose OFFER is the latest.
    var streamingSender: Int?
    private var launches = 0
    private var droppedAfterPlaying = false

    init(_ configuration: SimulatedCastConfiguration) {
        self.configuration = configuration
        identity = SimulatedCastIdentity(configuration: configuration)
        level = min(1, max(0, configuration.volume))
        startIdleApp()
    }

    mutating func takeActions() -> [CastReceiverAction] {
        defer { actions = [] }
        return actions
    }

    /// What the mDNS record says is running; nil while idle.
    var runningApp: String? { app.flatMap { $0.isIdleScreen ? nil : $0.statusText } }

    // MARK: Events

    mutating func opened(_ connection: Int, at now: Int64) {
        if configuration.faults.refusesConnections {
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
        if connections[connection]?.messages == faults.dropsConnectionAtMessage {
            note("droppedConnection", ["connection": .integer(connection)])
            return actions.append(.drop(connection: connection))
        }
        if faults.neverAnswers { return }

        if message.namespace == CastNamespace.deviceAuthentication {
            guard case .binary(let payload) = message.payload else { return }
            actions.append(.authenticate(connection: connection, asker: message.sourceID, payload: payload))
            return
        }
        guard let text = message.text, let json = JSONValue(text: text), json.object != nil else {
            return note("dropped", ["why": "not JSON", "namespace": .string(message.namespace)])
        }
        switch message.namespace {
        case CastNamespace.heartbeat: heartbeat(json, message, connection)
        case CastNamespace.connection: connect(json, message, connection)
        default:
            let link = Link(sender: message.sourceID, destination: message.destinationID)
            guard connections[connection]?.links.contains(link) == true else {
                return note("dropped", ["why": "not connected", "namespace": .string(message.namespace)])
            }
            request(json, message, connection, now)
        }
    }

    /// To be called a few times each second.
    mutating func tick(at now: Int64) {
        for (id, connection) in connections.sorted(by: { $0.key < $1.key }) {
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
    }

    /// Closes every TCP connection, as a device that lost its network does.
    mutating func dropConnections() {
        note("droppedConnections")
        for id in connections.keys.sorted() { actions.append(.drop(connection: id)) }
    }

    // MARK: Connections and heartbeat

    private mutating func heartbeat(_ json: JSONValue, _ message: CastMessage, _ connection: Int) {
        guard json["type"]?.string == "PING" else { return }
        send(["type": "PONG"], CastNamespace.heartbeat, message.destinationID, message.sourceID, connection)
    }

    private mutating func connect(_ json: JSONValue, _ message: CastMessage, _ connection: Int) {
        let link = Link(sender: message.sourceID, destination: message.destinationID)
        switch json["type"]?.string {
        case "CONNECT":
            let known = link.destination == CastAddress.platformReceiver || link.destination == app?.transportID
            let kind = json["connType"]?.int ?? 0
            guard known, (0...2).contains(kind) else {
                note("refusedSender", ["destination": .string(link.destination)])
                return send(["type": "CLOSE"], CastNamespace.connection, link.destination, link.sender, connection)
            }
            connections[connection]?.links.insert(link)
            note(
                "senderJoined",
                [
                    "sender": .string(link.sender), "destination": .string(link.destination),
                    "userAgent": json["userAgent"] ?? .null,
                ])
            let offered =
                [json["protocolVersion"]?.int].compactMap { $0 }
                + (json["protocolVersionList"]?.array?.compactMap(\.int) ?? [])
            if let version = offered.filter({ (0...3).contains($0) }).max() {
                let answer: JSONValue = ["type": "CONNECTED", "protocolVersion": .integer(version)]
                send(answer, CastNamespace.connection, link.destination, link.sender, connection)
            }
        case "CLOSE":
            guard connections[connection]?.links.remove(link) != nil else { return }
            note(
                "senderLeft", ["sender": .string(link.sender), "destination": .string(link.destination)])
        default: break
        }
    }

    // MARK: Requests

    private mutating func request(_ json: JSONValue, _ message: CastMessage, _ connection: Int, _ now: Int64) {
        let asker = CastAsker(
            connection: connection, sender: message.sourceID, requestID: json["requestId"]?.int ?? 0)
        if message.destinationID == app?.transportID, let app, Self.streamingApps[app.id] != nil {
            return streamingRequest(json, message, connection)
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
        switch message.namespace {
        case CastNamespace.receiver:
            guard asker.requestID != 0 else { return note("dropped", ["why": "no requestId"]) }
            receiverRequest(json, asker, now)
        case CastNamespace.discovery where json["type"]?.string == "GET_DEVICE_INFO":
            reply(identity.deviceInformation(requestID: asker.requestID), CastNamespace.discovery, asker)
        case CastNamespace.setup where json["type"]?.string == "eureka_info":
            let id = json["request_id"]?.int ?? asker.requestID
            reply(identity.setupInformation(requestID: id), CastNamespace.setup, asker)
        case CastNamespace.multizone where json["type"]?.string == "GET_STATUS":
            let status = identity.multizoneStatus(requestID: asker.requestID, volume: volume)
            reply(status, CastNamespace.multizone, asker)
        case CastNamespace.multizone where json["type"]?.string == "GET_CASTING_GROUPS":
            let groups: JSONValue = [
                "type": "CASTING_GROUPS", "requestId": .integer(asker.requestID), "status": ["groups": []],
            ]
            reply(groups, CastNamespace.multizone, asker)
        default: note("dropped", ["why": "unknown request", "namespace": .string(message.namespace)])
        }
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
                send(.object(fields), CastNamespace.media, transport, asker.sender, asker.connection)
            case .push(let json): broadcast(json, CastNamespace.media, from: transport)
            case .player(let command): actions.append(.player(command))
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
        where connection.links.contains(where: { $0.destination == source }) {
            send(json, namespace, source, CastAddress.broadcast, id)
        }
    }

    mutating func nextLaunch() -> Int {
        launches += 1
        return launches
    }
}
