import ArgumentParser
import CastBackend
import RouteModel
import RouterDaemon

struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List the receivers that can be played to.",
        discussion: """
            Looks on the network for about a second (mDNS), and lists what the configuration file and --device name. A \
            device that speaks both AirPlay and Cast is listed once.

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

    @Flag(name: .long, help: "Go on looking, and print what appears, changes and goes.")
    var watch = false

    func validate() throws {
        if let app, !CastAvailability.isAppID(app) {
            throw ValidationError("“\(app)” is no Cast app id: it has 8 letters and digits, like CC1AD845.")
        }
        if watch, long { throw ValidationError("--watch prints a line for each change; leave --long out.") }
    }

    func run() async throws {
        try await reporting(options) {
            let setup = try options.setup()
            if watch { return try await follow(setup) }
            var list = try await InProcessRouter.run(setup) { router in
                await router.discover(.active)
                return try await router.routes(settle: true)
            }
            let found = list.routes.count
            if let app { list = await only(app, in: list, asking: CastAvailability(logger: setup.logger)) }
            if options.speaks, let hint = await FirstRunHint.take(setup, found: list.routes) {
                options.report.say(hint)
            }
            if list.routes.isEmpty, options.output == .table || options.output == .plain {
                if let app, found > 0 {
                    options.console.err(
                        "No receiver that can run \(app): of \(found) that \(found == 1 ? "is" : "are") there, none "
                            + "says so.")
                } else {
                    sayWhyEmpty(list)
                }
            }
            if !list.routes.isEmpty {
                // Those that were named are there; what was not named could not be found.
                for state in list.discovery where state.status == .unavailable {
                    options.report.say(
                        Notice(.warning, "\(state.source): \(state.message ?? "not available")", hint: state.hint))
                }
            }
            if options.output == .json, !options.quiet {
                options.console.out(try Renderer.json(list))
            } else if long, !options.quiet, options.output == .table {
                for route in list.routes { describe(route) }
            } else {
                try options.renderer.render(list.routes, on: options.console)
            }
            return 0
        }
    }

    /// The routes that can run an app, and of the others a word where they could not be asked.
    private func only(_ app: String, in list: RouteList, asking availability: CastAvailability) async -> RouteList {
        var result = list
        let endpoints = list.routes.compactMap { route in route.endpoints.first { $0.protocol == .cast } }
        let answers = await availability.answers(app, on: endpoints)
        func answer(_ route: Route) -> CastAvailability.Answer? {
            route.endpoints.first { $0.protocol == .cast }.flatMap { answers[$0.id] }
        }
        let unknown = list.routes.filter { answer($0) == .unknown }
        result.routes = list.routes.filter { answer($0) == .available }
        if !unknown.isEmpty, !watch {
            options.report.say(
                Notice(
                    .warning, "not known of \(unknown.map(\.name).joined(separator: ", ")): no answer",
                    hint: "Try again when they are on"))
        }
        return result
    }

    /// Prints the list and then each change, until Ctrl-C.
    private func follow(_ setup: RouterSetup) async throws -> Int32 {
        let availability = CastAvailability(logger: setup.logger)
        try await InProcessRouter.run(setup) { router in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    var changes = DeviceChanges()
                    await router.discover(.active)
                    _ = try await router.routes(settle: true)
                    // Only now: the first event is the state as it has settled, and no step on the way to it.
                    for await event in await router.events() {
                        switch event.body {
                        case .snapshot(let list, _), .routes(let list): try await show(&changes, list, availability)
                        case .session, .notice, .phase, .command, .rooms, .scene, .pairing: continue
                        }
                    }
                }
                group.addTask { for await _ in Signals.interrupts() { return } }
                try await group.next()
                group.cancelAll()
            }
        }
        return 0
    }

    private func show(
        _ changes: inout DeviceChanges, _ list: RouteList, _ availability: CastAvailability
    ) async throws {
        var list = list
        if let app { list = await only(app, in: list, asking: availability) }
        for line in changes.lines(for: list.routes) {
            guard options.output == .table || options.output == .plain || options.quiet else {
                options.console.out(try Renderer.jsonLine(line))
                continue
            }
            for route in line.routes ?? line.route.map({ [$0] }) ?? [] {
                let mark =
                    switch line.event {
                    case .snapshot, .found: "+"
                    case .changed: "~"
                    case .gone: "-"
                    }
                let cells = options.quiet ? [route.quietValue] : route.row
                options.console.out(([mark] + cells.map(Console.clean)).joined(separator: "\t"))
            }
        }
    }

    private func sayWhyEmpty(_ list: RouteList) {
        let console = options.console
        console.err("No receivers.")
        for state in list.discovery where state.status == .unavailable {
            console.err(Console.clean("  \(state.source): \(state.message ?? "not available")"))
            if let hint = state.hint { console.err(Console.clean("  hint: \(hint)")) }
            return
        }
        console.err("  Nothing answered on this network. Check that a receiver is on and in the same network;")
        console.err("  multicast does not cross routers, guest Wi-Fi or most containers.")
        console.err("  hint: Name one directly, such as: router devices --device cast://192.168.1.21")
    }

    private func describe(_ route: Route) {
        let console = options.console
        console.out(console.styled(Console.clean(route.name), .bold) + "  " + console.styled(route.id.rawValue, .dim))
        let kind = [route.model, route.kind.rawValue, route.deviceType.rawValue, route.presence.rawValue]
        console.out("  " + kind.compactMap { $0 }.map(Console.clean).joined(separator: ", "))
        for endpoint in route.endpoints {
            let access = endpoint.access.words.map { ", \($0)" } ?? ""
            // Beside the way to play by URL, a stream is never chosen by itself.
            let isAsked = endpoint.protocol == .castStreaming && route.endpoints.contains { $0.protocol == .cast }
            let asked = isAsked ? ", when asked for: --via \(ViaPreference.castStreaming.rawValue)" : ""
            console.out("  \(endpoint.protocol.displayName) at \(Console.clean(endpoint.address))\(access)\(asked)")
            if case .unavailable(let reason) = endpoint.capabilities[.playAudioStream] { console.out("    \(reason)") }
        }
        if let busy = route.busyWith { console.out("  playing now: \(Console.clean(busy))") }
        let questions: [(RouteCapability, String)] = [
            (.continuesWithoutSender, "goes on after the sender has gone"),
            (.acceptsManySenders, "takes several senders at once"),
            (.playsSenderOnlyFiles, "plays files of this machine"),
            (.observableInBackground, "can be watched in the background"),
        ]
        for (capability, words) in questions {
            let answer: String =
                switch route.capabilities[capability] {
                case .available: "yes"
                case .unavailable(let reason): "not now (\(reason))"
                case .unsupported: "no"
                case .unknown: "not known"
                }
            console.out("  \(words): \(answer)")
        }
    }
}

extension Route: ListDisplayable {
    static var header: [String] { ["NAME", "KIND", "VIA", "STATE", "MODEL", "ADDRESS", "ID"] }

    var row: [String] {
        let via = families.map(\.displayName).joined(separator: ", ")
        let lock = access.words.map { " (\($0))" } ?? ""
        let state = busyWith.map { "plays \($0)" } ?? presence.rawValue
        return [
            name, deviceType == .unknown ? kind.rawValue : deviceType.rawValue, via, state + lock, model ?? "",
            endpoints.first?.address ?? "", id.rawValue,
        ]
    }

    var quietValue: String { id.rawValue }
}

extension RouteAccess {
    /// What a person has to know of it; nothing where everybody is let in.
    var words: String? {
        switch self {
        case .open: nil
        case .password: "has a password"
        case .pin, .pairingNeeded: "to be paired"
        case .paired: "paired"
        case .denied: "lets us in no more"
        }
    }
}
