import Foundation
import NIOCore
import NIOHTTP1

/// `GET /setup/eureka_info` over HTTP (`Protocols/cast` section 8).
struct EurekaInfoServer: Sendable {
    private typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    private let listener: ClientListener<HTTPServerRequestPart, HTTPServerResponsePart>
    private let information: @Sendable () async -> JSONValue
    private let refusesNames: Bool
    var port: Int { listener.port }

    /// - Parameters:
    ///   - refusesNames: whether a request made with a host name is answered by 403.
    ///   - information: what is told, asked anew for each request.
    /// - Throws: `SimulatedReceiverError.cannotListen`.
    init(
        host: String, port: Int, refusesNames: Bool, information: @escaping @Sendable () async -> JSONValue
    ) async throws {
        self.information = information
        self.refusesNames = refusesNames
        listener = try await ClientListener.bind(host: host, port: port) { channel in
            try channel.pipeline.syncOperations.configureHTTPServerPipeline()
        }
    }

    /// Serves until the task is cancelled.
    func run() async { await listener.run { connection, _ in try? await serve(connection) } }

    private func serve(_ connection: Connection) async throws {
        try await connection.executeThenClose { inbound, outbound in
            for try await part in inbound {
                guard case .head(let request) = part else { continue }
                let (status, text) = await answer(request)
                let headers = HTTPHeaders([
                    ("Content-Type", "application/json"), ("Content-Length", String(text.utf8.count)),
                    ("Cache-Control", "no-cache"), ("Access-Control-Allow-Headers", "Content-Type"),
                    ("Connection", request.isKeepAlive ? "keep-alive" : "close"),
                ])
                try await outbound.write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers)))
                if request.method != .HEAD { try await outbound.write(.body(.byteBuffer(ByteBuffer(string: text)))) }
                try await outbound.write(.end(nil))
                guard request.isKeepAlive else { return }
            }
        }
    }

    private func answer(_ request: HTTPRequestHead) async -> (HTTPResponseStatus, String) {
        guard !refusesNames || Self.isAddress(request.headers.first(name: "Host") ?? "") else {
            return (.forbidden, "")
        }
        let path = request.uri.prefix { $0 != "?" }
        guard path == "/setup/eureka_info" else { return (.notFound, "") }
        guard request.method == .GET || request.method == .HEAD else { return (.methodNotAllowed, "") }
        return (.ok, await information().text)
    }

    /// Firmware refuses a request made with a host name; an address or nothing at all is accepted.
    static func isAddress(_ host: String) -> Bool {
        guard !host.isEmpty else { return true }
        let bare: Substring
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            bare = host[host.index(after: host.startIndex)..<end]
        } else {
            bare = host.prefix { $0 != ":" }
        }
        return (try? SocketAddress(ipAddress: String(bare), port: 0)) != nil
    }
}
