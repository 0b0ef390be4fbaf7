import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RouteBackend
import RouteModel

/// Bounds of one request.
struct HTTPFetchLimits: Sendable {
    /// Bytes of a body.
    var bytes: Int
    var redirects: Int
    var seconds: Int
}

/// The answer to a `GET`, after redirects.
struct HTTPAnswer: Sendable {
    var status: Int
    var headers: [(name: String, value: String)]
    var body: [UInt8]

    /// The first of that name, in whatever case.
    subscript(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// Fetches small things of the web.
protocol HTTPFetching: Sendable {
    /// Throws `mediaUnsupported` for what is too long or no web address, `mediaUnreachable`, `timeout` or `cancelled`.
    func get(_ url: String, headers: [(String, String)], limits: HTTPFetchLimits) async throws -> HTTPAnswer
}

/// One connection for each request, over NIO: a picture now and then needs no pool.
struct HTTPFetcher: HTTPFetching {
    let clock: any HostClock
    /// PEM files of roots that count beside the system's.
    var additionalRoots: [NIOSSLCertificate] = []

    func get(_ url: String, headers: [(String, String)], limits: HTTPFetchLimits) async throws -> HTTPAnswer {
        try await get(url, headers: headers, limits: limits) { _ in true }
    }

    /// - Parameter wants: whether the body of such an answer is wanted; else it is left where it is, and the answer's is
    ///   empty.
    func get(
        _ url: String, headers: [(String, String)], limits: HTTPFetchLimits,
        wants: @escaping @Sendable (HTTPAnswer) -> Bool
    ) async throws -> HTTPAnswer {
        let clock = clock
        return try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
            group.addTask { try await follow(url, headers, limits, wants) }
            group.addTask {
                try await clock.sleep(nanoseconds: Int64(limits.seconds) * 1_000_000_000)
                throw RouterError(
                    .timeout, "\(MediaSource.url(url).label) did not come within \(limits.seconds) seconds",
                    scope: .item, retry: .later)
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() else { throw CancellationError() }
            return answer
        }
    }

    private func follow(
        _ first: String, _ headers: [(String, String)], _ limits: HTTPFetchLimits,
        _ wants: @escaping @Sendable (HTTPAnswer) -> Bool
    ) async throws -> HTTPAnswer {
        var target = try Target(first)
        var headers = headers
        for _ in 0...limits.redirects {
            let answer = try await exchange(target, headers, limits, wants)
            guard [301, 302, 303, 307, 308].contains(answer.status), let location = answer["Location"] else {
                return answer
            }
            let next = try Target(location, from: target)
            guard !target.isSecure || next.isSecure else {
                throw RouterError(
                    .mediaUnreachable, "\(target.label) leads from https to http, where anybody could change it",
                    scope: .item)
            }
            // A tag is its server's own.
            if next.authority != target.authority { headers.removeAll { $0.0.hasPrefix("If-") } }
            target = next
        }
        throw RouterError(
            .mediaUnreachable, "\(MediaSource.url(first).label) leads on more than \(limits.redirects) times",
            scope: .item)
    }

    private func exchange(
        _ target: Target, _ headers: [(String, String)], _ limits: HTTPFetchLimits,
        _ wants: @escaping @Sendable (HTTPAnswer) -> Bool
    ) async throws -> HTTPAnswer {
        let connection = try await connect(target)
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: target.path)
        head.headers.add(name: "Host", value: target.authority)
        head.headers.add(name: "User-Agent", value: "router")
        head.headers.add(name: "Connection", value: "close")
        for (name, value) in headers { head.headers.add(name: name, value: value) }
        let request = head
        do {
            return try await connection.executeThenClose { inbound, outbound in
                try await outbound.write(.head(request))
                try await outbound.write(.end(nil))
                return try await Self.read(inbound, target, limits, wants)
            }
        } catch let error as RouterError {
            throw error
        } catch is CancellationError {
            throw RouterError(.cancelled, "fetching \(target.label) was cancelled", scope: .item)
        } catch {
            throw target.unreachable(error)
        }
    }

    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    private static func read(
        _ inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>, _ target: Target, _ limits: HTTPFetchLimits,
        _ wants: @Sendable (HTTPAnswer) -> Bool
    ) async throws -> HTTPAnswer {
        var answer: HTTPAnswer?
        for try await part in inbound {
            switch part {
            case .head(let head):
                let begun = HTTPAnswer(
                    status: Int(head.status.code), headers: head.headers.map { ($0.name, $0.value) }, body: [])
                guard wants(begun) else { return begun }
                answer = begun
                if let length = head.headers.first(name: "Content-Length").flatMap({ Int($0) }), length > limits.bytes {
                    throw target.tooLong(limits)
                }
            case .body(let bytes):
                guard (answer?.body.count ?? 0) + bytes.readableBytes <= limits.bytes else {
                    throw target.tooLong(limits)
                }
                answer?.body.append(contentsOf: bytes.readableBytesView)
            case .end:
                if let answer { return answer }
            }
        }
        throw RouterError(
            .mediaUnreachable, "\(target.label) broke off before it was whole", scope: .item, retry: .later)
    }

    /// What a connection there is secured with; nil for http.
    func security(for target: Target) throws -> NIOSSLContext? {
        guard target.isSecure else { return nil }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.additionalTrustRoots = [.certificates(additionalRoots)]
        configuration.applicationProtocols = ["http/1.1"]
        return try NIOSSLContext(configuration: configuration)
    }

    private func connect(_ target: Target) async throws -> Connection {
        let security = try security(for: target)
        do {
            return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(10))
                .connect(host: target.host, port: target.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if let security {
                            try channel.pipeline.syncOperations.addHandler(
                                NIOSSLClientHandler(context: security, serverHostname: target.serverName))
                        }
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        return try Connection(wrappingChannelSynchronously: channel)
                    }
                }
        } catch {
            throw target.unreachable(error)
        }
    }

    /// Where a request goes.
    struct Target: Sendable {
        let isSecure: Bool
        let host: String
        let port: Int
        /// As the `Host` header has it.
        let authority: String
        let path: String
        /// Without query and user.
        let label: String

        /// Names only: an address has no place in SNI.
        var serverName: String? { NetworkAddress(host) == nil ? host : nil }

        init(_ text: String, from base: Target? = nil) throws {
            let origin = base.flatMap { URL(string: "\($0.isSecure ? "https" : "http")://\($0.authority)\($0.path)") }
            label = MediaSource.url(text).label
            guard let url = URL(string: text, relativeTo: origin)?.absoluteURL,
                let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
                let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
                let host = parts.host?.trimmingCharacters(in: ["[", "]"]), !host.isEmpty
            else {
                throw RouterError(
                    .mediaUnsupported, "“\(label)” is not an http or https address",
                    hint: "Give an address that begins with http:// or https://", scope: .item)
            }
            isSecure = scheme == "https"
            self.host = host
            port = parts.port ?? (isSecure ? 443 : 80)
            guard (1...65_535).contains(port) else {
                throw RouterError(.mediaUnsupported, "“\(label)” has no possible port", scope: .item)
            }
            let shown = host.contains(":") ? "[\(host)]" : host
            authority = parts.port == nil ? shown : "\(shown):\(port)"
            let path = parts.percentEncodedPath
            self.path = (path.isEmpty ? "/" : path) + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
        }

        func unreachable(_ error: any Error) -> RouterError {
            if error is CancellationError {
                return RouterError(.cancelled, "fetching \(label) was cancelled", scope: .item)
            }
            let isCertificate = error is NIOSSLError || error is NIOSSLExtraError || error is BoringSSLError
            return RouterError(
                .mediaUnreachable, "\(label) could not be fetched",
                hint: isCertificate ? "Check the certificate of \(host)" : "Check the address", scope: .item,
                retry: .later, causes: [isCertificate ? "TLS: \(error)" : "\(error)"])
        }

        func tooLong(_ limits: HTTPFetchLimits) -> RouterError {
            RouterError(
                .mediaUnsupported, "\(label) is longer than \(limits.bytes >> 10) KiB", hint: "Name a smaller one",
                scope: .item)
        }
    }
}
