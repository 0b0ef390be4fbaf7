import AirPlay
import HomeKitPairing
import NIOCore
import NIOPosix

/// The receiver's way to say something by itself: the sender connects to a port of ours, and then we ask and it answers
/// (`Protocols/airplay/README.md`, “Event channel”). Under keys of its own where the session is encrypted.
actor SimulatedEventChannel {
    enum News: Sendable {
        case connected
        case answered(status: Int, repeatsSequence: Bool)
        case disconnected
    }

    private let keys: ChannelKeys?
    private let host: String
    private let tell: @Sendable (News) async -> Void
    private var outbound: (any Channel)?
    /// Of the connection that counts.
    private var stream = EncryptedByteStream(.accessory)
    private var number = 0
    /// Which connection counts: the last one.
    private var current = 0
    private var asked: [Int] = []

    /// Answers say hardly more than that they are answers.
    private static let limits = RTSPMessageDecoder.Limits(bodyBytes: 1 << 20)

    /// - Parameter secret: of the session; nil leaves the channel in the clear.
    init(host: String, secret: [UInt8]?, tell: @escaping @Sendable (News) async -> Void) {
        self.host = host
        self.tell = tell
        keys = secret.map { .events($0) }
    }

    /// A port that is free, though nobody listens there yet.
    static func reservePort(_ host: String) async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: host, port: 0).get()
        let port = channel.localAddress?.port ?? 0
        try await channel.close()
        return port
    }

    /// Listens and serves until it is cancelled.
    ///
    /// - Parameter opened: called once it listens, with the port.
    func run(port: Int, opened: @Sendable (Int) -> Void) async throws {
        let server = try await ClientListener<ByteBuffer, ByteBuffer>.bind(host: host, port: port)
        opened(server.port)
        await server.run { client, _ in await self.serve(client) }
    }

    private func serve(_ client: NIOAsyncChannel<ByteBuffer, ByteBuffer>) async {
        current += 1
        let mine = current
        stream = EncryptedByteStream(.accessory, keys: keys)
        asked = []
        await tell(.connected)
        if mine == current { outbound = client.channel }
        try? await client.executeThenClose { inbound, _ in
            for try await chunk in inbound {
                for response in try self.read(chunk, mine) { await self.took(response, mine) }
            }
        }
        if mine == current { outbound = nil }
        await tell(.disconnected)
    }

    /// The answers that are whole by now.
    private func read(_ chunk: ByteBuffer, _ connection: Int) throws -> [RTSPResponse] {
        guard connection == current else { return [] }
        try stream.receive(chunk.readableBytesView)
        var responses: [RTSPResponse] = []
        while let (message, used) = try RTSPMessageDecoder(limits: Self.limits).decode(stream.readable) {
            stream.consume(used)
            if case .response(let response) = message { responses.append(response) }
        }
        return responses
    }

    private func took(_ response: RTSPResponse, _ connection: Int) async {
        guard connection == current, !asked.isEmpty else { return }
        let expected = asked.removeFirst()
        await tell(
            .answered(
                status: response.status,
                repeatsSequence: response.headers["CSeq"].flatMap { Int($0) } == expected))
    }

    /// Says something. False where the sender is not connected.
    func send(_ list: PropertyList) async -> Bool {
        guard let outbound else { return false }
        number += 1
        asked.append(number)
        var request = RTSPRequest(method: "POST", uri: "/command", body: list.encoded())
        request.headers["CSeq"] = String(number)
        request.headers["Content-Type"] = AirPlay2ServerMachine.listType
        do {
            // It is with the channel before anything else is sealed: one that overtook another could not be opened.
            try await outbound.writeAndFlush(ByteBuffer(bytes: stream.seal(request.encoded()))).get()
            return true
        } catch {
            return false
        }
    }
}
