import ArgumentParser
import Foundation
import RouteModel

struct QueueSaveCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "save", abstract: "Keep the queue under a name, in place of what had that name.",
        discussion: """
              router queue save "Sunday morning"
            """)
    static let discovers = false
    static let remembers = true

    @Argument(help: "What to call it, 1 to 64 characters.")
    var name: String

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
        guard (1...64).contains(name.count) else { throw ValidationError("A name has 1 to 64 characters.") }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let session = try await TargetFinder(context, takesStopped: true).session(target).session
        if try await context.router.savedQueues().contains(where: { $0.name == name }) {
            try await context.confirmed("The queue kept as “\(name)” will be replaced")
        }
        let saved = try await context.router.saveQueue(session: session.id, as: name)
        try context.show(saved, "Kept \(Phrase.count(saved.items.count, "item", "items")) as “\(saved.name)”")
        return 0
    }
}

struct QueueLoadCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "load", abstract: "Play a queue that was kept.",
        discussion: """
            Without --room it plays where something plays now, else in the default room.

              router queue load "Sunday morning"
              router queue load "Sunday morning" -r Kitchen --shuffle
            """)

    @Argument(
        help: "The name that it was kept under.",
        completion: .custom { _, _, _ in await DynamicCompletion.savedQueues() })
    var name: String

    @Flag(name: .long, help: "Play all but the first item in a random order.")
    var shuffle = false

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let saved = try await SavedQueues(context).one(name)
        var rooms = try await TargetFinder(context).rooms(target)
        if target.selectors.isEmpty {
            let active = await context.router.sessions().filter(\.isActive)
            if active.count == 1 { rooms = active[0].roomNames }
        }
        let request = PlayRequest(what: [], rooms: rooms, shuffle: shuffle, savedQueue: saved.name)
        guard context.isDaemon else {
            return try await PlaySession(options: options, detach: false, control: context.router).run(request)
        }
        return try await DaemonPlay(context: context).run(request)
    }
}

struct QueueSavedCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "saved", abstract: "List the queues that were kept, or forget one.",
        discussion: """
              router queue saved
              router queue saved --remove "Sunday morning" --yes
            """)
    static let discovers = false
    static let remembers = true

    @Option(
        name: .long, help: ArgumentHelp("Forget this one.", valueName: "name"),
        completion: .custom { _, _, _ in await DynamicCompletion.savedQueues() })
    var remove: String?

    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        if let remove {
            let saved = try await SavedQueues(context).one(remove)
            try await context.confirmed("The queue kept as “\(saved.name)” will be forgotten")
            try await context.router.removeSavedQueue(saved.name)
            try context.show(Change(.removed, .queue, saved.name), "Forgot “\(saved.name)”")
            return 0
        }
        let queues = try await context.router.savedQueues()
        if queues.isEmpty { context.note("No queue was kept.", hint: "Keep one with “router queue save NAME”") }
        try context.renderer.render(queues, on: context.console)
        return 0
    }
}

struct QueueHistoryCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "List what was played, the latest first.",
        discussion: """
              router queue history
              router queue history --limit 100 -o ndjson
              router queue history -r Kitchen
            """)
    static let discovers = false

    @Option(name: .long, parsing: .unconditional, help: ArgumentHelp("At most so many, 1 to 1000.", valueName: "count"))
    var limit: Int = 20

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
        guard (1...1000).contains(limit) else { throw ValidationError("--limit is a number from 1 to 1000.") }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        var records = try await context.router.history(limit: target.selectors.isEmpty ? limit : 1000)
        if !target.selectors.isEmpty {
            // Of a room that is not there any more there is history too, so names are taken as they are.
            let rooms = try await TargetFinder(context).namesOfOld(target)
            records = Array(
                records.filter { record in rooms.contains { room in record.rooms.contains { isOf(room, $0) } } }
                    .prefix(limit))
        }
        if records.isEmpty { context.note("Nothing was played yet.", hint: "Play something with “router play”") }
        try context.renderer.render(records, on: context.console)
        return 0
    }
}

extension QueueHistoryCommand {
    /// Whether a name is the room's, or that of one of its several devices, which is put behind the room's.
    private func isOf(_ room: String, _ name: String) -> Bool {
        let (room, name) = (room.lowercased(), name.lowercased())
        return name == room || name.hasPrefix(room + " (")
    }
}

/// Queues that were kept.
struct SavedQueues {
    let context: VerbContext

    init(_ context: VerbContext) { self.context = context }

    /// Throws `mediaNotFound` with names that are near.
    func one(_ name: String) async throws -> SavedQueue {
        let queues = try await context.router.savedQueues()
        if let queue = queues.first(where: { $0.name == name })
            ?? queues.first(where: { $0.name.lowercased() == name.lowercased() })
        {
            return queue
        }
        let near = NearNames.of(name, among: queues.map(\.name))
        throw RouterError(
            .mediaNotFound, "no queue was kept as “\(name)”\(near.first.map { "; did you mean “\($0)”?" } ?? "")",
            hint: "Run “router queue saved” to see what there is", scope: .item,
            candidates: near.isEmpty ? queues.map(\.name) : near)
    }
}

extension SavedQueue: ListDisplayable {
    static var header: [String] { ["NAME", "ITEMS", "LENGTH", "SAVED"] }

    var row: [String] {
        let length = items.reduce(MediaTime.zero) { $0 + ($1.metadata.duration ?? .zero) }
        return [name, String(items.count), ClockTime.format(length), Self.day(saved)]
    }

    var quietValue: String { name }

    static func day(_ seconds: Double) -> String {
        Date(timeIntervalSince1970: seconds).formatted(.iso8601.year().month().day())
    }
}

extension PlayRecord: ListDisplayable {
    static var header: [String] { ["WHEN", "TITLE", "ARTIST", "HEARD", "ENDED", "ROOMS"] }

    var row: [String] {
        [
            LocalTime.minute(started), item.title, item.metadata.artist ?? "", ClockTime.format(furthest),
            reason?.rawValue ?? "playing",
            rooms.joined(separator: ", "),
        ]
    }

    var quietValue: String { item.id.rawValue }

    var facts: [String: OutputValue] {
        [
            "title": .text(item.title), "artist": item.metadata.artist.map { .text($0) } ?? .null,
            "album": item.metadata.album.map { .text($0) } ?? .null, "position": .number(furthest.seconds),
        ]
    }
}
