import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import RouteModel

/// Takes connections from one listening socket and has their requests answered, until `stop`.
actor HTTPListener {
    typealias Respond = @Sendable (Request, consuming ResponseWriter, any Channel) async throws -> Void

    private let server: any Channel
    private let connections: OpenConnections
    private let accepting: Task<Void, Never>

    /// How long answers under way may take at the end.
    private static let grace: TimeAmount = .seconds(2)
    /// What takes longer is cancelled then.
    private static let patience: TimeAmount = .seconds(3)

    private init(_ server: any Channel, connections: OpenConnections, accepting: Task<Void, Never>) {
        self.server = server
        self.connections = connections
        self.accepting = accepting
    }

    /// The socket is the listener's from now on. Throws `configuration`.
    static func start(
        _ socket: ServiceSocket, on loops: any EventLoopGroup, connections: OpenConnections, limits: ServiceLimits,
        logger: Logger, respond: @escaping Respond
    ) async throws -> HTTPListener {
        var quiet = logger
        quiet.logLevel = .error
        let http = HTTP1Channel(
            responder: respond,
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [ParserRefusalHandler()],
                idleTimeout: .seconds(limits.idleSeconds),
                httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                    maxHeaderFieldSize: 48 << 10, maxHeaderListSize: 64 << 10, maxHeaderFieldCount: 64)))
        // Not NIO's own sequence of connections: one that comes in the moment in which that ends is dropped by it unserved,
        // and NIO stops the process for it.
        let (arrivals, handOver) = AsyncStream.makeStream(of: HTTP1Channel.Value.self)
        let server: any Channel
        do {
            server = try await ServerBootstrap(group: loops)
                .childChannelInitializer { [quiet] channel in
                    http.setup(channel: channel, logger: quiet).flatMapThrowing { connection in
                        try channel.pipeline.syncOperations.addHandler(ConnectionArrival(connection, handOver))
                    }
                }
                .withBoundSocket(socket.descriptor).get()
        } catch {
            throw RouterError(
                .configuration, "the daemon cannot listen at \(socket.place)", hint: "Choose another place",
                causes: [String(describing: error)])
        }
        server.closeFuture.whenComplete { _ in handOver.finish() }
        // It ends with its socket, and with the last connection.
        let accepting = Task { [quiet] in
            await withDiscardingTaskGroup { group in
                for await connection in arrivals {
                    group.addTask { await serve(connection, http, connections, quiet) }
                }
            }
        }
        return HTTPListener(server, connections: connections, accepting: accepting)
    }

    private static func serve(
        _ connection: HTTP1Channel.Value, _ http: HTTP1Channel, _ connections: OpenConnections, _ logger: Logger
    ) async {
        // One too many is closed at once; it is handed on all the same, for NIO wants every connection served.
        let isOpen = await connections.begin(connection.channel)
        if !isOpen { connection.channel.close(promise: nil) }
        await http.handle(value: connection, logger: logger)
        if isOpen { await connections.end(connection.channel) }
    }

    /// Takes no more connections, gives answers under way a moment, and returns when all are closed.
    func stop() async {
        server.close(promise: nil)
        await connections.closeAll(after: Self.grace)
        let end = server.eventLoop.scheduleTask(in: Self.patience) { [accepting] in accepting.cancel() }
        await accepting.value
        end.cancel()
    }
}

/// Hands a connection on once it is there.
private final class ConnectionArrival: ChannelInboundHandler {
    typealias InboundIn = Any

    private let connection: HTTP1Channel.Value
    private let handOver: AsyncStream<HTTP1Channel.Value>.Continuation

    init(_ connection: HTTP1Channel.Value, _ handOver: AsyncStream<HTTP1Channel.Value>.Continuation) {
        self.connection = connection
        self.handOver = handOver
    }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        guard case .terminated = handOver.yield(connection) else { return }
        Task { [connection] in try? await connection.executeThenClose { _, _ in } }
    }
}

/// The connections of the daemon.
actor OpenConnections {
    private let limit: Int
    private let ofOne: Int
    private var channels: [ObjectIdentifier: any Channel] = [:]
    private var addresses: [String: Int] = [:]
    private var held: [ObjectIdentifier: String] = [:]
    private var closing = false

    /// - Parameter ofOne: how many one address may have.
    init(limit: Int, ofOne: Int) {
        self.limit = limit
        self.ofOne = ofOne
    }

    var count: Int { channels.count }

    /// False where there are too many, or the end has come.
    func begin(_ channel: any Channel) -> Bool {
        let address = Self.address(channel)
        guard !closing, channels.count < limit, addresses[address, default: 0] < ofOne else { return false }
        channels[ObjectIdentifier(channel)] = channel
        addresses[address, default: 0] += 1
        held[ObjectIdentifier(channel)] = address
        return true
    }

    func end(_ channel: any Channel) {
        guard channels.removeValue(forKey: ObjectIdentifier(channel)) != nil,
            let address = held.removeValue(forKey: ObjectIdentifier(channel))
        else { return }
        // Once closed, a channel no longer says who it was.
        addresses[address] = addresses[address].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    private static func address(_ channel: any Channel) -> String { channel.remoteAddress?.ipAddress ?? "" }

    /// Those that wait for a request close now, those in the middle of an answer after it, and all after `grace`.
    func closeAll(after grace: TimeAmount) {
        closing = true
        for channel in channels.values {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            channel.eventLoop.scheduleTask(in: grace) { channel.close(promise: nil) }
        }
    }
}
