import RouteModel

/// What is played at the moment, as the history will have it (`model.md` section 3). Pure: the session tells how it
/// stands, and writes what comes of that.
struct PlayLog: Sendable {
    /// One play of one item, under way.
    struct Play: Sendable, Equatable {
        /// Counts up within the session.
        var number: Int
        var item: ItemID
        /// The furthest position that was heard.
        var furthest: MediaTime = .zero
    }

    enum Step: Sendable, Equatable {
        case begin(Play)
        case end(Play, StopReason)
    }

    /// How far from the end of an item it counts as heard to its end, where nothing tells more.
    static let endTolerance = MediaTime(milliseconds: 3000)

    private(set) var play: Play?
    private var count = 0
    private var anchor: PlaybackAnchor?
    /// The play's item has come to its end, or failed, and what comes now is another play, be it of the same item.
    private var outcome: StopReason?

    /// A play that an earlier process began is gone on with. Numbers of plays begin after it.
    mutating func resume(_ item: ItemID, furthest: MediaTime) -> Play {
        count += 1
        let resumed = Play(number: count, item: item, furthest: furthest)
        play = resumed
        return resumed
    }

    /// The item that plays has come to its own end, or broke off there.
    mutating func ends(_ item: ItemID, _ reason: StopReason = .finished) {
        guard play?.item == item else { return }
        outcome = reason
        // Nobody hears more of it from here on.
        if reason == .superseded { anchor = nil }
    }

    /// - Parameters:
    ///   - item: what plays, or is about to; nil: not known, or nothing.
    ///   - anchor: where it is, where that is known.
    ///   - plays: whether it is heard now.
    ///   - stopped: why the session has ended; nil while it has not.
    /// - Returns: what there is to write, in order.
    mutating func follow(
        _ item: ItemID?, _ anchor: PlaybackAnchor?, plays: Bool, stopped: StopReason? = nil, now: Int64
    ) -> [Step] {
        var steps: [Step] = []
        advance(to: now)
        let isOther = play.map { play in item.map { $0 != play.item } ?? false } ?? false
        // An item that came to its end may be played once more, and then it is somewhere else.
        let isAgain = outcome != nil && plays && anchor != self.anchor
        if let over = play, stopped != nil || isOther || isAgain {
            steps.append(.end(over, outcome ?? reason(stopped, over)))
            play = nil
            outcome = nil
            self.anchor = nil
        }
        guard stopped == nil, let item else { return steps }
        if play == nil, plays {
            count += 1
            let begun = Play(number: count, item: item)
            play = begun
            steps.append(.begin(begun))
        }
        if play?.item == item, outcome == nil { self.anchor = anchor }
        return steps
    }

    /// What was heard by now.
    mutating func advance(to now: Int64) {
        guard let anchor, var heard = play, anchor.item == heard.item, anchor.instant <= now else { return }
        heard.furthest = max(heard.furthest, anchor.position(at: now))
        play = heard
    }

    private func reason(_ stopped: StopReason?, _ play: Play) -> StopReason {
        if let end = anchor?.duration, end > .zero, play.furthest >= end - Self.endTolerance, stopped != .error {
            return .finished
        }
        return stopped ?? .replaced
    }
}
