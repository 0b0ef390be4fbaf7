/// The next item is fetched before it is due, so that it follows without a gap (`Protocols/cast` section 7).
extension CastMediaMachine {
    struct Preload: Sendable, Hashable {
        enum State: Sendable, Hashable { case loading, ready, failed }

        /// The item's id.
        var item: Int
        var generation: Int
        var state = State.loading
        var duration: Double?
        var picture: MediaProbe.Picture?

        var isReady: Bool { state == .ready }
    }

    /// Seconds before its turn at which an item is fetched if it does not say itself.
    static let preloadSeconds: Double = 20

    /// What would follow without anybody's doing; nil where that is not to be known yet.
    private var foreseen: Int? {
        guard repeatMode != "REPEAT_SINGLE", let next = following(), next != currentIndex else { return nil }
        return next <= currentIndex && repeatMode == "REPEAT_ALL_AND_SHUFFLE" ? nil : next
    }

    mutating func preloadIfDue(at now: Int64) {
        guard preload == nil, phase == .playing, adBreak == nil, let duration, let next = foreseen else { return }
        let end = min(duration, stretchEnd(of: currentIndex, from: position(at: now)) ?? .infinity)
        let lead = items[next].fields["preloadTime"]?.double ?? Self.preloadSeconds
        guard (end - position(at: now)) / rate <= lead, failure(of: items[next].media) == nil else { return }
        let started = Preload(item: items[next].id, generation: nextGeneration())
        preload = started
        note("preload", ["item": .integer(started.item)])
        let load = playerLoad(of: next, from: max(0, items[next].fields["startTime"]?.double ?? 0))
        actions.append(.player(.preload(load, generation: started.generation)))
    }

    mutating func receivePreload(_ event: PlayerEvent.Kind, at now: Int64) {
        switch event {
        case .loaded(let duration, let picture):
            preload?.duration = duration
            preload?.picture = picture
        case .buffered:
            preload?.state = .ready
            note("preloaded", ["item": .integer(preload?.item ?? 0)])
            pushStatus(at: now)
        case .failed(_, let reason):
            // It fails in earnest when it is its turn.
            note("preloadFailed", ["reason": .string(reason)])
            preload?.state = .failed
        case .fetched, .content, .starved, .ended: break
        }
    }

    mutating func dropPreload() {
        guard let preload else { return }
        actions.append(.player(.drop(generation: preload.generation)))
        self.preload = nil
    }

    mutating func dropPreloadIfStale() {
        guard let preload else { return }
        if foreseen.map({ items[$0].id != preload.item }) ?? true { dropPreload() }
    }

    /// Goes over to the preloaded item at the very instant at which the one before it ended. False if there is none.
    mutating func takePreload(_ next: Int, at end: Int64, _ now: Int64) -> Bool {
        guard let ready = preload, ready.isReady, ready.item == items[next].id else { return false }
        let fields = items[next].fields
        let start = max(0, fields["startTime"]?.double ?? 0)
        guard Self.breaks(of: fields["media"]).allSatisfy({ abs($0.position - start) > Self.breakTolerance }) else {
            return false
        }
        enter(next)
        preload = nil
        generation = ready.generation
        duration = ready.duration
        picture = ready.picture
        basePosition = start
        rate = 1
        wantsPlay = fields["autoplay"]?.isTruthy ?? true
        activeTracks = Self.trackIDs(fields["activeTrackIds"])
        actions.append(.player(.take(generation: generation)))
        note("handover", ["item": .integer(ready.item)])
        if wantsPlay { self.start(at: end) } else { phase = .paused }
        note(wantsPlay ? "playing" : "paused", ["position": .number(basePosition)])
        pushStatus(at: now, withMedia: true)
        fetchTracks()
        return true
    }
}
