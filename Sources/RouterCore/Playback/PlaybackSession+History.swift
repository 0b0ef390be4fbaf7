import RouteBackend
import RouteModel

/// The history of what was played (`model.md` section 3), and how it comes into the store.
extension PlaybackSession {
    /// Plays that are under way or not written yet.
    struct OpenPlays {
        /// By the log's numbers. Without an id until they are in the store.
        var records: [Int: PlayRecord] = [:]
        var unwritten: [Int] = []
        var lane = CommandLane()
    }

    /// Follows what plays. What there is to write is written soon, and at the session's end before it returns from that.
    func keepHistory() {
        let item = anchor?.item ?? queue.current
        let steps = playLog.follow(
            item, anchor,
            plays: started && mediaState == .playing && item == queue.current && !queue.isInterrupted && !isRestarting,
            stopped: ended ? stopReason ?? .cancelled : nil, now: clock.now())
        for case .end(let play, let reason) in steps {
            lastEnd = ItemEnd(item: play.item, play: play.number, reason: reason)
        }
        guard environment.keepsHistory else { return }
        for step in steps {
            switch step {
            case .begin(let play): note(play)
            case .end(let play, let reason): note(play, ended: reason)
            }
        }
        if !steps.isEmpty, !ended { jobs.add { [self] in await writeHistory() } }
    }

    private func note(_ play: PlayLog.Play, ended reason: StopReason? = nil) {
        let known = openPlays.records[play.number]
        // By its end more may be known of the item.
        guard let item = queue.item(play.item) ?? known?.item else { return }
        var record =
            known ?? PlayRecord(id: 0, session: id, item: item, rooms: rooms, started: environment.wallSeconds())
        record.item = item
        record.furthest = play.furthest
        if let reason {
            // The clock on the wall may have been set back meanwhile.
            record.stopped = max(record.started, environment.wallSeconds())
            record.reason = reason
        }
        openPlays.records[play.number] = record
        openPlays.unwritten.append(play.number)
    }

    /// As they are called, each once.
    private var rooms: [String] {
        members.filter(\.takesPart).map(\.room).reduce(into: []) { names, name in
            if !names.contains(name) { names.append(name) }
        }
    }

    /// Notes how far what plays has come, for who looks at it, or finds it after a crash.
    func notePlace() async {
        playLog.advance(to: clock.now())
        guard environment.keepsHistory, let play = playLog.play, let record = openPlays.records[play.number],
            play.furthest != record.furthest
        else { return }
        note(play)
        await writeHistory()
    }

    /// Writes what is not written yet. What cannot be written is lost to the history, and told once.
    func writeHistory() async {
        if !openPlays.lane.enter() { await withCheckedContinuation { openPlays.lane.enqueue($0) } }
        defer { openPlays.lane.leave() }
        while let number = openPlays.unwritten.first {
            openPlays.unwritten.removeAll { $0 == number }
            guard let record = openPlays.records[number] else { continue }
            if record.stopped != nil { openPlays.records[number] = nil }
            do {
                if record.id == 0 {
                    let given = try await environment.store.addPlay(record)
                    openPlays.records[number]?.id = given
                } else {
                    try await environment.store.updatePlay(record)
                }
            } catch {
                await tellStorageFailure(RouterError(wrapping: error))
            }
        }
    }

    /// A play that a process which is no more had begun is the same play, where its item is the current one still.
    func resumeHistory() async {
        guard environment.keepsHistory, let last = try? await environment.store.openPlay(session: id),
            last.item.id == queue.current
        else { return }
        let play = playLog.resume(last.item.id, furthest: last.furthest)
        openPlays.records[play.number] = last
    }
}
