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

/// A queue at one version. The router's queue is the truth; devices get a view of it.
public struct QueueSnapshot: Sendable, Hashable {
    public var version: Int
    /// Play order.
    public var items: QueueItems
    /// Nil before the first item and after the last.
    public var current: ItemID?
    public var repeatMode: RepeatMode
    /// What is done with an item that does not play; nil is `skip`.
    public var failurePolicy: FailurePolicy?
    /// What the order was last drawn from, while shuffled.
    public var shuffleSeed: UInt32?
    private var unshuffled: Unshuffled?
    private var hint = Hint()

    private enum Unshuffled: Sendable, Hashable {
        case items(QueueItems)
        case ids([ItemID])

        static func == (left: Unshuffled, right: Unshuffled) -> Bool {
            if case .items(let left) = left, case .items(let right) = right {
                return left.agrees(with: right) { $0.id == $1.id }
            }
            return left.ids == right.ids
        }

        func hash(into hasher: inout Hasher) { hasher.combine(ids) }

        var ids: [ItemID] {
            switch self {
            case .items(let items): items.map(\.id)
            case .ids(let ids): ids
            }
        }
    }

    /// Where the current item was when the snapshot was made. It is looked at first, and says nothing of the queue.
    private struct Hint: Sendable, Hashable {
        var place: Int?

        static func == (_: Hint, _: Hint) -> Bool { true }
        func hash(into hasher: inout Hasher) {}
    }

    public init(
        version: Int, items: some Sequence<QueueItem>, current: ItemID?, repeatMode: RepeatMode = .off,
        original: [ItemID]? = nil, failurePolicy: FailurePolicy? = nil, shuffleSeed: UInt32? = nil
    ) {
        self.init(
            version: version, items: items as? QueueItems ?? QueueItems(items), current: current, place: nil,
            repeatMode: repeatMode, unshuffled: nil, failurePolicy: failurePolicy, shuffleSeed: shuffleSeed)
        self.original = original
    }

    /// - Parameters:
    ///   - place: where the current item is, if that is known.
    ///   - unshuffled: the same items without shuffle, while shuffled.
    package init(
        version: Int, items: QueueItems, current: ItemID?, place: Int?, repeatMode: RepeatMode,
        unshuffled: QueueItems?, failurePolicy: FailurePolicy?, shuffleSeed: UInt32?
    ) {
        self.version = version
        self.items = items
        self.current = current
        self.repeatMode = repeatMode
        self.failurePolicy = failurePolicy
        self.shuffleSeed = shuffleSeed
        self.unshuffled = unshuffled.map { .items($0) }
        hint.place = place
    }

    /// The order without shuffle, while shuffled. Made anew each time that it is asked for.
    public var original: [ItemID]? {
        get { unshuffled?.ids }
        set { unshuffled = newValue.map { .ids($0) } }
    }

    public var isShuffled: Bool { unshuffled != nil }

    /// The items without shuffle; nil where that order is not known as such.
    package var unshuffledItems: QueueItems? { if case .items(let items)? = unshuffled { items } else { nil } }

    package func hasSameOriginal(as other: QueueSnapshot) -> Bool { unshuffled == other.unshuffled }

    /// Where the current item is in `items`.
    public var currentPlace: Int? {
        guard let current else { return nil }
        if let place = hint.place, items.indices.contains(place), items[place].id == current { return place }
        return items.firstIndex { $0.id == current }
    }

    public var currentItem: QueueItem? { currentPlace.map { items[$0] } }
}

extension QueueSnapshot: Codable {
    private enum CodingKeys: String, CodingKey {
        case version, items, current, repeatMode, original, failurePolicy, shuffleSeed
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            version: try container.decode(Int.self, forKey: .version),
            items: try container.decode(QueueItems.self, forKey: .items),
            current: try container.decodeIfPresent(ItemID.self, forKey: .current),
            repeatMode: try container.decode(RepeatMode.self, forKey: .repeatMode),
            original: try container.decodeIfPresent([ItemID].self, forKey: .original),
            failurePolicy: try container.decodeIfPresent(FailurePolicy.self, forKey: .failurePolicy),
            shuffleSeed: try container.decodeIfPresent(UInt32.self, forKey: .shuffleSeed))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(version, forKey: .version)
        try container.encode(items, forKey: .items)
        try container.encodeIfPresent(current, forKey: .current)
        try container.encode(repeatMode, forKey: .repeatMode)
        try container.encodeIfPresent(original, forKey: .original)
        try container.encodeIfPresent(failurePolicy, forKey: .failurePolicy)
        try container.encodeIfPresent(shuffleSeed, forKey: .shuffleSeed)
    }
}

/// One change to a queue's order or content.
public enum QueueEdit: Codable, Sendable, Hashable {
    /// Files, folders, playlists and URLs after the current item. With settings, here and below, all that comes in by it is
    /// played as they say.
    case playNext([String], settings: QueueItemSettings? = nil)
    /// At the end.
    case append([String], settings: QueueItemSettings? = nil)
    case insert([String], before: ItemID, settings: QueueItemSettings? = nil)
    /// These items, in this order, before another; nil is the end.
    case move([ItemID], before: ItemID?)
    /// Where the current item is among them, what follows it plays.
    case remove([ItemID])
    /// All that is to come.
    case clearUpcoming
    /// Everything: what plays is stopped, and the queue is empty.
    case clear
    /// In place of all that is to come.
    case replaceUpcoming([String], settings: QueueItemSettings? = nil)
    /// Takes back the last change of order or content; the last ten can be, one after the other.
    case undo
    /// What is done from now on with an item that does not play.
    case failurePolicy(FailurePolicy)
    /// How these items are played, from now on. Not taken back by `undo`.
    case settings([ItemID], QueueItemSettings)
    /// What items are shown as, in place of what was known of them; those that are in the queue no more are passed over.
    /// Not taken back by `undo`.
    case describe([ItemDescription])
}

/// What an item is shown as.
public struct ItemDescription: Codable, Sendable, Hashable {
    public var item: ItemID
    /// What is left out is filled in from the media itself, once it is looked into.
    public var metadata: MediaMetadata
    /// What it was taken from, as `QueueItem.context`; nil leaves that alone.
    public var context: String?

    public init(item: ItemID, metadata: MediaMetadata, context: String? = nil) {
        self.item = item
        self.metadata = metadata
        self.context = context
    }
}

/// What is known of something that is to be played, by whoever asks for it.
public struct MediaDescription: Codable, Sendable, Hashable {
    /// The bytes that one may be of as JSON.
    public static let maximumBytes = 16 * 1024
    /// Seconds that an item is said to last at most: ten years.
    public static let maximumSeconds = 315_360_000.0
    /// That one request may have.
    public static let maximumCount = 10_000

    public var source: MediaSource
    /// What is left out is filled in from the media itself, once it is looked into.
    public var metadata: MediaMetadata
    /// What it was taken from, as `QueueItem.context`.
    public var context: String?

    public init(source: MediaSource, metadata: MediaMetadata, context: String? = nil) {
        self.source = source
        self.metadata = metadata
        self.context = context
    }

    public init(_ item: QueueItem) {
        self.init(source: item.source, metadata: item.metadata, context: item.context)
    }

    /// Why no router takes a description.
    public enum Fault: Sendable, Hashable {
        /// It lasts no time, or less, or more than ten years.
        case duration
        /// It is of more than `maximumBytes`.
        case size
    }

    public var fault: Fault? {
        if let duration = metadata.duration, duration <= .zero || duration.seconds > Self.maximumSeconds {
            return .duration
        }
        guard let size = try? JSONEncoder().encode(self).count, size <= Self.maximumBytes else { return .size }
        return nil
    }
}

extension ItemDescription {
    public var fault: MediaDescription.Fault? {
        MediaDescription(source: .url(""), metadata: metadata, context: context).fault
    }
}

/// What can be said of an item that is in a queue; what is nil stays as it is.
public struct QueueItemSettings: Codable, Sendable, Hashable {
    /// Where in the media to begin, the next time that it does.
    public var start: MediaTime?
    /// Where in the media to stop; zero is its end.
    public var end: MediaTime?
    /// False: no picture is to be shown on receivers (A6); true: also where the place that it comes from says false.
    public var externalPlayback: Bool?
    /// A JSON document of at most 16 KiB; the empty text removes it.
    public var custom: String?

    public init(
        start: MediaTime? = nil, end: MediaTime? = nil, externalPlayback: Bool? = nil, custom: String? = nil
    ) {
        self.start = start
        self.end = end
        self.externalPlayback = externalPlayback
        self.custom = custom
    }
}

/// What is done with an item that does not play. The loss of a network or a device is never an item's failure: it is
/// waited out.
public enum FailurePolicy: Codable, Sendable, Hashable {
    /// Goes on with the next, at most three in a row.
    case skip
    case stop
    /// Tries it again so many times (1 to 10), and then goes on with the next.
    case retry(Int)
}

/// How a queue came from one version to another, oldest edit first: enough to bring a reader's copy up to date.
public struct QueueChanges: Codable, Sendable, Hashable {
    public var session: SessionID
    /// The version that `changes` apply to.
    public var base: Int
    public var version: Int
    public var changes: [QueueChange]
    /// The whole queue, in place of `changes`, where `base` is older than what is kept.
    public var whole: QueueSnapshot?

    public init(
        session: SessionID, base: Int, version: Int, changes: [QueueChange], whole: QueueSnapshot? = nil
    ) {
        self.session = session
        self.base = base
        self.version = version
        self.changes = changes
        self.whole = whole
    }
}

/// One step from one version of a queue to the next. Indices are those at its own turn.
public enum QueueChange: Codable, Sendable, Hashable {
    case insert([QueueItem], at: Int)
    case remove([ItemID])
    /// Takes these out, in this order, and puts them in at an index of what is left.
    case move([ItemID], to: Int)
    /// An item with the same id, as it is now.
    case update(QueueItem)
    /// A new order of all items.
    case order([ItemID])
    case current(ItemID?)
    case repeatMode(RepeatMode)
    /// The order without shuffle; nil: not shuffled.
    case original([ItemID]?)
    case failurePolicy(FailurePolicy?)
    case shuffleSeed(UInt32?)
}

extension QueueSnapshot {
    /// Brings this copy from `base` to `version`; false where it is at another version, and then it is left alone.
    @discardableResult
    public mutating func apply(_ update: QueueChanges) -> Bool {
        if let whole = update.whole {
            self = whole
            return true
        }
        guard update.base == version else { return false }
        for change in update.changes { apply(change) }
        version = update.version
        return true
    }

    private mutating func apply(_ change: QueueChange) {
        switch change {
        case .insert(let new, let index): items.insert(contentsOf: new, at: min(max(0, index), items.count))
        case .remove(let ids):
            let gone = Set(ids)
            items.removeAll { gone.contains($0.id) }
        case .move(let ids, let index):
            let places = Dictionary(items.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            let gone = Set(ids)
            items.removeAll { gone.contains($0.id) }
            items.insert(contentsOf: ids.compactMap { places[$0] }, at: min(max(0, index), items.count))
        case .update(let item):
            if let index = items.firstIndex(where: { $0.id == item.id }) { items[index] = item }
        case .order(let ids):
            let places = Dictionary(items.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            items = QueueItems(ids.compactMap { places[$0] })
        case .current(let id): current = id
        case .repeatMode(let mode): repeatMode = mode
        case .original(let ids): original = ids
        case .failurePolicy(let policy): failurePolicy = policy
        case .shuffleSeed(let seed): shuffleSeed = seed
        }
    }
}

/// A queue kept under a name, to be played again.
public struct SavedQueue: Codable, Sendable, Hashable {
    /// 1 to 64 characters.
    public var name: String
    public var items: [QueueItem]
    /// Seconds since 1970.
    public var saved: Double

    public init(name: String, items: [QueueItem], saved: Double) {
        self.name = name
        self.items = items
        self.saved = saved
    }
}

/// One play of one item: the history is a log of these, which nothing changes afterwards.
public struct PlayRecord: Codable, Sendable, Hashable, Identifiable {
    /// Counts up over all sessions.
    public var id: Int
    public var session: SessionID
    public var item: QueueItem
    /// As they were called.
    public var rooms: [String]
    /// Seconds since 1970.
    public var started: Double
    /// Nil while it plays.
    public var stopped: Double?
    /// Nil while it plays.
    public var reason: StopReason?
    /// The furthest position that was heard.
    public var furthest: MediaTime

    public init(
        id: Int, session: SessionID, item: QueueItem, rooms: [String], started: Double, stopped: Double? = nil,
        reason: StopReason? = nil, furthest: MediaTime = .zero
    ) {
        self.id = id
        self.session = session
        self.item = item
        self.rooms = rooms
        self.started = started
        self.stopped = stopped
        self.reason = reason
        self.furthest = furthest
    }
}
