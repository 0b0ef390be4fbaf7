import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// Answers requests as a test says, and remembers them.
final class ImageTestServer: Sendable {
    struct Answer: Sendable {
        var status = 200
        var headers: [(String, String)] = []
        var body: [UInt8] = []
        /// Nothing is sent at all.
        var isSilent = false
    }

    typealias Script = @Sendable (_ path: String, _ headers: HTTPHeaders) -> Answer

    let port: Int
    private let channel: any Channel
    private let list = RequestList()

    var requests: [HTTPRequestHead] { list.all }

    init(security: NIOSSLContext? = nil, _ script: @escaping Script) async throws {
        let seen = list
        let made = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let security {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: security))
                    }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(script, seen))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        channel = made
        port = made.localAddress?.port ?? 0
    }

    func url(_ path: String, scheme: String = "http") -> String { "\(scheme)://127.0.0.1:\(port)\(path)" }

    func stop() async { try? await channel.close() }

    final class RequestList: Sendable {
        private let heads = Mutex<[HTTPRequestHead]>([])
        var all: [HTTPRequestHead] { heads.withLock { $0 } }
        func add(_ head: HTTPRequestHead) { heads.withLock { $0.append(head) } }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let script: Script
        private let seen: RequestList

        init(_ script: @escaping Script, _ seen: RequestList) {
            self.script = script
            self.seen = seen
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(let head) = unwrapInboundIn(data) else { return }
            seen.add(head)
            let answer = script(head.uri, head.headers)
            guard !answer.isSilent else { return }
            var fields = HTTPHeaders(answer.headers)
            if !fields.contains(name: "Content-Length") {
                fields.add(name: "Content-Length", value: "\(answer.body.count)")
            }
            let response = HTTPResponseHead(
                version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status), headers: fields)
            context.write(wrapOutboundOut(.head(response)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
