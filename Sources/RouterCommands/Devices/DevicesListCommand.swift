import ArgumentParser
import CastBackend
import RouteModel
import RouterDaemon

struct DevicesListCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the receivers that can be played to.",
        discussion: """
            Looks on the network for about a second (mDNS), and lists what the configuration file and --device name. A \
            device that speaks both AirPlay and Cast is listed once, one that has gone of late in grey, and one that nothing \
            can be played to only with --all.

              router devices
              router devices --long
              router devices --device cast://192.168.1.21 -o json
              router devices --app CC1AD845
              router devices --watch -o ndjson

            With --watch it goes on looking and prints each change, until Ctrl-C.
            """)

    @OptionGroup var options: GlobalOptions

    @Flag(name: .long, help: "Show addresses, ids and what each receiver can do.")
    var long = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only Cast devices that can run this receiver app; each is asked.", valueName: "app-id"))
    var app: String?

    @Flag(name: .long, help: "Also those that nothing can be played to.")
    var all = false

    @Flag(name: .long, help: "Go on looking, and print what appears, changes and goes.")
    var watch = false

    func validate() throws {
        if let app, !CastAvailability.isAppID(app) {
            throw ValidationError("“\(app)” is no Cast app id: it has 8 letters and digits, like CC1AD845.")
        }
        if watch, long { throw ValidationError("--watch prints a line for each change; leave --long out.") }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let availability = try app.map { _ in CastAvailability(logger: try options.logger()) }
        if watch { return try await DeviceWatch(context: context, app: app, availability: availability).run() }
        await context.router.discover(.active)
        var list = try await context.router.routes(settle: true)
        await context.router.discover(.passive)
        let found = list.routes
        if let app, let availability { list = await AppFilter(app, availability).only(list, report: context.report) }
        if context.options.speaks, !context.isDaemon,
            let hint = await FirstRunHint.take(try options.setup(), found: found)
        {
            context.report.say(hint)
        }
        let devices = DeviceReport(context: context)
        if list.routes.isEmpty, context.options.output.isForPeople {
            devices.sayWhyEmpty(list, app: app, found: found.count)
        }
        if !list.routes.isEmpty {
            CompletionCache.standard?.remember(devices: list.routes)
            // Those that were named are there; what was not named could not be found.
            for state in list.discovery where state.status == .unavailable {
                context.report.say(
                    Notice(.warning, "\(state.source): \(state.message ?? "not available")", hint: state.hint))
            }
        }
        let isDocument = options.output == .json || options.output == .yaml
        if isDocument, !options.quiet, options.fields == nil, options.format == nil {
            context.console.out(try Renderer.document(list, options.output))
        } else if long, !context.options.quiet, context.options.output == .table {
            for route in list.routes { devices.describe(route) }
        } else {
            let rooms = try await context.router.rooms(settle: false)
            let sessions = await context.router.sessions()
            let rows = list.routes.map { DeviceRow($0, sessions: sessions, rooms: rooms) }
            try context.renderer.render(rows.filter { all || $0.hiddenBecause == nil }, on: context.console)
            if !all { sayHidden(rows, context) }
        }
        return 0
    }

    /// The foot of the table: what is left out, and why.
    private func sayHidden(_ rows: [DeviceRow], _ context: VerbContext) {
        let hidden = rows.compactMap { row in row.hiddenBecause.map { "\(row.route.name) (\($0))" } }
        if !hidden.isEmpty {
            context.note(
                "\(hidden.count) hidden: \(Phrase.list(hidden)); --all shows \(hidden.count == 1 ? "it" : "them")")
        }
    }
}

/// Leaves of a list what can run a Cast app.
struct AppFilter {
    private let app: String
    private let availability: CastAvailability

    init(_ app: String, _ availability: CastAvailability) {
        self.app = app
        self.availability = availability
    }

    /// - Parameter report: told of those that could not be asked; nil tells nobody.
    func only(_ list: RouteList, report: ErrorReport? = nil) async -> RouteList {
        var result = list
        let endpoints = list.routes.compactMap { route in route.endpoints.first { $0.protocol == .cast } }
        let answers = await availability.answers(app, on: endpoints)
        func answer(_ route: Route) -> CastAvailability.Answer? {
            route.endpoints.first { $0.protocol == .cast }.flatMap { answers[$0.id] }
        }
        let unknown = list.routes.filter { answer($0) == .unknown }
        result.routes = list.routes.filter { answer($0) == .available }
        if !unknown.isEmpty {
            report?.say(
                Notice(
                    .warning, "not known of \(unknown.map(\.name).joined(separator: ", ")): no answer",
                    hint: "Try again when they are on"))
        }
        return result
    }
}
