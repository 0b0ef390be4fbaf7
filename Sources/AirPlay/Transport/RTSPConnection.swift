import HomeKitPairing
import Logging
import NIOCore
import NIOPosix

/// A TCP connection to a receiver that takes requests and gives their answers; encrypted from some byte on, if wanted.
public final class RTSPConnection: Sendable {
    private let channel: any Channel
    /// With the scope of an IPv6 address that has one.
    private let remoteAddress: SocketAddress
    /// The receiver's address, as a `sockaddr_in` or `sockaddr_in6`.
    public let remoteSocketAddress: [UInt8]
    /// Numeric, without an IPv6 scope.
    public let remoteHost: String
    /// Ours, on the interface that leads there.
    public let localHost: String
    private let logger: Logger

    private init(channel: any Channel, logger: Logger) throws(RAOPError) {
        guard let remote = channel.remoteAddress, let local = channel.localAddress,
            let remoteHost = remote.ipAddress, let localHost = local.ipAddress
        else { throw .closed }
        self.channel = channel
        self.logger = logger
        remoteAddress = remote
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
    ///   - logger: is told of requests and answers, but for what is in them: keys and codes are.
    public static func connect(
        host: String, port: Int, password: String?, timeout: Duration = .seconds(5),
        limits: RTSPMessageDecoder.Limits = RTSPMessageDecoder.Limits(),
        logger: Logger = Logger(label: "AirPlay") { _ in SwiftLogNoOpLogHandler() },
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws(RAOPError) -> RTSPConnection {
        try await TCPConnector.connect(to: .host(host, port: port), timeout: timeout, group: group) { channel in
            let codec = RTSPCodecHandler(limits: limits)
            try channel.pipeline.syncOperations.addHandlers([
                codec, RTSPClientHandler(password: password, codec: codec),
            ])
        } wrap: { channel in
            try RTSPConnection(channel: channel, logger: logger)
        }
    }

    /// Sends a request and waits for its answer, of whatever status but 401.
    ///
    /// Throws `timedOut` (and then closes: a late answer would be taken for the next one's), `closed`, `malformed`,
    /// `passwordRequired` or `passwordRefused`.
    ///
    /// - Parameter holding: what comes behind the answer is not looked at before the next request, or `encrypt`, has
    ///   decided what it is.
    public func perform(
        _ request: RTSPRequest, timeout: Duration = .seconds(10), holding: Bool = false
    ) async throws(RAOPError) -> RTSPResponse {
        logger.trace(
            "sent \(request.method) \(request.uri)",
            metadata: ["device": "\(remoteHost)", "bytes": "\(request.body.count)"])
        let response: RTSPResponse
        do throws(RAOPError) {
            response = try await answer(to: request, timeout: timeout, holding: holding)
        } catch {
            logger.trace("no answer to \(request.method)", metadata: ["device": "\(remoteHost)", "error": "\(error)"])
            throw error
        }
        logger.trace(
            "answered \(request.method) with \(response.status)",
            metadata: ["device": "\(remoteHost)", "bytes": "\(response.body.count)"])
        return response
    }

    private func answer(
        to request: RTSPRequest, timeout: Duration, holding: Bool
    ) async throws(RAOPError) -> RTSPResponse {
        let promise = channel.eventLoop.makePromise(of: RTSPResponse.self)
        let outgoing = RTSPClientHandler.Outgoing(
            request: request, promise: promise, timeout: .nanoseconds(timeout.nanoseconds), holding: holding)
        // On a closed channel there is no handler any more that could answer.
        channel.writeAndFlush(outgoing).whenFailure { _ in promise.fail(RAOPError.closed) }
        do {
            return try await promise.futureResult.get()
        } catch let error as RAOPError {
            throw error
        } catch {
            throw .closed
        }
    }

    /// Encrypts both directions from the next byte on. The last request must have been performed `holding`, and none may
    /// be under way. Throws `closed`, and `malformed` where what has come behind that answer is not sealed so.
    public func encrypt(with keys: ChannelKeys) async throws(RAOPError) {
        let channel = channel
        do {
            try await channel.eventLoop.submit {
                try channel.pipeline.syncOperations.handler(type: RTSPCodecHandler.self).encrypt(with: keys)
            }.get()
        } catch let error as RTSPDecodingError {
            throw .malformed(error)
        } catch {
            throw .closed
        }
    }

    /// Another port of the same receiver.
    func address(ofPort port: Int) -> SocketAddress {
        var address = remoteAddress
        address.port = port
        return address
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
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
