import AirPlay
import HomeKitPairing
import NIOCore

/// What a receiver keeps for one realtime stream, from SETUP to its end. Belongs to the receiver's actor.
final class AirPlay2RealtimeStream {
    let format: AirPlay2SoundFormat
    private let decoder: AirPlay2SoundDecoder
    private let key: [UInt8]
    private let faults: SimulatedAirPlay2Faults
    /// Where to ask for packets again.
    private let controlAddress: SocketAddress?
    private var playout: FramePlayout<Int32>
    private var chance: SeededChance
    private var syncsToDrop: Int
    private var lossesCounted = 0

    /// - Parameters:
    ///   - latencyFrames: what is added to the time of sync packets.
    ///   - firstFrame: frames that the recording holds already.
    init(
        decoder: AirPlay2SoundDecoder, key: [UInt8], faults: SimulatedAirPlay2Faults, controlAddress: SocketAddress?,
        latencyFrames: Int, firstFrame: Int
    ) {
        format = decoder.format
        self.decoder = decoder
        self.key = key
        self.faults = faults
        self.controlAddress = controlAddress
        playout = FramePlayout(
            latencyFrames: latencyFrames, sampleRate: decoder.format.sampleRate, framesOut: firstFrame)
        chance = SeededChance(seed: faults.seed)
        syncsToDrop = faults.dropSyncs
    }

    func expect(_ info: RTPInfo) { playout.expect(sequence: info.sequence) }

    func flush(_ info: RTPInfo) { playout.flush(before: info.sequence) }

    /// A datagram of the audio port, or a packet sent again.
    func takeAudio(_ bytes: [UInt8], isAnswer: Bool, _ record: inout SimulatedAirPlay2Record) {
        guard let header = RTPAudioHeader(decoding: bytes) else { return }
        if faults.dropAudio > 0, chance.next() < faults.dropAudio {
            record.droppedPackets += 1
            return
        }
        if !isAnswer { record.audioPackets += 1 }
        guard let payload = AirPlay2SealedAudio.open(bytes, key: key), let samples = decoder.decode(payload) else {
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

    /// A datagram of the control port.
    func takeControl(
        _ packet: RAOPDatagramPorts.Packet, _ clock: AirPlay2SenderClock, _ record: inout SimulatedAirPlay2Record
    ) {
        if let answer = RAOPResendAnswer(decoding: packet.bytes) {
            takeAudio(answer.packet, isAnswer: true, &record)
        } else if let sync = RAOPSyncPacket(decoding: packet.bytes), case .ntp = clock.kind {
            guard countsSync(first: sync.first, &record) else { return }
            let time = sync.time.nanoseconds
            clock.sawSync(sender: time, at: packet.hostNanoseconds)
            playout.sync(
                playing: sync.playing, senderTime: time, addsLatency: packet.bytes[3] == 7,
                arrival: packet.hostNanoseconds)
        } else if let sync = AirPlay2ClockSync(decoding: packet.bytes), case .ptp = clock.kind {
            guard countsSync(first: sync.first, &record) else { return }
            playout.sync(
                playing: sync.frame, senderTime: sync.time, addsLatency: true, arrival: packet.hostNanoseconds)
        }
    }

    private func countsSync(first: Bool, _ record: inout SimulatedAirPlay2Record) -> Bool {
        guard syncsToDrop == 0 else {
            syncsToDrop -= 1
            return false
        }
        record.syncPackets += 1
        if first { record.firstSyncPackets += 1 }
        return true
    }

    /// Asks for what is missing, and says what was heard since the last time.
    func tick(
        at now: Int64, offset: Int64?, _ ports: RAOPDatagramPorts, _ record: inout SimulatedAirPlay2Record
    ) -> FrameRendering<Int32> {
        if !faults.ignoresGaps, let controlAddress {
            for gap in playout.gapsToAskFor(at: now) {
                let request = RAOPResendRequest(firstSequence: gap.first, count: gap.count)
                ports.send(request.encoded(), from: .control, to: controlAddress)
                record.resendRequests += 1
            }
        }
        guard let offset else { return FrameRendering() }
        let rendering = playout.render(at: now, offset: offset)
        countLosses(&record)
        return rendering
    }

    private func countLosses(_ record: inout SimulatedAirPlay2Record) {
        record.lostPackets += playout.lostPackets - lossesCounted
        lossesCounted = playout.lostPackets
    }
}

/// A packet of sound as AirPlay 2 seals it: the RTP header, the ciphertext with its tag, and 8 bytes of nonce
/// (`Protocols/airplay/README.md`, “Sealed audio”).
enum AirPlay2SealedAudio {
    private static let headerLength = 12
    private static let tagLength = 16
    private static let nonceLength = 8
    static let shortest = headerLength + tagLength + nonceLength

    /// Nil where it is too short or not sealed by this key.
    static func open(_ packet: [UInt8], key: [UInt8]) -> [UInt8]? {
        guard packet.count >= shortest else { return nil }
        return PairingCrypto.open(
            packet[headerLength..<(packet.count - nonceLength)], key: key, nonce: Array(packet.suffix(nonceLength)),
            authenticating: Array(packet[4..<headerLength]))
    }
}

/// Tells which frame belongs to which time of the grandmaster (`Protocols/airplay/README.md`, “Packets”).
struct AirPlay2ClockSync: Sendable, Equatable {
    static let byteCount = 28

    /// Set after a start or a flush.
    var first: Bool
    var frame: UInt32
    /// Nanoseconds of the grandmaster's clock.
    var time: Int64
    /// The frame that is sent next.
    var next: UInt32
    var clock: UInt64

    /// Nil where it is too short, or another kind.
    init?(decoding bytes: [UInt8]) {
        guard bytes.count >= Self.byteCount, bytes[0] & 0xC0 == 0x80, bytes[1] & 0x7F == 0x57 else { return nil }
        func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
        guard let time = Int64(exactly: number(8..<16)), time < 4_000_000_000_000_000_000 else { return nil }
        first = bytes[0] & 0x10 != 0
        frame = UInt32(number(4..<8))
        self.time = time
        next = UInt32(number(16..<20))
        clock = number(20..<28)
    }
}
