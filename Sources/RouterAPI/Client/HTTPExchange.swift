import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import RouteModel

/// One request and its answer over a connection of their own: the only place of the client that knows of NIO.
struct HTTPExchange: Sendable {
    struct Request: Sendable {
        var method: String
        /// With its query.
        var path: String
        var fields: [(name: String, value: String)] = []
        var body: [UInt8]?
    }

    struct Head: Sendable {
        var status: Int
        var fields: HTTPHeaders

        subscript(name: String) -> String? { fields.first(name: name) }
    }

    /// Bytes of an answer that are kept at most: a queue of 100,000 items has about half of it.
    static let maximumAnswer = 128 << 20

    let place: RouterPlace
    /// How long a connection may take to come about.
    var connectSeconds: Int64 = 5
    /// After so long without a byte the connection is lost; nil waits for ever.
    var silenceSeconds: Int64?

    /// Sends a request and hands the answer to `read` part by part, which says whether it wants more; returns when the
    /// answer is over. Throws `daemonUnavailable`; cancelling the task closes the connection.
    func run(
        _ request: Request, head: (Head) async throws -> Void, part: ([UInt8]) async throws -> Bool
    ) async throws {
        let channel = try await connect()
        try await channel.executeThenClose { inbound, outbound in
            do {
                try await send(request, to: outbound)
            } catch {
                // It may have been answered, and the connection closed, before it was all sent: then the answer counts.
                try Task.checkCancellation()
            }
            for try await answer in inbound {
                switch answer {
                case .head(let answer):
                    // An answer before the answer (RFC 9110, section 15.2).
                    guard answer.status.code >= 200 else { continue }
                    try await head(Head(status: Int(answer.status.code), fields: answer.headers))
                case .body(let buffer):
                    guard try await part(Array(buffer.readableBytesView)) else { return }
                case .end: return
                }
            }
            try Task.checkCancellation()
            throw Self.lost
        }
    }

    /// The whole answer. Throws `daemonUnavailable`, and `protocolViolation` for one that is too large.
    func answer(_ request: Request) async throws -> (head: Head, body: [UInt8]) {
        var first: Head?
        var bytes: [UInt8] = []
        do {
            try await run(
                request, head: { first = $0 },
                part: { part in
                    guard bytes.count + part.count <= Self.maximumAnswer else {
                        throw RouterError(.protocolViolation, "the daemon's answer is too large")
                    }
                    bytes += part
                    return true
                })
        } catch {
            throw Self.translated(error, place)
        }
        guard let first else { throw Self.lost }
        return (first, bytes)
    }

    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPPart<HTTPRequestHead, ByteBuffer>>

    private func send(
        _ request: Request, to outbound: NIOAsyncChannelOutboundWriter<HTTPPart<HTTPRequestHead, ByteBuffer>>
    ) async throws {
        var head = HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: request.method), uri: request.path)
        head.headers.add(name: "Host", value: place.authority)
        head.headers.add(name: "Connection", value: "close")
        for field in request.fields { head.headers.add(name: field.name, value: field.value) }
        // Without one, the encoder would send an empty body in chunks.
        if request.body != nil || request.method != "GET" {
            head.headers.add(name: "Content-Length", value: String(request.body?.count ?? 0))
        }
        let body = request.body.map { [HTTPPart<HTTPRequestHead, ByteBuffer>.body(ByteBuffer(bytes: $0))] } ?? []
        try await outbound.write(contentsOf: [.head(head)] + body + [.end(nil)])
    }

    private func connect() async throws -> Connection {
        try Task.checkCancellation()
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(connectSeconds))
        let silence = silenceSeconds
        let initialize: @Sendable (any Channel) -> EventLoopFuture<Connection> = { channel in
            channel.eventLoop.makeCompletedFuture {
                if let silence {
                    try channel.pipeline.syncOperations.addHandlers(
                        IdleStateHandler(readTimeout: .seconds(silence)), SilenceHandler())
                }
                try channel.pipeline.syncOperations.addHTTPClientHandlers(
                    leftOverBytesStrategy: .dropBytes, enableOutboundHeaderValidation: true)
                try channel.pipeline.syncOperations.addHandler(RequestBytesHandler())
                return try Connection(wrappingChannelSynchronously: channel)
            }
        }
        do {
            switch place {
            case .socket(let path):
                return try await bootstrap.connect(unixDomainSocketPath: path, channelInitializer: initialize)
            case .http(let host, let port):
                return try await bootstrap.connect(host: host, port: port, channelInitializer: initialize)
            }
        } catch {
            throw Self.translated(error, place)
        }
    }

    static let lost = RouterError(
        .daemonUnavailable, "the daemon ended in the middle of its answer",
        hint: "Look at its log with “router daemon logs”, and try again", retry: .later)

    /// A connection's error in the product's words.
    static func translated(_ error: any Error, _ place: RouterPlace) -> any Error {
        if error is RouterError { return error }
        if error is CancellationError || Task.isCancelled { return RouterError(.cancelled, "cancelled") }
        let cause = Self.cause(of: error)
        if let error = error as? IOError, error.errnoCode == EACCES || error.errnoCode == EPERM {
            return RouterError(
                .daemonUnavailable, "the daemon at \(place) belongs to somebody else",
                hint: "Use its HTTP address with a token, or run “router daemon run” as yourself",
                retry: .afterUserAction, causes: [cause])
        }
        let hint =
            switch place {
            case .socket: "Start one with “router daemon run”"
            case .http:
                "Check the address given with --host; a daemon listens beyond its own machine only when told to: "
                    + "router daemon run --listen 0.0.0.0"
            }
        return RouterError(
            .daemonUnavailable, "no daemon answers at \(place)", hint: hint, retry: .afterUserAction, causes: [cause])
    }

    /// What the system says, without the words of the library that it came through.
    private static func cause(of error: any Error) -> String {
        switch error {
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { cause(of: $0.error) } ?? "the host “\(error.host)” is not known"
        case ChannelError.connectTimeout: "it did not answer in time"
        case is HTTPParserError: "what answers there does not speak HTTP"
        default: String(describing: error)
        }
    }
}

/// Closes a connection from which nothing has come for too long.
private final class SilenceHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        context.close(promise: nil)
    }
}

/// The client's encoder takes `IOData`; what is sent here is always in memory.
private final class RequestBytesHandler: ChannelOutboundHandler {
    typealias OutboundIn = HTTPPart<HTTPRequestHead, ByteBuffer>
    typealias OutboundOut = HTTPClientRequestPart

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part: HTTPClientRequestPart =
            switch unwrapOutboundIn(data) {
            case .head(let head): .head(head)
            case .body(let buffer): .body(.byteBuffer(buffer))
            case .end(let trailers): .end(trailers)
            }
        context.write(wrapOutboundOut(part), promise: promise)
    }
}
