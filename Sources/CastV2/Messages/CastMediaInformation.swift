/// What a receiver is asked to play, or says that it plays (`Protocols/cast` section 7).
public struct CastMediaInformation: Sendable, Hashable {
    public enum StreamType: String, Sendable, Hashable {
        case none = "NONE"
        case buffered = "BUFFERED"
        case live = "LIVE"
    }

    /// How the segments of an HLS stream are packed, which a receiver cannot always tell by itself.
    public enum HLSSegmentFormat: String, Sendable, Hashable, CaseIterable {
        case aac, ac3, mp3, ts
        case tsAAC = "ts_aac"
        case eac3 = "e_ac3"
        case fmp4
    }

    public enum HLSVideoSegmentFormat: String, Sendable, Hashable, CaseIterable {
        case mpeg2TS = "mpeg2_ts"
        case fmp4
    }

    public enum Category: String, Sendable, Hashable, CaseIterable {
        case audio = "AUDIO"
        case video = "VIDEO"
        case image = "IMAGE"
    }

    /// The URL, for apps that know no other ids.
    public var contentID: String
    public var contentURL: String?
    /// A MIME type.
    public var contentType: String
    public var streamType: StreamType?
    /// Seconds; nil while unknown and for live streams.
    public var duration: Double?
    public var metadata: CastMediaMetadata?
    public var customData: CastJSON?
    /// What the receiver's app finds the item by.
    public var entity: String?
    public var atvEntity: String?
    public var hlsSegmentFormat: HLSSegmentFormat?
    public var hlsVideoSegmentFormat: HLSVideoSegmentFormat?
    public var category: Category?
    /// Of a live stream: when its time 0 was, in seconds since 1970.
    public var startAbsoluteTime: Double?
    public var tracks: [CastMediaTrack] = []
    public var textTrackStyle: CastTextTrackStyle?
    public var breaks: [CastMediaBreak] = []
    public var breakClips: [CastMediaBreakClip] = []
    public var vmapAdsRequest: CastVASTAdsRequest?
    /// Likes and the like, as the app has them.
    public var userActionStates: [CastJSON] = []

    public init(
        contentID: String, contentURL: String? = nil, contentType: String, streamType: StreamType? = nil,
        duration: Double? = nil, metadata: CastMediaMetadata? = nil, customData: CastJSON? = nil
    ) {
        self.contentID = contentID
        self.contentURL = contentURL
        self.contentType = contentType
        self.streamType = streamType
        self.duration = duration
        self.metadata = metadata
        self.customData = customData
    }

    public var json: CastJSON {
        var fields: [String: CastJSON] = ["contentId": .string(contentID), "contentType": .string(contentType)]
        fields.put("contentUrl", contentURL)
        fields.put("streamType", streamType?.rawValue)
        fields.put("duration", duration)
        fields.put("metadata", metadata?.json)
        fields.put("customData", customData)
        fields.put("entity", entity)
        fields.put("atvEntity", atvEntity)
        fields.put("hlsSegmentFormat", hlsSegmentFormat?.rawValue)
        fields.put("hlsVideoSegmentFormat", hlsVideoSegmentFormat?.rawValue)
        fields.put("mediaCategory", category?.rawValue)
        fields.put("startAbsoluteTime", startAbsoluteTime)
        if !tracks.isEmpty { fields["tracks"] = .array(tracks.map(\.json)) }
        fields.put("textTrackStyle", textTrackStyle?.json)
        if !breaks.isEmpty { fields["breaks"] = .array(breaks.map(\.json)) }
        if !breakClips.isEmpty { fields["breakClips"] = .array(breakClips.map(\.json)) }
        fields.put("vmapAdsRequest", vmapAdsRequest?.json)
        if !userActionStates.isEmpty { fields["userActionStates"] = .array(userActionStates) }
        return .object(fields)
    }

    /// Nil where there is no object: status messages leave `media` out or send null when it has not changed.
    public init?(json: CastJSON) {
        guard json.object != nil else { return nil }
        self.init(
            contentID: json["contentId"].string ?? json["contentUrl"].string ?? "",
            contentURL: json["contentUrl"].string, contentType: json["contentType"].string ?? "",
            streamType: json["streamType"].string.flatMap { StreamType(rawValue: $0.uppercased()) },
            // Live streams come with -1 from some receivers.
            duration: json["duration"].double.flatMap { $0 >= 0 ? $0 : nil },
            metadata: CastMediaMetadata(json: json["metadata"]), customData: json["customData"].present)
        entity = json["entity"].string
        atvEntity = json["atvEntity"].string
        hlsSegmentFormat = json["hlsSegmentFormat"].string.flatMap { HLSSegmentFormat(rawValue: $0.lowercased()) }
        hlsVideoSegmentFormat = json["hlsVideoSegmentFormat"].string
            .flatMap { HLSVideoSegmentFormat(rawValue: $0.lowercased()) }
        category = json["mediaCategory"].string.flatMap { Category(rawValue: $0.uppercased()) }
        startAbsoluteTime = json["startAbsoluteTime"].double
        tracks = json["tracks"].elements.compactMap(CastMediaTrack.init(json:))
        textTrackStyle = CastTextTrackStyle(json: json["textTrackStyle"])
        breaks = json["breaks"].elements.compactMap(CastMediaBreak.init(json:))
        breakClips = json["breakClips"].elements.compactMap(CastMediaBreakClip.init(json:))
        vmapAdsRequest = CastVASTAdsRequest(json: json["vmapAdsRequest"])
        userActionStates = json["userActionStates"].elements
    }
}

/// A picture by URL; width and height in pixels.
public struct CastImage: Sendable, Hashable {
    public var url: String
    public var width: Int?
    public var height: Int?

    public init(url: String, width: Int? = nil, height: Int? = nil) {
        self.url = url
        self.width = width
        self.height = height
    }

    var json: CastJSON {
        var fields: [String: CastJSON] = ["url": .string(url)]
        fields.put("width", width)
        fields.put("height", height)
        return .object(fields)
    }

    init?(json: CastJSON) {
        guard let url = json["url"].string else { return nil }
        self.init(url: url, width: json["width"].int, height: json["height"].int)
    }
}
