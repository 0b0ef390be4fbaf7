import Foundation

/// Everything that happened at a simulated Cast receiver so far.
public struct SimulatedCastRecord: Sendable {
    /// A LOAD or QUEUE_LOAD that was accepted.
    public struct Load: Sendable, Hashable {
        public var sender: String
        public var url: String
        /// The request as it came.
        public var request: JSONValue
    }

    /// A stretch of time in which sound was heard.
    public struct Interval: Sendable, Hashable {
        /// Host monotonic nanoseconds.
        public var hostStart: Int64
        public var hostEnd: Int64
        /// Seconds into the media.
        public var from: Double
        public var to: Double
        public var rate: Double
    }

    /// A body that was fetched to its end.
    public struct Content: Sendable, Hashable {
        public var bytes: Int
        /// Hexadecimal.
        public var sha256: String
    }

    /// The latest events, oldest first; at most `maximumEvents`.
    public internal(set) var events: [SimulatedReceiverEvent] = []
    public internal(set) var fetches: [MediaFetch] = []
    /// Device volume now, 0 to 1.
    public internal(set) var level: Double = 1
    public internal(set) var muted = false
    /// Seconds into the media now; 0 without media.
    public internal(set) var position: Double = 0
    /// PLAYING, PAUSED, BUFFERING, LOADING, IDLE; nil without a media app.
    public internal(set) var playerState: String?
    /// What the screen says of the item that is loaded.
    public internal(set) var title: String?
    /// 44.1 kHz frames that were heard.
    public internal(set) var heardFrames = 0
    /// Where what was heard is recorded, 16-bit 44.1 kHz stereo.
    public internal(set) var recording: URL?
    public internal(set) var journal: URL?

    public static let maximumEvents = 2_000
    /// The latest fetches that are kept.
    public static let maximumFetches = 500

    /// Words of all events, in order.
    public var words: [String] { events.map(\.word) }

    public func events(_ word: String) -> [SimulatedReceiverEvent] { events.filter { $0.word == word } }

    public var loads: [Load] {
        events("load").map {
            Load(sender: $0["sender"]?.string ?? "", url: $0["url"]?.string ?? "", request: $0["request"] ?? .null)
        }
    }

    public var contents: [Content] {
        events("content").map { Content(bytes: $0["bytes"]?.int ?? 0, sha256: $0["sha256"]?.string ?? "") }
    }

    public var intervals: [Interval] {
        events("played").map {
            Interval(
                hostStart: Int64($0["hostStart"]?.int ?? 0), hostEnd: Int64($0["hostEnd"]?.int ?? 0),
                from: $0["from"]?.double ?? 0, to: $0["to"]?.double ?? 0, rate: $0["rate"]?.double ?? 1)
        }
    }

    /// Targets of the seeks, in seconds.
    public var seeks: [Double] { events("seek").compactMap { $0["to"]?.double } }

    /// Positions at the pauses, in seconds.
    public var pauses: [Double] { events("pause").compactMap { $0["position"]?.double } }
}
