import ArgumentParser
import Foundation
import RouteModel

struct RoomsAddCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add devices to a room.",
        discussion: """
              router rooms add "Ground Floor" "Hall Speaker"
            """)
    static let remembers = true

    @Argument(help: "The room.", completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var name: String

    @Argument(
        help: "Devices: names, ids or URIs.", completion: .custom { _, _, _ in await DynamicCompletion.devices() })
    var devices: [String]

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if devices.isEmpty { throw ValidationError("Say which devices to add, by name, id or URI.") }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let edit = RoomEdit(context: context)
        var room = try await edit.made(name)
        let new = devices.filter { device in !room.devices.contains { $0.lowercased() == device.lowercased() } }
        guard !new.isEmpty else {
            context.note("\(room.name) has \(Phrase.list(devices)) already")
            return 0
        }
        room.devices += new
        let saved = try await edit.save(room, inPlaceOf: room.name)
        try await edit.warnOfStrangers(in: new)
        try context.show(saved, "\(saved.name) is \(Phrase.list(saved.devices)) now")
        return 0
    }
}

struct RoomsRemoveCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a room, or devices from it.",
        discussion: """
            The devices themselves stay, as rooms of their own names.

              router rooms remove "Ground Floor" "Hall Speaker"
              router rooms remove "Ground Floor" --yes
            """)
    static let remembers = true

    @Argument(help: "The room.", completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var name: String

    @Argument(help: "Devices to take out of it; none removes the room.")
    var devices: [String] = []

    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let edit = RoomEdit(context: context)
        var room = try await edit.made(name)
        guard !devices.isEmpty else {
            try await context.confirmed("The room \(room.name) will be removed")
            try await context.router.removeRoom(room.name)
            try context.show(Change(.removed, .room, room.name), "Removed the room \(room.name)")
            return 0
        }
        for device in devices {
            guard let index = room.devices.firstIndex(where: { $0.lowercased() == device.lowercased() }) else {
                throw RouterError(
                    .routeNotFound, "\(room.name) has no device “\(device)”",
                    hint: "Run “router rooms show” to see what it has", scope: .route, candidates: room.devices)
            }
            room.devices.remove(at: index)
        }
        guard !room.devices.isEmpty else {
            throw RouterError(
                .configuration, "\(room.name) would have no device left",
                hint: "Remove the room itself: router rooms remove \(ShellWord.quoted(room.name))", scope: .route)
        }
        let saved = try await edit.save(room, inPlaceOf: room.name)
        try context.show(saved, "\(saved.name) is \(Phrase.list(saved.devices)) now")
        return 0
    }
}

struct RoomsPreferCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "prefer", abstract: "Say by which protocol a room is to be played to.",
        discussion: """
            What is preferred is used, and nothing in its place; auto chooses.

              router rooms prefer Kitchen airplay
              router rooms prefer Kitchen auto
            """)
    static let remembers = true

    @Argument(help: "The room.", completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var name: String

    @Argument(help: "airplay, cast, cast-streaming or auto.")
    var via: ViaPreference

    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let edit = RoomEdit(context: context)
        var room = try await edit.made(name)
        room.via = via
        let saved = try await edit.save(room, inPlaceOf: room.name)
        try context.show(saved, "\(saved.name) is played to by \(via == .auto ? "whatever fits" : via.rawValue) now")
        return 0
    }
}

struct RoomsRenameCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Call a room something else.",
        discussion: """
            What a device calls itself is its own; to call one differently, make a room of it.

              router rooms rename Den Study
            """)
    static let remembers = true

    @Argument(help: "The room.", completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var name: String

    @Argument(help: "Its new name.")
    var newName: String

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if newName.trimmingCharacters(in: .whitespaces).isEmpty || newName.hasPrefix("@") {
            throw ValidationError("“\(newName)” is no name for a room: it is not empty, and does not begin with @.")
        }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let edit = RoomEdit(context: context)
        var room = try await edit.made(name)
        let old = room.name
        room.name = newName
        let saved = try await edit.save(room, inPlaceOf: old)
        try context.show(saved, "\(old) is called \(saved.name) now")
        return 0
    }
}
