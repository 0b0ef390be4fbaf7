import CastV2
import NIOCore
import NIOPosix
import NIOSSL

/// What the listening side tells the receiver.
enum SimulatedCastInput: Sendable {
    case opened(Int, SimulatedCastWriter)
    case message(Int, CastMessage)
    case closed(Int)
    case player(PlayerEvent)
    /// Something for the journal.
    case happened(String, [String: JSONValue])
    case text(FetchedText)
    case tick
    case control(SimulatedCastControl)
    /// The group that this device is in sets its volume.
    case setByGroup(level: Double, muted: Bool)
    /// Something that somebody does at the device itself.
    case deed(@Sendable (inout CastReceiverMachine, Int64) -> Void)
}

/// The sending end of one TCP connection.
struct SimulatedCastWriter: Sendable {
    /// A sender that leaves more than this unread is dropped.
    static let maximumWaiting = 4_096

    private let records: AsyncStream<[UInt8]>.Continuation

    init(_ records: AsyncStream<[UInt8]>.Continuation) { self.records = records }

    /// One TLS record.
    func write(_ record: [UInt8]) {
        if case .dropped = records.yield(record) { close() }
    }

    /// Closes the connection once everything was written.
    func close() { records.finish() }
}

/// Listens with TLS, cuts what arrives into messages and writes what it is given: the only part of the simulated
/// receiver that knows sockets.
struct SimulatedCastServer: Sendable {
    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private let channel: NIOAsyncChannel<NIOAsyncChannel<ByteBuffer, ByteBuffer>, Never>
    private let firstConnection: Int
    let port: Int

    /// - Parameter firstConnection: the number of its first connection.
    /// - Throws: `SimulatedReceiverError.cannotListen`.
    init(host: String, port: Int, certificate: [UInt8], key: [UInt8], firstConnection: Int) async throws {
        self.firstConnection = firstConnection
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: certificate, format: .der))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: key, format: .der)))
        configuration.minimumTLSVersion = .tlsv12
        let context = try NIOSSLContext(configuration: configuration)
        do {
            channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
                .bind(host: host, port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                        return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
        } catch {
            throw SimulatedReceiverError.cannotListen(host: host, port: port, reason: "\(error)")
        }
        self.port = channel.channel.localAddress?.port ?? port
    }

    /// Serves until the task is cancelled.
    func run(_ inputs: AsyncStream<SimulatedCastInput>.Continuation) async {
        try? await channel.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { group in
                var next = firstConnection
                for try await connection in connections {
                    let id = next
                    next += 1
                    group.addTask { await Self.serve(connection, id, inputs) }
                }
            }
        }
    }

    /// Listens no more; connections that are there go on.
    func close() async { try? await channel.channel.close() }

    private static func serve(
        _ connection: Connection, _ id: Int, _ inputs: AsyncStream<SimulatedCastInput>.Continuation
    ) async {
        let (records, continuation) = AsyncStream.makeStream(
            of: [UInt8].self, bufferingPolicy: .bufferingOldest(SimulatedCastWriter.maximumWaiting))
        inputs.yield(.opened(id, SimulatedCastWriter(continuation)))
        // A connection that breaks is a closed one, whatever broke it: TLS, the frames or the network.
        try? await connection.executeThenClose { inbound, outbound in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await record in records {
                        guard (try? await outbound.write(ByteBuffer(bytes: record))) != nil else { return }
                    }
                }
                group.addTask { try? await read(inbound, id, inputs) }
                await group.next()
                group.cancelAll()
            }
        }
        continuation.finish()
        inputs.yield(.closed(id))
    }

    private static func read(
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ id: Int,
        _ inputs: AsyncStream<SimulatedCastInput>.Continuation
    ) async throws {
        var decoder = CastFrameDecoder()
        for try await buffer in inbound {
            decoder.append(buffer.readableBytesView)
            while let message = try decoder.next() { inputs.yield(.message(id, message)) }
        }
    }
}
