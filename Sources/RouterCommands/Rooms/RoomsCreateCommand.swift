import ArgumentParser
import Foundation
import RouteModel

struct RoomsCreateCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make a room of one or more devices.",
        discussion: """
            A device may be away just now; what is written is looked for whenever the room is played to.

              router rooms create "Ground Floor" Kitchen "Living Room TV"
              router rooms create Den "Sonos Den" --prefer airplay --volume-limit 60
              router rooms create Nursery "Baby Speaker" --quiet-hours "19:00-07:00 at 20 %" --start-volume 25
            """)
    static let remembers = true

    @Argument(help: "What to call the room.")
    var name: String

    @Argument(
        help: "Its devices: names, ids or URIs.", completion: .custom { _, _, _ in await DynamicCompletion.devices() })
    var devices: [String]

    @Option(name: .long, help: "airplay, cast, cast-streaming or auto.")
    var prefer: ViaPreference = .auto

    @OptionGroup var wanted: RoomOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if name.trimmingCharacters(in: .whitespaces).isEmpty || name.hasPrefix("@") {
            throw ValidationError("“\(name)” is no name for a room: it is not empty, and does not begin with @.")
        }
        if devices.isEmpty { throw ValidationError("Say which devices are in it, by name, id or URI.") }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let known = try await context.router.rooms(settle: true)
        if let twin = known.first(where: { $0.isMade && $0.name.lowercased() == name.lowercased() }) {
            throw RouterError(
                .configuration, "there is a room “\(twin.name)” already",
                hint: "Add to it with “router rooms add”, or remove it first", scope: .route)
        }
        if let device = known.first(where: { !$0.isMade && $0.name.lowercased() == name.lowercased() }) {
            let routes = try await context.router.routes(settle: false).routes.filter { device.routes.contains($0.id) }
            guard devices.contains(where: { word in routes.contains { $0.isCalled(word) } }) else {
                throw RouterError(
                    .configuration, "there is a device “\(device.name)”, which would not be in this room",
                    hint: "Take another name, or put the device in: router rooms create "
                        + ([name] + devices + [device.name]).map(ShellWord.quoted).joined(separator: " "),
                    scope: .route)
            }
        }
        var room = Room(name: name, devices: devices, via: prefer, stored: true)
        try wanted.change(&room)
        let made = try await context.router.saveRoom(room, replacing: nil)
        try await RoomEdit(context: context).warnOfStrangers(in: made.devices)
        try context.show(made, "Made the room \(made.name) of \(Phrase.list(made.devices))")
        return 0
    }
}

/// What the verbs that change a room have in common.
struct RoomEdit {
    let context: VerbContext

    /// A room that a person made, by its own name or an alias, written out: a word that only leads to a room, as the name
    /// of a device in it does, is enough to play there, but not to change or remove it.
    ///
    /// Throws `configuration` for a device that is a room by itself, `routeNotFound` for what is no room's name.
    func made(_ name: String) async throws -> Room {
        let rooms = try await context.router.rooms(settle: false)
        let wanted = name.lowercased()
        let named = rooms.filter { room in ([room.name] + room.aliases).contains { $0.lowercased() == wanted } }
        guard let room = named.first(where: \.isMade) ?? named.first else {
            throw try await noRoom(name, among: rooms)
        }
        guard room.isMade else { throw onlyDevice(room.name) }
        guard room.stored == true else {
            throw RouterError(
                .configuration, "the room \(room.name) is in the configuration file, which commands do not change",
                hint: "Change it there: “router config path” says where it is", scope: .route)
        }
        return room
    }

    /// What to say of a word that names no room.
    private func noRoom(_ word: String, among rooms: [Room]) async throws -> RouterError {
        let wanted = word.lowercased()
        let routes = try await context.router.routes(settle: false).routes
        let device = routes.first { $0.isCalled(word) }
        // A device that is away is known by what the room says of it.
        let holders = rooms.filter { room in
            (device.map { room.routes.contains($0.id) } ?? false)
                || room.devices.contains { $0.lowercased() == wanted }
        }
        let made = holders.filter(\.isMade).map(\.name)
        if !made.isEmpty {
            let place = made.count == 1 ? "room" : "rooms"
            return RouterError(
                .routeNotFound, "\(device?.name ?? word) is a device in the \(place) \(Phrase.list(made))",
                hint: "To change or remove a room, name it: \(made.map(ShellWord.quoted).joined(separator: ", "))",
                scope: .route, candidates: made)
        }
        if let room = holders.first { return onlyDevice(room.name) }
        let own = rooms.filter(\.isMade)
        let names = own.flatMap { [$0.name] + $0.aliases }
        let begun = wanted.isEmpty ? [] : names.filter { $0.lowercased().hasPrefix(wanted) }
        let near = begun.isEmpty ? NearNames.of(word, among: names) : begun
        let meant = near.isEmpty ? "" : "; did you mean \(near.map { "“\($0)”" }.joined(separator: " or "))?"
        return RouterError(
            .routeNotFound, "there is no room called “\(word)”\(meant)",
            hint: "Write the whole name of a room that was made; “router rooms” shows them", scope: .route,
            candidates: near.isEmpty ? own.map(\.name) : near)
    }

    private func onlyDevice(_ name: String) -> RouterError {
        RouterError(
            .configuration, "\(name) is a device, and a room only by itself",
            hint: "Make a room of it first: router rooms create NAME \(ShellWord.quoted(name))", scope: .route)
    }

    func save(_ room: Room, inPlaceOf name: String) async throws -> Room {
        try await context.router.saveRoom(room, replacing: name)
    }

    /// A name that no device has now may be one that is off, or one with a slip in it.
    func warnOfStrangers(in devices: [String]) async throws {
        let routes = try await context.router.routes(settle: true).routes
        for device in devices where !device.contains("://") && !routes.contains(where: { $0.isCalled(device) }) {
            let near = NearNames.of(device, among: routes.map(\.name)).first
            context.report.say(
                Notice(
                    .warning, "no device called “\(device)” is there now",
                    hint: near.map { "Did you mean “\($0)”?" } ?? "It is taken in once it is found"))
        }
    }
}
