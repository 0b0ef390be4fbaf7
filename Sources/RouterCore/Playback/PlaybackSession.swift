import RouteBackend
import RouteModel

/// One queue, one timeline and the routes that play from it.
///
/// Rooms that are sent packets (push) play by the timeline of one `PushRun`; rooms that fetch (pull) are loaded item by
/// item, following the timeline where there is one, and each other's reports where there is none.
actor PlaybackSession {
    let id: SessionID
    let environment: SessionEnvironment
    let jobs = JobOwner()

    var queue: PlayQueue
    var members: [Member]
    var run: PushRun?
    var runCount = 0
    var earlyMarks: [PushRun.Mark] = []
    var mediaState: MediaState = .none
    var stopReason: StopReason?
    var anchor: PlaybackAnchor?
    /// Media tokens of items, minted when first needed and withdrawn at the end.
    var tokens: [ItemID: MediaToken] = [:]
    var consecutiveFailures = 0
    var lastItemError: RouterError?
    var ending = false
    var ended = false
    var started = false
    var firstStart: MediaTime
    private var lane = CommandLane()

    init(
        id: SessionID, items: [QueueItem], members: [Member], start: MediaTime, environment: SessionEnvironment
    ) {
        self.id = id
        queue = PlayQueue(items: items)
        self.members = members
        firstStart = start
        self.environment = environment
    }

    var clock: any HostClock { environment.clock }
    var alivePush: [Int] { members.indices.filter { members[$0].alive && members[$0].push != nil } }
    var alivePull: [Int] { members.indices.filter { members[$0].alive && members[$0].pull != nil } }

    func snapshot() -> SessionSnapshot {
        let connection: ConnectionState =
            if ended {
                members.allSatisfy { $0.phase == .failed } ? .failed : .ended
            } else if ending {
                .ending
            } else if members.contains(where: { $0.alive }) {
                .connected
            } else {
                .connecting
            }
        return SessionSnapshot(
            id: id, connection: connection, media: mediaState, stopReason: stopReason,
            members: members.map { $0.snapshot() }, queue: queue.snapshot, anchor: anchor,
            error: stopReason == .error ? lastItemError : nil, now: clock.now())
    }

    func publish() async { await environment.changed(snapshot()) }

    func notice(_ severity: Notice.Severity, _ message: String, hint: String? = nil, member: Int? = nil) async {
        let route = member.map { members[$0].route }
        await environment.notice(Notice(severity, message, hint: hint, route: route))
    }

    /// Runs `body` when no other command of this session runs.
    func serially<Value: Sendable>(_ body: () async throws -> Value) async rethrows -> Value {
        if !lane.enter() {
            await withCheckedContinuation { lane.enqueue($0) }
        }
        defer { lane.leave() }
        return try await body()
    }

    // MARK: Start

    /// Opens every room and starts the first item. Throws when no room plays.
    func start(volume: VolumePosition?) async throws {
        try await serially {
            mediaState = .loading
            let likelyPush = members.contains { member in
                member.candidates.first?.endpoint.capabilities.has(.playAudioStream) ?? false
            }
            if likelyPush, let item = queue.item(queue.current) {
                // Decoding begins while the rooms are still being connected.
                run = try await makeRun(item, start: firstStart)
            }
            if let current = queue.current { jobs.add { [self] in await learnFacts(of: current) } }
            await publish()
            await openAll()
            guard members.contains(where: { $0.alive }) else {
                let error = startError()
                await finish(.error)
                throw error
            }
            await loadAll(at: firstStart)
            guard members.contains(where: { $0.phase == .playing }) else {
                let error = startError()
                await finish(.error)
                throw error
            }
            started = true
            mediaState = .playing
            for index in members.indices where members[index].phase == .playing {
                await settleVolume(index, wanted: volume)
            }
            for member in members where member.phase == .playing {
                for failure in member.failures { try? await environment.store.rememberFailure(failure) }
                if let endpoint = member.session?.descriptor.endpoint {
                    try? await environment.store.forgetFailure(of: endpoint.id)
                }
            }
            await remember()
            await publish()
        }
    }

    /// What to tell when no room plays: the one error, or the first with the others as causes.
    private func startError() -> RouterError {
        let errors = members.compactMap { member in member.error.map { (member.name, $0) } }
        guard var error = errors.first?.1 else {
            return RouterError(.internal, "no room came up, and none said why", hint: "Report this with -vv output")
        }
        if errors.count > 1 {
            error.causes += errors.dropFirst().map { "\($0.0): \($0.1.message)" }
        }
        return error
    }

    private func openAll() async {
        let (opened, continuation) = AsyncStream.makeStream(of: Void.self)
        for index in members.indices {
            jobs.add { [self] in
                await open(index)
                continuation.yield()
                await joinIfLate(index)
            }
        }
        let patience = clock.now() + openPatienceNanoseconds
        let clock = clock
        jobs.add {
            try? await clock.sleep(until: patience)
            continuation.finish()
        }
        var remaining = members.count
        for await _ in opened {
            remaining -= 1
            // Waiting goes on only while there is a room that could still make it.
            if remaining == 0 { break }
        }
        // With no room at all open, the slow ones are all there is to wait for.
        while !members.contains(where: { $0.alive }), members.contains(where: { $0.phase == .opening }) {
            guard (try? await clock.sleep(nanoseconds: 50_000_000)) != nil else { return }
        }
    }

    /// A room whose connection came up after the others had started.
    private func joinIfLate(_ index: Int) async {
        // The start holds the lane: whatever it has not loaded itself by its end is late.
        await serially {
            guard started, !ended, members[index].phase == .open else { return }
            await load(index)
            await publish()
        }
    }

    /// Tries a room's endpoints in order until one opens.
    func open(_ index: Int) async {
        while !members[index].candidates.isEmpty, !ended {
            let endpoint = members[index].candidates.removeFirst().endpoint
            members[index].phase = .opening
            members[index].generation += 1
            await publish()
            do {
                guard let provider = environment.provider(endpoint) else {
                    throw RouterError(.unsupported, "no backend for \(endpoint.protocol.displayName)", scope: .route)
                }
                let learnt = (try? await environment.store.learnt(endpoint: endpoint.id, firmware: endpoint.firmware))
                let store = environment.store
                let phase = environment.phase
                let name = members[index].name
                let session = try await provider.open(
                    endpoint,
                    options: OpenOptions(
                        phase: { phase("\(name): \($0)") }, password: await environment.password(endpoint),
                        learnt: learnt ?? [:],
                        learn: { fact, value in
                            try? await store.learn(
                                fact, value: value, endpoint: endpoint.id, firmware: endpoint.firmware)
                        },
                        senderName: environment.senderName))
                guard !ended else {
                    await session.end(.stop)
                    return
                }
                members[index].session = session
                members[index].phase = .open
                members[index].error = nil
                let generation = members[index].generation
                jobs.add { [self] in await follow(index, session, generation: generation) }
                await publish()
                return
            } catch {
                await endpointFailed(index, endpoint, RouterError(wrapping: error))
            }
        }
    }

    /// An endpoint failed before sound: says so, and what is tried next.
    func endpointFailed(_ index: Int, _ endpoint: Endpoint, _ error: RouterError) async {
        members[index].session = nil
        members[index].error = error
        members[index].failures.append(
            EndpointFailure(
                endpoint: endpoint.id, firmware: endpoint.firmware, code: error.code, message: error.message))
        if let next = members[index].candidates.first?.endpoint, !ended {
            await notice(
                .warning,
                "\(members[index].name): \(endpoint.protocol.displayName) failed (\(error.message)), "
                    + "trying \(next.protocol.displayName)", member: index)
        } else {
            members[index].phase = .failed
            await publish()
        }
    }

    // MARK: Volume at the start

    /// Never touches a volume unasked where the device reports one; where it reports none, sends the remembered one or
    /// a third, since nobody could know what it is (`model.md` section 6).
    private func settleVolume(_ index: Int, wanted: VolumePosition?) async {
        guard let session = members[index].session, session.descriptor.volume.handling == .adjustable else { return }
        var target: VolumeState?
        if let wanted {
            target = VolumeState(level: members[index].limited(wanted))
        } else if session.descriptor.volume.readback == .none || latestVolume(index) == nil {
            if await currentVolume(of: session) == nil {
                let remembered = try? await environment.store.volume(of: members[index].route)
                let level = (remembered ?? nil)?.level ?? VolumePosition(1.0 / 3)
                target = VolumeState(level: members[index].limited(level))
            }
        }
        if let limit = members[index].volumeLimit, target == nil, let reported = members[index].latest.volume,
            reported.level > limit
        {
            target = VolumeState(level: limit, muted: reported.muted)
        }
        guard let target else { return }
        do {
            try await session.setVolume(target)
            members[index].volume = target
            if wanted != nil { try? await environment.store.saveVolume(target, of: members[index].route) }
        } catch {
            await notice(
                .warning,
                "\(members[index].name): the volume could not be set (\(RouterError(wrapping: error).message))",
                member: index)
        }
    }

    private func latestVolume(_ index: Int) -> VolumeState? { members[index].latest.volume }

    private func currentVolume(of session: any RouteSession) async -> VolumeState? {
        for await update in session.updates() { return update.volume }
        return nil
    }

    // MARK: Persistence

    func remember() async {
        let store = environment.store
        let queue = queue.snapshot
        var rejoin: [RouteID: String] = [:]
        for member in members {
            if let token = member.session?.descriptor.rejoinToken { rejoin[member.route] = token }
        }
        let record = SessionRecord(
            session: id, routes: members.map(\.route), item: queue.current,
            position: anchor?.position(at: clock.now()) ?? .zero, playing: mediaState == .playing, rejoin: rejoin)
        do {
            try await store.saveQueue(queue, session: id)
            try await store.saveSession(record)
        } catch {
            // Playing goes on without: the person is told once.
            if !storageFailureTold {
                storageFailureTold = true
                let error = RouterError(wrapping: error)
                await notice(.warning, error.message, hint: error.hint)
            }
        }
    }

    private var storageFailureTold = false

    // MARK: End

    func end(_ reason: EndReason) async {
        guard !ended, !ending else { return }
        ending = true
        await publish()
        await endMembers(reason)
        await finish(reason == .leave ? .replaced : .cancelled, leaving: reason == .leave)
    }

    func endMembers(_ reason: EndReason) async {
        // A room that was lost plays what somebody else wants by now: that is not ours to stop.
        let sessions = members.compactMap { member in
            member.session.map { ($0, member.phase == .failed ? EndReason.lost : reason) }
        }
        await withDiscardingTaskGroup { group in
            for (session, reason) in sessions { group.addTask { await session.end(reason) } }
        }
    }

    /// The last thing a session does. `leaving`: a device goes on without us, and may still fetch.
    func finish(_ reason: StopReason, leaving: Bool = false) async {
        guard !ended else { return }
        ended = true
        stopReason = reason
        mediaState = .stopped
        for index in members.indices where members[index].alive { members[index].phase = .finished }
        await endMembers(leaving ? .leave : .stop)
        if !leaving {
            await environment.media.withdraw(Array(tokens.values))
            try? await environment.store.removeMediaTokens(items: Array(tokens.keys))
        }
        try? await environment.store.saveQueue(queue.snapshot, session: id)
        try? await environment.store.removeSession(id)
        await publish()
        jobs.finish()
    }
}

extension RouterError {
    /// Any error as the product's one; what is not one already is a defect of ours, but for cancellation.
    init(wrapping error: any Error) {
        if let error = error as? RouterError {
            self = error
        } else if error is CancellationError {
            self = RouterError(.cancelled, "cancelled")
        } else {
            self = RouterError(
                .internal, "unexpected: \(type(of: error))", hint: "Report this with the output of -vv",
                causes: [String(describing: error)])
        }
    }
}
