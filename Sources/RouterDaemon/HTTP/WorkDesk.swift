import NIOCore
import RouteBackend
import RouteModel
import RouterAPI

/// Requests that go on after they were answered (`Prefer`): it owns them, and tells how they are getting on.
actor WorkDesk {
    typealias Job = @Sendable () async -> Void

    /// Ends that are remembered.
    private static let maximumEnded = 256
    /// Bytes of one answer, and of all, that are kept for who asks later.
    private static let maximumResult = 1 << 20
    private static let maximumResults = 16 << 20

    private let jobs: AsyncStream<Job>
    private let continuation: AsyncStream<Job>.Continuation
    private let limit: Int
    private var running = 0
    private var work: [String: PendingWork] = [:]
    /// Oldest first.
    private var ended: [String] = []
    private var results: [String: ByteBuffer] = [:]
    private var resultBytes = 0

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

    /// How it goes on, as JSON; nil for what is not known. The result stands in it as it was encoded: its numbers have
    /// more digits than a general document keeps.
    func report(_ id: String) throws -> APIAnswer? {
        guard let work = work[id] else { return nil }
        var answer = try APIAnswer.json(work)
        guard let result = results[id] else { return answer }
        answer.body =
            answer.body.getSlice(at: answer.body.readerIndex, length: answer.body.readableBytes - 1) ?? .init()
        answer.body.writeString(",\"result\":")
        answer.body.writeImmutableBuffer(result)
        answer.body.writeString("}")
        return answer
    }

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
        let bytes = answer.body.readableBytes
        if answer.status < 400, bytes > 0, bytes <= Self.maximumResult {
            results[id] = answer.body
            resultBytes += bytes
        }
        ended.append(id)
        while ended.count > Self.maximumEnded || resultBytes > Self.maximumResults, let oldest = ended.first {
            ended.removeFirst()
            work[oldest] = nil
            resultBytes -= results.removeValue(forKey: oldest)?.readableBytes ?? 0
        }
    }
}
