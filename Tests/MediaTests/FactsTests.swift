import Foundation
import RouteBackend
import RouteModel
import Testing

@testable import Media

@Suite("Facts and pictures", .enabled(if: Tools.ffmpegPath != nil, "ffmpeg is not installed"))
struct FactsTests {
    let folder: ScratchFolder
    private static let tags = [
        "title": "Ein Lied “mit” Ümläut", "artist": "A", "album": "B", "album_artist": "AA", "track": "3/12",
        "disc": "1/2", "date": "1999", "genre": "Folk", "composer": "C",
    ]

    init() throws { folder = try ScratchFolder() }

    @Test(
        "Tags, length and type of each format",
        arguments: [
            ("flac", "audio/flac"), ("mp3", "audio/mpeg"), ("m4a", "audio/mp4"), ("ogg", "audio/ogg"),
            ("opus", "audio/ogg"),
        ])
    func tags(name: String, contentType: String) async throws {
        let path = try await Tone.write(Tone.samples(frames: 88_200), to: folder("a.\(name)"), tags: Self.tags)
        let facts = try await library().facts(.file(path: path))
        #expect(facts.contentType == contentType)
        #expect(facts.hasAudio && !facts.hasVideo && !facts.live && !facts.hasArtwork)
        #expect(abs(try #require(facts.duration).seconds - 2) < 0.1)
        let metadata = facts.metadata
        #expect(metadata.kind == .music)
        #expect(metadata.title == Self.tags["title"])
        #expect(metadata.artist == "A" && metadata.album == "B" && metadata.albumArtist == "AA")
        #expect(metadata.trackNumber == 3 && metadata.discNumber == 1)
        #expect(metadata.releaseDate == "1999" && metadata.genre == "Folk" && metadata.composer == "C")
    }

    @Test("A file is probed again when it has changed")
    func cached() async throws {
        let path = try await Tone.write(Tone.samples(frames: 4410), to: folder("a.flac"), tags: ["title": "one"])
        let media = library()
        #expect(try await media.facts(.file(path: path)).metadata.title == "one")
        try await Tone.write(Tone.samples(frames: 44_100), to: path, tags: ["title": "two, longer"])
        #expect(try await media.facts(.file(path: path)).metadata.title == "two, longer")
    }

    @Test("A film is video, and its type follows its container")
    func video() async throws {
        let media = library()
        for (name, type) in [("v.mp4", "video/mp4"), ("v.mov", "video/quicktime"), ("v.mkv", "video/x-matroska")] {
            let path = folder(name)
            try await Tools.ffmpeg([
                "-f", "lavfi", "-i", "testsrc=size=64x64:rate=5:duration=1", "-f", "lavfi", "-i", "sine=duration=1",
                "-c:v", "mpeg4", "-c:a", "aac", path,
            ])
            let facts = try await media.facts(.file(path: path))
            #expect(facts.hasVideo && facts.hasAudio && facts.contentType == type && facts.metadata.kind == .movie)
        }
    }

    @Test("What is no media is refused in words, each its own way")
    func refused() async throws {
        let media = library()
        let text = try folder.write("text.mp3", String(repeating: "words\n", count: 3000))
        let plain = try folder.write("notes.txt", String(repeating: "words\n", count: 3000))
        let empty = try folder.write("empty.mp3", "")
        try FileManager.default.createDirectory(atPath: folder("dir.mp3"), withIntermediateDirectories: true)
        let cases: [(MediaSource, RouterError.Code)] = [
            (.file(path: text), .mediaUnsupported), (.file(path: plain), .mediaUnsupported),
            (.file(path: empty), .mediaUnsupported), (.file(path: folder("dir.mp3")), .mediaUnsupported),
            (.file(path: folder("gone.mp3")), .mediaNotFound), (.file(path: "/dev/zero"), .mediaUnsupported),
            (.url("ftp://h/x.mp3"), .mediaUnsupported), (.url("file:///etc/passwd"), .mediaUnsupported),
            (.url("http://127.0.0.1:1/x.mp3"), .itemFailed),
        ]
        for (source, code) in cases {
            let error = await #expect(throws: RouterError.self) { try await media.facts(source) }
            #expect(error?.code == code, "\(source): \(String(describing: error))")
            #expect(error?.hint != nil)
        }
        let bare = library(MediaConfiguration(ffprobe: "no-such-program-here"))
        let error = await #expect(throws: RouterError.self) { try await bare.facts(.file(path: text)) }
        #expect(error?.code == .dependencyMissing && error?.message.contains("no-such-program-here") == true)
    }

    @Test("A local playlist inside a media file reaches no network and no other file")
    func hostileContent() async throws {
        let media = library()
        let hls = try folder.write(
            "x.mp3", "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nhttp://127.0.0.1:1/x.ts\n#EXT-X-ENDLIST\n")
        await #expect(throws: RouterError.self) { try await media.facts(.file(path: hls)) }
        let concat = try folder.write("y.mp3", "ffconcat version 1.0\nfile /etc/passwd\n")
        await #expect(throws: RouterError.self) { try await media.facts(.file(path: concat)) }
    }

    @Test("The picture inside goes before the one beside; both are made to fit")
    func pictures() async throws {
        let inside = folder("inside.jpg")
        let noise = "nullsrc=size=800x800,geq=random(1)*255:128:128"
        try await Tools.ffmpeg(["-f", "lavfi", "-i", noise, "-frames:v", "1", "-q:v", "2", inside])
        let song = try await Tone.write(Tone.samples(frames: 4410), to: folder("plain.flac"))
        let tagged = folder("tagged.mp3")
        try await Tools.ffmpeg([
            "-i", song, "-i", inside, "-map", "0:a", "-map", "1:v", "-c:v", "copy", "-disposition:v", "attached_pic",
            tagged,
        ])
        let media = library()
        #expect(try await media.facts(.file(path: tagged)).hasArtwork)
        #expect(try await !media.facts(.file(path: tagged)).hasVideo)
        let whole = try #require(await media.artwork(.file(path: tagged), within: ArtworkLimits(maximumBytes: 4 << 20)))
        #expect(whole.mimeType == "image/jpeg")
        #expect(whole.bytes == [UInt8](try Data(contentsOf: URL(fileURLWithPath: inside))))
        let small = try #require(await media.artwork(.file(path: tagged), within: ArtworkLimits(maximumBytes: 100_000)))
        #expect(small.bytes.count <= 100_000 && small.bytes.starts(with: [0xFF, 0xD8]))
        #expect(await media.artwork(.file(path: tagged), within: ArtworkLimits(maximumBytes: 10)) == nil)
        // Eight rooms that ask for it at once get the same one.
        let drawn = await withTaskGroup(of: Artwork?.self) { group in
            for _ in 0..<8 { group.addTask { await media.artwork(.file(path: tagged), within: .display) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(drawn.map { $0?.bytes }).count == 1)
        let facts = try #require(drawn.first.flatMap { $0 }.flatMap { ImageFacts($0.bytes) })
        #expect(facts.kind == .jpeg && facts.width == 600 && facts.height == 600)
        #expect(await media.artwork(.file(path: song), within: ArtworkLimits(maximumBytes: 4 << 20)) == nil)
        // Beside the file, in a form that receivers do not take.
        try await Tools.ffmpeg(["-f", "lavfi", "-i", "color=red:size=64x64", "-frames:v", "1", folder("Folder.bmp")])
        let other = try await Tone.write(Tone.samples(frames: 4410), to: folder("other.flac"))
        #expect(try await media.facts(.file(path: other)).hasArtwork)
        let beside = try #require(await media.artwork(.file(path: other), within: ArtworkLimits(maximumBytes: 4 << 20)))
        #expect(beside.mimeType == "image/jpeg")
    }

    @Test(
        "A5 types of old are understood, today's are sent",
        arguments: [
            ("audio/mpeg3", "audio/mpeg"), ("audio/MPEG3", "audio/mpeg"), ("audio/mpeg4", "audio/mp4"),
            ("video/mpeg4", "video/mp4"), ("application/x-mpegURL", "application/vnd.apple.mpegurl"),
            ("video/MP2T", "video/mp2t"), ("audio/x-m4a; codecs=\"alac\"", "audio/mp4"), ("audio/flac", "audio/flac"),
        ])
    func types(old: String, new: String) { #expect(ContentType.canonical(old) == new) }

    @Test(
        "A5 types by extension",
        arguments: [
            ("m3u8", "application/vnd.apple.mpegurl"), ("ts", "video/mp2t"), ("mov", "video/quicktime"),
            ("MP3", "audio/mpeg"), ("aac", "audio/aac"), ("m4a", "audio/mp4"), ("m4v", "video/mp4"),
            ("mp4", "video/mp4"),
        ])
    func extensions(name: String, type: String) { #expect(ContentType.of(extension: name) == type) }

    @Test("What ffmpeg says of a file")
    func log() {
        let log = DecoderLog(
            """
            [info] Input #0, flac, from 'file:a.flac':
            [info]   Duration: 01:02:03.50, start: 0.000000, bitrate: 199 kb/s
            [flac @ 0x55] [error] invalid residual
            """)
        #expect(log.container == "flac" && log.duration == 3723.5 && log.errors == ["invalid residual"])
        let source = MediaSource.file(path: "/a.flac")
        #expect(log.damage(of: source, decoded: 3723.5, start: 0, succeeded: true) == nil)
        let broken = log.damage(of: source, decoded: 10, start: 60, succeeded: true)
        #expect(broken?.message == "“a.flac” is damaged: it breaks off at 1:10 of 1:02:03")
        let guessed = DecoderLog(
            "[mp3 @ 0x1] [warning] Estimating duration from bitrate, this may be inaccurate\n[info]   Duration: 00:00:09.00, x"
        )
        #expect(guessed.duration == nil)
        let secret = DecoderLog(
            "[error] https://me:word@h/x.mp3?token=abc: Server returned 403 Forbidden (access denied)")
        #expect(secret.errors == ["https://h/x.mp3?…: Server returned 403 Forbidden (access denied)"])
        #expect(DecoderLog("[info]   Duration: N/A, start").duration == nil)
        #expect(DecoderLog("").refusal(of: source).code == .mediaUnsupported)
    }
}
