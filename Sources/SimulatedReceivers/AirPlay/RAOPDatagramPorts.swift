import NIOCore
import RouteBackend

/// The three UDP sockets of a stream: audio in, control (sync and resends) and timing both ways.
struct RAOPDatagramPorts: Sendable {
    enum Role: Sendable { case audio, control, timing }

    struct Packet: Sendable {
        var role: Role
        var bytes: [UInt8]
        /// Host monotonic nanoseconds when it arrived.
        var hostNanoseconds: Int64
    }

    private let audio: StampedDatagramSocket
    private let control: StampedDatagramSocket
    private let timing: StampedDatagramSocket
    /// Packets of all three, in the order they were read. A reader that falls 16,384 behind loses the next ones.
    let packets: AsyncStream<Packet>
    private let continuation: AsyncStream<Packet>.Continuation

    /// Opens them on free ports of `host`. Throws `SimulatedReceiverError.cannotListen`.
    static func open(host: String, clock: any HostClock) throws -> RAOPDatagramPorts {
        let (packets, continuation) = AsyncStream.makeStream(
            of: Packet.self, bufferingPolicy: .bufferingOldest(16_384))
        func bind(_ role: Role) throws -> StampedDatagramSocket {
            try StampedDatagramSocket(host: host, port: 0, capacity: 4096, receiveBuffer: 1 << 20) {
                continuation.yield(Packet(role: role, bytes: $0.bytes, hostNanoseconds: $0.arrival(by: clock)))
            }
        }
        return RAOPDatagramPorts(
            audio: try bind(.audio), control: try bind(.control), timing: try bind(.timing), packets: packets,
            continuation: continuation)
    }

    var audioPort: Int { audio.port }
    var controlPort: Int { control.port }
    var timingPort: Int { timing.port }

    /// Sends without waiting: datagrams may get lost anyway.
    func send(_ bytes: [UInt8], from role: Role, to address: SocketAddress) {
        switch role {
        case .audio: audio.send(bytes, to: address)
        case .control: control.send(bytes, to: address)
        case .timing: timing.send(bytes, to: address)
        }
    }

    /// Gives the ports back and ends `packets`.
    func close() async {
        for socket in [audio, control, timing] { await socket.close() }
        continuation.finish()
    }
}
