import NIOCore
import RouteBackend
import RouteModel
import RouterAPI

/// Requests that go on after they were answered (`Prefer`): it owns them, and tells how they are getting on.
actor WorkDesk {
    typealias Job = @Sendable () async -> Void

    /// Ends that are remembered.
    private static let maximumEnded = 256

    private let jobs: AsyncStream<Job>
    private let continuation: AsyncStream<Job>.Continuation
    private let limit: Int
    private var running = 0
    private var work: [String: PendingWork] = [:]
    /// Oldest first.
    private var ended: [String] = []

    init(limit: Int) {
        (jobs, continuation) = AsyncStream.makeStream(of: Job.self)
        self.limit = limit
    }

    /// Runs until cancelled or finished; what runs then is cancelled.
    nonisolated func run() async {
        await withDiscardingTaskGroup { group in
            for await job in jobs { group.addTask { await job() } }
            group.cancelAll()
        }
    }

    nonisolated func finish() { continuation.finish() }

    var underWay: Int { running }

    func state(_ id: String) -> PendingWork? { work[id] }

    /// Begins something, and gives what it ends with; nil where too much is under way.
    func begin(
        _ operation: OperationID, _ body: @escaping @Sendable () async -> APIAnswer
    ) -> (work: PendingWork, answer: LatestValue<APIAnswer?>)? {
        guard running < limit else { return nil }
        running += 1
        let pending = PendingWork(id: CommandID.random().rawValue, operation: operation.rawValue, state: .running)
        work[pending.id] = pending
        let outcome = LatestValue<APIAnswer?>(nil)
        continuation.yield { [self] in
            let answer = await body()
            await end(pending.id, answer)
            outcome.set(answer)
            outcome.finish()
        }
        return (pending, outcome)
    }

    private func end(_ id: String, _ answer: APIAnswer) {
        running -= 1
        work[id]?.state = answer.status < 400 ? .done : .failed
        if answer.status >= 400 {
            work[id]?.error = try? APIJSON.decode(Problem.self, from: answer.body.readableBytesView).error
        }
        ended.append(id)
        while ended.count > Self.maximumEnded { work[ended.removeFirst()] = nil }
    }
}
