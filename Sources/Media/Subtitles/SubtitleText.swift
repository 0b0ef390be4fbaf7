import RouteModel

/// From a file's bytes to what a receiver reads.
enum SubtitleText {
    enum Format: String, Sendable { case subRip, webVTT, subStation }

    /// A file as WebVTT, and what was wrong with it.
    struct Converted: Sendable {
        var webVTT: [UInt8]
        var cues: Int
        var notices: [SubtitleNotice]
        var encoding: String
    }

    /// By the first lines that say something; the name doesn't count.
    static func format(_ text: String) -> Format? {
        let head = SubtitleLines(String(text.prefix(16 << 10)))
        for line in head.lines {
            let trimmed = line.drop { $0 == " " || $0 == "\t" || $0 == "\u{FEFF}" }
            if trimmed.isEmpty { continue }
            if WebVTTParser.isHeader(String(trimmed)) { return .webVTT }
            if trimmed.lowercased().hasPrefix("[script info]") || trimmed.hasPrefix("[V4") { return .subStation }
            if trimmed.hasPrefix("[Events]") || trimmed.hasPrefix("Dialogue:") { return .subStation }
            break
        }
        if head.lines.contains(where: { SubtitleClock.timing($0) != .none }) { return .subRip }
        return head.lines.contains { $0.hasPrefix("Dialogue:") } ? .subStation : nil
    }

    /// Throws `mediaUnsupported` for what is no text subtitle, is too long, or holds not one text.
    static func convert(_ bytes: [UInt8], label: String, request: SubtitleRequest) throws -> Converted {
        guard bytes.count <= SubtitleLimits.bytes else {
            throw unsupported(
                label, "is longer than \(SubtitleLimits.bytes >> 20) MiB", "Give the subtitle file, not the film")
        }
        let given = try request.encoding.map { try SubtitleEncoding.named($0) }
        let (text, encoding) = SubtitleEncoding.decode(bytes, as: given)
        guard let format = format(text) else {
            throw unsupported(label, "is no SRT, WebVTT or ASS file", "Give subtitles in one of these formats")
        }
        var document =
            switch format {
            case .subRip: SubRipParser.parse(text)
            case .webVTT: WebVTTParser.parse(text)
            case .subStation: SubStationParser.parse(text)
            }
        guard !document.cues.isEmpty else {
            let first = document.notices.first.map { " (\($0.text))" } ?? ""
            throw unsupported(
                label, "holds no text that could be shown\(first)", "Check the file, and --subtitle-encoding")
        }
        document = document.timed(offset: request.offset, scale: request.scale)
        return Converted(
            webVTT: WebVTTWriter.write(document), cues: document.cues.count, notices: document.notices,
            encoding: encoding.name)
    }

    private static func unsupported(_ label: String, _ what: String, _ hint: String) -> RouterError {
        RouterError(.mediaUnsupported, "the subtitle file “\(label)” \(what)", hint: hint, scope: .item)
    }
}
