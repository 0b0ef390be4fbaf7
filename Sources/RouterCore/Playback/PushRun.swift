import RouteBackend
import RouteModel

/// One continuous feed of packets and the timeline it is heard by: from a start, seek or skip to the next.
struct PushRun: Sendable {
    /// An item's first sample in the feed.
    struct Mark: Sendable, Equatable {
        var item: ItemID
        var frame: Int64
        /// Where in the item that sample is.
        var offset: MediaTime
    }

    /// Tells this run's news from an older one's.
    var number: Int
    var feed: any AudioFeed
    /// Nil while paused or not started.
    var timeline: Timeline?
    /// The frame to go on from when there is no timeline.
    var pausedFrame: Int64 = 0
    private(set) var marks: [Mark] = []

    init(number: Int, feed: any AudioFeed) {
        self.number = number
        self.feed = feed
    }

    mutating func add(_ mark: Mark) { marks.append(mark) }

    /// The frame that is heard at an instant; the one to go on from while paused.
    func frame(at instant: Int64) -> Int64 {
        guard let timeline else { return pausedFrame }
        // Before its anchor nothing of this timeline is heard: the place is still the one it begins at.
        let heard = max(instant, timeline.hostNanoseconds)
        return max(0, timeline.frame(at: heard, sampleRate: feed.sampleRate))
    }

    /// The item that a frame belongs to, and the position in it.
    func place(of frame: Int64) -> (item: ItemID, time: MediaTime)? {
        guard let mark = marks.last(where: { $0.frame <= frame }) ?? marks.first else { return nil }
        return (mark.item, mark.offset + MediaTime(frames: max(0, frame - mark.frame), sampleRate: feed.sampleRate))
    }

    func mark(of item: ItemID) -> Mark? { marks.last { $0.item == item } }
}
