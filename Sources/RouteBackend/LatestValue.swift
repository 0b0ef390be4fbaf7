import Synchronization

/// Broadcasts a value to any number of readers; a slow reader misses steps, never the latest.
///
/// One of the two types of the product that hold a lock: it is written from callbacks and event loops that cannot wait.
public final class LatestValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var finished = false
        var readers: [Int: AsyncStream<Value>.Continuation] = [:]
        var nextReader = 0
    }

    private let state: Mutex<State>

    public init(_ value: Value) { state = Mutex(State(value: value)) }

    public var value: Value { state.withLock { $0.value } }

    /// Sets the value for all readers. Does nothing once finished.
    public func set(_ value: Value) { update { $0 = value } }

    /// Changes the value in one step.
    public func update(_ change: (inout Value) -> Void) {
        state.withLock {
            guard !$0.finished else { return }
            change(&$0.value)
            for reader in $0.readers.values { reader.yield($0.value) }
        }
    }

    /// Ends every reader's stream, after the value it has not read yet.
    public func finish() {
        let readers = state.withLock { state in
            state.finished = true
            let readers = state.readers.values
            state.readers = [:]
            return Array(readers)
        }
        for reader in readers { reader.finish() }
    }

    /// The current value first, then each newer one; finishes with the broadcast.
    public func stream() -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock {
            continuation.yield($0.value)
            if $0.finished {
                continuation.finish()
                return
            }
            let id = $0.nextReader
            $0.nextReader += 1
            $0.readers[id] = continuation
            continuation.onTermination = { [weak self] _ in self?.drop(id) }
        }
        return stream
    }

    private func drop(_ id: Int) {
        state.withLock { _ = $0.readers.removeValue(forKey: id) }
    }
}
