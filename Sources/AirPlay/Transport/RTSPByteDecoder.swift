import NIOCore

/// Hands bytes to the pure decoder, on connections that stay clear.
struct RTSPByteDecoder: ByteToMessageDecoder {
    typealias InboundOut = RTSPMessage

    private let decoder: RTSPMessageDecoder

    init(limits: RTSPMessageDecoder.Limits) { decoder = RTSPMessageDecoder(limits: limits) }

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        let bytes = Array(buffer.readableBytesView)
        guard let (message, used) = try decoder.decode(bytes[...]) else { return .needMoreData }
        buffer.moveReaderIndex(forwardBy: used)
        context.fireChannelRead(wrapInboundOut(message))
        return .continue
    }

    mutating func decodeLast(
        context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
    ) throws -> DecodingState { try decode(context: context, buffer: &buffer) }
}
