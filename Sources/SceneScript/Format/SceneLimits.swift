/// How large a scene may be: it may come over a network, and anchors can make much of little.
public enum SceneLimits {
    public static let bytes = 256 * 1024
    /// How deep maps and lists may lie in one another.
    public static let depth = 32
    /// Maps, lists and scalars, with those that anchors repeat.
    public static let nodes = 10_000
    /// How often anchors may be repeated (`*name`).
    public static let aliases = 100
    /// What is told of one document; more is counted only.
    public static let diagnostics = 100
    /// Characters of a condition.
    public static let condition = 1000
    /// Times that a `repeat` goes round, whatever its bound.
    public static let rounds = 10_000
    /// Scenes that run each other, one inside the other.
    public static let nesting = 8
    /// Steps of a run that are kept in its report.
    public static let reports = 2000
    /// The longest that a step may take or a scene may wait.
    public static let longest = 24 * 3600.0
}
