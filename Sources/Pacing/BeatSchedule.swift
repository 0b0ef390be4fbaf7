/// When the packets that go beside the audio go (RAOP's sync): some close together at the start, for the first may be
/// lost and the receiver is silent until it has one, and then with a steady period. Pure.
public struct BeatSchedule: Sendable {
    /// One occasion.
    public struct Beat: Sendable, Hashable {
        /// 0, 1, 2… from the start.
        public var index: Int
        /// Whether it is one of those at the start.
        public var opening: Bool
    }

    private let start: Int64
    private let opening: [Int64]
    private let period: Int64
    private var index = 0

    /// - Parameters:
    ///   - opening: nanoseconds after `start`, ascending.
    ///   - period: nanoseconds between those that follow.
    public init(start: Int64, opening: [Int64], period: Int64) {
        precondition(period > 0)
        self.start = start
        self.opening = opening
        self.period = period
    }

    /// The instant of the next one.
    public var next: Int64 {
        if index < opening.count { return start + opening[index] }
        return start + (opening.last ?? -period) + Int64(index - opening.count + 1) * period
    }

    /// The beat that is due; those that were missed beside it are left out.
    public mutating func take(at now: Int64) -> Beat? {
        guard next <= now else { return nil }
        var beat = Beat(index: index, opening: index < opening.count)
        index += 1
        while next <= now {
            // A start that was missed is still a start.
            beat = Beat(index: index, opening: beat.opening || index < opening.count)
            index += 1
        }
        return beat
    }
}
