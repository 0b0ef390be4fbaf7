extension Collection<Int64> {
    /// Whether most of these deviations, in nanoseconds, are within the limit and none is beyond twenty times it.
    ///
    /// The limit is what the sender must keep. A receiver that is simulated on a machine that stands still for a moment
    /// is late for one mark, or for those before its next look at the clock, and no sender can help that.
    public func areMostlyWithin(_ nanoseconds: Int64) -> Bool {
        let away = map { $0.magnitude }.sorted()
        guard let most = away.last else { return false }
        return away[away.count / 2] <= nanoseconds.magnitude && most <= 20 * nanoseconds.magnitude
    }
}
