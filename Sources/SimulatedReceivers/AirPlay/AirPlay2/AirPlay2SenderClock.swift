import AirPlay
import NIOCore

/// What a receiver knows of the time of the sender whose session it is. Belongs to the receiver's actor.
final class AirPlay2SenderClock {
    enum Kind {
        /// Where the sender answers questions.
        case ntp(SocketAddress?)
        case ptp
        case none
    }

    let kind: Kind
    private let asks: Bool
    private var estimate = RAOPClockEstimate()
    private var timesAsked = 0
    private var nextAsk = Int64.min
    private var firstAsk = Int64.min
    /// What a PTP slave found, master minus ours; nil while it is not sure.
    var masterOffset: Int64?

    /// - Parameter asks: false never asks, as a fault.
    init(_ kind: Kind, asks: Bool) {
        self.kind = kind
        self.asks = asks
    }

    /// Asks where it is time to, over `ports`.
    func tick(at now: Int64, _ ports: RAOPDatagramPorts) {
        guard case .ntp(let address?) = kind, asks, now >= nextAsk else { return }
        if timesAsked == 0 { firstAsk = now }
        timesAsked += 1
        nextAsk = now + (timesAsked < 3 ? 300_000_000 : 3_000_000_000)
        let zero = NTPTime(rawValue: 0)
        let request = RAOPTimingPacket(kind: .request, origin: zero, receive: zero, transmit: NTPTime(nanoseconds: now))
        estimate.asked(at: now)
        ports.send(request.encoded(), from: .timing, to: address)
    }

    /// A datagram of the timing port. True where it is an answer.
    func take(_ packet: RAOPDatagramPorts.Packet) -> Bool {
        guard let answer = RAOPTimingPacket(decoding: packet.bytes), answer.kind == .reply else { return false }
        estimate.answered(
            origin: answer.origin.nanoseconds, received: answer.receive.nanoseconds,
            transmitted: answer.transmit.nanoseconds, at: packet.hostNanoseconds)
        return true
    }

    /// A sync packet says `sender`; of use where the sender answers no questions.
    func sawSync(sender: Int64, at host: Int64) { estimate.sawSync(sender: sender, at: host) }

    /// The sender's nanoseconds minus ours; nil while that is not known.
    func offset(at now: Int64) -> Int64? {
        switch kind {
        case .none: return nil
        case .ptp: return masterOffset
        case .ntp:
            // A second for the first answer; who has given none by then is not going to.
            let waits = timesAsked > 0 && now - firstAsk < 1_000_000_000
            return waits ? estimate.measured : estimate.offset
        }
    }
}
