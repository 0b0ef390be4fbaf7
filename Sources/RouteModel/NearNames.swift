/// For “did you mean”: names that are near to one that is not known.
public enum NearNames {
    /// The nearest of `names`, best first, at most three; those too far from `wanted` to be meant are left out.
    public static func of(_ wanted: String, among names: [String]) -> [String] {
        let wanted = wanted.lowercased()
        let near = names.map { ($0, distance($0.lowercased(), wanted)) }
            .filter { $0.1 <= max(2, wanted.count / 3) }
            .sorted { $0.1 < $1.1 }
        return near.prefix(3).map(\.0)
    }

    /// How many letters have to be changed, added or removed to make one word of the other.
    public static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left)
        let right = Array(right)
        if left.isEmpty || right.isEmpty { return max(left.count, right.count) }
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in right.enumerated() {
                let above = row[column + 1]
                row[column + 1] = min(above + 1, row[column] + 1, diagonal + (letter == other ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
