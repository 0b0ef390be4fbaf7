import CastV2
import Foundation
import RouteModel

/// One thing for a Cast device to play, as a person says it.
public struct CastLoadItem: Sendable, Hashable {
    /// A text track by its URL; `language` is a BCP 47 tag.
    public struct Subtitle: Sendable, Hashable {
        public var url: String
        public var language: String?

        public init(url: String, language: String? = nil) {
            self.url = url
            self.language = language
        }

        /// `URL` or `URL:lang`, where a language is what follows the last colon and can be one.
        public init(_ words: String) {
            let parts = words.split(separator: ":", omittingEmptySubsequences: false)
            if parts.count > 2, let last = parts.last, (2...11).contains(last.count), last.first?.isLetter ?? false,
                last.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
            {
                self.init(url: parts.dropLast().joined(separator: ":"), language: String(last))
            } else {
                self.init(url: words)
            }
        }
    }

    public var url: String?
    /// A MIME type; nil: what the URL's extension tells.
    public var contentType: String?
    public var live = false
    public var metadata = MediaMetadata()
    public var subtitles: [Subtitle] = []
    /// A MediaInformation object in JSON; what is said otherwise comes before it.
    public var mediaJSON: String?
    /// Any JSON, for the receiver's app.
    public var customJSON: String?
    /// Seconds into the item.
    public var start: Double?
    /// Seconds before the end of the item before at which it is fetched.
    public var preloadTime: Double?

    public init(url: String? = nil) { self.url = url }

    /// Throws `configuration` for what cannot be sent, saying what to write instead.
    func mediaInformation() throws -> CastMediaInformation {
        var media = try given() ?? CastMediaInformation(contentID: "", contentType: "")
        if let url {
            try Self.check(url: url)
            media.contentID = url
        }
        guard !media.contentID.isEmpty else {
            throw Self.wrong("there is nothing to load", "Name a URL, or write a contentId into the JSON")
        }
        if let contentType {
            media.contentType = contentType
        } else if media.contentType.isEmpty {
            guard let type = Self.contentType(of: media.contentURL ?? media.contentID) else {
                throw Self.wrong(
                    "the address does not tell what kind of media it is", "Say it, such as --type audio/mpeg")
            }
            media.contentType = type
        }
        media.streamType = live ? .live : media.streamType ?? .buffered
        if media.metadata == nil || metadata != MediaMetadata() { media.metadata = CastMediaMetadata(metadata) }
        media.duration = live ? nil : metadata.duration?.seconds ?? media.duration
        if let customJSON {
            guard let custom = CastJSON(text: customJSON) else {
                throw Self.wrong("what was given as custom data is no JSON", #"Write it as '{"key":"value"}'"#)
            }
            media.customData = custom
        }
        try addSubtitles(to: &media)
        return media
    }

    func load(autoplay: Bool, rate: Double?) throws -> CastLoad {
        let whole = mediaJSON.flatMap(CastJSON.init(text:)).flatMap(CastLoad.init(json:))
        var load: CastLoad
        let media: CastMediaInformation?
        if let whole, whole.media == nil, url == nil {
            // A queue, which has its media in its items.
            (load, media) = (whole, nil)
        } else {
            let described = try mediaInformation()
            (load, media) = (whole ?? CastLoad(media: described, currentTime: nil), described)
        }
        load.media = media
        load.autoplay = autoplay && load.autoplay
        load.currentTime = start ?? load.currentTime ?? (media == nil || media?.streamType == .live ? nil : 0)
        load.playbackRate = rate ?? load.playbackRate
        // Who names a text track wants to read it.
        if !subtitles.isEmpty, let first = media?.tracks.first(where: { $0.kind == .text && $0.contentID != nil }) {
            load.activeTrackIDs = (load.activeTrackIDs ?? []) + [first.id]
        }
        return load
    }

    func queueItem() throws -> CastQueueItem {
        let media = try mediaInformation()
        let text = subtitles.isEmpty ? nil : media.tracks.last { $0.kind == .text }.map { [$0.id] }
        return CastQueueItem(
            media: media, autoplay: true, startTime: start, preloadTime: preloadTime, activeTrackIDs: text)
    }

    private func given() throws -> CastMediaInformation? {
        guard let mediaJSON else { return nil }
        guard let json = CastJSON(text: mediaJSON), json.object != nil else {
            throw Self.wrong(
                "what was given as media is no JSON object", #"Write it as {"contentId":"http://…","contentType":"…"}"#)
        }
        return CastMediaInformation(json: json["media"].isNull ? json : json["media"])
    }

    private func addSubtitles(to media: inout CastMediaInformation) throws {
        var next = (media.tracks.map(\.id).max() ?? 0) + 1
        for subtitle in subtitles {
            try Self.check(url: subtitle.url)
            let type: String
            switch Self.pathExtension(subtitle.url) {
            case "srt", "ass", "ssa":
                throw Self.wrong(
                    "Cast devices read no subtitles of this kind: \(Self.pathExtension(subtitle.url))",
                    "Give a WebVTT file, or let “router play” convert it")
            case "ttml", "dfxp", "xml": type = "application/ttml+xml"
            default: type = "text/vtt"
            }
            media.tracks.append(
                CastMediaTrack(
                    id: next, kind: .text, subtype: .subtitles, name: subtitle.language ?? "Subtitles",
                    // Required for subtitles; und is the tag for a language that nobody told.
                    language: subtitle.language ?? "und", contentID: subtitle.url, contentType: type))
            next += 1
        }
    }

    private static func wrong(_ message: String, _ hint: String) -> RouterError {
        RouterError(.configuration, message, hint: hint, scope: .item)
    }

    private static func check(url: String) throws {
        if let scheme = url.firstRange(of: "://") {
            guard url[scheme.upperBound...].contains(where: { $0 != "/" }), !url.contains(where: \.isWhitespace) else {
                throw wrong("“\(url)” is no address", "Write it as http://192.168.1.10/song.mp3")
            }
            if url.lowercased().hasPrefix("file:") {
                throw wrong("a Cast device cannot fetch a file of this machine", "Use “router play”, which serves it")
            }
        } else if url.hasPrefix("/") || url.hasPrefix(".") || url.contains("/") {
            throw wrong("a Cast device cannot fetch a file of this machine", "Use “router play”, which serves it")
        }
    }

    private static func pathExtension(_ url: String) -> String {
        let path = url.prefix { $0 != "?" && $0 != "#" }
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return "" }
        return name[name.index(after: dot)...].lowercased()
    }

    static func contentType(of url: String) -> String? { types[pathExtension(url)] }

    private static let types = [
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "flac": "audio/flac", "ogg": "audio/ogg",
        "oga": "audio/ogg", "opus": "audio/ogg", "wav": "audio/wav", "weba": "audio/webm", "mp4": "video/mp4",
        "m4v": "video/mp4", "webm": "video/webm", "mkv": "video/x-matroska", "m3u8": "application/x-mpegurl",
        "mpd": "application/dash+xml", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png",
        "gif": "image/gif", "webp": "image/webp",
    ]
}
