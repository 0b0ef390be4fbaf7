/// One text, audio or video track of what plays, as the receiver lists it.
public struct MediaTrack: Codable, Sendable, Hashable, Identifiable {
    public enum Kind: String, Codable, Sendable, Hashable, CaseIterable { case text, audio, video }

    /// The receiver's number for it, unique within the item.
    public var id: Int
    public var kind: Kind
    /// Of a text track: subtitles, captions, descriptions, chapters or metadata.
    public var subtype: String?
    /// BCP 47, where it is known.
    public var language: String?
    public var name: String?

    public init(id: Int, kind: Kind, subtype: String? = nil, language: String? = nil, name: String? = nil) {
        self.id = id
        self.kind = kind
        self.subtype = subtype
        self.language = language
        self.name = name
    }
}

/// The ad that plays in place of the item just now.
public struct AdBreakState: Codable, Sendable, Hashable {
    /// The break's own name, as the item's description has it.
    public var breakID: String
    public var clipID: String?
    public var clipTitle: String?
    /// How much of the clip is left, as of the report; nil where its length is not known.
    public var remaining: MediaTime?
    /// How long until it may be skipped, as of the report: zero for now, nil for never.
    public var skippableIn: MediaTime?
    /// When this was reported, on the router's monotonic clock in nanoseconds: a countdown goes on from there.
    public var instant: Int64

    public init(
        breakID: String, clipID: String? = nil, clipTitle: String? = nil, remaining: MediaTime? = nil,
        skippableIn: MediaTime? = nil, instant: Int64
    ) {
        self.breakID = breakID
        self.clipID = clipID
        self.clipTitle = clipTitle
        self.remaining = remaining
        self.skippableIn = skippableIn
        self.instant = instant
    }

    /// What is left of the clip at a later instant of the same clock, never below zero.
    public func remaining(at now: Int64) -> MediaTime? { remaining.map { left($0, at: now) } }

    /// How long until it may be skipped; zero for now, nil for never.
    public func skippableIn(at now: Int64) -> MediaTime? { skippableIn.map { left($0, at: now) } }

    private func left(_ time: MediaTime, at now: Int64) -> MediaTime {
        max(.zero, time - MediaTime(nanoseconds: max(0, now - instant)))
    }
}

/// The part of a live stream that can be searched.
public struct LiveWindow: Codable, Sendable, Hashable {
    public var start: MediaTime
    public var end: MediaTime
    /// The start moves along with the end: what is older is gone.
    public var moving: Bool
    /// The broadcast is over: the end stands still.
    public var done: Bool
    /// When this was reported, on the router's monotonic clock in nanoseconds.
    public var instant: Int64

    public init(start: MediaTime, end: MediaTime, moving: Bool, done: Bool, instant: Int64) {
        self.start = start
        self.end = end
        self.moving = moving
        self.done = done
        self.instant = instant
    }

    /// The window at a later instant of the same clock.
    public func range(at now: Int64) -> ClosedRange<MediaTime> {
        let passed = done ? .zero : MediaTime(nanoseconds: max(0, now - instant))
        let first = moving ? start + passed : start
        return first...max(first, end + passed)
    }
}

/// The picture as the receiver shows it.
public struct VideoInfo: Codable, Sendable, Hashable {
    public enum DynamicRange: String, Codable, Sendable, Hashable, CaseIterable { case sdr, hdr10, hdr, dolbyVision }

    public var width: Int
    public var height: Int
    public var dynamicRange: DynamicRange?

    public init(width: Int, height: Int, dynamicRange: DynamicRange? = nil) {
        self.width = width
        self.height = height
        self.dynamicRange = dynamicRange
    }
}

/// What follows the last item.
public enum RepeatMode: String, Codable, Sendable, Hashable, CaseIterable {
    case off
    /// The same item again.
    case one
    /// The first item again.
    case all
}

/// How fast an item is played: 1 is its own speed.
public enum PlaybackRate {
    /// What receivers take (`Protocols/cast`): half to double.
    public static let range: ClosedRange<Double> = 0.5...2
}
