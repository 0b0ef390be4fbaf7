import AirPlay
import HomeKitPairing
import NIOCore

/// What is at the receiver's end of a data stream: bytes in, bytes out, both in the clear.
public protocol SimulatedDataSpeaker: Sendable {
    /// Answers what is to be sent for these bytes. Throws where they are nonsense; the stream ends then.
    mutating func take(_ bytes: [UInt8]) throws -> [UInt8]
}

/// The connection of one data stream, under keys of its own where the session is encrypted.
actor SimulatedDataStream {
    private let host: String
    private let keys: ChannelKeys?
    private var speaker: any SimulatedDataSpeaker
    private var bytes = EncryptedByteStream(.accessory)
    private var outbound: (any Channel)?
    /// Which connection counts: the last one.
    private var current = 0

    init(host: String, secret: [UInt8]?, seed: UInt64, speaker: any SimulatedDataSpeaker) {
        self.host = host
        keys = secret.map { .dataStream($0, seed: seed) }
        self.speaker = speaker
    }

    /// Listens and serves until it is cancelled.
    ///
    /// - Parameter opened: called once it listens, with the port.
    func run(opened: @Sendable (Int) -> Void) async throws {
        let server = try await ClientListener<ByteBuffer, ByteBuffer>.bind(host: host, port: 0)
        opened(server.port)
        await server.run { client, _ in await self.serve(client) }
    }

    private func serve(_ client: NIOAsyncChannel<ByteBuffer, ByteBuffer>) async {
        current += 1
        let mine = current
        bytes = EncryptedByteStream(.accessory, keys: keys)
        outbound = client.channel
        try? await client.executeThenClose { inbound, _ in
            for try await chunk in inbound { try await self.took(chunk, mine) }
        }
        if mine == current { outbound = nil }
    }

    private func took(_ chunk: ByteBuffer, _ connection: Int) async throws {
        guard connection == current else { return }
        try bytes.receive(chunk.readableBytesView)
        let plain = Array(bytes.readable)
        guard !plain.isEmpty else { return }
        bytes.consume(plain.count)
        try await write(try speaker.take(plain))
    }

    /// All that goes out goes through here. It is with the channel before anything else is sealed: a frame that overtook
    /// another could not be opened.
    private func write(_ plain: [UInt8]) async throws {
        guard !plain.isEmpty, let outbound else { return }
        try await outbound.writeAndFlush(ByteBuffer(bytes: bytes.seal(plain))).get()
    }

    /// Something happens to the speaker; what it says of it goes out where the sender is connected.
    func change<Speaker: SimulatedDataSpeaker>(_ type: Speaker.Type, _ body: @Sendable (inout Speaker) -> [UInt8]) async
    {
        guard var speaker = speaker as? Speaker else { return }
        let news = body(&speaker)
        self.speaker = speaker
        try? await write(news)
    }

    var anySpeaker: any SimulatedDataSpeaker { speaker }

    /// As it is now; nil where it is of another type.
    func speaker<Speaker: SimulatedDataSpeaker>(as type: Speaker.Type) -> Speaker? { speaker as? Speaker }
}

extension SimulatedMRPDevice: SimulatedDataSpeaker {
    public mutating func take(_ bytes: [UInt8]) throws -> [UInt8] { try receive(bytes) }
}
