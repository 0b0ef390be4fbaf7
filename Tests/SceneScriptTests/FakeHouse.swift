import RouteModel
import RouterTestKit

/// A house in memory: rooms that play what they are told, and remember each call.
actor FakeHouse: RouterControlling {
    private(set) var calls: [String] = []
    private var list: [Room]
    private var devices: [Route]
    private var groupList: [RoomGroup] = []
    private var current: [SessionSnapshot] = []
    private var levels: [String: Double] = [:]
    private var readers: [AsyncStream<RouterEvent>.Continuation] = []
    private var sequence = 0
    private var number = 0
    private var failures: [(call: String, error: RouterError)] = []
    private var outcomes: [(call: String, outcome: CommandOutcome)] = []
    private var held: Set<String> = []
    private var discovery: [DiscoveryState] = []
    private var lostRooms: Set<String> = []
    private let clock: TestClock

    init(_ names: [String] = ["Kitchen", "Bath"], clock: TestClock) {
        self.clock = clock
        list = names.map { Room(name: $0, devices: [$0], routes: [RouteID(rawValue: "rt-\($0)")]) }
        devices = names.map { Self.route($0) }
    }

    private static func route(_ name: String) -> Route {
        Route(
            id: RouteID(rawValue: "rt-\(name)"), name: name, endpoints: [],
            capabilities: RouteCapabilities(available: [.playURL, .seek, .pause], sync: .loose))
    }

    // MARK: What a test says

    func appears(_ name: String) {
        list.removeAll { $0.name == name }
        devices.removeAll { $0.name == name }
        list.append(Room(name: name, devices: [name], routes: [RouteID(rawValue: "rt-\(name)")]))
        devices.append(Self.route(name))
        emit(.routes(routes(settle: false)))
    }

    func disappears(_ name: String) {
        if let index = list.firstIndex(where: { $0.name == name }) { list[index].routes = [] }
        devices.removeAll { $0.name == name }
        emit(.routes(routes(settle: false)))
    }

    func cannot(_ name: String, _ capability: RouteCapability, _ state: CapabilityState = .unsupported) {
        guard let index = devices.firstIndex(where: { $0.name == name }) else { return }
        devices[index].capabilities[capability] = state
    }

    func has(group: RoomGroup) { groupList.append(group) }

    /// These devices are one room from now on.
    func has(room: String, devices names: [String], alias: String? = nil) {
        list.removeAll { names.contains($0.name) }
        for name in names where !devices.contains(where: { $0.name == name }) { devices.append(Self.route(name)) }
        list.insert(
            Room(
                name: room, aliases: alias.map { [$0] } ?? [], devices: names, configured: true,
                routes: names.map { RouteID(rawValue: "rt-\($0)") }), at: 0)
    }

    /// Another device of the same name.
    func has(twin name: String, id: String) {
        devices.append(Route(id: RouteID(rawValue: id), name: name, endpoints: []))
        list.append(Room(name: name, devices: [id], routes: [RouteID(rawValue: id)]))
    }

    /// Discovery says how it is doing.
    func discovers(_ status: DiscoveryState.Status) {
        discovery = [DiscoveryState(source: "mDNS", status: status)]
        emit(.routes(routes(settle: false)))
    }

    /// The next call that begins with these words fails.
    func fails(_ call: String, _ error: RouterError, times: Int = 1) {
        for _ in 0..<times { failures.append((call, error)) }
    }

    /// The next command of this name ends so.
    func answers(_ call: String, _ outcome: CommandOutcome) { outcomes.append((call, outcome)) }

    /// Calls that begin with these words do not return until they are cancelled.
    func hangs(_ call: String) { held.insert(call) }

    /// Somebody gives a command. As in the engine, the session tells what came of it before the command is reported.
    func person(_ command: RemoteCommand, in room: String, origin: CommandOrigin = .cli) {
        guard let session = session(room) else { return }
        try? apply(command, session.id)
        emit(
            .command(
                CommandReport(
                    id: .random(), session: session.id, command: command, origin: origin, outcome: .succeeded)))
    }

    /// What plays there is what an earlier process left, and nobody has taken it up.
    func isLeft(in room: String) {
        guard let index = index(room) else { return }
        current[index].connection = .suspended
    }

    /// Somebody plays something else.
    func personPlays(_ what: String, in room: String) { _ = begin([what], rooms: [room], at: .zero) }

    /// What plays comes to its end, and the next item begins.
    func itemEnds(in room: String) {
        guard let index = index(room) else { return }
        let queue = current[index].queue
        let place = queue.items.firstIndex { $0.id == queue.current } ?? 0
        ended(.finished, index)
        if place + 1 < queue.items.count {
            select(queue.items[place + 1].id, at: .zero, index)
        } else {
            current[index].media = .stopped
            current[index].stopReason = .finished
            current[index].anchor = nil
        }
        emit(.session(fresh(current[index])))
    }

    /// Every reader's stream ends, as when a daemon goes away.
    func drops() {
        for reader in readers { reader.finish() }
        readers = []
    }

    // MARK: What a test asks

    func session(_ room: String) -> SessionSnapshot? { index(room).map { fresh(current[$0]) } }
    func volume(_ member: String) -> Int? { levels[member].map { Int(($0 * 100).rounded()) } }
    func forgetCalls() { calls = [] }
    var readerCount: Int { readers.count }

    // MARK: Inside

    private func index(_ room: String) -> Int? {
        current.firstIndex { session in
            session.connection == .connected && session.members.contains { Self.isCalled($0, [room]) }
        }
    }

    private func fresh(_ session: SessionSnapshot) -> SessionSnapshot {
        var session = session
        session.now = clock.now()
        for place in session.members.indices {
            session.members[place].volume = VolumeState(
                level: VolumePosition(levels[session.members[place].name] ?? 0.5))
        }
        return session
    }

    private func emit(_ body: RouterEvent.Body) {
        sequence += 1
        for reader in readers { reader.yield(RouterEvent(sequence: sequence, body: body)) }
    }

    private func record(_ call: String) async throws {
        calls.append(call)
        if held.contains(where: { call.hasPrefix($0) }) { try await clock.sleep(until: .max) }
        if let place = failures.firstIndex(where: { call.hasPrefix($0.call) }) {
            throw failures.remove(at: place).error
        }
    }

    private static func isCalled(_ member: SessionMember, _ names: [String]) -> Bool {
        names.contains(member.name) || names.contains(member.roomName) || names.contains(member.route.rawValue)
    }

    /// A room is called by its own name, and no member's; a device by its id too.
    private func check(_ rooms: [String]) throws {
        for room in rooms {
            let named = list.filter { $0.name == room }
            if named.count > 1, !named.contains(where: \.configured) {
                throw RouterError(.routeAmbiguous, "“\(room)” could be any of \(named.count)", scope: .route)
            }
            if named.isEmpty, !devices.contains(where: { $0.id.rawValue == room }) {
                throw RouterError(.routeNotFound, "there is no room or device called “\(room)”", scope: .route)
            }
        }
    }

    /// What plays is over.
    private func ended(_ reason: StopReason, _ index: Int) {
        guard let item = current[index].queue.current else { return }
        let play = (current[index].lastEnd?.play ?? 0) + 1
        current[index].lastEnd = ItemEnd(item: item, play: play, reason: reason)
    }

    private func isStation(_ item: QueueItem?) -> Bool { item?.metadata.kind == .live }

    private func item(_ source: String, in folder: String) -> QueueItem {
        let path = source.contains("://") || source.hasPrefix("/") ? source : "\(folder)/\(source)"
        return QueueItem(
            id: .ulid(milliseconds: 0), source: source.contains("://") ? .url(path) : .file(path: path),
            metadata: source.contains("station")
                ? MediaMetadata(kind: .live) : MediaMetadata(duration: MediaTime(seconds: 180)))
    }

    private func select(_ item: ItemID, at time: MediaTime, _ index: Int) {
        current[index].queue.current = item
        current[index].queue.version += 1
        current[index].media = .playing
        current[index].anchor = PlaybackAnchor(
            item: item, time: time, instant: clock.now(), rate: 1, quality: .exact,
            duration: current[index].currentItem?.metadata.duration)
    }

    private func begin(
        _ what: [String], rooms: [String], at start: MediaTime, folder: String = "/music"
    ) -> SessionSnapshot {
        remove(rooms)
        number += 1
        let items = what.map { item($0, in: folder) }
        current.append(
            SessionSnapshot(
                id: SessionID(rawValue: "se-\(number)"), connection: .connected, members: rooms.flatMap(members),
                queue: QueueSnapshot(version: 1, items: items, current: nil), now: clock.now()))
        select(items[0].id, at: start, current.count - 1)
        let session = fresh(current[current.count - 1])
        emit(.session(session))
        return session
    }

    /// Named as the engine names them.
    private func members(_ room: String) -> [SessionMember] {
        if let device = devices.first(where: { $0.id.rawValue == room }) {
            return [SessionMember(route: device.id, name: device.name, connection: .connected, media: .playing)]
        }
        let devices = list.first { $0.name == room && $0.devices.count > 1 }?.devices
        return (devices ?? [room]).map { device in
            SessionMember(
                route: RouteID(rawValue: "rt-\(device)"), name: devices == nil ? room : "\(room) (\(device))",
                connection: .connected, media: .playing, room: devices == nil ? nil : room)
        }
    }

    private func remove(_ rooms: [String]) {
        for index in current.indices where current[index].connection == .connected {
            let before = current[index].members.count
            current[index].members.removeAll { Self.isCalled($0, rooms) }
            if current[index].members.isEmpty { current[index].connection = .ended }
            if current[index].members.count != before { emit(.session(fresh(current[index]))) }
        }
    }

    private func apply(_ command: RemoteCommand, _ id: SessionID) throws {
        guard let index = current.firstIndex(where: { $0.id == id && $0.connection == .connected }) else {
            throw RouterError(.routeNotFound, "there is no session \(id)", scope: .session)
        }
        func names(_ room: String?) -> [String] {
            current[index].members.filter { member in room.map { Self.isCalled(member, [$0]) } ?? true }.map(\.name)
        }
        let position = fresh(current[index]).position ?? .zero
        switch command {
        case .play, .pause:
            current[index].media = command == .play ? .playing : .paused
            current[index].anchor?.time = position
            current[index].anchor?.instant = clock.now()
            current[index].anchor?.rate = command == .play ? 1 : 0
        case .stop:
            ended(.cancelled, index)
            current[index].media = .stopped
            current[index].connection = .ended
        case .seek(let time):
            guard !isStation(current[index].currentItem) else {
                throw RouterError(.unsupported, "a live stream cannot be searched", scope: .command)
            }
            current[index].anchor?.time = time
            current[index].anchor?.instant = clock.now()
        case .jump(let item):
            ended(.replaced, index)
            select(item, at: .zero, index)
        case .next:
            let queue = current[index].queue
            guard let place = queue.items.firstIndex(where: { $0.id == queue.current }), place + 1 < queue.items.count
            else { return }
            ended(.replaced, index)
            select(queue.items[place + 1].id, at: .zero, index)
        case .setVolume(let level, let room), .fade(let level, _, let room):
            for name in names(room) { levels[name] = level.value }
        case .stepVolume(let change, let room):
            for name in names(room) { levels[name] = min(1, max(0, (levels[name] ?? 0.5) + change)) }
        case .repeatMode(let mode): current[index].queue.repeatMode = mode
        default: break
        }
        emit(.session(fresh(current[index])))
    }

    // MARK: RouterControlling

    func routes(settle: Bool) -> RouteList { RouteList(routes: devices, discovery: discovery) }
    func rooms(settle: Bool) -> [Room] { list }
    func groups() -> [RoomGroup] { groupList }
    func explain(_ request: PlayRequest) throws -> [RouteChoice] { [] }
    func sessions() -> [SessionSnapshot] {
        current.filter { $0.connection == .connected || $0.connection == .suspended }.map(fresh)
    }

    func play(_ request: PlayRequest) async throws -> SessionSnapshot {
        let what = request.savedQueue.map { "saved:\($0)" } ?? request.what.joined(separator: " ")
        try await record("play \(what) in \(request.rooms.joined(separator: "+"))")
        try check(request.rooms)
        if request.start > .zero, request.what.first?.contains("station") == true {
            throw RouterError(.unsupported, "a live stream cannot be searched", scope: .command)
        }
        if let volume = request.volume {
            for member in request.rooms.flatMap(members) { levels[member.name] = volume.value }
        }
        let media = request.savedQueue.map { [$0] } ?? request.what
        var session = begin(media, rooms: request.rooms, at: request.start, folder: request.workingDirectory)
        if let index = index(request.rooms[0]) {
            current[index].queue.repeatMode = request.repeatMode
            current[index].queue.failurePolicy = request.failurePolicy
            for place in current[index].queue.items.indices {
                current[index].queue.items[place].externalPlayback = request.externalPlayback
                current[index].queue.items[place].subtitles = request.subtitles
                let source = current[index].queue.items[place].source
                if let known = request.descriptions?.first(where: { $0.source == source }) {
                    current[index].queue.items[place].metadata = known.metadata
                    current[index].queue.items[place].context = known.context
                }
            }
            if request.paused == true { try apply(.pause, current[index].id) }
            session = fresh(current[index])
        }
        return session
    }

    func perform(
        _ command: RemoteCommand, session: SessionID?, origin: CommandOrigin, terms: CommandTerms
    ) async throws -> CommandResult {
        let words = Self.words(command)
        try await record(words)
        let id = session ?? current.last?.id ?? SessionID(rawValue: "none")
        if current.contains(where: { $0.id == id && $0.connection == .suspended }) {
            throw RouterError(.unavailable, "it was cut short, and is not taken up again yet", scope: .session)
        }
        if let place = outcomes.firstIndex(where: { words.hasPrefix($0.call) }) {
            return CommandResult(id: .random(), outcome: outcomes.remove(at: place).outcome)
        }
        try apply(command, id)
        let result = CommandResult(id: .random(), outcome: .succeeded)
        emit(.command(CommandReport(id: result.id, session: id, command: command, origin: origin, outcome: .succeeded)))
        // A fade takes its time.
        if case .fade = command { return CommandResult(id: result.id, outcome: .accepted) }
        return result
    }

    private static func words(_ command: RemoteCommand) -> String {
        func room(_ name: String?) -> String { name.map { " \($0)" } ?? "" }
        return switch command {
        case .play: "resume"
        case .seek(let time): "seek \(Int(time.seconds.rounded()))"
        case .seekBy(let time): "seekBy \(Int(time.seconds.rounded()))"
        case .setVolume(let level, let name): "volume \(level.percent)%\(room(name))"
        case .stepVolume(let change, let name): "step \(Int((change * 100).rounded()))%\(room(name))"
        case .mute(let on, let name): "\(on ? "mute" : "unmute")\(room(name))"
        case .fade(let level, let time, let name): "fade \(level.percent)% \(Int(time.seconds))s\(room(name))"
        case .jump: "jump"
        case .shuffle(let on): "shuffle \(on)"
        case .repeatMode(let mode): "repeat \(mode.rawValue)"
        default: "\(command)"
        }
    }

    func edit(
        _ edit: QueueEdit, session: SessionID?, ifVersion version: Int?, workingDirectory: String
    ) async throws -> QueueSnapshot {
        let new: [String]
        switch edit {
        case .append(let media, _):
            try await record("append \(media.joined(separator: " "))")
            new = media
        case .insert(let media, _, _):
            try await record("insert \(media.joined(separator: " "))")
            new = media
        default:
            try await record("\(edit)")
            new = []
        }
        guard let index = current.firstIndex(where: { $0.id == session }) else {
            throw RouterError(.routeNotFound, "no session", scope: .session)
        }
        if case .failurePolicy(let policy) = edit { current[index].queue.failurePolicy = policy }
        if case .describe(let items) = edit {
            for description in items {
                guard let place = current[index].queue.items.firstIndex(where: { $0.id == description.item }) else {
                    continue
                }
                var item = current[index].queue.items[place]
                item.metadata = description.metadata
                item.context = description.context ?? item.context
                current[index].queue.items[place] = item
            }
        }
        if case .settings(let ids, let settings) = edit {
            for place in current[index].queue.items.indices where ids.contains(current[index].queue.items[place].id) {
                var item = current[index].queue.items[place]
                item.start = settings.start ?? item.start
                item.end = settings.end ?? item.end
                item.externalPlayback = settings.externalPlayback ?? item.externalPlayback
                item.custom = settings.custom ?? item.custom
                current[index].queue.items[place] = item
            }
        }
        let items = new.map { item($0, in: workingDirectory) }
        if case .insert = edit {
            current[index].queue.items.insert(contentsOf: items, at: 0)
        } else {
            current[index].queue.items += items
        }
        current[index].queue.version += 1
        return current[index].queue
    }

    func saveQueue(session: SessionID?, as name: String) async throws -> SavedQueue {
        try await record("save \(name)")
        return SavedQueue(
            name: name, items: (current.first { $0.id == session }?.queue.items).map(Array.init) ?? [], saved: 0)
    }

    func transfer(session: SessionID?, to rooms: [String]) async throws -> TransferResult {
        try await transfer(TransferRequest(.move, session: session, rooms: rooms))
    }

    func transfer(_ request: TransferRequest) async throws -> TransferResult {
        try await record("transfer \(request.kind.rawValue) \(request.rooms.joined(separator: "+"))")
        try check(request.rooms)
        guard let index = current.firstIndex(where: { $0.id == request.session }) else {
            throw RouterError(.routeNotFound, "no session", scope: .session)
        }
        let from = current[index].members.map(\.name)
        current[index].members = request.rooms.flatMap(members).map(lost)
        emit(.session(fresh(current[index])))
        return TransferResult(
            from: from, to: request.rooms, method: .load, title: current[index].currentItem?.title ?? "",
            position: .zero, losses: [], session: fresh(current[index]))
    }

    func announce(_ request: AnnounceRequest) async throws -> AnnounceReport {
        let volume = request.volume.map { " at \($0.percent)%" } ?? ""
        try await record("announce \(request.what) in \(request.rooms.joined(separator: "+"))\(volume)")
        try check(request.rooms)
        return AnnounceReport(
            title: request.what, rooms: request.rooms.map { .init(room: $0, said: true, restored: .nothing) })
    }

    func join(session: SessionID?, rooms: [String]) async throws -> SessionSnapshot {
        try await record("join \(rooms.joined(separator: "+"))")
        try check(rooms)
        remove(rooms)
        guard let index = current.firstIndex(where: { $0.id == session }) else {
            throw RouterError(.routeNotFound, "no session", scope: .session)
        }
        current[index].members += rooms.flatMap(members).map(lost)
        emit(.session(fresh(current[index])))
        return fresh(current[index])
    }

    /// As it is where the room does not play along.
    private func lost(_ member: SessionMember) -> SessionMember {
        guard lostRooms.contains(member.roomName) else { return member }
        var member = member
        member.connection = .failed
        member.error = RouterError(.routeUnreachable, "no answer")
        return member
    }

    /// From now on this room plays nothing that it joins, or that moves to it with others.
    func loses(_ room: String) { lostRooms.insert(room) }

    func leave(session: SessionID?, rooms: [String]) async throws -> SessionSnapshot {
        try await record("leave \(rooms.joined(separator: "+"))")
        remove(rooms)
        guard let index = current.firstIndex(where: { $0.id == session }) else {
            throw RouterError(.routeNotFound, "no session", scope: .session)
        }
        return fresh(current[index])
    }

    func end(session: SessionID, reason: EndReason) async throws {
        try await record("end \(reason.rawValue)")
        if let index = current.firstIndex(where: { $0.id == session }) {
            current[index].connection = .ended
            emit(.session(fresh(current[index])))
        }
    }

    func sessionsToRejoin() -> [RejoinableSession] { [] }
    func rejoin(_ session: SessionID) throws -> SessionSnapshot { throw RouterError(.unsupported, "no") }
    func startPairing(_ device: String) throws -> PairingProgress { throw RouterError(.unsupported, "no") }
    func finishPairing(_ id: String, code: String) throws -> PairingProgress { throw RouterError(.unsupported, "no") }
    func cancelPairing(_ id: String) {}
    func pairings() -> [PairingRecord] { [] }
    func unpair(_ device: String) -> Notice? { nil }

    func events() -> AsyncStream<RouterEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: RouterEvent.self)
        continuation.yield(
            RouterEvent(sequence: sequence, body: .snapshot(routes: routes(settle: false), sessions: sessions())))
        readers.append(continuation)
        return stream
    }
}
