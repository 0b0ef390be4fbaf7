import ArgumentParser
import RouteModel

struct RoomsSetCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Change how loud a room may be, when it is heard, and what else it is called.",
        discussion: """
            What is not named stays as it is; an empty value takes out what was set.

              router rooms set Den --volume-limit 60
              router rooms set Nursery --quiet-hours "19:00-07:00 at 20 %" --alias baby
              router rooms set Den --volume-limit "" --offset 20ms
            """)

    @Argument(help: "The room.", completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var name: String

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Another name for it, in place of those it has; may be repeated.", valueName: "name"))
    var alias: [String] = []

    @Option(name: .long, help: ArgumentHelp("The loudest that it may be set to, 0 to 100.", valueName: "level"))
    var volumeLimit: String?

    @Option(
        name: .long, help: ArgumentHelp("When it is not to be loud: \"22:00-07:00 at 30 %\".", valueName: "hours"))
    var quietHours: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Heard so much later than others, -5000ms to 5000ms.", valueName: "20ms"))
    var offset: String?

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        guard !alias.isEmpty || volumeLimit != nil || quietHours != nil || offset != nil else {
            throw ValidationError("Say what to change: --alias, --volume-limit, --quiet-hours or --offset.")
        }
        if alias.contains(where: { $0.hasPrefix("@") }) {
            throw ValidationError("A name does not begin with @.")
        }
        do {
            var room = Room(name: name)
            try change(&room)
        } catch let error as RouterError {
            throw ValidationError("\(error.message). \(error.hint ?? "")")
        }
    }

    private func change(_ room: inout Room) throws {
        if !alias.isEmpty { room.aliases = alias.filter { !$0.isEmpty } }
        if let volumeLimit {
            room.volumeLimit = volumeLimit.isEmpty ? nil : VolumePosition(percent: Double(try Self.level(volumeLimit)))
        }
        if let quietHours { room.quietHours = quietHours.isEmpty ? nil : try QuietHours(quietHours) }
        if let offset { room.offsetMilliseconds = offset.isEmpty ? 0 : try RoomsCreateCommand.milliseconds(offset) }
    }

    private static func level(_ text: String) throws -> Int {
        guard let level = Int(text), (0...100).contains(level) else {
            throw ValidationError("The limit is a number from 0 to 100, not “\(CommandWords.typed(text))”.")
        }
        return level
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let edit = RoomEdit(context: context)
        var room = try await edit.made(name)
        let old = room.name
        try change(&room)
        let saved = try await edit.save(room, inPlaceOf: old)
        try context.show(saved, "Changed the room \(saved.name)")
        return 0
    }
}
