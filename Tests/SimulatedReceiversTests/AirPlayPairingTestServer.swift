import AirPlay
import Foundation
import HomeKitPairing
import NIOCore
import NIOPosix
import PeerSupport

@testable import SimulatedReceivers

/// A receiver that can be paired with and nothing else: HTTP and RTSP on one port, encrypted from where pairing says so.
/// `GET /info` answers who it takes the asker for, `POST /echo` what it was sent.
actor AirPlayPairingTestServer {
    private let policy: PairingServerPolicy
    private(set) var book: PairingServerBook
    private(set) var news: [PairingServerNews] = []
    private var task: Task<Void, Never>?
    /// Host nanoseconds.
    private var now: Int64 = 0

    init(_ policy: PairingServerPolicy, book: PairingServerBook = PairingServerBook(name: "Test")) {
        self.policy = policy
        self.book = book
    }

    /// Answers the port.
    func start() async throws -> Int {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        task = Task {
            try? await server.executeThenClose { clients in
                try await withThrowingDiscardingTaskGroup { group in
                    for try await client in clients { group.addTask { try? await self.serve(client) } }
                }
            }
        }
        return server.channel.localAddress?.port ?? 0
    }

    func stop() async {
        task?.cancel()
        await task?.value
    }

    /// Somebody switches it off and on.
    func restart() { book.restart() }

    func advance(seconds: Int64) { now += seconds * 1_000_000_000 }

    private func serve(_ client: NIOAsyncChannel<ByteBuffer, ByteBuffer>) async throws {
        var server = PairingServer(policy)
        defer { server.end(in: &book) }
        try await client.executeThenClose { inbound, outbound in
            let decoder = RTSPMessageDecoder()
            var raw: [UInt8] = []
            var plain: [UInt8] = []
            var channel: (opener: FrameOpener, sealer: FrameSealer)?
            for try await chunk in inbound {
                raw += Array(buffer: chunk)
                while true {
                    if channel == nil {
                        plain += raw
                        raw = []
                    } else if let (bytes, used) = try channel?.opener.open(raw) {
                        plain += bytes
                        raw.removeFirst(used)
                        // A frame may end in the middle of a request, and the next be there already.
                        if try decoder.decode(plain[...]) == nil { continue }
                    }
                    guard let (message, used) = try decoder.decode(plain[...]), case .request(let request) = message
                    else { break }
                    plain.removeFirst(used)
                    let answer = self.answer(request, &server)
                    switch answer.delivery {
                    case .never: continue
                    case .hangUp: return
                    case .send: break
                    }
                    var response = RTSPResponse(
                        version: request.version, status: answer.status, reason: answer.reason,
                        headers: answer.headers, body: answer.body)
                    response.headers["CSeq"] = request.headers["CSeq"]
                    let bytes = channel?.sealer.seal(response.encoded()) ?? response.encoded()
                    try await outbound.write(ByteBuffer(bytes: bytes))
                    if let secret = answer.secretEstablished {
                        let keys = ChannelKeys.control(secret)
                        channel = (FrameOpener(key: keys.controllerWrites), FrameSealer(key: keys.accessoryWrites))
                        // What came with the last plain request is encrypted already.
                        raw = plain
                        plain = []
                    }
                }
            }
        }
    }

    private func answer(_ request: RTSPRequest, _ server: inout PairingServer) -> PairingServerAnswer {
        let answer: PairingServerAnswer
        switch (request.method, request.uri) {
        case ("GET", "/info"): answer = .plain("\(server.standing.word)")
        case ("POST", "/echo"): answer = .plain(String(decoding: request.body, as: UTF8.self))
        case ("POST", let path):
            answer = server.answer(
                path: path, headers: request.headers, body: request.body, in: &book, at: now)
        default: answer = PairingServerAnswer(status: 404, headers: [:], body: [])
        }
        news += answer.news
        return answer
    }
}

extension PairingServerAnswer {
    fileprivate static func plain(_ text: String) -> PairingServerAnswer {
        PairingServerAnswer(status: 200, headers: ["Content-Type": "text/plain"], body: Array(text.utf8))
    }
}

extension PairingServer.Standing {
    var word: String {
        switch self {
        case .stranger: "stranger"
        case .transient: "transient"
        case .controller(_, isAdmin: true): "admin"
        case .controller: "controller"
        case .legacy: "legacy"
        }
    }
}

/// The Python programs that pair with it.
enum AirPlayPairingPeers {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "peers")

    /// With srptools and cryptography; nil where there is none.
    static let python: String? = {
        let peers = ProcessInfo.processInfo.environment["ROUTER_PEERS"] ?? ".build/peers"
        let path = "\(peers)/bin/python3"
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }()

    static let absence = "no Python with srptools and cryptography in ROUTER_PEERS"

    /// Steps with what each came to, as JSON text: `null` where nothing went wrong.
    static func client(_ port: Int, _ spelling: String, _ scenario: String...) async throws -> [String: String] {
        let outcome = try await Command.run(
            python ?? "python3", [folder.appending(path: "pairing_client.py").path, "\(port)", spelling] + scenario)
        guard outcome.status == 0,
            let steps = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [[Any]]
        else { throw Command.Failed(message: outcome.errors) }
        var result: [String: String] = [:]
        for step in steps {
            guard let name = step.first as? String, let value = step.last else { continue }
            let data = try JSONSerialization.data(
                withJSONObject: value, options: [.fragmentsAllowed, .sortedKeys, .withoutEscapingSlashes])
            result[name] = String(decoding: data, as: UTF8.self)
        }
        return result
    }
}
