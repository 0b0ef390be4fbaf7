import Synchronization

/// Broadcasts a value to any number of readers; a slow reader misses steps, never the latest.
///
/// One of the two types of the product that hold a lock: it is written from callbacks and event loops that cannot wait.
public final class LatestValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var finished = false
        var readers: [Reader] = []
    }

    private struct Reader {
        var continuation: AsyncStream<Value>.Continuation
        var isOver: Flag
    }

    /// Set by a reader's end without our lock: who cancels a reader holds that task's lock, which waking it up needs too,
    /// and that is done with ours held.
    private final class Flag: Sendable {
        let isSet = Atomic(false)
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
            $0.readers.removeAll { $0.isOver.isSet.load(ordering: .relaxed) }
            for reader in $0.readers { reader.continuation.yield($0.value) }
        }
    }

    /// Ends every reader's stream, after the value it has not read yet.
    public func finish() {
        let readers = state.withLock { state in
            state.finished = true
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers { reader.continuation.finish() }
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
            let isOver = Flag()
            continuation.onTermination = { _ in isOver.isSet.store(true, ordering: .relaxed) }
            $0.readers.removeAll { $0.isOver.isSet.load(ordering: .relaxed) }
            $0.readers.append(Reader(continuation: continuation, isOver: isOver))
        }
        return stream
    }
}
