import AirPlay
import Logging
import Pacing
import RouteBackend
import RouteModel

/// A RAOP session as the engine sees it.
///
/// Packets are encrypted here, once, and wait in the ring of the sending thread; this actor only has to be in time
/// within a good half second.
public actor AirPlayRouteSession: RouteSession {
    /// What plays, or would if it were not paused.
    struct Loaded {
        var feed: any AudioFeed
    }

    /// One unbroken run of packets: from a start to the next flush.
    struct Run {
        var clock: RAOPStreamClock
        /// The feed's frame that `clock.timestamp` is.
        var firstFrame: Int64

        func timestamp(ofFrame frame: Int64) -> Int64 { clock.timestamp + frame - firstFrame }
    }

    public nonisolated let descriptor: RouteSessionDescriptor
    nonisolated let state: LatestValue<RouteSessionUpdate>

    let client: RAOPClient
    let plan: RAOPPlan
    let datagrams: RAOPDatagrams
    let stream: PacedStream
    let hostClock: any HostClock
    let logger: Logger
    private let failures: AsyncStream<Int32>
    private let failureReports: AsyncStream<Int32>.Continuation

    var packetizer: RAOPPacketizer
    var loaded: Loaded?
    /// Set while packets flow.
    var run: Run?
    /// The last run: its clock goes on while nothing plays, so that timestamps stay in step with what the receiver was
    /// told last.
    var lastClock: RAOPStreamClock?
    /// Frames the device adds; nil before RECORD.
    var audioLatency: Int?
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
    private var over = false
    private var runner: Task<Void, Never>?

    private init(
        client: RAOPClient, plan: RAOPPlan, datagrams: RAOPDatagrams, stream: PacedStream, packetizer: RAOPPacketizer,
        descriptor: RouteSessionDescriptor, volume: VolumeState?, hostClock: any HostClock, logger: Logger,
        failures: (stream: AsyncStream<Int32>, continuation: AsyncStream<Int32>.Continuation)
    ) {
        self.client = client
        self.plan = plan
        self.datagrams = datagrams
        self.stream = stream
        self.packetizer = packetizer
        self.descriptor = descriptor
        self.hostClock = hostClock
        self.logger = logger
        self.failures = failures.stream
        failureReports = failures.continuation
        state = LatestValue(RouteSessionUpdate(volume: volume))
    }

    /// Climbs to SETUP on a fresh connection. The connection is closed when it throws.
    static func open(
        on connection: RTSPConnection, endpoint: Endpoint, plan: RAOPPlan, publicKey: RAOPPublicKey,
        options: OpenOptions, clock: any HostClock, pacer: Pacer, logger: Logger
    ) async throws -> AirPlayRouteSession {
        options.phase("announcing audio")
        let cipher = plan.encryption == .rsa ? RAOPAudioCipher.random() : nil
        guard let remote = DatagramAddress(socketAddress: connection.remoteSocketAddress) else {
            await connection.close()
            throw RouterError(.internal, "the address of \(endpoint.name) is of no known kind", scope: .route)
        }
        let client: RAOPClient
        do {
            client = try await RAOPClient.announce(
                on: connection,
                options: RAOPClient.Options(
                    codec: plan.codecDescription, cipher: cipher, publicKey: publicKey,
                    needsAuthSetup: plan.advertisement.needsAuthSetup, clientName: options.senderName))
        } catch {
            throw AirPlayErrors.opening(error, endpoint: endpoint)
        }
        var datagrams: RAOPDatagrams?
        do {
            let opened = try RAOPDatagrams(remote: remote, pacer: pacer) { clock.now() }
            datagrams = opened
            let ports = try await client.setUp(controlPort: opened.control.port, timingPort: opened.timing.port)
            let volume = try await client.volume()
            let failures = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(1))
            let stream = try opened.start(ports) { failures.continuation.yield($0) }
            var generator = SystemRandomNumberGenerator()
            let session = AirPlayRouteSession(
                client: client, plan: plan, datagrams: opened, stream: stream,
                packetizer: RAOPPacketizer(
                    ssrc: UInt32.random(in: .min ... .max, using: &generator),
                    firstSequence: UInt16.random(in: .min ... .max, using: &generator),
                    firstTimestamp: UInt32.random(in: .min ... .max, using: &generator),
                    framesPerPacket: RAOPPlan.framesPerPacket, cipher: cipher),
                descriptor: RouteSessionDescriptor(
                    endpoint: endpoint,
                    delivery: .push(
                        PushRequirements(format: plan.format, leadNanoseconds: plan.leadNanoseconds)),
                    capabilities: endpoint.capabilities,
                    volume: VolumeDescriptor(
                        handling: .adjustable, curve: .airplay, readback: volume == nil ? .none : .polled)),
                volume: volume.map(Self.volumeState), hostClock: clock, logger: logger, failures: failures)
            await session.begin()
            return session
        } catch let error as RAOPError {
            await datagrams?.close(nil)
            await client.end()
            throw AirPlayErrors.opening(error, endpoint: endpoint)
        } catch {
            await datagrams?.close(nil)
            await client.end()
            throw RouterError(
                .internal, "no UDP socket could be opened for \(endpoint.name)",
                hint: "Check the limits on open files and on the network", scope: .route, causes: ["\(error)"])
        }
    }

    public nonisolated func updates() -> AsyncStream<RouteSessionUpdate> { state.stream() }

    /// What became of the packets so far.
    public nonisolated var statistics: PacingStatistics { datagrams.ring.statistics }

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
        case .seek:
            throw RouterError(
                .unsupported, "\(descriptor.endpoint.name) is sent what it plays: it cannot seek by itself",
                scope: .session)
        case .stop:
            try await halt()
            loaded = nil
            nowPlaying = nil
            state.update { update in
                update.media = .stopped
                update.stopReason = .cancelled
            }
        case .setRate, .selectTracks, .skipAd, .setRepeat: return .unsupported
        }
        return .succeeded
    }

    public func end(_ reason: EndReason) async {
        if !over {
            over = true
            opening?.cancel()
            await stopPump()
            datagrams.ring.dropPending()
            await client.end()
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
    func withClient<Result: Sendable>(
        _ body: (RAOPClient) async throws(RAOPError) -> Result
    ) async throws(RouterError) -> Result {
        do {
            let result = try await body(client)
            try checkUsable()
            return result
        } catch let error as RouterError {
            throw error
        } catch let error as RAOPError {
            try checkUsable()
            let translated = AirPlayErrors.routerError(error, endpoint: descriptor.endpoint)
            switch error {
            case .closed, .timedOut, .malformed: await lose(translated)
            default: break
            }
            throw translated
        } catch {
            throw RouterError(.internal, "\(error)", scope: .session)
        }
    }

    /// The device is gone: says so and ends.
    func lose(_ error: RouterError) async {
        guard !over else { return }
        over = true
        logger.notice("route lost", metadata: ["route": "\(descriptor.endpoint.name)", "error": "\(error)"])
        var error = error
        error.code = .routeLost
        state.update { update in
            update.connection = .failed
            update.media = .stopped
            update.stopReason = .deviceGone
            update.error = error
        }
        state.finish()
        opening?.cancel()
        pump?.cancel()
        client.abort()
        await tidy()
    }

    static func volumeState(_ deviceValue: Double) -> VolumeState {
        let (level, muted) = VolumeCurve.airplay.position(deviceValue: deviceValue)
        return VolumeState(level: level, muted: muted)
    }

    // MARK: - Watching the device

    private func tidy() async {
        runner?.cancel()
        failureReports.finish()
        await datagrams.close(stream)
        let statistics = statistics
        logger.debug(
            "stream ended",
            metadata: [
                "route": "\(descriptor.endpoint.name)", "sent": "\(statistics.sent)",
                "resent": "\(statistics.resent)", "missed": "\(statistics.resendsMissed)",
                "underruns": "\(statistics.underruns)", "skipped": "\(statistics.skipped)",
                "lateness99": "\(statistics.lateness99 / 1000) us",
                "lateness-max": "\(statistics.maximumLateness / 1000) us",
            ])
    }

    private func begin() {
        runner = Task {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.watchConnection() }
                group.addTask { await self.keepAlive() }
                group.addTask { await self.watchFailures() }
            }
        }
    }

    private func watchConnection() async {
        await client.waitUntilClosed()
        await lose(AirPlayErrors.routerError(.closed, endpoint: descriptor.endpoint))
    }

    /// Receivers forget a sender that is silent on the connection for half a minute; some sooner.
    private func keepAlive() async {
        let feedback = plan.advertisement.needsFeedback
        let polled = descriptor.volume.readback == .polled
        let interval: Int64 = feedback ? 2_000_000_000 : polled ? 5_000_000_000 : 20_000_000_000
        while !over {
            do { try await hostClock.sleep(nanoseconds: interval) } catch { return }
            if feedback || !polled {
                _ = try? await withClient { client async throws(RAOPError) in
                    try await client.keepAlive(feedback: feedback, timeout: .seconds(6))
                }
            }
            if polled { await readVolume() }
        }
    }

    private func readVolume() async {
        let epoch = volumeEpoch
        let read = try? await withClient { client async throws(RAOPError) in try await client.volume() }
        guard let value = read ?? nil, epoch == volumeEpoch, pendingVolume == nil else { return }
        let volume = Self.volumeState(value)
        if state.value.volume != volume { state.update { $0.volume = volume } }
    }

    /// The network says that nobody takes our packets: ask the receiver before believing it.
    private func watchFailures() async {
        for await code in failures {
            guard !over else { return }
            logger.debug("sending failed", metadata: ["errno": "\(code)"])
            _ = try? await withClient { client async throws(RAOPError) in
                try await client.keepAlive(feedback: false, timeout: .seconds(2))
            }
        }
    }
}
