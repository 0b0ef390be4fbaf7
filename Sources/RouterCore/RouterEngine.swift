import Foundation
import RouteBackend
import RouteModel

/// What the engine is told by its owner.
public struct EngineConfiguration: Sendable {
    /// Rooms of the configuration file.
    public var rooms: [Room]
    /// Devices named by a person, made into endpoints by their backends.
    public var stated: [Endpoint]
    /// How this sender calls itself towards devices.
    public var senderName: String
    /// The password of a device that asks for one.
    public var password: @Sendable (Endpoint) async -> Secret?
    /// 0 to 1: what spreads retries in time.
    public var random: @Sendable () -> Double = { Double.random(in: 0...1) }
    /// Seconds since 1970, for what people read.
    public var wallSeconds: @Sendable () -> Double = { Date().timeIntervalSince1970 }
    /// Whether sessions of earlier processes are shown: those that may be taken up again, and the last that have ended,
    /// with their queues. For a process that stays.
    public var recallsSessions = false
    /// Minutes after midnight by the clock on the wall here, 0 to 1439: quiet hours go by it.
    public var localMinute: @Sendable () -> Int = {
        let parts = Calendar.current.dateComponents([.hour, .minute], from: Date())
        return (parts.hour ?? 0) * 60 + (parts.minute ?? 0)
    }

    public init(
        rooms: [Room] = [], stated: [Endpoint] = [], senderName: String = "router",
        password: @escaping @Sendable (Endpoint) async -> Secret? = { _ in nil }
    ) {
        self.rooms = rooms
        self.stated = stated
        self.senderName = senderName
        self.password = password
    }
}

/// The engine: holds the truth about routes, rooms and sessions, and drives the backends.
///
/// It works while `run()` runs; discovery begins when a route is first asked for that is not stated.
public actor RouterEngine: RouterControlling {
    private let providers: [any RouteProvider]
    private let browsing: (any ServiceBrowsing)?
    let media: any MediaPreparing
    let store: any RouterStoring
    let clock: any HostClock
    private let configuration: EngineConfiguration
    let jobs = JobOwner()

    /// Rooms of the configuration file, and what commands made.
    var fileRooms: [Room]
    var storedRooms: [Room] = []
    var storedGroups: [RoomGroup] = []
    private(set) var registry = RouteRegistry()
    /// What each record made, to fall back on when another record of the same device goes.
    private var records: [ServiceRecord.Key: Endpoint] = [:]
    /// When a service record last said something new.
    private var recordChanges: [EndpointID: Int64] = [:]
    private var discovery: [String: DiscoveryState] = [:]
    private var discovering = false
    private var admittedStated = false
    private var admission = CommandLane()
    private var toldRooms: (rooms: [Room], groups: [RoomGroup])?
    /// One change of rooms and groups at a time.
    var roomLane = CommandLane()
    var announcements = AnnouncementQueue()
    /// Beginning something on a route, one at a time.
    var routeLanes = RouteLanes()
    /// Sessions whose queue cannot be read, and of which that was told.
    var toldUnreadable: Set<SessionID> = []
    private let changes = LatestValue(0)
    private var sessionsByID: [SessionID: PlaybackSession] = [:]
    private var snapshots: [SessionID: SessionSnapshot] = [:]
    /// The number of each session's latest snapshot.
    private var numbers: [SessionID: Int] = [:]
    /// Sessions that have ended, oldest first: the last few can still be looked at.
    private var over: [SessionID] = []
    static let keptSessions = 8
    private var recalled = false
    private var recalling = CommandLane()
    private var log = EventLog()
    var pairingsUnderWay: [String: PairingUnderWay] = [:]

    /// How long a list or a name waits for discovery at most.
    static let settleNanoseconds: Int64 = 3_000_000_000

    public init(
        providers: [any RouteProvider], browsing: (any ServiceBrowsing)?, media: any MediaPreparing,
        store: any RouterStoring, clock: any HostClock, configuration: EngineConfiguration
    ) {
        self.providers = providers
        self.browsing = browsing
        self.media = media
        self.store = store
        self.clock = clock
        self.configuration = configuration
        fileRooms = configuration.rooms
    }

    /// Runs until cancelled, or until `shutdown`.
    public func run() async {
        await jobs.run()
        log.finish()
    }

    /// Ends every session and then `run`.
    public func shutdown(_ reason: EndReason = .stop) async {
        let sessions = Array(sessionsByID.values)
        await withDiscardingTaskGroup { group in
            for session in sessions { group.addTask { await session.end(reason) } }
        }
        for pairing in pairingsUnderWay.values { await pairing.flow.end() }
        pairingsUnderWay = [:]
        jobs.finish()
    }

    // MARK: Discovery

    func admitStated() async {
        guard !admittedStated else { return }
        if !admission.enter() { await withCheckedContinuation { admission.enqueue($0) } }
        defer { admission.leave() }
        guard !admittedStated else { return }
        for endpoint in configuration.stated { await admit(endpoint) }
        await takeStoredRooms()
        admittedStated = true
    }

    private func discover() async {
        await admitStated()
        guard !discovering else { return }
        discovering = true
        guard let browsing else { return }
        discovery["mDNS"] = DiscoveryState(source: "mDNS", status: .starting)
        let types = Array(Set(providers.flatMap(\.serviceTypes))).sorted()
        jobs.add { [self] in
            for await event in browsing.browse(types) { await take(event) }
        }
    }

    private func take(_ event: ServiceEvent) async {
        switch event {
        case .resolved(let record):
            for provider in providers where provider.serviceTypes.contains(record.key.type) {
                let endpoint = provider.endpoint(from: record)
                // A record that changes may make another endpoint of the device, or none.
                let old = records.removeValue(forKey: record.key)
                records[record.key] = endpoint
                if let old, old.id != endpoint?.id { withdrawn(old.id) }
                if let endpoint, endpoint != old { recordChanges[endpoint.id] = clock.now() }
                if let endpoint { await admit(endpoint) }
            }
        case .removed(let key):
            guard let id = records.removeValue(forKey: key)?.id else { return }
            withdrawn(id)
            recordChanges[id] = nil
            let clock = clock
            jobs.add { [self] in
                guard (try? await clock.sleep(nanoseconds: RouteRegistry.staleGraceNanoseconds)) != nil else { return }
                await expire()
            }
        case .state(let state):
            discovery[state.source] = state
            discovery = discovery.filter { $0.key == state.source || $0.value.status != .starting }
        }
        routesChanged()
    }

    /// A record is gone. Where another one tells of the same endpoint (a group that moved and was announced anew before
    /// its old record went), it is that one's now.
    private func withdrawn(_ id: EndpointID) {
        if let other = records.values.first(where: { $0.id == id }) {
            registry.update(other, companions: companions(of: other))
        } else {
            registry.markStale(id, now: clock.now())
        }
    }

    /// The endpoint to connect to now for the device that `endpoint` was of: see `RouteRegistry.current`.
    func current(_ endpoint: Endpoint) -> Endpoint { registry.current(endpoint) ?? endpoint }

    public func discover(_ activity: DiscoveryActivity) async {
        await discover()
        browsing?.setActivity(activity)
    }

    /// What has gone of a device is shown no longer.
    func drop(_ id: RouteID) {
        registry.drop(id)
        routesChanged()
    }

    private func expire() {
        registry.expire(now: clock.now())
        routesChanged()
    }

    private func admit(_ endpoint: Endpoint) async {
        var endpoint = endpoint
        if endpoint.access != .open, (try? await store.credentials(forAnyOf: endpoint.strongKeys)) != nil {
            endpoint.access = .paired
        }
        let unknown = endpoint.strongKeys.filter { !registry.knows($0) }
        if !unknown.isEmpty, let stored = try? await store.route(forAnyOf: endpoint.strongKeys) {
            registry.adopt(stored, keys: endpoint.strongKeys)
        }
        registry.update(endpoint, companions: companions(of: endpoint))
        if !unknown.isEmpty,
            let route = registry.routes.first(where: { $0.endpoints.contains { $0.id == endpoint.id } })
        {
            try? await store.remember(route: route.id, name: route.name, keys: registry.keys(of: route.id))
        }
        routesChanged()
    }

    /// Looks at the access of a device's endpoints again.
    func readmit(_ route: Route) async {
        let ids = Set(route.endpoints.map(\.id))
        for endpoint in configuration.stated + records.values where ids.contains(endpoint.id) { await admit(endpoint) }
    }

    func knownRoute(of endpoint: Endpoint) -> Route? {
        registry.routes.first { $0.endpoints.contains { $0.id == endpoint.id } }
    }

    func provider(of endpoint: Endpoint) -> (any RouteProvider)? {
        providers.first { $0.family == endpoint.protocol.family }
    }

    var senderName: String { configuration.senderName }
    func wallSeconds() -> Double { configuration.wallSeconds() }
    @discardableResult
    nonisolated func addJob(_ job: @escaping @Sendable () async -> Void) -> Bool { jobs.add(job) }

    private func companions(of endpoint: Endpoint) -> [Endpoint] {
        providers.first { $0.family == endpoint.protocol.family }?.companions(of: endpoint) ?? []
    }

    /// A way to find devices that does not work, if there is one.
    var brokenDiscovery: DiscoveryState? { discovery.values.first { $0.status == .unavailable } }

    private func routesChanged() {
        changes.update { $0 += 1 }
        log.append(.routes(list))
        // A device in no room is one of its own.
        tellRooms()
    }

    private var list: RouteList {
        RouteList(routes: registry.routes, discovery: discovery.values.sorted { $0.source < $1.source })
    }

    var settled: Bool {
        !discovery.isEmpty && discovery.values.allSatisfy { $0.status == .complete || $0.status == .unavailable }
    }

    /// No source of devices works.
    var blind: Bool {
        !discovery.isEmpty && discovery.values.allSatisfy { $0.status == .unavailable }
    }

    /// Looks again at each change until `done`, or until discovery has had its time.
    func waitForRoutes(_ done: () -> Bool) async {
        await discover()
        guard browsing != nil, !done() else { return }
        let deadline = clock.now() + Self.settleNanoseconds
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let changes = changes.stream()
        let clock = clock
        let isTaken = jobs.add {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in changes {
                        if case .terminated = continuation.yield() { return }
                    }
                }
                group.addTask { try? await clock.sleep(until: deadline) }
                await group.next()
                group.cancelAll()
                continuation.finish()
            }
        }
        guard isTaken else { return }
        for await _ in wakes where done() { return }
    }

    // MARK: RouterControlling

    public func routes(settle: Bool) async throws -> RouteList {
        if settle {
            await waitForRoutes { self.settled }
        } else {
            await discover()
        }
        return list
    }

    public func rooms(settle: Bool) async throws -> [Room] {
        let list = try await routes(settle: settle)
        return RoomSelector.rooms(configured: configuredRooms, routes: list.routes)
    }

    public func explain(_ request: PlayRequest) async throws -> [RouteChoice] {
        let items = try await items(of: request, telling: false)
        let rooms = try await targets(request.rooms)
        return try await choices(
            for: request, rooms: rooms, first: items[0].source, withPicture: items[0].externalPlayback ?? true
        ).map(\.choice)
    }

    public func play(_ request: PlayRequest) async throws -> SessionSnapshot {
        guard PlaybackRate.range.contains(request.rate) else { throw PlaybackSession.badRate(request.rate) }
        try PlaybackSession.check(request.failurePolicy)
        let number = routeLanes.arrive()
        async let resolving = targets(request.rooms)
        let items = try await items(of: request)
        let choices = try await choices(
            for: request, rooms: try await resolving, first: items[0].source,
            withPicture: items[0].externalPlayback ?? true)
        let members = try choices.map { choice, room in
            guard choice.chosen != nil else { throw Self.nothingUsable(choice, via: request.via) }
            return Member(choice: choice, room: room)
        }
        var queue = PlayQueue(
            items: items, repeatMode: request.repeatMode, failurePolicy: request.failurePolicy)
        if request.shuffle { queue.shuffle(seed: .random(in: .min ... .max)) }
        try await checkBefore(
            items, takingOver: Set(members.map(\.route)),
            fetched: choices.allSatisfy { $0.choice.chosen?.endpoint.protocol.family == .cast })
        let (session, routes) = try await takeOver(members, number) { [queue] members in
            let id = SessionID.random()
            let session = PlaybackSession(
                id: id, queue: queue, members: members, start: request.start, rate: request.rate,
                environment: environment(for: id))
            try begin(session, id: id)
            return (session, Set(members.map(\.route)))
        }
        await session.setStartTrims(startTrims(request.rooms))
        try await session.start(volume: request.volume, paused: request.paused ?? false)
        await forgetLeft(on: routes)
        return await session.snapshot()
    }

    /// From here on the session has its routes: see `takeOver`. Throws `cancelled` where nothing runs any more.
    func begin(_ session: PlaybackSession, id: SessionID) throws {
        guard jobs.add({ await session.jobs.run() }) else { throw Self.isEnding }
        // One that is taken up again under its old id begins to count anew.
        numbers[id] = nil
        over.removeAll { $0 == id }
        sessionsByID[id] = session
    }

    /// As of this instant: what reads a position from one needs no clock.
    public func sessions() async -> [SessionSnapshot] {
        await recallSessions()
        let now = clock.now()
        return snapshots.values.sorted { $0.id < $1.id }.map { snapshot in
            var snapshot = snapshot
            snapshot.now = now
            return snapshot
        }
    }

    public func end(session: SessionID, reason: EndReason) async throws {
        if !isRunning(session), try await store.sessionsToRejoin().contains(where: { $0.session == session }) {
            return try await endForgotten(session, reason)
        }
        try await chosenSession(session).end(reason)
    }

    public func events() async -> AsyncStream<RouterEvent> {
        await recallSessions()
        return log.reader(beginningWith: .snapshot(routes: list, sessions: await sessions()))
    }

    // MARK: Choosing

    /// - Parameters:
    ///   - beside: routes that play with these already.
    ///   - withPicture: false: what it shows is not to be seen.
    func choices(
        for request: PlayRequest, rooms: [Room], first: MediaSource, beside: Set<RouteID> = [],
        withPicture: Bool = true
    ) async throws -> [(choice: RouteChoice, room: Room)] {
        let need = await need(of: first, withPicture: withPicture)
        let failures = Dictionary(
            ((try? await store.endpointFailures()) ?? []).map { ($0.endpoint, $0) }, uniquingKeysWith: { _, new in new }
        )
        var seen: Set<RouteID> = []
        var wanted: [(route: Route, room: Room)] = []
        for room in rooms {
            for id in room.routes where seen.insert(id).inserted {
                for part in registry.parts(of: id) { wanted.append((part, room)) }
            }
        }
        let others = beside.subtracting(seen).flatMap { registry.parts(of: $0) }
        return wanted.enumerated().map { place, entry in
            let (route, room) = entry
            let several = wanted.count { $0.room == room } > 1
            let name = several ? "\(room.name) (\(route.name))" : room.name
            let choice = EndpointChooser.choose(
                EndpointChooser.Question(
                    route: route, name: name, need: need,
                    via: request.via == .auto ? room.via : request.via, viaIsCommand: request.via != .auto,
                    companions: wanted.enumerated().filter { $0.offset != place }.map(\.element.route) + others,
                    failures: failures))
            return (choice, room)
        }
    }

    private func need(of source: MediaSource, withPicture: Bool) async -> MediaNeed {
        let videoSuffixes: Set = ["mp4", "m4v", "mov", "mkv", "webm", "avi", "ts", "mpg", "mpeg", "m3u8"]
        let suffix = source.label.split(separator: ".").last.map { $0.lowercased() } ?? ""
        let mayShow = videoSuffixes.contains(suffix)
        var video = false
        if mayShow || !withPicture {
            // Such a container may hold sound alone, and a name may say nothing: look before choosing by it.
            video = (try? await media.facts(source))?.hasVideo ?? mayShow
            // What only the sound of is to be heard is sent: a device that fetches would show it.
            if video, !withPicture { return MediaNeed(senderOnly: true, video: false) }
        }
        switch source {
        case .file: return MediaNeed(senderOnly: true, video: video)
        case .live: return MediaNeed(senderOnly: true, video: false, live: true)
        case .url: break
        }
        return MediaNeed(senderOnly: false, video: video)
    }

    static func nothingUsable(_ choice: RouteChoice, via: ViaPreference) -> RouterError {
        let reasons = choice.candidates.map { candidate in
            "\(candidate.endpoint.protocol.displayName): \(candidate.reasons.first ?? "not usable")"
        }
        let wanted = via == .auto ? "" : " by \(via.family?.displayName ?? "")"
        return RouterError(
            .unsupported, "\(choice.name) cannot play this\(wanted)",
            hint: via == .auto ? "Run the command with --explain to see why" : "Leave --via out to let it choose",
            scope: .route, causes: reasons)
    }

    // MARK: Sessions

    func environment(for id: SessionID) -> SessionEnvironment {
        let providers = providers
        return SessionEnvironment(
            media: media, store: store, clock: clock,
            provider: { endpoint in providers.first { $0.family == endpoint.protocol.family } },
            current: { [weak self] endpoint in await self?.current(endpoint) ?? endpoint },
            find: { [weak self] items, routes in await self?.find(items, notOn: routes) },
            password: configuration.password, senderName: configuration.senderName,
            changed: { [weak self] snapshot, number in await self?.sessionChanged(snapshot, number) },
            notice: { [weak self] notice in await self?.tell(notice) },
            phase: { [weak self] phase in self?.tellPhase(phase) },
            commanded: { [weak self] report in await self?.tell(report) }, random: configuration.random,
            localMinute: configuration.localMinute, wallSeconds: configuration.wallSeconds)
    }

    /// Whether records are looked for; not so where all devices were named by a person.
    var isDiscovering: Bool { discovering && browsing != nil }

    func changedLately(_ id: EndpointID) -> Bool {
        recordChanges[id].map { clock.now() - $0 <= Self.recentNanoseconds } ?? false
    }

    var running: [PlaybackSession] { sessionsByID.keys.sorted().compactMap { sessionsByID[$0] } }

    /// The queue of one that is not taken up yet; nil for any other.
    func suspendedQueue(of id: SessionID) -> QueueSnapshot? {
        guard !isRunning(id), let snapshot = snapshots[id], snapshot.connection == .suspended else { return nil }
        return snapshot.queue
    }

    func isRunning(_ id: SessionID) -> Bool { sessionsByID[id] != nil }

    func runningSnapshot(_ id: SessionID) async throws -> SessionSnapshot { try await chosenSession(id).snapshot() }

    var knownRoutes: Set<RouteID> { Set(registry.routes.map(\.id)) }
    func route(_ id: RouteID) -> Route? { registry.routes.first { $0.id == id } }

    private func sessionChanged(_ snapshot: SessionSnapshot, _ number: Int) {
        // An older one may come late, even after the last.
        guard number > numbers[snapshot.id] ?? 0 else { return }
        numbers[snapshot.id] = number
        snapshots[snapshot.id] = snapshot
        if snapshot.connection == .ended || snapshot.connection == .failed, sessionsByID[snapshot.id] != nil {
            sessionsByID[snapshot.id] = nil
            keep(over: snapshot.id)
        }
        log.append(.session(snapshot))
    }

    private func keep(over id: SessionID) {
        over.append(id)
        while over.count > Self.keptSessions {
            let oldest = over.removeFirst()
            snapshots[oldest] = nil
            numbers[oldest] = nil
        }
    }

    /// Shows what the store knows of earlier processes' sessions. Once: from then on they are this one's.
    private func recallSessions() async {
        guard configuration.recallsSessions, !recalled else { return }
        if !recalling.enter() { await withCheckedContinuation { recalling.enqueue($0) } }
        defer { recalling.leave() }
        guard !recalled else { return }
        for snapshot in await endedSnapshots() where snapshots[snapshot.id] == nil {
            snapshots[snapshot.id] = snapshot
            over.append(snapshot.id)
        }
        for snapshot in await suspendedSnapshots() where snapshots[snapshot.id] == nil {
            snapshots[snapshot.id] = snapshot
        }
        recalled = true
    }

    /// A session that was tried, and can be tried again.
    func show(suspended snapshot: SessionSnapshot) {
        over.removeAll { $0 == snapshot.id }
        snapshots[snapshot.id] = snapshot
        log.append(.session(snapshot))
    }

    /// A session that is not taken up again any more is over.
    func forget(_ id: SessionID) {
        guard !isRunning(id), var snapshot = snapshots[id], snapshot.connection == .suspended else { return }
        snapshot.connection = .ended
        snapshot.media = .stopped
        snapshot.stopReason = .cancelled
        snapshots[id] = snapshot
        keep(over: id)
        log.append(.session(snapshot))
    }

    func tell(_ notice: Notice) { log.append(.notice(notice)) }

    func tellRooms() {
        let rooms = RoomSelector.rooms(configured: configuredRooms, routes: registry.routes)
        guard rooms != toldRooms?.rooms || storedGroups != toldRooms?.groups else { return }
        toldRooms = (rooms, storedGroups)
        log.append(.rooms(rooms, groups: storedGroups))
    }

    func tell(_ report: CommandReport) { log.append(.command(report)) }

    func tell(_ progress: PairingProgress) { log.append(.pairing(progress)) }

    nonisolated func tellPhase(_ phase: String) {
        jobs.add { [self] in await self.appendPhase(phase) }
    }

    private func appendPhase(_ phase: String) { log.append(.phase(phase)) }

    func chosenSession(_ id: SessionID?) throws -> PlaybackSession {
        if let id {
            guard let session = sessionsByID[id] else {
                throw suspendedQueue(of: id) == nil ? RouterError.noSession(id) : Self.notTakenUp(id)
            }
            return session
        }
        guard let only = sessionsByID.values.first else {
            throw RouterError(
                .routeNotFound, "nothing is playing", hint: "Start something with “router play”", scope: .session)
        }
        guard sessionsByID.count == 1 else {
            throw RouterError(
                .routeAmbiguous, "\(sessionsByID.count) sessions are playing, and none was named", scope: .session,
                candidates: sessionsByID.keys.map(\.rawValue).sorted())
        }
        return only
    }

    var runningSessions: [PlaybackSession] { Array(sessionsByID.values) }

    /// The queue of a session that has ended; nil where none is known.
    func lastQueue(of session: SessionID) async throws -> QueueSnapshot? {
        if let last = snapshots[session] { return last.queue }
        return try await store.queue(session: session)
    }

    /// The sessions that run, but for one.
    func sessions(but one: PlaybackSession) -> [PlaybackSession] { sessionsByID.values.filter { $0 !== one } }

    /// What plays on these routes gives way to what is to play. In their lane.
    func release(_ routes: Set<RouteID>) async {
        await endAnnouncements(on: routes)
        for session in sessionsByID.values {
            await giveWay(session, to: routes)
        }
    }
}
