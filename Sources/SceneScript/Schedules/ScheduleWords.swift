/// Times and days as people write them, for every surface that speaks of schedules.
public enum ScheduleWords {
    /// `06:45` as minutes after midnight; nil for anything else.
    public static func minutes(_ text: String) -> Int? { SceneValues.minutes(text) }

    /// Minutes after midnight as `06:45`.
    public static func clock(_ minutes: Int) -> String { SceneValues.clock(minutes) }

    /// `monday,fri`, `weekdays`, `weekends`; nothing is every day, which is an empty list. Nil for what is no day.
    public static func days(_ text: String) -> [Int]? {
        var result: Set<Int> = []
        for part in text.split(separator: ",") {
            let word = part.filter { $0 != " " }.lowercased()
            guard let days = SceneValues.days(word) else { return nil }
            result.formUnion(days)
        }
        return result.count == 7 ? [] : result.sorted()
    }

    /// `on weekdays`, `on monday, friday`, `every day`.
    public static func words(_ days: [Int]) -> String {
        let set = Set(days)
        if set.isEmpty || set.count == 7 { return "every day" }
        if set == [1, 2, 3, 4, 5] { return "on weekdays" }
        if set == [6, 7] { return "on weekends" }
        let names = set.sorted().filter { (1...7).contains($0) }.map { SceneValues.days[$0 - 1] }
        return "on \(names.joined(separator: ", "))"
    }
}
