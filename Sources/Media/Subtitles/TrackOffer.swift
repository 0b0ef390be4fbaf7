import RouteBackend
import RouteModel

/// Which tracks a receiver is offered with an item, and which of them it begins with.
struct TrackOffer: Sendable {
    /// Text that we serve, by the track's id.
    var served: [Int: SubtitleStore.Source] = [:]
    /// Their `url` is still to be filled in where `served` has them.
    var tracks: [PullTrack] = []
    var active: [Int] = []
    var notices: [Notice] = []

    /// The file that somebody named, if they did.
    private var own: SubtitleStore.Source?

    /// ffmpeg's names of subtitles that are pictures.
    static let bitmapCodecs: Set<String> = ["hdmv_pgs_subtitle", "dvd_subtitle", "dvb_subtitle", "xsub"]
    /// Of text that ffmpeg turns into text.
    private static let textCodecs: Set<String> = [
        "subrip", "srt", "ass", "ssa", "mov_text", "webvtt", "text", "microdvd", "subviewer", "subviewer1", "mpl2",
        "jacosub",
        "sami", "realtext", "stl", "pjs", "vplayer", "eia_608", "ttml",
    ]
    /// Ids of tracks inside the media begin here.
    static let inbandBase = 1000
    private static let maximumTracks = 64

    private struct Text {
        var source: SubtitleStore.Source
        var language: String?
        var title: String?
        var isForced: Bool
        var isForHearingImpaired: Bool
    }

    /// - Parameters:
    ///   - streams: what the probe found in the media.
    ///   - sidecars: what lies beside it.
    init(source: MediaSource, streams: [SourceStream], sidecars: SidecarSubtitles, request: SubtitleRequest?) {
        let plain = request ?? SubtitleRequest()
        var texts: [Text] = []
        if let own = plain.source {
            let language = own.label.split(separator: ".").dropLast().last.flatMap { LanguageName.tag(String($0)) }
            texts.append(
                Text(
                    source: SubtitleStore.Source(origin: .separate(own), request: Self.timing(plain)),
                    language: language, title: own.label, isForced: false, isForHearingImpaired: false))
        }
        for file in sidecars.files where plain.source != .file(path: file.path) {
            texts.append(
                Text(
                    source: SubtitleStore.Source(
                        origin: .separate(.file(path: file.path)), request: Self.timing(plain)),
                    language: file.language, title: nil, isForced: file.isForced,
                    isForHearingImpaired: file.isForHearingImpaired))
        }
        var bitmaps: [String] = sidecars.bitmaps
        for stream in streams where stream.kind == .text {
            let name = stream.title ?? stream.language.map(LanguageName.name) ?? "track \(stream.index)"
            guard Self.textCodecs.contains(stream.codec) else {
                if Self.bitmapCodecs.contains(stream.codec) { bitmaps.append(name) }
                continue
            }
            var timing = Self.timing(plain)
            timing.encoding = nil
            texts.append(
                Text(
                    source: SubtitleStore.Source(
                        origin: .stream(source, index: stream.index, codec: stream.codec), request: timing),
                    language: stream.language, title: stream.title, isForced: stream.isForced,
                    isForHearingImpaired: stream.isForHearingImpaired))
        }
        if plain.source != nil { own = texts.first?.source }
        for text in texts.prefix(Self.maximumTracks) { add(text) }
        let audio = streams.filter { $0.kind == .audio }
        if audio.count > 1 {
            for stream in audio.prefix(Self.maximumTracks) {
                tracks.append(
                    PullTrack(
                        id: Self.inbandBase + stream.index, kind: .audio, language: stream.language,
                        name: stream.title ?? stream.language.map(LanguageName.name), isInband: true))
            }
        }
        choose(texts, request)
        if !bitmaps.isEmpty {
            notices.append(
                Notice(
                    .warning,
                    "subtitles that are pictures can't be shown by a receiver: \(bitmaps.joined(separator: ", "))",
                    hint: "Give a text file: --subtitles FILE"))
        }
    }

    func isOwn(_ source: SubtitleStore.Source) -> Bool { source == own }

    /// Only what a text is made by, so that two wishes for the same text are one.
    private static func timing(_ request: SubtitleRequest) -> SubtitleRequest {
        SubtitleRequest(offset: request.offset, scale: request.scale, encoding: request.encoding)
    }

    private mutating func add(_ text: Text) {
        let id = served.count + 1
        let language = text.language ?? "und"
        var name = text.title ?? (language == "und" ? "Subtitles" : LanguageName.name(language))
        if text.title == nil, text.isForced { name += " (forced)" }
        if text.title == nil, text.isForHearingImpaired { name += " (SDH)" }
        served[id] = text.source
        tracks.append(
            PullTrack(
                id: id, kind: .text, subtype: text.isForHearingImpaired ? .captions : .subtitles, language: language,
                name: name, contentType: "text/vtt", isInband: false))
    }

    /// What is shown from the start: what was asked for; without a wish, text that is meant to be seen always.
    private mutating func choose(_ texts: [Text], _ request: SubtitleRequest?) {
        guard request?.isOff != true else { return }
        if request?.source != nil {
            active = [1]
        } else if let wanted = request?.language {
            let fitting = texts.prefix(Self.maximumTracks).enumerated().filter {
                LanguageName.matches($0.element.language, wanted)
            }
            // The whole dialogue before a part of it, and plain before what describes sounds.
            let best = fitting.min { one, other in
                (one.element.isForced ? 2 : 0) + (one.element.isForHearingImpaired ? 1 : 0)
                    < (other.element.isForced ? 2 : 0) + (other.element.isForHearingImpaired ? 1 : 0)
            }
            if let best {
                active = [best.offset + 1]
            } else {
                let there = Set(texts.compactMap(\.language)).sorted()
                notices.append(
                    Notice(
                        .warning, "there are no subtitles in “\(wanted)”",
                        hint: there.isEmpty
                            ? "Give a file: --subtitles FILE" : "There are \(there.joined(separator: ", "))"))
            }
        } else if let forced = texts.prefix(Self.maximumTracks).firstIndex(where: \.isForced) {
            active = [forced + 1]
        }
    }
}
