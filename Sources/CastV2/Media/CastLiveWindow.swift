/// The part of a live stream that can be played at one moment (C11), in seconds of the stream's own time.
public struct CastLiveWindow: Sendable, Hashable {
    public var start: Double
    /// Where the stream is live; after its end, the end.
    public var end: Double
    public var isMoving: Bool
    public var isDone: Bool

    /// The window at `now` nanoseconds of the session's clock: the end of a stream that goes on moves with time, and
    /// the beginning too where the receiver keeps only the last so many minutes. Nil where the status tells none.
    public init?(_ status: CastMediaStatus, at now: Int64) {
        guard let range = status.liveRange else { return nil }
        let passed = range.isLiveDone ? 0 : max(0, Double(now - status.liveRangeObserved) / 1e9)
        start = range.start + (range.isMovingWindow ? passed : 0)
        end = range.end + passed
        isMoving = range.isMovingWindow
        isDone = range.isLiveDone
    }

    /// Seconds that `position` is behind what is live.
    public func behind(_ position: Double) -> Double { max(0, end - position) }

    public func nearest(to position: Double) -> Double { position.isNaN ? end : min(end, max(start, position)) }

    public func contains(_ position: Double) -> Bool { (start...end).contains(position) }
}

extension CastMediaStatus {
    public var isLive: Bool { media?.streamType == .live || liveRange != nil }

    /// A live stream without a window can be played and stopped, and nothing else, whatever the receiver offers: it
    /// would go on at some other place.
    public var canPause: Bool {
        (!isLive || liveRange != nil) && supportedMediaCommands?.contains(.pause) ?? true
    }
    public var canSeek: Bool { (!isLive || liveRange != nil) && supportedMediaCommands?.contains(.seek) ?? true }
}
