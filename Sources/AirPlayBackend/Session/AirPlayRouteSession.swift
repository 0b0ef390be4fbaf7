import AirPlay
import Foundation
import Logging
import Pacing
import RouteBackend
import RouteModel

/// A RAOP or AirPlay 2 session as the engine sees it.
///
/// Packets are encrypted here, once, and wait in the ring of the sending thread; this actor only has to be in time
/// within a good half second.
public actor AirPlayRouteSession: RouteSession {
    /// What plays, or would if it were not paused.
    struct Loaded {
        var feed: any AudioFeed
    }

    /// What a session is made of, once the receiver is ready for audio.
    struct Parts: Sendable {
        var wire: any AirPlayWire
        var lane: any AirPlayLane
        var plan: AirPlayStreamPlan
        var descriptor: RouteSessionDescriptor
        /// As the device reports it; nil where it doesn't.
        var volume: VolumeState?
        /// `errno` of datagrams that nobody took.
        var failures: AsyncStream<Int32>
        var evidence: PlayingEvidence.Source
        /// Where the device's buttons are heard by DACP.
        var remote: DACPSession?
        /// What the device asks on its event channel, where there is one.
        var events: AsyncStream<AirPlay2Command>?
        /// Of devices that draw what `/command` says.
        var nowPlayingSender: AirPlayNowPlayingSender?
        /// Of Apple TV class devices.
        var mediaRemote: AirPlayMediaRemote?
    }

    public nonisolated let descriptor: RouteSessionDescriptor
    nonisolated let state: LatestValue<RouteSessionUpdate>

    let wire: any AirPlayWire
    let plan: AirPlayStreamPlan
    let hostClock: any HostClock
    let logger: Logger
    private let events: AsyncStream<AirPlay2Command>?
    private let failures: AsyncStream<Int32>
    private let evidence: PlayingEvidence.Source
    nonisolated let remote: DACPSession?
    nonisolated let mediaRemote: AirPlayMediaRemote?
    nonisolated let buttons = AsyncStream.makeStream(
        of: RemoteCommand.self, bufferingPolicy: .bufferingOldest(DACPSession.backlog))
    private let figures: @Sendable () -> PacingStatistics

    var lane: any AirPlayLane
    var loaded: Loaded?
    /// Set while packets flow.
    var run: AirPlayRun?
    /// The last run: its clock goes on while nothing plays, so that timestamps stay in step with what the receiver was
    /// told last.
    var lastClock: RAOPStreamClock?
    /// The run that was halted last, and when: where the device stands while it is paused.
    var pausedRun: AirPlayRun?
    var haltedAt: Int64?
    var nowPlayingSender: AirPlayNowPlayingSender?
    /// What was pressed last, and when: one press may come by several ways.
    var lastPress: DevicePress?
    /// Whether the stream has been started once: some devices forget, or refuse, a volume that comes before.
    var started = false
    var pump: Task<Void, Never>?
    /// Set while a start waits for the first packet of its feed.
    var opening: FeedOpening?
    var nowPlaying: NowPlaying? {
        didSet { presentation += 1 }
    }
    /// Counts what was to be shown, so that an older picture does not follow a newer title.
    var presentation = 0
    var shown = ShownByDevice()
    var pendingVolume: VolumeState?
    /// Counts our own writes of the volume, so that an older reading does not undo one.
    var volumeEpoch = 0
    /// Since when a sign of life waits for its answer.
    private var askedAt: Int64?
    /// When the system last said that nobody takes our packets.
    private var refusedAt: Int64?
    /// Seconds from the host's clock to those since 2001-01-01.
    private let wallOffset: Double
    private var over = false
    private var runner: Task<Void, Never>?

    /// A session on a receiver that is ready. Call `begin` next.
    init(_ parts: Parts, hostClock: any HostClock, logger: Logger) {
        wire = parts.wire
        lane = parts.lane
        figures = parts.lane.statistics
        plan = parts.plan
        descriptor = parts.descriptor
        failures = parts.failures
        evidence = parts.evidence
        events = parts.events
        remote = parts.remote
        nowPlayingSender = parts.nowPlayingSender
        mediaRemote = parts.mediaRemote
        // Devices are told dates; what runs on is the host's clock.
        wallOffset = Date().timeIntervalSinceReferenceDate - Double(hostClock.now()) / 1e9
        self.hostClock = hostClock
        self.logger = logger
        state = LatestValue(RouteSessionUpdate(volume: parts.volume))
    }

    public nonisolated func updates() -> AsyncStream<RouteSessionUpdate> { state.stream() }

    /// What became of the packets so far.
    public nonisolated var statistics: PacingStatistics { figures() }

    public nonisolated var delivered: DeliveryStatistics? {
        let statistics = statistics
        return DeliveryStatistics(
            packetsSent: statistics.sent, packetsResent: statistics.resent, packetsMissed: statistics.resendsMissed,
            latenessMedianMicroseconds: Int(statistics.medianLateness / 1000),
            latenessMaximumMicroseconds: Int(statistics.maximumLateness / 1000))
    }

    public func load(_ media: PreparedMedia, timeline: Timeline?, autoplay: Bool) async throws {
        guard case .push(let push) = media else {
            throw RouterError(
                .unsupported, "\(descriptor.endpoint.name) fetches nothing by itself", scope: .route)
        }
        try checkUsable()
        try await halt()
        loaded = Loaded(feed: push.feed)
        nowPlaying = nil
        (pausedRun, haltedAt) = (nil, nil)
        state.update { update in
            update.media = autoplay ? .loading : .paused
            update.stopReason = nil
            update.error = nil
        }
        guard autoplay else { return }
        guard let timeline else {
            throw RouterError(.internal, "a stream was started without a timeline", scope: .session)
        }
        try await start(timeline, fromFrame: push.fromFrame)
    }

    public func perform(_ command: RouteCommand) async throws -> CommandOutcome {
        try checkUsable()
        switch command {
        case .play(let timeline, let fromFrame):
            guard let timeline, loaded != nil else {
                throw RouterError(
                    .unavailable, "nothing is loaded on \(descriptor.endpoint.name)", scope: .session)
            }
            try await halt()
            try await start(timeline, fromFrame: fromFrame)
        case .pause:
            try await halt()
            state.update { $0.media = .paused }
            try await draw(.paused)
        case .seek:
            throw RouterError(
                .unsupported, "\(descriptor.endpoint.name) is sent what it plays: it cannot seek by itself",
                scope: .session)
        case .stop:
            try await halt()
            state.update { update in
                update.media = .stopped
                update.stopReason = .cancelled
            }
            try await draw(.stopped)
            loaded = nil
            nowPlaying = nil
        case .setRate, .selectTracks, .skipAd, .setRepeat: return .unsupported
        }
        return .succeeded
    }

    public func end(_ reason: EndReason) async {
        if !over {
            over = true
            opening?.cancel()
            await stopPump()
            lane.dropPending()
            await wire.end()
            await tidy()
            state.update { update in
                update.connection = .ended
                update.media = .stopped
                update.stopReason = update.stopReason ?? (reason == .replaced ? .replaced : .cancelled)
            }
            state.finish()
        }
        await opening?.finished()
        await stopPump()
        await runner?.value
    }

    // MARK: - For the parts of this type in other files

    /// Throws where the session is over.
    func checkUsable() throws(RouterError) {
        guard over else { return }
        throw state.value.error
            ?? RouterError(.cancelled, "the session on \(descriptor.endpoint.name) has ended", scope: .session)
    }

    /// Does something with the receiver, and translates what goes wrong.
    func withWire<Result: Sendable>(
        _ body: (any AirPlayWire) async throws(AirPlayWireError) -> Result
    ) async throws(RouterError) -> Result {
        let result: Result
        do {
            result = try await body(wire)
        } catch {
            try checkUsable()
            if error.lost { await lose(error.error) }
            throw error.error
        }
        try checkUsable()
        return result
    }

    /// Seconds since 2001-01-01 at an instant of the host's clock.
    func wallClock(at instant: Int64) -> Double { Double(instant) / 1e9 + wallOffset }

    /// The device is gone: says so and ends.
    ///
    /// - Parameter taken: it is there, and used for something else.
    func lose(_ error: RouterError, taken: Bool = false) async {
        guard !over else { return }
        over = true
        logger.notice("route lost", metadata: ["route": "\(descriptor.endpoint.name)", "error": "\(error)"])
        var error = error
        if !taken { error.code = .routeLost }
        state.update { update in
            update.connection = taken ? .ended : .failed
            update.media = .stopped
            update.stopReason = taken ? .superseded : .deviceGone
            update.error = error
        }
        state.finish()
        opening?.cancel()
        pump?.cancel()
        // One that is there is told; then what else it holds is let go of too.
        if !taken { wire.abort() }
        await wire.end()
        await tidy()
    }

    static func volumeState(_ deviceValue: Double) -> VolumeState {
        let (level, muted) = VolumeCurve.airplay.position(deviceValue: deviceValue)
        return VolumeState(level: level, muted: muted)
    }

    // MARK: - Watching the device

    private func tidy() async {
        runner?.cancel()
        remote?.close()
        buttons.continuation.finish()
        await lane.close()
        let statistics = statistics
        logger.debug(
            "stream ended",
            metadata: [
                "route": "\(descriptor.endpoint.name)", "sent": "\(statistics.sent)",
                "resent": "\(statistics.resent)", "missed": "\(statistics.resendsMissed)",
                "underruns": "\(statistics.underruns)", "skipped": "\(statistics.skipped)",
                "lateness50": "\(statistics.medianLateness / 1000) us",
                "lateness99": "\(statistics.lateness99 / 1000) us",
                "lateness-max": "\(statistics.maximumLateness / 1000) us",
            ])
    }

    /// Begins to watch the device.
    func begin() {
        let worker = lane.worker
        runner = Task {
            await withDiscardingTaskGroup { group in
                if let worker { group.addTask { await self.work(worker) } }
                group.addTask { await self.watchConnection() }
                group.addTask { await self.keepAlive() }
                group.addTask { await self.watchFailures() }
                group.addTask { await self.watchPlaying() }
                group.addTask { await self.hearRemote() }
                group.addTask { await self.tellRemote() }
                group.addTask { await self.hearEvents() }
                group.addTask { await self.serveMediaRemote() }
            }
        }
    }

    private func hearEvents() async {
        guard let events else { return }
        for await message in events { await take(AirPlayEventMessage(message), by: .events) }
    }

    private func work(_ worker: @Sendable () async -> Void) async {
        await worker()
        guard !Task.isCancelled else { return }
        await lose(AirPlayErrors.routerError(.closed, endpoint: descriptor.endpoint))
    }

    private func watchConnection() async {
        await wire.waitUntilClosed()
        await lose(AirPlayErrors.routerError(.closed, endpoint: descriptor.endpoint))
    }

    /// Receivers forget a sender that is silent on the connection for half a minute; some sooner.
    private func keepAlive() async {
        let feedback = plan.feedback
        let polled = descriptor.volume.readback == .polled
        let interval: Int64 = feedback ? 2_000_000_000 : polled ? 5_000_000_000 : 20_000_000_000
        while !over {
            do { try await hostClock.sleep(nanoseconds: interval) } catch { return }
            if feedback || !polled {
                askedAt = hostClock.now()
                // Three of two seconds may be missed: requests are answered in order, so a late answer is still one.
                _ = try? await withWire { wire async throws(AirPlayWireError) in
                    try await wire.keepAlive(feedback: feedback, timeout: .seconds(8))
                }
                askedAt = nil
            }
            if polled { await readVolume() }
            // Refused when it was set; the device may be ready by now.
            if started { try? await sendPendingVolume() }
        }
    }

    private func readVolume() async {
        let epoch = volumeEpoch
        let read = try? await withWire { wire async throws(AirPlayWireError) in try await wire.volume() }
        guard let value = read ?? nil, epoch == volumeEpoch, pendingVolume == nil else { return }
        take(Self.volumeState(value))
    }

    /// A volume as the device has it by now.
    func take(_ volume: VolumeState) {
        var volume = volume
        // Silent, it does not say how loud it was.
        if volume.muted, let known = state.value.volume { volume.level = known.level }
        if state.value.volume != volume { state.update { $0.volume = volume } }
    }

    /// The network says that nobody takes our packets: ask the receiver before believing it.
    private func watchFailures() async {
        for await code in failures {
            guard !over else { return }
            refusedAt = hostClock.now()
            logger.debug("sending failed", metadata: ["errno": "\(code)"])
            _ = try? await withWire { wire async throws(AirPlayWireError) in
                try await wire.keepAlive(feedback: false, timeout: .seconds(2))
            }
        }
    }

    // MARK: - Whether it is heard

    /// Looks once a second whether what is known speaks for the room being heard.
    private func watchPlaying() async {
        var before: PacingStatistics?
        while !over {
            do { try await hostClock.sleep(nanoseconds: 1_000_000_000) } catch { return }
            let now = hostClock.now()
            guard let run, state.value.media == .playing else {
                before = nil
                if state.value.proof != nil { state.update { $0.proof = nil } }
                continue
            }
            let clock = await evidence.clock()
            let figures = figures()
            let last = before ?? figures
            // Over some seconds, for a burst of losses is soon over.
            if figures.sent - last.sent > 1000 || before == nil { before = figures }
            let judged = PlayingEvidence(
                since: max(run.began, run.clock.instant(of: run.clock.timestamp) - plan.leadNanoseconds),
                clock: clock, sent: figures.sent - last.sent, resent: figures.resent - last.resent,
                missed: figures.resendsMissed - last.resendsMissed,
                refused: refusedAt.map { now - $0 < 3_000_000_000 } ?? false,
                unanswered: askedAt.map { now - $0 > 3_000_000_000 } ?? false,
                silentCombination: evidence.silentCombination, name: descriptor.endpoint.name,
                host: descriptor.endpoint.host, ports: evidence.ports)
            let proof = judged.judged(at: now)
            if state.value.proof != proof { state.update { $0.proof = proof } }
        }
    }
}
