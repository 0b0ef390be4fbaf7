import RouteModel

/// Runs scenes on a router, several at once, and keeps schedules.
///
/// Scenes and schedules are only under way while `run` is; `shutdown` ends them in order. Scenes that want the same
/// room go one after the other, or the later one is refused, as it says itself (`when_busy`).
public actor SceneHost: SceneControlling, SceneScheduling {
    typealias Job = @Sendable () async -> Void

    struct Entry {
        var run: SceneRun
        var revision = 0
        var rooms: Set<String>
        var wantsCancel = false
        /// To go on to `finally`, and to be quick about that.
        var cancels: [AsyncStream<Void>.Continuation]
        /// Ends `finally` too.
        var end: AsyncStream<Void>.Continuation
        /// While it waits for other scenes.
        var turn: AsyncStream<Void>.Continuation?
    }

    let router: any RouterControlling
    let clock: any SceneClock
    let files: SceneFiles
    let tell: @Sendable (Notice) async -> Void
    let jobs: AsyncStream<Job>.Continuation
    private let jobStream: AsyncStream<Job>
    private var entries: [String: Entry] = [:]
    /// Ids in the order that runs began.
    private var order: [String] = []
    private var readers: [Int: AsyncStream<SceneRun>.Continuation] = [:]
    private var nextReader = 0
    let keepsTime: Bool
    private var isRunning = false
    private var isClosing = false
    private var idle: [CheckedContinuation<Void, Never>] = []
    var scheduling: ScheduleState

    /// Runs that have ended and are kept.
    static let kept = 50
    /// Runs under way or waiting at once.
    static let most = 32
    /// What `finally` has after a cancellation.
    static let lastSeconds = 10.0

    /// - Parameters:
    ///   - schedules: where schedules are kept; nil keeps them in memory only.
    ///   - keepsTime: false keeps schedules without running them, as a command does that is over soon.
    ///   - tell: what a person should read: a time that was missed, a scheduled scene that could not begin.
    public init(
        router: any RouterControlling, clock: any SceneClock = SystemSceneClock(), files: SceneFiles = .local,
        schedules: (any ScheduleStoring)? = nil, keepsTime: Bool = true,
        tell: @escaping @Sendable (Notice) async -> Void = { _ in }
    ) {
        self.router = router
        self.clock = clock
        self.files = files
        self.tell = tell
        self.keepsTime = keepsTime
        scheduling = ScheduleState(store: schedules)
        (jobStream, jobs) = AsyncStream.makeStream(of: Job.self)
    }

    /// Runs what is started and scheduled, until `shutdown` or cancellation.
    public func run() async {
        isRunning = true
        await withDiscardingTaskGroup { group in
            if keepsTime {
                group.addTask { await self.keepTime() }
                group.addTask { await self.watchRouter() }
            }
            for await job in jobStream { group.addTask { await job() } }
            group.cancelAll()
        }
        isRunning = false
        wakeIdle()
    }

    /// Cancels every run, awaits what their scenes say under `finally`, and ends `run`.
    public func shutdown() async {
        isClosing = true
        for id in order where entries[id]?.run.state == .running { cancel(id) }
        while isRunning, entries.values.contains(where: { $0.run.state == .running }) {
            await withCheckedContinuation { idle.append($0) }
        }
        if keepsTime { await saveSeen() }
        jobs.finish()
        for reader in readers.values { reader.finish() }
        readers = [:]
    }

    private func wakeIdle() {
        for waiter in idle { waiter.resume() }
        idle = []
    }

    // MARK: SceneControlling

    public func startScene(_ request: SceneRequest) async throws -> SceneRun { try await start(request, by: nil) }

    public func sceneRun(_ id: String) async throws -> SceneRun {
        guard let entry = entries[id] else { throw Self.unknown(id, near: order) }
        return entry.run
    }

    /// The latest first.
    public func sceneRuns() async throws -> [SceneRun] { order.reversed().compactMap { entries[$0]?.run } }

    public func cancelScene(_ id: String) async throws {
        guard entries[id] != nil else { throw Self.unknown(id, near: order) }
        cancel(id)
    }

    public func sceneUpdates() async -> AsyncStream<SceneRun> {
        let (stream, continuation) = AsyncStream.makeStream(of: SceneRun.self, bufferingPolicy: .bufferingNewest(256))
        nextReader += 1
        readers[nextReader] = continuation
        return stream
    }

    private static func unknown(_ id: String, near ids: [String]) -> RouterError {
        RouterError(
            .routeNotFound, "there is no run “\(id)” of a scene", hint: "Run “router scene list --runs” to see them",
            scope: .command, candidates: Array(ids.suffix(5)))
    }

    // MARK: Runs

    func start(_ request: SceneRequest, by schedule: String?) async throws -> SceneRun {
        guard !isClosing else { throw Self.isEnding }
        let check = await SceneChecker(files: files).check(request, router: router)
        // The end may have come meanwhile, and waits for none that begins after it.
        guard !isClosing else { throw Self.isEnding }
        guard let scene = check.scene else { throw RouterError(scene: request.path, check.diagnostics) }
        let open = order.filter { entries[$0]?.run.state == .running }
        guard open.count < Self.most else {
            throw RouterError(
                .rateLimited, "\(open.count) scenes run or wait already", hint: "Cancel one of them", retry: .later)
        }
        if scene.whenBusy == .refuse, let other = conflicts(check.rooms, before: nil).first {
            let rooms = other.rooms.intersection(check.rooms).sorted().joined(separator: ", ")
            throw RouterError(
                .routeBusy, "the scene “\(other.run.name)” holds \(rooms)",
                hint: "Wait for its end, or write “when_busy: queue”", scope: .command, retry: .later)
        }
        let id = "sc-" + String(UInt64.random(in: 1 << 44..<1 << 48), radix: 16)
        let run = SceneRun(
            id: id, name: scene.name, path: request.path, started: clock.wallTime(), startedBy: schedule)
        let first = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let hurry = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let end = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        entries[id] = Entry(
            run: run, rooms: check.rooms, cancels: [first.continuation, hurry.continuation], end: end.continuation)
        order.append(id)
        let cancels = SceneCancels(steps: first.stream, hurry: hurry.stream, end: end.stream)
        jobs.yield { [self] in await execute(id, scene, request, cancels) }
        publish(run)
        return run
    }

    private static var isEnding: RouterError {
        RouterError(.unavailable, "the router is ending", hint: "Try again when it is there", retry: .later)
    }

    private func conflicts(_ rooms: Set<String>, before id: String?) -> [Entry] {
        let earlier = id.flatMap { order.firstIndex(of: $0) }.map { order[..<$0] } ?? order[...]
        return earlier.compactMap { entries[$0] }.filter {
            $0.run.state == .running && !$0.rooms.isDisjoint(with: rooms)
        }
    }

    private func cancel(_ id: String) {
        guard var entry = entries[id], entry.run.state == .running else { return }
        if entry.wantsCancel { entry.end.yield() } else { entry.cancels.forEach { $0.yield() } }
        entry.wantsCancel = true
        entries[id] = entry
        giveTurns()
    }

    /// Waits until no scene that began earlier holds a room of this one.
    private func awaitTurn(_ id: String) async {
        guard let entry = entries[id], !entry.wantsCancel, !conflicts(entry.rooms, before: id).isEmpty else { return }
        let (turns, turn) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        entries[id]?.turn = turn
        tellWait(id)
        // Ends with the turn, and with the task.
        for await _ in turns { break }
        entries[id]?.turn = nil
        tellWait(id)
    }

    private func giveTurns() {
        for id in order {
            guard let entry = entries[id], let turn = entry.turn else { continue }
            if entry.wantsCancel || conflicts(entry.rooms, before: id).isEmpty { turn.yield() } else { tellWait(id) }
        }
    }

    /// Whom it waits for, as long as it does.
    private func tellWait(_ id: String) {
        guard let entry = entries[id] else { return }
        let others = entry.turn == nil ? nil : conflicts(entry.rooms, before: id).map(\.run.name)
        guard others != entry.run.waitsFor else { return }
        entries[id]?.run.waitsFor = others
        if let run = entries[id]?.run { publish(run) }
    }

    private func execute(
        _ id: String, _ scene: Scene, _ request: SceneRequest, _ cancels: SceneCancels
    ) async {
        await awaitTurn(id)
        guard let entry = entries[id] else { return }
        let run = entry.run
        let recorder = SceneRecorder(run) { [weak self] run, revision in await self?.took(run, revision) }
        let execution = SceneExecution(
            scene: scene, folder: request.workingDirectory, router: router, clock: clock, files: files, tell: tell,
            recorder: recorder)
        // What never began has nothing to put in order.
        let state =
            entry.wantsCancel
            ? .cancelled : await execution.run(cancels: cancels, lastSeconds: Self.lastSeconds)
        await recorder.finish(state, at: clock.wallTime())
        entries[id]?.cancels.forEach { $0.finish() }
        entries[id]?.end.finish()
        forgetOld()
        giveTurns()
        wakeIdle()
    }

    private func took(_ run: SceneRun, _ revision: Int) {
        guard let entry = entries[run.id], revision > entry.revision else { return }
        entries[run.id]?.run = run
        entries[run.id]?.revision = revision
        publish(run)
    }

    private func publish(_ run: SceneRun) {
        for (id, reader) in readers {
            if case .terminated = reader.yield(run) { readers[id] = nil }
        }
    }

    private func forgetOld() {
        var ended = order.filter { entries[$0]?.run.state != .running }
        while ended.count > Self.kept {
            let id = ended.removeFirst()
            entries[id] = nil
            order.removeAll { $0 == id }
        }
    }

    /// Whether a run that this schedule started is under way.
    func isUnderWay(schedule: String) -> Bool {
        entries.values.contains { $0.run.startedBy == schedule && $0.run.state == .running }
    }
}
