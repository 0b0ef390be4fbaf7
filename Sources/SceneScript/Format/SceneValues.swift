import RouteModel

/// Values as a scene writes them: every one of them with its unit.
enum SceneValues {
    /// `90s`, `1m30s`, `1h 5m`, `250ms`, `2.5s`; nil for anything else, and for more than a day.
    static func duration(_ text: String) -> MediaTime? {
        var rest = text[...]
        var seconds = 0.0
        var last = Double.infinity
        var parts = 0
        while !rest.isEmpty {
            rest = rest.drop { $0 == " " }
            let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            guard !digits.isEmpty, let value = Double(digits) else { return nil }
            rest = rest.dropFirst(digits.count)
            let letters = rest.prefix { $0.isASCII && $0.isLetter }
            guard let unit = units[String(letters)], unit < last else { return nil }
            last = unit
            seconds += value * unit
            rest = rest.dropFirst(letters.count)
            parts += 1
        }
        guard parts > 0, seconds <= SceneLimits.longest else { return nil }
        return MediaTime(seconds: seconds)
    }

    private static let units: [String: Double] = ["h": 3600, "m": 60, "min": 60, "s": 1, "ms": 0.001]

    /// As `duration` reads it.
    static func text(_ time: MediaTime) -> String {
        let total = Int64((time.seconds * 1000).rounded())
        var parts: [String] = []
        if total >= 3_600_000 { parts.append("\(total / 3_600_000)h") }
        if total / 60_000 % 60 > 0 { parts.append("\(total / 60_000 % 60)m") }
        let rest = total % 60_000
        if rest % 1000 == 0 {
            if rest > 0 || parts.isEmpty { parts.append("\(rest / 1000)s") }
        } else if rest < 1000 {
            parts.append("\(rest)ms")
        } else {
            parts += ["\(rest / 1000)s", "\(rest % 1000)ms"]
        }
        return parts.joined()
    }

    /// `30%`, 0 to 100; nil for anything else.
    static func level(_ text: String) -> VolumePosition? {
        guard text.hasSuffix("%"), let value = number(text.dropLast()), (0...100).contains(value) else { return nil }
        return VolumePosition(percent: value)
    }

    /// `+5%` or `-5%` as a part of one.
    static func change(_ text: String) -> Double? {
        guard let sign = text.first, sign == "+" || sign == "-", let level = level(String(text.dropFirst())) else {
            return nil
        }
        return sign == "+" ? level.value : -level.value
    }

    /// `21:30` as minutes after midnight; nil for anything else.
    static func minutes(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ (1...2).contains($0.count) && $0.allSatisfy(\.isASCIIDigit) }),
            parts[1].count == 2, let hours = Int(parts[0]), let minutes = Int(parts[1]), hours < 24, minutes < 60
        else { return nil }
        return hours * 60 + minutes
    }

    static func clock(_ minutes: Int) -> String {
        let rest = minutes % 60
        return "\(minutes / 60 < 10 ? "0" : "")\(minutes / 60):\(rest < 10 ? "0" : "")\(rest)"
    }

    /// `1:30` and the like, which other programs take for minutes and seconds, or for hours and minutes.
    static func looksLikeClock(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count > 1 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isASCIIDigit) }
    }

    static func number(_ text: some StringProtocol) -> Double? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard let first = digits.first, first.isASCIIDigit,
            digits.allSatisfy({ $0.isASCIIDigit || $0 == "." }), let value = Double(text), value.isFinite
        else { return nil }
        return value
    }

    /// Letters, digits, `_` and `-`, beginning with a letter; at most 40.
    static func isName(_ text: String) -> Bool {
        guard let first = text.first, first.isASCII, first.isLetter, text.count <= 40 else { return false }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }
    }

    static let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

    /// A day's name, or its first three letters, as 1 (Monday) to 7; `weekday` and `weekend` are several.
    static func days(_ text: String) -> Set<Int>? {
        switch text {
        case "weekday", "weekdays": return [1, 2, 3, 4, 5]
        case "weekend", "weekends": return [6, 7]
        default:
            guard let index = days.firstIndex(where: { $0 == text || $0.prefix(3) == text }) else { return nil }
            return [index + 1]
        }
    }
}

extension Character {
    var isASCIIDigit: Bool { isASCII && isNumber }
}
