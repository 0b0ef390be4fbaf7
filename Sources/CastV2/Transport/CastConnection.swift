import NIOCore
import NIOPosix
import NIOSSL

/// One TLS connection to a receiver, with messages in place of bytes. The only place that knows of event loops.
///
/// The device's certificate is made by itself and proves nothing to TLS, so it is not verified here; its bytes are
/// kept, because device authentication signs them (`Protocols/cast` section 8).
public struct CastConnection: Sendable {
    /// Messages that wait to be read, at most: a reader that far behind has lost the device anyway.
    static let maximumBacklog = 4096

    /// The address that was reached, numeric.
    public let remoteAddress: String
    /// The certificate that the device showed, DER.
    public let peerCertificate: [UInt8]
    /// Messages in the order of their arrival. Ends by a `CastConnectionError`.
    public let inbound: AsyncThrowingStream<CastMessage, any Error>
    private let channel: any Channel

    /// Connects and sends `greeting`, which goes out with the last flight of the TLS handshake.
    ///
    /// Returns when the handshake is done. Throws `CastConnectionError`; cancelling the task closes what there was.
    public static func connect(
        host: String, port: Int, greeting: [CastMessage] = []
    ) async throws -> CastConnection {
        let (inbound, continuation) = AsyncThrowingStream.makeStream(
            of: CastMessage.self, throwing: (any Error).self, bufferingPolicy: .bufferingOldest(maximumBacklog))
        let context: NIOSSLContext
        let hello: ByteBuffer
        do {
            context = try CastTLS.context.get()
            hello = ByteBuffer(bytes: try greeting.flatMap(CastFraming.encode))
        } catch {
            throw CastTransportErrors.translate(error)
        }
        // The whole attempt is bounded by whoever calls; this is only the ceiling for one address of several.
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(60))
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelOption(
                .writeBufferWaterMark,
                value: .init(low: CastLimits.unsentBytes / 2, high: CastLimits.unsentBytes)
            )
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try NIOSSLClientHandler(context: context, serverHostname: nil)
                    try channel.pipeline.syncOperations.addHandlers(tls, CastInboundHandler(continuation))
                }
            }
        let channel: any Channel
        do {
            channel = try await reach(bootstrap, host: host, port: port)
        } catch {
            continuation.finish()
            throw CastTransportErrors.translate(error)
        }
        return try await withTaskCancellationHandler {
            do {
                // TLS keeps what is written until the handshake is done, and fails it when the handshake does.
                try await channel.writeAndFlush(hello)
                let certificate = try await channel.nioSSL_peerCertificate().get()
                try Task.checkCancellation()
                return CastConnection(
                    remoteAddress: channel.remoteAddress?.ipAddress ?? host,
                    peerCertificate: try certificate?.toDERBytes() ?? [], inbound: inbound, channel: channel)
            } catch {
                channel.close(promise: nil)
                if Task.isCancelled { throw CancellationError() }
                // The reading side knows better why it broke than the write that could not be done.
                throw await firstError(of: inbound) ?? CastTransportErrors.translate(error)
            }
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Queues messages, in this order, after all that was queued before. Throws `CastFramingError`; a connection that is
    /// gone says so by `inbound`.
    public func send(_ messages: [CastMessage]) throws {
        let frames = try messages.flatMap(CastFraming.encode)
        guard !frames.isEmpty else { return }
        channel.writeAndFlush(ByteBuffer(bytes: frames), promise: nil)
    }

    /// Whether the device keeps up with what is sent: false while `CastLimits.unsentBytes` wait to leave.
    public var takesMore: Bool { channel.isWritable || !channel.isActive }

    /// Closes after what was queued. Returns when it is closed.
    public func close() async {
        channel.close(promise: nil)
        try? await channel.closeFuture.get()
    }

    private static func reach(_ bootstrap: ClientBootstrap, host: String, port: Int) async throws -> any Channel {
        try Task.checkCancellation()
        let attempt =
            if let address = try? SocketAddress(ipAddress: host, port: port) {
                bootstrap.connect(to: address)
            } else {
                bootstrap.connect(host: host, port: port)
            }
        return try await withCancellation(of: attempt)
    }

    /// A TCP attempt cannot be called back, so that a cancelled one is left to close its channel by itself.
    private static func withCancellation(of attempt: EventLoopFuture<any Channel>) async throws -> any Channel {
        let (outcome, continuation) = AsyncThrowingStream.makeStream(of: (any Channel).self)
        attempt.whenComplete { result in
            switch result {
            case .success(let channel):
                if case .terminated = continuation.yield(channel) { channel.close(promise: nil) }
                continuation.finish()
            case .failure(let error): continuation.finish(throwing: error)
            }
        }
        for try await channel in outcome { return channel }
        throw CancellationError()
    }

    private static func firstError(
        of inbound: AsyncThrowingStream<CastMessage, any Error>
    ) async -> CastConnectionError? {
        do {
            for try await _ in inbound {}
            return nil
        } catch {
            return error as? CastConnectionError
        }
    }
}

/// The one TLS context of the process: making it costs milliseconds.
enum CastTLS {
    static let context: Result<NIOSSLContext, any Error> = Result {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.minimumTLSVersion = .tlsv12
        // How long a device that is gone may keep our goodbye waiting for its own.
        configuration.shutdownTimeout = .seconds(1)
        return try NIOSSLContext(configuration: configuration)
    }
}

/// Cuts what arrives into messages and tells the one reason why it ends.
private final class CastInboundHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var decoder = CastFrameDecoder()
    private let continuation: AsyncThrowingStream<CastMessage, any Error>.Continuation
    private var heard = false

    init(_ continuation: AsyncThrowingStream<CastMessage, any Error>.Continuation) {
        self.continuation = continuation
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        heard = true
        decoder.append(unwrapInboundIn(data).readableBytesView)
        do throws(CastFramingError) {
            // Every frame that is there, whatever the TLS records were.
            while let message = try decoder.next() {
                if case .dropped = continuation.yield(message) {
                    continuation.finish(throwing: CastConnectionError.flooded)
                    context.close(promise: nil)
                    return
                }
            }
        } catch {
            continuation.finish(throwing: CastConnectionError.notCast(error))
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        continuation.finish(throwing: CastTransportErrors.translate(error))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        // Where an error was told already, this second ending changes nothing.
        continuation.finish(throwing: CastConnectionError.closedByPeer)
        context.fireChannelInactive()
    }
}
