import ArgumentParser
import RouteModel

struct SessionMoveCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Join a session again, and have it play on in another room.",
        discussion: """
            The queue, its order and the position come along; the volume does not. What is paused stays paused. It ends \
            in the old room only once it plays in the new one, and goes on there where it does not. What the new room \
            cannot do is told. The id may be left out where there is one session only.

              router session move --to Kitchen
              router session move se-0123456789ab --to Kitchen --to Bath
              router session move --device cast://192.168.1.21
            """)

    @OptionGroup var options: GlobalOptions

    @Argument(help: "The id, or the beginning of one.")
    var id: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Where it shall play; may be repeated. Without it, what --device names.", valueName: "room"),
        completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var to: [String] = []

    @Flag(name: .long, help: "Return once it plays there. Only where it goes on by itself: a Cast receiver and a URL.")
    var detach = false

    func validate() throws {
        try options.refuseNoWait("move returns once it plays there")
        if to.isEmpty, options.device.isEmpty { throw ValidationError("Say where to: --to ROOM.") }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let rooms = to.isEmpty ? options.device : try await TargetFinder(context).rooms(to)
        if context.isDaemon {
            let live = try await context.router.knownSessions().filter(\.isThere).map(\.id)
            let left = try await context.router.sessionsToRejoin().map(\.id)
            let session = try SessionChoice.id(id, of: live + left.filter { !live.contains($0) })
            // One that was cut short is shown as well, but nobody plays it.
            if left.contains(session) {
                let router = context.router
                _ = try await context.within("joining the session") { try await router.rejoin(session) }
            }
            return try await TransferRun(context: context).run(TransferRequest(.move, session: session, rooms: rooms))
        }
        let session = try await SessionChoice.one(id, of: context.router)
        // What can be known before anything is touched: files are served by this process.
        let goesOn = session.queue.items.count == 1 && session.queue.items[0].isFetchedFromElsewhere
        if detach, !goesOn { throw PlaySession.nothingGoesOn }
        return try await PlaySession(options: options, detach: detach, control: context.router)
            .move(session.id, to: rooms)
    }
}

extension QueueItem {
    fileprivate var isFetchedFromElsewhere: Bool { if case .url = source { true } else { false } }
}
