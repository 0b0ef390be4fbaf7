import NIOCore
import NIOPosix

/// Opens TCP connections, and says in words why one can't be opened.
enum TCPConnector {
    enum Target {
        /// A name or a numeric address.
        case host(String, port: Int)
        case address(SocketAddress)
    }

    /// Throws `unreachable` or `connectTimedOut`, and `closed` at once when the task is cancelled.
    ///
    /// - Parameters:
    ///   - prepare: adds handlers to a channel that is not connected yet; a name with many addresses makes many.
    ///   - wrap: is given the one that connected.
    static func connect<Connection: Sendable>(
        to target: Target, timeout: Duration, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        prepare: @escaping @Sendable (any Channel) throws -> Void,
        wrap: @escaping @Sendable (any Channel) throws -> Connection
    ) async throws(RAOPError) -> Connection {
        do {
            let loop = group.next()
            let bootstrap = ClientBootstrap(group: loop)
                .channelOption(.socketOption(.so_keepalive), value: 1)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connectTimeout(.nanoseconds(timeout.nanoseconds))
                .channelInitializer { channel in channel.eventLoop.makeCompletedFuture { try prepare(channel) } }
            let connecting =
                switch target {
                case .host(let host, let port): bootstrap.connect(host: host, port: port)
                case .address(let address): bootstrap.connect(to: address)
                }
            return try await abandonable(connecting, on: loop, wrap)
        } catch {
            throw translate(error)
        }
    }

    /// Waits for a channel, but no longer than until the task is cancelled: neither the search for a name nor a connect
    /// can be called back, so that what comes of them then is closed.
    private static func abandonable<Connection: Sendable>(
        _ connecting: EventLoopFuture<any Channel>, on loop: any EventLoop,
        _ wrap: @escaping @Sendable (any Channel) throws -> Connection
    ) async throws -> Connection {
        let promise = loop.makePromise(of: Connection.self)
        let settled = NIOLoopBoundBox.makeBoxSendingValue(false, as: Bool.self, eventLoop: loop)
        connecting.hop(to: loop).whenComplete { result in
            if settled.value {
                if case .success(let channel) = result { channel.close(promise: nil) }
            } else {
                settled.value = true
                promise.completeWith(result.flatMap { channel in Result { try wrap(channel) } })
            }
        }
        return try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            loop.execute {
                guard !settled.value else { return }
                settled.value = true
                promise.fail(CancellationError())
            }
        }
    }

    private static func translate(_ error: any Error) -> RAOPError {
        switch error {
        case let error as RAOPError: return error
        case is CancellationError: return .closed
        case ChannelError.connectTimeout: return .connectTimedOut
        case let error as NIOConnectionError: return translate(error)
        case let error as IOError: return .unreachable(reason: reason(error))
        default: return .unreachable(reason: "\(error)")
        }
    }

    private static func translate(_ error: NIOConnectionError) -> RAOPError {
        if let failure = error.connectionErrors.first {
            if let system = failure.error as? IOError { return .unreachable(reason: reason(system)) }
            if case .connectTimeout? = failure.error as? ChannelError { return .connectTimedOut }
            return .unreachable(reason: "\(failure.error)")
        }
        return .unreachable(reason: "the name “\(error.host)” is not known")
    }

    private static func reason(_ error: IOError) -> String {
        switch error.errnoCode {
        case ECONNREFUSED: "the port is closed"
        case EHOSTUNREACH: "there is no such host on the network"
        case ENETUNREACH: "no network leads there"
        default: "\(error)"
        }
    }
}
