import RouteBackend
import RouteModel

/// A session that is sent packets, and drops each when it would be heard.
///
/// Its shape is that of any push backend: `load` and `perform` start and stop one pump, which reads the feed a little
/// ahead of the timeline; `end` leaves nothing running.
public actor NullSinkSession: RouteSession {
    public nonisolated let descriptor: RouteSessionDescriptor
    private nonisolated let latest: LatestValue<RouteSessionUpdate>
    private nonisolated let buttons = AsyncStream.makeStream(
        of: RemoteCommand.self, bufferingPolicy: .bufferingOldest(16))
    private let sink: NullSink
    private let clock: any HostClock
    private var feed: (any AudioFeed)?
    private var opening: FeedOpening?
    private var pump: Task<Void, Never>?
    private var isOver = false

    /// How long before it is heard a frame is asked for.
    static let leadNanoseconds: Int64 = 200_000_000
    static let format = AudioPacketFormat(codec: .l16)
    static let capabilities = RouteCapabilities(
        available: [.playAudioStream, .playsSenderOnlyFiles, .pause, .gapless, .volumeDevice, .remoteCommandsBack],
        sync: .tight)

    init(sink: NullSink, endpoint: Endpoint, clock: any HostClock) {
        self.sink = sink
        self.clock = clock
        descriptor = RouteSessionDescriptor(
            endpoint: endpoint,
            delivery: .push(PushRequirements(format: Self.format, leadNanoseconds: Self.leadNanoseconds)),
            capabilities: Self.capabilities, volume: VolumeDescriptor(handling: .adjustable, readback: .events))
        latest = LatestValue(RouteSessionUpdate(connection: .connected, volume: sink.state.volume))
    }

    public nonisolated func updates() -> AsyncStream<RouteSessionUpdate> { latest.stream() }
    public nonisolated func deviceCommands() -> AsyncStream<RemoteCommand> { buttons.stream }

    // MARK: What the engine asks

    public func load(_ media: PreparedMedia, timeline: Timeline?, autoplay: Bool) async throws {
        try checkUsable()
        guard case .push(let push) = media else {
            throw RouterError(
                .unsupported, "\(descriptor.endpoint.name) fetches nothing by itself", scope: .route)
        }
        await stopPump()
        feed = push.feed
        latest.update { update in
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
        case .play(let timeline, let frame):
            guard let timeline, feed != nil else {
                throw RouterError(
                    .unavailable, "nothing is loaded on \(descriptor.endpoint.name)", scope: .session)
            }
            await stopPump()
            try await start(timeline, fromFrame: frame)
        case .pause:
            await stopPump()
            latest.update { $0.media = .paused }
        case .stop:
            await stopPump()
            feed = nil
            latest.update { update in
                update.media = .stopped
                update.stopReason = .cancelled
            }
        case .seek:
            throw RouterError(
                .unsupported, "\(descriptor.endpoint.name) is sent what it plays: it cannot seek by itself",
                scope: .session)
        case .setRate, .selectTracks, .skipAd, .setRepeat: return .unsupported
        }
        return .succeeded
    }

    /// It has no display.
    public func present(_ nowPlaying: NowPlaying) async throws {}

    public func setVolume(_ volume: VolumeState) async throws {
        try checkUsable()
        sink.change { $0.volume = volume }
        latest.update { $0.volume = volume }
    }

    public func end(_ reason: EndReason) async {
        await close { update in
            update.connection = .ended
            update.media = .stopped
            update.stopReason = update.stopReason ?? (reason == .replaced ? .replaced : .cancelled)
        }
        await pump?.value
    }

    // MARK: What the device does

    nonisolated func deviceTells(_ change: (inout RouteSessionUpdate) -> Void) { latest.update(change) }

    nonisolated func deviceAsks(_ command: RemoteCommand) { buttons.continuation.yield(command) }

    func deviceIsGone() async {
        await close { update in
            update.connection = .failed
            update.media = .stopped
            update.stopReason = .deviceGone
            update.error = RouterError(.routeLost, "the null sink is gone", scope: .route, retry: .later)
        }
    }

    func isTakenOver() async {
        await close { update in
            update.connection = .ended
            update.media = .stopped
            update.stopReason = .superseded
        }
    }

    // MARK: The flow of packets

    /// Returns once packets flow.
    private func start(_ timeline: Timeline, fromFrame: Int64) async throws {
        guard let feed else { return }
        // `end` cancels this: it does not wait for a feed that takes long to begin.
        let opening = FeedOpening(feed, Self.format, from: fromFrame)
        self.opening = opening
        defer { self.opening = nil }
        let (cursor, first): (any AudioPacketCursor, AudioPacket?)
        do {
            (cursor, first) = try await opening.opened()
        } catch {
            try checkUsable()
            throw RouterError(wrapping: error)
        }
        try checkUsable()
        latest.update { $0.media = .playing }
        sink.change { $0.isPlaying = true }
        pump = Task { await self.run(cursor, first, timeline) }
    }

    /// Stays until the last frame has been heard, or it is stopped.
    private func run(_ cursor: any AudioPacketCursor, _ first: AudioPacket?, _ timeline: Timeline) async {
        do {
            var next = first
            var end = timeline.hostNanoseconds
            while let packet = next {
                let due = timeline.instant(ofFrame: packet.frame, sampleRate: Self.format.sampleRate)
                try await clock.sleep(until: due - Self.leadNanoseconds)
                // Here a real backend writes the packet to its socket.
                sink.change { $0.framesHeard += Int64(packet.frameCount) }
                end = timeline.instant(
                    ofFrame: packet.frame + Int64(packet.frameCount), sampleRate: Self.format.sampleRate)
                next = try await cursor.next()
            }
            try await clock.sleep(until: end)
            finish(nil)
        } catch {
            guard !Task.isCancelled else { return }
            finish(RouterError(wrapping: error))
        }
    }

    private func finish(_ error: RouterError?) {
        guard !Task.isCancelled else { return }
        sink.change { $0.isPlaying = false }
        latest.update { update in
            update.media = .stopped
            update.stopReason = error == nil ? .finished : .error
            update.error = error
        }
    }

    private func stopPump() async {
        pump?.cancel()
        await pump?.value
        pump = nil
        sink.change { $0.isPlaying = false }
    }

    private func close(_ change: (inout RouteSessionUpdate) -> Void) async {
        guard !isOver else { return }
        isOver = true
        latest.update(change)
        latest.finish()
        buttons.continuation.finish()
        let opening = opening
        opening?.cancel()
        await opening?.finished()
        await stopPump()
        sink.release(self)
    }

    private func checkUsable() throws {
        guard isOver else { return }
        throw latest.value.error
            ?? RouterError(.cancelled, "the session on \(descriptor.endpoint.name) has ended", scope: .session)
    }
}
