import Foundation
import RouteBackend
import RouteModel
import Testing

@testable import Media

@Suite("Expansion")
struct ExpansionTests {
    let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    private func expand(_ what: String...) async throws -> ExpandedMedia {
        try await library().expand(what, workingDirectory: folder.path)
    }

    /// Paths inside the scratch folder, or addresses.
    private func names(_ expanded: ExpandedMedia) -> [String] {
        expanded.entries.map {
            switch $0.source {
            case .file(let path): String(path.dropFirst(folder.path.count + 1))
            case .url(let url): url
            case .live(let input): input.label
            }
        }
    }

    private func touch(_ names: String...) throws {
        for name in names { try folder.write(name, "x") }
    }

    private func refusal(_ what: String...) async -> RouterError? {
        do {
            let expanded = try await library().expand(what, workingDirectory: folder.path)
            Issue.record("\(expanded) from \(what)")
            return nil
        } catch {
            return error as? RouterError
        }
    }

    @Test("A folder gives its media in natural order, with disc folders, without hidden and other files")
    func naturalOrder() async throws {
        try touch(
            "Album/CD10/1.flac", "Album/CD2/10 z.flac", "Album/CD2/2 b.flac", "Album/CD2/02 a.mp3", "Album/cover.jpg",
            "Album/.hidden.mp3", "Album/.git/x.mp3", "Album/list.m3u", "Album/readme.txt", "Album/CD2/X.FLAC")
        let expanded = try await expand("Album")
        #expect(
            names(expanded) == [
                "Album/CD2/02 a.mp3", "Album/CD2/2 b.flac", "Album/CD2/10 z.flac", "Album/CD2/X.FLAC",
                "Album/CD10/1.flac",
            ])
        #expect(expanded.entries.first?.context == "CD2")
        #expect(expanded.notices.isEmpty)
    }

    @Test("What may not be opened by who asks is reached by no list, no list in a list, no folder and no link")
    func reach() async throws {
        try touch("music/a.mp3", "secret/b.mp3", "music/deep/c.mp3")
        try folder.write("secret/inner.m3u", "b.mp3\n")
        for (name, link) in [("link.mp3", "secret/b.mp3"), ("deep/away", "secret")] {
            try FileManager.default.createSymbolicLink(
                atPath: folder.path + "/music/\(name)", withDestinationPath: folder.path + "/" + link)
        }
        let root = (folder.path as NSString).resolvingSymlinksInPath + "/music/"
        let allows: @Sendable (String) -> Bool = { path in
            ((path as NSString).resolvingSymlinksInPath + "/").hasPrefix(root)
        }
        for entry in [
            "../secret/b.mp3", folder.path + "/secret/b.mp3", "file://\(folder.path)/secret/b.mp3", "link.mp3",
            "../secret/inner.m3u", "../secret", "deep/away", "../nothing.mp3", "/etc/passwd",
        ] {
            try folder.write("music/list.m3u", entry + "\n")
            await MediaReach.$allows.withValue(allows) {
                #expect(await refusal("music/list.m3u")?.code == .mediaForbidden, "\(entry)")
            }
        }
        // What only another reading leads out is not there as it is written.
        for entry in ["%2e%2e/secret/b.mp3", "..\\secret\\b.mp3"] {
            try folder.write("music/list.m3u", entry + "\n")
            await MediaReach.$allows.withValue(allows) {
                #expect(await refusal("music/list.m3u")?.code == .mediaNotFound, "\(entry)")
            }
        }
        try folder.write("music/list.m3u", "a.mp3\n../secret/b.mp3\ndeep\n")
        let expanded = try await MediaReach.$allows.withValue(allows) { try await expand("music/list.m3u") }
        #expect(names(expanded) == ["music/a.mp3", "music/deep/c.mp3"])
        #expect(expanded.notices.contains { $0.message.contains("“b.mp3” is in no folder") })
        // Who may open anything is not held up.
        #expect(names(try await expand("music/list.m3u")).count == 4)
    }

    @Test("A ring of links ends, and a folder named like a song is a folder")
    func links() async throws {
        try touch("loop/a.mp3", "song.mp3/inner.ogg")
        try FileManager.default.createSymbolicLink(atPath: folder("loop/again"), withDestinationPath: folder("loop"))
        #expect(try await names(expand("loop")) == ["loop/a.mp3"])
        #expect(try await names(expand("song.mp3")) == ["song.mp3/inner.ogg"])
    }

    @Test("Nothing to play is said with what was meant")
    func nothing() async throws {
        try touch("Symphony.flac", "other.txt", "empty.m3u")
        try folder.write("empty.m3u", "#EXTM3U\n\n")
        try FileManager.default.createDirectory(atPath: folder("bare"), withIntermediateDirectories: true)
        let near = await refusal("Symphnoy.flac")
        #expect(near?.code == .mediaNotFound)
        #expect(near?.hint == "Did you mean “Symphony.flac”?")
        #expect(near?.candidates == ["Symphony.flac"])
        let far = await refusal("nowhere/at/all.mp3")
        #expect(far?.code == .mediaNotFound && far?.candidates == [])
        let bare = await refusal("bare")
        #expect(bare?.code == .mediaNotFound && bare?.message.contains("bare") == true)
        #expect(await refusal("empty.m3u")?.code == .mediaNotFound)
        #expect(await refusal()?.code == .mediaNotFound)
        #expect(await refusal("/dev/zero")?.code == .mediaUnsupported)
        #expect(await refusal("rtsp://host/x")?.code == .mediaUnsupported)
        #expect(await refusal("file://elsewhere/x.mp3")?.code == .mediaNotFound)
        let partly = try await expand("gone.mp3", "Symphony.flac")
        #expect(names(partly) == ["Symphony.flac"])
        #expect(partly.notices.count == 1 && partly.notices[0].message.contains("gone.mp3"))
    }

    @Test("Addresses, file addresses, and names with everything in them")
    func words() async throws {
        try touch("-y.mp3", "a b's “c”.mp3", "100% ünï.mp3", "noextension")
        let expanded = try await expand(
            "http://h/x.mp3?k=v", "HTTPS://h/live.m3u8", "-y.mp3", "a b's “c”.mp3",
            "file://\(folder.path)/100%25%20%C3%BCn%C3%AF.mp3",
            "noextension", "./-y.mp3", "../\((folder.path as NSString).lastPathComponent)/-y.mp3")
        #expect(
            names(expanded) == [
                "http://h/x.mp3?k=v", "HTTPS://h/live.m3u8", "-y.mp3", "a b's “c”.mp3", "100% ünï.mp3", "noextension",
                "-y.mp3", "-y.mp3",
            ])
    }

    @Test("M3U: titles, lengths, relative and encoded names, missing entries, Latin-1, marks and line ends")
    func m3u() async throws {
        try touch("a.mp3", "sub/b.mp3", "sub/c d.mp3", "ü.mp3")
        try folder.write(
            "list.m3u",
            "\u{FEFF}#EXTM3U\r\n#PLAYLIST:My list\r\n#EXTINF:123 tvg=\"a,b\",Artist - A title\r\na.mp3\r\n#EXTINF:-1,Only\r\n"
                + "sub\\b.mp3\r\n\r\n# remark\r\nsub/c%20d.mp3\r\ngone.mp3\r\nhttp://h/r.mp3\r\nmms://h/x\r\n\(folder("a.mp3"))\r\n"
        )
        let expanded = try await expand("list.m3u")
        #expect(names(expanded) == ["a.mp3", "sub/b.mp3", "sub/c d.mp3", "http://h/r.mp3", "a.mp3"])
        #expect(expanded.entries[0].metadata.artist == "Artist")
        #expect(expanded.entries[0].metadata.title == "A title")
        #expect(expanded.entries[0].metadata.duration == MediaTime(seconds: 123))
        #expect(expanded.entries[1].metadata.title == "Only" && expanded.entries[1].metadata.duration == nil)
        #expect(expanded.entries[2].metadata.title == nil)
        #expect(expanded.entries.allSatisfy { $0.context == "My list" })
        #expect(expanded.notices.count == 2)
        try folder.write("latin.m3u", Array("#EXTINF:5,".utf8) + [0xFC, 0x0A, 0xFC] + Array(".mp3\n".utf8))
        let latin = try await expand("latin.m3u")
        #expect(names(latin) == ["ü.mp3"] && latin.entries[0].metadata.title == "ü")
        try folder.write("old.m3u", "a.mp3\rsub/b.mp3\r")
        #expect(try await names(expand("old.m3u")) == ["a.mp3", "sub/b.mp3"])
    }

    @Test("An HLS playlist is one item, not a list")
    func hls() async throws {
        try folder.write("live.m3u8", "#EXTM3U\n#EXT-X-VERSION:3\n#EXTINF:4,\nseg0.ts\n#EXT-X-ENDLIST\n")
        try touch("seg0.ts", "a.mp3")
        #expect(try await names(expand("live.m3u8")) == ["live.m3u8"])
        try folder.write("list.m3u8", "#EXTM3U\na.mp3\n")
        #expect(try await names(expand("list.m3u8")) == ["a.mp3"])
    }

    @Test("PLS in the order of its numbers")
    func pls() async throws {
        try touch("a.mp3", "b.mp3")
        try folder.write(
            "list.pls",
            "[playlist]\nFile10=b.mp3\nTitle10=Ten\nfile2=a.mp3\nTitle2=Two\nLength2=77\nLength10=-1\nFileX=c\nNumberOfEntries=2\nVersion=2\n"
        )
        let expanded = try await expand("list.pls")
        #expect(names(expanded) == ["a.mp3", "b.mp3"])
        #expect(expanded.entries.map(\.metadata.title) == ["Two", "Ten"])
        #expect(expanded.entries.map(\.metadata.duration) == [MediaTime(seconds: 77), nil])
    }

    @Test("XSPF with its fields")
    func xspf() async throws {
        try touch("a b.mp3")
        try folder.write(
            "list.xspf",
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <playlist version="1" xmlns="http://xspf.org/ns/0/"><title>Mix &amp; match</title><trackList>
            <track><location>a%20b.mp3</location><title>T</title><creator>C</creator><album>A</album>
            <trackNum>3</trackNum><duration>1500</duration></track>
            <track><location>file://\(folder.path)/a%20b.mp3</location></track>
            <track><title>No place</title></track>
            <track><location>http://h/x.ogg</location></track>
            </trackList></playlist>
            """)
        let expanded = try await expand("list.xspf")
        #expect(names(expanded) == ["a b.mp3", "a b.mp3", "http://h/x.ogg"])
        let metadata = expanded.entries[0].metadata
        #expect(metadata.title == "T" && metadata.artist == "C" && metadata.album == "A" && metadata.trackNumber == 3)
        #expect(metadata.duration == MediaTime(milliseconds: 1500))
        #expect(expanded.entries[0].context == "Mix & match")
    }

    @Test(
        "Malformed playlists are refused in words",
        arguments: [
            ("bomb.xspf", "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]><playlist>&b;</playlist>"),
            ("outside.xspf", "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><playlist>&a;</playlist>"),
            ("cut.xspf", "<playlist><trackList><track><location>a.mp3</loc"),
            ("other.xspf", "<html><body/></html>"), ("nul.m3u", "a\0b"), ("no-section.pls", "File1=a.mp3"),
            ("deep.xspf", String(repeating: "<playlist>", count: 5000)),
            ("ring.m3u", "ring.m3u"),
        ])
    func malformed(name: String, text: String) async throws {
        try folder.write(name, text)
        let error = await refusal(name)
        #expect(error?.code == .mediaUnsupported, "\(String(describing: error))")
        #expect(error?.message.contains(name) == true)
        #expect(error?.hint != nil)
    }

    @Test("XML in UTF-16 cannot hide a declaration")
    func utf16() async throws {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><!DOCTYPE x [<!ENTITY a \"b\">]><playlist>&a;</playlist>"
        try folder.write("wide.xspf", [0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })
        #expect(await refusal("wide.xspf")?.code == .mediaUnsupported)
    }

    @Test("Rings of playlists, deep nesting and too many entries are bounded")
    func bounds() async throws {
        try touch("a.mp3")
        try folder.write("one.m3u", "two.m3u\na.mp3\n")
        try folder.write("two.m3u", "a.mp3\none.m3u\n")
        let ring = try await expand("one.m3u")
        #expect(names(ring) == ["a.mp3", "a.mp3"])
        #expect(ring.notices.count == 1 && ring.notices[0].message.contains("contains itself"))
        for level in 0..<8 { try folder.write("n\(level).m3u", "n\(level + 1).m3u\na.mp3\n") }
        try folder.write("n8.m3u", "a.mp3")
        let nested = try await expand("n0.m3u")
        #expect(nested.entries.count == 5)
        try folder.write("long.m3u", String(repeating: "a.mp3\n", count: 500))
        let few = library(MediaConfiguration(maximumEntries: 100))
        let bounded = try await few.expand(["long.m3u"], workingDirectory: folder.path)
        #expect(bounded.entries.count == 100)
        #expect(bounded.notices.last?.message == "only the first 100 entries were taken")
        try folder.write("gone.m3u", "a.mp3\n" + String(repeating: "gone.mp3\n", count: 500))
        let told = try await expand("gone.m3u")
        #expect(told.entries.count == 1 && told.notices.count <= 21)
        let small = library(MediaConfiguration(maximumPlaylistBytes: 100))
        await #expect(throws: RouterError.self) {
            try await small.expand(["long.m3u"], workingDirectory: folder.path)
        }
    }

    @Test(
        "A playlist on the web is fetched, and reaches no file of ours",
        .enabled(if: Tools.ffmpegPath != nil, "ffmpeg is not installed"))
    func web() async throws {
        // Our own server lends itself as the web: the name's end is what tells a playlist.
        let list = try folder.write("list.m3u", "#EXTM3U\nhttp://h/a.mp3\n/etc/passwd\nfile:///etc/passwd\nnext.mp3\n")
        let server = MediaServer(
            configuration: MediaConfiguration(serverPort: 0), clock: SystemHostClock(), logger: quietLogger(),
            sources: .none)
        await server.registry.publish(
            .file(path: list, contentType: "audio/x-mpegurl"), as: PublishedPart(token: "t", target: .media), to: nil)
        let base = "http://127.0.0.1:\(try await server.port())"
        let expanded = try await expand("\(base)/media/t/list.m3u")
        #expect(names(expanded) == ["http://h/a.mp3", "\(base)/etc/passwd", "\(base)/media/t/next.mp3"])
        #expect(expanded.notices.count == 1 && expanded.notices[0].message.contains("names a file of this machine"))
        #expect(await refusal("\(base)/media/none/list.m3u")?.code == .mediaNotFound)
        await server.stop()
    }

    @Test(
        "Natural order",
        arguments: [
            ("2", "10"), ("a2b", "a10b"), ("A", "b"), ("a", "B"), ("01", "2"), ("track 9", "track 10"), ("a", "a1"),
            ("a/z", "b/a"), ("disc 2/1", "disc 10/1"), ("99999999999999999999998", "99999999999999999999999"),
        ])
    func order(first: String, second: String) {
        #expect(NaturalOrder.precedes(first, second))
        #expect(!NaturalOrder.precedes(second, first))
        #expect(!NaturalOrder.precedes(first, first))
    }
}
