/// One form of audio, as a stream's SETUP names it.
public struct AirPlayAudioFormat: Sendable, Hashable {
    /// By its number in `ct`.
    public enum Codec: Int, Sendable, Hashable, CaseIterable {
        case pcm = 1
        case appleLossless = 2
        case aacLC = 4
        case aacELD = 8
    }

    public var codec: Codec
    /// 44,100 or 48,000.
    public var sampleRate: Int
    /// 16 or 24; of AAC always 16.
    public var bitDepth: Int
    public var channels: Int

    public init(_ codec: Codec, sampleRate: Int, bitDepth: Int = 16, channels: Int = 2) {
        self.codec = codec
        self.sampleRate = sampleRate
        self.bitDepth = bitDepth
        self.channels = channels
    }

    /// Frames in a packet as all receivers take them.
    public var framesPerPacket: Int { codec == .aacLC ? 1024 : codec == .aacELD ? 480 : 352 }

    /// What the SSRC of a buffered stream is to say; nil for forms that no such stream has.
    ///
    /// A receiver that doesn't know the word stays silent and says nothing of it.
    public var codecWord: UInt32? {
        Self.codecWords.first { $0.format == self }?.word
    }

    /// Nil for words that aren't known.
    public init?(codecWord: UInt32) {
        guard let known = Self.codecWords.first(where: { $0.word == codecWord }) else { return nil }
        self = known.format
    }

    private static let codecWords: [(word: UInt32, format: AirPlayAudioFormat)] = [
        (0x1600_0000, AirPlayAudioFormat(.aacLC, sampleRate: 44_100)),
        (0x1700_0000, AirPlayAudioFormat(.aacLC, sampleRate: 48_000)),
        (0x1500_0000, AirPlayAudioFormat(.appleLossless, sampleRate: 48_000, bitDepth: 24)),
        // An invention of shairport-sync's, and the only word for it that any receiver is known to take.
        (0x0000_FACE, AirPlayAudioFormat(.appleLossless, sampleRate: 44_100)),
    ]
}

/// A set of forms of audio: `audioFormat` (one of them) and `supportedFormats` (`Protocols/airplay/README.md`, “Audio
/// formats”). Bits that aren't known are kept.
public struct AudioFormatBits: OptionSet, Sendable, Hashable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Empty where the form has no bit.
    public init(_ format: AirPlayAudioFormat) {
        self.init(rawValue: Self.table.first { $0.format == format }?.bit ?? 0)
    }

    /// The known forms, in the order of their bits.
    public var formats: [AirPlayAudioFormat] {
        Self.table.filter { rawValue & $0.bit != 0 }.map(\.format)
    }

    /// The form of this codec in stereo that keeps most of what there is: the same rate before another one, then the
    /// same depth, then the deeper. Nil where there is none.
    public func choice(
        _ codec: AirPlayAudioFormat.Codec, sampleRate: Int, bitDepth: Int = 16
    ) -> AirPlayAudioFormat? {
        func rank(_ format: AirPlayAudioFormat) -> (Int, Int) {
            (
                format.sampleRate == sampleRate ? 0 : 1,
                format.bitDepth == bitDepth ? 0 : format.bitDepth > bitDepth ? 1 : 2
            )
        }
        return formats.filter { $0.codec == codec && $0.channels == 2 }.min { rank($0) < rank($1) }
    }

    private static let table: [(bit: UInt64, format: AirPlayAudioFormat)] = [
        (0x400, AirPlayAudioFormat(.pcm, sampleRate: 44_100, channels: 1)),
        (0x800, AirPlayAudioFormat(.pcm, sampleRate: 44_100)),
        (0x1000, AirPlayAudioFormat(.pcm, sampleRate: 44_100, bitDepth: 24, channels: 1)),
        (0x2000, AirPlayAudioFormat(.pcm, sampleRate: 44_100, bitDepth: 24)),
        (0x4000, AirPlayAudioFormat(.pcm, sampleRate: 48_000, channels: 1)),
        (0x8000, AirPlayAudioFormat(.pcm, sampleRate: 48_000)),
        (0x1_0000, AirPlayAudioFormat(.pcm, sampleRate: 48_000, bitDepth: 24, channels: 1)),
        (0x2_0000, AirPlayAudioFormat(.pcm, sampleRate: 48_000, bitDepth: 24)),
        (0x4_0000, AirPlayAudioFormat(.appleLossless, sampleRate: 44_100)),
        (0x8_0000, AirPlayAudioFormat(.appleLossless, sampleRate: 44_100, bitDepth: 24)),
        (0x10_0000, AirPlayAudioFormat(.appleLossless, sampleRate: 48_000)),
        (0x20_0000, AirPlayAudioFormat(.appleLossless, sampleRate: 48_000, bitDepth: 24)),
        (0x40_0000, AirPlayAudioFormat(.aacLC, sampleRate: 44_100)),
        (0x80_0000, AirPlayAudioFormat(.aacLC, sampleRate: 48_000)),
        (0x100_0000, AirPlayAudioFormat(.aacELD, sampleRate: 44_100)),
        (0x200_0000, AirPlayAudioFormat(.aacELD, sampleRate: 48_000)),
    ]
}
