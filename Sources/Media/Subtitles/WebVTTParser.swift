/// Reads WebVTT (W3C, “WebVTT: The Web Video Text Tracks Format”, section 6) as far as a receiver shows it: styles,
/// regions and comments are passed over.
enum WebVTTParser {
    static func parse(_ text: String) -> SubtitleDocument {
        let source = SubtitleLines(text)
        var document = SubtitleDocument()
        source.noteCut(in: &document)
        let lines = source.lines
        if lines.first.map(isHeader) != true { document.note(1, "it does not begin with WEBVTT") }
        var index = 0
        while index < lines.count {
            switch SubtitleClock.timing(lines[index]) {
            case .none: index += 1
            case .broken:
                document.note(index + 1, "this is no time: write 00:01.000 --> 00:02.000")
                index += 1
                skipBlock(lines, &index)
            case .times(let start, let end, let settings):
                let number = index + 1
                index += 1
                let from = index
                skipBlock(lines, &index)
                guard start < end else {
                    document.note(
                        number, start == end ? "seen for no time; left out" : "it ends before it begins; left out")
                    continue
                }
                let body = lines[from..<index].prefix(SubtitleLimits.linesPerCue).joined(separator: "\n")
                let runs = SubtitleMarkup.read(body, .webVTT).runs
                guard !runs.isEmpty else { continue }
                let cue = SubtitleCue(start: start, end: end, runs: runs, settings: checked(settings))
                guard document.add(cue) else {
                    document.note(number, "more than \(SubtitleLimits.cues) texts; the rest is left out")
                    index = lines.count
                    continue
                }
            }
        }
        document.finish()
        return document
    }

    static func isHeader(_ line: String) -> Bool {
        guard line.hasPrefix("WEBVTT") else { return false }
        return line.dropFirst(6).first.map { $0 == " " || $0 == "\t" } ?? true
    }

    /// To the blank line, or the next line with an arrow, that ends a cue.
    private static func skipBlock(_ lines: [String], _ index: inout Int) {
        while index < lines.count, !lines[index].isEmpty, SubtitleClock.timing(lines[index]) == .none { index += 1 }
    }

    /// Settings that are well formed, of names that every version knows; regions are not kept.
    private static func checked(_ settings: String) -> String? {
        let names: Set<String> = ["vertical", "line", "position", "size", "align"]
        let kept = settings.split(whereSeparator: { $0 == " " || $0 == "\t" }).prefix(8).filter { setting in
            guard let colon = setting.firstIndex(of: ":") else { return false }
            let value = setting[setting.index(after: colon)...]
            return names.contains(String(setting[..<colon])) && !value.isEmpty && value.count <= 32
                && value.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "%.,-".contains($0)) }
        }
        return kept.isEmpty ? nil : kept.map { String($0) }.joined(separator: " ")
    }
}
