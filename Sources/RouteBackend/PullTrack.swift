/// A track that a receiver can choose: inside the media, or beside it under a URL of its own.
public struct PullTrack: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable { case text, audio, video }

    /// What a text track is for.
    public enum Subtype: String, Sendable, Hashable { case subtitles, captions, descriptions, chapters, metadata }

    /// Positive and unlike that of any other track of the item.
    public var id: Int
    public var kind: Kind
    /// Always given for text.
    public var subtype: Subtype?
    /// BCP 47; subtitles always have one: `und` where it is not known.
    public var language: String?
    /// For people.
    public var name: String?
    /// Where the track is fetched; nil for one inside the media.
    public var url: String?
    public var contentType: String?
    public var isInband: Bool

    public init(
        id: Int, kind: Kind, subtype: Subtype? = nil, language: String? = nil, name: String? = nil, url: String? = nil,
        contentType: String? = nil, isInband: Bool
    ) {
        self.id = id
        self.kind = kind
        self.subtype = subtype
        self.language = language
        self.name = name
        self.url = url
        self.contentType = contentType
        self.isInband = isInband
    }
}

/// One stream of a source, as the probe found it.
public struct SourceStream: Sendable, Hashable {
    public var kind: PullTrack.Kind
    /// The stream's number in its container.
    public var index: Int
    /// ffmpeg's name: `aac`, `h264`, `subrip`.
    public var codec: String
    /// BCP 47, or nil.
    public var language: String?
    public var title: String?
    public var isDefault: Bool
    public var isForced: Bool
    /// For who does not hear: captions rather than subtitles.
    public var isForHearingImpaired: Bool

    public init(
        kind: PullTrack.Kind, index: Int, codec: String, language: String? = nil, title: String? = nil,
        isDefault: Bool = false, isForced: Bool = false, isForHearingImpaired: Bool = false
    ) {
        self.kind = kind
        self.index = index
        self.codec = codec
        self.language = language
        self.title = title
        self.isDefault = isDefault
        self.isForced = isForced
        self.isForHearingImpaired = isForHearingImpaired
    }
}
