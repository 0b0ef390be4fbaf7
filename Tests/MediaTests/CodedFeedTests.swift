import Foundation
import RouteBackend
import RouteModel
import Testing

@testable import Media

@Suite("A8 AAC and deeper Apple Lossless of a feed", .enabled(if: Tools.ffmpegPath != nil, "ffmpeg is not installed"))
struct CodedFeedTests {
    let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    private static func aac(_ rate: Int) -> AudioPacketFormat {
        AudioPacketFormat(codec: .aac, sampleRate: rate, framesPerPacket: 1024)
    }

    /// The access units as a stream that ffmpeg reads, each with a header (ISO 13818-7, ADTS), decoded by it.
    private func decoded(_ packets: [AudioPacket], rate: Int) async throws -> [Float] {
        var stream: [UInt8] = []
        for packet in packets {
            let length = packet.payload.count + 7
            let index: UInt8 = rate == 44_100 ? 4 : 3
            stream += [
                0xFF, 0xF1, 0x40 | index << 2, 0x80 | UInt8(length >> 11), UInt8(truncatingIfNeeded: length >> 3),
                UInt8(truncatingIfNeeded: length << 5) | 0x1F, 0xFC,
            ]
            stream += packet.payload
        }
        let bytes = try await Tools.ffmpeg(["-f", "aac", "-i", "pipe:0", "-f", "f32le", "pipe:1"], input: stream)
        return bytes.withUnsafeBytes { raw in
            (0..<(raw.count / 4)).map { raw.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
        }
    }

    /// By how many seconds a tone is later than it should be, and how much of the sound it is.
    private static func lateness(
        _ samples: [Float], frequency: Double, from frame: Int, rate: Int
    ) -> (seconds: Double, purity: Double) {
        var (sine, cosine, energy) = (0.0, 0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let angle = 2 * .pi * frequency * Double(frame + index) / Double(rate)
            sine += Double(sample) * sin(angle)
            cosine += Double(sample) * cos(angle)
            energy += Double(sample) * Double(sample)
        }
        let tone = 2 * (sine * sine + cosine * cosine) / Double(samples.count)
        return (-atan2(cosine, sine) / (2 * .pi * frequency), tone / energy)
    }

    @Test("A8 AAC: every packet, decoded by ffmpeg, has the sound of its own time", arguments: [44_100, 48_000])
    func timing(rate: Int) async throws {
        let seconds = 3
        let path = try await Tone.write(OpusFeedTests.tones(frames: 44_100 * seconds + 77), to: folder("a.flac"))
        let feed = try await library().feed(item("a", path), events: FeedScript().feedEvents)
        let packets = try await drain(feed.packets(Self.aac(rate), from: 0))
        let frames = ((44_100 * seconds + 77) * rate + 44_099) / 44_100
        #expect(packets.count == (frames + 1023) / 1024)
        #expect(packets.map(\.frame) == packets.indices.map { Int64($0 * 1024) })
        // Half a second of a full 6,144 bits a channel is more than any buffer of a receiver expects.
        #expect(packets.allSatisfy { $0.frameCount == 1024 && $0.payload.count <= 1536 && !$0.payload.isEmpty })
        let bitRate = packets.map(\.payload.count).reduce(0, +) * 8 / seconds
        #expect(bitRate < 300_000, "\(bitRate)")
        let sound = try await decoded(packets, rate: rate)
        #expect(sound.count == packets.count * 2048)
        for start in [2_048, 40_000, 100_000] {
            for (channel, frequency) in [(0, 441.0), (1, 1000.0)] {
                let part = stride(from: start * 2 + channel, to: (start + 9_600) * 2, by: 2).map { sound[$0] }
                let (late, purity) = Self.lateness(part, frequency: frequency, from: start, rate: rate)
                #expect(abs(late) < 5e-6, "\(frequency) Hz from frame \(start): \(late) s late")
                #expect(purity > 0.99, "\(frequency) Hz from frame \(start): \(purity)")
            }
        }
    }

    @Test("A8 AAC: encoded once for all readers; who begins in the middle gets the sound of there")
    func sharing() async throws {
        let path = try await Tone.write(OpusFeedTests.tones(frames: 44_100 * 3), to: folder("a.flac"))
        let feed = try await library().feed(item("a", path), events: FeedScript().feedEvents)
        let later = try await drain(feed.packets(Self.aac(44_100), from: 50_000))
        #expect(later.first?.frame == 49_152)
        let whole = try await drain(feed.packets(Self.aac(44_100), from: 0))
        #expect(Array(whole.suffix(later.count)) == later)
        let sound = try await decoded(whole, rate: 44_100)
        // Across the seam, where one encoder began and another ended.
        let seam = 49_152 - 4_800
        let part = stride(from: seam * 2, to: (seam + 9_600) * 2, by: 2).map { sound[$0] }
        let (late, purity) = Self.lateness(part, frequency: 441, from: seam, rate: 44_100)
        #expect(abs(late) < 5e-6 && purity > 0.99, "\(late) s, \(purity)")
        // And Apple Lossless of the same feed, beside them.
        #expect(try await drain(feed.packets(.alac, from: 0)).count == (44_100 * 3 + 351) / 352)
    }

    @Test("A8 what is not AAC-LC as receivers take it is refused")
    func refused() async throws {
        let path = try await Tone.write(OpusFeedTests.tones(frames: 4_410), to: folder("a.flac"))
        let feed = try await library().feed(item("a", path), events: FeedScript().feedEvents)
        var formats = [Self.aac(32_000), Self.aac(44_100), Self.aac(44_100), Self.aac(44_100)]
        formats[1].framesPerPacket = 960
        formats[2].bitRate = 1
        formats[3].channels = 1
        formats.append(AudioPacketFormat(codec: .alac, bitDepth: 20))
        formats.append(AudioPacketFormat(codec: .l16, sampleRate: 48_000))
        for format in formats {
            let error = await #expect(throws: RouterError.self) { try await feed.packets(format, from: 0) }
            #expect(error?.code == .unsupported)
        }
    }

    // MARK: Apple Lossless

    @Test("A8 a 24-bit file comes out bit by bit as 24-bit Apple Lossless, and rounded as 16-bit")
    func deep() async throws {
        let frames = 352 * 60 + 5
        var state: UInt32 = 7
        let source = (0..<(frames * 2)).map { _ -> Int32 in
            state = state &* 1_664_525 &+ 1_013_904_223
            return Int32(bitPattern: state) >> 9 & ~0xFF
        }
        let bytes = source.flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value >> Int32(8 * $0)) } }
        let path = folder("deep.flac")
        try await Tools.ffmpeg(
            [
                "-f", "s32le", "-ar", "44100", "-ac", "2", "-i", "pipe:0", "-sample_fmt", "s32", "-bits_per_raw_sample",
                "24",
                path,
            ], input: bytes)
        let feed = try await library().feed(item("a", path), events: FeedScript().feedEvents)
        let packets = try await drain(feed.packets(AudioPacketFormat(codec: .alac, bitDepth: 24), from: 0))
        let decoder = try #require(ALACDecoder(bitDepth: 24))
        let decoded = try packets.flatMap { try #require(decoder.samples($0.payload)) }
        #expect(Array(decoded.prefix(source.count)) == source)
        let shallow = try #require(ALACDecoder())
        let rounded = try await drain(feed.packets(.alac, from: 0)).flatMap {
            try #require(shallow.samples($0.payload))
        }
        #expect(zip(rounded, source).allSatisfy { abs(Int64($0) - Int64($1)) <= 0x8000 && $0 & 0xFFFF == 0 })
    }

    @Test("A8 Apple Lossless at 48,000 Hz has the sound of its own time, 16 and 24 bit", arguments: [16, 24])
    func fortyEight(bits: Int) async throws {
        let path = try await Tone.write(OpusFeedTests.tones(frames: 44_100 * 2), to: folder("a.flac"))
        let feed = try await library().feed(item("a", path), events: FeedScript().feedEvents)
        let format = AudioPacketFormat(codec: .alac, sampleRate: 48_000, bitDepth: bits)
        let packets = try await drain(feed.packets(format, from: 0))
        #expect(packets.count == (96_000 + 351) / 352)
        let decoder = try #require(ALACDecoder(bitDepth: UInt8(bits), sampleRate: 48_000))
        let sound = try packets.flatMap { try #require(decoder.samples($0.payload)) }.map { Float($0) * 0x1p-31 }
        for (channel, frequency) in [(0, 441.0), (1, 1000.0)] {
            let part = stride(from: 20_000 + channel, to: 20_000 + 19_200, by: 2).map { sound[$0] }
            let (late, purity) = Self.lateness(part, frequency: frequency, from: 10_000, rate: 48_000)
            #expect(abs(late) < 5e-6 && purity > 0.99, "\(frequency) Hz: \(late) s, \(purity)")
        }
    }
}
