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

    /// A room that a person made. Throws `configuration` for a device that is a room by itself.
    func made(_ name: String) async throws -> Room {
        let rooms = try await context.router.rooms(settle: false)
        let room = try RoomMatcher(rooms: rooms, routes: try await context.router.routes(settle: false).routes).room(
            name)
        guard room.isMade else {
            throw RouterError(
                .configuration, "\(room.name) is a device, and a room only by itself",
                hint: "Make a room of it first: router rooms create NAME \(ShellWord.quoted(room.name))", scope: .route)
        }
        guard room.stored == true else {
            throw RouterError(
                .configuration, "the room \(room.name) is in the configuration file, which commands do not change",
                hint: "Change it there: “router config path” says where it is", scope: .route)
        }
        return room
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
