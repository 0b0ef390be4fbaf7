import RouteModel

/// What must hold: comparisons of a target's state and of the time of day, with `and`, `or` and `not`. There is no
/// arithmetic in it.
public indirect enum SceneCondition: Sendable, Hashable {
    case constant(Bool)
    case comparison(SceneComparison)
    case not(SceneCondition)
    case and([SceneCondition])
    case or([SceneCondition])

    /// True or false, or nil where that hangs on what `atom` does not know.
    func evaluate(_ atom: (SceneComparison) -> Bool?) -> Bool? {
        switch self {
        case .constant(let value): return value
        case .comparison(let comparison): return atom(comparison)
        case .not(let condition): return condition.evaluate(atom).map { !$0 }
        case .and(let conditions):
            let values = conditions.map { $0.evaluate(atom) }
            return values.contains(false) ? false : values.contains(nil) ? nil : true
        case .or(let conditions):
            let values = conditions.map { $0.evaluate(atom) }
            return values.contains(true) ? true : values.contains(nil) ? nil : false
        }
    }

    var comparisons: [SceneComparison] {
        switch self {
        case .constant: []
        case .comparison(let comparison): [comparison]
        case .not(let condition): condition.comparisons
        case .and(let conditions), .or(let conditions): conditions.flatMap(\.comparisons)
        }
    }

    var targets: Set<String> { Set(comparisons.compactMap(\.target)) }
}

/// One comparison. Of a target of several rooms it holds where it holds for each of them.
public struct SceneComparison: Sendable, Hashable {
    public enum Subject: Sendable, Hashable {
        /// `TARGET.state` and the like.
        case target(String, Field)
        /// The local time of day, in minutes after midnight.
        case time
        /// The day of the week, 1 (Monday) to 7.
        case day
    }

    public enum Field: String, Sendable, Hashable, CaseIterable {
        case state, position, remaining, volume, muted, item, upcoming, present
    }

    public enum Operator: String, Sendable, Hashable {
        case equal = "=="
        case unequal = "!="
        case less = "<"
        case atMost = "<="
        case greater = ">"
        case atLeast = ">="
        /// Another item than when the waiting began.
        case changes

        var isOrder: Bool { ![.equal, .unequal, .changes].contains(self) }

        func holds(_ left: Double, _ right: Double) -> Bool {
            switch self {
            case .equal: left == right
            case .unequal: left != right
            case .less: left < right
            case .atMost: left <= right
            case .greater: left > right
            case .atLeast: left >= right
            case .changes: false
            }
        }
    }

    public enum State: String, Sendable, Hashable, CaseIterable {
        case playing, paused
        /// Nothing plays, be there a queue or none.
        case stopped
        /// It is about to play.
        case loading
    }

    public enum Value: Sendable, Hashable {
        case state(State)
        case text(String)
        case boolean(Bool)
        /// Seconds, a level from 0 to 1, a count, or minutes after midnight.
        case number(Double)
        case days(Set<Int>)
    }

    public var subject: Subject
    public var comparison: Operator
    public var value: Value

    var target: String? { if case .target(let name, _) = subject { name } else { nil } }

    /// What is known without looking at any target: the time of day.
    func holds(minutes: Int, day: Int) -> Bool? {
        switch (subject, value) {
        case (.time, .number(let wanted)): comparison.holds(Double(minutes), wanted)
        case (.day, .days(let days)): days.contains(day) == (comparison == .equal)
        default: nil
        }
    }
}
