import RouteModel

/// Turns queue items into what sessions take. Implemented by `Media`, handed to the engine.
///
/// Every function throws `RouterError`: `mediaNotFound`, `mediaUnsupported`, `mediaForbidden`, `dependencyMissing`,
/// `itemFailed`.
public protocol MediaPreparing: Sendable {
    /// Files, folders, playlists and URLs as items, in order; entries of playlists that are missing are left out and
    /// told in `notices`. Throws `mediaNotFound` when nothing is left.
    func expand(_ what: [String], workingDirectory: String) async throws -> ExpandedMedia

    /// What the item is: tags, length, streams. Cached.
    func facts(_ source: MediaSource) async throws -> MediaFacts

    /// A picture that belongs to the item, as JPEG or PNG, made smaller where it is beyond the limits; nil if it has none.
    func artwork(_ source: MediaSource, within limits: ArtworkLimits) async -> Artwork?

    /// A feed that begins with `first` and asks `next` for what follows, ahead of need; nil ends it.
    ///
    /// `started` is told, in order, at which frame of the feed each item begins and where in the item that is; it is
    /// called when the item's samples are decoded, seconds before they are heard. An item that cannot be played is told
    /// by `failed` and passed over. Returns at once; the first packet shows whether it works.
    func feed(_ first: FeedItem, events: FeedEvents) async throws -> any AudioFeed

    /// The item as a URL for a receiver. A file of ours is served under `token` until `withdraw`.
    func publish(_ item: QueueItem, token: MediaToken, for requirements: PullRequirements) async throws -> PullMedia

    /// Stops serving these.
    func withdraw(_ tokens: [MediaToken]) async

    /// How much receivers have fetched of a token, for diagnosis: nil if nothing was ever asked for.
    func fetches(of token: MediaToken) async -> FetchRecord?

    /// What a station says that it plays now (`model.md` section 4): `heard` is told whenever it is another, nil now and
    /// then, and answers whether to go on. Returns when it says no, when cancelled, and at once for what says nothing.
    func titles(of source: MediaSource, _ heard: @escaping @Sendable (MediaMetadata?) async -> Bool) async
}

extension MediaPreparing {
    public func titles(of source: MediaSource, _ heard: @escaping @Sendable (MediaMetadata?) async -> Bool) async {}
}

/// What `expand` made of a person's words.
public struct ExpandedMedia: Sendable, Hashable {
    public var entries: [Entry]
    public var notices: [Notice]

    public init(entries: [Entry], notices: [Notice]) {
        self.entries = entries
        self.notices = notices
    }

    public struct Entry: Sendable, Hashable {
        public var source: MediaSource
        /// What the playlist said of it, if anything.
        public var metadata: MediaMetadata
        public var context: String?
        /// Whether its picture may be shown on receivers (A6), where something is said of the place that it comes from.
        public var externalPlayback: Bool?

        public init(
            source: MediaSource, metadata: MediaMetadata = MediaMetadata(), context: String? = nil,
            externalPlayback: Bool? = nil
        ) {
            self.externalPlayback = externalPlayback
            self.source = source
            self.metadata = metadata
            self.context = context
        }
    }
}

/// What a source turned out to be.
public struct MediaFacts: Sendable, Hashable {
    public var metadata: MediaMetadata
    public var duration: MediaTime?
    public var contentType: String
    public var hasAudio: Bool
    public var hasVideo: Bool
    /// No end, no seeking.
    public var live: Bool
    public var hasArtwork: Bool
    /// Its streams, in the container's order; pictures are left out.
    public var tracks: [SourceStream]

    public init(
        metadata: MediaMetadata, duration: MediaTime?, contentType: String, hasAudio: Bool, hasVideo: Bool,
        live: Bool, hasArtwork: Bool, tracks: [SourceStream] = []
    ) {
        self.metadata = metadata
        self.duration = duration
        self.contentType = contentType
        self.hasAudio = hasAudio
        self.hasVideo = hasVideo
        self.live = live
        self.hasArtwork = hasArtwork
        self.tracks = tracks
    }
}

/// An item as a feed takes it.
public struct FeedItem: Sendable, Hashable {
    public var item: ItemID
    public var source: MediaSource
    /// Where in the item to begin.
    public var start: MediaTime
    /// Where in the item to stop; nil: at its end.
    public var end: MediaTime?

    public init(item: ItemID, source: MediaSource, start: MediaTime = .zero, end: MediaTime? = nil) {
        self.end = end
        self.item = item
        self.source = source
        self.start = start
    }
}

/// How a feed talks to its owner.
public struct FeedEvents: Sendable {
    /// What follows this item; nil ends the feed.
    public var next: @Sendable (_ after: ItemID) async -> FeedItem?
    /// An item's first sample is at `frame` of the feed, which is `offset` into the item.
    public var started: @Sendable (_ item: ItemID, _ frame: Int64, _ offset: MediaTime) async -> Void
    /// An item's last sample came before `frame`. With an error, the item broke there (or never began).
    public var ended: @Sendable (_ item: ItemID, _ frame: Int64, _ error: RouterError?) async -> Void

    public init(
        next: @escaping @Sendable (ItemID) async -> FeedItem?,
        started: @escaping @Sendable (ItemID, Int64, MediaTime) async -> Void,
        ended: @escaping @Sendable (ItemID, Int64, RouterError?) async -> Void
    ) {
        self.next = next
        self.started = started
        self.ended = ended
    }
}
