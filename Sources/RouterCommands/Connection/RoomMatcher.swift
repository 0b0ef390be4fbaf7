import RouteModel

/// Which room a person means by a word: its name, an alias, an id of a device in it, or the only beginning of one.
///
/// A word means that room or none: nothing is ever taken in its place.
struct RoomMatcher: Sendable {
    var rooms: [Room]
    var routes: [Route]

    init(rooms: [Room], routes: [Route] = []) {
        self.rooms = rooms
        self.routes = routes
    }

    /// Throws `routeNotFound` with names that are near, and `routeAmbiguous` with those that could be meant.
    func room(_ word: String) throws -> Room {
        let wanted = word.lowercased()
        let named = rooms.filter { room in ([room.name] + room.aliases).contains { $0.lowercased() == wanted } }
        // One that a person made goes before a device of that name.
        if let made = named.first(where: \.isMade) { return made }
        if named.count == 1 { return named[0] }
        if named.count > 1 { throw ambiguous(word, named) }
        if let route = routes.first(where: { $0.isCalled(word) }),
            let room = rooms.first(where: { $0.routes.contains(route.id) })
        {
            return room
        }
        if let room = rooms.first(where: { $0.routes.contains { $0.rawValue == wanted } }) { return room }
        let begun = rooms.filter { room in
            ([room.name] + room.aliases).contains { $0.lowercased().hasPrefix(wanted) }
                || (wanted.hasPrefix("rt-") && room.routes.contains { $0.rawValue.hasPrefix(wanted) })
        }
        if begun.count == 1 { return begun[0] }
        if begun.count > 1 { throw ambiguous(word, begun) }
        let names = rooms.flatMap { [$0.name] + $0.aliases }
        let near = NearNames.of(word, among: names)
        let meant = near.isEmpty ? "" : "; did you mean \(near.map { "“\($0)”" }.joined(separator: " or "))?"
        throw RouterError(
            .routeNotFound, "there is no room or device called “\(word)”\(meant)",
            hint: "Run “router rooms” to see what there is", scope: .route,
            candidates: near.isEmpty ? rooms.map(\.name) : near)
    }

    private func ambiguous(_ word: String, _ rooms: [Room]) -> RouterError {
        RouterError(
            .routeAmbiguous, "“\(word)” could be \(rooms.map(\.name).joined(separator: " or "))",
            hint: "Type more of the name, or an id from “router devices --long”", scope: .route,
            candidates: rooms.map(\.name))
    }
}

extension Route {
    /// Whether this is its name, its id, a key of it, or an address or URI that it is reached at.
    func isCalled(_ word: String) -> Bool {
        let wanted = word.lowercased()
        let stated = StrongKey.stated(word)
        return name.lowercased() == wanted || id.rawValue == wanted
            || endpoints.contains { endpoint in
                endpoint.address == word || endpoint.host == word
                    || endpoint.strongKeys.contains { $0 == stated || $0.value == wanted }
            }
    }
}
