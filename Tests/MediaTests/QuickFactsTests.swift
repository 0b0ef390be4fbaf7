import Foundation
import RouteBackend
import RouteModel
import Testing

@testable import Media

@Suite("What the first bytes of a sound file say", .enabled(if: Tools.ffmpegPath != nil, "ffmpeg is not installed"))
struct QuickFactsTests {
    private static let tags = [
        "title": "Zwölf “Töne”", "artist": "An artist", "album": "An album", "album_artist": "Another", "track": "3/12",
        "disc": "1", "date": "1984", "composer": "Somebody", "language": "deu", "itunesadvisory": "1",
    ]

    @Test(
        "The same as a probe finds, without one",
        arguments: [("a.flac", []), ("a.wav", []), ("a.mp3", []), ("a.mp3", ["-id3v2_version", "3"])])
    func same(_ name: String, _ extra: [String]) async throws {
        let folder = try ScratchFolder()
        // WAV's list holds ASCII only.
        let tags = name.hasSuffix("wav") ? ["title": "A tone", "artist": "An artist", "track": "3"] : Self.tags
        let path = try await Tone.write(Tone.samples(frames: 44_100 * 2), to: folder(name), tags: tags, extra: extra)
        let quick = try #require(QuickFacts.read(path))
        let media = library()
        let probed = try await media.facts(.file(path: path))
        await media.stop()
        #expect(quick.contentType == probed.contentType)
        #expect(abs((quick.metadata.duration ?? .zero).seconds - (probed.duration ?? .zero).seconds) < 0.06)
        var one = quick.metadata
        var other = probed.metadata
        one.duration = nil
        other.duration = nil
        #expect(one == other)
        if !name.hasSuffix("wav") { #expect(one.language == "de" && one.isExplicit == true) }
        #expect(quick.hasPicture == probed.hasArtwork)
    }

    @Test("A name that the content doesn't bear out, and all other forms, are left to a probe")
    func others() async throws {
        let folder = try ScratchFolder()
        let path = try await Tone.write(Tone.samples(frames: 4410), to: folder("a.flac"))
        for name in ["a.mp3", "b.wav", "b.ogg", "b"] {
            try FileManager.default.copyItem(atPath: path, toPath: folder(name))
            #expect(QuickFacts.read(folder(name)) == nil, "\(name)")
        }
        #expect(QuickFacts.read(folder("none.flac")) == nil)
        #expect(QuickFacts.read(folder.path) == nil)
    }

    @Test("Cut off or changed anywhere, it is facts or none, and no crash", arguments: ["a.flac", "a.wav", "a.mp3"])
    func broken(_ name: String) async throws {
        let folder = try ScratchFolder()
        let path = try await Tone.write(Tone.samples(frames: 4410), to: folder(name), tags: Self.tags)
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)).prefix(16_384))
        func read(_ bytes: [UInt8]) -> QuickFacts? {
            QuickFacts.of(extension: (name as NSString).pathExtension, size: Int64(bytes.count)) { at, count in
                guard at >= 0, count >= 0, at <= Int64(bytes.count) else { return [] }
                return Array(bytes[Int(at)...].prefix(count))
            }
        }
        for count in stride(from: 0, to: min(whole.count, 2000), by: 7) { _ = read(Array(whole.prefix(count))) }
        for at in 0..<min(whole.count, 600) {
            for value: UInt8 in [0, 0x7F, 0xFF] {
                var bytes = whole
                bytes[at] = value
                _ = read(bytes)
            }
        }
        #expect(read(whole) != nil)
    }
}
