import Foundation
import FoundationXML
import RouteModel

/// XSPF, the XML playlist. Documents that declare types or entities are refused: nothing in XSPF needs them, and they
/// are how XML bombs are made.
enum XSPFPlaylist {
    static func parse(_ bytes: [UInt8]) throws -> Playlist {
        try XMLDocument.check(bytes)
        let reader = XSPFReader()
        let parser = XMLDocument.parser(bytes, reader)
        // The parser's own word is not enough: it takes a document that is cut off for whole.
        guard parser.parse() || reader.isFull, reader.sawEnd || reader.isFull else {
            throw Playlist.Failure.malformed("not a whole XSPF document")
        }
        return reader.playlist
    }
}

private final class XSPFReader: NSObject, XMLParserDelegate {
    private static let maximumDepth = 32

    var playlist = Playlist()
    private(set) var sawEnd = false
    var isFull: Bool { playlist.entries.count >= Playlist.maximumEntries }
    private var path: [String] = []
    private var text = ""
    private var entry = Playlist.Entry(location: "", isURI: true)

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        path.append(name.lowercased())
        text = ""
        if path == ["playlist", "tracklist", "track"] { entry = Playlist.Entry(location: "", isURI: true) }
        if path.count > Self.maximumDepth || isFull { parser.abortParsing() }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        // Addresses may be long, a book in a title may not.
        if text.utf8.count < 8192 { text += string }
    }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        if text.utf8.count < 8192 { text += String(decoding: block, as: UTF8.self) }
    }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
        defer {
            path.removeLast()
            text = ""
        }
        if path == ["playlist"] { sawEnd = true }
        if path == ["playlist", "title"] { playlist.title = Playlist.clean(text) }
        guard path.starts(with: ["playlist", "tracklist", "track"]) else { return }
        if path.count == 3 {
            if !entry.location.isEmpty { playlist.entries.append(entry) }
            return
        }
        guard path.count == 4 else { return }
        switch path[3] {
        // Of several places the first is taken, as the format says.
        case "location" where entry.location.isEmpty:
            entry.location = text.trimmingCharacters(in: .whitespacesAndNewlines)
        case "title": entry.metadata.title = Playlist.clean(text)
        case "creator": entry.metadata.artist = Playlist.clean(text)
        case "album": entry.metadata.album = Playlist.clean(text)
        case "tracknum": entry.metadata.trackNumber = Int(text.trimmingCharacters(in: .whitespaces))
        case "duration":
            if let milliseconds = Int64(text.trimmingCharacters(in: .whitespaces)),
                (1..<100_000_000_000).contains(milliseconds)
            {
                entry.metadata.duration = MediaTime(milliseconds: milliseconds)
            }
        default: break
        }
    }
}
