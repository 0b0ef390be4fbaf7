import NIOCore

/// Executes what `RTSPClientStateMachine` decides.
final class RTSPClientHandler: ChannelDuplexHandler {
    typealias InboundIn = RTSPMessage
    typealias OutboundIn = Outgoing
    typealias OutboundOut = ByteBuffer

    struct Outgoing: Sendable {
        var request: RTSPRequest
        var promise: EventLoopPromise<RTSPResponse>
        var timeout: TimeAmount
        /// Nothing behind the answer is looked at before the next request.
        var holding: Bool
    }

    private var machine: RTSPClientStateMachine
    /// In the order of the machine's requests; the first is under way.
    private var outgoing: CircularBuffer<Outgoing> = []
    private var timer: Scheduled<Void>?
    private var failure: RAOPError?
    private let codec: RTSPCodecHandler

    init(password: String?, codec: RTSPCodecHandler) {
        machine = RTSPClientStateMachine(password: password)
        self.codec = codec
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let next = unwrapOutboundIn(data)
        guard context.channel.isActive, failure == nil else {
            next.promise.fail(failure ?? .closed)
            promise?.fail(RAOPError.closed)
            return
        }
        // What was held answers nothing; it must not be taken for the answer to this.
        codec.release()
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
        if let done = outgoing.popFirst() {
            if done.holding { codec.hold() }
            complete(done.promise)
        }
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
