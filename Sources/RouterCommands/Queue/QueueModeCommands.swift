import ArgumentParser
import RouteModel

struct QueueJumpCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "jump", abstract: "Play an item of the queue now, from its beginning.",
        discussion: """
              router queue jump 7
              router queue jump "So What"
            """)
    static let discovers = false

    @Argument(
        help: "The item: a place, an id, the beginning of a title.",
        completion: .custom { _, _, _ in await DynamicCompletion.queueItems() })
    var item: String

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let target = try await TargetFinder(context, takesStopped: true, edits: true).session(target)
        let id = try QueuePlace(queue: target.session.queue).item(item)
        return try await CommandPerformer(context: context, name: "jump").perform(
            on: [target], { _ in [.jump(id)] }, sentence: { "Now \($0.what) in \($0.place)" })
    }
}

struct QueueShuffleCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "shuffle", abstract: "Put what is to come into a random order, or back.",
        discussion: """
            Without on or off it is the other of the two.

              router queue shuffle
              router queue shuffle off
            """)
    static let discovers = false

    enum Wish: String, CaseIterable, ExpressibleByArgument {
        case on, off
        case other = "toggle"

        var command: RemoteCommand {
            switch self {
            case .on: .shuffle(true)
            case .off: .shuffle(false)
            case .other: .toggleShuffle
            }
        }
    }

    @Argument(help: "on, off or toggle.")
    var wish: Wish = .other

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let targets = try await TargetFinder(context).sessions(target)
        let router = context.router
        let status = try await CommandPerformer(context: context, name: "shuffle").perform(
            on: targets, { _ in [wish.command] }, sentence: { "The queue of \($0.place) is reordered" })
        if wish == .other, context.options.output == .table {
            let meant = Set(targets.map(\.session.id))
            let now = await router.sessions().filter { meant.contains($0.id) }
            for session in now { context.note(session.queue.original == nil ? "(in order)" : "(shuffled)") }
        }
        return status
    }
}

struct QueueRepeatCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "repeat", abstract: "Say what comes after the last item: off, one or all.",
        discussion: """
              router queue repeat all
              router queue repeat off
            """)
    static let discovers = false

    @Argument(help: "off, one or all.")
    var mode: RepeatMode

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let targets = try await TargetFinder(context).sessions(target)
        return try await CommandPerformer(context: context, name: "repeat").perform(
            on: targets, { _ in [.repeatMode(mode)] },
            sentence: { report in
                switch mode {
                case .off: "\(report.place) ends after the last item"
                case .one: "\(report.place) repeats \(report.what)"
                case .all: "\(report.place) begins again after the last item"
                }
            })
    }
}
