import CastV2
import Pacing
import RouteBackend
import RouteModel

/// Starting, feeding and stopping the flow of packets, and answering the receiver's reports.
extension CastStreamingSession {
    /// Nanoseconds of packets that wait beyond those due, and how little may be left before more are taken. Together
    /// with those on the way they stay well below what may be unacknowledged.
    private static let ahead: Int64 = 1_500_000_000
    private static let refill: Int64 = 1_000_000_000

    /// Sender reports: several at the start, since a receiver that has none plays nothing.
    private static let openingBeats: [Int64] = [0, 60_000_000, 200_000_000]
    private static let beatPeriod: Int64 = 500_000_000

    /// Nanoseconds of nothing to play after which a packet of silence tells the receiver that we are there: it takes a
    /// sender that is silent for 15 s for gone.
    private static let keepAlive: Int64 = 1_000_000_000
    /// The deadlines of a stream are looked at this often, in nanoseconds.
    private static let look: Int64 = 100_000_000

    // MARK: Flow

    /// Starts packets from the one that holds `fromFrame` of the feed, heard as `timeline` says. Returns when the first
    /// are queued.
    func begin(_ timeline: Timeline, fromFrame: Int64) async throws {
        guard let feed = loaded else { return }
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
            latest.update { update in
                update.media = .stopped
                update.stopReason = .finished
            }
            return
        }
        guard var stream else { throw errors.streaming(CastStreamingError.gone) }
        let capture =
            timeline.instant(ofFrame: first.frame, sampleRate: CastStreamPlan.sampleRate) - plan.delayNanoseconds
        // In step with what the receiver was told last, but never back.
        let timestamp = max(stream.lowest, stream.clock.timestamp(at: capture))
        stream.clock = CastStreamClock(instant: capture, timestamp: timestamp, timeBase: CastStreamPlan.sampleRate)
        self.stream = stream
        let run = (firstFrame: first.frame, timestamp: timestamp)
        self.run = run
        beat()
        _ = enqueue(first)
        stream.datagrams.wake()
        latest.update { update in
            update.media = .playing
            update.stopReason = nil
            update.error = nil
        }
        pump = Task { await self.feedRing(from: cursor, last: first) }
    }

    /// Stops packets; those that the receiver has, it plays.
    func halt() async {
        await stopPump()
        guard run != nil else { return }
        stopRun()
    }

    func stopPump() async {
        pump?.cancel()
        await pump?.value
        pump = nil
    }

    private func stopRun() {
        run = nil
        let dropped = ring.dropPending()
        guard var stream else { return }
        let now = clock.now()
        perform(stream.sender.withdraw(dropped, now: now), on: stream.datagrams)
        // What went, went by now, but for what went a little early.
        let sent = stream.clock.timestamp(at: now + stream.correction.current + ring.slack)
        stream.lowest = max(stream.lowest, sent + Int64(CastStreamPlan.framesPerPacket))
        stream.kept = now
        self.stream = stream
        beat()
    }

    /// Keeps the ring filled until the feed ends, and stays until the last frame has been heard.
    private func feedRing(from cursor: any AudioPacketCursor, last: AudioPacket) async {
        var last = last
        do {
            while let packet = try await cursor.next() {
                try Task.checkCancellation()
                last = packet
                while !enqueue(packet) { try await clock.sleep(nanoseconds: 20_000_000) }
                guard let ahead = sendAt(packet).map({ $0 - clock.now() }), ahead > Self.ahead else { continue }
                try await clock.sleep(nanoseconds: ahead - Self.refill)
            }
            if let end = heard(last.frame + Int64(last.frameCount)) { try await clock.sleep(until: end) }
            finish(nil)
        } catch is CancellationError {
            return
        } catch {
            guard !Task.isCancelled else { return }
            finish(mediaError(error))
        }
    }

    private func finish(_ error: RouterError?) {
        guard !Task.isCancelled, !over else { return }
        stopRun()
        latest.update { update in
            update.media = .stopped
            update.stopReason = error == nil ? .finished : .error
            update.error = error
        }
    }

    /// False where there is no room at present.
    private func enqueue(_ packet: AudioPacket) -> Bool {
        guard var stream, let run, let sendAt = sendAt(packet), let heard = heard(packet.frame) else { return true }
        let now = clock.now()
        // The timeline does not wait; what is too late leaves silence.
        guard heard > now else {
            ring.noteSkipped(1)
            return true
        }
        let timestamp = run.timestamp + packet.frame - run.firstFrame
        defer { self.stream = stream }
        switch stream.sender.take(packet.payload, timestamp: timestamp, sendAt: max(sendAt, now)) {
        case .full: return false
        case .refused: return true
        case .queued(let datagrams):
            stream.lowest = max(stream.lowest, timestamp + Int64(packet.frameCount))
            queue(datagrams, at: sendAt, now: now, stream.datagrams)
            figures.set(stream.sender.statistics)
            return true
        }
    }

    private func queue(
        _ datagrams: [CastStreamSender.Datagram], at deadline: Int64, now: Int64, _ wire: CastStreamDatagrams
    ) {
        for datagram in datagrams {
            // The ring has room for more than may be unacknowledged, so that it is never full.
            if ring.append(datagram.bytes, sequence: datagram.sequence, deadline: deadline, now: now) == .queuedSooner {
                wire.wake()
            }
        }
    }

    private func instant(ofFrame frame: Int64) -> Int64? {
        guard let stream, let run else { return nil }
        return stream.clock.instant(of: run.timestamp + frame - run.firstFrame)
    }

    /// When a packet is captured, as the receiver is told.
    private func sendAt(_ packet: AudioPacket) -> Int64? {
        guard let stream, let instant = instant(ofFrame: packet.frame) else { return nil }
        return instant - stream.correction.current
    }

    private func isHeard(at now: Int64) -> Bool { run.flatMap { heard($0.firstFrame) }.map { $0 <= now } ?? false }

    private func heard(_ frame: Int64) -> Int64? { instant(ofFrame: frame).map { $0 + plan.delayNanoseconds } }

    private func mediaError(_ error: any Error) -> RouterError {
        if error is CancellationError { return RouterError(.cancelled, "loading was cancelled", scope: .item) }
        return error as? RouterError
            ?? RouterError(.itemFailed, "the sound of the item cannot be made", scope: .item, causes: ["\(error)"])
    }

    // MARK: Reports

    /// Sends sender reports by the clock as it now is.
    func beat() {
        guard let stream else { return }
        var told = stream.clock
        told.instant -= stream.correction.current
        let (clock, ssrc) = (told, stream.ssrc)
        // Round each payload there is the shortest header and the frame that it refers to.
        let header = CastRTPPacket.minimumHeaderBytes + 1
        ring.beat(
            BeatSchedule(start: self.clock.now(), opening: Self.openingBeats, period: Self.beatPeriod)
        ) { _, now, sent in
            let octets = sent.bytes - sent.packets * header
            return CastRTCP.encode([
                .senderReport(clock.report(ssrc: ssrc, at: now, packets: sent.packets, octets: octets))
            ])
        }
        stream.datagrams.wake()
    }

    /// Reads what the receiver reports, and looks at the deadlines, until the stream is closed.
    func serve(_ inbound: AsyncStream<CastStreamDatagrams.Inbound>) async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await datagram in inbound { await self.received(datagram) }
            }
            group.addTask {
                while await self.passTime() {
                    do { try await self.clock.sleep(nanoseconds: Self.look) } catch { return }
                }
            }
        }
    }

    private func received(_ datagram: CastStreamDatagrams.Inbound) {
        guard !over, var stream else { return }
        let actions = stream.sender.received(datagram.bytes, now: datagram.at)
        var changed = false
        if stream.corrected + Self.beatPeriod <= datagram.at {
            stream.corrected = datagram.at
            changed = stream.correction.update(
                delay: stream.sender.statistics.playoutDelay, network: stream.sender.networkDelay,
                agreed: plan.delayNanoseconds, isHeard: isHeard(at: datagram.at))
        }
        self.stream = stream
        figures.set(stream.sender.statistics)
        perform(actions, on: stream.datagrams)
        if changed { beat() }
    }

    /// False when there is no stream any more.
    private func passTime() -> Bool {
        guard !over, var stream else { return false }
        let now = clock.now()
        let actions = (stream.sender.nextDeadline ?? .max) <= now ? stream.sender.timePassed(now: now) : []
        if run == nil, stream.kept + Self.keepAlive <= now {
            stream.kept = now
            let timestamp = max(stream.lowest, stream.clock.timestamp(at: now))
            if case .queued(let datagrams) = stream.sender.take(
                CastStreamSilence.packet, timestamp: timestamp, sendAt: now)
            {
                stream.lowest = timestamp + Int64(CastStreamPlan.framesPerPacket)
                queue(datagrams, at: now, now: now, stream.datagrams)
            }
        }
        self.stream = stream
        perform(actions, on: stream.datagrams)
        return true
    }

    private func perform(_ actions: [CastStreamSender.Action], on wire: CastStreamDatagrams) {
        for action in actions {
            switch action {
            case .send(let bytes): wire.send(bytes)
            case .lost: lose(errors.streamSilent)
            }
        }
    }
}
