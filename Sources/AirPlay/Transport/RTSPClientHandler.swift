import NIOCore

/// Hands bytes to the pure decoder.
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

/// Executes what `RTSPClientStateMachine` decides.
final class RTSPClientHandler: ChannelDuplexHandler {
    typealias InboundIn = RTSPMessage
    typealias OutboundIn = Outgoing
    typealias OutboundOut = ByteBuffer

    struct Outgoing: Sendable {
        var request: RTSPRequest
        var promise: EventLoopPromise<RTSPResponse>
        var timeout: TimeAmount
    }

    private var machine: RTSPClientStateMachine
    /// In the order of the machine's requests; the first is under way.
    private var outgoing: CircularBuffer<Outgoing> = []
    private var timer: Scheduled<Void>?
    private var failure: RAOPError?

    init(password: String?) { machine = RTSPClientStateMachine(password: password) }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let next = unwrapOutboundIn(data)
        guard context.channel.isActive, failure == nil else {
            next.promise.fail(failure ?? .closed)
            promise?.fail(RAOPError.closed)
            return
        }
        outgoing.append(next)
        if let request = machine.submit(next.request) { begin(request, context) }
        promise?.succeed()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Receivers make no requests on this connection; one that does is not answered.
        guard case .response(let response) = unwrapInboundIn(data) else { return }
        switch machine.receive(response) {
        case .ignore: break
        case .send(let request): begin(request, context)
        case .complete(let response): finish(context) { $0.succeed(response) }
        case .fail(let error): finish(context) { $0.fail(error) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(.closed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail((error as? RTSPDecodingError).map { .malformed($0) } ?? .closed)
        context.close(promise: nil)
    }

    private func begin(_ request: RTSPRequest, _ context: ChannelHandlerContext) {
        timer?.cancel()
        let method = request.method
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: outgoing.first?.timeout ?? .seconds(10)) {
            let (handler, context) = bound.value
            handler.fail(.timedOut(method: method))
            context.close(promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: request.encoded())), promise: nil)
    }

    private func finish(_ context: ChannelHandlerContext, _ complete: (EventLoopPromise<RTSPResponse>) -> Void) {
        timer?.cancel()
        timer = nil
        if let done = outgoing.popFirst() { complete(done.promise) }
        if let request = machine.next() { begin(request, context) }
    }

    private func fail(_ error: RAOPError) {
        timer?.cancel()
        timer = nil
        failure = failure ?? error
        for waiting in outgoing { waiting.promise.fail(failure ?? error) }
        outgoing.removeAll()
    }
}
