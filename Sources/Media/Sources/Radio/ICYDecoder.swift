import Foundation
import RouteModel

/// The head of an internet radio's answer.
struct ICYHead: Sendable, Hashable {
    var status: Int
    /// Names in lower case; of several the first.
    var fields: [String: String]

    /// Bytes of sound between two blocks of words; nil where there are none, or not within reason.
    var interval: Int? {
        fields["icy-metaint"].flatMap { Int($0) }.flatMap { (1...ICYDecoder.maximumInterval).contains($0) ? $0 : nil }
    }
    var stationName: String? { fields["icy-name"].flatMap { Playlist.clean($0) } }
}

/// Why what came is no radio's answer.
enum ICYFailure: Error, Sendable, Hashable {
    /// Neither HTTP nor its older form that begins with `ICY`.
    case noAnswer
    case headTooLong
    /// Sent in chunks, which HTTP/1.0, as we ask, has not.
    case chunked
}

/// Takes an internet radio's bytes apart: the head, and what is said between the sound (`icy-metaint`). The sound itself is
/// passed over.
struct ICYDecoder: Sendable {
    static let maximumHead = 16 << 10
    static let maximumInterval = 1 << 20

    enum Event: Sendable, Hashable {
        case head(ICYHead)
        /// A block of words that is not empty: the servers send one when something has changed.
        case words(ICYWords)
    }

    private enum State {
        case head
        /// So many bytes of sound, then the length of a block.
        case sound(Int)
        case block(Int)
        /// Nothing but sound from here on.
        case silent
    }

    private var state = State.head
    private var kept: [UInt8] = []
    private var interval = 0

    /// Throws once, and is of no use afterwards.
    mutating func take(_ bytes: [UInt8]) throws(ICYFailure) -> [Event] {
        var events: [Event] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            switch state {
            case .silent: return events
            case .head:
                guard let head = try head(&rest) else { return events }
                events.append(.head(head))
            case .sound(let left) where rest.count <= left:
                state = .sound(left - rest.count)
                return events
            case .sound(let left):
                rest = rest.dropFirst(left)
                // One byte counts sixteens; mostly it is 0.
                let length = Int(rest.removeFirst()) * 16
                kept = []
                state = length == 0 ? .sound(interval) : .block(length)
            case .block(let length):
                let part = rest.prefix(length - kept.count)
                kept += part
                rest = rest.dropFirst(part.count)
                guard kept.count == length else { return events }
                events.append(.words(ICYWords(kept)))
                kept = []
                state = .sound(interval)
            }
        }
        return events
    }

    /// Nil while it is not whole.
    private mutating func head(_ rest: inout ArraySlice<UInt8>) throws(ICYFailure) -> ICYHead? {
        while let byte = rest.popFirst() {
            kept.append(byte)
            guard kept.count <= Self.maximumHead else { throw .headTooLong }
            guard byte == UInt8(ascii: "\n"), Self.endsHead(kept) else { continue }
            let head = try Self.parse(kept)
            kept = []
            interval = head.interval ?? 0
            state = head.status == 200 && interval > 0 ? .sound(interval) : .silent
            return head
        }
        if kept.count >= 4, !Self.mayBegin(kept) { throw .noAnswer }
        return nil
    }

    private static func endsHead(_ bytes: [UInt8]) -> Bool {
        bytes.suffix(2).elementsEqual([10, 10]) || bytes.suffix(4).elementsEqual([13, 10, 13, 10])
    }

    private static func mayBegin(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: "HTTP".utf8) || bytes.starts(with: "ICY ".utf8)
    }

    private static func parse(_ bytes: [UInt8]) throws(ICYFailure) -> ICYHead {
        let lines = ICYWords.text(bytes).split(whereSeparator: \.isNewline)
        let words = (lines.first ?? "").split(separator: " ")
        guard mayBegin(bytes), words.count >= 2, let status = Int(words[1]), (100...599).contains(status) else {
            throw .noAnswer
        }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let name = line[..<colon].lowercased()
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            if fields[name] == nil { fields[name] = String(value) }
        }
        guard fields["transfer-encoding"]?.lowercased().contains("chunked") != true else { throw .chunked }
        return ICYHead(status: status, fields: fields)
    }
}

/// What a block says: `StreamTitle='Somebody - A song';StreamUrl='…';`, filled up with zeros.
struct ICYWords: Sendable, Hashable {
    /// Nil where it says nothing of a title, empty where there is none now.
    var title: String?

    init(_ block: [UInt8]) {
        let text = Self.text(Array(block.prefix { $0 != 0 }))
        guard let start = text.range(of: "StreamTitle='") else { return }
        let rest = text[start.upperBound...]
        title = String(rest[..<Self.end(of: rest)])
    }

    /// A title may hold quotes, so it ends where the next key, or nothing, follows one.
    private static func end(of text: Substring) -> String.Index {
        var from = text.startIndex
        while let end = text[from...].range(of: "';") {
            let after = text[end.upperBound...]
            if after.isEmpty || beginsKey(after) { return end.lowerBound }
            from = end.upperBound
        }
        return text.hasSuffix("'") ? text.index(before: text.endIndex) : text.endIndex
    }

    private static func beginsKey(_ text: Substring) -> Bool {
        let key = text.prefix { $0.isLetter }
        return !key.isEmpty && text.dropFirst(key.count).hasPrefix("='")
    }

    /// UTF-8 if it is that, else Latin-1.
    static func text(_ bytes: [UInt8]) -> String {
        String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// The title as metadata, `Artist - Title` as most stations write it; without a title where there is none.
    func metadata(of station: String?) -> MediaMetadata {
        var metadata = MediaMetadata(kind: .live, studio: station)
        guard let title = title.flatMap({ Playlist.clean($0) }) else { return metadata }
        if let dash = title.range(of: " - "), let artist = Playlist.clean(title[..<dash.lowerBound]),
            let song = Playlist.clean(title[dash.upperBound...])
        {
            metadata.artist = artist
            metadata.title = song
        } else {
            metadata.title = title
        }
        return metadata
    }
}
