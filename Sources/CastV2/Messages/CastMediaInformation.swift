/// What a receiver is asked to play, or says that it plays (`Protocols/cast` section 7).
public struct CastMediaInformation: Sendable, Hashable {
    public enum StreamType: String, Sendable, Hashable {
        case none = "NONE"
        case buffered = "BUFFERED"
        case live = "LIVE"
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
            metadata: CastMediaMetadata(json: json["metadata"]),
            customData: json["customData"].isNull ? nil : json["customData"])
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
