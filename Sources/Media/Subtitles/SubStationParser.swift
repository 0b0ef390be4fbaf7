/// Reads SubStation Alpha and Advanced SubStation Alpha (`.ssa`, `.ass`): times, text, and of the styles what is bold,
/// italic, underlined and where it stands.
enum SubStationParser {
    private struct Style {
        var look: SubtitleCue.Style = []
        var place = SubtitleCue.Place()
    }

    private static let maximumStyles = 1000
    private static let maximumFields = 40

    static func parse(_ text: String) -> SubtitleDocument {
        let source = SubtitleLines(text)
        var document = SubtitleDocument()
        source.noteCut(in: &document)
        var section = ""
        var styles: [String: Style] = [:]
        var styleFields = ["name", "fontname", "fontsize", "bold", "italic", "underline", "alignment"]
        var eventFields = ["layer", "start", "end", "style", "name", "marginl", "marginr", "marginv", "effect", "text"]
        var isLegacy = false
        for (index, line) in source.lines.enumerated() {
            let trimmed = line.drop { $0 == " " || $0 == "\t" || $0 == "\u{FEFF}" }
            if trimmed.first == "[" {
                section = trimmed.dropFirst().prefix { $0 != "]" }.lowercased()
                isLegacy = isLegacy || section == "v4 styles"
                continue
            }
            guard let colon = trimmed.firstIndex(of: ":") else { continue }
            let key = trimmed[..<colon].lowercased()
            let value = trimmed[trimmed.index(after: colon)...].drop { $0 == " " }
            switch (section, key) {
            case (_, "format") where section.hasSuffix("styles"): styleFields = names(value)
            case ("events", "format"): eventFields = names(value)
            case (_, "style") where section.hasSuffix("styles"):
                let fields = fields(value, styleFields)
                if let name = fields["name"], styles.count < maximumStyles { styles[name] = style(fields, isLegacy) }
            case ("events", "dialogue"):
                guard let cue = cue(fields(value, eventFields), styles) else {
                    document.note(index + 1, "a dialogue without times: write 0:00:01.00,0:00:02.00")
                    continue
                }
                guard cue.start < cue.end else {
                    document.note(index + 1, "it ends before it begins, or is seen for no time; left out")
                    continue
                }
                guard !cue.runs.isEmpty else { continue }
                guard document.add(cue) else {
                    document.note(index + 1, "more than \(SubtitleLimits.cues) texts; the rest is left out")
                    document.finish()
                    return document
                }
            default: continue
            }
        }
        document.finish()
        return document
    }

    private static func names(_ value: Substring) -> [String] {
        value.split(separator: ",").prefix(maximumFields).map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
    }

    /// The fields by their names; the last takes what is left, commas and all.
    private static func fields(_ value: Substring, _ names: [String]) -> [String: String] {
        let parts = value.split(separator: ",", maxSplits: max(0, names.count - 1), omittingEmptySubsequences: false)
        return Dictionary(
            zip(names, parts).map { name, part in
                (name, name == "text" ? String(part) : String(part.drop { $0 == " " }))
            }, uniquingKeysWith: { first, _ in first })
    }

    private static func style(_ fields: [String: String], _ isLegacy: Bool) -> Style {
        var style = Style()
        // -1 is yes, as in Visual Basic.
        if fields["bold"].map({ $0 != "0" }) == true { style.look.insert(.bold) }
        if fields["italic"].map({ $0 != "0" }) == true { style.look.insert(.italic) }
        if fields["underline"].map({ $0 != "0" }) == true { style.look.insert(.underline) }
        let number = fields["alignment"].flatMap { Int($0.filter { $0 != " " }) } ?? 2
        style.place = (isLegacy ? SubtitleMarkup.legacy(number) : SubtitleCue.Place(number)) ?? SubtitleCue.Place()
        return style
    }

    private static func cue(_ fields: [String: String], _ styles: [String: Style]) -> SubtitleCue? {
        guard let start = fields["start"].flatMap({ SubtitleClock.milliseconds(Substring($0)) }),
            let end = fields["end"].flatMap({ SubtitleClock.milliseconds(Substring($0)) })
        else { return nil }
        let name = (fields["style"] ?? "").drop { $0 == "*" }
        let style = styles[String(name)] ?? Style()
        let markup = SubtitleMarkup.read(fields["text"] ?? "", .subStation, style: style.look)
        return SubtitleCue(start: start, end: end, runs: markup.runs, place: markup.place ?? style.place)
    }
}
