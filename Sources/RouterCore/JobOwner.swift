/// Runs jobs as children of one task group, for as long as `run` runs: the one place where the engine starts tasks.
///
/// A job added after `finish`, or after `run` was cancelled, is dropped, and `add` says so. When `run` is cancelled, or `finish` is called, every job is cancelled and
/// awaited.
struct JobOwner: Sendable {
    typealias Job = @Sendable () async -> Void

    private let jobs: AsyncStream<Job>
    private let continuation: AsyncStream<Job>.Continuation

    init() { (jobs, continuation) = AsyncStream.makeStream(of: Job.self) }

    /// - Returns: whether it will run. Nobody may wait for what will not.
    @discardableResult
    func add(_ job: @escaping Job) -> Bool {
        if case .enqueued = continuation.yield(job) { true } else { false }
    }

    func finish() { continuation.finish() }

    func run() async {
        await withDiscardingTaskGroup { group in
            for await job in jobs { group.addTask { await job() } }
            group.cancelAll()
        }
    }
}

/// Lets one caller in at a time, in the order they came. Part of an actor's state, not to be shared.
struct CommandLane {
    private var busy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// True when the caller may go on at once; else it must wait with `enqueue`.
    mutating func enter() -> Bool {
        if busy { return false }
        busy = true
        return true
    }

    mutating func enqueue(_ continuation: CheckedContinuation<Void, Never>) { waiting.append(continuation) }

    mutating func leave() {
        if waiting.isEmpty {
            busy = false
        } else {
            waiting.removeFirst().resume()
        }
    }
}
