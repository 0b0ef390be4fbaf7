import RouteModel

/// Writes what plays now as a scene that makes it so again.
public enum SceneCapture {
    /// The text of a scene: each session's rooms, queue, position, volumes and play state.
    ///
    /// - Parameter rooms: selectors of the rooms to capture; empty: all that play.
    /// - Throws: `routeNotFound` for a room that there is not, and where nothing plays; `sceneInvalid` for more than a
    ///   scene can hold.
    public static func capture(
        _ router: any RouterControlling, name: String = "Captured", rooms: [String] = []
    ) async throws -> String {
        let house = try await SceneHouse.look(router)
        let places = try rooms.flatMap { try house.places($0) }
        let sessions = (rooms.isEmpty ? house.sessions : house.sessions(in: places)).filter {
            SceneHouse.state($0) != .stopped && $0.queue.current != nil
        }.sorted { $0.id < $1.id }
        guard !sessions.isEmpty else {
            throw RouterError(
                .routeNotFound,
                rooms.isEmpty ? "nothing is playing" : "nothing plays in \(rooms.joined(separator: ", "))",
                hint: "Start something with “router play”, and capture it then", scope: .session)
        }
        let text = text(of: sessions, name: name, twins: house.twins)
        // What could not be run again is of no use.
        guard SceneParser.parse(text, path: "\(name).yaml").scene != nil else { throw tooMuch(sessions) }
        return text
    }

    private static func tooMuch(_ sessions: [SessionSnapshot]) -> RouterError {
        let largest = sessions.max { $0.queue.items.count < $1.queue.items.count }
        let rooms = largest.map { Set($0.members.map(\.roomName)).sorted().joined(separator: ", ") } ?? ""
        return RouterError(
            .sceneInvalid,
            "the queue of \(rooms) has \(largest?.queue.items.count ?? 0) items: more than a scene can hold",
            hint: "Keep it with “router queue save NAME”, and write a scene that plays “saved_queue: NAME”",
            scope: .session)
    }

    /// - Parameter twins: devices that share their names with others, and go by their ids.
    static func text(of sessions: [SessionSnapshot], name: String, twins: Set<RouteID> = []) -> String {
        var names = CaptureNames()
        var steps: [String] = []
        for session in sessions { steps += self.steps(of: session, twins, &names) }
        var lines = ["version: 1", "name: \(quoted(String(name.prefix(64))))", "targets:"]
        for (target, room) in names.all { lines.append("  \(target): \(quoted(room))") }
        return (lines + ["steps:"] + steps).joined(separator: "\n") + "\n"
    }

    private static func steps(
        of session: SessionSnapshot, _ twins: Set<RouteID>, _ names: inout CaptureNames
    ) -> [String] {
        func room(_ member: SessionMember) -> String {
            twins.contains(member.route) ? member.route.rawValue : member.roomName
        }
        let members = session.members.filter { $0.connection != .ended && $0.connection != .failed }
        var rooms: [String] = []
        for member in members where !rooms.contains(room(member)) { rooms.append(room(member)) }
        let targets = rooms.map { names.target(of: $0) }
        let list = "[\(targets.joined(separator: ", "))]"
        var media: [String] = []
        var item = 1
        for entry in session.queue.items {
            // Live input is made anew by whoever makes it.
            if let text = entry.source.text { media.append(text) }
            if entry.id == session.queue.current { item = max(1, media.count) }
        }
        guard !media.isEmpty, !targets.isEmpty else { return [] }
        var lines = losses(in: session.queue).map { "  # \($0)" } + ["  - play:", "      media:"]
        lines += media.map { "        - \(quoted($0))" }
        if item > 1 { lines.append("      item: \(item)") }
        if let position = session.resumePosition, position > .zero {
            lines.append("      start: \(SceneValues.text(position))")
        }
        if session.queue.repeatMode != .off { lines.append("      repeat: \(session.queue.repeatMode.rawValue)") }
        lines.append("    target: \(list)")
        for (selector, target) in zip(rooms, targets) {
            let volumes = members.filter { room($0) == selector && $0.volumeHandling == .adjustable }
                .compactMap(\.volume)
            // A scene sets all devices of a room alike: as its loudest is.
            guard let level = volumes.map(\.level).max() else { continue }
            lines += ["  - volume: \(level.percent)%", "    target: \(target)"]
            if volumes.allSatisfy(\.muted) { lines += ["  - volume: mute", "    target: \(target)"] }
        }
        if SceneHouse.state(session) == .paused { lines += ["  - pause:", "    target: \(list)"] }
        return lines
    }

    /// What items say of themselves and a scene has no words for.
    private static func losses(in queue: QueueSnapshot) -> [String] {
        let kinds: [(words: String, has: (QueueItem) -> Bool)] = [
            ("a beginning or an end of their own", { $0.start > .zero || $0.end != nil }),
            ("subtitles", { $0.subtitles != nil }), ("no picture to be shown", { $0.externalPlayback == false }),
        ]
        return kinds.compactMap { kind in
            let count = queue.items.count { kind.has($0) }
            return count == 0 ? nil : "Not captured: \(count) of the items had \(kind.words)."
        }
    }

    /// Text in double quotes (YAML 1.2.2 7.3.1), in which nothing has a meaning of its own; a dollar sign at its
    /// beginning is doubled, so that it names no variable.
    static func quoted(_ text: String) -> String {
        var result = "\""
        if text.hasPrefix("$") { result += "$" }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            default:
                let value = scalar.value
                if value < 0x20 || (0x7F...0x9F).contains(value) || value == 0x2028 || value == 0x2029
                    || (0xE000...0xF8FF).contains(value) || value & 0xFFFE == 0xFFFE || value == 0xFEFF
                {
                    let hex = String(value, radix: 16, uppercase: true)
                    result += "\\U" + String(repeating: "0", count: 8 - hex.count) + hex
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result + "\""
    }
}

/// Names of targets, made of rooms' names.
private struct CaptureNames {
    private(set) var all: [(target: String, room: String)] = []

    mutating func target(of room: String) -> String {
        if let known = all.first(where: { $0.room == room }) { return known.target }
        var base = ""
        for character in room.lowercased() {
            if character.isASCII, character.isLetter || character.isNumber {
                base.append(character)
            } else if !base.isEmpty, base.last != "-" {
                base.append("-")
            }
        }
        while base.last == "-" { base.removeLast() }
        base = String(base.prefix(30))
        if base.first?.isLetter != true { base = "room" + (base.isEmpty ? "" : "-\(base)") }
        var name = base
        var number = 2
        while all.contains(where: { $0.target == name }) {
            name = "\(base)-\(number)"
            number += 1
        }
        all.append((name, room))
        return name
    }
}
