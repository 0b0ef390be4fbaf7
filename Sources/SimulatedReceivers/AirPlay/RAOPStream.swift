import AirPlay
import NIOCore
import RouteBackend

/// What a simulated receiver keeps for one stream, from SETUP to its end. Belongs to the receiver's actor.
final class RAOPStream {
    /// Which connection it came by.
    let connection: Int
    let ports: RAOPDatagramPorts
    private let decoder: RAOPPayloadDecoder
    private let faults: SimulatedRAOPFaults
    private let controlAddress: SocketAddress?
    private let timingAddress: SocketAddress?
    private var playout: RAOPPlayout
    private var clockEstimate = RAOPClockEstimate()
    private var chance: SeededChance
    private var syncsToDrop: Int
    private var timesAsked = 0
    private var lossesCounted = 0
    private var nextAsk = Int64.min
    private var firstAsk = Int64.min
    /// When RECORD came.
    var recordedAt: Int64?
    /// Those that somebody is yet to press.
    private var buttons: [SimulatedAirPlayButton.Timed]
    /// The reading and the ticking of it, owned by the receiver.
    var task: Task<Void, Never>?

    init(
        connection: Int, ports: RAOPDatagramPorts, decoder: RAOPPayloadDecoder,
        configuration: SimulatedRAOPConfiguration, controlAddress: SocketAddress?, timingAddress: SocketAddress?,
        firstFrame: Int
    ) {
        self.connection = connection
        self.ports = ports
        self.decoder = decoder
        faults = configuration.faults
        self.controlAddress = controlAddress
        self.timingAddress = timingAddress
        playout = RAOPPlayout(latencyFrames: configuration.latencyFrames, framesOut: firstFrame)
        chance = SeededChance(seed: configuration.faults.seed)
        syncsToDrop = configuration.faults.dropSyncs
        buttons = configuration.buttons
    }

    /// Those that are pressed until so many seconds after RECORD, once.
    func takeButtons(until seconds: Double) -> [SimulatedAirPlayButton] {
        defer { buttons.removeAll { $0.seconds <= seconds } }
        return buttons.filter { $0.seconds <= seconds }.map(\.button)
    }

    func expect(_ info: RTPInfo) { playout.expect(sequence: info.sequence) }

    func flush(_ info: RTPInfo) { playout.flush(before: info.sequence) }

    /// A datagram came in.
    func take(_ packet: RAOPDatagramPorts.Packet, _ record: inout SimulatedRAOPRecord) {
        switch packet.role {
        case .audio: takeAudio(packet.bytes, isAnswer: false, &record)
        case .control:
            if let sync = RAOPSyncPacket(decoding: packet.bytes) {
                takeSync(sync, packet, &record)
            } else if let answer = RAOPResendAnswer(decoding: packet.bytes) {
                takeAudio(answer.packet, isAnswer: true, &record)
            }
        case .timing:
            guard let answer = RAOPTimingPacket(decoding: packet.bytes), answer.kind == .reply else { return }
            clockEstimate.answered(
                origin: answer.origin.nanoseconds, received: answer.receive.nanoseconds,
                transmitted: answer.transmit.nanoseconds, at: packet.hostNanoseconds)
            record.timingExchanges += 1
        }
    }

    private func takeAudio(_ bytes: [UInt8], isAnswer: Bool, _ record: inout SimulatedRAOPRecord) {
        guard let header = RTPAudioHeader(decoding: bytes) else { return }
        if faults.dropAudio > 0, chance.next() < faults.dropAudio {
            record.droppedPackets += 1
            return
        }
        if !isAnswer { record.audioPackets += 1 }
        guard let samples = decoder.decode(Array(bytes.dropFirst(RTPAudioHeader.byteCount))) else {
            record.undecodablePackets += 1
            return
        }
        switch playout.insert(sequence: header.sequence, rtpTime: header.timestamp, samples: samples) {
        case .recovered: record.recoveredPackets += 1
        case .late:
            record.latePackets += 1
            countLosses(&record)
        case .queued, .superfluous: break
        }
    }

    private func takeSync(
        _ sync: RAOPSyncPacket, _ packet: RAOPDatagramPorts.Packet, _ record: inout SimulatedRAOPRecord
    ) {
        guard syncsToDrop == 0 else {
            syncsToDrop -= 1
            return
        }
        record.syncPackets += 1
        if sync.first { record.firstSyncPackets += 1 }
        let time = sync.time.nanoseconds
        clockEstimate.sawSync(sender: time, at: packet.hostNanoseconds)
        // Of the two spellings of the length field only iTunes's leaves the device's own latency out.
        playout.sync(
            playing: sync.playing, senderTime: time, addsLatency: packet.bytes[3] == 7,
            arrival: packet.hostNanoseconds)
    }

    /// Asks what has to be asked, and says what was heard since the last time.
    func tick(at now: Int64, _ record: inout SimulatedRAOPRecord) -> RAOPPlayout.Rendering {
        askTheTime(now)
        if !faults.ignoresGaps, let controlAddress {
            for gap in playout.gapsToAskFor(at: now) {
                let request = RAOPResendRequest(firstSequence: gap.first, count: gap.count)
                ports.send(request.encoded(), from: .control, to: controlAddress)
                record.resendRequests += 1
            }
        }
        // A second for the first answer; who has given none by then is not going to.
        let waits = timesAsked > 0 && now - firstAsk < 1_000_000_000
        guard let offset = waits ? clockEstimate.measured : clockEstimate.offset else {
            return RAOPPlayout.Rendering()
        }
        let rendering = playout.render(at: now, offset: offset)
        countLosses(&record)
        return rendering
    }

    private func countLosses(_ record: inout SimulatedRAOPRecord) {
        record.lostPackets += playout.lostPackets - lossesCounted
        lossesCounted = playout.lostPackets
    }

    private func askTheTime(_ now: Int64) {
        guard !faults.ignoresTiming, let timingAddress, now >= nextAsk else { return }
        // Three at once, so to say, to get a good one early; then now and then.
        if timesAsked == 0 { firstAsk = now }
        timesAsked += 1
        nextAsk = now + (timesAsked < 3 ? 300_000_000 : 3_000_000_000)
        let zero = NTPTime(rawValue: 0)
        let request = RAOPTimingPacket(kind: .request, origin: zero, receive: zero, transmit: NTPTime(nanoseconds: now))
        clockEstimate.asked(at: now)
        ports.send(request.encoded(), from: .timing, to: timingAddress)
    }
}

/// Chances that come out the same for the same seed.
struct SeededChance: Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// 0 up to, not including, 1 (SplitMix64).
    mutating func next() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((z ^ (z >> 31)) >> 11) / Double(1 << 53)
    }
}
