/// A feed being opened at a frame: a cursor, and the first packet, which shows whether it works.
///
/// A feed may take long to begin, and a session that ends must not wait for it: hence a value that can be cancelled.
public struct FeedOpening: Sendable {
    private let task: Task<(cursor: any AudioPacketCursor, first: AudioPacket?), any Error>

    public init(_ feed: any AudioFeed, _ format: AudioPacketFormat, from frame: Int64) {
        task = Task {
            let cursor = try await feed.packets(format, from: frame)
            return (cursor, try await cursor.next())
        }
    }

    /// The cursor and its first packet, nil at the feed's end. Cancelling the caller cancels the opening.
    ///
    /// Throws what the feed throws, or `CancellationError`.
    public func opened() async throws -> (cursor: any AudioPacketCursor, first: AudioPacket?) {
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    public func cancel() { task.cancel() }

    /// Returns when nothing of it runs any more.
    public func finished() async { _ = await task.result }
}
