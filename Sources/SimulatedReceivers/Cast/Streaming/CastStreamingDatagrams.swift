import NIOCore
import NIOPosix
import RouteBackend

/// The UDP socket of a streaming session: RTP in, RTCP both ways.
struct CastStreamingDatagrams: Sendable {
    struct Datagram: Sendable {
        /// Which session's socket it came by.
        var session: Int
        var bytes: [UInt8]
        var sender: SocketAddress
        /// Host monotonic nanoseconds when it was read from the socket.
        var hostNanoseconds: Int64
    }

    private let channel: any Channel
    var port: Int { channel.localAddress?.port ?? 0 }

    /// Opens a free port of `host`; what arrives goes to `datagrams`.
    static func open(
        host: String, session: Int, clock: any HostClock, datagrams: AsyncStream<Datagram>.Continuation
    ) async throws -> CastStreamingDatagrams {
        let channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 9_216))
            .channelOption(.socketOption(.so_rcvbuf), value: 4 << 20)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        DatagramHandler(session: session, clock: clock, datagrams: datagrams))
                }
            }
            .bind(host: host, port: 0).get()
        return CastStreamingDatagrams(channel: channel)
    }

    /// Sends without waiting: datagrams may get lost anyway.
    func send(_ bytes: [UInt8], to address: SocketAddress) {
        channel.writeAndFlush(
            AddressedEnvelope(remoteAddress: address, data: channel.allocator.buffer(bytes: bytes)), promise: nil)
    }

    func close() async { try? await channel.close() }
}

private final class DatagramHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let session: Int
    private let clock: any HostClock
    private let datagrams: AsyncStream<CastStreamingDatagrams.Datagram>.Continuation

    init(
        session: Int, clock: any HostClock, datagrams: AsyncStream<CastStreamingDatagrams.Datagram>.Continuation
    ) {
        self.session = session
        self.clock = clock
        self.datagrams = datagrams
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        datagrams.yield(
            CastStreamingDatagrams.Datagram(
                session: session, bytes: Array(envelope.data.readableBytesView), sender: envelope.remoteAddress,
                hostNanoseconds: clock.now()))
    }

    /// An ICMP answer to something that was sent is no reason to stop listening.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
