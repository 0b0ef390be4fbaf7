import HomeKitPairing
import NIOCore

/// Bytes to messages on a connection that may become encrypted between two of them.
final class RTSPCodecHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = RTSPMessage
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var stream = EncryptedByteStream(.controller)
    private let decoder: RTSPMessageDecoder
    private var context: ChannelHandlerContext?
    private var isHeld = false
    private var isDecoding = false
    private var isBroken = false

    init(limits: RTSPMessageDecoder.Limits) { decoder = RTSPMessageDecoder(limits: limits) }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Looks at no more bytes until `release` or `encrypt`: whether they are clear is still to be decided.
    func hold() { isHeld = true }

    func release() {
        isHeld = false
        decode()
    }

    /// From the byte behind the last message on, both ways. Throws where what has come already is not sealed so; the
    /// connection is closed then.
    func encrypt(with keys: ChannelKeys) throws(RTSPDecodingError) {
        isHeld = false
        do {
            try stream.encrypt(with: keys)
        } catch {
            attempt { () throws(RTSPDecodingError) in throw .notDecrypted(error) }
            throw .notDecrypted(error)
        }
        decode()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBroken else { return }
        let buffer = unwrapInboundIn(data)
        attempt { () throws(RTSPDecodingError) in
            do throws(FrameError) { try stream.receive(buffer.readableBytesView) } catch { throw .notDecrypted(error) }
            // Nobody has a reason to send much before we have said how we go on.
            let limit = decoder.limits.headerBytes
            if isHeld, stream.readable.count > limit { throw .headerTooLong(limit: limit) }
        }
        decode()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = Array(unwrapOutboundIn(data).readableBytesView)
        context.write(wrapOutboundOut(ByteBuffer(bytes: stream.seal(bytes))), promise: promise)
    }

    /// A message may lead to `hold`, `release` or `encrypt` while it is handed on.
    private func decode() {
        guard !isDecoding else { return }
        isDecoding = true
        defer { isDecoding = false }
        while !isHeld, !isBroken {
            var next: RTSPMessage?
            attempt { () throws(RTSPDecodingError) in
                guard let (message, used) = try decoder.decode(stream.readable) else { return }
                stream.consume(used)
                next = message
            }
            guard let next, let context else { return }
            context.fireChannelRead(wrapInboundOut(next))
        }
    }

    private func attempt(_ body: () throws(RTSPDecodingError) -> Void) {
        guard !isBroken else { return }
        do {
            try body()
        } catch {
            isBroken = true
            context?.fireErrorCaught(error)
        }
    }
}
