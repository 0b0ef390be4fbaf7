/// How large a scene may be: it may come over a network, and anchors can make much of little.
public enum SceneLimits {
    public static let bytes = 256 * 1024
    /// How deep maps and lists may lie in one another.
    public static let depth = 32
    /// Maps, lists and scalars, with those that anchors repeat.
    public static let nodes = 10_000
}
