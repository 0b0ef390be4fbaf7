import AirPlay
import HomeKitPairing
import NIOCore

/// What a receiver keeps for one buffered stream, from SETUP to its end. Belongs to the receiver's actor.
final class AirPlay2BufferedStream {
    /// What SETUP said.
    let format: AirPlay2SoundFormat
    private let framesPerPacket: Int?
    private let key: [UInt8]
    private let ignoresCodecWord: Bool
    private let capacity: Int
    private var playout: BufferedPlayout
    private var decoders: [AirPlay2SoundFormat: AirPlay2SoundDecoder] = [:]

    /// - Parameter firstFrame: frames that the recording holds already.
    init(
        _ format: AirPlay2SoundFormat, framesPerPacket: Int?, key: [UInt8],
        configuration: SimulatedAirPlay2Configuration, firstFrame: Int
    ) {
        self.format = format
        self.framesPerPacket = framesPerPacket
        self.key = key
        ignoresCodecWord = configuration.ignoresCodecWord
        capacity = configuration.bufferBytes
        playout = BufferedPlayout(sampleRate: format.sampleRate, framesOut: firstFrame)
    }

    var isFull: Bool { playout.heldBytes >= capacity }

    /// One packet, without the two bytes of its length.
    func take(_ packet: AirPlay2BufferedPacket, _ record: inout SimulatedAirPlay2Record) {
        record.audioPackets += 1
        guard let payload = AirPlay2SealedAudio.open(packet.bytes, key: key) else {
            record.undecodablePackets += 1
            return
        }
        guard soundFormat(packet.ssrc) != nil else {
            record.unknownCodecPackets += 1
            return
        }
        playout.insert(
            BufferedPlayout.Packet(sequence: packet.sequence, ssrc: packet.ssrc, payload: payload),
            rtpTime: packet.rtpTime)
    }

    func anchor(_ request: AirPlay2AnchorRequest, arrival: Int64) {
        switch request {
        case .pause: playout.pause()
        case .play(let rtpTime, let time, _): playout.play(from: rtpTime, at: time, arrival: arrival)
        }
    }

    func flush(_ request: AirPlay2FlushRequest) {
        playout.flush(from: request.fromSequence, until: request.untilSequence)
        if request.fromSequence == nil {
            for decoder in decoders.values { decoder.reset() }
        }
    }

    /// What was heard since the last time.
    func tick(at now: Int64, offset: Int64?, _ record: inout SimulatedAirPlay2Record) -> FrameRendering<Int32> {
        guard let offset else { return FrameRendering() }
        let (undecodable, skipped) = (playout.undecodable, playout.skippedFrames)
        let rendering = playout.render(at: now, offset: offset) { packet in
            self.soundFormat(packet.ssrc).flatMap { self.decoder($0)?.decode(packet.payload) }
        }
        record.undecodablePackets += playout.undecodable - undecodable
        record.skippedFrames += playout.skippedFrames - skipped
        return rendering
    }

    /// How a packet with this word is to be heard; nil where it is not.
    private func soundFormat(_ ssrc: UInt32) -> AirPlay2SoundFormat? {
        if ignoresCodecWord { return format }
        guard let named = AirPlay2SoundFormat(ssrc: ssrc), named.sampleRate == format.sampleRate,
            named.bitDepth == format.bitDepth
        else { return nil }
        return named
    }

    private func decoder(_ format: AirPlay2SoundFormat) -> AirPlay2SoundDecoder? {
        if let decoder = decoders[format] { return decoder }
        let frames = format == self.format ? framesPerPacket : nil
        decoders[format] = AirPlay2SoundDecoder(format, framesPerPacket: frames)
        return decoders[format]
    }
}

/// One packet of a buffered stream (`Protocols/airplay/README.md`, “Buffered audio”).
struct AirPlay2BufferedPacket: Sendable, Equatable {
    /// Of 23 bits.
    var sequence: UInt32
    var rtpTime: UInt32
    /// Names the codec.
    var ssrc: UInt32
    /// The whole packet, header and seal included.
    var bytes: [UInt8]

    /// Why bytes are no packets: the connection is of no use then.
    enum Malformed: Error, Equatable {
        /// Too short to hold a header and a seal.
        case length(Int)
        case notRTP
    }

    /// The first packet of `bytes` and how many bytes it took; nil while it isn't whole.
    static func decode(_ bytes: ArraySlice<UInt8>) throws(Malformed) -> (packet: AirPlay2BufferedPacket, used: Int)? {
        guard bytes.count >= 2 else { return nil }
        let start = bytes.startIndex
        // It counts itself.
        let length = Int(bytes[start]) << 8 | Int(bytes[start + 1])
        guard length >= 2 + AirPlay2SealedAudio.shortest else { throw .length(length) }
        guard bytes.count >= length else { return nil }
        let packet = Array(bytes[(start + 2)..<(start + length)])
        guard packet[0] & 0xC0 == 0x80 else { throw .notRTP }
        func number(_ range: Range<Int>) -> UInt32 { packet[range].reduce(0) { $0 << 8 | UInt32($1) } }
        return (
            AirPlay2BufferedPacket(
                sequence: number(0..<4) & 0x7F_FFFF, rtpTime: number(4..<8), ssrc: number(8..<12), bytes: packet),
            length
        )
    }
}
