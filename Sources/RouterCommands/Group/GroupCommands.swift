import ArgumentParser
import RouteModel

struct GroupListCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the groups.",
        discussion: """
              router group list
            """)
    static let discovers = false

    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let groups = try await context.router.groups()
        if groups.isEmpty { context.note("No groups.", hint: "Make one: router group create NAME ROOM ROOM") }
        CompletionCache.standard?.remember(groups: groups)
        try context.renderer.render(groups, on: context.console)
        return 0
    }
}

struct GroupCreateCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make a group of rooms.",
        discussion: """
              router group create upstairs Bedroom Bath
            """)
    static let remembers = true

    @Argument(help: "What to call it, 1 to 64 characters.")
    var name: String

    @Argument(help: "Its rooms.", completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var rooms: [String]

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        guard (1...64).contains(name.count), !name.hasPrefix("@") else {
            throw ValidationError("A name has 1 to 64 characters, and does not begin with @.")
        }
        if rooms.isEmpty { throw ValidationError("Say which rooms are in it.") }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        if try await context.router.groups().contains(where: { $0.name.lowercased() == name.lowercased() }) {
            throw RouterError(
                .configuration, "there is a group “\(name)” already",
                hint: "Add to it with “router group add”, or dissolve it first", scope: .route)
        }
        let matcher = try await TargetFinder(context).matcher(settle: true)
        var names: [String] = []
        for word in rooms {
            let room = try matcher.room(word).name
            if !names.contains(room) { names.append(room) }
        }
        let made = try await context.router.saveGroup(RoomGroup(name: name, rooms: names))
        try context.show(made, "Made the group \(made.name) of \(Phrase.list(made.rooms))")
        return 0
    }
}

struct GroupAddCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add rooms to a group.",
        discussion: """
            What plays in the group now is not changed: “router transfer ROOM --expand” does that.

              router group add upstairs Nursery
            """)
    static let remembers = true

    @Argument(help: "The group.", completion: .custom { _, _, _ in await DynamicCompletion.groups() })
    var name: String

    @Argument(help: "Rooms.", completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var rooms: [String]

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if rooms.isEmpty { throw ValidationError("Say which rooms to add.") }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let finder = TargetFinder(context)
        var group = try await finder.group(name)
        let matcher = try await finder.matcher(settle: true)
        for word in rooms {
            let room = try matcher.room(word).name
            if !group.rooms.contains(room) { group.rooms.append(room) }
        }
        let saved = try await context.router.saveGroup(group)
        try context.show(saved, "\(saved.name) is \(Phrase.list(saved.rooms)) now")
        return 0
    }
}

struct GroupRemoveCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Take rooms out of a group.",
        discussion: """
              router group remove upstairs Nursery
            """)
    static let discovers = false
    static let remembers = true

    @Argument(help: "The group.", completion: .custom { _, _, _ in await DynamicCompletion.groups() })
    var name: String

    @Argument(help: "Rooms.", completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var rooms: [String]

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if rooms.isEmpty {
            throw ValidationError("Say which rooms to take out; “router group dissolve” ends the group.")
        }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        var group = try await TargetFinder(context).group(name)
        for word in rooms {
            let room = try group.room(word)
            group.rooms.removeAll { $0 == room }
            group.trims[room] = nil
        }
        guard !group.rooms.isEmpty else {
            throw RouterError(
                .configuration, "\(group.name) would have no room left",
                hint: "End it: router group dissolve \(ShellWord.quoted(group.name))", scope: .route)
        }
        let saved = try await context.router.saveGroup(group)
        try context.show(saved, "\(saved.name) is \(Phrase.list(saved.rooms)) now")
        return 0
    }
}

struct GroupDissolveCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "dissolve", abstract: "End a group; its rooms stay, and what plays plays on.",
        discussion: """
              router group dissolve upstairs --yes
            """)
    static let discovers = false
    static let remembers = true

    @Argument(help: "The group.", completion: .custom { _, _, _ in await DynamicCompletion.groups() })
    var name: String

    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let group = try await TargetFinder(context).group(name)
        try await context.confirmed("The group \(group.name) will be dissolved")
        try await context.router.removeGroup(group.name)
        try context.show(Change(.removed, .group, group.name), "Dissolved \(group.name)")
        return 0
    }
}

extension RoomGroup: ListDisplayable {
    static var header: [String] { ["GROUP", "ROOMS", "TRIMS"] }

    var row: [String] {
        let trims = rooms.compactMap { room in self.trims[room].map { "\(room) \(Int(($0 * 100).rounded()))" } }
        return [name, rooms.joined(separator: ", "), trims.joined(separator: ", ")]
    }

    var quietValue: String { name }

    /// The room of it that a word means. Throws `routeNotFound`.
    func room(_ word: String) throws -> String {
        let wanted = word.lowercased()
        if let exact = rooms.first(where: { $0.lowercased() == wanted }) { return exact }
        let begun = rooms.filter { $0.lowercased().hasPrefix(wanted) }
        if begun.count == 1 { return begun[0] }
        throw RouterError(
            begun.isEmpty ? .routeNotFound : .routeAmbiguous, "“\(word)” is no one room of \(name)",
            hint: "Name one of its rooms", scope: .route, candidates: begun.isEmpty ? rooms : begun)
    }
}
