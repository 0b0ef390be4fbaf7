import Foundation

/// Points of time as a person here reads them on the wall; documents for programs have seconds since 1970.
enum LocalTime {
    /// `2026-11-22 09:14`.
    static func minute(_ seconds: Double, zone: TimeZone = .current) -> String {
        text(seconds, "yyyy-MM-dd HH:mm", zone)
    }

    /// `09:14:36.250`.
    static func clock(_ seconds: Double, zone: TimeZone = .current) -> String { text(seconds, "HH:mm:ss.SSS", zone) }

    private static func text(_ seconds: Double, _ pattern: String, _ zone: TimeZone) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = zone
        formatter.dateFormat = pattern
        return formatter.string(from: Date(timeIntervalSince1970: seconds))
    }
}
