/// Turns the markup of subtitle formats into runs of text, each of one look.
///
/// What has no place in WebVTT's small set is left out, the text kept: colours, fonts, movements. What is no markup is
/// text: `<3` and `a < b` stay.
struct SubtitleMarkup {
    enum Dialect { case subRip, webVTT, subStation }

    private let dialect: Dialect
    private var runs: [SubtitleCue.Run] = []
    private var style: SubtitleCue.Style
    private let base: SubtitleCue.Style
    private var place: SubtitleCue.Place?
    /// Of SubStation: vector drawings are no text.
    private var isDrawing = false

    private static let longestTag = 256
    /// Tags that people wrote into SubRip, without a meaning here.
    private static let known: Set<String> = ["font", "span", "s", "c", "v", "ruby", "rt", "lang", "p", "div", "center"]

    struct Result {
        var runs: [SubtitleCue.Run]
        /// Where an `{\an8}` said it is.
        var place: SubtitleCue.Place?
    }

    static func read(_ text: String, _ dialect: Dialect, style: SubtitleCue.Style = []) -> Result {
        var markup = SubtitleMarkup(dialect: dialect, style: style, base: style)
        markup.read(Substring(text))
        return Result(runs: trimmed(markup.runs), place: markup.place)
    }

    private init(dialect: Dialect, style: SubtitleCue.Style, base: SubtitleCue.Style) {
        self.dialect = dialect
        self.style = style
        self.base = base
    }

    private mutating func read(_ text: Substring) {
        var rest = text
        while let first = rest.first {
            switch first {
            case "{" where dialect != .webVTT:
                guard let close = rest.prefix(Self.longestTag * 4).firstIndex(of: "}") else { break }
                let inside = rest[rest.index(after: rest.startIndex)..<close]
                // Without a backslash it is what somebody says, in SubRip, and a comment in SubStation.
                guard
                    inside.contains("\\") || dialect == .subStation
                        || ["b", "i", "u", "/b", "/i", "/u"].contains(inside)
                else { break }
                overrides(inside)
                rest = rest[rest.index(after: close)...]
                continue
            case "<" where dialect != .subStation:
                guard let tag = tag(rest) else { break }
                rest = rest[tag...]
                continue
            case "&" where dialect != .subStation:
                guard let (character, end) = entity(rest) else { break }
                append(character)
                rest = rest[end...]
                continue
            case "\\" where dialect != .webVTT:
                let next = rest.dropFirst().first
                guard next == "N" || next == "h" || (next == "n" && dialect == .subStation) else { break }
                append(next == "h" ? "\u{A0}" : "\n")
                rest = rest.dropFirst(2)
                continue
            default: break
            }
            append(String(first))
            rest = rest.dropFirst()
        }
    }

    private mutating func append(_ text: String) {
        guard !isDrawing else { return }
        if runs.last?.style == style {
            runs[runs.count - 1].text += text
        } else {
            runs.append(SubtitleCue.Run(text: text, style: style))
        }
    }

    /// Takes in the tag that `text` begins with and gives its end; nil if it is none.
    private mutating func tag(_ text: Substring) -> String.Index? {
        guard let close = text.prefix(Self.longestTag).firstIndex(of: ">") else { return nil }
        var inside = text[text.index(after: text.startIndex)..<close]
        let isEnd = inside.first == "/"
        if isEnd { inside = inside.dropFirst() }
        let name = inside.prefix { $0.isASCII && $0.isLetter }.lowercased()
        let after = inside.dropFirst(name.count).first
        let change: SubtitleCue.Style?
        switch name {
        case "i", "em": change = .italic
        case "b", "strong": change = .bold
        case "u": change = .underline
        default: change = nil
        }
        let isTag = after.map { " \t./".contains($0) } ?? true
        if isTag, let change {
            if isEnd { style.remove(change) } else { style.insert(change) }
        } else if isTag, name == "br" {
            append("\n")
        } else if dialect == .webVTT || (isTag && Self.known.contains(name)) {
            // WebVTT: whatever stands in angle brackets is none of the text.
        } else {
            return nil
        }
        return text.index(after: close)
    }

    private func entity(_ text: Substring) -> (String, String.Index)? {
        let entities = [
            "&amp;": "&", "&lt;": "<", "&gt;": ">", "&nbsp;": "\u{A0}", "&quot;": "\"", "&apos;": "'", "&#39;": "'",
            "&lrm;": "\u{200E}", "&rlm;": "\u{200F}",
        ]
        guard let end = text.prefix(8).firstIndex(of: ";"), let found = entities[text[...end].lowercased()] else {
            return nil
        }
        return (found, text.index(after: end))
    }

    /// `\i1\an8\fnArial`: what stands between braces.
    private mutating func overrides(_ text: Substring) {
        switch text {
        case "i": style.insert(.italic)
        case "b": style.insert(.bold)
        case "u": style.insert(.underline)
        case "/i": style.remove(.italic)
        case "/b": style.remove(.bold)
        case "/u": style.remove(.underline)
        default: commands(text)
        }
    }

    private mutating func commands(_ text: Substring) {
        for part in text.split(separator: "\\").prefix(64) {
            let name = part.prefix { $0.isASCII && $0.isLetter }
            let value = part.dropFirst(name.count)
            switch name {
            case "i": set(.italic, value)
            case "u": set(.underline, value)
            // A weight, or 0 and 1.
            case "b": set(.bold, (Int(value) ?? 0) == 1 || (Int(value) ?? 0) >= 600 ? "1" : "0")
            case "an": place = place ?? Int(value).flatMap(SubtitleCue.Place.init)
            case "a": place = place ?? Int(value).flatMap(Self.legacy)
            case "p": isDrawing = (Int(value) ?? 0) > 0
            // Back to the line's style, or to a named one, whose look is taken for the same.
            default: if name.first == "r", name == "r" || !value.isEmpty { style = base }
            }
        }
    }

    private mutating func set(_ change: SubtitleCue.Style, _ value: Substring) {
        if value.first == "1" { style.insert(change) } else { style.remove(change) }
    }

    /// SubStation 4's own numbers: 1 to 3 below, and 4 more above, 8 more in the middle.
    static func legacy(_ number: Int) -> SubtitleCue.Place? {
        switch number {
        case 1...3: SubtitleCue.Place(number)
        case 5...7: SubtitleCue.Place(number + 2)
        case 9...11: SubtitleCue.Place(number - 5)
        default: nil
        }
    }

    /// Without empty lines and blanks at the ends of lines; empty if nothing can be read.
    private static func trimmed(_ runs: [SubtitleCue.Run]) -> [SubtitleCue.Run] {
        var result: [SubtitleCue.Run] = []
        var atStart = true
        var lineCount = 1
        for run in runs {
            var text = ""
            for character in run.text {
                if character == "\n" {
                    guard !atStart else { continue }
                    while text.last == " " { text.removeLast() }
                    atStart = true
                    lineCount += 1
                    guard lineCount <= SubtitleLimits.linesPerCue else { break }
                    text.append(character)
                } else {
                    if atStart, character == " " || character == "\t" { continue }
                    atStart = false
                    text.append(character)
                }
            }
            if !text.isEmpty { result.append(SubtitleCue.Run(text: text, style: run.style)) }
        }
        while let last = result.last {
            let kept = last.text.reversed().drop { $0 == "\n" || $0 == " " || $0 == "\u{A0}" }
            if kept.isEmpty {
                result.removeLast()
            } else {
                result[result.count - 1].text = String(kept.reversed())
                break
            }
        }
        return result
    }
}
