import ArgumentParser
import Foundation
import MPRISBridge
import RouteBackend
import RouteModel

struct WatchCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print what happens, as it happens: one JSON object a line.",
        discussion: """
            The first line has the full state, and every later one what has changed, with a number that counts up; a gap \
            in the numbers means that something was missed. When the daemon is started anew there is a line \
            “reconnected”, and then the full state again. Ctrl-C ends it. With --desktop it prints what other players of \
            this desktop play instead: one line now, and one after each change, with all of them.

              router watch
              router watch | jq -c 'select(.event == "session.changed") | .session.media'
              router watch --format '{{event}} {{session.media}}'
              router watch --events session.changed,notice
            """)

    @Option(
        name: .long,
        help: ArgumentHelp("Only these events, by name; a snapshot is always printed.", valueName: "names"))
    var events: String?

    @Option(name: .long, parsing: .unconditional, help: ArgumentHelp("End after so many lines.", valueName: "count"))
    var count: Int?

    @Flag(name: .long, help: "Watch the other players of this desktop (MPRIS), and not the router.")
    var desktop = false

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if desktop, events != nil { throw ValidationError("--desktop has no --events: each line has all players.") }
        for name in wanted ?? [] where !WatchLine.names.contains(name) {
            let near = NearNames.of(name, among: WatchLine.names).first.map { "; did you mean “\($0)”?" } ?? "."
            throw ValidationError(
                "There is no event “\(name)”\(near) There are \(WatchLine.names.joined(separator: ", ")).")
        }
        if let count, count < 1 { throw ValidationError("--count is a number from 1.") }
    }

    private var wanted: [String]? {
        events?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        OutputFailure.onlyPrints()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await desktop ? followDesktop(context) : follow(context) }
            group.addTask { for await _ in Signals.interrupts() { return } }
            if let timeout = options.timeout { group.addTask { try await Task.sleep(for: timeout.duration) } }
            try await group.next()
        }
        return 0
    }

    /// How long a daemon that is gone is left alone before it is looked for again.
    private static let pause = Duration.milliseconds(500)

    private func follow(_ context: VerbContext) async throws {
        var watch = WatchState(only: wanted.map(Set.init))
        var printed = 0
        await context.router.discover(.active)
        while !Task.isCancelled {
            for await event in await context.router.events() {
                for line in watch.lines(event) {
                    try show(line, context)
                    printed += 1
                    if let count, printed >= count { return }
                }
            }
            guard context.isDaemon else { return }
            // It followed until the daemon would have it no more: whoever asks is told why, or it is tried again.
            do {
                _ = try await context.router.rooms(settle: false)
            } catch let error as RouterError where error.code != .daemonUnavailable {
                throw error
            } catch {}
            try await Task.sleep(for: Self.pause)
        }
    }

    private func followDesktop(_ context: VerbContext) async throws {
        var printed = 0
        let clock = SystemHostClock()
        for await list in ForeignPlayers.watch(now: { clock.now() }) {
            if let outage = list.outage { context.note(outage.message, hint: outage.hint) }
            try show(DesktopLine(players: list.players), context)
            printed += 1
            if let count, printed >= count { return }
        }
    }

    private func show(_ line: some ListDisplayable & Encodable, _ context: VerbContext) throws {
        if context.options.format != nil || context.options.fields != nil {
            try context.options.renderer(context.console).watching.render([line], on: context.console)
        } else {
            context.console.out(try Renderer.jsonLine(line))
        }
    }
}

extension Renderer {
    /// For lines that come one by one: objects, and no tables.
    fileprivate var watching: Renderer {
        Renderer(format: .ndjson, quiet: false, columns: nil, fields: fields, template: template)
    }
}

/// One line of `router watch --desktop`.
struct DesktopLine: ListDisplayable, Equatable {
    var players: [ForeignPlayer]

    static var header: [String] { ["PLAYERS"] }
    var row: [String] { [Phrase.list(players.map(\.identity))] }
    var quietValue: String { String(players.count) }
}

/// Makes lines of events: a snapshot that is not the first says that the router was away.
struct WatchState {
    /// Nil: all of them.
    var only: Set<String>?
    private var hasBegun = false

    init(only: Set<String>? = nil) { self.only = only }

    mutating func lines(_ event: RouterEvent) -> [WatchLine] {
        let line = WatchLine(event)
        guard line.event == "snapshot" else { return only?.contains(line.event) ?? true ? [line] : [] }
        defer { hasBegun = true }
        return hasBegun ? [WatchLine(reconnectedAt: event.sequence), line] : [line]
    }
}

/// One line of `router watch`.
struct WatchLine: ListDisplayable, Equatable {
    var sequence: Int
    var event: String
    var routes: RouteList?
    var sessions: [SessionSnapshot]?
    var session: SessionSnapshot?
    var notice: Notice?
    var command: CommandReport?
    var phase: String?
    var rooms: [Room]?
    var groups: [RoomGroup]?
    var scene: SceneRun?
    var pairing: PairingProgress?

    static let names = [
        "snapshot", "reconnected", "routes.changed", "session.changed", "notice", "command.result", "phase",
        "rooms.changed", "scene.step", "pairing.prompt",
    ]

    init(reconnectedAt sequence: Int) {
        self.sequence = sequence
        event = "reconnected"
    }

    init(_ event: RouterEvent) {
        sequence = event.sequence
        switch event.body {
        case .snapshot(let routes, let sessions):
            self.event = "snapshot"
            self.routes = routes
            self.sessions = sessions
        case .routes(let routes):
            self.event = "routes.changed"
            self.routes = routes
        case .session(let session):
            self.event = "session.changed"
            self.session = session
        case .notice(let notice):
            self.event = "notice"
            self.notice = notice
        case .command(let command):
            self.event = "command.result"
            self.command = command
        case .phase(let phase):
            self.event = "phase"
            self.phase = phase
        case .rooms(let rooms, let groups):
            self.event = "rooms.changed"
            self.rooms = rooms
            self.groups = groups
        case .scene(let scene):
            self.event = "scene.step"
            self.scene = scene
        case .pairing(let pairing):
            self.event = "pairing.prompt"
            self.pairing = pairing
        }
    }

    static var header: [String] { ["SEQUENCE", "EVENT"] }
    var row: [String] { [String(sequence), event] }
    var quietValue: String { String(sequence) }
}
