import NIOCore
import NIOPosix

/// A listening TCP socket whose clients are served until a task is cancelled.
///
/// Clients do not go through NIO's own sequence of them: one that is accepted in the moment in which that ends is
/// dropped unserved, and NIO stops the process for it.
struct ClientListener<Inbound: Sendable, Outbound: Sendable>: Sendable {
    typealias Client = NIOAsyncChannel<Inbound, Outbound>

    let port: Int
    private let channel: any Channel
    private let clients: AsyncStream<Client>

    /// Listens; `run` has to follow, for clients may be there at once.
    ///
    /// - Parameters:
    ///   - port: 0 takes a free one.
    ///   - setUp: gives a client's channel its handlers.
    /// - Throws: `SimulatedReceiverError.cannotListen`.
    static func bind(
        host: String, port: Int, setUp: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) async throws -> Self {
        let (clients, handOver) = AsyncStream.makeStream(of: Client.self)
        let channel: any Channel
        do {
            channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try setUp(channel)
                        let client = try Client(wrappingChannelSynchronously: channel)
                        try channel.pipeline.syncOperations.addHandler(ClientArrival(client, handOver))
                    }
                }
                .bind(host: host, port: port).get()
        } catch {
            throw SimulatedReceiverError.cannotListen(host: host, port: port, reason: "\(error)")
        }
        channel.closeFuture.whenComplete { _ in handOver.finish() }
        return Self(port: channel.localAddress?.port ?? port, channel: channel, clients: clients)
    }

    /// Serves until the task is cancelled, or until `close` and the end of the last client.
    ///
    /// - Parameters:
    ///   - oneAtATime: whether a client waits for the end of the one before it.
    ///   - serve: is given a client, and how many came before it.
    func run(oneAtATime: Bool = false, _ serve: @escaping @Sendable (Client, Int) async -> Void) async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                var count = 0
                for await client in clients {
                    let number = count
                    count += 1
                    if oneAtATime { await serve(client, number) } else { group.addTask { await serve(client, number) } }
                }
            }
        } onCancel: {
            channel.close(promise: nil)
        }
        try? await channel.closeFuture.get()
    }

    /// Listens no more; clients that are there are served on.
    func close() async { try? await channel.close() }
}

/// Hands a client on once it is connected.
private final class ClientArrival<Inbound: Sendable, Outbound: Sendable>: ChannelInboundHandler {
    typealias InboundIn = Any

    private let client: NIOAsyncChannel<Inbound, Outbound>
    private let handOver: AsyncStream<NIOAsyncChannel<Inbound, Outbound>>.Continuation

    init(
        _ client: NIOAsyncChannel<Inbound, Outbound>,
        _ handOver: AsyncStream<NIOAsyncChannel<Inbound, Outbound>>.Continuation
    ) {
        self.client = client
        self.handOver = handOver
    }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        guard case .terminated = handOver.yield(client) else { return }
        let client = client
        Task { try? await client.executeThenClose { _, _ in } }
    }
}
