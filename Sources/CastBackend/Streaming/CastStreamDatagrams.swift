import CastV2
import Pacing

/// The UDP side of one stream: packets and sender reports by the sending thread, the receiver's reports to whoever reads
/// them.
struct CastStreamDatagrams: Sendable {
    struct Inbound: Sendable {
        var bytes: [UInt8]
        /// Host nanoseconds.
        var at: Int64
    }

    /// Reports that wait to be read, at most: newer ones say all that older ones did.
    private static let backlog = 64

    let inbound: AsyncStream<Inbound>
    private let ring: PacketRing
    private let socket: DatagramSocket
    private let stream: PacedStream
    private let pacer: Pacer
    private let reports: AsyncStream<Inbound>.Continuation

    /// - Parameters:
    ///   - remote: where the receiver takes RTP and RTCP.
    ///   - failed: told the `errno` of what could not be sent.
    init(
        remote: DatagramAddress, ring: PacketRing, pacer: Pacer, failed: @escaping @Sendable (Int32) -> Void
    ) throws(DatagramSocketError) {
        let socket = try DatagramSocket(towards: remote)
        try socket.connect(to: remote)
        let (inbound, reports) = AsyncStream.makeStream(
            of: Inbound.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        self.inbound = inbound
        self.reports = reports
        self.ring = ring
        self.socket = socket
        self.pacer = pacer
        stream = PacedStream(
            output: PacedStream.Output(
                ring: ring, socket: socket, beat: { packet in socket.send(packet) }, failed: failed),
            listeners: [
                PacedStream.Listener(socket: socket) { datagram, _, receivedAt in
                    reports.yield(Inbound(bytes: Array(datagram), at: receivedAt))
                }
            ])
        pacer.add(stream)
    }

    /// Sends a packet now, beside those that wait.
    func send(_ bytes: [UInt8]) { socket.send(bytes) }

    func wake() { pacer.wake() }

    /// Stops; nothing is used any more when this returns.
    func close() async {
        await pacer.remove(stream)
        reports.finish()
    }
}
