/// The lines of a text, however they end: LF, CRLF or CR.
struct SubtitleLines: Sendable {
    /// Without their ends, control characters but tabs, and what lies beyond `SubtitleLimits.lineBytes`.
    let lines: [String]
    /// Numbers, from 1, of the lines that were too long.
    let cut: [Int]

    init(_ text: String) {
        var lines: [String] = []
        var cut: [Int] = []
        var line: [UInt8] = []
        var isTooLong = false
        var afterCarriageReturn = false
        func end() {
            // Not in the middle of a character.
            while isTooLong, let last = line.last, last & 0xC0 == 0x80 { line.removeLast() }
            if isTooLong, let last = line.last, last >= 0xC0 { line.removeLast() }
            if isTooLong { cut.append(lines.count + 1) }
            lines.append(String(decoding: line, as: UTF8.self))
            line.removeAll(keepingCapacity: true)
            isTooLong = false
        }
        for byte in text.utf8 {
            defer { afterCarriageReturn = byte == 13 }
            switch byte {
            case 10 where afterCarriageReturn: continue
            case 10, 13: end()
            case 0..<9, 11, 12, 14..<32, 127: continue
            default:
                if line.count < SubtitleLimits.lineBytes { line.append(byte) } else { isTooLong = true }
            }
        }
        if !line.isEmpty { end() }
        self.lines = lines
        self.cut = cut
    }

    func noteCut(in document: inout SubtitleDocument) {
        for line in cut { document.note(line, "longer than \(SubtitleLimits.lineBytes) bytes; the rest is left out") }
    }
}

/// Clock times and the line with two of them.
enum SubtitleClock {
    /// Milliseconds of `1:02:03,456`, `02:03.4` and the like: a comma or a point, hours or none. Nil for all else and
    /// for what lies beyond `SubtitleLimits.latest`.
    static func milliseconds(_ text: Substring) -> Int64? {
        let bytes = text.utf8.filter { $0 != 32 && $0 != 9 }
        var parts: [Int64] = [0]
        var fraction: [UInt8]?
        var digits = 0
        for byte in bytes {
            switch byte {
            case 48...57:
                if fraction != nil {
                    fraction?.append(byte - 48)
                } else {
                    digits += 1
                    guard digits <= 4, let last = parts.last else { return nil }
                    parts[parts.count - 1] = last * 10 + Int64(byte - 48)
                }
            case UInt8(ascii: ":"):
                guard fraction == nil, digits > 0, parts.count < 3 else { return nil }
                parts.append(0)
                digits = 0
            case UInt8(ascii: ","), UInt8(ascii: "."):
                guard fraction == nil, digits > 0 else { return nil }
                fraction = []
            default: return nil
            }
        }
        guard parts.count >= 2, digits > 0, let seconds = parts.last, seconds < 60,
            parts.count < 3 || parts[1] < 60
        else { return nil }
        let padded = Array((fraction ?? []).prefix(3)) + [0, 0, 0]
        let milliseconds = Int64(padded[0]) * 100 + Int64(padded[1]) * 10 + Int64(padded[2])
        let whole = parts.reduce(0) { $0 * 60 + $1 }
        let total = whole * 1000 + milliseconds
        return total <= SubtitleLimits.latest ? total : nil
    }

    enum Timing: Equatable {
        case none
        /// It has an arrow, and no two times.
        case broken
        case times(start: Int64, end: Int64, rest: String)
    }

    /// `00:00:01,000 --> 00:00:02,000 settings`.
    static func timing(_ line: String) -> Timing {
        guard let arrow = firstArrow(line) else { return .none }
        let before = line[..<arrow.lowerBound]
        let after = line[arrow.upperBound...].drop { $0 == " " || $0 == "\t" }
        let endText = after.prefix { $0 != " " && $0 != "\t" }
        guard let start = milliseconds(before), let end = milliseconds(endText) else { return .broken }
        let rest = after[endText.endIndex...].drop { $0 == " " || $0 == "\t" }
        return .times(start: start, end: end, rest: String(rest))
    }

    private static func firstArrow(_ line: String) -> Range<String.Index>? {
        let utf8 = line.utf8
        guard var index = utf8.firstIndex(of: UInt8(ascii: "-")) else { return nil }
        while index < utf8.endIndex {
            let tail = utf8[index...]
            if tail.starts(with: "-->".utf8) { return index..<utf8.index(index, offsetBy: 3) }
            index = utf8.index(after: index)
        }
        return nil
    }
}
