import Foundation
import RouteModel

/// The tracks that a document lists (`TrackSource`), as it writes them, before anything is looked for.
struct Playlist: Sendable, Hashable {
    struct Entry: Sendable, Hashable {
        /// A path, relative or not, or an address.
        var location: String
        /// Whether `location` is percent-encoded, as XSPF's are.
        var isURI = false
        var metadata = MediaMetadata()
    }

    /// Why a playlist is not read.
    enum Failure: Error, Hashable {
        /// An HTTP Live Streaming playlist: one item, not a list of items.
        case isStream
        /// Not text, or not of the format that its name says.
        case malformed(String)
    }

    /// Entries that are read of one playlist at most.
    static let maximumEntries = 20_000
    /// Characters of a title or name at most.
    static let maximumText = 1000

    var title: String?
    var entries: [Entry] = []

    /// UTF-8 or UTF-16 by its mark, else UTF-8 if it is that, else Latin-1.
    static func text(_ bytes: [UInt8]) throws -> String {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return String(decoding: bytes.dropFirst(3), as: UTF8.self) }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            guard let text = String(data: Data(bytes), encoding: .utf16) else {
                throw Failure.malformed("broken UTF-16")
            }
            return text
        }
        guard !bytes.contains(0) else { throw Failure.malformed("not text") }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// Lines of any ending, trimmed.
    static func lines(_ text: String) -> [Substring] {
        text.split(whereSeparator: \.isNewline).map { line in
            var line = line
            while let first = line.first, first.isWhitespace { line.removeFirst() }
            while let last = line.last, last.isWhitespace { line.removeLast() }
            return line
        }
    }

    /// Text fit for a title: one line, bounded, nil if nothing is left.
    static func clean(_ text: some StringProtocol) -> String? {
        let clean = text.trimmingCharacters(in: .whitespacesAndNewlines.union(.controlCharacters))
        return clean.isEmpty ? nil : String(clean.prefix(maximumText))
    }
}

/// `#EXTM3U` and plain M3U.
enum M3UPlaylist {
    static func parse(_ text: String) throws -> Playlist {
        var playlist = Playlist()
        var metadata = MediaMetadata()
        for line in Playlist.lines(text) where !line.isEmpty {
            guard line.hasPrefix("#") else {
                guard playlist.entries.count < Playlist.maximumEntries else { break }
                playlist.entries.append(.init(location: String(line), metadata: metadata))
                metadata = MediaMetadata()
                continue
            }
            if line.hasPrefix("#EXT-X-") { throw Playlist.Failure.isStream }
            if let value = value(line, "#EXTINF:") {
                read(value, into: &metadata)
            } else if let value = value(line, "#EXTALB:") {
                metadata.album = Playlist.clean(value)
            } else if let value = value(line, "#EXTART:") {
                metadata.artist = metadata.artist ?? Playlist.clean(value)
            } else if let value = value(line, "#PLAYLIST:") {
                playlist.title = Playlist.clean(value)
            }
        }
        return playlist
    }

    private static func value(_ line: Substring, _ tag: String) -> Substring? {
        line.lowercased().hasPrefix(tag.lowercased()) ? line.dropFirst(tag.count) : nil
    }

    /// `123 key="value",Artist - Title`; -1 seconds is an unknown length.
    private static func read(_ value: Substring, into metadata: inout MediaMetadata) {
        var quoted = false
        let comma = value.firstIndex { character in
            if character == "\"" { quoted.toggle() }
            return character == "," && !quoted
        }
        let head = value[..<(comma ?? value.endIndex)]
        let seconds = head.trimmingCharacters(in: .whitespaces).prefix { $0.isNumber || $0 == "." || $0 == "-" }
        if let seconds = Double(seconds), seconds > 0, seconds < 1e8 {
            metadata.duration = MediaTime(seconds: seconds)
        }
        guard let comma, let name = Playlist.clean(value[value.index(after: comma)...]) else { return }
        if let dash = name.range(of: " - "), let artist = Playlist.clean(name[..<dash.lowerBound]),
            let title = Playlist.clean(name[dash.upperBound...])
        {
            metadata.artist = artist
            metadata.title = title
        } else {
            metadata.title = name
        }
    }
}

/// `[playlist]` with `File1=`, `Title1=`, `Length1=`, in the order of the numbers.
enum PLSPlaylist {
    static func parse(_ text: String) throws -> Playlist {
        let lines = Playlist.lines(text)
        guard lines.first(where: { !$0.isEmpty })?.lowercased() == "[playlist]" else {
            throw Playlist.Failure.malformed("no [playlist] section")
        }
        var entries: [Int: Playlist.Entry] = [:]
        for line in lines {
            guard let equals = line.firstIndex(of: "=") else { continue }
            let key = line[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
            guard let name = ["file", "title", "length"].first(where: { key.hasPrefix($0) }),
                let number = Int(key.dropFirst(name.count)),
                let value = Playlist.clean(line[line.index(after: equals)...]),
                entries[number] != nil || entries.count < Playlist.maximumEntries
            else { continue }
            var entry = entries[number] ?? .init(location: "")
            switch name {
            case "file": entry.location = value
            case "title": entry.metadata.title = value
            default:
                if let seconds = Double(value), seconds > 0, seconds < 1e8 {
                    entry.metadata.duration = MediaTime(seconds: seconds)
                }
            }
            entries[number] = entry
        }
        return Playlist(entries: entries.sorted { $0.key < $1.key }.map(\.value).filter { !$0.location.isEmpty })
    }
}
