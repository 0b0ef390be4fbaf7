import RouteModel

/// What a run holds: its rooms, and whether a person has taken one of them over.
///
/// A person's command on a room that the scene plays to wins: steps on it are superseded from then on, unless the scene
/// is exclusive. Persons are everyone but scenes and the router itself.
actor SceneLease {
    private let exclusive: Bool
    private var held: Set<String> = []
    private var taken: [String: String] = [:]
    private var sessions: [SessionID: [SessionMember]] = [:]
    /// Sessions that were there before, or that the scene began.
    private var known: Set<SessionID> = []
    /// Rooms that a step of ours is changing just now: sessions that come there are ours.
    private var changing: [String: Int] = [:]

    init(exclusive: Bool) { self.exclusive = exclusive }

    /// From now on these rooms are the scene's; those that a step only looks at are not.
    func hold(_ rooms: [String]) { held.formUnion(rooms) }

    /// Who took one of these rooms over, if somebody did.
    func overruled(_ rooms: [String]) -> String? { rooms.lazy.compactMap { self.taken[$0] }.first }

    func began(on rooms: [String]) { for room in rooms { changing[room, default: 0] += 1 } }

    func done(on rooms: [String], sessions: [SessionSnapshot]) {
        for session in sessions where session.members.contains(where: { rooms.contains($0.roomName) }) {
            remember(session, isOurs: true)
        }
        for room in rooms { changing[room] = (changing[room] ?? 1) - 1 }
    }

    /// Follows the router for as long as it tells of itself.
    func watch(_ events: AsyncStream<RouterEvent>) async {
        for await event in events { see(event.body) }
    }

    /// What is there when the run begins is no taking over.
    func begin(_ sessions: [SessionSnapshot]) { for session in sessions { remember(session, isOurs: true) } }

    func see(_ body: RouterEvent.Body) {
        switch body {
        case .snapshot(_, let sessions):
            for session in sessions { remember(session, isOurs: true) }
        case .session(let session):
            remember(session, isOurs: false)
        case .command(let report):
            guard !exclusive, !report.outcome.isError, let who = Self.person(report.origin) else { return }
            for room in rooms(of: report) { taken[room] = who }
        default: break
        }
    }

    private func remember(_ session: SessionSnapshot, isOurs: Bool) {
        let members = session.members.filter { $0.connection != .ended && $0.connection != .failed }
        // The report of a command that ended it comes after its end, and speaks of the rooms that it had.
        if !members.isEmpty { sessions[session.id] = members }
        let isNew = known.insert(session.id).inserted
        guard isNew, !isOurs, !exclusive else { return }
        for room in Set(members.map(\.roomName)) where held.contains(room) && (changing[room] ?? 0) == 0 {
            taken[room] = "somebody played something else there"
        }
    }

    private func rooms(of report: CommandReport) -> Set<String> {
        let members = sessions[report.session] ?? []
        switch report.command {
        case .setVolume(_, let room?), .stepVolume(_, let room?), .mute(_, let room?), .setStreamVolume(_, let room?),
            .fade(_, _, let room?), .trim(_, let room):
            // A command may mean one device of a room; the room is taken over all the same.
            let meant = members.filter { member in
                member.route.rawValue == room
                    || [member.roomName, member.name].contains { $0.lowercased() == room.lowercased() }
            }
            return meant.isEmpty ? [room] : Set(meant.map(\.roomName))
        default: return Set(members.map(\.roomName))
        }
    }

    private static func person(_ origin: CommandOrigin) -> String? {
        switch origin {
        case .cli: "a command took it over"
        case .api: "an app took it over"
        case .web: "the web page took it over"
        case .mpris: "the desktop took it over"
        case .device: "somebody used the device itself"
        case .otherSender: "another sender took it over"
        case .scene, .system: nil
        }
    }
}
