/// Under which conditions a command is still wanted (`model.md` section 5).
public struct CommandTerms: Codable, Sendable, Hashable {
    /// What `within` may be, in seconds.
    public static let seconds = 0.1...600.0

    /// The item that it is meant for: where another is the current one by then, it is superseded and nothing is done.
    public var expected: ItemID?
    /// How long after it was given its effect is waited for, 0.1 to 600 s. By then it has ended: `unverified` where it was
    /// begun and its effect is not seen yet, and it goes on; `timedOut` where it was not begun, and it never will be.
    public var within: MediaTime?

    public init(expected: ItemID? = nil, within: MediaTime? = nil) {
        self.expected = expected
        self.within = within
    }

    /// Throws `configuration` for a time that is out of range.
    public func check() throws {
        guard let within, !Self.seconds.contains(within.seconds) else { return }
        throw RouterError(
            .configuration, "a command cannot be waited for \(within.seconds) s",
            hint: "Choose from \(Self.seconds.lowerBound) to \(Int(Self.seconds.upperBound)) s", scope: .command)
    }
}
