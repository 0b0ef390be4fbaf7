/// Quiet hours as people write them: `22:00-07:00 at 30 %`.
extension QuietHours: CustomStringConvertible {
    /// Hours and minutes with two digits each, 00:00 to 23:59, a hyphen between, then how loud at most: 0 to 100, with or
    /// without a space before the per cent sign. Throws `configuration` with what is wrong.
    public init(_ text: String) throws {
        let words = text.split(separator: " ").map(String.init)
        var last = words.dropFirst(2).joined()
        guard words.count == 3 || words.count == 4, words[1] == "at", last.hasSuffix("%") else { throw Self.form(text) }
        last.removeLast()
        let times = words[0].split(separator: "-", omittingEmptySubsequences: false)
        guard times.count == 2, let from = Self.minute(times[0]), let to = Self.minute(times[1]) else {
            throw Self.form(text)
        }
        guard !last.isEmpty, last.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let percent = Int(last),
            (0...100).contains(percent)
        else {
            throw RouterError(
                .configuration, "quiet hours “\(text)” have a volume that is none",
                hint: "Give a whole number from 0 to 100, such as “at 30 %”")
        }
        guard from != to else {
            throw RouterError(
                .configuration, "quiet hours “\(text)” begin when they end",
                hint: "For the whole day give the room a volume limit instead")
        }
        self.init(from: from, to: to, limit: VolumePosition(percent: Double(percent)))
    }

    public var description: String { "\(Self.clock(from))-\(Self.clock(to)) at \(limit.percent) %" }

    /// Whether they last at this minute after midnight. The one that they end with is not theirs any more.
    public func contains(minute: Int) -> Bool {
        from <= to ? (from..<to).contains(minute) : minute >= from || minute < to
    }

    private static func minute(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2,
            parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy({ (0x30...0x39).contains($0) }) }),
            let hour = Int(parts[0]), let minute = Int(parts[1]), hour < 24, minute < 60
        else { return nil }
        return hour * 60 + minute
    }

    private static func clock(_ minute: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(minute / 60)):\(two(minute % 60))"
    }

    private static func form(_ text: String) -> RouterError {
        RouterError(
            .configuration, "“\(text)” is no form of quiet hours", hint: "Write them as “22:00-07:00 at 30 %”")
    }
}
