import RouteBackend
import Synchronization

/// A host clock that stands still until a test turns it.
public final class ManualClock: HostClock {
    private struct Sleeper {
        var deadline: Int64
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Int64
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var nextSleeper = 0
    }

    private let state: Mutex<State>

    /// - Parameter now: nanoseconds that the clock shows at first.
    public init(now: Int64 = 1_000_000_000) { state = Mutex(State(now: now)) }

    public func now() -> Int64 { state.withLock { $0.now } }

    public func sleep(until instant: Int64) async throws {
        try Task.checkCancellation()
        let id = state.withLock { state in
            state.nextSleeper += 1
            return state.nextSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if instant <= state.now { return .success(()) }
                    state.sleepers[id] = Sleeper(deadline: instant, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelled.insert(id) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Turns the clock forward and wakes who is due, earliest first.
    public func advance(nanoseconds: Int64) {
        let due = state.withLock { state in
            state.now += nanoseconds
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    public func advance(seconds: Double) { advance(nanoseconds: Int64(seconds * 1e9)) }

    /// How many tasks sleep on this clock now.
    public var sleepers: Int { state.withLock { $0.sleepers.count } }

    /// The earliest instant that somebody waits for.
    public var nextDeadline: Int64? { state.withLock { $0.sleepers.values.map(\.deadline).min() } }

    /// Whether somebody waits for this very instant, in nanoseconds.
    public func isAwaited(_ instant: Int64) -> Bool {
        state.withLock { $0.sleepers.values.contains { $0.deadline == instant } }
    }
}
