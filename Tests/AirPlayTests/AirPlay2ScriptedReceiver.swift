import HomeKitPairing
import NIOCore
import NIOPosix

@testable import AirPlay

/// A receiver that answers as its script says: a real server on the loop-back, for tests of the client only.
actor AirPlay2ScriptedReceiver {
    struct Answer: Sendable {
        /// Nil: it says nothing.
        var response: RTSPResponse?
        /// From the byte behind the answer on.
        var keys: ChannelKeys?
        /// Follows in the same write, sealed where `keys` are there.
        var trailing: [UInt8] = []
        var closes = false

        init(_ response: RTSPResponse? = RTSPResponse(), keys: ChannelKeys? = nil) {
            self.response = response
            self.keys = keys
        }
    }

    private var channel: NIOAsyncChannel<NIOAsyncChannel<ByteBuffer, ByteBuffer>, Never>?
    private(set) var requests: [RTSPRequest] = []
    private let script: @Sendable (RTSPRequest) async -> Answer

    init(_ script: @escaping @Sendable (RTSPRequest) async -> Answer) { self.script = script }

    /// Listens while `body` runs, which is given the port.
    func serve<Result: Sendable>(
        port: Int = 0, _ body: @Sendable @escaping (Int) async throws -> Result
    ) async throws -> Result {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        let bound = server.channel.localAddress?.port ?? 0
        return try await server.executeThenClose { clients in
            try await withThrowingTaskGroup(of: Result?.self) { group in
                group.addTask {
                    await withDiscardingTaskGroup { connections in
                        do {
                            for try await client in clients {
                                connections.addTask { try? await self.serve(client) }
                            }
                        } catch {}
                    }
                    return nil
                }
                group.addTask { try await body(bound) }
                defer { group.cancelAll() }
                while let result = try await group.next() {
                    if let result { return result }
                }
                throw CancellationError()
            }
        }
    }

    private func serve(_ client: NIOAsyncChannel<ByteBuffer, ByteBuffer>) async throws {
        try await client.executeThenClose { inbound, outbound in
            var stream = EncryptedByteStream(.accessory)
            let decoder = RTSPMessageDecoder()
            for try await chunk in inbound {
                try stream.receive(chunk.readableBytesView)
                while let (message, used) = try decoder.decode(stream.readable) {
                    stream.consume(used)
                    guard case .request(let request) = message else { continue }
                    requests.append(request)
                    let answer = await script(request)
                    var bytes: [UInt8] = []
                    if var response = answer.response {
                        if let number = request.headers["CSeq"], response.headers["CSeq"] == nil {
                            response.headers["CSeq"] = number
                        }
                        bytes += stream.seal(response.encoded())
                    }
                    if let keys = answer.keys { try stream.encrypt(with: keys) }
                    if !answer.trailing.isEmpty { bytes += stream.seal(answer.trailing) }
                    try await outbound.write(ByteBuffer(bytes: bytes))
                    if answer.closes { return }
                }
            }
        }
    }
}
