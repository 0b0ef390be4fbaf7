import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Fetches media as a receiver does: in ranges over one connection, or in one piece from a server that has no ranges.
struct MediaFetcher: Sendable {
    /// Bytes of one range.
    static let rangeBytes = 1 << 20
    static let maximumRedirects = 5
    /// Longer answers than this are no head of an HTTP message that a receiver would accept, so NIO's limits stand.
    private typealias Channel = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    enum Part: Sendable {
        /// Once, before any bytes.
        case head(MediaHead)
        case bytes([UInt8])
        /// After each request.
        case exchange(MediaFetch)
    }

    /// Sent as `Origin`, when a web page would send one.
    var origin: String?

    /// Whether the host of a URL is a numeric address; a URL without a host is not.
    static func namesAddress(_ url: String) -> Bool {
        guard let host = URL(string: url)?.host(percentEncoded: false) else { return false }
        let bare = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        return (try? SocketAddress(ipAddress: bare, port: 0)) != nil
    }

    private struct Target {
        var url: URL
        var host: String
        var port: Int
        var secure: Bool
        var path: String
        /// An explicit port belongs in the `Host` header.
        var authority: String

        init(_ url: URL) throws {
            guard let host = url.host(percentEncoded: false), !host.isEmpty,
                let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https"
            else { throw MediaFetchError.unusableURL(url.absoluteString) }
            self.url = url
            self.host = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
            secure = scheme == "https"
            port = url.port ?? (secure ? 443 : 80)
            let name = self.host.contains(":") ? "[\(self.host)]" : self.host
            authority = url.port.map { "\(name):\($0)" } ?? name
            let path = url.path(percentEncoded: true)
            self.path = (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?\($0)" } ?? "")
        }
    }

    /// Where a download stands.
    private struct Progress {
        var offset = 0
        var total: Int?
        var headGiven = false
        var redirects = 0
        var finished = false
    }

    /// Fetches all of it and hands the parts over in order. Throws `MediaFetchError` or what `receive` throws.
    func fetch(_ url: URL, receive: @Sendable (Part) async throws -> Void) async throws {
        var target = try Target(url)
        var progress = Progress()
        while !progress.finished {
            let channel: Channel
            do {
                channel = try await connect(to: target)
            } catch {
                let failure = MediaFetchError.unreachable("\(error)")
                try await receive(
                    .exchange(
                        MediaFetch(
                            url: target.url.absoluteString, status: 0, bytes: 0,
                            failure: failure.description)))
                throw failure
            }
            var next = target
            var state = progress
            try await channel.executeThenClose { inbound, outbound in
                var answers = inbound.makeAsyncIterator()
                var reusable = true
                while reusable, !state.finished, next.url == target.url {
                    reusable = try await exchange(
                        target: &next, progress: &state, answers: &answers, outbound: outbound, receive: receive)
                }
            }
            target = next
            progress = state
        }
    }

    /// One request and its answer. Returns whether the connection may be used again.
    private func exchange(
        target: inout Target, progress: inout Progress,
        answers: inout NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator,
        outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>, receive: @Sendable (Part) async throws -> Void
    ) async throws -> Bool {
        let last = min(progress.offset + Self.rangeBytes, progress.total ?? .max) - 1
        let range = "bytes=\(progress.offset)-\(last)"
        var fetch = MediaFetch(url: target.url.absoluteString, range: range, status: 0, bytes: 0)
        do {
            let reusable = try await read(
                range: progress.offset...last, header: range, fetch: &fetch, target: &target, progress: &progress,
                answers: &answers, outbound: outbound, receive: receive)
            try await receive(.exchange(fetch))
            return reusable
        } catch {
            fetch.failure = (error as? MediaFetchError)?.description ?? "\(error)"
            try await receive(.exchange(fetch))
            if error is MediaFetchError || error is CancellationError { throw error }
            if error is ChannelError || error is IOError || error is HTTPParserError || error is NIOSSLError {
                throw MediaFetchError.unreachable("\(error)")
            }
            throw error
        }
    }

    private func read(
        range: ClosedRange<Int>, header: String, fetch: inout MediaFetch, target: inout Target,
        progress: inout Progress, answers: inout NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator,
        outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>, receive: @Sendable (Part) async throws -> Void
    ) async throws -> Bool {
        var headers = HTTPHeaders([
            ("Host", target.authority), ("User-Agent", "CrKey (simulated receiver)"), ("Accept", "*/*"),
            ("Accept-Encoding", "identity"), ("Range", header),
        ])
        if let origin { headers.add(name: "Origin", value: origin) }
        let request = HTTPRequestHead(version: .http1_1, method: .GET, uri: target.path, headers: headers)
        try await outbound.write(contentsOf: [.head(request), .end(nil)])

        guard case .head(let head)? = try await answers.next() else {
            throw MediaFetchError.unreachable("the connection was closed without an answer")
        }
        fetch.status = Int(head.status.code)
        fetch.contentType = head.headers.first(name: "Content-Type")
        fetch.contentRange = head.headers.first(name: "Content-Range")
        fetch.allowedOrigin = head.headers.first(name: "Access-Control-Allow-Origin")
        let announced = head.headers.first(name: "Content-Length").flatMap { Int($0) }

        var deliver = false
        switch head.status.code {
        case 206:
            let total = try Self.total(fetch.contentRange, asked: range)
            guard progress.total == nil || progress.total == total else {
                throw MediaFetchError.inconsistentRange(fetch.contentRange ?? "")
            }
            progress.total = total
            deliver = true
        case 200:
            // No ranges here: the body is everything. In the middle of a download that is another file.
            guard progress.offset == 0 else { throw MediaFetchError.inconsistentRange("none") }
            progress.total = announced
            deliver = true
        case 301, 302, 303, 307, 308:
            guard progress.redirects < Self.maximumRedirects else { throw MediaFetchError.tooManyRedirects }
            progress.redirects += 1
            guard let location = head.headers.first(name: "Location"),
                let url = URL(string: location, relativeTo: target.url)?.absoluteURL
            else { throw MediaFetchError.unusableURL(head.headers.first(name: "Location") ?? "") }
            target = try Target(url)
        default: throw MediaFetchError.status(Int(head.status.code))
        }
        if deliver, !progress.headGiven {
            progress.headGiven = true
            try await receive(
                .head(
                    MediaHead(
                        contentType: fetch.contentType, length: progress.total, allowedOrigin: fetch.allowedOrigin)))
        }
        var ended = false
        while !ended {
            switch try await answers.next() {
            case .body(let buffer):
                fetch.bytes += buffer.readableBytes
                if deliver { try await receive(.bytes(Array(buffer.readableBytesView))) }
            case .end: ended = true
            case .head: continue
            case nil:
                throw MediaFetchError.cutShort(expected: announced ?? fetch.bytes, got: fetch.bytes)
            }
        }
        if deliver {
            if let announced, announced != fetch.bytes {
                throw MediaFetchError.cutShort(expected: announced, got: fetch.bytes)
            }
            guard fetch.bytes > 0 || progress.total == 0 || head.status.code == 200 else {
                throw MediaFetchError.cutShort(expected: range.count, got: 0)
            }
            progress.offset += fetch.bytes
            progress.finished = head.status.code == 200 || progress.total.map { progress.offset >= $0 } ?? true
        }
        return head.isKeepAlive
    }

    /// The total of `bytes a-b/total`, which must begin where it was asked to and not go beyond.
    static func total(_ contentRange: String?, asked: ClosedRange<Int>) throws -> Int {
        let refused = MediaFetchError.inconsistentRange(contentRange ?? "no Content-Range")
        guard let contentRange, let unit = contentRange.range(of: "bytes ", options: [.anchored, .caseInsensitive])
        else { throw refused }
        let parts = contentRange[unit.upperBound...].split(separator: "/")
        let ends = parts.first?.split(separator: "-").compactMap { Int($0) } ?? []
        guard parts.count == 2, let total = Int(parts[1]), ends.count == 2, ends[0] == asked.lowerBound,
            ends[1] >= ends[0], ends[1] <= asked.upperBound, ends[1] < total
        else { throw refused }
        return total
    }

    private func connect(to target: Target) async throws -> Channel {
        let context = target.secure ? try NIOSSLContext(configuration: .makeClientConfiguration()) : nil
        let isName = (try? SocketAddress(ipAddress: target.host, port: target.port)) == nil
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(10))
            .connect(host: target.host, port: target.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(context: context, serverHostname: isName ? target.host : nil))
                    }
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try Channel(wrappingChannelSynchronously: channel)
                }
            }
    }
}
