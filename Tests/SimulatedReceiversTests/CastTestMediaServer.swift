import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import PeerSupport

/// Serves one body over HTTP, with the virtues and vices that a test wants.
final class CastTestMediaServer: Sendable {
    struct Manner: Sendable {
        var ranges = true
        var contentType = "audio/flac"
        var status: HTTPResponseStatus = .ok
        /// No Content-Length: the body ends with the connection's chunks.
        var unknownLength = false
        /// Announces everything but sends only this much.
        var cutAfter: Int?
        var allowedOrigin: String?
        var redirect: String?
        /// An answer to a range that was not asked for.
        var wrongRange = false
    }

    private let channel: any Channel
    let port: Int

    init(_ body: [UInt8], _ manner: Manner = Manner()) async throws {
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(body: body, manner: manner))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    var url: String { "http://127.0.0.1:\(port)/media" }

    func stop() async { try? await channel.close() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let body: [UInt8]
        private let manner: Manner

        init(body: [UInt8], manner: Manner) {
            self.body = body
            self.manner = manner
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(let request) = unwrapInboundIn(data) else { return }
            var headers = HTTPHeaders([("Content-Type", manner.contentType)])
            if let origin = manner.allowedOrigin { headers.add(name: "Access-Control-Allow-Origin", value: origin) }
            var status = manner.status
            var part = body[...]
            if let redirect = manner.redirect, request.uri == "/media" {
                status = .found
                part = []
                headers.add(name: "Location", value: redirect)
            } else if manner.ranges, status == .ok, let range = Self.range(request, body.count) {
                status = .partialContent
                part = body[range]
                let first = manner.wrongRange ? range.lowerBound + 1 : range.lowerBound
                headers.add(name: "Content-Range", value: "bytes \(first)-\(range.upperBound - 1)/\(body.count)")
            }
            if !manner.unknownLength { headers.add(name: "Content-Length", value: String(part.count)) }
            context.write(
                wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
            let sent = manner.cutAfter.map { part.prefix($0) } ?? part
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: sent)))), promise: nil)
            if manner.cutAfter == nil {
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            } else {
                context.flush()
                context.close(promise: nil)
            }
        }

        private static func range(_ request: HTTPRequestHead, _ total: Int) -> Range<Int>? {
            guard let header = request.headers.first(name: "Range"), header.hasPrefix("bytes=") else { return nil }
            let ends = header.dropFirst(6).split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, first < total else { return nil }
            return first..<min(total, (ends.count > 1 ? ends[1] : total - 1) + 1)
        }
    }
}

/// A short tone, made by ffmpeg once for each call.
enum CastTestTone {
    static func make(seconds: Double, format: String = "flac") async throws -> [UInt8] {
        let file = FileManager.default.temporaryDirectory.appending(path: "router-tone-\(UUID().uuidString).\(format)")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = try await Command.run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-f", "lavfi"]
                + ["-i", "sine=frequency=440:sample_rate=44100:duration=\(seconds)", "-ac", "2", file.path])
        return Array(try Data(contentsOf: file))
    }
}
