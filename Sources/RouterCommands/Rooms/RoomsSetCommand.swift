import ArgumentParser
import RouteModel

struct RoomsSetCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change how loud a room may be and begins, when it is heard, and what else it is called.",
        discussion: """
            What is not named stays as it is; an empty value takes out what was set.

              router rooms set Den --volume-limit 60
              router rooms set Den --start-volume "at most 40"
              router rooms set Nursery --quiet-hours "19:00-07:00 at 20 %" --alias baby
              router rooms set Den --volume-limit "" --offset 20ms
            """)
    static let remembers = true

    @Argument(help: "The room.", completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var name: String

    @OptionGroup var wanted: RoomOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
        guard !wanted.isEmpty else {
            throw ValidationError(
                "Say what to change: --alias, --volume-limit, --quiet-hours, --start-volume, --volume-curve or --offset."
            )
        }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let edit = RoomEdit(context: context)
        var room = try await edit.made(name)
        let old = room.name
        try wanted.change(&room)
        let saved = try await edit.save(room, inPlaceOf: old)
        try context.show(saved, "Changed the room \(saved.name)")
        return 0
    }
}
