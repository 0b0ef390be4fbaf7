import CastV2
import RouteBackend
import RouteModel

/// One Cast device as the engine drives it.
actor CastRouteSession: RouteSession {
    nonisolated let descriptor: RouteSessionDescriptor
    private nonisolated let latest: LatestValue<RouteSessionUpdate>
    let session: CastSession
    private let appID: String
    let clock: any HostClock
    let errors: CastErrors
    private let mapping: CastUpdates
    /// Whether the app is ours to stop: started by this session, or by the one that it takes up again.
    private var ownsApp: Bool
    var state = CastSessionState()
    var loaded: CastLoaded?
    var tokens = CastTokens()
    var lastQuestion: CastQueueMirror.Question?
    /// Calls in a row in which the device told nothing of its queue.
    var silences = 0
    let images: any ImageChoosing
    private(set) var ending = false
    /// The media session that the last load was to take the place of, where that was ours.
    private var displaced: Int?
    /// Whether the session that a rejoin token names was joined.
    private let rejoined: Bool
    /// Calls of `load` and `setUpcoming` that have returned.
    private var calls = 0
    private var watcher: Task<Void, Never>?

    /// Time that a device may take from having the URL to playing it.
    private static let startLimit: Int64 = 60_000_000_000

    init(
        session: CastSession, endpoint: Endpoint, appID: String, app: CastAppSession?, rejoin: CastRejoinToken?,
        volume: CastVolume?, clock: any HostClock, errors: CastErrors, images: any ImageChoosing
    ) {
        self.session = session
        self.images = images
        self.appID = appID
        self.clock = clock
        self.errors = errors
        mapping = CastUpdates(errors: errors)
        let rejoined = app.map { $0.sessionID == rejoin?.sessionID } ?? false
        self.rejoined = rejoined
        ownsApp = app?.origin == .launched || rejoined
        let fixed = volume?.controlType == .fixed
        var capabilities = endpoint.capabilities
        if fixed {
            capabilities[.volumeDevice] = .unsupported
            capabilities[.mute] = .unsupported
        }
        descriptor = RouteSessionDescriptor(
            endpoint: endpoint, delivery: .pull(PullRequirements(receiverAddress: session.remoteAddress)),
            capabilities: capabilities,
            volume: fixed
                ? .fixed
                : VolumeDescriptor(handling: .adjustable, step: volume?.stepInterval ?? 0.01, readback: .events),
            rejoinToken: app.map { CastRejoinToken(appID: $0.appID, sessionID: $0.sessionID).text },
            joined: app?.origin == .joined)
        latest = LatestValue(RouteSessionUpdate(connection: .connected))
    }

    /// Begins to watch the device. Called once, before the session is given away.
    func start() async {
        if rejoined { await takeUp() }
        take(await session.current)
        let states = await session.states()
        watcher = Task {
            for await state in states {
                self.take(state)
                await self.askQueue()
            }
            self.take(await self.session.current)
            self.latest.finish()
        }
    }

    nonisolated func updates() -> AsyncStream<RouteSessionUpdate> { latest.stream() }

    // MARK: Load

    func load(_ media: PreparedMedia, timeline: Timeline?, autoplay: Bool) async throws {
        defer { callReturned() }
        guard case .pull(let item) = media else {
            throw RouterError(
                .unsupported, "a Cast device fetches a URL and takes no packets", hint: "Hand it a URL", scope: .item)
        }
        try await load(item, by: .load(CastLoad(item, autoplay: autoplay, choosing: images)))
    }

    /// Loads by this request, and returns when the device plays or holds it ready.
    func load(_ item: PullMedia, by request: CastMediaRequest) async throws {
        let now = latest.value
        // A device that was taken over is not taken back unasked.
        if now.connection == .ended { throw ending ? cancelled() : errors.superseded(by: now.foreign) }
        if now.connection == .failed { throw now.error ?? errors.lost(.closedByPeer) }
        try await ensureApp()
        tokens.add(item)
        lastQuestion = nil
        displaced = loaded?.mediaSessionID ?? displaced
        loaded = CastLoaded(token: item.token, url: item.url, before: state.media.currentID)
        publish()
        do {
            let handle = await session.media(request)
            let updates = try mediaUpdates(await handle.result())
            loaded?.answer(updates)
            take(await session.current)
            try await untilStarted()
        } catch let error as RouterError {
            if error.code != .cancelled, error.code != .commandSuperseded { loaded?.failure = error }
            publish()
            throw error
        }
    }

    /// The app may not run yet, where opening would have displaced somebody else's.
    private func ensureApp() async throws {
        do {
            let before = await session.current.runningApp
            let app = try await session.launchOrJoin(appID: appID)
            if before == nil { ownsApp = app.origin == .launched }
        } catch {
            throw ending ? cancelled() : errors.opening(error)
        }
    }

    private func mediaUpdates(_ result: CastRequestResult) throws -> [CastMediaStatusUpdate] {
        switch result {
        case .completed(.mediaStatus(let updates)): return updates
        case .completed: return []
        case .replaced: throw RouterError(.commandSuperseded, "another load took the place of this one", scope: .item)
        case .cancelled: throw cancelled()
        case .failed(let failure): throw ending ? cancelled() : errors.request(failure, doing: "loading")
        }
    }

    /// Returns when the device plays or holds the item ready, and throws when it will not.
    ///
    /// Buffering is no failure, but to buffer for ever is.
    private func untilStarted() async throws {
        let clock = clock
        let states = await session.states()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.watchStart(states) }
            group.addTask {
                try await clock.sleep(nanoseconds: Self.startLimit)
                throw await self.startTimedOut()
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func watchStart(_ states: AsyncStream<CastSessionState>) async throws {
        for await state in states {
            take(state)
            if try hasStarted() { return }
        }
        take(await session.current)
        guard try !hasStarted() else { return }
        throw cancelled()
    }

    private func hasStarted() throws -> Bool {
        let update = latest.value
        if ending { throw cancelled() }
        if update.connection == .failed { throw update.error ?? errors.lost(.closedByPeer) }
        if update.connection == .ended { throw errors.superseded(by: update.foreign) }
        switch update.media {
        case .playing, .paused: return true
        case .none, .loading, .buffering:
            // Told apart from any item, after the answer: some receivers give no status with it.
            if let failure = state.mediaFailure { throw errors.media(failure) }
            return false
        case .stopped:
            switch update.stopReason {
            // Shorter than the news of it.
            case .finished: return true
            case .error: throw update.error ?? errors.media(CastMediaFailure())
            case .replaced: throw RouterError(.commandSuperseded, "somebody else loaded something", scope: .item)
            default: throw RouterError(.commandSuperseded, "somebody stopped it before it began", scope: .item)
            }
        }
    }

    private func startTimedOut() -> RouterError {
        RouterError(
            .timeout, "\(errors.name) took the media and did not begin to play",
            hint: "Check that the device can fetch it: it may not reach this machine", scope: .item, retry: .later)
    }

    // MARK: Commands

    func perform(_ command: RouteCommand) async throws -> CommandOutcome {
        guard let id = loaded?.mediaSessionID, let status = state.media[id], !status.hasEnded else {
            // Nothing plays: that is what stop is for.
            return command == .stop ? .succeeded : .noActionableItem
        }
        switch command {
        case .play: return try await ask(.play(mediaSessionID: id), doing: "playing")
        case .pause:
            if let refusal = refusal(.pause, status, "pausing") { return refusal }
            return try await ask(.pause(mediaSessionID: id), doing: "pausing")
        case .seek(let time, let resume):
            if let refusal = refusal(.seek, status, "seeking") { return refusal }
            return try await ask(
                .seek(mediaSessionID: id, position: max(0, time.seconds), resume: resume ? .start : .pause),
                doing: "seeking")
        case .stop: return try await ask(.stop(mediaSessionID: id), doing: "stopping")
        case .setRate(let rate):
            if let refusal = refusal(.playbackRate, status, "changing the speed") { return refusal }
            return try await ask(.setPlaybackRate(mediaSessionID: id, rate), doing: "changing the speed")
        case .selectTracks(let tracks):
            if let refusal = refusal(.editTracks, status, "choosing tracks") { return refusal }
            return try await ask(
                .editTracks(mediaSessionID: id, CastTracksEdit(activeTrackIDs: tracks)), doing: "choosing tracks")
        case .skipAd:
            guard (try? CastAdTimeline(status).checkSkip(at: clock.now())) != nil else { return .denied }
            return try await ask(.skipAd(mediaSessionID: id), doing: "skipping the ad")
        case .setRepeat(let mode):
            let update = CastQueueUpdate(repeatMode: mode == .off ? .off : mode == .one ? .single : .all)
            return try await ask(.queueUpdate(mediaSessionID: id, update), doing: "setting how the queue repeats")
        }
    }

    /// Of what the item that plays does not take, as the device says itself.
    private func refusal(
        _ command: CastMediaCommands, _ status: CastMediaStatus, _ doing: String
    ) -> CommandOutcome? {
        let isLive = status.media?.streamType == .live
        // A live stream plays and stops; one that can be gone back in can be held too (C11).
        let isFixed = isLive && status.liveRange == nil && [.pause, .seek].contains(command)
        let takes = status.supportedMediaCommands.map { $0.contains(command) } ?? true
        return takes && !isFixed ? nil : .failed(errors.notTaken(doing, live: isLive))
    }

    private func ask(_ request: CastMediaRequest, doing: String) async throws -> CommandOutcome {
        let outcome = try outcome(of: await session.media(request).result(), doing: doing)
        take(await session.current)
        return outcome
    }

    func outcome(of result: CastRequestResult, doing: String) throws -> CommandOutcome {
        switch result {
        case .completed: return .succeeded
        case .replaced: return .superseded
        case .cancelled: throw cancelled()
        case .failed(.timedOut): return .timedOut
        case .failed(.connectionLost(let error)): throw ending ? cancelled() : errors.lost(error)
        case .failed(let failure): return .failed(errors.request(failure, doing: doing))
        }
    }

    /// Cast devices show what `load` gave them.
    func present(_ nowPlaying: NowPlaying) async throws {}

    func setVolume(_ volume: VolumeState) async throws {
        guard descriptor.volume.handling == .adjustable else { throw errors.fixedVolume }
        do {
            try await session.setDeviceVolume(volume)
        } catch {
            throw ending ? cancelled() : errors.settingVolume(error)
        }
        take(await session.current)
    }

    func setStreamVolume(_ volume: VolumeState) async throws {
        guard let id = loaded?.mediaSessionID, let status = state.media[id], !status.hasEnded else {
            throw RouterError(
                .unavailable, "nothing plays on \(errors.name)", hint: "Play something first", scope: .command)
        }
        if status.volume?.level != volume.level.value {
            if case .failed(let error)? = refusal(.streamVolume, status, "setting the volume of the stream") {
                throw error
            }
            try await setStream(.setVolume(mediaSessionID: id, level: volume.level.value))
        }
        if status.volume?.muted ?? false != volume.muted {
            if case .failed(let error)? = refusal(.streamMute, status, "muting the stream") { throw error }
            try await setStream(.setMuted(mediaSessionID: id, volume.muted))
        }
    }

    private func setStream(_ request: CastMediaRequest) async throws {
        let doing = "setting the volume of the stream"
        switch try await ask(request, doing: doing) {
        case .failed(let error): throw error
        case .timedOut: throw errors.request(.timedOut, doing: doing)
        default: break
        }
    }

    // MARK: End

    func end(_ reason: EndReason) async {
        guard !ending else {
            await watcher?.value
            return
        }
        ending = true
        take(await session.current)
        // Where another session of ours takes over, nothing goes on either: it may be ended before it comes to play.
        let stops = [.stop, .transfer, .replaced].contains(reason)
        // A load that has no answer yet has nothing that could be stopped but the app.
        let isAwaited = loaded.map { $0.mediaSessionID == nil && $0.failure == nil } ?? false
        let ours = [loaded?.mediaSessionID, displaced]
        let foreign = state.media.current.map { !$0.hasEnded && !ours.contains($0.mediaSessionID) } ?? false
        // An app of ours is stopped, and what plays in it ends too; but not when somebody else plays in it by now.
        // So it is when the route is given up, as after a load that failed: where the connection is gone too, nothing
        // is asked. Who takes over goes on in the app.
        let endsApp = [.stop, .transfer, .lost].contains(reason) && ownsApp
        let stopApp = (endsApp || (stops && isAwaited)) && !foreign
        if stops, !stopApp, let id = loaded?.mediaSessionID, let status = state.media[id], !status.hasEnded {
            _ = await session.media(.stop(mediaSessionID: id)).result()
        }
        await session.end(stopApp: stopApp)
        await watcher?.value
        watcher = nil
    }

    // MARK: State

    /// News of the queue from now on is from after this call.
    func callReturned() {
        calls += 1
        publish()
    }

    func take(_ new: CastSessionState) {
        // States come by two ways, and the slower one must not turn back time.
        guard new.revision >= state.revision else { return }
        state = new
        loaded?.observe(new.media)
        loaded?.follow(new, tokens)
        publish()
    }

    func publish() {
        var update = mapping.update(state, loaded: loaded)
        if descriptor.capabilities.has(.queueOnDevice), loaded?.started == true, update.connection == .connected {
            update.window = state.upcoming(tokens).map { there in
                there.map { WindowEntry($0.item, token: $0.token) }
            }
        }
        update.calls = calls
        if update != latest.value { latest.set(update) }
        if update.connection == .ended || update.connection == .failed { latest.finish() }
    }

    func cancelled() -> RouterError {
        RouterError(.cancelled, "the session on \(errors.name) was ended", scope: .session)
    }
}
