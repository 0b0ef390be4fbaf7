import ArgumentParser
import RouteModel

struct RoomsListCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the rooms.",
        discussion: """
              router rooms
              router rooms list --fields name,via
            """)

    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let rooms = try await context.router.rooms(settle: true)
        if rooms.isEmpty, context.options.output.isForPeople {
            context.console.err("No rooms: none is configured, and no receiver answered on this network.")
            context.console.err("  hint: Run “router devices” to see why")
        } else {
            CompletionCache.standard?.remember(rooms: rooms)
        }
        try context.renderer.render(rooms, on: context.console)
        return 0
    }
}

struct RoomsShowCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show one room: its devices, its limits and what plays there.",
        discussion: """
              router rooms show Kitchen
            """)

    @Argument(help: "The room.", completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var name: String

    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let routes = try await context.router.routes(settle: true).routes
        let room = try RoomMatcher(rooms: try await context.router.rooms(settle: false), routes: routes).room(name)
        let playing = await context.router.sessions().first { session in
            session.isActive && session.members.contains { room.routes.contains($0.route) }
        }
        try context.renderer.render(one: room, on: context.console) { console in
            room.story(routes: routes, playing: playing).enumerated().map { index, line in
                index == 0 ? console.styled(Console.clean(line), .bold) : "  " + Console.clean(line)
            }
        }
        return 0
    }
}

extension Room: ListDisplayable {
    static var header: [String] { ["ROOM", "DEVICES", "PREFERS", "STATE", "ALIASES"] }

    var row: [String] {
        let there = routes.count
        let state = there == 0 ? "not there" : there < devices.count ? "\(there) of \(devices.count) there" : "ready"
        return [
            name, isMade ? devices.joined(separator: ", ") : "this device", via.rawValue, state,
            aliases.joined(separator: ", "),
        ]
    }

    var quietValue: String { name }

    /// Made by a person, in the file or by a command: not a device that is a room by itself.
    var isMade: Bool { configured || stored == true }

    /// All that is known of it, line by line.
    func story(routes: [Route], playing: SessionSnapshot?) -> [String] {
        let origin = stored == true ? "made by a command" : configured ? "in the configuration file" : "a device"
        var lines = [name, origin]
        if !aliases.isEmpty { lines.append("also called \(aliases.joined(separator: ", "))") }
        let there = routes.filter { self.routes.contains($0.id) }
        for route in there {
            lines.append(
                "\(route.name): \(route.families.map(\.displayName).joined(separator: ", ")), \(route.presence.rawValue)"
            )
        }
        if isMade, there.count < devices.count {
            lines.append(
                "\(Phrase.count(devices.count - there.count, "device", "devices")) of \(devices.count) not there")
        }
        lines.append("played to by \(via == .auto ? "whatever fits" : via.rawValue)")
        if let volumeLimit { lines.append("never louder than \(volumeLimit.percent) %") }
        if let quietHours { lines.append("quiet hours \(quietHours)") }
        switch startVolume {
        case nil, .preserve?: break
        case .last?: lines.append("begins as loud as it was last set")
        case .set(let level)?: lines.append("begins at \(level.percent) %")
        case .cap(let level)?: lines.append("begins at \(level.percent) % at most")
        }
        if let volumeCurve { lines.append("volume curve \(volumeCurve)") }
        if offsetMilliseconds != 0 {
            lines.append("heard \(abs(offsetMilliseconds)) ms \(offsetMilliseconds > 0 ? "later" : "earlier")")
        }
        lines.append(playing?.currentItem.map { "playing “\($0.title)”" } ?? "nothing plays there")
        return lines
    }
}
