import RouteModel

/// Resolves what a person called a room or device. An explicit name resolves to that or fails; it never falls back to
/// something else.
struct RoomSelector: Sendable {
    var rooms: [Room]
    var routes: [Route]

    enum Answer: Sendable, Equatable {
        /// Found by its whole name: nothing that is discovered later can change it.
        case exact(Room)
        /// Found by the beginning of its name: something discovered later might make it ambiguous.
        case prefix(Room)
        case ambiguous([String])
        /// Nothing like it; names that are near.
        case none([String])
    }

    /// Configured rooms with the routes that their devices stand for, then each other route as a room of its own.
    static func rooms(configured: [Room], routes: [Route]) -> [Room] {
        var taken: Set<RouteID> = []
        var result: [Room] = []
        for var room in configured {
            room.configured = room.stored != true
            room.routes = room.devices.compactMap { device in Self.route(device, in: routes)?.id }
            taken.formUnion(room.routes)
            result.append(room)
        }
        for route in routes where !taken.contains(route.id) {
            result.append(Room(name: route.name, devices: [route.id.rawValue], routes: [route.id]))
        }
        return result
    }

    /// The one route that a device's name, id, key or URI in the configuration means.
    private static func route(_ device: String, in routes: [Route]) -> Route? {
        let wanted = device.lowercased()
        return routes.first { route in
            route.id.rawValue == wanted || route.name.lowercased() == wanted
                || route.endpoints.contains { endpoint in
                    endpoint.id.rawValue.lowercased() == wanted
                        || endpoint.strongKeys.contains { $0.value == wanted || $0.description.lowercased() == wanted }
                        || StrongKey.stated(device).map(endpoint.strongKeys.contains) ?? false
                }
        }
    }

    func resolve(_ selector: String) -> Answer {
        let wanted = selector.lowercased()
        let named = rooms.filter { room in
            room.name.lowercased() == wanted || room.aliases.contains { $0.lowercased() == wanted }
        }
        // Two devices of one name are told apart by id only.
        if named.count > 1, !named.contains(where: \.isMade) {
            return .ambiguous(named.map { "\($0.name) (\($0.devices.first ?? ""))" })
        }
        if let room = named.first(where: \.isMade) ?? named.first { return .exact(room) }
        if let route = Self.route(selector, in: routes) {
            return .exact(
                rooms.first { !$0.isMade && $0.routes == [route.id] }
                    ?? Room(name: route.name, devices: [route.id.rawValue], routes: [route.id]))
        }
        let begun = rooms.filter { room in
            room.name.lowercased().hasPrefix(wanted) || room.aliases.contains { $0.lowercased().hasPrefix(wanted) }
                || room.devices.contains { $0.hasPrefix("rt-") && $0.hasPrefix(wanted) }
        }
        switch begun.count {
        case 1: return .prefix(begun[0])
        case 2...: return .ambiguous(begun.map(\.name))
        default:
            return .none(NearNames.of(selector, among: rooms.flatMap { [$0.name] + $0.aliases }))
        }
    }
}

extension Room {
    /// Whether a person made it, in the file or by a command; else it is a device by its own name.
    var isMade: Bool { configured || stored == true }
}
