/// A pipe between two tasks that holds a limited number of chunks: who writes waits until who reads has room.
///
/// Made of two streams, chunks one way and credits the other, so that a cancelled task never hangs in it. For one
/// writing task and one reading task.
struct BoundedChunks<Chunk: Sendable>: Sendable {
    private let chunks: AsyncThrowingStream<Chunk, any Error>
    private let chunkWriter: AsyncThrowingStream<Chunk, any Error>.Continuation
    private let credits: AsyncStream<Void>
    private let creditWriter: AsyncStream<Void>.Continuation

    init(limit: Int) {
        (chunks, chunkWriter) = AsyncThrowingStream.makeStream(of: Chunk.self)
        (credits, creditWriter) = AsyncStream.makeStream(of: Void.self)
        for _ in 0..<limit { creditWriter.yield() }
    }

    /// Returns when there was room. Throws `CancellationError` when the task is cancelled or the reader has gone.
    func write(_ chunk: Chunk) async throws {
        var turn = credits.makeAsyncIterator()
        guard await turn.next() != nil else { throw CancellationError() }
        chunkWriter.yield(chunk)
    }

    /// No more chunks come.
    func finish(throwing error: (any Error)? = nil) { chunkWriter.finish(throwing: error) }

    /// The next chunk, or nil at the end.
    func next() async throws -> Chunk? {
        var turn = chunks.makeAsyncIterator()
        let chunk = try await turn.next()
        creditWriter.yield()
        return chunk
    }

    /// Tells the writer that nobody reads any more.
    func abandon() { creditWriter.finish() }
}
