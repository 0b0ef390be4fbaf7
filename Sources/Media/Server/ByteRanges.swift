/// What a `Range` header asks of a representation of known length (RFC 9110, section 14).
///
/// Pure. Hummingbird's own reading of ranges is not used: it takes `bytes=-50` for the first 51 bytes and answers 206
/// to a start beyond the end.
enum ByteRanges: Equatable, Sendable {
    /// No range, or one that is to be ignored: another unit, bad syntax.
    case whole
    /// In the order asked for, each within the length and not empty.
    case some([Range<Int64>])
    /// Nothing of it lies within the length, or it asks for so much that it must be an attack.
    case unsatisfiable

    /// Ranges in one request at most.
    static let maximumRanges = 16

    static func parse(_ header: String?, length: Int64) -> ByteRanges {
        guard let header, let equals = header.firstIndex(of: "="),
            trimmed(header[..<equals]).lowercased() == "bytes"
        else { return .whole }
        var ranges: [Range<Int64>] = []
        var asked = 0
        for part in header[header.index(after: equals)...].split(separator: ",", omittingEmptySubsequences: true) {
            let spec = trimmed(part)
            if spec.isEmpty { continue }
            asked += 1
            guard let dash = spec.firstIndex(of: "-") else { return .whole }
            let first = spec[..<dash]
            let last = spec[spec.index(after: dash)...]
            switch (number(first), number(last)) {
            case (.some(let start), .some(let end)):
                guard start <= end else { return .whole }
                if start < length { ranges.append(start..<min(end, length - 1) + 1) }
            case (.some(let start), nil) where last.isEmpty:
                if start < length { ranges.append(start..<length) }
            case (nil, .some(let count)) where first.isEmpty:
                if count > 0, length > 0 { ranges.append(max(0, length - count)..<length) }
            default:
                return .whole
            }
        }
        guard asked > 0 else { return .whole }
        guard !ranges.isEmpty, asked <= maximumRanges, overlaps(ranges) <= 1 else { return .unsatisfiable }
        return .some(ranges)
    }

    /// How many of the ranges begin before one that lies lower has ended.
    private static func overlaps(_ ranges: [Range<Int64>]) -> Int {
        var count = 0
        var reached: Int64 = 0
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound < reached { count += 1 }
            reached = max(reached, range.upperBound)
        }
        return count
    }

    /// ASCII digits only; more than 64 bits hold is as good as the greatest.
    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(text) ?? Int64.max - 1
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
