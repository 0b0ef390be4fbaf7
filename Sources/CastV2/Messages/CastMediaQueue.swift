/// How a queue goes on past its end (`Protocols/cast` section 7).
public enum CastRepeatMode: String, Sendable, Hashable, CaseIterable {
    case off = "REPEAT_OFF"
    case all = "REPEAT_ALL"
    case single = "REPEAT_SINGLE"
    case allAndShuffle = "REPEAT_ALL_AND_SHUFFLE"
}

/// One item of a receiver's queue.
public struct CastQueueItem: Sendable, Hashable {
    /// The receiver's own number; nil in an item that is yet to be inserted.
    public var itemID: Int?
    /// Nil for an item whose media the receiver did not tell (a cloud queue may know its ids only).
    public var media: CastMediaInformation?
    public var autoplay: Bool?
    /// Seconds into the item.
    public var startTime: Double?
    /// Seconds that are played of it.
    public var playbackDuration: Double?
    /// Seconds before the end of the item before at which it is fetched.
    public var preloadTime: Double?
    public var activeTrackIDs: [Int]?
    public var orderID: Int?
    public var customData: CastJSON?

    public init(
        itemID: Int? = nil, media: CastMediaInformation? = nil, autoplay: Bool? = nil, startTime: Double? = nil,
        playbackDuration: Double? = nil, preloadTime: Double? = nil, activeTrackIDs: [Int]? = nil,
        orderID: Int? = nil, customData: CastJSON? = nil
    ) {
        self.itemID = itemID
        self.media = media
        self.autoplay = autoplay
        self.startTime = startTime
        self.playbackDuration = playbackDuration
        self.preloadTime = preloadTime
        self.activeTrackIDs = activeTrackIDs
        self.orderID = orderID
        self.customData = customData
    }

    public var json: CastJSON {
        var fields: [String: CastJSON] = [:]
        fields.put("itemId", itemID)
        fields.put("media", media?.json)
        fields.put("autoplay", autoplay)
        fields.put("startTime", startTime)
        fields.put("playbackDuration", playbackDuration)
        fields.put("preloadTime", preloadTime)
        fields.put("activeTrackIds", activeTrackIDs)
        fields.put("orderId", orderID)
        fields.put("customData", customData)
        return .object(fields)
    }

    /// What a receiver tells of an item; one without an id is none.
    public init?(json: CastJSON) {
        guard let itemID = json["itemId"].int else { return nil }
        self.init(
            itemID: itemID, media: CastMediaInformation(json: json["media"]), autoplay: json["autoplay"].bool,
            startTime: json["startTime"].double, playbackDuration: json["playbackDuration"].double,
            preloadTime: json["preloadTime"].double, activeTrackIDs: json["activeTrackIds"].ints,
            orderID: json["orderId"].int, customData: json["customData"].present)
    }
}

/// What is said of a queue as a whole.
public struct CastQueueData: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case album = "ALBUM"
        case playlist = "PLAYLIST"
        case audiobook = "AUDIOBOOK"
        case radioStation = "RADIO_STATION"
        case podcastSeries = "PODCAST_SERIES"
        case tvSeries = "TV_SERIES"
        case videoPlaylist = "VIDEO_PLAYLIST"
        case liveTV = "LIVE_TV"
        case movie = "MOVIE"
    }

    public var id: String?
    public var name: String?
    public var description: String?
    public var kind: Kind?
    /// What the receiver's app finds the queue by.
    public var entity: String?
    public var items: [CastQueueItem]
    public var startIndex: Int?
    /// Seconds into the first item.
    public var startTime: Double?
    public var repeatMode: CastRepeatMode?
    public var shuffle: Bool?
    public var containerMetadata: CastJSON?
    public var customData: CastJSON?

    public init(items: [CastQueueItem] = []) { self.items = items }

    public var json: CastJSON {
        var fields: [String: CastJSON] = [:]
        fields.put("id", id)
        fields.put("name", name)
        fields.put("description", description)
        fields.put("queueType", kind?.rawValue)
        fields.put("entity", entity)
        if !items.isEmpty { fields["items"] = .array(items.map(\.json)) }
        fields.put("startIndex", startIndex)
        fields.put("startTime", startTime)
        fields.put("repeatMode", repeatMode?.rawValue)
        fields.put("shuffle", shuffle)
        fields.put("containerMetadata", containerMetadata)
        fields.put("customData", customData)
        return .object(fields)
    }

    public init?(json: CastJSON) {
        guard json.object != nil else { return nil }
        id = json["id"].string
        name = json["name"].string
        description = json["description"].string
        kind = json["queueType"].string.flatMap { Kind(rawValue: $0.uppercased()) }
        entity = json["entity"].string
        items = json["items"].elements.compactMap(CastQueueItem.init(json:))
        startIndex = json["startIndex"].int
        startTime = json["startTime"].double
        repeatMode = json["repeatMode"].string.flatMap { CastRepeatMode(rawValue: $0.uppercased()) }
        shuffle = json["shuffle"].bool
        containerMetadata = json["containerMetadata"].present
        customData = json["customData"].present
    }
}

/// QUEUE_CHANGE: a receiver tells of an edit, whoever made it.
public struct CastQueueChange: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case insert = "INSERT"
        case remove = "REMOVE"
        /// The order is another; `reorderItemIDs` moved before `insertBefore`.
        case update = "UPDATE"
        /// The order is the same, and what the receiver tells of these items is another.
        case itemsChange = "ITEMS_CHANGE"
        case noChange = "NO_CHANGE"
    }

    public var kind: Kind?
    public var itemIDs: [Int]
    public var insertBefore: Int?
    public var reorderItemIDs: [Int]
    public var sequenceNumber: Int?

    public init(
        kind: Kind?, itemIDs: [Int] = [], insertBefore: Int? = nil, reorderItemIDs: [Int] = [],
        sequenceNumber: Int? = nil
    ) {
        self.kind = kind
        self.itemIDs = itemIDs
        self.insertBefore = insertBefore
        self.reorderItemIDs = reorderItemIDs
        self.sequenceNumber = sequenceNumber
    }

    init(json: CastJSON) {
        self.init(
            kind: json["changeType"].string.flatMap { Kind(rawValue: $0.uppercased()) },
            itemIDs: json["itemIds"].ints ?? [], insertBefore: json["insertBefore"].int,
            reorderItemIDs: json["reorderItemIds"].ints ?? [], sequenceNumber: json["sequenceNumber"].int)
    }
}
