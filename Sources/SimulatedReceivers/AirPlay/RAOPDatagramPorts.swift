import NIOCore
import NIOPosix
import RouteBackend

/// The three UDP sockets of a stream: audio in, control (sync and resends) and timing both ways.
struct RAOPDatagramPorts: Sendable {
    enum Role: Sendable { case audio, control, timing }

    struct Packet: Sendable {
        var role: Role
        var bytes: [UInt8]
        /// Host monotonic nanoseconds when it was read from the socket.
        var hostNanoseconds: Int64
    }

    private let audio: any Channel
    private let control: any Channel
    private let timing: any Channel
    /// Packets of all three, in the order they were read. A reader that falls 16,384 behind loses the next ones.
    let packets: AsyncStream<Packet>

    private init(
        audio: any Channel, control: any Channel, timing: any Channel, packets: AsyncStream<Packet>
    ) {
        self.audio = audio
        self.control = control
        self.timing = timing
        self.packets = packets
    }

    /// Opens them on free ports of `host`.
    static func open(host: String, clock: any HostClock) async throws -> RAOPDatagramPorts {
        let (packets, continuation) = AsyncStream.makeStream(
            of: Packet.self, bufferingPolicy: .bufferingOldest(16_384))
        func bind(_ role: Role) async throws -> any Channel {
            try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 4096))
                .channelOption(.socketOption(.so_rcvbuf), value: 1 << 20)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            RAOPDatagramHandler(role: role, clock: clock, packets: continuation))
                    }
                }
                .bind(host: host, port: 0).get()
        }
        let audio = try await bind(.audio)
        let control = try await bind(.control)
        let timing = try await bind(.timing)
        return RAOPDatagramPorts(audio: audio, control: control, timing: timing, packets: packets)
    }

    var audioPort: Int { audio.localAddress?.port ?? 0 }
    var controlPort: Int { control.localAddress?.port ?? 0 }
    var timingPort: Int { timing.localAddress?.port ?? 0 }

    /// Sends without waiting: datagrams may get lost anyway.
    func send(_ bytes: [UInt8], from role: Role, to address: SocketAddress) {
        let channel =
            switch role {
            case .audio: audio
            case .control: control
            case .timing: timing
            }
        channel.writeAndFlush(
            AddressedEnvelope(remoteAddress: address, data: channel.allocator.buffer(bytes: bytes)), promise: nil)
    }

    func close() async {
        for channel in [audio, control, timing] { try? await channel.close() }
    }
}

private final class RAOPDatagramHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let role: RAOPDatagramPorts.Role
    private let clock: any HostClock
    private let packets: AsyncStream<RAOPDatagramPorts.Packet>.Continuation

    init(
        role: RAOPDatagramPorts.Role, clock: any HostClock,
        packets: AsyncStream<RAOPDatagramPorts.Packet>.Continuation
    ) {
        self.role = role
        self.clock = clock
        self.packets = packets
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        packets.yield(
            RAOPDatagramPorts.Packet(
                role: role, bytes: Array(envelope.data.readableBytesView), hostNanoseconds: clock.now()))
    }

    func channelInactive(context: ChannelHandlerContext) { packets.finish() }

    /// An ICMP answer to something that was sent is no reason to stop listening.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
