import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import RouteBackend
import RouteModel
import Synchronization

/// Answers receivers: `/media/<token>/<name>` and `/art/<token>/<name>`. Names are for people; only the token counts,
/// so no path ever comes from a request.
struct MediaResponder: Sendable {
    /// Bytes of a file in memory for one client.
    static let chunk = 256 << 10
    /// Bytes of a picture that is served at most.
    static let maximumArtwork = 4 << 20

    let registry: PublishedRegistry
    let artwork: @Sendable (MediaSource) async -> Artwork?
    let clock: any HostClock
    let stallSeconds: Int

    /// The answer to a request that came by `channel`.
    func respond(to request: Request, _ channel: any Channel) async throws -> Response {
        let path = request.uri.path.split(separator: "/", omittingEmptySubsequences: true)
        guard [.get, .head, .options].contains(request.method) else {
            return plain(.methodNotAllowed, [.allow: "GET, HEAD, OPTIONS"])
        }
        guard request.method != .options else { return preflight(request) }
        guard path.count == 3, path[0] == "media" || path[0] == "art" else { return plain(.notFound) }
        let token = path[0] == "art" ? PublishedRegistry.artworkKey(String(path[1])) : String(path[1])
        var address = channel.remoteAddress?.ipAddress ?? ""
        // An IPv4 client of a socket for both families.
        if address.hasPrefix("::ffff:"), address.contains(".") { address.removeFirst("::ffff:".count) }
        let response: Response
        switch await registry.answer(token, to: address) {
        case .unknown: return plain(.notFound)
        case .forbidden: response = plain(.forbidden)
        case .found(.file(let path, let contentType)):
            if let file = ServedFile(path: path) {
                response = try await serve(file, contentType, token, request, channel)
            } else {
                response = plain(.gone)
            }
        case .found(.artwork(let source)):
            if let picture = await artwork(source) {
                response = await serve(picture, token, request)
            } else {
                response = plain(.notFound)
            }
        }
        await registry.answered(token, status: response.status.code)
        return response
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
        _ file: ServedFile, _ contentType: String, _ token: String, _ request: Request, _ channel: any Channel
    ) async throws -> Response {
        let tag = EntityTag(file.facts)
        if let answer = conditional(tag, request) { return answer }
        let length = file.facts.size
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
            await registry.sent(token, bytes: Int64(small.count))
            return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: bytes))
        }
        let body = ResponseBody(contentLength: Int(plan.length)) { writer in
            try await send(plan, of: file, token, channel, to: &writer)
        }
        return Response(status: status, headers: headers, body: body)
    }

    /// Writes the parts, giving up on a client that takes nothing for a long time.
    private func send(
        _ plan: TransferPlan, of file: ServedFile, _ token: String, _ channel: any Channel,
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
                        await registry.sent(token, bytes: Int64(count))
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

    private func serve(_ picture: Artwork, _ token: String, _ request: Request) async -> Response {
        let tag = EntityTag(token: "art-\(token.suffix(8))", count: picture.bytes.count)
        if let answer = conditional(tag, request) { return answer }
        var headers = Self.crossOrigin
        headers.append(contentsOf: head(tag))
        headers[.acceptRanges] = "none"
        headers[.contentType] = picture.mimeType
        headers[.contentLength] = String(picture.bytes.count)
        guard request.method == .get else { return Response(status: .ok, headers: headers) }
        await registry.sent(token, bytes: Int64(picture.bytes.count))
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: picture.bytes)))
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
