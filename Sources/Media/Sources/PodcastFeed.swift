import Foundation
import FoundationXML
import RouteModel

/// A podcast: RSS 2.0 whose items enclose media, newest first as the feed has them. What `itunes:` tags add is read too.
struct PodcastFeed: TrackSource {
    let name = "podcast feed"
    let extensions: Set = ["rss", "xml"]
    let contentTypes: Set = ["application/rss+xml", "application/xml", "text/xml"]

    func claims(_ bytes: [UInt8]) -> Bool { XMLDocument.root(bytes) == "rss" }

    func read(_ bytes: [UInt8]) throws -> Playlist {
        try XMLDocument.check(bytes)
        let reader = PodcastReader()
        let parser = XMLDocument.parser(bytes, reader)
        let parsed = parser.parse()
        guard reader.isPodcast else { throw Playlist.Failure.malformed("not an RSS feed") }
        // The parser's own word is not enough: it takes a document that is cut off for whole.
        guard parsed || reader.isFull, reader.sawEnd || reader.isFull else {
            throw Playlist.Failure.malformed(reader.isTooDeep ? "its elements are nested too deep" : "it breaks off")
        }
        return reader.playlist
    }

    /// `1:02:03`, `62:03` or `3723`; nil for what is none.
    static func duration(_ text: String) -> MediaTime? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Double($0) }
        guard (1...3).contains(parts.count), !parts.contains(where: { $0.map { $0 < 0 || $0 >= 1e8 } ?? true }) else {
            return nil
        }
        let seconds = parts.reduce(0) { $0 * 60 + ($1 ?? 0) }
        return seconds > 0 && seconds < 1e8 ? MediaTime(seconds: seconds) : nil
    }

    /// The day of `Tue, 07 Oct 2025 05:00:00 +0000` (RFC 822) as `2025-10-07`; nil for what is none.
    static func day(_ text: String) -> String? {
        let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        var words = text.split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init)
        if let first = words.first, Int(first) == nil { words.removeFirst() }
        guard words.count >= 3, let day = Int(words[0]), (1...31).contains(day),
            let month = months.firstIndex(of: words[1].prefix(3).lowercased()), let given = Int(words[2]), given >= 0
        else { return nil }
        // Two digits are of the last century from 50 on, as the format's readers take them.
        let year = given < 50 ? 2000 + given : given < 100 ? 1900 + given : given
        guard (1900...9999).contains(year) else { return nil }
        func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
        return "\(year)-\(two(month + 1))-\(two(day))"
    }
}

private final class PodcastReader: NSObject, XMLParserDelegate {
    private static let maximumDepth = 32
    private static let maximumText = 8192

    var playlist = Playlist()
    private(set) var isPodcast = false
    private(set) var sawEnd = false
    private(set) var isTooDeep = false
    var isFull: Bool { playlist.entries.count >= Playlist.maximumEntries }

    private var path: [String] = []
    private var text = ""
    private var author: String?
    private var picture: String?
    private var language: String?
    private var isExplicit: Bool?
    private var entry = Playlist.Entry(location: "")
    private var entryPicture: String?

    private static let channel = ["rss", "channel"]
    private static let item = ["rss", "channel", "item"]

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        path.append(name.lowercased())
        text = ""
        if path.count == 1 { isPodcast = path == ["rss"] }
        isTooDeep = path.count > Self.maximumDepth
        if !isPodcast || isTooDeep || isFull { return parser.abortParsing() }
        if path == Self.item {
            entry = Playlist.Entry(location: "", metadata: MediaMetadata(kind: .podcastEpisode))
            entryPicture = nil
        } else if path == Self.item + ["enclosure"], entry.location.isEmpty, let url = attributes["url"] {
            let type = attributes["type"]?.lowercased() ?? "audio/"
            guard type.hasPrefix("audio/") || type.hasPrefix("video/") || type == "application/octet-stream" else {
                return
            }
            entry.location = String(url.trimmingCharacters(in: .whitespacesAndNewlines).prefix(Self.maximumText))
        } else if path.last == "itunes:image", let url = attributes["href"] {
            if path.count == 3 { picture = url } else if path.count == 4 { entryPicture = url }
        }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        if text.utf8.count < Self.maximumText { text += string }
    }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        if text.utf8.count < Self.maximumText {
            text += String(decoding: block.prefix(Self.maximumText), as: UTF8.self)
        }
    }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
        defer {
            path.removeLast()
            text = ""
        }
        if path == ["rss"] {
            sawEnd = true
            finish()
        } else if path == Self.item {
            if !entry.location.isEmpty {
                if let picture = entryPicture ?? picture { entry.metadata.images = [MediaImage(url: picture)] }
                playlist.entries.append(entry)
            }
        } else if path.count == 4, path.starts(with: Self.item) {
            ofItem(path[3])
        } else if path.count == 3, path.starts(with: Self.channel) {
            switch path[2] {
            case "title": playlist.title = Playlist.clean(text)
            case "itunes:author": author = Playlist.clean(text)
            case "language": language = LanguageName.tag(text.trimmingCharacters(in: .whitespacesAndNewlines))
            case "itunes:explicit": isExplicit = Self.explicit(text)
            default: break
            }
        } else if path == Self.channel + ["image", "url"], picture == nil {
            picture = Playlist.clean(text)
        }
    }

    private func ofItem(_ element: String) {
        let number = Int(text.trimmingCharacters(in: .whitespaces)).flatMap { (0...99_999).contains($0) ? $0 : nil }
        switch element {
        case "title": entry.metadata.title = Playlist.clean(text)
        case "itunes:subtitle": entry.metadata.subtitle = Playlist.clean(text)
        case "itunes:author": entry.metadata.artist = Playlist.clean(text)
        case "itunes:season": entry.metadata.season = number
        case "itunes:episode": entry.metadata.episode = number
        case "itunes:duration":
            entry.metadata.duration = PodcastFeed.duration(text.trimmingCharacters(in: .whitespacesAndNewlines))
        case "itunes:explicit": entry.metadata.isExplicit = Self.explicit(text)
        case "pubdate": entry.metadata.releaseDate = PodcastFeed.day(text)
        default: break
        }
    }

    /// The tag's words, of now and of before.
    private static func explicit(_ text: String) -> Bool? {
        switch text.trimmingCharacters(in: .whitespacesAndNewlines).lowercased() {
        case "true", "yes", "explicit": true
        case "false", "no", "clean": false
        default: nil
        }
    }

    /// What holds for the whole feed may come after its items.
    private func finish() {
        for index in playlist.entries.indices {
            playlist.entries[index].metadata.artist = playlist.entries[index].metadata.artist ?? author
            playlist.entries[index].metadata.seriesTitle = playlist.title
            playlist.entries[index].metadata.language = language
            playlist.entries[index].metadata.isExplicit = playlist.entries[index].metadata.isExplicit ?? isExplicit
            if playlist.entries[index].metadata.images.isEmpty, let picture {
                playlist.entries[index].metadata.images = [MediaImage(url: picture)]
            }
        }
    }
}
