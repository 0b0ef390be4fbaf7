import CastV2
import Logging
import Pacing
import RouteBackend
import RouteModel

/// Cast Streaming as the engine drives it: Opus packets against the timeline.
///
/// Packets wait in the ring of the sending thread; this actor only has to be in time within a second, and to
/// answer the receiver's reports.
actor CastStreamingSession: RouteSession {
    /// What came about by OFFER and ANSWER.
    struct Stream {
        var datagrams: CastStreamDatagrams
        var sender: CastStreamSender
        var ssrc: UInt32
        /// Which timestamp is captured when, were there neither network nor a slow receiver.
        var clock: CastStreamClock
        /// The least timestamp that the next frame may have.
        var lowest: Int64
        /// When the last frame was taken that only keeps the stream alive.
        var kept: Int64
        var correction = CastDelayCorrection()
        var corrected: Int64
    }

    /// Offered, answered and on from there at once; unless something else is in use on the device.
    nonisolated let descriptor: RouteSessionDescriptor
    nonisolated let latest: LatestValue<RouteSessionUpdate>
    /// How the stream has gone so far.
    nonisolated let figures = LatestValue(CastStreamStatistics())
    nonisolated let ring = PacketRing(
        policy: PacketSchedule.Policy(capacity: 256, history: 32, slack: 2_000_000, burst: 16))
    let session: CastSession
    let plan: CastStreamPlan
    let clock: any HostClock
    let pacer: Pacer
    let errors: CastErrors
    let logger: Logger

    var stream: Stream?
    var loaded: (any AudioFeed)?
    /// Set while packets flow: the packet with which the run began, and its timestamp.
    var run: (firstFrame: Int64, timestamp: Int64)?
    var pump: Task<Void, Never>?
    /// Set while a start waits for the first packet of its feed.
    var opening: FeedOpening?
    var runner: Task<Void, Never>?
    var over = false
    private var ownsApp = false
    private var offers = 0
    private var watcher: Task<Void, Never>?
    private var title: String?

    /// Nanoseconds for an answer to an offer.
    private static let patience: Int64 = 10_000_000_000

    init(
        session: CastSession, endpoint: Endpoint, plan: CastStreamPlan, volume: CastVolume?, clock: any HostClock,
        pacer: Pacer, errors: CastErrors, logger: Logger
    ) {
        self.session = session
        self.plan = plan
        self.clock = clock
        self.pacer = pacer
        self.errors = errors
        self.logger = logger
        let fixed = volume?.controlType == .fixed
        var capabilities = endpoint.capabilities
        if fixed {
            capabilities[.volumeDevice] = .unsupported
            capabilities[.mute] = .unsupported
        }
        descriptor = RouteSessionDescriptor(
            endpoint: endpoint,
            delivery: .push(
                PushRequirements(
                    format: plan.format, leadNanoseconds: plan.delayNanoseconds + CastStreamPlan.margin)),
            capabilities: capabilities,
            volume: fixed
                ? .fixed
                : VolumeDescriptor(handling: .adjustable, step: volume?.stepInterval ?? 0.01, readback: .events))
        latest = LatestValue(RouteSessionUpdate(connection: .connected))
    }

    /// Begins to watch the device. Called once, before the session is given away.
    func start() async {
        take(await session.current)
        let states = await session.states()
        watcher = Task {
            for await state in states { self.take(state) }
            self.take(await self.session.current)
        }
    }

    nonisolated func updates() -> AsyncStream<RouteSessionUpdate> { latest.stream() }

    nonisolated var delivered: DeliveryStatistics? {
        let (sent, told) = (ring.statistics, figures.value)
        return DeliveryStatistics(
            packetsSent: sent.sent, packetsResent: told.resent, packetsMissed: told.missed,
            latenessMedianMicroseconds: Int(sent.medianLateness / 1000),
            latenessMaximumMicroseconds: Int(sent.maximumLateness / 1000))
    }

    // MARK: The stream

    /// Launches the app and agrees on a stream, if there is none yet.
    func ensureStream(consent: @escaping @Sendable () -> Void = {}) async throws {
        guard stream == nil else { return }
        do {
            let app = try await session.launchStreaming(consent: consent)
            ownsApp = true
            offers += 1
            var generator = SystemRandomNumberGenerator()
            let offered = plan.stream(ssrc: UInt32.random(in: 1 ... .max, using: &generator))
            let answer = try await session.offer(
                CastOffer(streams: [offered]), sequence: offers, patience: Self.patience, clock: CastClock(clock))
            guard let ssrc = answer.ssrc(index: offered.index) else { throw CastStreamingError.otherStream }
            guard let remote = DatagramAddress(host: session.remoteAddress, port: answer.port) else {
                throw CastStreamingError.gone
            }
            // Before there is a socket that somebody would have to close.
            try checkUsable()
            let logger = logger
            let datagrams = try CastStreamDatagrams(remote: remote, ring: ring, pacer: pacer) { code in
                // The receiver's own reports tell whether it is there.
                logger.debug("sending failed", metadata: ["errno": "\(code)"])
            }
            let now = clock.now()
            let timestamp = Int64(UInt32.random(in: .min ... .max, using: &generator))
            stream = Stream(
                datagrams: datagrams,
                sender: CastStreamSender(
                    CastStreamSender.Configuration(
                        senderSSRC: offered.ssrc, receiverSSRC: ssrc, payloadType: offered.payloadType,
                        cipher: offered.cipher, timeBase: offered.timeBase,
                        firstSequence: UInt16.random(in: .min ... .max, using: &generator)), now: now),
                ssrc: offered.ssrc,
                clock: CastStreamClock(instant: now, timestamp: timestamp, timeBase: offered.timeBase),
                lowest: timestamp, kept: now, corrected: now)
            logger.debug("stream agreed on", metadata: ["app": "\(app.appID)", "port": "\(answer.port)"])
            beat()
            runner = Task { await self.serve(datagrams.inbound) }
        } catch {
            throw over ? cancelled() : errors.streaming(error)
        }
    }

    // MARK: Commands

    func load(_ media: PreparedMedia, timeline: Timeline?, autoplay: Bool) async throws {
        guard case .push(let push) = media else { throw errors.takesNoURL }
        try checkUsable()
        await halt()
        loaded = push.feed
        latest.update { update in
            update.media = autoplay ? .loading : .paused
            update.stopReason = nil
            update.error = nil
        }
        try await ensureStream()
        guard autoplay else { return }
        guard let timeline else {
            throw RouterError(.internal, "a stream was started without a timeline", scope: .session)
        }
        try await begin(timeline, fromFrame: push.fromFrame)
    }

    func perform(_ command: RouteCommand) async throws -> CommandOutcome {
        try checkUsable()
        switch command {
        case .play(let timeline, let fromFrame):
            guard let timeline, loaded != nil else {
                throw RouterError(.unavailable, "nothing is loaded on \(errors.name)", scope: .session)
            }
            await halt()
            try await begin(timeline, fromFrame: fromFrame)
        case .pause:
            await halt()
            latest.update { $0.media = .paused }
        case .seek, .setRate, .selectTracks, .skipAd, .setRepeat:
            throw RouterError(
                .unsupported, "\(errors.name) is sent what it plays: it cannot do this by itself", scope: .session)
        case .stop:
            await halt()
            loaded = nil
            latest.update { update in
                update.media = .stopped
                update.stopReason = .cancelled
            }
        }
        return .succeeded
    }

    /// Some devices show a title beside the sound; nobody answers.
    func present(_ nowPlaying: NowPlaying) async throws {
        try checkUsable()
        let words = [nowPlaying.metadata.title, nowPlaying.metadata.artist].compactMap { $0 }.joined(separator: " – ")
        guard !words.isEmpty, words != title, stream != nil else { return }
        title = words
        offers += 1
        let message = CastStreamingMessage(sequence: offers, .presentation(title: words, icons: []))
        do {
            try await session.send(.text(message.json.text), in: CastNamespace.webRTC)
        } catch {
            title = nil
            logger.debug("title not shown", metadata: ["error": "\(error)"])
        }
    }

    func setVolume(_ volume: VolumeState) async throws {
        try checkUsable()
        guard descriptor.volume.handling == .adjustable else { throw errors.fixedVolume }
        do {
            try await session.setDeviceVolume(volume)
        } catch {
            throw over ? cancelled() : errors.settingVolume(error)
        }
        take(await session.current)
    }

    // MARK: End

    func end(_ reason: EndReason) async {
        if !over {
            over = true
            latest.update { update in
                update.connection = .ended
                update.media = .stopped
                update.stopReason = update.stopReason ?? (reason == .replaced ? .replaced : .cancelled)
            }
            latest.finish()
        }
        opening?.cancel()
        await opening?.finished()
        await stopPump()
        await closeStream()
        // Without us the app has nothing to play.
        await session.end(stopApp: ownsApp)
        await watcher?.value
        watcher = nil
    }

    /// The device, or its app, is gone: says so.
    func lose(_ error: RouterError, connection: ConnectionState = .failed, stopReason: StopReason = .deviceGone) {
        guard !over else { return }
        over = true
        logger.notice("route lost", metadata: ["route": "\(descriptor.endpoint.name)", "error": "\(error)"])
        latest.update { update in
            update.connection = connection
            update.media = .stopped
            update.stopReason = stopReason
            update.error = error
        }
        latest.finish()
        opening?.cancel()
        pump?.cancel()
        ring.dropPending()
    }

    private func closeStream() async {
        runner?.cancel()
        guard var closing = stream else { return }
        stream = nil
        closing.sender.end()
        await closing.datagrams.close()
        await runner?.value
        let (sent, told) = (ring.statistics, closing.sender.statistics)
        logger.debug(
            "stream ended",
            metadata: [
                "route": "\(descriptor.endpoint.name)", "sent": "\(sent.sent)", "resent": "\(told.resent)",
                "missed": "\(told.missed)", "kickstarts": "\(told.kickstarts)", "skipped": "\(sent.skipped)",
                "late": "\(sent.maximumLateness / 1000) us", "fed-late": "\(sent.underruns)",
                "round-trip": "\((told.roundTrip ?? 0) / 1000) us",
                "correction": "\(closing.correction.current / 1000) us",
            ])
    }

    // MARK: The device

    private func take(_ state: CastSessionState) {
        guard !over else { return }
        if let volume = state.receiver?.volume, let level = volume.level {
            let value = VolumeState(level: VolumePosition(level), muted: volume.muted ?? false)
            if latest.value.volume != value { latest.update { $0.volume = value } }
        }
        if case .closed(let reason) = state.connection {
            lose(errors.lost(reason))
        } else if case .gone(let other) = state.app {
            let name = other.map { $0.displayName ?? $0.appID }
            latest.update { $0.foreign = name }
            lose(errors.superseded(by: name), connection: .ended, stopReason: other == nil ? .cancelled : .superseded)
        }
    }

    /// Throws where the session is over.
    func checkUsable() throws(RouterError) {
        guard over else { return }
        throw latest.value.error ?? cancelled()
    }

    private func cancelled() -> RouterError {
        RouterError(.cancelled, "the session on \(errors.name) was ended", scope: .session)
    }
}
