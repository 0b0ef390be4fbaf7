import Foundation
import RouteBackend
import RouteModel
import Testing

@testable import Media

@Suite("Opus packets of a feed", .enabled(if: Tools.ffmpegPath != nil, "ffmpeg is not installed"))
struct OpusFeedTests {
    static let format = AudioPacketFormat(codec: .opus, sampleRate: 48_000, framesPerPacket: 960)
    let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    /// A tone at each side, of which every frame's time can be told by its phase.
    static func tones(frames: Int) -> [UInt8] {
        (0..<frames).flatMap { frame -> [UInt8] in
            [441.0, 1000.0].flatMap { frequency -> [UInt8] in
                let value = Int16(12_000 * sin(2 * .pi * frequency * Double(frame) / 44_100))
                return [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
            }
        }
    }

    /// By how many seconds the tone in `samples` is later than it should be, and how much of its sound is that tone.
    static func lateness(_ samples: [Float], frequency: Double, from frame: Int) -> (seconds: Double, purity: Double) {
        var (sine, cosine, energy) = (0.0, 0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let angle = 2 * .pi * frequency * Double(frame + index) / 48_000
            sine += Double(sample) * sin(angle)
            cosine += Double(sample) * cos(angle)
            energy += Double(sample) * Double(sample)
        }
        let tone = 2 * (sine * sine + cosine * cosine) / Double(samples.count)
        return (-atan2(cosine, sine) / (2 * .pi * frequency), tone / energy)
    }

    @Test("R5 every packet, decoded, has the sound of its own time to a quarter of a sample", arguments: [480, 960])
    func timing(size: Int) async throws {
        let path = try await Tone.write(Self.tones(frames: 44_100 * 3 + 77), to: folder("a.flac"))
        let feed = try await library().feed(item("a", path), events: FeedScript().feedEvents)
        var format = Self.format
        format.framesPerPacket = size
        let packets = try await drain(feed.packets(format, from: 0))
        let frames = ((44_100 * 3 + 77) * 160 + 146) / 147
        #expect(packets.count == (frames + size - 1) / size)
        #expect(packets.map(\.frame) == packets.indices.map { Int64($0 * size) })
        #expect(packets.allSatisfy { $0.frameCount == size && $0.payload.count <= 1275 })
        let decoder = try #require(OpusDecoder())
        let decoded = try packets.map { try #require(decoder.decode($0.payload)) }
        #expect(decoded.allSatisfy { $0.count == size * 2 })
        let all = decoded.flatMap { $0 }
        // From the very beginning: the encoder has been shown what goes before.
        for start in [2_000, 48_000, 100_000] {
            for (channel, frequency) in [(0, 441.0), (1, 1000.0)] {
                let part = stride(from: start * 2 + channel, to: (start + 9_600) * 2, by: 2).map { all[$0] }
                let (seconds, purity) = Self.lateness(part, frequency: frequency, from: start)
                #expect(abs(seconds) < 5e-6, "\(frequency) Hz from frame \(start)")
                #expect(purity > 0.99, "\(frequency) Hz from frame \(start)")
            }
        }
    }

    @Test("R5 a packet is encoded once for all readers, and one who begins in the middle gets the sound of there")
    func sharing() async throws {
        let path = try await Tone.write(Self.tones(frames: 44_100 * 3), to: folder("a.flac"))
        let feed = try await library().feed(item("a", path), events: FeedScript().feedEvents)
        // The second reader is first where it begins.
        let middle = try await feed.packets(Self.format, from: 44_100)
        let later = try await drain(middle)
        #expect(later.first?.frame == 48_000)
        let decoder = try #require(OpusDecoder())
        let sound = try later.flatMap { try #require(decoder.decode($0.payload)) }
        let left = stride(from: 4_800 * 2, to: 14_400 * 2, by: 2).map { sound[$0] }
        #expect(abs(Self.lateness(left, frequency: 441, from: 48_000 + 4_800).seconds) < 5e-6)
        let whole = try await drain(feed.packets(Self.format, from: 0))
        #expect(Array(whole.suffix(later.count)) == later)
        // RAOP's packets of the same feed, beside them.
        let plain = try await drain(feed.packets(.l16, from: 0))
        let expected = (44_100 * 3 + 351) / 352
        #expect(plain.count == expected)
    }

    @Test("R5 a form that Opus does not have is refused, with a word on what is possible")
    func refused() async throws {
        let path = try await Tone.write(Self.tones(frames: 4_410), to: folder("a.flac"))
        let feed = try await library().feed(item("a", path), events: FeedScript().feedEvents)
        for (rate, channels, size, bits) in [
            (44_100, 2, 960, nil), (48_000, 1, 960, nil), (48_000, 2, 1024, nil), (48_000, 2, 960, 1),
        ] as [(Int, Int, Int, Int?)] {
            let format = AudioPacketFormat(
                codec: .opus, sampleRate: rate, channels: channels, framesPerPacket: size, bitRate: bits)
            let error = await #expect(throws: RouterError.self) { try await feed.packets(format, from: 0) }
            #expect(error?.code == .unsupported)
        }
    }

    @Test("R5 the other rate is exact: frame numbers, lengths, and the sound of every frequency but the highest")
    func resampler() {
        let resampler = Resampler(from: 44_100, to: 48_000)
        #expect(resampler.from == 147 && resampler.to == 160)
        let first: Range<Int64> = -23..<25
        #expect(resampler.input(of: 0..<1) == first)
        let second: Range<Int64> = 124..<318
        #expect(resampler.input(of: 160..<320) == second)
        #expect(resampler.output(atInput: 1_470_000_000_000) == 1_600_000_000_000)
        #expect(resampler.output(ofInputFrames: 1) == 2 && resampler.output(ofInputFrames: 147) == 160)
        for frequency in [0.0, 50, 997, 10_000, 18_000] {
            let output: Range<Int64> = 1_000_003..<1_000_963
            let input = resampler.input(of: output).map {
                Float(0.5 * cos(2 * .pi * frequency * Double($0) / 44_100))
            }
            var made = [Float](repeating: 0, count: output.count)
            resampler.run(output, input: input, into: &made, stride: 1)
            let worst = zip(output, made).map { frame, sample in
                abs(Double(sample) - 0.5 * cos(2 * .pi * frequency * Double(frame) / 48_000))
            }.max()
            #expect((worst ?? 1) < 0.0005, "\(frequency) Hz")
        }
    }
}
