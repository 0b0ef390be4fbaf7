import ArgumentParser
import Foundation
import Logging
import RouteBackend
import RouteModel
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

    @Option(name: .long, help: "Read this configuration file in place of ~/.config/router/config.yaml.")
    var config: String?

    @Option(name: [.short, .long], help: "How to print: table, json, ndjson or plain.")
    var output: OutputFormat = .table

    @Option(name: .long, help: "Colours: auto, always or never.")
    var color: ColourChoice = .auto

    @Flag(name: .shortAndLong, help: "Print ids or names only; play prints nothing but errors.")
    var quiet = false

    @Flag(name: .long, help: "Do not print the steps on the way.")
    var noProgress = false

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

    var console: Console { Console(colour: color) }
    var renderer: Renderer {
        let console = console
        return Renderer(format: output, quiet: quiet, columns: console.outputIsTerminal ? console.size.columns : nil)
    }
    /// Whether people read along: not programs, and not somebody who wants it quiet.
    var speaks: Bool { !quiet && (output == .table || output == .plain) }
    var report: ErrorReport { ErrorReport(console: console, format: output, verbose: verbose > 0, quiet: quiet) }

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

/// Runs a command's body and turns what it throws into words and an exit status.
func reporting(_ options: GlobalOptions, _ body: () async throws -> Int32) async throws {
    let status: Int32
    do {
        status = try await body()
    } catch let error as RouterError {
        options.report.say(error)
        status = error.code.exitStatus
    } catch is CancellationError {
        status = RouterError.Code.cancelled.exitStatus
    }
    if status != 0 { throw ExitCode(status) }
}
