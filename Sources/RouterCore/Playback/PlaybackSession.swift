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
    /// The latest run of which something was decoded.
    var begunRun = 0
    /// What an earlier process played is taken up: something of it was heard.
    var isTakenUp = false
    var droppedTimeline: Timeline?
    /// The run with which fetching rooms were last told to begin.
    var runToldToPull = 0
    var station = Station()
    var earlyMarks: [PushRun.Mark] = []
    var mediaState: MediaState = .none
    var stopReason: StopReason?
    var anchor: PlaybackAnchor?
    /// Media tokens of items, minted when first needed and withdrawn at the end.
    var tokens: [ItemID: MediaToken] = [:]
    /// Notices that came with items, the newest last.
    var told: [String] = []
    /// Whether items have a picture, as far as they were looked into.
    var pictures: [ItemID: Bool] = [:]
    var consecutiveFailures = 0
    var failures = Failures()
    var playLog = PlayLog()
    var lastEnd: ItemEnd?
    var openPlays = OpenPlays()
    /// What the feed of the latest run was told to go on with, in order: the decoder runs ahead of what is heard.
    var feedAnswers: [(after: ItemID, next: ItemID?)] = []
    var awaitedEnd: AwaitedEnd?
    var lastItemError: RouterError?
    var rate: Double
    /// When the last command was given that the position depends on: what a device reported before says nothing of it.
    var commandedAt = Int64.min
    var ending = false
    var ended = false
    /// What plays goes on without us.
    var left = false
    /// `finish` is through: the devices are free.
    private(set) var isOver = false
    private var awaitingEnd: [CheckedContinuation<Void, Never>] = []
    /// Who waits until no connection is being made any more.
    var awaitingOpens: [AsyncStream<Void>.Continuation] = []
    /// Rooms that `join` is about to bring in.
    var comingIn: Set<Int> = []
    /// Items whose tags were looked into before their turn, and whether some are just now.
    var learnt: Set<ItemID> = []
    var isLearning = false
    /// What was announced over it of late.
    var clips: [MediaToken] = []
    /// What the first fetching room reported last.
    var lastReport: ReportedPosition?
    /// Another place or item is being decoded, and not heard yet.
    var isRestarting = false
    var started = false
    var firstStart: MediaTime
    /// When the last room that played was lost.
    var aloneSince: Int64?
    var wantedVolume: VolumePosition?
    /// What makes rooms as loud as they are to begin; each ends when that is done.
    var settlings: [AsyncStream<Void>] = []
    var startsPaused = false
    /// Whether its place is written now and then.
    var keepsPlace = false
    /// Told whenever a room that is to take over has news.
    var transferNews: AsyncStream<Void>.Continuation?
    /// How loud the rooms are together, and what each is to be told next.
    var volumes = GroupVolume()
    var volumeTargets: [Int: VolumeState] = [:]
    /// A change on a device moves the master.
    var volumesLinked = false
    /// The other rooms are about to be told where the master was moved to.
    var movesLinked = false
    /// The rooms of groups, by `@group:` and the name in small letters.
    var groups: [String: Set<String>] = [:]
    /// How loud rooms of a group that was turned to 0 were against its loudest.
    var silentShares: [Int: Double] = [:]
    /// What the process before had written, for rooms that were being readied as it was gone.
    var readied: SessionRecord?
    /// Where the process before was moving it to: these may play it still.
    var leftMoving: [SessionRecord.Member] = []
    /// Counts fades.
    var fadeNumber = 0
    /// Fades that go on, with the rooms for which they are over: somebody has set or turned those, or another fade has
    /// them.
    var fades: [Int: Set<Int>] = [:]
    var watchesQuietHours = false
    var coalescer = CommandCoalescer()
    /// Commands with a deadline that are being carried out, or have been.
    var begun: Set<CommandID> = []
    /// Where the first item is to begin, by a seek that came while it was loaded.
    var heldSeek: MediaTime?
    var heldSeeks = 0
    /// What is announced over it now.
    var announcement: ParkedPlay?
    private var lane = CommandLane()

    private var unsaved = false
    private var published = 0

    init(
        id: SessionID, queue: PlayQueue, members: [Member], start: MediaTime, rate: Double = 1,
        environment: SessionEnvironment
    ) {
        self.id = id
        self.queue = queue
        self.members = members
        self.rate = rate
        firstStart = start
        self.environment = environment
    }

    var clock: any HostClock { environment.clock }
    /// Shared for as long as a room plays what another sender has put there.
    var ownership: SessionOwnership {
        members.contains { $0.isShared && $0.takesPart && !$0.isOver } ? .shared : .ours
    }
    /// Whether no room plays anything of ours.
    private var isInterrupted: Bool {
        ownership == .shared && members.allSatisfy { !$0.alive || $0.isShared }
    }
    var routes: Set<RouteID> { Set(members.filter { $0.phase != .left }.map(\.route)) }
    var alivePush: [Int] { members.indices.filter { members[$0].alive && members[$0].push != nil } }
    var alivePull: [Int] { members.indices.filter { members[$0].alive && members[$0].pull != nil } }

    func publish() async {
        forgetSilentRooms()
        for index in members.indices { members[index].driftTold = members[index].drift(from: anchor) }
        if !ended { queue.interrupt(isInterrupted) }
        keepHistory()
        watchEnd()
        rememberSoon()
        published += 1
        await environment.changed(titled(snapshot()), published)
    }

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

    /// Calls a room's session when no other call of ours is under way there.
    func call<Value: Sendable>(
        _ index: Int, _ session: any RouteSession, _ body: (any RouteSession) async throws -> Value
    ) async throws -> Value {
        if !members[index].lane.enter() {
            await withCheckedContinuation { members[index].lane.enqueue($0) }
        }
        defer { members[index].lane.leave() }
        guard !ended else { throw RouterError(.cancelled, "the session has ended", scope: .session) }
        return try await body(session)
    }

    // MARK: Start

    /// Opens every room and starts the first item. Throws when no room plays.
    ///
    /// - Parameter paused: it is only readied, to be gone on with.
    func start(volume: VolumePosition?, paused: Bool = false) async throws {
        wantedVolume = volume
        startsPaused = paused
        for index in members.indices { members[index].isSettled = false }
        do {
            try await serially { try await startAlone() }
        } catch {
            await finish(.error)
            throw RouterError(wrapping: error)
        }
        await endIfNobodyPlays()
    }

    private func startAlone() async throws {
        guard !ended, !ending else { throw startError() }
        mediaState = .loading
        let likelyPush = members.contains { member in
            member.candidates.first?.endpoint.capabilities.has(.playAudioStream) ?? false
        }
        if likelyPush, let item = queue.item(queue.current) {
            // Decoding begins while the rooms are still being connected.
            run = try await makeRun(item, start: firstStart)
            guard !ended, !ending else { throw startError() }
        }
        if let current = queue.current { jobs.add { [self] in await learnFacts(of: current) } }
        await publish()
        await openAll()
        guard members.contains(where: { $0.alive }) else { throw startError() }
        if let held = await takeHeldSeek() {
            firstStart = held
            if run != nil, let item = queue.item(queue.current) { run = try await makeRun(item, start: held) }
        }
        if run == nil, !alivePush.isEmpty, let item = queue.item(queue.current) {
            run = try await makeRun(item, start: firstStart)
        }
        await keepNormalSpeed()
        // Devices that go on without us play from here on, whatever becomes of this process.
        await remember()
        await beginFirst(at: firstStart)
        await passOverBrokenItems()
        await settled()
        guard !ended, members.contains(where: { $0.phase == .playing || $0.phase == .finished }) else {
            throw startError()
        }
        started = true
        mediaState = startsPaused ? .paused : .playing
        keepPlace()
        for index in members.indices where members[index].phase == .opening { tryNextEndpoint(index) }
        // A room that opened while the others loaded.
        for index in members.indices
        where members[index].phase == .open && !members[index].itemEnded && !members[index].loading {
            await load(index)
        }
        await settled()
        // What was turned up there since.
        await keepLimits()
        for index in members.indices where members[index].phase == .playing {
            await rememberEndpoints(members[index])
        }
        await tellNormalSpeed()
        await remember()
        await publish()
        fillWindows()
    }

    /// Where only fetching rooms are and they cannot play an item, the next one may be better.
    private func passOverBrokenItems() async {
        while !ended, !members.contains(where: { $0.phase == .playing }), !alivePull.isEmpty,
            alivePull.allSatisfy({ members[$0].itemEnded }), let current = queue.current
        {
            if let place = await againPlace(of: current) {
                await loadAll(at: place)
                continue
            }
            guard !hasGivenUp, let next = queue.item(after: current) else { return }
            queue.select(next.id)
            if anchor?.item != next.id { anchor = nil }
            await beginFirst(at: next.start)
        }
    }

    private func beginFirst(at start: MediaTime) async {
        if startsPaused { mediaState = .paused }
        // Not at its beginning: whoever looks before the device has said so is to see that.
        if startsPaused || start > .zero, run == nil, let item = queue.item(queue.current) {
            anchor = PlaybackAnchor(
                item: item.id, time: start, instant: clock.now(), rate: 0, quality: .estimated,
                duration: item.metadata.duration)
        }
        if startsPaused { await readyAll(at: start) } else { await loadAll(at: start) }
    }

    /// What failed before another endpoint played is tried last from now on, if it is the protocol's doing: a device
    /// that was busy or off, or wanted a password, may well play the next time.
    func rememberEndpoints(_ member: Member) async {
        let lasting: Set<RouterError.Code> = [.protocolViolation, .unsupported, .timeout]
        for failure in member.failures where lasting.contains(failure.code) {
            try? await environment.store.rememberFailure(failure)
        }
        if let endpoint = member.session?.descriptor.endpoint {
            try? await environment.store.forgetFailure(of: endpoint.id)
        }
    }

    /// What to tell when no room plays: the one error, or the first with the others as causes.
    private func startError() -> RouterError {
        if ended || ending || Task.isCancelled { return RouterError(.cancelled, "stopped before it played") }
        let errors = members.compactMap { member in member.error.map { (member.name, $0) } }
        guard var error = errors.first?.1 ?? lastItemError else {
            return RouterError(.internal, "no room came up, and none said why", hint: "Report this with -vv output")
        }
        if errors.count > 1 {
            error.causes += errors.dropFirst().map { "\($0.0): \($0.1.message)" }
        }
        return error
    }

    private func openAll() async {
        // The jobs of one that has ended are dropped, and none of them would tell that it is through.
        guard !ended else { return }
        let (opened, continuation) = AsyncStream.makeStream(of: Void.self)
        var remaining = 0
        for index in members.indices {
            let isTaken = jobs.add { [self] in
                await open(index)
                continuation.yield()
                await joinIfLate(index)
            }
            if isTaken { remaining += 1 }
        }
        guard remaining > 0 else { return }
        let patience = clock.now() + openPatienceNanoseconds
        let clock = clock
        jobs.add {
            try? await clock.sleep(until: patience)
            continuation.finish()
        }
        for await _ in opened {
            remaining -= 1
            // Waiting goes on only while there is a room that could still make it.
            if remaining == 0 { break }
        }
        // With no room at all open, the slow ones are all there is to wait for.
        while !ended, !members.contains(where: { $0.alive }), members.contains(where: { $0.phase == .opening }) {
            guard (try? await clock.sleep(nanoseconds: 50_000_000)) != nil else { return }
        }
    }

    /// Tries a room's endpoints in order until one opens.
    ///
    /// - Parameter makingRoom: has others of ours give up the room, should its device be busy: it may be so with them.
    func open(_ index: Int, makingRoom: (@Sendable () async -> Void)? = nil) async {
        guard !members[index].isBeingOpened else { return }
        members[index].isBeingOpened = true
        defer { noLongerOpens(index) }
        var makingRoom = makingRoom
        while !members[index].candidates.isEmpty, !ended {
            let candidate = members[index].candidates.removeFirst()
            let endpoint = await environment.current(candidate.endpoint)
            members[index].phase = .opening
            members[index].generation += 1
            await publish()
            do {
                let session = try await openSession(endpoint, name: members[index].name)
                guard !ended else {
                    await session.end(.stop)
                    return
                }
                opened(index, session)
                let generation = members[index].generation
                jobs.add { [self] in await follow(index, session, generation: generation) }
                await publish()
                return
            } catch {
                let error = RouterError(wrapping: error)
                if error.code == .routeBusy, let makeRoom = makingRoom {
                    makingRoom = nil
                    await makeRoom()
                    members[index].candidates.insert(candidate, at: 0)
                    continue
                }
                await endpointFailed(index, endpoint, error)
            }
        }
    }

    func openSession(_ endpoint: Endpoint, name: String, rejoin: String? = nil) async throws -> any RouteSession {
        try await environment.open(endpoint, name: name, rejoin: rejoin)
    }

    func opened(_ index: Int, _ session: any RouteSession) {
        members[index].session = session
        members[index].latest = RouteSessionUpdate()
        members[index].echo = VolumeEcho()
        members[index].phase = .open
        members[index].error = nil
        members[index].window = []
        members[index].calls = 0
        members[index].deviceRepeat = nil
        members[index].cutOff = false
        members[index].mayBeReadied = false
        members[index].isShared = false
        members[index].endpoint = session.descriptor.endpoint
        members[index].rejoinToken = session.descriptor.rejoinToken ?? members[index].rejoinToken
    }

    /// An endpoint failed before sound: says so, and what is tried next.
    func endpointFailed(_ index: Int, _ endpoint: Endpoint, _ error: RouterError) async {
        members[index].session = nil
        // What its best way says is told, unless another one says what a person can do: a device that wants a code merely
        // refuses by the ways that know none.
        let best = members[index].error
        let telling = error.wantsPerson && best?.wantsPerson != true ? error : best ?? error
        members[index].error = telling
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
            // The only room's error is the command's own, and told there.
            if members.count > 1, telling.code != .cancelled {
                await notice(.error, "\(members[index].name): \(telling.message)", hint: telling.hint, member: index)
            }
            await publish()
        }
    }

    func current(of session: any RouteSession) async -> RouteSessionUpdate? {
        for await update in session.updates() { return update }
        return nil
    }

    // MARK: Persistence

    /// Writes what a later process needs to take this session up: soon, and many changes in one.
    func rememberSoon() {
        guard !unsaved, started, !ended else { return }
        unsaved = true
        let clock = clock
        jobs.add { [self] in
            guard (try? await clock.sleep(nanoseconds: saveDelayNanoseconds)) != nil else { return }
            await rememberUnsaved()
        }
    }

    /// What is to be written soon is written now.
    func rememberUnsaved() async {
        if unsaved { await remember() }
    }

    func remember() async {
        unsaved = false
        // What this process is sent on its standard input, no other can go on with.
        guard !ended, !queue.readsStandardInput else { return }
        let store = environment.store
        let played = queue.recentlyPlayed
        var queue = queue.snapshot
        // Who takes it up after a restart is to find its place.
        queue.current = self.queue.current
        let shown = self.members.indices.filter { self.members[$0].takesPart }
        let members = shown.map { self.members[$0] }
        let moving =
            self.members.filter(\.joining).map { member in
                SessionRecord.Member(
                    route: member.route, name: member.name, room: member.room,
                    endpoint: member.session?.descriptor.endpoint)
            } + leftMoving
        var rejoin: [RouteID: String] = [:]
        for member in members {
            if let token = member.session?.descriptor.rejoinToken ?? member.rejoinToken {
                rejoin[member.route] = token
            }
        }
        var record = SessionRecord(
            session: id, routes: members.map(\.route), item: queue.current,
            position: place, playing: meansToPlay || announcement?.plays ?? false, rejoin: rejoin,
            members: zip(shown, members).map { index, member in
                SessionRecord.Member(
                    route: member.route, name: member.name, room: member.room,
                    endpoint: member.session?.descriptor.endpoint ?? member.endpoint,
                    window: member.window, volume: announcement?.volumes[index] ?? member.volume,
                    trim: volumes.trims[index])
            }, anchor: anchor, rate: rate)
        record.master = volumes.trims.isEmpty ? nil : volumes.master
        record.silencedMaster = volumes.silenced
        record.volumesLinked = volumesLinked ? true : nil
        record.played = played
        record.clips = clips.isEmpty ? nil : clips
        record.moving = moving.isEmpty ? nil : moving
        do {
            try await store.saveSession(record, with: queue)
            // It may have ended meanwhile, and what was written last would bring it back.
            if ended, !left { try await store.removeSession(id) }
        } catch {
            return await tellStorageFailure(RouterError(wrapping: error))
        }
        await notePlace()
    }

    /// What is still loading or buffering is to be heard, too, by whoever takes it up.
    private var meansToPlay: Bool { [.loading, .buffering, .playing].contains(mediaState) }

    /// Where the current item is; its beginning, where nothing else is known.
    private var place: MediaTime {
        guard let anchor, anchor.item == queue.current else { return queue.item(queue.current)?.start ?? .zero }
        return anchor.position(at: clock.now())
    }

    /// Playing goes on without: the person is told once.
    func tellStorageFailure(_ error: RouterError) async {
        guard !storageFailureTold else { return }
        storageFailureTold = true
        await notice(.warning, error.message, hint: error.hint)
    }

    private var storageFailureTold = false

    // MARK: End

    func end(_ reason: EndReason) async {
        await end(reason == .replaced ? .replaced : .cancelled, leaving: reason == .leave) { _ in
            reason == .replaced ? .stop : reason
        }
    }

    func giveUp(to routes: Set<RouteID>) async {
        await end(.replaced, leaving: false) { routes.contains($0.route) ? .replaced : .stop }
    }

    /// Returns when an end that is under way is through.
    func itsEnd() async {
        guard !isOver else { return }
        await withCheckedContinuation { awaitingEnd.append($0) }
    }

    private func end(_ reason: StopReason, leaving: Bool, _ each: (Member) -> EndReason) async {
        guard !ended, !ending else { return }
        ending = true
        cutAnnouncement()
        await giveBackVolumes(of: members.indices.filter { members[$0].isLent })
        await publish()
        let sessions = sessionsToEnd(each)
        await withDiscardingTaskGroup { group in
            for (session, reason) in sessions { group.addTask { await session.end(reason) } }
        }
        await finish(reason, leaving: leaving)
    }

    /// A room that was lost plays what somebody else wants by now: that is not ours to stop.
    private func sessionsToEnd(_ reason: (Member) -> EndReason) -> [(any RouteSession, EndReason)] {
        members.compactMap { member in
            member.session.map { ($0, member.phase == .failed ? .lost : reason(member)) }
        }
    }

    /// The last thing a session does. `leaving`: a device goes on without us, and may still fetch.
    func finish(_ reason: StopReason, leaving: Bool = false) async {
        guard !ended else { return }
        ended = true
        cutAnnouncement()
        left = leaving
        stopReason = reason
        mediaState = .stopped
        for index in members.indices {
            if members[index].phase == .suspended, let error = members[index].lostBy {
                // Nobody saw it play to its end.
                members[index].phase = .failed
                members[index].error = error
            } else if members[index].alive || [.held, .suspended].contains(members[index].phase) {
                members[index].phase = .finished
            }
        }
        let sessions = sessionsToEnd { _ in leaving ? .leave : .stop }
        await withDiscardingTaskGroup { group in
            for (session, reason) in sessions { group.addTask { await session.end(reason) } }
        }
        keepHistory()
        await writeHistory()
        do {
            if leaving {
                // Also what another sender has interrupted is taken up where it was.
                var last = queue.snapshot
                last.current = queue.current
                try await environment.store.saveQueue(last, session: id)
            } else {
                try await environment.store.saveLastQueue(queue.snapshot, session: id)
            }
        } catch {
            await tellStorageFailure(RouterError(wrapping: error))
        }
        if !leaving {
            // What goes on without us stays known, so that it can be joined again.
            await environment.media.withdraw(Array(tokens.values))
            try? await environment.store.removeMediaTokens(items: Array(tokens.keys))
            try? await environment.store.removeSession(id)
            // A part of another session's play is no session that people had.
            if environment.keepsHistory { try? await environment.store.saveEnding(ending(reason)) }
        }
        isOver = true
        await publish()
        jobs.finish()
        for waiting in awaitingEnd { waiting.resume() }
        awaitingEnd = []
    }
}

extension MediaSource {
    var isStandardInput: Bool { if case .live(let input) = self { input.kind == .standardInput } else { false } }
}

extension RouterError {
    /// Whether a person has to let us in before it is worth trying again.
    fileprivate var wantsPerson: Bool { [.authRequired, .authFailed, .pairingDenied].contains(code) }
}
