import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import RouteBackend
import RouteModel
import Synchronization

/// Answers receivers: `/media/<token>/<name>`, `/art/<token>/<number>` and `/track/<token>/<number>.vtt`. Names are for
/// people; only the token and the number count, so no path ever comes from a request.
struct MediaResponder: Sendable {
    /// Bytes of a file in memory for one client.
    static let chunk = 256 << 10
    /// Bytes of a picture that is served at most.
    static let maximumArtwork = 4 << 20

    /// Where what is no file comes from.
    struct Sources: Sendable {
        var artwork: @Sendable (MediaSource, _ side: Int?) async -> Artwork?
        var image: @Sendable (_ url: String) async -> Artwork?
        /// As WebVTT.
        var text: @Sendable (SubtitleStore.Source) async throws -> [UInt8]
    }

    let registry: PublishedRegistry
    let sources: Sources
    let clock: any HostClock
    let logger: Logger
    let stallSeconds: Int

    /// A response, and how it is to be recorded: nil for what was never published.
    struct Answer: Sendable {
        var response: Response
        var exchange: ServedExchange?
    }

    /// The answer to a request that came by `channel`. Who sends it says so by `began` and `finished`.
    func respond(to request: Request, _ channel: any Channel) async throws -> Answer {
        guard [.get, .head, .options].contains(request.method) else {
            return Answer(response: plain(.methodNotAllowed, [.allow: "GET, HEAD, OPTIONS"]))
        }
        let part = Self.part(request.uri.path)
        var address = channel.remoteAddress?.ipAddress ?? ""
        // An IPv4 client of a socket for both families.
        if address.hasPrefix("::ffff:"), address.contains(".") { address.removeFirst("::ffff:".count) }
        guard let part else {
            return Answer(response: request.method == .options ? preflight(request) : plain(.notFound))
        }
        let asked = Asked(part: part, address: address, request: request)
        if request.method == .options { return asked.answer(preflight(request)) }
        switch await registry.answer(part, to: address) {
        case .unknown: return Answer(response: plain(.notFound))
        case .forbidden: return asked.answer(plain(.forbidden))
        case .found(let content): return asked.answer(try await serve(content, asked, channel))
        }
    }

    /// What a path names; nil for what is none of ours.
    private static func part(_ path: String) -> PublishedPart? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        guard parts.count == 3 else { return nil }
        let token = String(parts[1])
        let number = Int(parts[2].prefix { $0 != "." })
        switch parts[0] {
        case "media": return PublishedPart(token: token, target: .media)
        case "art": return PublishedPart(token: token, target: .picture, number: number ?? 0)
        case "track": return number.map { PublishedPart(token: token, target: .track, number: $0) }
        default: return nil
        }
    }

    private func serve(
        _ content: PublishedMedia.Content, _ asked: Asked, _ channel: any Channel
    ) async throws -> Response {
        switch content {
        case .file(let path, let contentType):
            guard let file = ServedFile(path: path) else { return plain(.gone) }
            return try await serve(.file(file), contentType, asked, channel)
        case .artwork(let source, let side):
            guard let picture = await sources.artwork(source, side) else { return plain(.notFound) }
            return serve(picture, asked)
        case .image(let url):
            guard let picture = await sources.image(url) else { return plain(.notFound) }
            return serve(picture, asked)
        case .text(let source):
            do {
                let bytes = try await sources.text(source)
                return try await serve(.bytes(bytes), "text/vtt; charset=utf-8", asked, channel)
            } catch let error as RouterError {
                logger.notice("a text track was not served: \(error.message)")
                return plain(error.code == .mediaUnsupported ? .notFound : .internalServerError)
            }
        }
    }

    /// A request for something published, and what of it is kept.
    private struct Asked: Sendable {
        var part: PublishedPart
        var address: String
        var request: Request

        func exchange(_ status: HTTPResponse.Status) -> ServedExchange {
            let asked = request.headers
            return ServedExchange(
                token: part.token,
                key: FetchExchange.Key(
                    target: part.target, method: request.method.rawValue, range: asked[.range], address: address,
                    host: request.head.authority, userAgent: asked[.userAgent], origin: asked[.origin],
                    status: status.code))
        }

        func answer(_ response: Response) -> Answer {
            var exchange = exchange(response.status)
            exchange.key.allowedOrigin = response.headers[.accessControlAllowOrigin] != nil
            return Answer(response: response, exchange: exchange)
        }
    }

    // MARK: Heads

    /// Receivers are web pages of another origin: without these, their media elements and fetches are refused.
    private static let crossOrigin: HTTPFields = [
        .accessControlAllowOrigin: "*",
        .accessControlExposeHeaders:
            "Accept-Ranges, Content-Length, Content-Range, Content-Type, Date, ETag, Last-Modified",
        .xContentTypeOptions: "nosniff",
        HTTPField.Name("Cross-Origin-Resource-Policy")!: "cross-origin",
    ]

    private func plain(_ status: HTTPResponse.Status, _ fields: HTTPFields = [:]) -> Response {
        var headers = Self.crossOrigin
        headers.append(contentsOf: fields)
        return Response(status: status, headers: headers)
    }

    private func preflight(_ request: Request) -> Response {
        var headers = Self.crossOrigin
        headers[.allow] = "GET, HEAD, OPTIONS"
        headers[.accessControlAllowMethods] = "GET, HEAD, OPTIONS"
        headers[.accessControlAllowHeaders] =
            "Accept, Accept-Encoding, Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Range, Origin, Range"
        headers[.accessControlMaxAge] = "86400"
        if request.headers[HTTPField.Name("Access-Control-Request-Private-Network")!] == "true" {
            headers[HTTPField.Name("Access-Control-Allow-Private-Network")!] = "true"
        }
        return Response(status: .noContent, headers: headers)
    }

    /// The answer that needs no content, or nil when content is to be sent.
    private func conditional(_ tag: EntityTag, _ request: Request) -> Response? {
        let asked = request.headers
        if tag.isRefused(ifMatch: asked[.ifMatch], ifUnmodifiedSince: asked[.ifUnmodifiedSince]) {
            return plain(.preconditionFailed)
        }
        if tag.isKnown(ifNoneMatch: asked[.ifNoneMatch], ifModifiedSince: asked[.ifModifiedSince]) {
            var response = plain(.notModified, head(tag))
            // A 304 has no body, and the length of an empty one would be wrong.
            response.headers[.contentLength] = nil
            return response
        }
        return nil
    }

    private func head(_ tag: EntityTag) -> HTTPFields {
        var fields: HTTPFields = [.eTag: tag.tag, .acceptRanges: "bytes", .cacheControl: "private, no-transform"]
        if let date = tag.lastModified { fields[.lastModified] = date }
        return fields
    }

    // MARK: Files

    private func serve(
        _ file: ServedContent, _ contentType: String, _ asked: Asked, _ channel: any Channel
    ) async throws -> Response {
        let request = asked.request
        let tag = file.tag
        if let answer = conditional(tag, request) { return answer }
        let length = file.size
        var headers = Self.crossOrigin
        headers.append(contentsOf: head(tag))
        headers[.contentType] = contentType
        // A range is defined for GET only, and only while the file is what the client thinks it is.
        let usesRange = request.method == .get && tag.allowsRange(ifRange: request.headers[.ifRange])
        let status: HTTPResponse.Status
        let plan: TransferPlan
        switch usesRange ? ByteRanges.parse(request.headers[.range], length: length) : .whole {
        case .unsatisfiable:
            headers[.contentType] = nil
            headers[.contentRange] = "bytes */\(length)"
            return Response(status: .rangeNotSatisfiable, headers: headers)
        case .whole:
            status = .ok
            plan = TransferPlan(whole: length)
        case .some(let ranges):
            status = .partialContent
            if ranges.count == 1 {
                headers[.contentRange] = "bytes \(ranges[0].lowerBound)-\(ranges[0].upperBound - 1)/\(length)"
                plan = TransferPlan(range: ranges[0])
            } else {
                plan = TransferPlan(ranges: ranges, length: length, contentType: contentType)
                headers[.contentType] = "multipart/byteranges; boundary=\(plan.boundary)"
            }
        }
        headers[.contentLength] = String(plan.length)
        guard request.method == .get, plan.length > 0 else { return Response(status: status, headers: headers) }
        if let small = plan.onlyRange, small.count <= Self.chunk {
            // In one write with the head: players ask for many small pieces.
            var bytes = ByteBuffer()
            guard file.read(at: small.lowerBound, count: Int(small.count), into: &bytes) else {
                return plain(.internalServerError)
            }
            return Response(status: status, headers: headers, body: body(bytes, asked.exchange(status)))
        }
        let exchange = asked.exchange(status)
        let body = ResponseBody(contentLength: Int(plan.length)) { writer in
            try await send(plan, of: file, exchange, channel, to: &writer)
        }
        return Response(status: status, headers: headers, body: body)
    }

    /// All in one write, counted.
    private func body(_ bytes: ByteBuffer, _ exchange: ServedExchange) -> ResponseBody {
        ResponseBody(contentLength: bytes.readableBytes) { writer in
            try await writer.write(bytes)
            try await writer.finish(nil)
            await registry.sent(exchange, bytes: Int64(bytes.readableBytes), nanoseconds: clock.now())
        }
    }

    /// Writes the parts, giving up on a client that takes nothing for a long time.
    private func send(
        _ plan: TransferPlan, of file: ServedContent, _ exchange: ServedExchange, _ channel: any Channel,
        to writer: inout any ResponseBodyWriter
    ) async throws {
        let progress = Progress()
        let seconds = stallSeconds
        let clock = clock
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var seen: Int64 = -1
                while progress.bytes != seen {
                    seen = progress.bytes
                    try await clock.sleep(nanoseconds: Int64(seconds) * 1_000_000_000)
                }
                channel.close(promise: nil)
            }
            defer { group.cancelAll() }
            // Used again as soon as the connection has let go of it.
            var bytes = ByteBuffer()
            for part in plan.parts {
                switch part {
                case .text(let text): try await writer.write(ByteBuffer(string: text))
                case .bytes(let range):
                    var at = range.lowerBound
                    while at < range.upperBound {
                        let count = Int(min(Int64(Self.chunk), range.upperBound - at))
                        // Cut short, the length that the head promised cannot be kept: only closing tells the client.
                        guard file.read(at: at, count: count, into: &bytes) else { throw Truncated() }
                        try await writer.write(bytes)
                        at += Int64(count)
                        progress.add(count)
                        await registry.sent(exchange, bytes: Int64(count), nanoseconds: clock.now())
                    }
                }
            }
        }
        try await writer.finish(nil)
    }

    private struct Truncated: Error {}

    /// Counted by the writer, read by its watcher.
    private final class Progress: Sendable {
        private let count = Atomic<Int64>(0)
        var bytes: Int64 { count.load(ordering: .relaxed) }
        func add(_ more: Int) { count.add(Int64(more), ordering: .relaxed) }
    }

    // MARK: Pictures

    private func serve(_ picture: Artwork, _ asked: Asked) -> Response {
        let request = asked.request
        let tag = EntityTag(of: picture.bytes)
        if let answer = conditional(tag, request) { return answer }
        var headers = Self.crossOrigin
        headers.append(contentsOf: head(tag))
        headers[.acceptRanges] = "none"
        headers[.contentType] = picture.mimeType
        headers[.contentLength] = String(picture.bytes.count)
        guard request.method == .get else { return Response(status: .ok, headers: headers) }
        return Response(
            status: .ok, headers: headers, body: body(ByteBuffer(bytes: picture.bytes), asked.exchange(.ok)))
    }
}

/// The body of an answer: bytes of the file and the text between them.
struct TransferPlan: Sendable {
    enum Part: Sendable {
        case text(String)
        case bytes(Range<Int64>)
    }

    private(set) var parts: [Part] = []
    private(set) var length: Int64 = 0
    let boundary: String

    init(whole length: Int64) { self.init(range: 0..<length) }

    init(range: Range<Int64>) {
        boundary = ""
        append(.bytes(range))
    }

    /// `multipart/byteranges` (RFC 9110, section 14.6).
    init(ranges: [Range<Int64>], length: Int64, contentType: String) {
        boundary = "part-" + MediaToken.random().rawValue
        for (index, range) in ranges.enumerated() {
            append(
                .text(
                    "\(index == 0 ? "" : "\r\n")--\(boundary)\r\nContent-Type: \(contentType)\r\nContent-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)\r\n\r\n"
                ))
            append(.bytes(range))
        }
        append(.text("\r\n--\(boundary)--\r\n"))
    }

    private mutating func append(_ part: Part) {
        parts.append(part)
        switch part {
        case .text(let text): length += Int64(text.utf8.count)
        case .bytes(let range): length += Int64(range.count)
        }
    }

    /// The range, when there is nothing else.
    var onlyRange: Range<Int64>? {
        if parts.count == 1, case .bytes(let range) = parts[0] { return range }
        return nil
    }
}
