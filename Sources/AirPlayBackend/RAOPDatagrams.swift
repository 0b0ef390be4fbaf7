import AirPlay
import Foundation
import Pacing

/// The UDP side of one RAOP session: audio, sync and resends, and the receiver's questions of time, all on the sending
/// thread.
struct RAOPDatagrams: Sendable {
    let ring = PacketRing()
    let remote: DatagramAddress
    let control: DatagramSocket
    private let audio: DatagramSocket
    let timing: DatagramSocket
    private let pacer: Pacer
    private let answers: PacedStream

    /// Opens the sockets and begins answering questions of time: receivers ask as soon as SETUP has named the port.
    init(remote: DatagramAddress, pacer: Pacer, clock: @escaping @Sendable () -> Int64) throws(DatagramSocketError) {
        self.remote = remote
        self.pacer = pacer
        control = try DatagramSocket(towards: remote)
        timing = try DatagramSocket(towards: remote)
        audio = try DatagramSocket(towards: remote)
        let timing = timing
        answers = PacedStream(
            output: nil,
            listeners: [
                PacedStream.Listener(socket: timing) { datagram, source, receivedAt in
                    // A stranger is not told the time.
                    guard source.sameHost(as: remote), let question = RAOPTimingPacket(decoding: datagram),
                        question.kind == .request
                    else { return }
                    let reply = question.reply(
                        received: NTPTime(nanoseconds: receivedAt), transmitted: NTPTime(nanoseconds: clock()))
                    timing.send(reply.encoded(), to: source)
                }
            ])
        pacer.add(answers)
    }

    /// Begins sending, to the ports that SETUP's answer named.
    ///
    /// - Returns: the stream, to be handed to `close`.
    func start(_ ports: RAOPPorts, failed: @escaping @Sendable (Int32) -> Void) throws(DatagramSocketError)
        -> PacedStream
    {
        try audio.connect(to: remote.with(port: ports.server))
        let (ring, control, remote) = (ring, control, remote)
        let peer = ports.control.map { remote.with(port: $0) }
        let stream = PacedStream(
            output: PacedStream.Output(
                ring: ring, socket: audio, beat: { packet in if let peer { control.send(packet, to: peer) } },
                failed: failed),
            listeners: [
                PacedStream.Listener(socket: control) { datagram, source, _ in
                    guard source.sameHost(as: remote), let request = RAOPResendRequest(decoding: datagram) else {
                        return
                    }
                    ring.resend(from: request.firstSequence, count: Int(request.count)) { sequence, packet in
                        let answer = RAOPResendAnswer.header(sequence: sequence) + packet
                        control.send(answer, to: peer ?? source)
                    }
                }
            ])
        pacer.add(stream)
        return stream
    }

    /// Stops sending and answering; nothing is used any more when this returns.
    func close(_ stream: PacedStream?) async {
        if let stream { await pacer.remove(stream) }
        await pacer.remove(answers)
    }

    func wake() { pacer.wake() }
}
