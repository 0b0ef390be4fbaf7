/// Play, pause, seek, rate and volume, live windows too (`Protocols/cast` section 7).
extension CastMediaMachine {
    /// A live stream in which one can go back: its edge moves with the clock.
    struct LiveWindow: Sendable, Hashable {
        /// Seconds that can be gone back.
        var seconds: Double
        /// When the edge was `seconds` into the media.
        var since: Int64
        /// Where the stream ends.
        var end: Double

        func edge(at now: Int64) -> Double { min(end, seconds + Double(max(0, now - since)) / 1e9) }
        func start(at now: Int64) -> Double { max(0, edge(at: now) - seconds) }
        func isDone(at now: Int64) -> Bool { edge(at: now) >= end }
    }

    mutating func setPlaying(_ playing: Bool, _ asker: CastAsker, _ now: Int64) {
        changePlaying(playing, now)
        replyAndPush(asker, at: now)
    }

    /// Somebody presses play or pause on the device's own remote control.
    mutating func remoteControl(play: Bool, at now: Int64) {
        guard isActive else { return }
        changePlaying(play, now)
        pushStatus(at: now)
    }

    private mutating func changePlaying(_ playing: Bool, _ now: Int64) {
        note(playing ? "play" : "pause", ["position": .number(position(at: now))])
        wantsPlay = playing
        if playing, phase == .paused {
            start(at: now)
        } else if !playing, phase == .playing {
            stopClock(at: now)
            phase = .paused
        }
    }

    mutating func seek(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let absolute = request["currentTime"]?.double
        let relative = request["relativeTime"]?.double.map { position(at: now) + $0 }
        guard let target = absolute ?? relative, target.isFinite else { return refuse(asker, "INVALID_PARAMS") }
        guard adBreak == nil, let duration, phase != .loading else { return invalidState(asker) }
        let from = position(at: now)
        note("seek", ["from": .number(from), "to": .number(target)])
        switch request["resumeState"]?.string {
        case "PLAYBACK_START": wantsPlay = true
        case "PLAYBACK_PAUSE": wantsPlay = false
        default: break
        }
        var place = min(duration, max(0, target))
        if let live { place = min(live.edge(at: now), max(live.start(at: now), place)) }
        if place > from, startBreak(between: from, and: place, at: now) { return reply(asker, at: now) }
        restart(from: place, at: now)
        replyAndPush(asker, at: now)
    }

    mutating func setRate(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let absolute = request["playbackRate"]?.double
        let relative = request["relativePlaybackRate"]?.double.map { rate * $0 }
        guard let target = absolute ?? relative, (0.5...2).contains(target) else {
            return refuse(asker, "INVALID_PARAMS")
        }
        guard adBreak == nil, duration != nil, live == nil, phase != .loading else { return invalidState(asker) }
        note("rate", ["rate": .number(target)])
        let position = position(at: now)
        stopClock(at: now)
        rate = target
        restart(from: position, at: now)
        replyAndPush(asker, at: now)
    }

    mutating func restart(from position: Double, at now: Int64) {
        stopClock(at: now)
        dropPreload()
        basePosition = position
        cuesShownUntil = position
        phase = .buffering
        generation = nextGeneration()
        let end = stretchEnd(of: currentIndex, from: position)
        actions.append(.player(.seek(position: position, rate: rate, end: end, generation: generation)))
    }

    // MARK: Live

    /// A file that is said to be live becomes a stream whose first seconds have already been sent.
    mutating func openLiveWindow(at now: Int64) {
        guard let window = configuration.liveWindow, currentMedia?["streamType"]?.string == "LIVE", let duration
        else { return }
        let live = LiveWindow(seconds: window, since: now, end: duration)
        self.live = live
        // Who names no place is put at the edge.
        let asked = loadRequest["currentTime"]?.double
        basePosition = min(live.edge(at: now), max(live.start(at: now), asked ?? live.edge(at: now)))
    }

    // MARK: Volume

    mutating func setVolume(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let volume = request["volume"]
        guard volume?["level"]?.double != nil || volume?["muted"]?.bool != nil else {
            return refuse(asker, "INVALID_PARAMS")
        }
        if let level = volume?["level"]?.double { streamLevel = min(1, max(0, level)) }
        if let muted = volume?["muted"]?.bool { streamMuted = muted }
        note("streamVolume", ["level": .number(streamLevel), "muted": .bool(streamMuted)])
        tellGain()
        replyAndPush(asker, at: now)
    }

    /// Device volume, as amplitude; what is heard is device times stream.
    mutating func setDeviceGain(_ gain: Double) {
        deviceGain = gain
        tellGain()
    }

    private mutating func tellGain() {
        actions.append(.player(.gain(streamMuted ? 0 : deviceGain * streamLevel)))
    }
}
