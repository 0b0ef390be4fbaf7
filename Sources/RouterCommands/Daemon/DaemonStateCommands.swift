import ArgumentParser
import Foundation
import RouteModel
import RouterAPI

struct DaemonStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show whether a daemon runs, since when, and what it does.",
        discussion: """
            Exit status: 0 it runs; 7 it does not.

              router daemon status
              router daemon status -o json
            """)

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            try await RouterConnection.daemon(options) { context, client in
                let status = try await RouterConnection.answer(of: client) { try await client.status() }
                try context.renderer.render(one: status, on: context.console) { _ in
                    [
                        "Running since \(status.since) (process \(status.pid))",
                        "  listening at \(Console.clean(Phrase.list(status.places)))",
                        "  \(Phrase.count(status.routes, "device", "devices")), "
                            + "\(Phrase.count(status.sessions, "session", "sessions")), "
                            + Phrase.count(status.eventReaders, "reader of events", "readers of events"),
                    ]
                }
                return 0
            }
        }
    }
}

extension DaemonStatus: ListDisplayable {
    static var header: [String] { ["PROCESS", "SINCE", "DEVICES", "SESSIONS", "READERS", "PLACES"] }
    var row: [String] {
        [
            String(pid), since, String(routes), String(sessions), String(eventReaders), places.joined(separator: ", "),
        ]
    }
    var quietValue: String { String(pid) }

    var since: String { LocalTime.minute(started) }
}

struct DaemonStopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "End the daemon of this machine in order.",
        discussion: """
            What plays without it plays on; the rest is stopped. One at another socket than usual is named by --host.

              router daemon stop
              router daemon stop --host /run/user/1000/other/router.sock
            """)

    /// How long the end is waited for, unless a person says otherwise.
    private static let patience = Delay(seconds: 15)

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if let host = options.host, !host.hasPrefix("/") {
            throw ValidationError(
                "Only the daemon of this machine can be stopped; leave --host out, or name its socket by its path.")
        }
    }

    func run() async throws {
        try await reporting(options) {
            // Not a word is asked of it: one that hangs answers none.
            guard case .daemon(let client) = RouterConnection.side(options, passesConfiguration: true),
                case .socket(let path) = client.place, let listener = UnixSocket.listener(at: path)
            else { throw RouterConnection.noDaemon }
            let pid = try await Self.process(of: listener, client)
            try await DaemonEnd.end(pid, within: (options.timeout ?? Self.patience).duration)
            try options.show(Change(.ended, .daemon, String(pid)), "The daemon has ended", on: options.console)
            return 0
        }
    }

    /// Whoever listens, but where systemd does for a daemon that it starts: that one has to say it.
    private static func process(of listener: UnixSocket.Listener, _ client: RouterClient) async throws -> pid_t {
        if let process = listener.process, process > 0, !listener.isSystemd { return process }
        do {
            return pid_t(try await RouterConnection.answer(of: client) { try await client.status() }.pid)
        } catch var error as RouterError where listener.isSystemd {
            error.hint = "Stop it as whoever started it: systemctl --user stop router"
            throw error
        }
    }
}

struct DaemonLogsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs", abstract: "Show what the daemon has logged of late.",
        discussion: """
              router daemon logs
              router daemon logs --component 'Cast*' --level warning
              router daemon logs -f
            """)

    @Option(name: .long, help: ArgumentHelp("Only these components: 'Cast*'.", valueName: "glob"))
    var component: String?

    @Option(name: .long, help: ArgumentHelp("The least severe that is shown.", valueName: "level"))
    var level: String?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("At most so many lines, 1 to 1000.", valueName: "count"))
    var limit: Int = 200

    @Flag(name: .shortAndLong, help: "Go on, until Ctrl-C; as JSON it is an object a line.")
    var follow = false

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        guard (1...1000).contains(limit) else { throw ValidationError("--limit is a number from 1 to 1000.") }
        if let level, !LogLine.levels.contains(level) {
            throw ValidationError("“\(level)” is no level. There are \(LogLine.levels.joined(separator: ", ")).")
        }
    }

    func run() async throws {
        try await reporting(options) {
            try await RouterConnection.daemon(options) { context, client in
                let lines = try await client.logs(component: component, level: level, limit: limit)
                if lines.isEmpty, !follow {
                    context.note("Nothing was logged.", hint: "A daemon run with -v logs more")
                }
                guard follow else {
                    try context.renderer.render(lines, on: context.console)
                    return 0
                }
                OutputFailure.onlyPrints()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    defer { group.cancelAll() }
                    group.addTask {
                        try await Self.follow(lines, context) {
                            try await client.logs(component: component, level: level, limit: 1000)
                        }
                    }
                    group.addTask { for await _ in Signals.interrupts() { return } }
                    try await group.next()
                }
                return 0
            }
        }
    }

    /// Prints these lines, and what is new among the last ones, until it is cancelled.
    ///
    /// - Parameter pause: how long the daemon is left alone before it is asked again.
    static func follow(
        _ lines: [LogLine], _ context: VerbContext, pause: Duration = .milliseconds(500),
        _ last: () async throws -> [LogLine]
    ) async throws {
        var time = lines.last?.time ?? 0
        if context.options.output.isForPeople {
            try context.renderer.render(lines, on: context.console)
        } else {
            for line in try context.renderer.more(lines) { context.console.out(line) }
        }
        while !Task.isCancelled {
            try await Task.sleep(for: pause)
            let new = try await last().filter { $0.time > time }
            for line in try context.renderer.more(new) { context.console.out(line) }
            time = new.last?.time ?? time
        }
    }
}

extension LogLine: ListDisplayable {
    static var header: [String] { ["TIME", "LEVEL", "COMPONENT", "TEXT"] }
    var row: [String] {
        [LocalTime.clock(time), level, component, text]
    }
    var quietValue: String { text }
}
