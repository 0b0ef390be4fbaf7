/// Does what must be done although the task that asks for it is cancelled: what scenes say under `finally`.
actor SceneAftermath {
    private typealias Job = @Sendable () async -> Void

    private let jobs: AsyncStream<Job>
    private let next: AsyncStream<Job>.Continuation
    private var isOpen = true
    private var number = 0
    /// Tells who waits for a job that it is not done any more.
    private var abandoning: [Int: @Sendable () -> Void] = [:]

    init() { (jobs, next) = AsyncStream.makeStream(of: Job.self) }

    /// Does what it is given until `ending` comes, or until it is cancelled; that cancels what is under way, and
    /// refuses what comes later.
    func serve(until ending: AsyncStream<Void>) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [jobs] in
                await withDiscardingTaskGroup { under in
                    for await job in jobs { under.addTask { await job() } }
                }
            }
            group.addTask { for await _ in ending { return } }
            await group.next()
            group.cancelAll()
        }
        isOpen = false
        for abandon in abandoning.values { abandon() }
        abandoning = [:]
    }

    /// Waits for `body`, also in a task that is cancelled; nil where it could not be begun.
    func run<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value? {
        number += 1
        let id = number
        return await withCheckedContinuation { (waiting: CheckedContinuation<Value?, Never>) in
            guard isOpen else { return waiting.resume(returning: nil) }
            abandoning[id] = { waiting.resume(returning: nil) }
            next.yield { [self] in
                let value = await body()
                if await isAwaited(id) { waiting.resume(returning: value) }
            }
        }
    }

    private func isAwaited(_ id: Int) -> Bool { abandoning.removeValue(forKey: id) != nil }
}
