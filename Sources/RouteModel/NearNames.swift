/// For “did you mean”: names that are near to one that is not known.
public enum NearNames {
    /// Names beyond these numbers are not looked at: the names may be anybody's.
    private static let maximumNames = 5000
    private static let maximumLength = 200

    /// The nearest of `names`, best first, at most three; those too far from `wanted` to be meant are left out.
    public static func of(_ wanted: String, among names: [String]) -> [String] {
        let key = Array(wanted.lowercased().prefix(maximumLength))
        let limit = max(2, key.count / 3)
        var near: [(name: String, distance: Int)] = []
        for name in names.prefix(maximumNames) {
            let other = Array(name.lowercased().prefix(maximumLength))
            guard abs(other.count - key.count) <= limit else { continue }
            let distance = edits(key, other)
            if distance <= limit { near.append((name, distance)) }
        }
        return near.enumerated()
            .sorted { ($0.element.distance, $0.offset) < ($1.element.distance, $1.offset) }
            .prefix(3).map(\.element.name)
    }

    /// Insertions, removals, changes and swaps of neighbours that lead from one to the other.
    static func edits(_ left: [Character], _ right: [Character]) -> Int {
        var before: [Int] = []
        var last = Array(0...right.count)
        for i in 0..<left.count {
            var row = [i + 1]
            for j in 0..<right.count {
                var cost = min(row[j] + 1, last[j + 1] + 1, last[j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    cost = min(cost, before[j - 1] + 1)
                }
                row.append(cost)
            }
            before = last
            last = row
        }
        return last[right.count]
    }
}
