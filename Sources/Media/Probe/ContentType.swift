import Foundation

/// MIME types of media, by extension and by what a probe found (features.md A5: today's registered names are sent, the
/// older ones of that table are understood).
enum ContentType {
    private static let audio: [String: String] = [
        "mp3": "audio/mpeg", "mp2": "audio/mpeg", "aac": "audio/aac", "adts": "audio/aac", "m4a": "audio/mp4",
        "m4b": "audio/mp4", "flac": "audio/flac", "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/ogg",
        "wav": "audio/wav", "weba": "audio/webm", "aif": "audio/aiff", "aiff": "audio/aiff", "aifc": "audio/aiff",
        "wma": "audio/x-ms-wma", "ape": "audio/x-ape", "wv": "audio/x-wavpack", "mka": "audio/x-matroska",
        "ac3": "audio/ac3", "eac3": "audio/eac3", "dts": "audio/vnd.dts", "caf": "audio/x-caf", "amr": "audio/amr",
        "au": "audio/basic", "mpc": "audio/x-musepack", "tta": "audio/x-tta", "dsf": "audio/x-dsf",
        "dff": "audio/x-dff", "spx": "audio/ogg", "mp1": "audio/mpeg",
    ]
    private static let video: [String: String] = [
        "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "ts": "video/mp2t", "m2ts": "video/mp2t",
        "mts": "video/mp2t", "mkv": "video/x-matroska", "webm": "video/webm", "avi": "video/x-msvideo",
        "mpg": "video/mpeg", "mpeg": "video/mpeg", "ogv": "video/ogg", "3gp": "video/3gpp", "wmv": "video/x-ms-wmv",
        "flv": "video/x-flv", "vob": "video/mpeg", "m3u8": hls,
    ]
    private static let other: [String: String] = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
        "bmp": "image/bmp", "mpd": "application/dash+xml", "vtt": "text/vtt", "srt": "application/x-subrip",
    ]

    static let hls = "application/vnd.apple.mpegurl"
    static let unknown = "application/octet-stream"

    /// Whether a file of this name is taken from a folder: sound or moving pictures.
    static func isMedia(extension name: String) -> Bool {
        let name = name.lowercased()
        return audio[name] != nil || (video[name] != nil && name != "m3u8")
    }

    /// Whether a file of this name is a film rather than sound.
    static func isVideo(extension name: String) -> Bool {
        name.lowercased() != "m3u8" && video[name.lowercased()] != nil
    }

    static func of(extension name: String) -> String? {
        let name = name.lowercased()
        return audio[name] ?? video[name] ?? other[name]
    }

    /// What today's name is for a type that somebody else wrote; parameters are dropped.
    static func canonical(_ type: String) -> String {
        let bare = type.split(separator: ";").first.map { $0.trimmingCharacters(in: .whitespaces).lowercased() } ?? ""
        switch bare {
        case "audio/mpeg3", "audio/x-mpeg-3", "audio/mp3", "audio/x-mp3", "audio/x-mpeg", "audio/mpg":
            return "audio/mpeg"
        case "audio/mpeg4", "audio/m4a", "audio/x-m4a", "audio/mp4a-latm": return "audio/mp4"
        case "video/mpeg4", "video/x-m4v": return "video/mp4"
        case "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl", "application/mpegurl": return hls
        case "audio/x-flac": return "audio/flac"
        case "audio/x-wav", "audio/wave", "audio/vnd.wave": return "audio/wav"
        case "audio/x-aac", "audio/aacp": return "audio/aac"
        case "audio/opus", "application/ogg", "audio/vorbis": return "audio/ogg"
        case "audio/x-aiff": return "audio/aiff"
        case "image/jpg": return "image/jpeg"
        default: return bare
        }
    }

    /// By what is inside, and by the name only where that says more.
    ///
    /// - Parameter container: ffprobe's `format_name`.
    static func of(container: String, extension name: String, hasVideo: Bool) -> String {
        let name = name.lowercased()
        let kinds = Set(container.split(separator: ",").map(String.init))
        if kinds.contains("hls") { return hls }
        if kinds.contains("mov") || kinds.contains("mp4") {
            if !hasVideo { return "audio/mp4" }
            return video[name] == "video/quicktime" ? "video/quicktime" : "video/mp4"
        }
        if kinds.contains("matroska") || kinds.contains("webm") {
            let web = name == "webm" || name == "weba"
            return (hasVideo ? "video/" : "audio/") + (web ? "webm" : "x-matroska")
        }
        if kinds.contains("ogg") { return hasVideo ? "video/ogg" : "audio/ogg" }
        let byContainer: [String: String] = [
            "mp3": "audio/mpeg", "flac": "audio/flac", "wav": "audio/wav", "aac": "audio/aac", "aiff": "audio/aiff",
            "mpegts": "video/mp2t", "mpeg": "video/mpeg", "avi": "video/x-msvideo", "ape": "audio/x-ape",
            "wv": "audio/x-wavpack", "ac3": "audio/ac3", "eac3": "audio/eac3", "caf": "audio/x-caf",
            "flv": "video/x-flv", "dash": "application/dash+xml", "png_pipe": "image/png", "jpeg_pipe": "image/jpeg",
            "gif": "image/gif", "webp_pipe": "image/webp",
        ]
        if let type = kinds.lazy.compactMap({ byContainer[$0] }).first { return type }
        if kinds.contains("asf") { return hasVideo ? "video/x-ms-wmv" : "audio/x-ms-wma" }
        return of(extension: name) ?? unknown
    }
}
