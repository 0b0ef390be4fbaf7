import Foundation

/// Finds the tracks that people mean by a language, a name or a number (C12). Pure.
public struct CastTrackChoice: Sendable, Hashable {
    /// What is wanted of one kind of track.
    public enum Wish: Sendable, Hashable {
        case asIs
        case off
        /// A BCP 47 tag, an ISO 639 code, the name of the track or its number.
        case words(String)
    }

    /// Nothing fits.
    public struct Missing: Error, Sendable, Hashable {
        public var kind: CastMediaTrack.Kind
        public var words: String
        /// What there is.
        public var tracks: [CastMediaTrack]
    }

    public var text: Wish
    public var audio: Wish
    public var video: Wish

    public init(text: Wish = .asIs, audio: Wish = .asIs, video: Wish = .asIs) {
        self.text = text
        self.audio = audio
        self.video = video
    }

    /// The ids that shall be active: the wished ones, and of every other kind those that are.
    public func activeTrackIDs(of tracks: [CastMediaTrack], now active: [Int]) throws(Missing) -> [Int] {
        var chosen: [Int] = []
        for (kind, wish) in [(CastMediaTrack.Kind.text, text), (.audio, audio), (.video, video)] {
            let those = tracks.filter { $0.kind == kind }
            switch wish {
            case .asIs: chosen += active.filter { id in those.contains { $0.id == id } }
            case .off: break
            case .words(let words):
                guard let track = Self.find(words, in: those) else {
                    throw Missing(kind: kind, words: words, tracks: those)
                }
                chosen.append(track.id)
            }
        }
        // Tracks that the item does not list are the device's own affair, and stay.
        return chosen + active.filter { id in !tracks.contains { $0.id == id } }
    }

    /// The track that these words fit best: its number, its tag, its name, its language whatever the region. Of
    /// several, text for everybody comes before text for people who do not hear, and both before chapters and the like.
    public static func find(_ words: String, in tracks: [CastMediaTrack]) -> CastMediaTrack? {
        let wanted = words.trimmingCharacters(in: .whitespaces).lowercased()
        guard !wanted.isEmpty else { return nil }
        let ordered = tracks.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
            .map(\.element)
        let language = primary(wanted)
        return ordered.first { String($0.id) == wanted }
            ?? ordered.first { $0.language?.lowercased().replacing("_", with: "-") == wanted.replacing("_", with: "-") }
            ?? ordered.first { $0.name?.lowercased() == wanted }
            ?? ordered.first { $0.language.map { primary($0.lowercased()) == language } ?? false }
    }

    private static func rank(_ track: CastMediaTrack) -> Int {
        switch track.subtype {
        case .subtitles, nil: 0
        case .captions: 1
        case .descriptions: 2
        case .chapters, .metadata: 3
        }
    }

    /// The language alone, of two letters where there are two.
    private static func primary(_ tag: String) -> String {
        let head = tag.prefix { $0 != "-" && $0 != "_" }
        return twoLetters[String(head)] ?? String(head)
    }

    /// ISO 639-2 codes, both kinds, of languages with a code of two letters that media files are commonly tagged with.
    private static let twoLetters: [String: String] = [
        "ara": "ar", "bul": "bg", "cat": "ca", "ces": "cs", "cze": "cs", "dan": "da", "deu": "de", "ger": "de",
        "ell": "el", "gre": "el", "eng": "en", "spa": "es", "est": "et", "eus": "eu", "baq": "eu", "fas": "fa",
        "per": "fa", "fin": "fi", "fra": "fr", "fre": "fr", "gle": "ga", "glg": "gl", "heb": "he", "hin": "hi",
        "hrv": "hr", "hun": "hu", "hye": "hy", "arm": "hy", "ind": "id", "isl": "is", "ice": "is", "ita": "it",
        "jpn": "ja", "kat": "ka", "geo": "ka", "kor": "ko", "lit": "lt", "lav": "lv", "mkd": "mk", "mac": "mk",
        "msa": "ms", "may": "ms", "nld": "nl", "dut": "nl", "nor": "no", "nob": "nb", "pol": "pl", "por": "pt",
        "ron": "ro", "rum": "ro", "rus": "ru", "slk": "sk", "slo": "sk", "slv": "sl", "sqi": "sq", "alb": "sq",
        "srp": "sr", "swe": "sv", "tam": "ta", "tel": "te", "tha": "th", "tur": "tr", "ukr": "uk", "urd": "ur",
        "vie": "vi", "zho": "zh", "chi": "zh",
    ]
}
