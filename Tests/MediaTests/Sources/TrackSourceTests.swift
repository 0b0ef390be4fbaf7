import Foundation
import RouteModel
import Testing

@testable import Media

struct PodcastFeedTests {
    private static let feed = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!-- made by hand -->
        <rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>
        <title>A &amp; B</title>
        <item><title><![CDATA[Second <b>one</b>]]></title><pubDate>Tue, 07 Oct 2025 05:00:00 +0000</pubDate>
        <itunes:duration>1:02:03</itunes:duration><itunes:season>2</itunes:season><itunes:episode>7</itunes:episode>
        <enclosure url="https://a.example/2.mp3?x=1&amp;y=2" length="5" type="audio/mpeg"/>
        <enclosure url="https://a.example/other.mp3" type="audio/mpeg"/>
        <itunes:image href="https://a.example/2.jpg"/></item>
        <item><title>Only words</title></item>
        <item><title>A book</title><enclosure url="https://a.example/b.pdf" type="application/pdf"/></item>
        <item><title>First</title><enclosure url="1.m4a"/><itunes:author>Guest</itunes:author>
        <itunes:duration>nonsense</itunes:duration></item>
        <itunes:author>Us</itunes:author><itunes:image href="https://a.example/cover.jpg"/>
        </channel></rss>
        """

    private func read(_ text: String) throws -> Playlist { try PodcastFeed().read([UInt8](text.utf8)) }

    @Test("an episode's own word on whether it is explicit goes before the podcast's; the language is the podcast's")
    func explicit() throws {
        let items = ["yes", "true", "clean", "no", "maybe", ""].map {
            "<item><enclosure url='\($0).mp3'/><itunes:explicit> \($0)\n</itunes:explicit></item>"
        }
        let head = "<rss xmlns:itunes='x'><channel><itunes:explicit>true</itunes:explicit>"
        let entries = try read(
            head + "<language>de-de</language>" + items.joined()
                + "<item><enclosure url='9.mp3'/></item></channel></rss>"
        ).entries
        #expect(entries.map(\.metadata.isExplicit) == [true, true, false, false, true, true, true])
        #expect(entries.allSatisfy { $0.metadata.language == "de-DE" })
        let other = try read(
            "<rss><channel><language>Klingon</language><item><enclosure url='9.mp3'/></item></channel></rss>")
        #expect(other.entries.map(\.metadata.language) == [nil] && other.entries.map(\.metadata.isExplicit) == [nil])
    }

    private func refusal(_ text: String) -> String? {
        do {
            let playlist = try read(text)
            Issue.record("\(playlist)")
            return nil
        } catch Playlist.Failure.malformed(let why) {
            return why
        } catch {
            Issue.record(error)
            return nil
        }
    }

    @Test("C24 a podcast's episodes are tracks, newest first, with what the feed says of each and of all")
    func reads() throws {
        let playlist = try read(Self.feed)
        #expect(playlist.title == "A & B")
        #expect(playlist.entries.map(\.location) == ["https://a.example/2.mp3?x=1&y=2", "1.m4a"])
        let (second, first) = (playlist.entries[0].metadata, playlist.entries[1].metadata)
        #expect(second.kind == .podcastEpisode && second.title == "Second <b>one</b>")
        #expect(second.duration == MediaTime(seconds: 3723) && second.season == 2 && second.episode == 7)
        #expect(second.releaseDate == "2025-10-07" && second.artist == "Us" && second.seriesTitle == "A & B")
        #expect(second.images.map(\.url) == ["https://a.example/2.jpg"])
        #expect(first.artist == "Guest" && first.duration == nil)
        #expect(first.images.map(\.url) == ["https://a.example/cover.jpg"])
    }

    @Test(
        "C24 lengths in each form that feeds use, and what is none",
        arguments: [
            ("3723", 3723.0), ("62:03", 3723), ("1:02:03", 3723), ("0", nil), ("-5", nil), ("1:2:3:4", nil), ("", nil),
            ("1:-2", nil), ("inf", nil), ("nan", nil), ("1e300", nil), (":::", nil),
        ])
    func durations(_ text: String, _ seconds: Double?) {
        #expect(PodcastFeed.duration(text)?.seconds == seconds)
    }

    @Test(
        "C24 days of RFC 822, with and without a weekday, and what is none",
        arguments: [
            ("Tue, 07 Oct 2025 05:00:00 +0000", "2025-10-07"), ("7 October 2025", "2025-10-07"),
            ("Sun,1 Jan 99 00:00 GMT", "1999-01-01"), ("1 Jan 05", "2005-01-01"), ("2025-10-07", nil), ("", nil),
            ("32 Oct 2025", nil), ("1 Foo 2025", nil), ("1 Jan 99999", nil), ("Tue,", nil),
        ])
    func days(_ text: String, _ day: String?) {
        #expect(PodcastFeed.day(text) == day)
    }

    @Test("C24 a feed that is none, cut off, nested without end or with entities is refused by name")
    func malformed() {
        #expect(refusal("")?.contains("not an RSS feed") == true)
        #expect(refusal("hello")?.contains("not an RSS feed") == true)
        #expect(refusal("<html><body/></html>")?.contains("not an RSS feed") == true)
        #expect(refusal(String(Self.feed.prefix(600)))?.contains("breaks off") == true)
        let deep = "<rss>" + String(repeating: "<a>", count: 5000)
        #expect(refusal(deep)?.contains("too deep") == true)
        let bomb = "<!DOCTYPE rss [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><rss><channel>&b;</channel></rss>"
        #expect(refusal(bomb)?.contains("entities") == true)
        #expect(refusal("<!doctype rss SYSTEM \"file:///etc/passwd\"><rss/>")?.contains("entities") == true)
        #expect(refusal("<rss>\0</rss>")?.contains("not text") == true)
    }

    @Test("C24 a feed of a hundred thousand episodes is taken up to the limit, and a title of a megabyte is cut")
    func limits() throws {
        let item = "<item><enclosure url=\"https://a.example/x.mp3\"/></item>"
        let many = "<rss><channel>" + String(repeating: item, count: 100_000) + "</channel></rss>"
        #expect(try read(many).entries.count == Playlist.maximumEntries)
        let long = "<rss><channel><title>" + String(repeating: "x", count: 1 << 20) + "</title></channel></rss>"
        #expect(try read(long).title?.count == Playlist.maximumText)
    }
}

struct ChartFeedTests {
    private func read(_ text: String) throws -> Playlist { try ChartFeed().read([UInt8](text.utf8)) }

    @Test("a store's word on whether a song is explicit; any other word is none")
    func explicit() throws {
        let words =
            [("explicit", true), ("notExplicit", false), ("cleaned", false), ("EXPLICIT?", nil)] as [(String, Bool?)]
        let songs = words.map {
            #"{"trackName": "x", "previewUrl": "https://s.example/1", "trackExplicitness": "\#($0.0)"}"#
        }
        let playlist = try read(#"{"results": [\#(songs.joined(separator: ","))]}"#)
        #expect(playlist.entries.map(\.metadata.isExplicit) == words.map(\.1))
    }

    @Test("C24 a store's chart gives title, artist, album, artwork, preview and length; what is no song is left out")
    func reads() throws {
        let playlist = try read(
            """
            {"resultCount": 4, "results": [
             {"wrapperType": "track", "kind": "song", "trackName": "One [live]", "artistName": "A", "collectionName": "B",
              "previewUrl": "https://s.example/1.m4a", "artworkUrl100": "https://s.example/1.jpg",
              "trackTimeMillis": 210743, "trackNumber": 3, "discNumber": 1, "primaryGenreName": "Pop",
              "releaseDate": "1988-09-16T07:00:00Z"},
             {"wrapperType": "collection", "collectionName": "An album"},
             {"trackName": "No preview"}, 7, null,
             {"trackName": "Odd", "previewUrl": "https://s.example/2.m4a", "trackTimeMillis": -1, "artistName": null}
            ]}
            """)
        #expect(playlist.entries.map(\.location) == ["https://s.example/1.m4a", "https://s.example/2.m4a"])
        let song = playlist.entries[0].metadata
        #expect(song.kind == .music && song.title == "One [live]" && song.artist == "A" && song.album == "B")
        #expect(song.duration == MediaTime(milliseconds: 210_743) && song.genre == "Pop")
        #expect(song.trackNumber == 3 && song.discNumber == 1 && song.releaseDate == "1988-09-16")
        #expect(song.images == [MediaImage(url: "https://s.example/1.jpg", width: 100, height: 100)])
        #expect(playlist.entries[1].metadata.duration == nil)
    }

    @Test(
        "C24 JSON that is none, is no chart, or is nothing but brackets is refused by name",
        arguments: [
            ("", "not JSON"), ("hello", "not JSON"), ("{\"results\": [", "not JSON"), ("[]", "no list"),
            ("{}", "no list"), ("{\"results\": 5}", "no list"), ("{\"results\": {\"a\": 1}}", "no list"),
            ("7", "no list"), (String(repeating: "[", count: 100_000), "too deep"),
            ("{\"results\":" + String(repeating: "{\"a\":", count: 10_000), "too deep"),
        ])
    func malformed(_ text: String, _ why: String) {
        do {
            let playlist = try read(text)
            Issue.record("\(playlist)")
        } catch Playlist.Failure.malformed(let message) {
            #expect(message.contains(why))
        } catch {
            Issue.record(error)
        }
    }

    @Test("C24 brackets in titles are no nesting, and UTF-8's mark is passed over")
    func brackets() throws {
        let title = String(repeating: "[{", count: 1000) + "\\\\\\\""
        let text = "\u{FEFF}{\"results\": [{\"trackName\": \"\(title)\", \"previewUrl\": \"http://a/b\"}]}"
        #expect(try read(text).entries.count == 1)
    }
}

struct TrackSourcesTests {
    @Test("C24 a document is of the kind that its name, its type or its content says")
    func chooses() {
        #expect(TrackSources.named("PLS").map(\.name) == ["playlist"])
        #expect(TrackSources.named("mp3").isEmpty)
        #expect(TrackSources.typed("Application/RSS+xml; charset=utf-8").map(\.name) == ["podcast feed"])
        #expect(TrackSources.typed("application/vnd.apple.mpegurl").isEmpty)
        #expect(TrackSources.typed("text/html").isEmpty && TrackSources.typed("").isEmpty)
        let xml = TrackSources.typed("text/xml")
        #expect(xml.count == 2)
        func chosen(_ text: String) -> String? { TrackSources.choose(xml, [UInt8](text.utf8))?.name }
        #expect(chosen("<?xml version='1.0'?><!-- <rss> --><rss>") == "podcast feed")
        #expect(chosen("\u{FEFF}<playlist version='1'>") == "playlist")
        #expect(chosen("<html>") == "playlist")
        #expect(TrackSources.choose([], []) == nil)
    }

    @Test(
        "C24 the root of a document is found behind what may come before it",
        arguments: [
            ("<a/>", "a"), ("<?xml?>\n<RSS x='1'>", "rss"), ("<!-- x > y --><b>", "b"), ("", nil), ("<", ""),
            ("<!--", nil),
            ("plain", nil), ("<!DOCTYPE html><html>", "html"),
        ])
    func roots(_ text: String, _ root: String?) {
        #expect(XMLDocument.root([UInt8](text.utf8)) == root)
    }
}
