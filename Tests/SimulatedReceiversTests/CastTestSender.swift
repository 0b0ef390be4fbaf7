import CastV2
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import RouterTestKit
import SimulatedReceivers

/// A sender that does just what a test says: raw messages over TLS, with everything that came back kept.
actor CastTestSender {
    struct Received: Sendable {
        var source: String
        var destination: String
        var namespace: String
        var json: JSONValue
        var binary: [UInt8]?

        var type: String? { json["type"]?.string ?? json["responseType"]?.string }
        var requestID: Int? { json["requestId"]?.int }
    }

    static let ping: JSONValue = ["type": "PING"]

    private(set) var received: [Received] = []
    private(set) var closed = false
    /// DER of the receiver's TLS certificate.
    private(set) var certificate: [UInt8] = []
    private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private let outgoing: AsyncStream<[UInt8]>.Continuation
    private let bytes: AsyncStream<[UInt8]>
    private var running: Task<Void, Never>?

    /// Connects, and joins `receiver-0` unless told not to.
    init(port: Int, joining: Bool = true) async throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        let context = try NIOSSLContext(configuration: configuration)
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: context, serverHostname: nil))
                    return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
                }
            }
        (bytes, outgoing) = AsyncStream.makeStream(of: [UInt8].self)
        start()
        if joining { connect(to: CastAddress.platformReceiver) }
    }

    private func start() {
        let (channel, bytes) = (channel, bytes)
        running = Task {
            try? await channel.executeThenClose { inbound, outbound in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for await chunk in bytes { try? await outbound.write(ByteBuffer(bytes: chunk)) }
                    }
                    group.addTask {
                        var decoder = CastFrameDecoder()
                        do {
                            for try await buffer in inbound {
                                decoder.append(buffer.readableBytesView)
                                while let message = try decoder.next() { await self.keep(message) }
                            }
                        } catch {}
                    }
                    await group.next()
                    group.cancelAll()
                }
            }
            self.closed = true
        }
    }

    func close() async {
        running?.cancel()
        await running?.value
    }

    private func keep(_ message: CastMessage) {
        var received = Received(
            source: message.sourceID, destination: message.destinationID, namespace: message.namespace, json: .null)
        switch message.payload {
        case .text(let text): received.json = JSONValue(text: text) ?? .null
        case .binary(let bytes): received.binary = bytes
        }
        self.received.append(received)
    }

    /// Lets go of what came so far.
    func forget() { received = [] }

    // MARK: Saying

    func say(raw: [UInt8]) { outgoing.yield(raw) }

    func say(
        _ json: JSONValue, in namespace: String, to destination: String = CastAddress.platformReceiver,
        as source: String = "sender-0"
    ) {
        guard let frame = Self.frame(json, in: namespace, to: destination, as: source) else { return }
        outgoing.yield(frame)
    }

    func say(binary: [UInt8], in namespace: String, to destination: String, as source: String = "sender-0") throws {
        outgoing.yield(
            try CastFraming.encode(
                CastMessage(
                    sourceID: source, destinationID: destination, namespace: namespace, payload: .binary(binary))))
    }

    func say(text: String, in namespace: String, to destination: String, as source: String = "sender-0") throws {
        outgoing.yield(
            try CastFraming.encode(
                CastMessage(sourceID: source, destinationID: destination, namespace: namespace, payload: .text(text))))
    }

    static func frame(
        _ json: JSONValue, in namespace: String, to destination: String = CastAddress.platformReceiver,
        as source: String = "sender-0"
    ) -> [UInt8]? {
        try? CastFraming.encode(
            CastMessage(
                sourceID: source, destinationID: destination, namespace: namespace, payload: .text(json.text)))
    }

    func challenge(_ payload: [UInt8]) throws {
        outgoing.yield(
            try CastFraming.encode(
                CastMessage(
                    sourceID: "sender-0", destinationID: CastAddress.platformReceiver,
                    namespace: CastNamespace.deviceAuthentication, payload: .binary(payload))))
    }

    func connect(to destination: String, as source: String = "sender-0", fields: [String: JSONValue] = [:]) {
        say(
            .object(fields.merging(["type": "CONNECT"]) { $1 }), in: CastNamespace.connection, to: destination,
            as: source)
    }

    // MARK: Hearing

    /// Waits for the first message that fits; nil when none came.
    func hear(_ fits: @Sendable (Received) -> Bool) async -> Received? {
        _ = await eventually { received.contains(where: fits) }
        return received.first(where: fits)
    }

    func hear(_ type: String, request: Int? = nil) async -> Received? {
        await hear { $0.type == type && (request == nil || $0.requestID == request) }
    }

    /// Waits for a pushed media status with this player state.
    func hearState(_ state: String, after count: Int = 0) async -> JSONValue? {
        func find() -> JSONValue? {
            received.dropFirst(count).first {
                $0.type == "MEDIA_STATUS" && $0.destination == "*"
                    && $0.json["status"]?.array?.first?["playerState"]?.string == state
                    && $0.json["status"]?.array?.first?["extendedStatus"] == nil
            }?.json["status"]?.array?.first
        }
        _ = await eventually { find() != nil }
        return find()
    }

    /// Launches the media player, joins it, and returns its transport id.
    func launchPlayer(request: Int = 1) async -> String? {
        say(
            ["type": "LAUNCH", "appId": "CC1AD845", "requestId": .integer(request)], in: CastNamespace.receiver)
        let status = await hear("RECEIVER_STATUS", request: request)
        let app = status?.json["status"]?["applications"]?.array?.first
        guard let transport = app?["transportId"]?.string else { return nil }
        connect(to: transport)
        return transport
    }
}
