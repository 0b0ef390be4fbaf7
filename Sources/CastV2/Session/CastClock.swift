/// The monotonic clock that sessions live by, handed in by whoever makes them.
public struct CastClock: Sendable {
    /// Nanoseconds.
    public var now: @Sendable () -> Int64
    /// Returns at or after the instant; throws when the task is cancelled.
    public var sleepUntil: @Sendable (Int64) async throws -> Void

    public init(
        now: @escaping @Sendable () -> Int64, sleepUntil: @escaping @Sendable (Int64) async throws -> Void
    ) {
        self.now = now
        self.sleepUntil = sleepUntil
    }
}
