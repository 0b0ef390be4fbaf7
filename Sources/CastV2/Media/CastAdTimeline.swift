/// The ad breaks of one item on its timeline (C15; `Protocols/cast` section 7): which comes next, how long the one that
/// plays still takes, and whether it may be skipped. Pure; devices tell where a clip is only now and then, and in
/// between we count.
public struct CastAdTimeline: Sendable, Hashable {
    /// A clip that plays now.
    public struct Clip: Sendable, Hashable {
        public var breakID: String?
        public var clipID: String?
        public var title: String?
        /// Of the clips of its break, from 1.
        public var number: Int?
        public var count: Int?
        /// Seconds into the clip, as counted.
        public var time: Double
        /// Seconds; nil while unknown.
        public var duration: Double?
        /// Seconds to the end of the whole break; nil while unknown.
        public var breakRemaining: Double?
        /// Seconds until it may be skipped, 0 from then on; nil: never.
        public var skippableIn: Double?

        /// Seconds to the end of the clip; nil while unknown.
        public var remaining: Double? { duration.map { max(0, $0 - time) } }
    }

    /// Why a clip cannot be skipped.
    public enum SkipRefusal: Error, Sendable, Hashable {
        case noBreakPlays
        case neverSkippable
        /// So many seconds too early.
        case tooEarly(seconds: Double)
    }

    private let status: CastMediaStatus

    public init(_ status: CastMediaStatus) { self.status = status }

    /// The breaks in the order they come, those after the end last.
    public var breaks: [CastMediaBreak] {
        (status.media?.breaks ?? []).sorted { Self.place($0) < Self.place($1) }
    }

    /// The clip that plays at `now` nanoseconds of the session's clock.
    public func clip(at now: Int64) -> Clip? {
        guard let told = status.breakStatus else { return nil }
        let passed = Self.passed(status, since: status.breakObserved, now: now)
        let place = status.media?.breaks.first { $0.id == told.breakID }
        let clips = status.media?.breakClips ?? []
        let about = clips.first { $0.id == told.clipID }
        var time = (told.clipTime ?? 0) + passed
        if let duration = about?.duration { time = min(time, duration) }
        let whenSkippable = (told.whenSkippable ?? about?.whenSkippable).flatMap { $0 >= 0 ? $0 : nil }
        let index = told.clipID.flatMap { id in place?.clipIDs.firstIndex(of: id) }
        let following = index.map {
            place?.clipIDs.dropFirst($0 + 1).map { id in clips.first { $0.id == id }?.duration }
        }
        var remaining = about?.duration.map { max(0, $0 - time) }
        for duration in (following ?? nil) ?? [] {
            guard let left = remaining, let duration else {
                remaining = nil
                break
            }
            remaining = left + duration
        }
        return Clip(
            breakID: told.breakID, clipID: told.clipID, title: about?.title, number: index.map { $0 + 1 },
            count: place?.clipIDs.count, time: time, duration: about?.duration, breakRemaining: remaining,
            skippableIn: whenSkippable.map { max(0, $0 - time) })
    }

    /// Throws `SkipRefusal` unless the clip that plays may be skipped: when, and only when, it has played for
    /// `whenSkippable` seconds.
    public func checkSkip(at now: Int64) throws(SkipRefusal) {
        guard let clip = clip(at: now) else { throw .noBreakPlays }
        guard let wait = clip.skippableIn else { throw .neverSkippable }
        guard wait == 0 else { throw .tooEarly(seconds: wait) }
    }

    /// The next break that is not watched yet, and the seconds until it begins at the present rate; nil for none, and
    /// nil seconds for one after an end that is not known.
    public func next(at now: Int64) -> (place: CastMediaBreak, seconds: Double?)? {
        let position = status.position(at: now)
        guard let next = breaks.first(where: { !$0.isWatched && Self.place($0) >= position && $0.id != playing }) else {
            return nil
        }
        let begin = next.position < 0 ? status.media?.duration : next.position
        return (next, begin.map { max(0, ($0 - position) / max(0.01, status.playbackRate)) })
    }

    /// The unwatched breaks that a seek forward passes over. The device plays the last of them first.
    public func crossed(from start: Double, to end: Double) -> [CastMediaBreak] {
        guard end > start else { return [] }
        return breaks.filter { !$0.isWatched && !$0.isEmbedded && $0.position > start && $0.position <= end }
    }

    private var playing: String? { status.breakStatus?.breakID }

    private static func place(_ place: CastMediaBreak) -> Double { place.position < 0 ? .infinity : place.position }

    /// Seconds that a clip has gone on by itself.
    static func passed(_ status: CastMediaStatus, since observed: Int64, now: Int64) -> Double {
        status.playerState == .playing && now > observed ? Double(now - observed) / 1e9 : 0
    }
}
