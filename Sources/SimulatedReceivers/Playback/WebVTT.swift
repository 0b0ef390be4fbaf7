import Foundation

/// One text of a WebVTT file.
struct WebVTTCue: Sendable, Hashable {
    /// Seconds.
    var start: Double
    var end: Double
    /// Its lines, joined by line feeds.
    var text: String
}

enum WebVTTError: Error, Sendable, Hashable, CustomStringConvertible {
    case notUTF8
    /// The first line does not begin with WEBVTT.
    case noSignature
    case tooManyCues

    var description: String {
        switch self {
        case .notUTF8: "the text track is not UTF-8"
        case .noSignature: "the text track does not begin with WEBVTT"
        case .tooManyCues: "the text track has too many cues"
        }
    }
}

/// Reads WebVTT as a browser does: what is no cue is passed over.
enum WebVTT {
    static let maximumCues = 20_000

    /// Cues in the order of the file. Throws `WebVTTError`.
    static func cues(of bytes: [UInt8]) throws -> [WebVTTCue] {
        guard var text = String(validating: bytes, as: UTF8.self) else { throw WebVTTError.notUTF8 }
        if text.hasPrefix("\u{FEFF}") { text.removeFirst() }
        let lines = text.replacingOccurrences(of: "\r\n", with: "\n").replacingOccurrences(of: "\r", with: "\n")
            .split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first, first == "WEBVTT" || first.hasPrefix("WEBVTT ") || first.hasPrefix("WEBVTT\t")
        else { throw WebVTTError.noSignature }
        var cues: [WebVTTCue] = []
        var rest = lines.dropFirst()
        while let line = rest.popFirst() {
            guard let (start, end) = times(of: line) else { continue }
            var words: [Substring] = []
            while let next = rest.first, !next.isEmpty, !next.contains("-->") { words.append(rest.removeFirst()) }
            guard cues.count < maximumCues else { throw WebVTTError.tooManyCues }
            cues.append(WebVTTCue(start: start, end: end, text: words.joined(separator: "\n")))
        }
        return cues
    }

    /// The two times of a line such as `00:01.000 --> 00:02.500 align:start`.
    private static func times(of line: Substring) -> (Double, Double)? {
        guard let arrow = line.range(of: "-->") else { return nil }
        let after = line[arrow.upperBound...].split(whereSeparator: { $0 == " " || $0 == "\t" })
        guard let start = seconds(line[..<arrow.lowerBound].trimmingCharacters(in: .whitespaces)),
            let end = after.first.flatMap({ seconds(String($0)) }), end > start
        else { return nil }
        return (start, end)
    }

    /// `[hh:]mm:ss.ttt`.
    private static func seconds(_ text: String) -> Double? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let last = parts.last else { return nil }
        let fraction = last.split(separator: ".", omittingEmptySubsequences: false)
        guard fraction.count == 2, fraction[0].count == 2, fraction[1].count == 3,
            parts.allSatisfy({ $0.allSatisfy { $0.isNumber || $0 == "." } }), let seconds = Double(last), seconds < 60
        else { return nil }
        let whole = parts.dropLast().compactMap { Int($0) }
        guard whole.count == parts.count - 1, let minutes = whole.last, minutes < 60 else { return nil }
        let hours = whole.count == 2 ? whole[0] : 0
        guard hours < 1_000_000 else { return nil }
        return Double(hours * 3_600 + minutes * 60) + seconds
    }
}
