import RouteModel

/// Times as people type them.
enum ClockTime {
    /// `83`, `83.5`, `1:23` or `1:02:03`; nil for anything else.
    static func parse(_ text: String) -> MediaTime? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count) else { return nil }
        var seconds = 0.0
        for (index, part) in parts.enumerated() {
            guard part.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let value = Double(part),
                value >= 0, value < 1e7, index == 0 || value < 60
            else { return nil }
            guard index == parts.count - 1 || !part.contains(".") else { return nil }
            seconds = seconds * 60 + value
        }
        return MediaTime(seconds: seconds)
    }

    /// `1:23`, or `1:02:03`.
    static func format(_ time: MediaTime) -> String {
        let total = max(0, Int(time.seconds))
        let minutes = total / 60 % 60
        let two = { (value: Int) in value < 10 ? "0\(value)" : "\(value)" }
        return total >= 3600
            ? "\(total / 3600):\(two(minutes)):\(two(total % 60))" : "\(minutes):\(two(total % 60))"
    }
}

extension ClockTime {
    /// A length of time in words: “500 ms”, “10 s”, “2 min”.
    static func words(_ seconds: Double) -> String {
        if seconds < 1 { return "\(Int((seconds * 1000).rounded())) ms" }
        if seconds < 120 { return "\(seconds == seconds.rounded() ? String(Int(seconds)) : String(seconds)) s" }
        return "\(Int((seconds / 60).rounded())) min"
    }
}
