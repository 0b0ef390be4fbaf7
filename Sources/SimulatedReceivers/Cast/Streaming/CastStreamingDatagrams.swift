import NIOCore
import RouteBackend

/// The UDP socket of a streaming session: RTP in, RTCP both ways.
struct CastStreamingDatagrams: Sendable {
    struct Datagram: Sendable {
        /// Which session's socket it came by.
        var session: Int
        var bytes: [UInt8]
        var sender: SocketAddress
        /// Host monotonic nanoseconds when it arrived.
        var hostNanoseconds: Int64
    }

    private let socket: StampedDatagramSocket
    var port: Int { socket.port }

    /// Opens a free port of `host`; what arrives goes to `datagrams`. Throws `SimulatedReceiverError.cannotListen`.
    static func open(
        host: String, session: Int, clock: any HostClock, datagrams: AsyncStream<Datagram>.Continuation
    ) throws -> CastStreamingDatagrams {
        let socket = try StampedDatagramSocket(host: host, port: 0, capacity: 9_216, receiveBuffer: 4 << 20) {
            datagrams.yield(
                Datagram(
                    session: session, bytes: $0.bytes, sender: $0.sender, hostNanoseconds: $0.arrival(by: clock)))
        }
        return CastStreamingDatagrams(socket: socket)
    }

    /// Sends without waiting: datagrams may get lost anyway.
    func send(_ bytes: [UInt8], to address: SocketAddress) { socket.send(bytes, to: address) }

    func close() async { await socket.close() }
}
