import CastV2
import RouteBackend
import RouteModel

extension CastLoad {
    /// The item as a Cast device takes it. What is live begins where it is live.
    init(_ media: PullMedia, autoplay: Bool, choosing images: any ImageChoosing = FittingImage()) {
        var information = CastMediaInformation(
            contentID: media.url, contentType: media.contentType, streamType: media.live ? .live : .buffered,
            duration: media.live ? nil : media.metadata.duration?.seconds,
            metadata: CastMediaMetadata(media.metadata, choosing: images),
            customData: [CastTokens.mark: .string(media.token.rawValue)])
        information.tracks = media.tracks.map(CastMediaTrack.init)
        self.init(
            media: information, autoplay: autoplay, currentTime: media.live ? nil : max(0, media.start.seconds))
        if !media.activeTracks.isEmpty { activeTrackIDs = media.activeTracks }
        if media.rate != 1 { playbackRate = media.rate }
    }
}

extension CastMediaTrack {
    init(_ track: PullTrack) {
        let kind: Kind =
            switch track.kind {
            case .text: .text
            case .audio: .audio
            case .video: .video
            }
        self.init(
            id: track.id, kind: kind, subtype: track.subtype.flatMap { Subtype(rawValue: $0.rawValue.uppercased()) },
            name: track.name, language: track.language, contentID: track.url, contentType: track.contentType,
            isInband: track.isInband)
    }
}

extension MediaTrack {
    init(_ track: CastMediaTrack) {
        let kind: Kind =
            switch track.kind {
            case .text: .text
            case .audio: .audio
            case .video: .video
            }
        self.init(
            id: track.id, kind: kind, subtype: track.subtype?.rawValue.lowercased(), language: track.language,
            name: track.name)
    }
}

extension WindowEntry {
    init(_ item: CastQueueItem, token: MediaToken) {
        let url = item.media.map { $0.contentURL ?? $0.contentID }
        // What is no address is a name that only the device's app understands.
        self.init(
            token: token, url: url.flatMap { $0.contains("://") ? $0 : nil },
            metadata: MediaMetadata(
                title: item.media?.metadata?[text: .title],
                artist: item.media?.metadata?[text: .artist],
                duration: item.media?.duration.map(MediaTime.init(seconds:))))
    }
}

extension CastMediaMetadata {
    /// What a television draws at most of a picture, in pixels.
    private static let screen = ImageSize(width: 1280, height: 720)

    init(_ metadata: MediaMetadata, choosing images: any ImageChoosing = FittingImage()) {
        let kind: Kind =
            switch metadata.kind {
            case .movie: .movie
            case .episode: .tvShow
            case .music: .musicTrack
            case .photo: .photo
            case .audiobookChapter: .audiobookChapter
            // There is no type for these: the general one shows title and subtitle.
            case .generic, .podcastEpisode, .live: .generic
            }
        self.init(
            kind: kind,
            images: Self.ordered(metadata, images).map { CastImage(url: $0.url, width: $0.width, height: $0.height) })
        self[text: .title] = metadata.title
        self[text: .subtitle] = metadata.subtitle ?? (kind == .generic ? metadata.artist : nil)
        self[text: .artist] = metadata.artist
        self[text: .albumName] = metadata.album
        self[text: .albumArtist] = metadata.albumArtist
        self[text: .composer] = metadata.composer
        self[text: .studio] = metadata.studio
        self[text: .seriesTitle] = metadata.seriesTitle
        self[number: .season] = metadata.season.map(Double.init)
        self[number: .episode] = metadata.episode.map(Double.init)
        self[number: .trackNumber] = metadata.trackNumber.map(Double.init)
        self[number: .discNumber] = metadata.discNumber.map(Double.init)
        if kind == .audiobookChapter {
            self[text: .bookTitle] = metadata.album
            self[text: .chapterTitle] = metadata.title
            self[number: .chapterNumber] = metadata.trackNumber.map(Double.init)
        }
        if let date = metadata.releaseDate, Self.isDate(date) {
            self[text: .releaseDate] = date
            self[text: .originalAirdate] = date
            self[text: .creationDateTime] = date
        }
    }

    /// Receivers draw the first picture: it is the one that is chosen for a whole screen. The others are for senders.
    private static func ordered(_ metadata: MediaMetadata, _ chooser: any ImageChoosing) -> [MediaImage] {
        guard let first = chooser.image(for: .expanded, size: screen, of: metadata) else { return [] }
        return [first] + metadata.images.filter { $0.url != first.url }
    }

    /// Dates are ISO 8601 on the wire, at least a year. Tags hold anything; what is no date is left out.
    private static func isDate(_ text: String) -> Bool {
        let head = text.prefix { $0 != "T" && $0 != " " }
        let parts = head.split(separator: "-", omittingEmptySubsequences: false)
        guard let year = parts.first, year.count == 4, (1...3).contains(parts.count) else { return false }
        return parts.dropFirst().allSatisfy { $0.count == 2 } && parts.allSatisfy { $0.allSatisfy(\.isNumber) }
    }
}
