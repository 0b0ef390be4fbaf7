import Foundation

/// What tells one state of a file from another, for conditional requests (RFC 9110, section 13).
struct EntityTag: Sendable, Equatable {
    /// With its quotes; always a strong one.
    let tag: String
    /// Whole seconds since 1970.
    let modified: Int64

    init(_ facts: FileFacts) {
        tag = "\"\(Self.hex(facts.inode))-\(Self.hex(facts.size))-\(Self.hex(facts.modified))\""
        modified = facts.modified / 1_000_000_000
    }

    /// For bytes that have no file.
    init(of bytes: [UInt8]) {
        // FNV-1a: it tells versions apart and keeps nothing secret.
        let hash = bytes.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        tag = "\"\(Self.hex(hash))-\(Self.hex(bytes.count))\""
        modified = 0
    }

    private static func hex(_ value: some BinaryInteger) -> String { String(value, radix: 16) }

    var lastModified: String? { modified > 0 ? HTTPDate.text(modified) : nil }

    /// Whether a `Range` holds although `If-Range` is there: only for exactly this state.
    func allowsRange(ifRange: String?) -> Bool {
        guard let ifRange = ifRange?.trimmingCharacters(in: .whitespaces) else { return true }
        if ifRange.hasPrefix("\"") { return ifRange == tag }
        return HTTPDate.seconds(ifRange).map { $0 == modified } ?? false
    }

    /// Whether the client has this state already. `If-None-Match` counts alone where it is given.
    func isKnown(ifNoneMatch: String?, ifModifiedSince: String?) -> Bool {
        if let ifNoneMatch { return Self.list(ifNoneMatch, names: tag) }
        guard modified > 0, let since = ifModifiedSince.flatMap(HTTPDate.seconds) else { return false }
        return modified <= since
    }

    /// Whether the client insists on another state.
    func isRefused(ifMatch: String?, ifUnmodifiedSince: String?) -> Bool {
        if let ifMatch { return !Self.list(ifMatch, names: tag) }
        guard modified > 0, let since = ifUnmodifiedSince.flatMap(HTTPDate.seconds) else { return false }
        return modified > since
    }

    private static func list(_ header: String, names tag: String) -> Bool {
        header.split(separator: ",").contains {
            let entry = $0.trimmingCharacters(in: .whitespaces)
            return entry == "*" || entry == tag || entry == "W/" + tag
        }
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`. By hand: no locale, no formatter shared by threads.
enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    static func text(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let day = days[Int((seconds / 86_400) % 7)]
        return
            "\(day), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }

    static func seconds(_ text: String) -> Int64? {
        let words = text.split(whereSeparator: { $0 == " " || $0 == ":" || $0 == "," })
        guard words.count == 8, words[7] == "GMT", let day = Int32(words[1]),
            let month = months.firstIndex(of: String(words[2])), let year = Int32(words[3]), let hour = Int32(words[4]),
            let minute = Int32(words[5]), let second = Int32(words[6]), (1970...9999).contains(year),
            (1...31).contains(day), (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        var parts = tm()
        parts.tm_mday = day
        parts.tm_mon = Int32(month)
        parts.tm_year = year - 1900
        parts.tm_hour = hour
        parts.tm_min = minute
        parts.tm_sec = second
        return Int64(timegm(&parts))
    }
}
