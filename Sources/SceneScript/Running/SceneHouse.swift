import RouteModel

/// The rooms and sessions at one instant, as steps and conditions look at them.
struct SceneHouse: Sendable {
    var rooms: [Room]
    var groups: [RoomGroup]
    var routes: [Route]
    var sessions: [SessionSnapshot]
    /// Devices that are rooms by their own names, and share those with others: only their ids tell them apart.
    let twins: Set<RouteID>

    init(rooms: [Room], groups: [RoomGroup], routes: [Route], sessions: [SessionSnapshot]) {
        self.rooms = rooms
        self.groups = groups
        self.routes = routes
        self.sessions = sessions
        twins = Self.twins(rooms)
    }

    static func look(_ router: any RouterControlling, settle: Bool = false) async throws -> SceneHouse {
        let rooms = try await router.rooms(settle: settle)
        let routes = try await router.routes(settle: false).routes
        // A router without groups has none.
        let groups = (try? await router.groups()) ?? []
        return SceneHouse(rooms: rooms, groups: groups, routes: routes, sessions: await router.sessions())
    }

    /// A room and whether it can be played to just now.
    struct Place: Sendable, Hashable {
        var name: String
        /// What the router finds it by: its name, or the id of its device where another one has that name too.
        var selector: String
        var routes: [RouteID]
        var isThere: Bool { !routes.isEmpty }
    }

    // MARK: Selectors

    /// The rooms that one selector means, as the router itself takes it; throws `routeNotFound` or `routeAmbiguous`.
    func places(_ selector: String) throws -> [Place] {
        if selector.hasPrefix("@") { return try several(selector) }
        let key = selector.lowercased()
        let named = rooms.filter { Self.isCalled($0, by: key) }
        // A room that a person made goes before a device; two devices of one name are told apart by id only.
        let made = named.first { $0.configured || $0.stored == true }
        if made == nil, named.count > 1 {
            throw ambiguous(selector, named.map { "\($0.name) (\($0.devices.first ?? ""))" })
        }
        if let room = made ?? named.first { return [place(room)] }
        // A group goes by its name where no room has it.
        if let group = group(key) { return try group.rooms.flatMap { try places($0) } }
        let devices = routes.filter { Self.isCalled($0, key) }
        guard devices.count < 2 else { throw ambiguous(selector, devices.map { "\($0.name) (\($0.id))" }) }
        if let route = devices.first {
            // A device is its own room, or part of one.
            let own = rooms.first { !$0.configured && $0.stored != true && $0.routes == [route.id] }
            if let own { return [place(own)] }
            let isOnly =
                !rooms.contains { Self.isCalled($0, by: route.name) }
                && routes.count { $0.name.lowercased() == route.name.lowercased() } == 1
            return [
                Place(
                    name: route.name, selector: isOnly ? route.name : route.id.rawValue,
                    routes: route.presence == .gone ? [] : [route.id])
            ]
        }
        let near = rooms.filter { room in
            room.name.lowercased().hasPrefix(key) || room.aliases.contains { $0.lowercased().hasPrefix(key) }
                || room.devices.contains { $0.hasPrefix("rt-") && $0.hasPrefix(key) }
        }
        if near.count == 1 { return [place(near[0])] }
        guard near.isEmpty else { throw ambiguous(selector, near.map(\.name)) }
        let names = rooms.map(\.name)
        let meant = NearNames.of(selector, among: names)
        throw RouterError(
            .routeNotFound, "there is no room or device called “\(selector)”",
            hint: meant.first.map { "Did you mean “\($0)”?" } ?? "Run “router rooms list” to see what there is",
            scope: .route, candidates: meant.isEmpty ? Array(names.prefix(10)) : meant)
    }

    private static func isCalled(_ room: Room, by name: String) -> Bool {
        let key = name.lowercased()
        return room.name.lowercased() == key || room.aliases.contains { $0.lowercased() == key }
    }

    private static func isCalled(_ route: Route, _ key: String) -> Bool {
        route.id.rawValue.lowercased() == key || route.name.lowercased() == key || route.alias?.lowercased() == key
            || route.endpoints.contains { endpoint in
                endpoint.id.rawValue.lowercased() == key
                    || endpoint.strongKeys.contains { $0.value == key || $0.description.lowercased() == key }
            }
    }

    private func group(_ key: String) -> RoomGroup? { groups.first { $0.name.lowercased() == key } }

    private func ambiguous(_ selector: String, _ names: [String]) -> RouterError {
        RouterError(
            .routeAmbiguous, "“\(selector)” could be \(names.joined(separator: " or "))",
            hint: "Give the whole name, or an id from “router devices --long”", scope: .route, candidates: names)
    }

    private static let groupPrefix = "@group:"

    private func several(_ selector: String) throws -> [Place] {
        let key = selector.lowercased()
        switch key {
        case "@all": return rooms.map(place)
        case "@active":
            let active = rooms.map(place).filter { !sessions(in: [$0]).isEmpty }
            guard !active.isEmpty else {
                throw RouterError(.routeNotFound, "nothing is playing", hint: "Name a room", scope: .route)
            }
            return active
        default:
            guard key.hasPrefix(Self.groupPrefix),
                let group = group(String(key.dropFirst(Self.groupPrefix.count)))
            else {
                throw RouterError(
                    .routeNotFound, "there is no “\(selector)”", hint: "Write @all, @active or @group:NAME",
                    scope: .route,
                    candidates: groups.map { "@group:\($0.name)" })
            }
            return try group.rooms.flatMap { try places($0) }
        }
    }

    private func place(_ room: Room) -> Place {
        let gone = Set(routes.filter { $0.presence == .gone }.map(\.id))
        let twin = room.routes.first { twins.contains($0) }
        return Place(
            name: room.name, selector: twin?.rawValue ?? room.name, routes: room.routes.filter { !gone.contains($0) })
    }

    private static func twins(_ rooms: [Room]) -> Set<RouteID> {
        let counts = Dictionary(
            rooms.flatMap { room in Set(([room.name] + room.aliases).map { $0.lowercased() }).map { ($0, 1) } },
            uniquingKeysWith: +)
        return rooms.reduce(into: []) { result, room in
            guard !room.configured, room.stored != true, counts[room.name.lowercased()] ?? 0 > 1 else { return }
            result.formUnion(room.routes)
        }
    }

    /// What a target stands for now.
    enum Resolution: Sendable {
        case places(Found)
        /// It is optional, and not there: why.
        case absent(String)
    }

    /// The rooms of a target that are there.
    struct Found: Sendable {
        var places: [Place]
        var usedFallback = false
        /// Names of those that are not there just now.
        var absent: [String] = []
        /// Of these, the ones that the scene names and cannot do without.
        var missing: [String] = []
    }

    /// What is said of rooms that are not there.
    static func words(absent names: [String]) -> String {
        "\(names.joined(separator: ", ")) \(names.count > 1 ? "are" : "is") not there just now"
    }

    /// The rooms of a target, or those in its place. Rooms that are not there are left out where others are.
    func resolve(_ target: SceneTarget) throws -> Resolution {
        var failure: RouterError?
        for (selectors, isFallback) in [(target.rooms, false), (target.fallback, true)] where !selectors.isEmpty {
            do {
                let named = try selectors.map { (isNamed: !$0.hasPrefix("@"), places: try places($0)) }
                let found = unique(named.flatMap { $0.places })
                let there = found.filter(\.isThere)
                let absent = found.filter { !$0.isThere }
                if there.isEmpty {
                    failure = RouterError(
                        .routeNotFound, Self.words(absent: absent.isEmpty ? ["nothing"] : absent.map(\.name)),
                        hint: "Switch it on, or give the target a fallback or “optional: true”", scope: .route)
                    continue
                }
                let wanted = target.optional ? [] : named.filter { $0.isNamed }.flatMap { $0.places }
                return .places(
                    Found(
                        places: there, usedFallback: isFallback, absent: absent.map(\.name),
                        missing: absent.filter(wanted.contains).map(\.name)))
            } catch let error as RouterError {
                failure = failure ?? error
            }
        }
        let error = failure ?? RouterError(.routeNotFound, "the target “\(target.name)” names no room", scope: .route)
        if target.optional { return .absent(error.message) }
        throw error
    }

    private func unique(_ places: [Place]) -> [Place] {
        var seen: Set<String> = []
        return places.filter { seen.insert($0.selector).inserted }
    }

    // MARK: Sessions

    static func isMember(_ member: SessionMember, of place: Place) -> Bool {
        guard member.connection != .ended, member.connection != .failed else { return false }
        return isIn(place, member)
    }

    /// Whether a member, also one that has failed, is in a room. A name that several have says nothing of that.
    static func isIn(_ place: Place, _ member: SessionMember) -> Bool {
        place.routes.contains(member.route) || place.selector == place.name && member.roomName == place.name
    }

    /// Sessions that are in any of these rooms, in the rooms' order.
    func sessions(in places: [Place]) -> [SessionSnapshot] {
        var seen: Set<SessionID> = []
        return places.flatMap { place in sessions.filter { Self.plays($0, in: place) } }.filter {
            seen.insert($0.id).inserted
        }
    }

    static func plays(_ session: SessionSnapshot, in place: Place) -> Bool {
        guard session.connection != .ended, session.connection != .failed else { return false }
        return session.members.contains { isMember($0, of: place) }
    }

    /// What the members of a session that are in these rooms are called, and whether these are all that it has. A room
    /// of several devices is called by its own name, unless only some of them are meant; one that shares its name with
    /// others by its id.
    static func members(
        of session: SessionSnapshot, in places: [Place]
    ) -> (names: [String], all: Bool) {
        let living = session.members.filter { $0.connection != .ended && $0.connection != .failed }
        let inside = living.filter { member in places.contains { isMember(member, of: $0) } }
        let meant = Set(inside.map(\.route))
        var names: [String] = []
        for member in inside {
            let isWhole = living.allSatisfy { $0.roomName != member.roomName || meant.contains($0.route) }
            let shared = places.first { $0.selector != $0.name && isMember(member, of: $0) }
            let name = shared?.selector ?? (isWhole ? member.roomName : member.name)
            if !names.contains(name) { names.append(name) }
        }
        return (names, inside.count == living.count)
    }

    // MARK: Conditions

    /// Whether a comparison holds; nil where it cannot be told, as a volume where nothing plays.
    ///
    /// - Parameter before: the sessions when the waiting for it began.
    func holds(
        _ comparison: SceneComparison, targets: [String: [Place]], time: (minutes: Int, day: Int),
        before: [SessionSnapshot] = []
    ) -> Bool? {
        if let known = comparison.holds(minutes: time.minutes, day: time.day) { return known }
        guard case .target(let name, let field) = comparison.subject else { return nil }
        let places = targets[name] ?? []
        if field == .present, case .boolean(let wanted) = comparison.value {
            return (!places.isEmpty && places.allSatisfy(\.isThere)) == (wanted == (comparison.comparison == .equal))
        }
        guard !places.isEmpty else { return nil }
        var result: Bool? = true
        for place in places {
            let session = sessions.first { Self.plays($0, in: place) }
            let first = before.first { Self.plays($0, in: place) }
            guard let one = Self.holds(comparison, field, place, session, before: first) else {
                result = nil
                continue
            }
            if !one { return false }
        }
        return result
    }

    private static func holds(
        _ comparison: SceneComparison, _ field: SceneComparison.Field, _ place: Place, _ session: SessionSnapshot?,
        before: SessionSnapshot?
    ) -> Bool? {
        let equal = comparison.comparison == .equal
        switch (field, comparison.value) {
        case (.state, .state(let state)): return (Self.state(session) == state) == equal
        case (.muted, .boolean(let wanted)):
            let member = session?.members.first { isMember($0, of: place) }
            return member?.volume.map { ($0.muted == wanted) == equal }
        case (.item, .text(let title)):
            if comparison.comparison == .changes {
                // That nothing plays any more is a change too; that nothing ever did is none.
                guard let session else { return before != nil }
                return before?.queue.current != session.queue.current
            }
            return (session?.currentItem?.title == title) == equal
        case (_, .number(let wanted)):
            return number(field, place, session).map { comparison.comparison.holds($0, wanted) }
        default: return nil
        }
    }

    private static func number(
        _ field: SceneComparison.Field, _ place: Place, _ session: SessionSnapshot?
    ) -> Double? {
        guard let session else { return field == .upcoming ? 0 : nil }
        switch field {
        case .position: return session.position?.seconds
        case .remaining:
            guard let position = session.position,
                let duration = session.anchor?.duration ?? session.currentItem?.metadata.duration
            else { return nil }
            return max(0, (duration - position).seconds)
        case .volume:
            let member = session.members.first { isMember($0, of: place) }
            // As a person reads it: a device may store a third of a percent beside it.
            return member?.volume.map { Double($0.level.percent) / 100 }
        case .upcoming:
            let place = session.queue.items.firstIndex { $0.id == session.queue.current }
            return Double(place.map { session.queue.items.count - $0 - 1 } ?? 0)
        default: return nil
        }
    }

    static func state(_ session: SessionSnapshot?) -> SceneComparison.State {
        switch session?.media {
        case .playing: .playing
        case .paused: .paused
        case .loading, .buffering: .loading
        case .stopped, nil: .stopped
        case .some(.none): session?.connection == .connecting ? .loading : .stopped
        }
    }
}
