import NIOCore
import NIOPosix

/// A TCP connection to a receiver that takes requests and gives their answers. The only place that knows NIO.
public final class RTSPConnection: Sendable {
    private let channel: any Channel
    /// The receiver's address, as a `sockaddr_in` or `sockaddr_in6`.
    public let remoteSocketAddress: [UInt8]
    /// Numeric, without an IPv6 scope.
    public let remoteHost: String
    /// Ours, on the interface that leads there.
    public let localHost: String

    private init(channel: any Channel) throws(RAOPError) {
        guard let remote = channel.remoteAddress, let local = channel.localAddress,
            let remoteHost = remote.ipAddress, let localHost = local.ipAddress
        else { throw .closed }
        self.channel = channel
        remoteSocketAddress = remote.withSockAddr { address, size in
            Array(UnsafeRawBufferPointer(start: address, count: size))
        }
        self.remoteHost = Self.withoutScope(remoteHost)
        self.localHost = Self.withoutScope(localHost)
    }

    /// Connects. Throws `unreachable` or `connectTimedOut`, and `closed` at once when the task is cancelled.
    ///
    /// - Parameters:
    ///   - host: a name or a numeric address.
    ///   - password: answers challenges.
    public static func connect(
        host: String, port: Int, password: String?, timeout: Duration = .seconds(5),
        limits: RTSPMessageDecoder.Limits = RTSPMessageDecoder.Limits(),
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws(RAOPError) -> RTSPConnection {
        do {
            let loop = group.next()
            let connecting = ClientBootstrap(group: loop)
                .channelOption(.socketOption(.so_keepalive), value: 1)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connectTimeout(.nanoseconds(timeout.nanoseconds))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers([
                            ByteToMessageHandler(RTSPByteDecoder(limits: limits)),
                            RTSPClientHandler(password: password),
                        ])
                    }
                }
                .connect(host: host, port: port)
            return try RTSPConnection(channel: await abandonable(connecting, on: loop))
        } catch let error as RAOPError {
            throw error
        } catch is CancellationError {
            throw .closed
        } catch let error as ChannelError {
            if case .connectTimeout = error { throw .connectTimedOut }
            throw .unreachable(reason: "\(error)")
        } catch let error as NIOConnectionError {
            throw connectionError(error)
        } catch let error as IOError {
            throw .unreachable(reason: reason(error))
        } catch {
            throw .unreachable(reason: "\(error)")
        }
    }

    /// Waits for a channel, but no longer than until the task is cancelled: neither the search for a name nor a connect
    /// can be called back, so that what comes of them then is closed.
    private static func abandonable(
        _ connecting: EventLoopFuture<any Channel>, on loop: any EventLoop
    ) async throws -> any Channel {
        let promise = loop.makePromise(of: (any Channel).self)
        let settled = NIOLoopBoundBox.makeBoxSendingValue(false, as: Bool.self, eventLoop: loop)
        connecting.hop(to: loop).whenComplete { result in
            if settled.value {
                if case .success(let channel) = result { channel.close(promise: nil) }
            } else {
                settled.value = true
                promise.completeWith(result)
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

    /// Sends a request and waits for its answer, of whatever status but 401.
    ///
    /// Throws `timedOut` (and then closes: a late answer would be taken for the next one's), `closed`, `malformed`,
    /// `passwordRequired` or `passwordRefused`.
    public func perform(
        _ request: RTSPRequest, timeout: Duration = .seconds(10)
    ) async throws(RAOPError) -> RTSPResponse {
        let promise = channel.eventLoop.makePromise(of: RTSPResponse.self)
        let outgoing = RTSPClientHandler.Outgoing(
            request: request, promise: promise, timeout: .nanoseconds(timeout.nanoseconds))
        channel.writeAndFlush(outgoing, promise: nil)
        do {
            return try await promise.futureResult.get()
        } catch let error as RAOPError {
            throw error
        } catch {
            throw .closed
        }
    }

    /// Returns when the connection is gone, whoever closed it.
    public func waitUntilClosed() async { try? await channel.closeFuture.get() }

    public func close() async {
        channel.close(promise: nil)
        await waitUntilClosed()
    }

    /// Closes without waiting, from anywhere.
    public func abort() { channel.close(promise: nil) }

    private static func withoutScope(_ address: String) -> String {
        address.split(separator: "%").first.map(String.init) ?? address
    }

    private static func connectionError(_ error: NIOConnectionError) -> RAOPError {
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

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
