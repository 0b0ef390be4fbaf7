/// Lets so many through at a time, in the order in which they came.
actor Gate {
    private var free: Int
    private var waiting: [AsyncStream<Void>.Continuation] = []

    init(places: Int) { free = places }

    func pass<Value: Sendable>(_ work: @Sendable () async throws -> Value) async throws -> Value {
        while free == 0 {
            let (signal, continuation) = AsyncStream.makeStream(of: Void.self)
            waiting.append(continuation)
            for await _ in signal {}
            try Task.checkCancellation()
        }
        free -= 1
        defer {
            free += 1
            // All look again: who was cancelled must not swallow the place.
            for continuation in waiting { continuation.finish() }
            waiting.removeAll()
        }
        return try await work()
    }
}
