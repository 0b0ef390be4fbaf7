import CastV2
import Logging
import NIOCore
import RouterTestKit
import Synchronization

/// A Cast device on loopback that runs what a test says and answers as devices do; the rest is up to `script`.
final class ScriptedCastDevice: Sendable {
    struct App: Sendable {
        var id = CastApplication.defaultMediaReceiverID
        var name = "App"
        var session = "s"
        var transport = "app"
        var namespaces: [String] = []

        var json: CastJSON {
            [
                "appId": .string(id), "displayName": .string(name), "sessionId": .string(session),
                "transportId": .string(transport),
                "namespaces": .array(namespaces.map { ["name": .string($0)] }),
            ]
        }
    }

    /// Sees each message before the device does; true: the device shall not answer it.
    typealias Script = @Sendable (_ message: CastMessage, _ json: CastJSON, _ device: ScriptedCastDevice) -> Bool

    private struct State {
        var app: App?
        /// What LAUNCH starts.
        var launches = App()
        var connections: [ObjectIdentifier: (reply: ScriptedReceiver.Reply, decoder: CastFrameDecoder)] = [:]
        var heard: [String] = []
        var senders: Set<String> = []
    }

    private let state: Mutex<State>
    private let script: Script
    private let server = Mutex<ScriptedReceiver?>(nil)

    init(app: App? = nil, launches: App = App(), script: @escaping Script = { _, _, _ in false }) async throws {
        state = Mutex(State(app: app, launches: launches))
        self.script = script
        let receiver = try await ScriptedReceiver { [weak self] bytes, reply in self?.received(bytes, reply) }
        server.withLock { $0 = receiver }
    }

    var port: Int { server.withLock { $0?.port ?? 0 } }
    func stop() async { await server.withLock { $0 }?.stop() }

    /// "TYPE>destination" of all that came, heartbeats left out.
    var heard: [String] { state.withLock { $0.heard } }

    func count(_ what: String) -> Int { heard.filter { $0 == what }.count }

    /// Runs another app, or none, and tells everybody.
    func run(_ app: App?) {
        state.withLock { $0.app = app }
        push(status(0))
    }

    func push(_ messages: CastMessage...) {
        for connection in state.withLock({ $0.connections.values.map(\.reply) }) { try? connection.send(messages) }
    }

    /// Text from somebody, to `me` unless said otherwise.
    func say(_ text: String, in namespace: String, from source: String = "receiver-0", to destination: String = "me") {
        push(
            CastMessage(sourceID: source, destinationID: destination, namespace: namespace, payload: .text(text)))
    }

    func close(_ source: String, reason: Int? = nil) {
        say(
            reason.map { #"{"type":"CLOSE","reasonCode":\#($0)}"# } ?? #"{"type":"CLOSE"}"#,
            in: CastNamespace.connection, from: source)
    }

    /// Bytes that need not be a frame, on every connection.
    func write(_ bytes: [UInt8]) {
        for connection in state.withLock({ $0.connections.values.map(\.reply) }) { connection.send(bytes) }
    }

    /// Ends every TCP connection.
    func hangUp() { for connection in state.withLock({ $0.connections.values.map(\.reply) }) { connection.close() } }

    /// Takes nothing more from any connection.
    func stopReading() {
        for connection in state.withLock({ $0.connections.values.map(\.reply) }) {
            connection.channel.setOption(.autoRead, value: false).whenComplete { _ in }
        }
    }

    func status(_ requestID: Int) -> CastMessage {
        let app = state.withLock { $0.app }
        let json: CastJSON = [
            "type": "RECEIVER_STATUS", "requestId": .number(Double(requestID)),
            "status": [
                "applications": .array(app.map { [$0.json] } ?? []), "volume": ["level": 0.5, "muted": false],
            ],
        ]
        return CastMessage(
            sourceID: "receiver-0", destinationID: requestID == 0 ? "*" : "me", namespace: CastNamespace.receiver,
            payload: .text(json.text))
    }

    private func received(_ bytes: [UInt8], _ reply: ScriptedReceiver.Reply) {
        let messages = state.withLock { state in
            let key = ObjectIdentifier(reply.channel)
            var connection = state.connections[key] ?? (reply, CastFrameDecoder())
            connection.decoder.append(bytes)
            var messages: [CastMessage] = []
            while let message = try? connection.decoder.next() { messages.append(message) }
            state.connections[key] = connection
            return messages
        }
        for message in messages { answer(message) }
    }

    private func answer(_ message: CastMessage) {
        let json = message.text.flatMap(CastJSON.init(text:)) ?? .null
        let type = json["type"].string ?? "?"
        if message.namespace != CastNamespace.heartbeat {
            state.withLock { $0.heard.append("\(type)>\(message.destinationID)") }
        }
        if script(message, json, self) { return }
        let id = json["requestId"].int ?? 0
        switch (message.namespace, type) {
        case (CastNamespace.heartbeat, "PING"): say(#"{"type":"PONG"}"#, in: CastNamespace.heartbeat)
        case (CastNamespace.receiver, "GET_STATUS"), (CastNamespace.receiver, "SET_VOLUME"): push(status(id))
        case (CastNamespace.receiver, "LAUNCH"):
            state.withLock { $0.app = $0.launches }
            push(status(0), status(id))
        case (CastNamespace.receiver, "STOP"):
            let transport = state.withLock { state in
                defer { state.app = nil }
                return state.app?.transport
            }
            if let transport { close(transport) }
            push(status(0), status(id))
        case (CastNamespace.media, _):
            say(
                #"{"type":"MEDIA_STATUS","requestId":\#(id),"status":[]}"#, in: CastNamespace.media,
                from: message.destinationID)
        default: break
        }
    }
}

extension CastSession {
    /// A session as `me`, with that device.
    static func connect(
        _ device: ScriptedCastDevice, clock: ManualClock = ManualClock(), timeouts: CastTimeouts = CastTimeouts(),
        logger: Logger = Logger(label: "test"), configure: (inout Configuration) -> Void = { _ in }
    ) async throws -> CastSession {
        var configuration = Configuration(
            host: "127.0.0.1", port: device.port, sourceID: "me", timeouts: timeouts)
        configure(&configuration)
        return try await connect(configuration, clock: CastClock(clock), logger: logger)
    }
}
