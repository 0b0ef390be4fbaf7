import RouteModel

/// A session that a verb is for, and which of its rooms.
struct SessionTarget: Sendable, Equatable {
    var session: SessionSnapshot
    /// By their names there; nil where the session as a whole is meant.
    var rooms: [String]?

    /// For sentences: “Kitchen and Den”.
    var label: String { Phrase.list(rooms ?? session.members.map(\.name)) }

    /// The rooms that are meant.
    var names: [String] { rooms ?? session.playingNames }

    /// Some rooms of a session that plays in others too.
    struct Part: Sendable, Equatable {
        /// A room of several devices is called by its own name, unless only some of them are meant.
        var rooms: [String]
        var others: [String]
    }

    /// Nil where all rooms of the session are meant.
    var part: Part? {
        guard let rooms else { return nil }
        let others = session.playing.filter { !rooms.contains($0.name) }
        guard !others.isEmpty else { return nil }
        let meant = session.members.filter { rooms.contains($0.name) }
        let split = Set(others.map(\.roomName))
        return Part(
            rooms: meant.map { split.contains($0.roomName) ? $0.name : $0.roomName }.unique,
            others: others.map { other in meant.contains { $0.roomName == other.roomName } ? other.name : other.roomName
            }
            .unique)
    }
}

/// Finds what a verb is for, by rules that never guess (`interfaces.md` 1.2).
struct TargetFinder {
    let context: VerbContext
    /// Where nothing is active, what has stopped counts too: a queue is there to be seen after its end.
    var takesStopped = false
    /// What is over is there to be seen, and not to be changed.
    var edits = false

    init(_ context: VerbContext, takesStopped: Bool = false, edits: Bool = false) {
        self.context = context
        self.takesStopped = takesStopped
        self.edits = edits
    }

    // MARK: Sessions

    /// With nothing said: the only session that is active, else the one of the default room. Throws `routeNotFound` and
    /// `routeAmbiguous`.
    func session(_ target: TargetOptions) async throws -> SessionTarget {
        let found = try await sessions(target)
        guard let first = found.first, found.count == 1 else {
            throw RouterError(
                .routeAmbiguous, "\(found.count) sessions are meant, and this is for one",
                hint: "Name one room of the session that you mean", scope: .session,
                candidates: found.map(\.label))
        }
        return first
    }

    func sessions(_ target: TargetOptions) async throws -> [SessionTarget] {
        let all = try await context.router.knownSessions()
        var active = all.filter(\.isActive)
        if active.isEmpty, takesStopped { active = try await stopped(of: all) }
        guard !target.selectors.isEmpty else { return [try await only(of: active)] }
        var result: [SessionTarget] = []
        for selector in target.selectors {
            for found in try await self.found(selector, among: active) { Self.add(found, to: &result) }
        }
        return result
    }

    /// The last in each room: what played there before is history. The latest of all comes first.
    private func stopped(of all: [SessionSnapshot]) async throws -> [SessionSnapshot] {
        if edits {
            let there = all.filter(\.isThere)
            guard there.isEmpty, !all.isEmpty else { return there }
            throw RouterError(
                .unavailable, "nothing is playing, and a queue that is over cannot be changed",
                hint: "Play something new with “router play”, or the same again: router queue save NAME, router queue "
                    + "load NAME", scope: .session)
        }
        guard all.count > 1 else { return all }
        // A session says nothing of when it was; its last entry in the history does.
        let history = try await context.router.history(limit: 1000)
        let last = Dictionary(history.map { ($0.session, $0.id) }, uniquingKeysWith: max)
        func place(_ session: SessionSnapshot) -> (Int, Int64) {
            (last[session.id] ?? -1, session.anchor?.instant ?? .min)
        }
        var rooms: Set<String> = []
        return all.sorted { place($0) > place($1) }.filter { session in
            let names = session.roomNames
            defer { rooms.formUnion(names) }
            return names.contains { !rooms.contains($0) }
        }
    }

    private func only(of active: [SessionSnapshot]) async throws -> SessionTarget {
        if active.count == 1 { return SessionTarget(session: active[0], rooms: nil) }
        guard !active.isEmpty else { throw nothingPlays }
        if let room = context.defaultRoom {
            let meant = try await matched(room, among: active)
            if let meant { return SessionTarget(session: meant.session, rooms: nil) }
        }
        guard active.contains(where: \.isActive) else {
            throw RouterError(
                .routeAmbiguous, "nothing is playing; \(active.count) queues that were are kept, and none was named",
                hint: "Say with --room where it played", scope: .session,
                candidates: active.map { Phrase.list($0.roomNames) })
        }
        throw RouterError(
            .routeAmbiguous, "\(active.count) sessions are playing, and none was named",
            hint: "Say which with --room, or take all of them with --on @active", scope: .session,
            candidates: active.map { Phrase.list($0.members.map(\.name)) })
    }

    private func found(_ word: String, among active: [SessionSnapshot]) async throws -> [SessionTarget] {
        switch Selector(word) {
        case .active?, .all?:
            guard !active.isEmpty else { throw nothingPlays }
            return active.map { SessionTarget(session: $0, rooms: nil) }
        case .default?: return [try await inRoom(try defaultRoom(), among: active)]
        case .group(let name)?:
            var result: [SessionTarget] = []
            for room in try await group(name).rooms {
                if let target = try await matched(room, among: active) { Self.add(target, to: &result) }
            }
            guard !result.isEmpty else { throw plays(nothingIn: "the group \(name)", active) }
            return result
        case .name(let name)?:
            // A session may be named itself, by its id.
            if name.hasPrefix("se-") {
                let meant = active.filter { $0.id.rawValue.hasPrefix(name) }
                if let exact = meant.first(where: { $0.id.rawValue == name }) ?? (meant.count == 1 ? meant[0] : nil) {
                    return [SessionTarget(session: exact, rooms: nil)]
                }
            }
            return [try await inRoom(name, among: active)]
        case nil: throw UsageError("“\(word)” is no selector", hint: "Write @active, @all, @default or @group:NAME")
        }
    }

    private func inRoom(_ word: String, among active: [SessionSnapshot]) async throws -> SessionTarget {
        if let target = try await matched(word, among: active) { return target }
        throw plays(nothingIn: word, active)
    }

    /// The session that plays in a room. Nil where nothing does; throws where there is no such room.
    private func matched(_ word: String, among active: [SessionSnapshot]) async throws -> SessionTarget? {
        let wanted = word.lowercased()
        func target(_ isMeant: (SessionMember) -> Bool) -> SessionTarget? {
            for session in active {
                let members = session.members.filter { $0.error == nil && isMeant($0) }
                if !members.isEmpty { return SessionTarget(session: session, rooms: members.map(\.name)) }
            }
            return nil
        }
        // What a session calls its rooms needs no look at the network.
        if let exact = target({ $0.isIn(wanted) || $0.route.rawValue == wanted }) { return exact }
        let matcher = try await matcher(settle: false)
        let isRoom = matcher.rooms.contains { ([$0.name] + $0.aliases).contains { $0.lowercased() == wanted } }
        // A device of a room that has several is that one alone.
        let called = isRoom ? [] : matcher.routes.filter { $0.isCalled(word) }
        guard called.count <= 1 else {
            throw RouterError(
                .routeAmbiguous, "“\(word)” could be \(called.map(\.name).joined(separator: " or "))",
                hint: "Type a name, or an id from “router devices --long”", scope: .route,
                candidates: called.map(\.name))
        }
        if let route = called.first { return target { $0.route == route.id } }
        let room = try matcher.room(word)
        return target { $0.isIn(room.name) || room.routes.contains($0.route) }
    }

    private static func add(_ target: SessionTarget, to targets: inout [SessionTarget]) {
        guard let index = targets.firstIndex(where: { $0.session.id == target.session.id }) else {
            return targets.append(target)
        }
        guard let old = targets[index].rooms, let new = target.rooms else {
            targets[index].rooms = nil
            return
        }
        targets[index].rooms = old + new.filter { !old.contains($0) }
    }

    private var nothingPlays: RouterError {
        RouterError(
            .routeNotFound, "nothing is playing",
            hint: context.isDaemon
                ? "Start something with “router play”"
                : "What “router play” plays without a daemon stays with that command; with “router daemon run” every "
                    + "terminal can drive it",
            scope: .session)
    }

    private func plays(nothingIn room: String, _ active: [SessionSnapshot]) -> RouterError {
        guard !active.isEmpty else { return nothingPlays }
        return RouterError(
            .routeNotFound, "nothing is playing in \(room)", hint: "Run “router status” to see what plays where",
            scope: .session, candidates: active.flatMap { $0.members.map(\.name) })
    }

    // MARK: Sessions that were cut short

    /// Those of these that were in the rooms that are named; with nothing said, all. Throws `routeNotFound` for a room
    /// in which none was.
    func sessions(_ target: TargetOptions, of left: [RejoinableSession]) async throws -> [RejoinableSession] {
        guard !target.selectors.isEmpty else { return left }
        var meant: Set<SessionID> = []
        for selector in target.selectors {
            let found: [RejoinableSession]
            switch Selector(selector) {
            case .active?, .all?: found = left
            case .group(let name)?:
                let rooms = try await group(name).rooms
                found = left.filter { session in rooms.contains { session.was(in: [$0]) } }
            case .default?: found = try await self.left(left, in: try defaultRoom())
            case .name(let name)?: found = try await self.left(left, in: name)
            case nil:
                throw UsageError("“\(selector)” is no selector", hint: "Write @active, @all, @default or @group:NAME")
            }
            guard !found.isEmpty else {
                throw RouterError(
                    .routeNotFound, "nothing was cut short in \(selector) that could play on",
                    hint: "Say what to play there, or run “router session list” to see what was cut short",
                    scope: .session, candidates: left.map { Phrase.list($0.rooms) })
            }
            meant.formUnion(found.map(\.id))
        }
        return left.filter { meant.contains($0.id) }
    }

    private func left(_ left: [RejoinableSession], in word: String) async throws -> [RejoinableSession] {
        let named = left.filter { $0.was(in: [word]) || (word.hasPrefix("se-") && $0.id.rawValue.hasPrefix(word)) }
        guard named.isEmpty else { return named }
        let matcher = try await matcher(settle: true)
        let room = try matcher.room(word)
        let devices = matcher.routes.filter { room.routes.contains($0.id) }
        return left.filter { $0.was(in: [room.name] + devices.flatMap { [$0.name, $0.id.rawValue] }) }
    }

    // MARK: Rooms

    /// What to hand to a router. Names are left to it, for it waits for what is not found yet, and so is what a selector
    /// means; that there is such a group is looked at here.
    ///
    /// With nothing said: the default room, and without one nothing, which is the only room there is.
    func rooms(_ target: TargetOptions) async throws -> [String] {
        try await rooms(target.selectors)
    }

    func rooms(_ selectors: [String]) async throws -> [String] {
        guard !selectors.isEmpty else { return context.defaultRoom.map { [$0] } ?? [] }
        var result: [String] = []
        for selector in selectors {
            let names: [String]
            switch Selector(selector) {
            case .name(let name)?: names = [name]
            case .default?: names = [try defaultRoom()]
            // The router needs the group's name: by that it knows how loud its rooms are against each other.
            case .group(let name)?:
                let group = try await filledGroup(name)
                names = ["@group:\(group.name)"]
            // The router knows best which rooms these are, devices that are in several rooms among them.
            case .all?, .active?: names = [selector]
            case nil:
                throw UsageError("“\(selector)” is no selector", hint: "Write @active, @all, @default or @group:NAME")
            }
            result += names.filter { !result.contains($0) }
        }
        return result
    }

    /// The names of rooms to look for in what was: of those that are not there any more, too.
    func namesOfOld(_ target: TargetOptions) async throws -> [String] {
        var names: [String] = []
        for selector in target.selectors {
            switch Selector(selector) {
            case .active?: names += await context.router.sessions().filter(\.isActive).flatMap(\.roomNames)
            case .all?: names += try await context.router.rooms(settle: true).map(\.name)
            case .group(let name)?: names += try await filledGroup(name).rooms
            default: names += try await rooms([selector])
            }
        }
        return names.unique
    }

    func matcher(settle: Bool) async throws -> RoomMatcher {
        RoomMatcher(
            rooms: try await context.router.rooms(settle: settle),
            routes: try await context.router.routes(settle: false).routes)
    }

    /// Throws `routeNotFound`.
    func group(_ name: String) async throws -> RoomGroup {
        let groups = try await context.router.groups()
        if let group = groups.first(where: { $0.name.lowercased() == name.lowercased() }) { return group }
        let near = NearNames.of(name, among: groups.map(\.name))
        let meant = near.first.map { "; did you mean “\($0)”?" } ?? ""
        throw RouterError(
            .routeNotFound, "there is no group called “\(name)”\(meant)",
            hint: "Run “router group list” to see what there is", scope: .route,
            candidates: near.isEmpty ? groups.map(\.name) : near)
    }

    private func filledGroup(_ name: String) async throws -> RoomGroup {
        let group = try await group(name)
        guard !group.rooms.isEmpty else {
            throw RouterError(
                .routeNotFound, "the group \(name) has no rooms", hint: "Add one: router group add \(name) ROOM",
                scope: .route)
        }
        return group
    }

    private func defaultRoom() throws -> String {
        guard let room = context.defaultRoom else {
            throw RouterError(
                .routeNotFound, "there is no default room",
                hint: "Name one with “router config set default_room ROOM”, or in ROUTER_ROOM", scope: .route)
        }
        return room
    }
}

extension RejoinableSession {
    /// Whether one of its rooms was called so; one of several devices has its own name behind the room's.
    fileprivate func was(in names: [String]) -> Bool {
        let names = names.map { $0.lowercased() }
        return rooms.contains { room in
            names.contains { room.lowercased() == $0 || room.lowercased().hasPrefix("\($0) (") }
        }
    }
}

extension SessionSnapshot {
    /// Its rooms, each once: one may have several devices.
    var roomNames: [String] { members.map(\.roomName).unique }

    /// Those that are not lost.
    fileprivate var playing: [SessionMember] {
        members.filter { $0.error == nil && $0.connection != .ended && $0.connection != .failed }
    }

    /// What those that are not lost are called; where all are, all.
    var playingNames: [String] { (playing.isEmpty ? members : playing).map(\.name) }
}

extension [String] {
    /// Each once, in the order of their first.
    var unique: [String] {
        var seen: Set<String> = []
        return filter { seen.insert($0).inserted }
    }
}

/// Words that are put together from others.
enum Phrase {
    /// “A”, “A and B”, “A, B and C”.
    static func list(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " and " + last
    }

    static func count(_ number: Int, _ one: String, _ many: String) -> String {
        "\(number) \(number == 1 ? one : many)"
    }
}
