/// Reads SubRip (`.srt`), which nobody ever specified: by its lines of times, so that numbers and blank lines may be
/// missing, doubled or wrong (`Protocols/cast`, “Subtitles”).
enum SubRipParser {
    static func parse(_ text: String) -> SubtitleDocument {
        let source = SubtitleLines(text)
        var document = SubtitleDocument()
        source.noteCut(in: &document)
        var cue: (start: Int64, end: Int64)?
        var lines: [String] = []
        var hasBegun = false
        var counter = 0
        func close(_ document: inout SubtitleDocument, number: Int) -> Bool {
            defer { lines.removeAll() }
            guard let times = cue else { return true }
            cue = nil
            let markup = SubtitleMarkup.read(lines.joined(separator: "\n"), .subRip)
            guard !markup.runs.isEmpty else { return true }
            let made = SubtitleCue(
                start: times.start, end: times.end, runs: markup.runs, place: markup.place ?? SubtitleCue.Place())
            guard document.add(made) else {
                document.note(number, "more than \(SubtitleLimits.cues) texts; the rest is left out")
                return false
            }
            return true
        }
        for (index, line) in source.lines.enumerated() {
            let number = index + 1
            let timing = SubtitleClock.timing(line)
            if timing == .none {
                if cue != nil, lines.count < SubtitleLimits.linesPerCue * 2 {
                    lines.append(line)
                } else if !hasBegun, !isBlank(line), self.number(line) == nil {
                    document.note(number, "text before the first time; left out")
                    hasBegun = true
                }
                continue
            }
            hasBegun = true
            // The number of the cue that begins here was taken for the last line of the one before.
            counter = dropCounter(&lines, after: counter)
            guard close(&document, number: number) else { break }
            switch timing {
            case .times(let start, let end, _) where start < end: cue = (start, end)
            case .times(let start, let end, _):
                document.note(
                    number, start == end ? "seen for no time; left out" : "it ends before it begins; left out")
            default: document.note(number, "this is no time: write 00:00:01,000 --> 00:00:02,000")
            }
        }
        _ = close(&document, number: source.lines.count)
        document.finish()
        return document
    }

    private static func isBlank(_ line: String) -> Bool { line.utf8.allSatisfy { $0 == 32 || $0 == 9 } }

    private static func number(_ line: String) -> Int? {
        Int(
            line.utf8.filter { $0 != 32 && $0 != 9 }.map { Character(UnicodeScalar($0)) }.reduce(into: "") {
                $0.append($1)
            })
    }

    /// Takes a cue's number off the end; a number that somebody says stays: it follows text, and not the number before.
    private static func dropCounter(_ lines: inout [String], after counter: Int) -> Int {
        guard let last = lines.last, let number = number(last) else { return counter }
        let before = lines.dropLast().last
        guard before.map(isBlank) ?? false || number == counter + 1 || number == counter + 2 else { return counter }
        lines.removeLast()
        return number
    }
}
