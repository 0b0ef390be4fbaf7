import RouteModel

/// Bounds of what a subtitle file may ask of us.
enum SubtitleLimits {
    /// Bytes of a file: the longest films have less than one mebibyte.
    static let bytes = 16 << 20
    static let cues = 50_000
    /// Bytes of one line; the rest of it is dropped.
    static let lineBytes = 4096
    static let linesPerCue = 32
    /// What is told of a file that is wrong throughout.
    static let notices = 20
    /// Milliseconds: 100 hours.
    static let latest: Int64 = 360_000_000
}

/// Subtitles, whatever they were written in: what the parsers give and the writer takes.
struct SubtitleDocument: Sendable, Equatable {
    private(set) var cues: [SubtitleCue] = []
    /// What was wrong, each with its line; no more than `SubtitleLimits.notices` and a last one that counts the rest.
    private(set) var notices: [SubtitleNotice] = []
    private var untold = 0

    /// False when there is room for no more.
    @discardableResult
    mutating func add(_ cue: SubtitleCue) -> Bool {
        guard cues.count < SubtitleLimits.cues else { return false }
        cues.append(cue)
        return true
    }

    mutating func note(_ line: Int, _ problem: String) {
        guard notices.count < SubtitleLimits.notices else {
            untold += 1
            return
        }
        notices.append(SubtitleNotice(line: line, problem: problem))
    }

    /// In the order of their beginnings, as WebVTT wants them, without those that come twice.
    mutating func finish() {
        if untold > 0 { notices.append(SubtitleNotice(line: 0, problem: "and \(untold) more like these")) }
        untold = 0
        let ordered = cues.enumerated().sorted { one, other in
            (one.element.start, one.offset) < (other.element.start, other.offset)
        }.map(\.element)
        cues = []
        for cue in ordered {
            // Layers of one text (an outline below the letters) stand next to each other.
            let isTwin = cues.reversed().prefix { $0.start == cue.start }.contains(cue)
            if !isTwin { cues.append(cue) }
        }
    }

    /// Moved by `offset`, after each time was multiplied by `scale`. What would end before the beginning goes.
    func timed(offset: MediaTime, scale: Double) -> SubtitleDocument {
        guard offset != .zero || scale != 1 else { return self }
        let shift = Double(offset.nanoseconds) / 1_000_000
        func moved(_ time: Int64) -> Int64 {
            Int64(min(Double(SubtitleLimits.latest), max(0, (Double(time) * scale + shift).rounded())))
        }
        var result = self
        result.cues = cues.compactMap { cue in
            var cue = cue
            cue.start = moved(cue.start)
            cue.end = moved(cue.end)
            return cue.end > cue.start ? cue : nil
        }
        return result
    }
}

/// Something wrong in a file, for people.
struct SubtitleNotice: Sendable, Equatable {
    /// From 1; 0 for the whole file.
    var line: Int
    var problem: String

    var text: String { line > 0 ? "line \(line): \(problem)" : problem }
}

/// One text and when it is seen.
struct SubtitleCue: Sendable, Equatable {
    /// Milliseconds from the beginning of the media.
    var start: Int64
    var end: Int64
    /// Not empty; lines end in `\n`.
    var runs: [Run]
    var place = Place()
    /// WebVTT's own cue settings, checked, which count in place of `place`.
    var settings: String?

    /// Text of one look.
    struct Run: Sendable, Equatable {
        var text: String
        var style: Style
    }

    struct Style: OptionSet, Sendable, Hashable {
        let rawValue: UInt8
        static let bold = Style(rawValue: 1)
        static let italic = Style(rawValue: 2)
        static let underline = Style(rawValue: 4)
    }

    /// Where on the screen, as the keys of a numeric pad lie: 2 is below in the middle, 8 above.
    struct Place: Sendable, Equatable {
        var key = 2

        /// Nil for what is no such key.
        init?(_ key: Int) {
            guard (1...9).contains(key) else { return nil }
            self.key = key
        }

        init() {}
    }

    var text: String { runs.map(\.text).joined() }
}
