import Foundation
import RouteBackend
import RouteModel

/// What `ffprobe -print_format json -show_format -show_streams` says, as far as it is used.
struct ProbeReport: Decodable, Sendable {
    struct Stream: Decodable, Sendable {
        var index: Int?
        var codec_type: String?
        var codec_name: String?
        var duration: String?
        var disposition: [String: Int]?
        var tags: [String: String]?

        var isPicture: Bool { disposition?["attached_pic"] == 1 }
    }

    struct Format: Decodable, Sendable {
        var format_name: String?
        var duration: String?
        var probe_score: Int?
        var tags: [String: String]?
    }

    var streams: [Stream]?
    var format: Format?

    /// Length of a tag at most, in characters: receivers draw a line of it.
    private static let maximumTag = 1000

    /// The tags of the container and, where it has none of that name (Ogg, Opus), of the audio stream; keys in lower
    /// case without spaces and underscores.
    private var tags: [String: String] {
        var merged: [String: String] = [:]
        let audio = streams?.first { $0.codec_type == "audio" }
        for source in [format?.tags, audio?.tags].compactMap(\.self) {
            for (key, value) in source.sorted(by: { $0.key < $1.key }) {
                let key = key.lowercased().filter { $0 != " " && $0 != "_" && $0 != "-" }
                let value = value.trimmingCharacters(in: .whitespacesAndNewlines.union(.controlCharacters))
                guard !value.isEmpty, merged[key] == nil else { continue }
                merged[key] = String(value.prefix(Self.maximumTag))
            }
        }
        return merged
    }

    /// The index of the picture that belongs to the item.
    var pictureStream: Int? { streams?.first { $0.isPicture }?.index }

    var hasAudio: Bool { streams?.contains { $0.codec_type == "audio" } == true }
    var hasVideo: Bool { streams?.contains { $0.codec_type == "video" && !$0.isPicture } == true }

    /// The streams as the contract names them.
    var tracks: [SourceStream] {
        (streams ?? []).compactMap { stream in
            let kinds: [String: PullTrack.Kind] = ["audio": .audio, "video": .video, "subtitle": .text]
            guard let index = stream.index, let kind = stream.codec_type.flatMap({ kinds[$0] }), !stream.isPicture
            else {
                return nil
            }
            let tags = Dictionary(
                (stream.tags ?? [:]).map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
            return SourceStream(
                kind: kind, index: index, codec: stream.codec_name ?? "unknown",
                language: tags["language"].flatMap(LanguageName.tag),
                title: tags["title"].map { String($0.prefix(Self.maximumTag)) },
                isDefault: stream.disposition?["default"] == 1, isForced: stream.disposition?["forced"] == 1,
                isForHearingImpaired: stream.disposition?["hearing_impaired"] == 1
                    || stream.disposition?["captions"] == 1)
        }
    }

    var duration: MediaTime? {
        let texts = [format?.duration] + (streams ?? []).map(\.duration)
        guard let seconds = texts.lazy.compactMap({ $0 }).compactMap(Double.init).first(where: { $0 > 0 && $0 < 1e8 })
        else { return nil }
        return MediaTime(seconds: seconds)
    }

    func metadata(live: Bool) -> MediaMetadata {
        let tags = tags
        func tag(_ names: String...) -> String? { names.lazy.compactMap { tags[$0] }.first }
        /// The first number of `3/12`.
        func number(_ names: String...) -> Int? {
            names.lazy.compactMap { tags[$0] }.first.flatMap { Int($0.prefix { $0.isASCII && $0.isNumber }) }
        }
        var metadata = MediaMetadata(
            title: tag("title", "icyname"), subtitle: tag("subtitle"), artist: tag("artist"), album: tag("album"),
            albumArtist: tag("albumartist"), composer: tag("composer"), genre: tag("genre"),
            studio: tag("network", "publisher", "studio"), seriesTitle: tag("show", "series"),
            season: number("seasonnumber", "season"), episode: number("episodesort", "episodeid", "episode"),
            trackNumber: number("track", "tracknumber"), discNumber: number("disc", "discnumber"),
            releaseDate: tag("date", "releasedate", "originaldate", "year"), duration: live ? nil : duration,
            language: tag("language").flatMap(LanguageName.tag))
        // Elsewhere a rating is by how many stars somebody likes it.
        let isStores = format?.format_name?.contains("mp4") ?? false
        metadata.isExplicit = (tag("itunesadvisory") ?? (isStores ? tag("rating") : nil)).flatMap(TagFields.explicit)
        metadata.kind = kind(metadata, tag("mediatype", "stik"), podcast: tag("podcast") != nil, live: live)
        return metadata
    }

    private func kind(_ metadata: MediaMetadata, _ type: String?, podcast: Bool, live: Bool) -> MediaMetadata.Kind {
        let container = format?.format_name ?? ""
        if container.hasSuffix("_pipe") || container == "image2" || container == "gif" { return .photo }
        if live { return .live }
        if hasVideo { return metadata.seriesTitle != nil || type == "10" ? .episode : .movie }
        if podcast || type == "21" { return .podcastEpisode }
        if type == "2" { return .audiobookChapter }
        return hasAudio ? .music : .generic
    }
}
