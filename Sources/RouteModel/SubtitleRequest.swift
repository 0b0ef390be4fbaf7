/// Which subtitles a person wants with an item, and how they are to be read.
public struct SubtitleRequest: Codable, Sendable, Hashable {
    /// None are shown; those there are stay on offer.
    public var isOff: Bool
    /// A BCP 47 tag such as `de` or `pt-BR`: the first track of that language is shown.
    public var language: String?
    /// A subtitle file of the person's own, shown in place of what belongs to the media.
    public var source: MediaSource?
    /// Added to each cue's times; negative shows them earlier. Within an hour either way.
    public var offset: MediaTime
    /// Each cue's times are multiplied by this first: 25/23.976 for a file made for another frame rate. 0.5 to 2.
    public var scale: Double
    /// The text's encoding by its IANA name, where guessing fails.
    public var encoding: String?

    public init(
        isOff: Bool = false, language: String? = nil, source: MediaSource? = nil, offset: MediaTime = .zero,
        scale: Double = 1, encoding: String? = nil
    ) {
        self.isOff = isOff
        self.language = language
        self.source = source
        self.offset = offset
        self.scale = scale
        self.encoding = encoding
    }

    /// Offsets beyond this are taken for a slip of the hand.
    public static let maximumOffset = MediaTime(seconds: 3600)

    private static let extensions = ["srt", "vtt", "webvtt", "ass", "ssa"]

    /// What a person wrote: `off`, a language tag, or a file or URL. Relative paths are taken from `workingDirectory`.
    ///
    /// Throws `unsupported` for what is none of these.
    public init(_ text: String, workingDirectory: String) throws {
        self.init()
        let lower = text.lowercased()
        if lower == "off" || lower == "none" {
            isOff = true
        } else if lower.hasPrefix("http://") || lower.hasPrefix("https://") {
            source = .url(text)
        } else if text.contains("/") || Self.extensions.contains(where: { lower.hasSuffix("." + $0) }) {
            source = .file(path: text.hasPrefix("/") ? text : workingDirectory + "/" + text)
        } else if Self.isLanguage(lower) {
            language = text
        } else {
            throw RouterError(
                .unsupported, "“\(text)” is neither a subtitle file nor a language",
                hint: "Give a file (film.srt), a language (de, pt-BR) or off", scope: .item)
        }
    }

    /// A primary subtag of two or three letters, and subtags of up to eight letters and digits.
    private static func isLanguage(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard let first = parts.first, (2...3).contains(first.count), first.allSatisfy({ ("a"..."z").contains($0) })
        else { return false }
        return parts.dropFirst().allSatisfy { part in
            (1...8).contains(part.count) && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        }
    }
}
