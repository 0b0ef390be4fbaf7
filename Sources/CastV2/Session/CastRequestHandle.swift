/// A request that was made, and the one result that it ends in (C7).
public actor CastRequestHandle {
    public nonisolated let id: CastRequestID
    private let give: @Sendable (CastRequestID) async -> Void
    private var final: CastRequestResult?
    private var waiters: [AsyncStream<CastRequestResult>.Continuation] = []

    init(id: CastRequestID, cancelling give: @escaping @Sendable (CastRequestID) async -> Void) {
        self.id = id
        self.give = give
    }

    /// The final result, for as many as ask, as often as they ask. Cancelling a task that waits here gives the request up.
    public func result() async -> CastRequestResult {
        if let final { return final }
        let (results, continuation) = AsyncStream.makeStream(of: CastRequestResult.self)
        waiters.append(continuation)
        for await result in results { return result }
        await cancel()
        return final ?? .cancelled
    }

    /// Gives the request up. Without effect once it has ended.
    public func cancel() async {
        if final == nil { await give(id) }
    }

    func finish(_ result: CastRequestResult) {
        guard final == nil else { return }
        final = result
        for waiter in waiters {
            waiter.yield(result)
            waiter.finish()
        }
        waiters = []
    }
}
