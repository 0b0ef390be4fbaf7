/// What is playing, typed by kind (`model.md` section 4). `custom` is passed through unread.
public struct MediaMetadata: Codable, Sendable, Hashable {
    public enum Kind: String, Codable, Sendable, Hashable, CaseIterable {
        case generic, movie, episode, music, audiobookChapter, podcastEpisode, photo, live
    }

    public var kind: Kind
    public var title: String?
    public var subtitle: String?
    public var artist: String?
    public var album: String?
    public var albumArtist: String?
    public var composer: String?
    public var genre: String?
    public var studio: String?
    public var seriesTitle: String?
    public var season: Int?
    public var episode: Int?
    public var trackNumber: Int?
    public var discNumber: Int?
    /// As the source says it: a year, or an ISO 8601 date.
    public var releaseDate: String?
    public var duration: MediaTime?
    public var images: [MediaImage]
    /// Whether it is not for every ear; nil where its source says nothing of that.
    public var isExplicit: Bool?
    /// What is spoken or sung, as a BCP 47 tag.
    public var language: String?

    public init(
        kind: Kind = .generic, title: String? = nil, subtitle: String? = nil, artist: String? = nil,
        album: String? = nil, albumArtist: String? = nil, composer: String? = nil, genre: String? = nil,
        studio: String? = nil, seriesTitle: String? = nil, season: Int? = nil, episode: Int? = nil,
        trackNumber: Int? = nil, discNumber: Int? = nil, releaseDate: String? = nil, duration: MediaTime? = nil,
        images: [MediaImage] = [], isExplicit: Bool? = nil, language: String? = nil
    ) {
        self.isExplicit = isExplicit
        self.language = language
        self.kind = kind
        self.title = title
        self.subtitle = subtitle
        self.artist = artist
        self.album = album
        self.albumArtist = albumArtist
        self.composer = composer
        self.genre = genre
        self.studio = studio
        self.seriesTitle = seriesTitle
        self.season = season
        self.episode = episode
        self.trackNumber = trackNumber
        self.discNumber = discNumber
        self.releaseDate = releaseDate
        self.duration = duration
        self.images = images
    }

    /// Fields that `self` leaves out are taken from `other`.
    public func filled(from other: MediaMetadata) -> MediaMetadata {
        var result = self
        if result.kind == .generic { result.kind = other.kind }
        result.title = title ?? other.title
        result.subtitle = subtitle ?? other.subtitle
        result.artist = artist ?? other.artist
        result.album = album ?? other.album
        result.albumArtist = albumArtist ?? other.albumArtist
        result.composer = composer ?? other.composer
        result.genre = genre ?? other.genre
        result.studio = studio ?? other.studio
        result.seriesTitle = seriesTitle ?? other.seriesTitle
        result.season = season ?? other.season
        result.episode = episode ?? other.episode
        result.trackNumber = trackNumber ?? other.trackNumber
        result.discNumber = discNumber ?? other.discNumber
        result.releaseDate = releaseDate ?? other.releaseDate
        result.duration = duration ?? other.duration
        result.images = images.isEmpty ? other.images : images
        result.isExplicit = isExplicit ?? other.isExplicit
        result.language = language ?? other.language
        return result
    }
}

/// An image that belongs to an item.
public struct MediaImage: Codable, Sendable, Hashable {
    public enum Role: String, Codable, Sendable, Hashable, CaseIterable {
        case cover, background, thumbnail, artist, logo
    }

    public var url: String
    public var width: Int?
    public var height: Int?
    public var role: Role
    public var mimeType: String?

    public init(url: String, width: Int? = nil, height: Int? = nil, role: Role = .cover, mimeType: String? = nil) {
        self.url = url
        self.width = width
        self.height = height
        self.role = role
        self.mimeType = mimeType
    }
}
