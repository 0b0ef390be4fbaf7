import CastV2
import NIOCore
import NIOSSL

/// What the listening side tells the receiver.
enum SimulatedCastInput: Sendable {
    case opened(Int, SimulatedCastWriter)
    case message(Int, CastMessage)
    case closed(Int)
    case player(PlayerEvent)
    case text(FetchedText)
    /// Something for the journal.
    case happened(String, [String: JSONValue])
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

    private let listener: ClientListener<ByteBuffer, ByteBuffer>
    private let firstConnection: Int
    var port: Int { listener.port }

    /// - Parameter firstConnection: the number of its first connection.
    /// - Throws: `SimulatedReceiverError.cannotListen`.
    init(host: String, port: Int, certificate: [UInt8], key: [UInt8], firstConnection: Int) async throws {
        self.firstConnection = firstConnection
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: certificate, format: .der))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: key, format: .der)))
        configuration.minimumTLSVersion = .tlsv12
        let context = try NIOSSLContext(configuration: configuration)
        listener = try await ClientListener.bind(host: host, port: port) { channel in
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
        }
    }

    /// Serves until the task is cancelled.
    func run(_ inputs: AsyncStream<SimulatedCastInput>.Continuation) async {
        await listener.run { await Self.serve($0, firstConnection + $1, inputs) }
    }

    /// Listens no more; connections that are there go on.
    func close() async { await listener.close() }

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
