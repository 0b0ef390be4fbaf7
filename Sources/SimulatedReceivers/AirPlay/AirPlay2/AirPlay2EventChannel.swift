import AirPlay
import HomeKitPairing
import NIOCore
import NIOPosix

/// The receiver's way to say something by itself: the sender connects to a port of ours, and then we ask and it answers
/// (`Protocols/airplay/README.md`, “Event channel”). Under keys of its own where the session is encrypted.
actor AirPlay2EventChannel {
    enum News: Sendable {
        case connected
        case answered(status: Int, repeatsSequence: Bool)
        case disconnected
    }

    private typealias Server = NIOAsyncChannel<NIOAsyncChannel<ByteBuffer, ByteBuffer>, Never>

    private let keys: ChannelKeys?
    private let host: String
    private let tell: @Sendable (News) async -> Void
    private var outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>?
    private var sealer: FrameSealer?
    private var number = 0
    /// Which connection counts: the last one.
    private var current = 0
    private var asked: [Int] = []

    /// Bytes that may wait for the end of an answer.
    private static let limit = 1 << 20

    /// - Parameter secret: of the session; nil leaves the channel in the clear.
    init(host: String, secret: [UInt8]?, tell: @escaping @Sendable (News) async -> Void) {
        self.host = host
        self.tell = tell
        keys = secret.map { .events($0) }
    }

    /// A port that is free, though nobody listens there yet.
    static func reservePort(_ host: String) async throws -> Int {
        let channel = try await bootstrap().bind(host: host, port: 0).get()
        let port = channel.localAddress?.port ?? 0
        try await channel.close()
        return port
    }

    /// Listens and serves until it is cancelled.
    ///
    /// - Parameter opened: called once it listens, with the port.
    func run(port: Int, opened: @Sendable (Int) -> Void) async throws {
        let server: Server = try await Self.bootstrap().bind(host: host, port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
        opened(server.channel.localAddress?.port ?? 0)
        try await server.executeThenClose { clients in
            try await withThrowingDiscardingTaskGroup { group in
                for try await client in clients { group.addTask { await self.serve(client) } }
            }
        }
    }

    private static func bootstrap() -> ServerBootstrap {
        ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
    }

    private func serve(_ client: NIOAsyncChannel<ByteBuffer, ByteBuffer>) async {
        current += 1
        let mine = current
        sealer = keys.map { FrameSealer(key: $0.accessoryWrites) }
        asked = []
        await tell(.connected)
        try? await client.executeThenClose { inbound, outbound in
            self.use(outbound, mine)
            var incoming = AirPlay2ByteStream()
            if let keys { incoming.open(with: keys.controllerWrites) }
            for try await chunk in inbound {
                try incoming.append(chunk.readableBytesView)
                guard incoming.plain.count <= Self.limit else { return }
                while let (message, used) = try RTSPMessageDecoder().decode(incoming.plain[...]) {
                    incoming.plain.removeFirst(used)
                    if case .response(let response) = message { await self.took(response, mine) }
                }
            }
        }
        if mine == current { outbound = nil }
        await tell(.disconnected)
    }

    private func use(_ writer: NIOAsyncChannelOutboundWriter<ByteBuffer>, _ connection: Int) {
        if connection == current { outbound = writer }
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
        let bytes = request.encoded()
        let sealed = sealer?.seal(bytes) ?? bytes
        do {
            try await outbound.write(ByteBuffer(bytes: sealed))
            return true
        } catch {
            return false
        }
    }
}

/// Bytes of a connection as they come in, opened from the moment on that there are keys.
struct AirPlay2ByteStream: Sendable {
    /// What can be read.
    var plain: [UInt8] = []
    private var sealed: [UInt8] = []
    private var opener: FrameOpener?

    /// What was not read yet belongs to the encrypted part already.
    mutating func open(with key: [UInt8]) {
        opener = FrameOpener(key: key)
        sealed = plain
        plain = []
    }

    mutating func append(_ bytes: some Collection<UInt8>) throws(FrameError) {
        guard opener != nil else {
            plain.append(contentsOf: bytes)
            return
        }
        sealed.append(contentsOf: bytes)
        try openAll()
    }

    /// Opens what came before the key did.
    mutating func openAll() throws(FrameError) {
        var used = 0
        while let frame = try opener?.open(sealed[used...]) {
            plain.append(contentsOf: frame.plaintext)
            used += frame.used
        }
        sealed.removeFirst(used)
    }
}
