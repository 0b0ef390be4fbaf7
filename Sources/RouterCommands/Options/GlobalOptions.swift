import ArgumentParser
import Foundation
import Logging
import RouteBackend
import RouteModel
import RouterAPI
import RouterDaemon

extension OutputFormat: ExpressibleByArgument {}
extension ColourChoice: ExpressibleByArgument {}
extension ViaPreference: ExpressibleByArgument {}
extension RepeatMode: ExpressibleByArgument {}

/// Flags that every command takes.
struct GlobalOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Name a receiver without discovery; may be repeated.",
            discussion: """
                raop://HOST[:5000], cast://HOST[:8009] or airplay://HOST[:7000], with what its mDNS record would say \
                as query: 'raop://192.168.1.20?name=Kitchen'.
                """,
            valueName: "uri"))
    var device: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Read this configuration file in place of ~/.config/router/config.yaml.",
            discussion: """
                A daemon has read its own: with another file a command does its work itself, without the daemon. For \
                “status”, “daemon” and whatever else only a daemon can answer it is passed over.
                """))
    var config: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The daemon at another place than usual, HOST[:PORT] or its socket’s path; its token comes from ROUTER_TOKEN.",
            valueName: "place"))
    var host: String?

    @Option(name: [.short, .long], help: "How to print: table, json, ndjson, yaml or plain.")
    var output: OutputFormat = .table

    @Option(
        name: .long,
        help: ArgumentHelp("Print these fields only: columns, or names of the JSON document.", valueName: "a,b,c"))
    var fields: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Print each thing by a template: '{{title}} in {{rooms}}', '{{position|time}}'.", valueName: "template"))
    var format: String?

    @Option(name: .long, help: "Colours: auto, always or never.")
    var color: ColourChoice = .auto

    @Flag(name: .shortAndLong, help: "Print ids or names only; play prints nothing but errors.")
    var quiet = false

    @Flag(name: .long, help: "Do not print the steps on the way.")
    var noProgress = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Wait until what was asked for is seen (the default), or for playing, paused, item or ended.",
            valueName: "condition"))
    var wait: WaitCondition?

    @Flag(
        name: .long,
        help: "Return once the command is taken, without waiting for its effect; not for play, transfer and announce.")
    var noWait = false

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Wait no longer than this: 500ms, 10s, 2m.", valueName: "time"))
    var timeout: Delay?

    @Flag(name: .long, help: "Fail (124) where it cannot be seen that a command had its effect.")
    var strict = false

    @Flag(name: [.customLong("yes"), .customShort("y")], help: "Do what cannot be undone without asking.")
    var yes = false

    @Flag(name: .shortAndLong, help: "Log what happens; twice for every message on the wire.")
    var verbose: Int

    @Option(
        name: .long,
        help: ArgumentHelp(
            "What to log: CastV2=trace,Cast*=debug,*=error.",
            discussion: """
                Rules of component and level, the first that fits counts; a component is a module or MODULE.FILE. \
                Levels: trace, debug, info, notice, warning, error, critical, off. -v is *=debug, -vv *=trace.
                """,
            valueName: "rules"))
    var log: String?

    @Option(name: .long, help: "Add log lines to this file in place of standard error.", completion: .file())
    var logFile: String?

    func validate() throws {
        if noWait, wait != nil { throw ValidationError("--wait and --no-wait are opposites; give one of them.") }
        if fields != nil, format != nil { throw ValidationError("Give --fields or --format, not both.") }
        if let fields, fieldNames.isEmpty {
            throw ValidationError("“\(fields)” names no field. Write --fields name,state.")
        }
        do {
            _ = try format.map { try OutputTemplate($0) }
        } catch let problem as OutputTemplate.Problem {
            throw ValidationError("--format: \(problem.words).")
        }
        if let host, (try? RouterPlace(host)) == nil {
            throw ValidationError("“\(host)” is no host. Write a name or address, and a port: kitchen.local:7765.")
        }
    }

    /// For a verb that has only one end to wait for.
    func refuseNoWait(_ reason: String) throws {
        if noWait { throw ValidationError("--no-wait is not possible here: \(reason). Leave it out.") }
    }

    private var fieldNames: [String] {
        (fields ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    var console: Console { Console(colour: color) }
    var renderer: Renderer { renderer(console) }

    func renderer(_ console: Console) -> Renderer {
        Renderer(
            format: output, quiet: quiet, columns: console.outputIsTerminal ? console.size.columns : nil,
            fields: fieldNames, template: format.flatMap { try? OutputTemplate($0) })
    }

    /// Prints what a verb has made or changed: a sentence for people, its document for programs.
    func show<Item: ListDisplayable>(_ item: Item, _ sentence: String, on console: Console) throws {
        try renderer(console).render(one: item, on: console) { _ in [Console.clean(sentence)] }
    }

    /// Whether people read along: not programs, and not somebody who wants it quiet.
    var speaks: Bool { !quiet && output.isForPeople }
    var report: ErrorReport { report(console) }

    func report(_ console: Console) -> ErrorReport {
        ErrorReport(console: console, format: output, verbose: verbose > 0, quiet: quiet)
    }
    func setup(discovers: Bool = true) throws -> RouterSetup {
        let environment = ProcessInfo.processInfo.environment
        let path = config ?? RouterConfiguration.defaultPath(environment: environment)
        let report = report
        var setup = RouterSetup(
            configuration: try RouterConfiguration.load(path: path, mustExist: config != nil), deviceURIs: device,
            storePath: RouterSetup.defaultStorePath(environment: environment),
            askPassword: { device, announced in await PasswordPrompt.shared.ask(device, announced: announced) },
            password: environment["ROUTER_PASSWORD"].flatMap { $0.isEmpty ? nil : Secret($0) }, logger: try logger(),
            say: { report.say($0) }, discovers: discovers)
        setup.configurationPath = path
        setup.configurationMustExist = config != nil
        return setup
    }

    /// Quiet but for errors, unless the flags say otherwise. Throws `configuration` for a filter that cannot be read
    /// and a file that cannot be written.
    func logger() throws -> Logger {
        let usual: Logger.Level = verbose == 0 ? .error : verbose == 1 ? .debug : .trace
        let filter = try log.map { try LogFilter($0, otherwise: usual) } ?? LogFilter(otherwise: usual)
        guard let logFile else { return Logger.router(filter: filter, sink: LogDescriptor.standardError) }
        guard let file = LogDescriptor.file(logFile) else {
            throw RouterError(
                .configuration, "the log file \(logFile) cannot be written (\(String(cString: strerror(errno))))",
                hint: "Name a file in a folder that you may write to", retry: .afterUserAction)
        }
        return Logger.router(filter: filter, sink: file)
    }
}

/// A wrong use that only shows once the command runs: exit status 64.
struct UsageError: Error, Equatable {
    var message: String
    var hint: String?

    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}

extension UsageError {
    static let exitStatus: Int32 = 64

    /// The same as the product's error, to be told like any other.
    var error: RouterError { RouterError(.init(rawValue: "usage"), message, hint: hint, scope: .command) }
}

/// Runs a command's body and turns what it throws into words and an exit status.
func reporting(_ options: GlobalOptions, _ body: () async throws -> Int32) async throws {
    let status: Int32
    do {
        status = try await body()
    } catch let error as RouterError {
        options.report.say(error)
        status = ExitStatus.of(error, options)
    } catch let error as UsageError {
        options.report.say(error.error)
        status = UsageError.exitStatus
    } catch is CancellationError {
        status = RouterError.Code.cancelled.exitStatus
    }
    if status != 0 { throw ExitCode(status) }
}

/// Exit statuses that are not an error's own (`interfaces.md` 1.3).
enum ExitStatus {
    /// Some targets failed, and others did not.
    static let partial: Int32 = 8
    /// Standard output could not be written (EX_IOERR).
    static let outputLost: Int32 = 74
    /// The wait that a person set has passed.
    static let deadline: Int32 = 124

    static func of(_ error: RouterError, _ options: GlobalOptions) -> Int32 {
        switch error.code {
        case .timeout where options.timeout != nil: deadline
        // What only a request can do wrong (`router api`, and a daemon that wants a token).
        case .requestNotFound: RouterError.Code.routeNotFound.exitStatus
        case .unauthorized, .forbidden: RouterError.Code.authRequired.exitStatus
        case .requestInvalid, .requestTooLarge, .keyReused: RouterError.Code.sceneInvalid.exitStatus
        default: error.code.exitStatus
        }
    }
}
