import AirPlay
import Pacing
import RouteBackend
import RouteModel

/// Starting, feeding and stopping the flow of packets.
extension AirPlayRouteSession {
    /// Nanoseconds of packets that wait in the ring beyond those due, and how little may be left before it is filled.
    private static let ahead: Int64 = 1_000_000_000
    private static let refill: Int64 = 550_000_000

    /// A first sync packet that is lost would cost seconds of silence, so it goes several times.
    private static let openingBeats: [Int64] = [0, 60_000_000, 200_000_000, 450_000_000, 800_000_000]
    private static let beatPeriod: Int64 = 1_000_000_000

    /// Packets of silence before the first of a run, and of a run after a flush: shairport-sync 3.3.8 never plays the
    /// first nine it gets.
    private static let leadInPackets: Int64 = 16
    private static let leadInPacketsAfterFlush: Int64 = 40
    /// Nanoseconds that a run after a flush waits, where there is time: shairport-sync 3.3.8 answers FLUSH before its
    /// player has acted on it, and what comes between is thrown away with the rest.
    private static let flushSettling: Int64 = 30_000_000

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
        let instant = timeline.instant(ofFrame: first.frame, sampleRate: RAOPPlan.sampleRate)
        // In step with what the receiver was told last, but never back, and with room for the silence before.
        let flushed = lastClock != nil
        let packets = flushed ? Self.leadInPacketsAfterFlush : Self.leadInPackets
        let leadIn = packets * Int64(RAOPPlan.framesPerPacket)
        let earliest = packetizer.nextTimestamp + leadIn
        let timestamp = max(earliest, lastClock?.timestamp(at: instant) ?? earliest)
        let leadInStart = timestamp - leadIn
        packetizer.begin(at: leadInStart)
        let clock = RAOPStreamClock(instant: instant, timestamp: timestamp, sampleRate: RAOPPlan.sampleRate)
        if audioLatency == nil {
            let next = packetizer.next
            let latency = try await withClient { client async throws(RAOPError) in
                try await client.record(sequence: next.sequence ?? 0, timestamp: next.timestamp ?? 0)
            }
            audioLatency = min(latency, plan.leadFrames - RAOPPlan.framesPerPacket)
        }
        let (lead, latency) = (plan.leadFrames, audioLatency ?? 0)
        datagrams.ring.beat(
            BeatSchedule(start: hostClock.now(), opening: Self.openingBeats, period: Self.beatPeriod)
        ) { beat, now in
            clock.sync(at: now, first: beat.opening, lead: lead, audioLatency: latency).encoded()
        }
        let run = Run(clock: clock, firstFrame: first.frame)
        self.run = run
        lastClock = clock
        enqueueLeadIn(leadInStart..<timestamp, run, settling: flushed ? Self.flushSettling : 0)
        enqueue(first, run)
        datagrams.wake()
        state.update { update in
            update.media = .playing
            update.stopReason = nil
            update.error = nil
        }
        pump = Task { await self.feedRing(from: cursor, run) }
        try await sendPendingVolume()
        try await sendNowPlaying()
    }

    /// Stops packets and makes the receiver forget those it has.
    func halt() async throws {
        await stopPump()
        guard run != nil else { return }
        run = nil
        packetizer.rewind(datagrams.ring.dropPending())
        let next = packetizer.next
        try await withClient { client async throws(RAOPError) in try await client.flush(next) }
    }

    func stopPump() async {
        pump?.cancel()
        await pump?.value
        pump = nil
    }

    /// Keeps the ring filled until the feed ends, and stays until the last frame has been heard.
    private func feedRing(from cursor: any AudioPacketCursor, _ run: Run) async {
        do {
            while !Task.isCancelled {
                let ahead = deadline(of: packetizer.nextTimestamp, run) - hostClock.now()
                if ahead > Self.ahead {
                    try await hostClock.sleep(nanoseconds: ahead - Self.refill)
                }
                guard let packet = try await cursor.next() else { break }
                try Task.checkCancellation()
                while !enqueue(packet, run) { try await hostClock.sleep(nanoseconds: 100_000_000) }
            }
            try await hostClock.sleep(until: run.clock.instant(of: packetizer.nextTimestamp))
            finish(nil)
        } catch is CancellationError {
            return
        } catch {
            guard !Task.isCancelled else { return }
            finish(mediaError(error))
        }
    }

    private func finish(_ error: RouterError?) {
        guard !Task.isCancelled else { return }
        run = nil
        packetizer.rewind(datagrams.ring.dropPending())
        state.update { update in
            update.media = .stopped
            update.stopReason = error == nil ? .finished : .error
            update.error = error
        }
    }

    private func deadline(of timestamp: Int64, _ run: Run) -> Int64 {
        run.clock.instant(of: timestamp) - plan.leadNanoseconds
    }

    private func enqueueLeadIn(_ timestamps: Range<Int64>, _ run: Run, settling: Int64) {
        let silence = RAOPSilence.payload(plan.codecDescription, frames: RAOPPlan.framesPerPacket)
        let now = hostClock.now()
        let earliest = max(now, min(now + settling, deadline(of: timestamps.upperBound, run)))
        for timestamp in stride(
            from: timestamps.lowerBound, to: timestamps.upperBound, by: RAOPPlan.framesPerPacket)
        where run.clock.instant(of: timestamp) > now {
            let packet = packetizer.packet(silence, at: timestamp)
            // There was no time to be earlier; that is nobody's lateness.
            _ = datagrams.ring.append(
                packet.bytes, sequence: packet.sequence, deadline: max(earliest, deadline(of: timestamp, run)), now: now
            )
        }
    }

    /// Packs one packet into the ring. What should have been heard already is left out: silence, and then in step.
    ///
    /// - Returns: false where the ring is full.
    @discardableResult
    private func enqueue(_ packet: AudioPacket, _ run: Run) -> Bool {
        let timestamp = run.timestamp(ofFrame: packet.frame)
        let now = hostClock.now()
        guard run.clock.instant(of: timestamp + Int64(packet.frameCount)) > now else {
            datagrams.ring.noteSkipped(1)
            return true
        }
        var next = packetizer
        let sealed = next.packet(packet.payload, at: timestamp)
        switch datagrams.ring.append(
            sealed.bytes, sequence: sealed.sequence, deadline: deadline(of: timestamp, run), now: now)
        {
        case .full: return false
        case .queued: break
        case .queuedSooner: datagrams.wake()
        }
        packetizer = next
        return true
    }

    private func mediaError(_ error: any Error) -> RouterError {
        if let error = error as? RouterError { return error }
        if error is CancellationError { return RouterError(.cancelled, "loading was cancelled", scope: .session) }
        return RouterError(
            .itemFailed, "the audio could not be prepared", hint: "Try another file", scope: .item,
            causes: ["\(error)"])
    }
}
