/// Waits until a condition holds, looking again whenever other tasks have had a turn.
///
/// Returns false when it did not hold within `limit` of real time. Tests wait for conditions by this and never sleep.
public func eventually(
    within limit: Duration = .seconds(20), isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let clock = ContinuousClock()
    let end = clock.now + limit
    while clock.now < end {
        if try await condition() { return true }
        await Task.yield()
        try? await Task.sleep(for: .milliseconds(2))
    }
    return try await condition()
}

/// Gives every other task that could run the chance to: for what must *not* happen, without a wait by the clock.
public func othersHaveRun() async {
    for _ in 0..<1000 { await Task.yield() }
}
