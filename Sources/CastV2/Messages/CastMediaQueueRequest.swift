/// QUEUE_LOAD: a whole queue in place of what is loaded.
public struct CastQueueLoad: Sendable, Hashable {
    /// Without item ids: a receiver refuses items that have one.
    public var items: [CastQueueItem]
    /// Of the item to begin with, from 0.
    public var startIndex: Int
    /// Seconds into that item.
    public var currentTime: Double?
    public var repeatMode: CastRepeatMode?
    public var customData: CastJSON?

    public init(
        items: [CastQueueItem], startIndex: Int = 0, currentTime: Double? = nil, repeatMode: CastRepeatMode? = nil,
        customData: CastJSON? = nil
    ) {
        self.items = items
        self.startIndex = startIndex
        self.currentTime = currentTime
        self.repeatMode = repeatMode
        self.customData = customData
    }

    var fields: [String: CastJSON] {
        var fields: [String: CastJSON] = [
            "items": .array(items.map(\.newJSON)), "startIndex": .number(Double(startIndex)),
        ]
        fields.put("currentTime", currentTime)
        fields.put("repeatMode", repeatMode?.rawValue)
        fields.put("customData", customData)
        return fields
    }
}

/// What an edit of the queue may say beside the edit.
public struct CastQueuePlace: Sendable, Hashable {
    /// The item that shall be current after the edit.
    public var currentItemID: Int?
    /// Seconds into that item.
    public var currentTime: Double?
    /// The queue's state that the edit was made for; the receiver refuses it when another edit came first.
    public var sequenceNumber: Int?

    public init(currentItemID: Int? = nil, currentTime: Double? = nil, sequenceNumber: Int? = nil) {
        self.currentItemID = currentItemID
        self.currentTime = currentTime
        self.sequenceNumber = sequenceNumber
    }

    var fields: [String: CastJSON] {
        var fields: [String: CastJSON] = [:]
        fields.put("currentItemId", currentItemID)
        fields.put("currentTime", currentTime)
        fields.put("sequenceNumber", sequenceNumber)
        return fields
    }
}

/// QUEUE_INSERT.
public struct CastQueueInsertion: Sendable, Hashable {
    /// Without item ids: a receiver refuses items that have one.
    public var items: [CastQueueItem]
    /// Nil: at the end.
    public var insertBefore: Int?
    /// The one of `items`, from 0, to play now.
    public var currentItemIndex: Int?
    public var place: CastQueuePlace

    public init(
        items: [CastQueueItem], insertBefore: Int? = nil, currentItemIndex: Int? = nil,
        place: CastQueuePlace = CastQueuePlace()
    ) {
        self.items = items
        self.insertBefore = insertBefore
        self.currentItemIndex = currentItemIndex
        self.place = place
    }

    var fields: [String: CastJSON] {
        var fields = place.fields
        fields["items"] = .array(items.map(\.newJSON))
        fields.put("insertBefore", insertBefore)
        fields.put("currentItemIndex", currentItemIndex)
        return fields
    }
}

/// QUEUE_UPDATE: what is nil stays as it is.
public struct CastQueueUpdate: Sendable, Hashable {
    /// Items with their ids, to be edited in place.
    public var items: [CastQueueItem]?
    /// Items forward or, negative, back from the current one.
    public var jump: Int?
    public var repeatMode: CastRepeatMode?
    public var shuffle: Bool?
    /// With a `currentItemID`, a jump to it.
    public var place: CastQueuePlace

    public init(
        items: [CastQueueItem]? = nil, jump: Int? = nil, repeatMode: CastRepeatMode? = nil, shuffle: Bool? = nil,
        place: CastQueuePlace = CastQueuePlace()
    ) {
        self.items = items
        self.jump = jump
        self.repeatMode = repeatMode
        self.shuffle = shuffle
        self.place = place
    }

    var fields: [String: CastJSON] {
        var fields = place.fields
        if let items { fields["items"] = .array(items.map(\.json)) }
        fields.put("jump", jump)
        fields.put("repeatMode", repeatMode?.rawValue)
        fields.put("shuffle", shuffle)
        return fields
    }
}

/// Of QUEUE_GET_ITEM_RANGE: how many items after or before one, at least 1.
public enum CastQueueRange: Sendable, Hashable {
    case next(Int)
    case previous(Int)
}

extension CastQueueItem {
    /// The item as one that the receiver is to number.
    var newJSON: CastJSON {
        var item = self
        item.itemID = nil
        return item.json
    }
}
