import Foundation

/// Where an item's media is.
public enum MediaSource: Codable, Sendable, Hashable {
    /// A file of the sender's, by absolute path.
    case file(path: String)
    /// An `http`, `https` or other network address.
    case url(String)
    /// Sound that comes in as it is made.
    case live(LiveInput)

    /// A person's name for it: the file's or the last path component.
    public var label: String {
        switch self {
        case .file(let path): path.split(separator: "/").last.map(String.init) ?? path
        case .url(let text):
            // A query, or a user name and password, may hold a secret and is never shown.
            Self.withoutUser(text.prefix { $0 != "?" })
        case .live(let input): input.label
        }
    }

    private static func withoutUser(_ text: Substring) -> String {
        guard let scheme = text.range(of: "://") else { return String(text) }
        let host = text[scheme.upperBound...].prefix { $0 != "/" }
        guard let user = host.lastIndex(of: "@") else { return String(text) }
        return String(text[..<scheme.upperBound] + text[text.index(after: user)...])
    }

    private enum CodingKeys: String, CodingKey { case file, url, live }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let path = try container.decodeIfPresent(String.self, forKey: .file) {
            self = .file(path: path)
        } else if let input = try container.decodeIfPresent(LiveInput.self, forKey: .live) {
            self = .live(input)
        } else {
            self = .url(try container.decode(String.self, forKey: .url))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .file(let path): try container.encode(path, forKey: .file)
        case .url(let text): try container.encode(text, forKey: .url)
        case .live(let input): try container.encode(input, forKey: .live)
        }
    }
}

/// One occurrence of something to play.
public struct QueueItem: Codable, Sendable, Hashable, Identifiable {
    public var id: ItemID
    public var source: MediaSource
    public var metadata: MediaMetadata
    /// Where in the media to begin.
    public var start: MediaTime
    /// Nil while unknown; a reason once it is known not to play.
    public var failure: String?
    /// What it was taken from (an album's folder, a playlist), for people.
    public var context: String?
    /// Nil: what there is stays on offer, and forced subtitles are shown.
    public var subtitles: SubtitleRequest?
    /// Who put it there, where that was not the queue's own maker.
    public var addedBy: CommandOrigin?

    public init(
        id: ItemID, source: MediaSource, metadata: MediaMetadata = MediaMetadata(), start: MediaTime = .zero,
        failure: String? = nil, context: String? = nil, subtitles: SubtitleRequest? = nil,
        addedBy: CommandOrigin? = nil
    ) {
        self.id = id
        self.source = source
        self.metadata = metadata
        self.start = start
        self.failure = failure
        self.context = context
        self.subtitles = subtitles
        self.addedBy = addedBy
    }

    /// The title, or failing that the file's name.
    public var title: String { metadata.title ?? source.label }
}

/// A queue at one version. The router's queue is the truth; devices get a view of it.
public struct QueueSnapshot: Codable, Sendable, Hashable {
    public var version: Int
    /// Play order.
    public var items: [QueueItem]
    /// Nil before the first item and after the last.
    public var current: ItemID?
    public var repeatMode: RepeatMode
    /// The order without shuffle, while shuffled.
    public var original: [ItemID]?

    public init(
        version: Int, items: [QueueItem], current: ItemID?, repeatMode: RepeatMode = .off, original: [ItemID]? = nil
    ) {
        self.version = version
        self.items = items
        self.current = current
        self.repeatMode = repeatMode
        self.original = original
    }
}

/// One change to a queue's order or content.
public enum QueueEdit: Codable, Sendable, Hashable {
    /// Files, folders, playlists and URLs after the current item.
    case playNext([String])
    /// At the end.
    case append([String])
    case insert([String], before: ItemID)
    /// These items, in this order, before another; nil is the end.
    case move([ItemID], before: ItemID?)
    /// Where the current item is among them, what follows it plays.
    case remove([ItemID])
    /// All that is to come.
    case clearUpcoming
}
