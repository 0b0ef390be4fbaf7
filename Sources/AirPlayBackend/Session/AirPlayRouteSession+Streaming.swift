import AirPlay
import Pacing
import RouteBackend
import RouteModel

/// Starting, feeding and stopping the flow of packets.
extension AirPlayRouteSession {
    /// Starts packets from the one that holds `fromFrame`, heard as `timeline` says. Returns when the first are queued.
    func start(_ timeline: Timeline, fromFrame: Int64) async throws {
        guard let feed = loaded?.feed else { return }
        let format = plan.format
        // `end` cancels this: it does not wait for a feed that takes long to begin.
        let opening = FeedOpening(feed, format, from: fromFrame)
        self.opening = opening
        let cursor: any AudioPacketCursor
        let first: AudioPacket?
        do {
            (cursor, first) = try await opening.opened()
            self.opening = nil
        } catch {
            self.opening = nil
            try checkUsable()
            throw mediaError(error)
        }
        try checkUsable()
        guard let first else {
            state.update { update in
                update.media = .stopped
                update.stopReason = .finished
            }
            return
        }
        let instant = timeline.instant(ofFrame: first.frame, sampleRate: format.sampleRate)
        // In step with what the receiver was told last, but never back, and with room for the silence before.
        let flushed = lastClock != nil
        let leadIn = lane.leadIn(flushed: flushed)
        let earliest = lane.nextTimestamp + leadIn
        let timestamp = max(earliest, lastClock?.timestamp(at: instant) ?? earliest)
        lane.begin(at: timestamp - leadIn)
        let clock = RAOPStreamClock(instant: instant, timestamp: timestamp, sampleRate: format.sampleRate)
        let next = lane.next
        let latency = try await withWire { wire async throws(AirPlayWireError) in try await wire.prepare(next) }
        started = true
        let run = AirPlayRun(clock: clock, firstFrame: first.frame, began: hostClock.now())
        self.run = run
        lastClock = clock
        lane.start(
            run, leadIn: (timestamp - leadIn)..<timestamp, flushed: flushed,
            audioLatency: min(latency, plan.leadFrames - format.framesPerPacket), now: hostClock.now())
        _ = lane.append(first, run, now: hostClock.now())
        lane.wake()
        state.update { update in
            update.media = .playing
            update.stopReason = nil
            update.error = nil
        }
        pump = Task { await self.feedLane(from: cursor, run) }
        try await withWire { wire async throws(AirPlayWireError) in try await wire.begin(clock) }
        try await sendPendingVolume()
        try await sendNowPlaying()
    }

    /// Stops packets and makes the receiver forget those it has.
    func halt() async throws {
        await stopPump()
        guard let run else { return }
        (pausedRun, haltedAt) = (run, hostClock.now())
        self.run = nil
        lane.dropPending()
        let next = lane.next
        try await withWire { wire async throws(AirPlayWireError) in try await wire.flush(next) }
    }

    func stopPump() async {
        pump?.cancel()
        await pump?.value
        pump = nil
    }

    /// Keeps the lane filled until the feed ends, and stays until the last frame has been heard.
    private func feedLane(from cursor: any AudioPacketCursor, _ run: AirPlayRun) async {
        do {
            while !Task.isCancelled {
                let ahead = lane.deadline(of: lane.nextTimestamp, run) - hostClock.now()
                if ahead > lane.ahead { try await hostClock.sleep(nanoseconds: ahead - lane.refill) }
                guard let packet = try await cursor.next() else { break }
                try Task.checkCancellation()
                while !lane.append(packet, run, now: hostClock.now()) {
                    try await hostClock.sleep(nanoseconds: 100_000_000)
                }
            }
            try await leadOut(run)
            finish(nil)
        } catch is CancellationError {
            return
        } catch {
            guard !Task.isCancelled else { return }
            finish(mediaError(error))
        }
    }

    /// Silence after the last frame until that one has been heard. Receivers look for what they miss when something new
    /// comes: shairport-sync 3.3.8 never asked for the last packets again, and was silent in their place.
    private func leadOut(_ run: AirPlayRun) async throws {
        let end = run.clock.instant(of: lane.nextTimestamp)
        if let silence = lane.silentPayload {
            while lane.deadline(of: lane.nextTimestamp, run) < end {
                let ahead = lane.deadline(of: lane.nextTimestamp, run) - hostClock.now()
                if ahead > lane.ahead { try await hostClock.sleep(nanoseconds: ahead - lane.refill) }
                try Task.checkCancellation()
                let packet = AudioPacket(
                    frame: run.frame(ofTimestamp: lane.nextTimestamp), frameCount: plan.format.framesPerPacket,
                    payload: silence)
                while !lane.append(packet, run, now: hostClock.now()) {
                    try await hostClock.sleep(nanoseconds: 100_000_000)
                }
            }
        }
        try await hostClock.sleep(until: end)
    }

    private func finish(_ error: RouterError?) {
        guard !Task.isCancelled else { return }
        run = nil
        lane.dropPending()
        state.update { update in
            update.media = .stopped
            update.stopReason = error == nil ? .finished : .error
            update.error = error
        }
    }

    private func mediaError(_ error: any Error) -> RouterError {
        if let error = error as? RouterError { return error }
        if error is CancellationError { return RouterError(.cancelled, "loading was cancelled", scope: .session) }
        return RouterError(
            .itemFailed, "the audio could not be prepared", hint: "Try another file", scope: .item,
            causes: ["\(error)"])
    }
}
