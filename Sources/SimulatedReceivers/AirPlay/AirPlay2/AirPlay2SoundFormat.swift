import AirPlay
import CAVCodec

/// What the packets of a stream hold: one bit of `audioFormat` (`Protocols/airplay/README.md`, “Audio formats”), or one
/// word of a buffered packet's SSRC. Always stereo.
struct AirPlay2SoundFormat: Sendable, Hashable {
    enum Codec: String, Sendable, Hashable { case pcm, appleLossless, aac }

    var codec: Codec
    /// 44,100 or 48,000.
    var sampleRate: Int
    /// 16 or 24; AAC has none of its own and is decoded to 16.
    var bitDepth: Int

    /// Frames of a packet, where the sender does not say.
    var framesPerPacket: Int { codec == .aac ? 1024 : 352 }

    init(_ codec: Codec, _ sampleRate: Int, _ bitDepth: Int = 16) {
        self.codec = codec
        self.sampleRate = sampleRate
        self.bitDepth = bitDepth
    }

    /// Nil where it is no single bit, or one for mono or for a codec that there is no decoder for here.
    init?(audioFormat: UInt64) {
        guard let format = Self.bits[audioFormat] else { return nil }
        self = format
    }

    /// Nil for a word that names none; 0 is such a word.
    init?(ssrc: UInt32) {
        guard let format = Self.words[ssrc] else { return nil }
        self = format
    }

    private static let bits: [UInt64: AirPlay2SoundFormat] = [
        0x800: .init(.pcm, 44_100), 0x2000: .init(.pcm, 44_100, 24), 0x8000: .init(.pcm, 48_000),
        0x2_0000: .init(.pcm, 48_000, 24), 0x4_0000: .init(.appleLossless, 44_100),
        0x8_0000: .init(.appleLossless, 44_100, 24), 0x10_0000: .init(.appleLossless, 48_000),
        0x20_0000: .init(.appleLossless, 48_000, 24), 0x40_0000: .init(.aac, 44_100), 0x80_0000: .init(.aac, 48_000),
    ]

    private static let words: [UInt32: AirPlay2SoundFormat] = [
        0xFACE: .init(.appleLossless, 44_100), 0x1500_0000: .init(.appleLossless, 48_000, 24),
        0x1600_0000: .init(.aac, 44_100), 0x1700_0000: .init(.aac, 48_000),
    ]
}

/// Turns the payloads of one stream, already in the clear, into interleaved samples as large as the format's depth
/// allows. Packets of PCM and Apple Lossless stand for themselves; those of AAC build on the one before. Belongs to the one actor that
/// plays.
final class AirPlay2SoundDecoder {
    private enum Decoder {
        case pcm
        case appleLossless(AppleLosslessDecoder)
        case aac(AVDecoder)
    }

    let format: AirPlay2SoundFormat
    private let decoder: Decoder

    /// Nil where libavcodec lacks the codec.
    ///
    /// - Parameter framesPerPacket: what SETUP said; nil takes the usual number.
    init?(_ format: AirPlay2SoundFormat, framesPerPacket: Int? = nil) {
        self.format = format
        switch format.codec {
        case .pcm: decoder = .pcm
        case .appleLossless:
            var numbers = RAOPSessionDescription.ALACFormat()
            numbers.framesPerPacket = framesPerPacket ?? format.framesPerPacket
            numbers.bitDepth = format.bitDepth
            numbers.sampleRate = format.sampleRate
            guard let lossless = AppleLosslessDecoder(numbers) else { return nil }
            decoder = .appleLossless(lossless)
        case .aac:
            guard let aac = Self.aac(sampleRate: format.sampleRate) else { return nil }
            decoder = .aac(aac)
        }
    }

    /// Nil when the payload is damaged.
    func decode(_ payload: [UInt8]) -> [Int32]? {
        switch decoder {
        case .pcm: pcm(payload)
        case .appleLossless(let decoder): decoder.decodeWide(payload)
        case .aac(let decoder): Self.aac(payload, decoder)
        }
    }

    /// What comes next does not go on from what came before.
    func reset() {
        if case .aac(let decoder) = decoder { decoder.reset() }
    }

    /// Big-endian, as RAOP's.
    private func pcm(_ payload: [UInt8]) -> [Int32]? {
        let width = format.bitDepth / 8
        guard !payload.isEmpty, payload.count.isMultiple(of: 2 * width) else { return nil }
        return stride(from: 0, to: payload.count, by: width).map { start in
            let first = Int32(Int8(bitPattern: payload[start]))
            return payload[(start + 1)..<(start + width)].reduce(first) { $0 << 8 | Int32($1) }
        }
    }

    private static func aac(sampleRate: Int) -> AVDecoder? {
        // AudioSpecificConfig: AAC-LC, the number of the rate in MPEG-4's table, two channels.
        let rate: UInt16 = sampleRate == 48_000 ? 3 : 4
        let word: UInt16 = 2 << 11 | rate << 7 | 2 << 3
        let cookie = [UInt8(word >> 8), UInt8(word & 0xFF)]
        return AVDecoder(avcodec_find_decoder(AV_CODEC_ID_AAC), cookie: cookie) { context in
            av_channel_layout_default(&context.pointee.ch_layout, 2)
            context.pointee.sample_rate = Int32(sampleRate)
        }
    }

    private static func aac(_ payload: [UInt8], _ decoder: AVDecoder) -> [Int32]? {
        var samples: [Int32] = []
        var isReadable = true
        let isWhole = decoder.decode(payload) { frame in
            let count = Int(frame.nb_samples)
            guard count > 0, AVSampleFormat(frame.format) == AV_SAMPLE_FMT_FLTP, frame.ch_layout.nb_channels == 2,
                let left = frame.data.0, let right = frame.data.1
            else { return isReadable = false }
            let first = UnsafeRawPointer(left).assumingMemoryBound(to: Float.self)
            let second = UnsafeRawPointer(right).assumingMemoryBound(to: Float.self)
            samples.reserveCapacity(count * 2)
            for index in 0..<count {
                samples.append(whole(first[index]))
                samples.append(whole(second[index]))
            }
        }
        return isWhole && isReadable && !samples.isEmpty ? samples : nil
    }

    private static func whole(_ value: Float) -> Int32 {
        value.isFinite ? Int32(max(-32_768, min(32_767, (value * 32_768).rounded()))) : 0
    }
}
