import ArgumentParser
import RouteModel
import RouterDaemon

struct SessionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Take up what was cut short: a crash, a lost terminal, a play that was left.",
        discussion: """
            A Cast receiver goes on when the command that plays ends without a word. Its queue and position are kept, and \
            the next process can join it again. A bare “router play” joins where there is just one.

              router session list
              router session join
              router session move --to Kitchen
              router session end se-0123456789ab
            """,
        subcommands: [
            SessionListCommand.self, SessionJoinCommand.self, SessionMoveCommand.self, SessionEndCommand.self,
        ],
        defaultSubcommand: SessionListCommand.self)
}

struct SessionListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the sessions that can be joined again.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            let sessions = try await InProcessRouter.run(try options.setup(discovers: false)) {
                try await $0.sessionsToRejoin()
            }
            if sessions.isEmpty, options.speaks { options.console.err("No session was cut short.") }
            try options.renderer.render(sessions, on: options.console)
            return 0
        }
    }
}

struct SessionJoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join a session again, and play on where nothing plays any more.",
        discussion: """
            The id may be left out where there is one session only.

              router session join
              router session join se-0123456789ab
            """)

    @OptionGroup var options: GlobalOptions

    @Argument(help: "The id, or the beginning of one.")
    var id: String?

    func run() async throws {
        try await reporting(options) {
            try await InProcessRouter.run(try options.setup()) { control in
                let session = try await SessionChoice.one(id, of: control)
                return try await PlaySession(options: options, detach: false, control: control).rejoin(session.id)
            }
        }
    }
}

struct SessionEndCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end",
        abstract: "Stop what is left of a session, and forget it.",
        discussion: """
            Something else that plays there by now is left alone.

              router session end se-0123456789ab
              router session end --forget
            """)

    @OptionGroup var options: GlobalOptions

    @Argument(help: "The id, or the beginning of one.")
    var id: String?

    @Flag(name: .long, help: "Only forget it: what plays there plays on.")
    var forget = false

    func run() async throws {
        try await reporting(options) {
            try await InProcessRouter.run(try options.setup()) { control in
                let session = try await SessionChoice.one(id, of: control)
                try await control.end(session: session.id, reason: forget ? .leave : .stop)
                if options.speaks { options.console.err(forget ? "Forgotten." : "Ended.") }
                return 0
            }
        }
    }
}

/// Which session a person means.
enum SessionChoice {
    static func one(_ text: String?, of control: any RouterControlling) async throws -> RejoinableSession {
        try one(text, of: try await control.sessionsToRejoin())
    }

    /// Throws `routeNotFound` or `routeAmbiguous`.
    static func one(_ text: String?, of sessions: [RejoinableSession]) throws -> RejoinableSession {
        let meant = text.map { text in sessions.filter { $0.id.rawValue.hasPrefix(text) } } ?? sessions
        if let exact = meant.first(where: { $0.id.rawValue == text }) ?? (meant.count == 1 ? meant[0] : nil) {
            return exact
        }
        guard !meant.isEmpty else {
            throw RouterError(
                .routeNotFound, text.map { "no session “\($0)” was cut short" } ?? "no session was cut short",
                hint: "Run “router session list” to see what there is", scope: .session,
                candidates: sessions.map(\.id.rawValue))
        }
        throw RouterError(
            .routeAmbiguous, "\(meant.count) sessions could be meant", hint: "Give the id of one", scope: .session,
            candidates: meant.map(\.id.rawValue))
    }
}

extension RejoinableSession: ListDisplayable {
    static var header: [String] { ["SESSION", "ROOMS", "TITLE", "AT", "ITEM", "STATE"] }

    var row: [String] {
        let place = (queue.items.firstIndex { $0.id == queue.current } ?? 0) + 1
        return [
            id.rawValue, rooms.joined(separator: ", "), currentItem?.title ?? "–", ClockTime.format(position),
            "\(place)/\(queue.items.count)", playing ? "was playing" : "was paused",
        ]
    }

    var quietValue: String { id.rawValue }
}
