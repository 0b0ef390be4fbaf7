import ArgumentParser
import Foundation
import RouteModel

/// What the verbs that change a queue have in common.
struct QueueEditing {
    let context: VerbContext
    let target: SessionTarget

    init(_ context: VerbContext, _ target: TargetOptions) async throws {
        self.context = context
        self.target = try await TargetFinder(context, takesStopped: true, edits: true).session(target)
    }

    var place: QueuePlace { QueuePlace(queue: target.session.queue) }
    var queue: QueueSnapshot { target.session.queue }

    /// Makes the change to the queue as it was read: a word for an item means what the person saw.
    ///
    /// - Parameter anyVersion: the change means the same, whatever the queue has become meanwhile.
    func edit(
        _ edit: QueueEdit, anyVersion: Bool = false, _ sentence: (QueueSnapshot) -> String
    ) async throws -> Int32 {
        let router = context.router
        let session = target.session.id
        let version = anyVersion ? nil : queue.version
        let folder = FileManager.default.currentDirectoryPath
        let after = try await context.within("the change") {
            try await router.edit(edit, session: session, ifVersion: version, workingDirectory: folder)
        }
        try context.show(after, sentence(after))
        return 0
    }

    /// How many items there are that were not there before.
    func added(_ after: QueueSnapshot) -> String {
        let before = Set(queue.items.map(\.id))
        return Phrase.count(after.items.count { !before.contains($0.id) }, "item", "items")
    }

    /// Standard input belongs to this command, and a queue outlives it.
    static func refuseStandardInput(_ what: [String]) throws {
        if what.contains(where: { $0 == "-" || $0.hasPrefix("pcm://-") }) {
            throw ValidationError("Standard input cannot be queued; play it: some-player | router play -")
        }
    }
}

struct QueueAddCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add files, folders, playlists and URLs to the end, or elsewhere.",
        discussion: """
              router queue add album/
              router queue add song.flac -r Kitchen
              router queue add song.flac --before 3
              router queue add album/ --replace
            """)
    static let discovers = false

    @Argument(help: "Files, folders, playlists and URLs.", completion: .file())
    var what: [String]

    @Option(
        name: .long, help: ArgumentHelp("Put them before this item.", valueName: "item"),
        completion: .custom { _, _, _ in await DynamicCompletion.queueItems() })
    var before: String?

    @Flag(name: .long, help: "Put them in place of all that is to come.")
    var replace = false

    @OptionGroup var picture: PictureOptions
    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if what.isEmpty { throw ValidationError("Say what to add: a file, a folder, a playlist or a URL.") }
        if before != nil, replace { throw ValidationError("Give --before or --replace, not both.") }
        try QueueEditing.refuseStandardInput(what)
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let editing = try await QueueEditing(context, target)
        if replace {
            return try await editing.edit(.replaceUpcoming(what, settings: picture.settings), anyVersion: true) {
                "Put \(editing.added($0)) in place of what was to come"
            }
        }
        let settings = picture.settings
        let edit: QueueEdit =
            try before.map { .insert(what, before: try editing.place.item($0), settings: settings) }
            ?? .append(what, settings: settings)
        return try await editing.edit(edit, anyVersion: before == nil) {
            "Added \(editing.added($0)) to the queue of \(editing.target.label)"
        }
    }
}

struct QueueNextCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "next", abstract: "Put something directly after what plays.",
        discussion: """
              router queue next song.flac
            """)
    static let discovers = false

    @Argument(help: "Files, folders, playlists and URLs.", completion: .file())
    var what: [String]

    @OptionGroup var picture: PictureOptions
    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if what.isEmpty { throw ValidationError("Say what is to be next: a file, a folder, a playlist or a URL.") }
        try QueueEditing.refuseStandardInput(what)
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let editing = try await QueueEditing(context, target)
        return try await editing.edit(.playNext(what, settings: picture.settings), anyVersion: true) {
            "\(editing.added($0)) next in \(editing.target.label)"
        }
    }
}

struct QueueMoveCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "move", abstract: "Move items to another place.",
        discussion: """
              router queue move 5 --before 2
              router queue move 3-5 --last
            """)
    static let discovers = false

    @Argument(
        help: "Items: a place, a range, an id, the beginning of a title.",
        completion: .custom { _, _, _ in await DynamicCompletion.queueItems() })
    var items: [String]

    @Option(
        name: .long, help: ArgumentHelp("Before this item.", valueName: "item"),
        completion: .custom { _, _, _ in await DynamicCompletion.queueItems() })
    var before: String?

    @Flag(name: .long, help: "To the end.")
    var last = false

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if items.isEmpty { throw ValidationError("Say which items to move.") }
        if (before != nil) == last { throw ValidationError("Say where to: --before ITEM or --last.") }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let editing = try await QueueEditing(context, target)
        let ids = try editing.place.items(items)
        let before = try before.map { try editing.place.item($0) }
        if let before, ids.contains(before) {
            throw UsageError("an item cannot be moved before itself", hint: "Name another item with --before")
        }
        return try await editing.edit(.move(ids, before: before)) { _ in
            "Moved \(Phrase.count(ids.count, "item", "items"))"
        }
    }
}

struct QueueRemoveCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Take items out of the queue.",
        discussion: """
            Where what plays is among them, what follows it plays. “router queue undo” takes it back; where \
            nothing is left the session has ended, and it cannot.

              router queue remove 3
              router queue remove 3-5 8
            """)
    static let discovers = false

    @Argument(
        help: "Items: a place, a range, an id, the beginning of a title.",
        completion: .custom { _, _, _ in await DynamicCompletion.queueItems() })
    var items: [String]

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if items.isEmpty { throw ValidationError("Say which items to remove.") }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let editing = try await QueueEditing(context, target)
        let ids = try editing.place.items(items)
        return try await editing.edit(.remove(ids)) { _ in "Removed \(Phrase.count(ids.count, "item", "items"))" }
    }
}

struct QueueClearCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "clear", abstract: "Take out all that is to come, or everything.",
        discussion: """
            “router queue undo” takes it back. With --all what plays is stopped too, the session is over by that, and \
            nothing brings its queue back: “router queue save NAME” keeps it before.

              router queue clear
              router queue clear --all --yes
            """)
    static let discovers = false

    @Flag(name: .long, help: "Everything: stop what plays, and leave the queue empty.")
    var all = false

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let editing = try await QueueEditing(context, target)
        if all {
            try await context.confirmed("What plays in \(editing.target.label) will stop, and its queue be emptied")
        }
        return try await editing.edit(all ? .clear : .clearUpcoming, anyVersion: true) { after in
            all ? "The queue of \(editing.target.label) is empty" : "Nothing more is to come in \(editing.target.label)"
        }
    }
}

struct QueueUndoCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "undo", abstract: "Take back the last change of the queue; ten of them can be.",
        discussion: """
              router queue undo
            """)
    static let discovers = false

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let editing = try await QueueEditing(context, target)
        return try await editing.edit(.undo, anyVersion: true) {
            "Taken back; the queue has \(Phrase.count($0.items.count, "item", "items"))"
        }
    }
}

struct QueuePolicyCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "policy", abstract: "Say what is done with an item that does not play.",
        discussion: """
            The loss of a network or a device is never an item's failure.

              router queue policy skip
              router queue policy retry=3
            """)
    static let discovers = false

    @Argument(help: "skip, stop, or retry=1 to retry=10.")
    var policy: FailurePolicy

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let editing = try await QueueEditing(context, target)
        return try await editing.edit(.failurePolicy(policy), anyVersion: true) { _ in
            switch policy {
            case .skip: "What does not play is passed over"
            case .stop: "What does not play ends the queue"
            case .retry(let times): "What does not play is tried again \(Phrase.count(times, "time", "times"))"
            }
        }
    }
}
