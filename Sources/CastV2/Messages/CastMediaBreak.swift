/// A place in an item where clips play, ads mostly (`Protocols/cast` section 7).
public struct CastMediaBreak: Sendable, Hashable {
    public var id: String
    /// The clips in the order they play.
    public var clipIDs: [String]
    /// Seconds into the item; negative: after its end.
    public var position: Double
    public var isWatched: Bool
    /// The clips are part of the item's own stream.
    public var isEmbedded: Bool
    public var expanded: Bool?

    public init(
        id: String, clipIDs: [String], position: Double, isWatched: Bool = false, isEmbedded: Bool = false,
        expanded: Bool? = nil
    ) {
        self.id = id
        self.clipIDs = clipIDs
        self.position = position
        self.isWatched = isWatched
        self.isEmbedded = isEmbedded
        self.expanded = expanded
    }

    public var json: CastJSON {
        var fields: [String: CastJSON] = [
            "id": .string(id), "breakClipIds": .array(clipIDs.map(CastJSON.string)), "position": .number(position),
            "isWatched": .bool(isWatched), "isEmbedded": .bool(isEmbedded),
        ]
        fields.put("expanded", expanded)
        return .object(fields)
    }

    /// A break without an id or a position is none.
    public init?(json: CastJSON) {
        guard let id = json["id"].string, let position = json["position"].double else { return nil }
        self.init(
            id: id, clipIDs: json["breakClipIds"].elements.compactMap(\.string), position: position,
            isWatched: json["isWatched"].bool ?? false, isEmbedded: json["isEmbedded"].bool ?? false,
            expanded: json["expanded"].bool)
    }
}

/// One clip of a break.
public struct CastMediaBreakClip: Sendable, Hashable {
    public var id: String
    public var title: String?
    /// Seconds.
    public var duration: Double?
    public var contentID: String?
    public var contentURL: String?
    public var contentType: String?
    public var clickThroughURL: String?
    public var posterURL: String?
    /// Seconds into the clip after which it may be skipped; nil or negative: never.
    public var whenSkippable: Double?
    public var hlsSegmentFormat: String?
    public var vastAdsRequest: CastVASTAdsRequest?
    public var customData: CastJSON?

    public init(
        id: String, title: String? = nil, duration: Double? = nil, contentID: String? = nil,
        contentURL: String? = nil, contentType: String? = nil, whenSkippable: Double? = nil
    ) {
        self.id = id
        self.title = title
        self.duration = duration
        self.contentID = contentID
        self.contentURL = contentURL
        self.contentType = contentType
        self.whenSkippable = whenSkippable
    }

    public var json: CastJSON {
        var fields: [String: CastJSON] = ["id": .string(id)]
        fields.put("title", title)
        fields.put("duration", duration)
        fields.put("contentId", contentID)
        fields.put("contentUrl", contentURL)
        fields.put("contentType", contentType)
        fields.put("clickThroughUrl", clickThroughURL)
        fields.put("posterUrl", posterURL)
        fields.put("whenSkippable", whenSkippable)
        fields.put("hlsSegmentFormat", hlsSegmentFormat)
        fields.put("vastAdsRequest", vastAdsRequest?.json)
        fields.put("customData", customData)
        return .object(fields)
    }

    public init?(json: CastJSON) {
        guard let id = json["id"].string else { return nil }
        self.init(
            id: id, title: json["title"].string, duration: json["duration"].double.flatMap { $0 >= 0 ? $0 : nil },
            contentID: json["contentId"].string, contentURL: json["contentUrl"].string,
            contentType: json["contentType"].string, whenSkippable: json["whenSkippable"].double)
        clickThroughURL = json["clickThroughUrl"].string
        posterURL = json["posterUrl"].string
        hlsSegmentFormat = json["hlsSegmentFormat"].string
        vastAdsRequest = CastVASTAdsRequest(json: json["vastAdsRequest"])
        customData = json["customData"].present
    }
}

/// Where ads come from: by URL, or as the document itself (VAST, and VMAP for a whole item).
public struct CastVASTAdsRequest: Sendable, Hashable {
    public var adTagURL: String?
    public var adsResponse: String?

    public init(adTagURL: String? = nil, adsResponse: String? = nil) {
        self.adTagURL = adTagURL
        self.adsResponse = adsResponse
    }

    public var json: CastJSON {
        var fields: [String: CastJSON] = [:]
        fields.put("adTagUrl", adTagURL)
        fields.put("adsResponse", adsResponse)
        return .object(fields)
    }

    public init?(json: CastJSON) {
        guard json.object != nil else { return nil }
        self.init(adTagURL: json["adTagUrl"].string, adsResponse: json["adsResponse"].string)
    }
}

/// The break that plays now, as a status tells it.
public struct CastBreakStatus: Sendable, Hashable {
    public var breakID: String?
    public var clipID: String?
    /// Seconds into the break.
    public var breakTime: Double?
    /// Seconds into the clip.
    public var clipTime: Double?
    /// Seconds into the clip after which it may be skipped; nil or negative: never.
    public var whenSkippable: Double?

    public init(
        breakID: String? = nil, clipID: String? = nil, breakTime: Double? = nil, clipTime: Double? = nil,
        whenSkippable: Double? = nil
    ) {
        self.breakID = breakID
        self.clipID = clipID
        self.breakTime = breakTime
        self.clipTime = clipTime
        self.whenSkippable = whenSkippable
    }

    /// Nil where there is no object, and for one that names neither break nor clip.
    public init?(json: CastJSON) {
        guard json["breakId"].string != nil || json["breakClipId"].string != nil else { return nil }
        self.init(
            breakID: json["breakId"].string, clipID: json["breakClipId"].string,
            breakTime: json["currentBreakTime"].double.map { max(0, $0) },
            clipTime: json["currentBreakClipTime"].double.map { max(0, $0) },
            whenSkippable: json["whenSkippable"].double)
    }
}
