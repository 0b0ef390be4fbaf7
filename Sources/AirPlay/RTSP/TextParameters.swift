/// A `text/parameters` body: `name: value` lines (`Protocols/airplay/README.md`, “SET_PARAMETER”).
public struct TextParameters: Sendable, Hashable {
    public static let contentType = "text/parameters"

    public struct Entry: Sendable, Hashable {
        public var name: String
        public var value: String
    }

    public var entries: [Entry]

    public init(_ name: String, _ value: String) { entries = [Entry(name: name, value: value)] }

    /// Reads lines; one without a colon is a name alone, as GET_PARAMETER asks. Bytes that aren't UTF-8 are replaced.
    public init(parsing body: [UInt8]) {
        entries = String(decoding: body, as: UTF8.self).split(whereSeparator: \.isNewline).map { line in
            let pair = line.split(separator: ":", maxSplits: 1)
            return Entry(name: pair.first.map { $0.trimmed } ?? "", value: pair.count > 1 ? pair[1].trimmed : "")
        }
    }

    public subscript(name: String) -> String? {
        entries.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    public var body: [UInt8] {
        entries.flatMap { Array(($0.value.isEmpty ? "\($0.name)\r\n" : "\($0.name): \($0.value)\r\n").utf8) }
    }

    /// The volume in the AirPlay number: −144 mute, else −30 to 0.
    public static func volume(_ value: Double) -> TextParameters {
        TextParameters("volume", decimal(value))
    }

    /// Positions as RTP times: where the item begins, where it is now, where it ends.
    public static func progress(start: UInt32, now: UInt32, end: UInt32) -> TextParameters {
        TextParameters("progress", "\(start)/\(now)/\(end)")
    }

    /// `volume`, where there is a number; it is not clamped.
    public var volume: Double? {
        guard let number = self["volume"].flatMap(Double.init), number.isFinite else { return nil }
        return number
    }

    /// `progress`, where there are three RTP times.
    public var progress: (start: UInt32, now: UInt32, end: UInt32)? {
        let parts = (self["progress"] ?? "").split(separator: "/").map { UInt32($0.trimmed) }
        guard parts.count == 3, let start = parts[0], let now = parts[1], let end = parts[2] else { return nil }
        return (start, now, end)
    }

    /// Six decimals, whatever the locale.
    private static func decimal(_ value: Double) -> String {
        let millionths = Int64((min(max(value, -1000), 1000) * 1_000_000).rounded())
        let magnitude = millionths.magnitude
        let fraction = String(magnitude % 1_000_000)
        return (millionths < 0 ? "-" : "") + "\(magnitude / 1_000_000)."
            + String(repeating: "0", count: 6 - fraction.count) + fraction
    }
}
