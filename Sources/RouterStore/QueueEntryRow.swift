import Foundation
import GRDB
import RouteModel

/// An item as a row: in columns where they say all of it, else as JSON.
///
/// Reading columns takes a tenth of what JSON takes, which counts with a hundred thousand of them.
struct QueueEntryRow {
    static let columns = "item, isFile, location, start, kind, title, artist, album, track, duration, context, content"

    /// What follows the columns that a table has of its own.
    static let definition = """
        item TEXT NOT NULL,
        isFile INTEGER,
        location TEXT,
        start INTEGER,
        kind TEXT,
        title TEXT,
        artist TEXT,
        album TEXT,
        track INTEGER,
        duration INTEGER,
        context TEXT,
        content TEXT
        """

    /// One mark for each column.
    static let marks = Array(repeating: "?", count: 12).joined(separator: ", ")

    /// Throws where an item has no JSON form.
    static func values(of item: QueueItem, _ encoder: JSONEncoder) throws -> [(any DatabaseValueConvertible)?] {
        guard let plain = plainValues(of: item) else {
            let content = String(decoding: try encoder.encode(item), as: UTF8.self)
            return [item.id.rawValue] + Array(repeating: nil, count: 10) + [content]
        }
        return plain
    }

    private static func plainValues(of item: QueueItem) -> [(any DatabaseValueConvertible)?]? {
        let isFile: Bool
        let location: String
        switch item.source {
        case .file(let path): (isFile, location) = (true, path)
        case .url(let url): (isFile, location) = (false, url)
        case .live: return nil
        }
        let metadata = item.metadata
        let plain = QueueItem(
            id: item.id, source: item.source,
            metadata: MediaMetadata(
                kind: metadata.kind, title: metadata.title, artist: metadata.artist, album: metadata.album,
                trackNumber: metadata.trackNumber, duration: metadata.duration), start: item.start,
            context: item.context)
        guard plain == item else { return nil }
        return [
            item.id.rawValue, isFile, location, item.start.ticks, metadata.kind.rawValue, metadata.title,
            metadata.artist, metadata.album, metadata.trackNumber, metadata.duration?.ticks, item.context, nil,
        ]
    }

    /// The item of a row whose columns begin at `first`.
    static func item(_ row: Row, from first: Int, _ decoder: JSONDecoder) throws -> QueueItem {
        if let content = row[first + 11] as String? {
            return try decoder.decode(QueueItem.self, from: Data(content.utf8))
        }
        guard let location = row[first + 2] as String?, let start = row[first + 3] as Int64? else {
            throw StoreFault.content("an item of it is not understood")
        }
        return QueueItem(
            id: ItemID(rawValue: row[first]), source: row[first + 1] == true ? .file(path: location) : .url(location),
            metadata: MediaMetadata(
                // A kind that a later version knows is shown as any other.
                kind: (row[first + 4] as String?).flatMap(MediaMetadata.Kind.init(rawValue:)) ?? .generic,
                title: row[first + 5], artist: row[first + 6], album: row[first + 7], trackNumber: row[first + 8],
                duration: (row[first + 9] as Int64?).map(MediaTime.init(ticks:))),
            start: MediaTime(ticks: start), context: row[first + 10])
    }
}
