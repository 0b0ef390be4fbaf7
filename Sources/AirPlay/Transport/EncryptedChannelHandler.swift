import HomeKitPairing
import NIOCore

/// Encrypts a connection from its first byte: the event channel and data streams. In front of whatever reads bytes.
///
/// A broken frame is told as a `FrameError` and closes. Where a connection is clear at first, `EncryptedByteStream` must
/// be beneath the reader of messages itself: a handler cannot call back bytes that it has passed on.
public final class EncryptedChannelHandler: ChannelDuplexHandler {
    public typealias InboundIn = ByteBuffer
    public typealias InboundOut = ByteBuffer
    public typealias OutboundIn = ByteBuffer
    public typealias OutboundOut = ByteBuffer

    private var stream: EncryptedByteStream
    private var isBroken = false

    /// - Parameter side: whose end this is.
    public init(_ side: EncryptedByteStream.Side, keys: ChannelKeys) {
        stream = EncryptedByteStream(side, keys: keys)
    }

    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBroken else { return }
        do {
            try stream.receive(unwrapInboundIn(data).readableBytesView)
        } catch {
            isBroken = true
            context.fireErrorCaught(error)
            context.close(promise: nil)
            return
        }
        let plain = stream.readable
        guard !plain.isEmpty else { return }
        let buffer = context.channel.allocator.buffer(bytes: plain)
        stream.consume(plain.count)
        context.fireChannelRead(wrapInboundOut(buffer))
    }

    public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = Array(unwrapOutboundIn(data).readableBytesView)
        context.write(wrapOutboundOut(context.channel.allocator.buffer(bytes: stream.seal(bytes))), promise: promise)
    }
}
