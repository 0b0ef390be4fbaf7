import AirPlay
import Foundation
import Pacing
import Synchronization

/// The UDP side of one session: audio, sync and resends, and the receiver's questions of time, all on the sending
/// thread.
struct AirPlayDatagrams: Sendable {
    let ring = PacketRing()
    let remote: DatagramAddress
    let control: DatagramSocket
    let timing: DatagramSocket
    /// What came in.
    let witness = DatagramWitness()
    private let audio: DatagramSocket
    private let pacer: Pacer
    private let answers: PacedStream

    /// Opens the sockets and begins answering questions of time: receivers ask as soon as SETUP has named the port.
    init(remote: DatagramAddress, pacer: Pacer, clock: @escaping @Sendable () -> Int64) throws(DatagramSocketError) {
        self.remote = remote
        self.pacer = pacer
        control = try DatagramSocket(towards: remote)
        timing = try DatagramSocket(towards: remote)
        audio = try DatagramSocket(towards: remote)
        let (timing, witness) = (timing, witness)
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
                    witness.noteQuestion(at: receivedAt)
                }
            ])
        pacer.add(answers)
    }

    /// Begins sending, to the ports that SETUP's answer named.
    ///
    /// - Returns: the stream, to be handed to `close`.
    func start(
        audioPort: Int, controlPort: Int?, failed: @escaping @Sendable (Int32) -> Void
    ) throws(DatagramSocketError) -> PacedStream {
        try audio.connect(to: remote.with(port: audioPort))
        let (ring, control, remote, witness) = (ring, control, remote, witness)
        let peer = controlPort.map { remote.with(port: $0) }
        let stream = PacedStream(
            output: PacedStream.Output(
                ring: ring, socket: audio, beat: { packet in if let peer { control.send(packet, to: peer) } },
                failed: failed),
            listeners: [
                PacedStream.Listener(socket: control) { datagram, source, receivedAt in
                    guard source.sameHost(as: remote), let request = RAOPResendRequest(decoding: datagram) else {
                        return
                    }
                    witness.noteResendRequest()
                    let count = witness.grant(Int(request.count), at: receivedAt)
                    ring.resend(from: request.firstSequence, count: count) { sequence, packet in
                        let answer = RAOPResendAnswer.header(sequence: sequence) + packet
                        control.send(answer, to: peer ?? source)
                    }
                }
            ])
        pacer.add(stream)
        return stream
    }

    /// What the receiver's questions of time show.
    var evidence: PlayingEvidence.Source {
        let witness = witness
        return PlayingEvidence.Source(
            clock: { .questions(count: witness.timing.questions, last: witness.timing.last) },
            ports: min(control.port, timing.port)...max(control.port, timing.port))
    }

    /// Stops sending and answering; nothing is used any more when this returns.
    func close(_ stream: PacedStream?) async {
        if let stream { await pacer.remove(stream) }
        await pacer.remove(answers)
    }

    func wake() { pacer.wake() }
}

/// What a receiver's datagrams show of it: whether it asks the time, and for what was lost.
///
/// Written on the sending thread, read by the session.
final class DatagramWitness: Sendable {
    private let questions = Atomic<Int>(0)
    private let lastQuestion = Atomic<Int64>(0)
    private let resendRequests = Atomic<Int>(0)
    private let windowStart = Atomic<Int64>(.min)
    private let granted = Atomic<Int>(0)

    /// Packets that may be asked for again in a second: eight times what is played in one. The sending thread is
    /// everybody's, and what asks for everything without end is not to have it for itself.
    static let resendsPerSecond = 1024

    /// How often it asked the time, and when last, in host nanoseconds.
    var timing: (questions: Int, last: Int64) {
        (questions.load(ordering: .relaxed), lastQuestion.load(ordering: .relaxed))
    }
    /// How often it asked for packets again.
    var resends: Int { resendRequests.load(ordering: .relaxed) }

    func noteQuestion(at instant: Int64) {
        questions.wrappingAdd(1, ordering: .relaxed)
        lastQuestion.store(instant, ordering: .relaxed)
    }

    /// How many of so many packets may be sent again now. For the sending thread alone.
    func grant(_ count: Int, at instant: Int64) -> Int {
        let start = windowStart.load(ordering: .relaxed)
        // The first window begins long before any instant.
        if start == .min || instant - start >= 1_000_000_000 {
            windowStart.store(instant, ordering: .relaxed)
            granted.store(0, ordering: .relaxed)
        }
        let given = min(count, Self.resendsPerSecond - granted.load(ordering: .relaxed))
        granted.wrappingAdd(given, ordering: .relaxed)
        return given
    }

    func noteResendRequest() { resendRequests.wrappingAdd(1, ordering: .relaxed) }
}
