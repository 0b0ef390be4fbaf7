/// One track of an item: text, sound or picture (`Protocols/cast` section 7).
public struct CastMediaTrack: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case text = "TEXT"
        case audio = "AUDIO"
        case video = "VIDEO"
    }

    /// What a text track is for.
    public enum Subtype: String, Sendable, Hashable, CaseIterable {
        case subtitles = "SUBTITLES"
        case captions = "CAPTIONS"
        case descriptions = "DESCRIPTIONS"
        case chapters = "CHAPTERS"
        case metadata = "METADATA"
    }

    public var id: Int
    public var kind: Kind
    /// Required for text.
    public var subtype: Subtype?
    public var name: String?
    /// A BCP 47 tag; required for subtitles.
    public var language: String?
    /// The URL of a side-loaded track; nil for one that is in the media. The device wants CORS from its server.
    public var contentID: String?
    /// A MIME type, such as text/vtt.
    public var contentType: String?
    public var isInband: Bool?
    public var roles: [String]
    public var customData: CastJSON?

    public init(
        id: Int, kind: Kind, subtype: Subtype? = nil, name: String? = nil, language: String? = nil,
        contentID: String? = nil, contentType: String? = nil, isInband: Bool? = nil, roles: [String] = [],
        customData: CastJSON? = nil
    ) {
        self.id = id
        self.kind = kind
        self.subtype = subtype
        self.name = name
        self.language = language
        self.contentID = contentID
        self.contentType = contentType
        self.isInband = isInband
        self.roles = roles
        self.customData = customData
    }

    public var json: CastJSON {
        var fields: [String: CastJSON] = ["trackId": .number(Double(id)), "type": .string(kind.rawValue)]
        fields.put("subtype", subtype?.rawValue)
        fields.put("name", name)
        fields.put("language", language)
        fields.put("trackContentId", contentID)
        fields.put("trackContentType", contentType)
        fields.put("isInband", isInband)
        if !roles.isEmpty { fields["roles"] = .array(roles.map(CastJSON.string)) }
        fields.put("customData", customData)
        return .object(fields)
    }

    /// A track without an id or of an unknown type cannot be chosen, and is none.
    public init?(json: CastJSON) {
        guard let id = json["trackId"].int,
            let kind = json["type"].string.flatMap({ Kind(rawValue: $0.uppercased()) })
        else { return nil }
        self.init(
            id: id, kind: kind, subtype: json["subtype"].string.flatMap { Subtype(rawValue: $0.uppercased()) },
            name: json["name"].string, language: json["language"].string, contentID: json["trackContentId"].string,
            contentType: json["trackContentType"].string, isInband: json["isInband"].bool,
            roles: json["roles"].elements.compactMap(\.string), customData: json["customData"].present)
    }
}

/// How text is drawn. Nil leaves a property to the device.
public struct CastTextTrackStyle: Sendable, Hashable {
    public enum EdgeType: String, Sendable, Hashable, CaseIterable {
        case none = "NONE"
        case outline = "OUTLINE"
        case dropShadow = "DROP_SHADOW"
        case raised = "RAISED"
        case depressed = "DEPRESSED"
    }

    public enum WindowType: String, Sendable, Hashable, CaseIterable {
        case none = "NONE"
        case normal = "NORMAL"
        case roundedCorners = "ROUNDED_CORNERS"
    }

    public enum GenericFamily: String, Sendable, Hashable, CaseIterable {
        case sansSerif = "SANS_SERIF"
        case monospacedSansSerif = "MONOSPACED_SANS_SERIF"
        case serif = "SERIF"
        case monospacedSerif = "MONOSPACED_SERIF"
        case casual = "CASUAL"
        case cursive = "CURSIVE"
        case smallCapitals = "SMALL_CAPITALS"
    }

    public enum FontStyle: String, Sendable, Hashable, CaseIterable {
        case normal = "NORMAL"
        case bold = "BOLD"
        case boldItalic = "BOLD_ITALIC"
        case italic = "ITALIC"
    }

    /// Colours are `#RRGGBBAA`.
    public var foregroundColor: String?
    public var backgroundColor: String?
    public var edgeColor: String?
    public var edgeType: EdgeType?
    public var windowColor: String?
    public var windowType: WindowType?
    /// Pixels.
    public var windowRoundedCornerRadius: Int?
    /// 1 is the device's own size.
    public var fontScale: Double?
    public var fontFamily: String?
    public var fontGenericFamily: GenericFamily?
    public var fontStyle: FontStyle?
    public var customData: CastJSON?

    public init() {}

    public var json: CastJSON {
        var fields: [String: CastJSON] = [:]
        fields.put("foregroundColor", foregroundColor)
        fields.put("backgroundColor", backgroundColor)
        fields.put("edgeColor", edgeColor)
        fields.put("edgeType", edgeType?.rawValue)
        fields.put("windowColor", windowColor)
        fields.put("windowType", windowType?.rawValue)
        fields.put("windowRoundedCornerRadius", windowRoundedCornerRadius)
        fields.put("fontScale", fontScale)
        fields.put("fontFamily", fontFamily)
        fields.put("fontGenericFamily", fontGenericFamily?.rawValue)
        fields.put("fontStyle", fontStyle?.rawValue)
        fields.put("customData", customData)
        return .object(fields)
    }

    public init?(json: CastJSON) {
        guard json.object != nil else { return nil }
        func colour(_ key: String) -> String? { json[key].string.flatMap(Self.colour) }
        foregroundColor = colour("foregroundColor")
        backgroundColor = colour("backgroundColor")
        edgeColor = colour("edgeColor")
        edgeType = json["edgeType"].string.flatMap { EdgeType(rawValue: $0.uppercased()) }
        windowColor = colour("windowColor")
        windowType = json["windowType"].string.flatMap { WindowType(rawValue: $0.uppercased()) }
        windowRoundedCornerRadius = json["windowRoundedCornerRadius"].int
        fontScale = json["fontScale"].double
        fontFamily = json["fontFamily"].string
        fontGenericFamily = json["fontGenericFamily"].string.flatMap { GenericFamily(rawValue: $0.uppercased()) }
        fontStyle = json["fontStyle"].string.flatMap { FontStyle(rawValue: $0.uppercased()) }
        customData = json["customData"].present
    }

    /// `#RRGGBBAA` out of that or of `#RRGGBB`, which is opaque; nil for anything else.
    public static func colour(_ text: String) -> String? {
        let digits = text.hasPrefix("#") ? text.dropFirst() : text[...]
        guard digits.count == 6 || digits.count == 8, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            return nil
        }
        return "#" + digits.uppercased() + (digits.count == 6 ? "FF" : "")
    }
}
