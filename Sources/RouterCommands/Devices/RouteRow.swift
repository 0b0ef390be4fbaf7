import RouteModel

/// A device in a list, with what is known of it from what plays there and from the rooms that it is in.
struct DeviceRow: ListDisplayable {
    var route: Route
    /// Nil where nothing of ours plays there.
    var volume: VolumeState?
    /// Its own, and those of rooms that are this device alone.
    var aliases: [String]

    init(_ route: Route, sessions: [SessionSnapshot], rooms: [Room]) {
        self.route = route
        volume =
            sessions.filter(\.isActive).flatMap(\.members).first { $0.route == route.id && $0.error == nil }?.volume
        let names = rooms.filter { $0.isMade && $0.routes == [route.id] }.flatMap { [$0.name] + $0.aliases }
        aliases = ([route.alias].compactMap { $0 } + names).filter { $0 != route.name }
    }

    static var header: [String] { ["NAME", "KIND", "VIA", "STATE", "VOLUME", "ALIAS", "MODEL", "ADDRESS", "ID"] }

    var row: [String] {
        let cells = route.row
        let level = volume.map { $0.muted ? "muted" : String($0.level.percent) } ?? ""
        return Array(cells[..<4]) + [level, aliases.joined(separator: ", ")] + Array(cells[4...])
    }

    var quietValue: String { route.quietValue }
    var isGrey: Bool { route.presence != .present }
    static var optionalNames: Set<String> { ["alias", "model", "busyWith"] }

    var facts: [String: OutputValue] {
        [
            "volume": volume.map { .integer(Int64($0.level.percent)) } ?? .null,
            "muted": volume.map { .boolean($0.muted) } ?? .null, "aliases": .list(aliases.map { .text($0) }),
        ]
    }

    func encode(to encoder: any Encoder) throws { try route.encode(to: encoder) }

    /// Why it is left out of a list, unless all are asked for; nil where it is listed.
    var hiddenBecause: String? {
        guard !route.endpoints.isEmpty else { return "it names no way to play" }
        let plays = route.endpoints.contains { endpoint in
            // Of one that was only named, nothing is known yet.
            endpoint.capabilities.states.isEmpty
                || [RouteCapability.playAudioStream, .playURL].contains { capability in
                    switch endpoint.capabilities[capability] {
                    case .available, .unknown: true
                    case .unavailable, .unsupported: false
                    }
                }
        }
        return plays ? nil : "nothing can be played to it"
    }
}

extension Route: ListDisplayable {
    static var header: [String] { ["NAME", "KIND", "VIA", "STATE", "MODEL", "ADDRESS", "ID"] }

    var row: [String] {
        let via = families.map(\.displayName).joined(separator: ", ")
        let lock = access.words.map { " (\($0))" } ?? ""
        let state = busyWith.map { "plays \($0)" } ?? presence.rawValue
        return [
            name, deviceType == .unknown ? kind.rawValue : deviceType.rawValue, via, state + lock, model ?? "",
            endpoints.first?.address ?? "", id.rawValue,
        ]
    }

    var quietValue: String { id.rawValue }
}

extension RouteAccess {
    /// What a person has to know of it; nothing where everybody is let in.
    var words: String? {
        switch self {
        case .open: nil
        case .password: "has a password"
        case .pin, .pairingNeeded: "to be paired"
        case .paired: "paired"
        case .denied: "lets us in no more"
        }
    }
}
