import ArgumentParser
import RouteModel

struct SessionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "See what plays as a whole, and take up what was cut short: a crash, a lost terminal.",
        discussion: """
            A Cast receiver goes on when the router that plays ends without a word. Its queue and position are kept, and \
            the next router can join it again. A bare “router play” joins where there is just one.

              router session list
              router session show
              router session join
              router session move --to Kitchen
              router session end se-0123456789ab
            """,
        subcommands: [
            SessionListCommand.self, SessionShowCommand.self, SessionJoinCommand.self, SessionMoveCommand.self,
            SessionEndCommand.self,
        ],
        defaultSubcommand: SessionListCommand.self)
}

struct SessionListCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the sessions that play, and those that can be joined again.",
        discussion: """
              router session list
              router session list -q
            """)
    static let discovers = false

    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let live = try await context.router.knownSessions().filter(\.isThere)
        let left = try await context.router.sessionsToRejoin().filter { old in !live.contains { $0.id == old.id } }
        if live.isEmpty, left.isEmpty { context.note("No session plays, and none was cut short.") }
        try context.renderer.render(
            live.map(AnySession.live) + left.map(AnySession.cutShort), on: context.console)
        return 0
    }
}

struct SessionShowCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show one session: its rooms, how each plays, its queue.",
        discussion: """
              router session show
              router session show -r Kitchen -o json
            """)
    static let discovers = false

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let session = try await TargetFinder(context).session(target).session
        try context.renderer.render(one: session, on: context.console) { console in
            StatusLines(columns: context.renderer.columns, styled: console.styled).lines(session)
                + session.members.map { "  " + Console.clean($0.story) } + ["  session \(session.id)"]
        }
        return 0
    }
}

struct SessionJoinCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join a session again, and play on where nothing plays any more.",
        discussion: """
            The id may be left out where there is one session only.

              router session join
              router session join se-0123456789ab
            """)

    @OptionGroup var options: GlobalOptions

    @Argument(
        help: "The id, or the beginning of one.", completion: .custom { _, _, _ in await DynamicCompletion.sessions() })
    var id: String?

    func validate() throws { try options.refuseNoWait("join returns once it plays") }

    func run(_ context: VerbContext) async throws -> Int32 {
        let session = try await SessionChoice.one(id, of: context.router)
        guard context.isDaemon else {
            return try await PlaySession(options: options, detach: false, control: context.router).rejoin(session.id)
        }
        return try await DaemonPlay(context: context).rejoin(session.id)
    }
}

struct SessionEndCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "end",
        abstract: "Stop what is left of a session, and forget it.",
        discussion: """
            Something else that plays there by now is left alone.

              router session end se-0123456789ab
              router session end --forget
            """)

    @OptionGroup var options: GlobalOptions

    @Argument(
        help: "The id, or the beginning of one.", completion: .custom { _, _, _ in await DynamicCompletion.sessions() })
    var id: String?

    @Flag(name: .long, help: "Only forget it: what plays there plays on.")
    var forget = false

    func run(_ context: VerbContext) async throws -> Int32 {
        let live = try await context.router.knownSessions().filter(\.isThere).map(\.id)
        let left = try await context.router.sessionsToRejoin().map(\.id)
        let session = try SessionChoice.id(id, of: live + left.filter { !live.contains($0) })
        try await context.router.end(session: session, reason: forget ? .leave : .stop)
        try context.show(
            Change(forget ? .forgotten : .ended, .session, session.rawValue),
            "\(forget ? "Forgot" : "Ended") the session \(session)")
        return 0
    }
}

extension SessionSnapshot {
    /// A router remembers sessions for a while after their end.
    var isThere: Bool { connection != .ended && connection != .failed }
}

/// Which session a person means.
enum SessionChoice {
    static func one(_ text: String?, of control: any RouterControlling) async throws -> RejoinableSession {
        try one(text, of: try await control.sessionsToRejoin())
    }

    /// Throws `routeNotFound`, `routeAmbiguous`, and `UsageError` for an empty id.
    static func one(_ text: String?, of sessions: [RejoinableSession]) throws -> RejoinableSession {
        let chosen = try id(text, of: sessions.map(\.id), "was cut short")
        guard let session = sessions.first(where: { $0.id == chosen }) else {
            throw RouterError(.internal, "a session is gone", scope: .session)
        }
        return session
    }

    /// - Parameter isThere: what a session of these is, for the sentence that there is none.
    static func id(_ text: String?, of ids: [SessionID], _ isThere: String = "is there") throws -> SessionID {
        // Every id begins with nothing.
        if text == "" { throw UsageError("the id of a session is empty", hint: "Check the variable that it came from") }
        let meant = text.map { text in ids.filter { $0.rawValue.hasPrefix(text) } } ?? ids
        if let exact = meant.first(where: { $0.rawValue == text }) ?? (meant.count == 1 ? meant[0] : nil) {
            return exact
        }
        guard !meant.isEmpty else {
            throw RouterError(
                .routeNotFound, text.map { "no session “\($0)” \(isThere)" } ?? "no session \(isThere)",
                hint: "Run “router session list” to see what there is", scope: .session,
                candidates: ids.map(\.rawValue))
        }
        throw RouterError(
            .routeAmbiguous, "\(meant.count) sessions could be meant", hint: "Give the id of one", scope: .session,
            candidates: meant.map(\.rawValue))
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

/// A row of `session list`: a session that plays, or one that could.
enum AnySession: ListDisplayable {
    case live(SessionSnapshot)
    case cutShort(RejoinableSession)

    static var header: [String] { RejoinableSession.header }

    var row: [String] {
        switch self {
        case .live(let session):
            let place = session.queue.items.firstIndex { $0.id == session.queue.current }.map { $0 + 1 } ?? 0
            return [
                session.id.rawValue, session.members.map(\.name).joined(separator: ", "),
                session.currentItem?.title ?? "–", session.position.map(ClockTime.format) ?? "–",
                "\(place)/\(session.queue.items.count)", session.media.rawValue,
            ]
        case .cutShort(let session): return session.row
        }
    }

    var quietValue: String {
        switch self {
        case .live(let session): session.id.rawValue
        case .cutShort(let session): session.id.rawValue
        }
    }

    var facts: [String: OutputValue] {
        switch self {
        case .live(let session): session.facts
        case .cutShort(let session): ["rooms": .text(session.rooms.joined(separator: ", "))]
        }
    }

    static var optionalNames: Set<String> {
        [
            "rooms", "state", "title", "artist", "album", "next", "position", "volume", "muted", "duration", "via",
            "stopReason", "anchor", "error", "volumesLinked", "announcement", "nowPlaying", "lastEnd", "playing",
        ]
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .live(let session): try session.encode(to: encoder)
        case .cutShort(let session): try session.encode(to: encoder)
        }
    }
}

extension SessionMember {
    /// How it plays, in a line.
    var story: String {
        if let error { return "\(name): \(error.message)" }
        var parts = [self.protocol?.displayName ?? "not connected", media.rawValue]
        if connection == .suspended { parts.append("connection lost, trying again") }
        if volumeHandling == .fixed {
            parts.append("volume fixed")
        } else if let volume {
            parts.append(volume.muted ? "muted" : "volume \(volume.level.percent)")
        }
        if let trim, trim < 1 { parts.append("\(Int((trim * 100).rounded())) % of the loudest") }
        if let driftMilliseconds { parts.append("\(driftMilliseconds) ms off") }
        if let proof, proof.certainty == .doubtful { parts.append(proof.reason) }
        return "\(name): \(parts.joined(separator: ", "))"
    }
}
