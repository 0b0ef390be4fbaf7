import ArgumentParser
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
            """)

    @OptionGroup var options: GlobalOptions

    @Flag(name: .long, help: "Show addresses, ids and what each receiver can do.")
    var long = false

    func run() async throws {
        try await reporting(options) {
            let list = try await InProcessRouter.run(try options.setup()) { try await $0.routes(settle: true) }
            if list.routes.isEmpty, options.output == .table || options.output == .plain { sayWhyEmpty(list) }
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

    private func sayWhyEmpty(_ list: RouteList) {
        let console = options.console
        console.err("No receivers.")
        for state in list.discovery where state.status == .unavailable {
            console.err("  \(state.source): \(state.message ?? "not available")")
            if let hint = state.hint { console.err("  hint: \(hint)") }
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
            let access = endpoint.access == .open ? "" : ", asks for \(endpoint.access.rawValue)"
            console.out("  \(endpoint.protocol.displayName) at \(Console.clean(endpoint.address))\(access)")
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
        let lock = access == .open ? "" : " (\(access.rawValue))"
        let state = busyWith.map { "plays \($0)" } ?? presence.rawValue
        return [
            name, deviceType == .unknown ? kind.rawValue : deviceType.rawValue, via, state + lock, model ?? "",
            endpoints.first?.address ?? "", id.rawValue,
        ]
    }

    var quietValue: String { id.rawValue }
}
