import ArgumentParser
import CastBackend
import RouteModel

struct DevicesWatchCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print what appears, changes and goes, until Ctrl-C.",
        discussion: """
            The whole list comes first. A line begins with + for what is there, ~ for what has changed and - for what has \
            gone; with -o ndjson each is an object with a number.

              router devices watch
              router devices watch -o ndjson
            """)

    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 { try await DeviceWatch(context: context).run() }
}

/// Prints the list of devices and then each change, until Ctrl-C.
struct DeviceWatch: Sendable {
    let context: VerbContext
    var app: String?
    var availability: CastAvailability?

    func run() async throws -> Int32 {
        OutputFailure.onlyPrints()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await follow() }
            group.addTask { for await _ in Signals.interrupts() { return } }
            try await group.next()
        }
        return 0
    }

    private func follow() async throws {
        var changes = DeviceChanges()
        await context.router.discover(.active)
        _ = try await context.router.routes(settle: true)
        // Only now: the first event is the state as it has settled, and no step on the way to it.
        for await event in await context.router.events() {
            switch event.body {
            case .snapshot(let list, _), .routes(let list): try await show(&changes, list)
            default: continue
            }
        }
    }

    private func show(_ changes: inout DeviceChanges, _ list: RouteList) async throws {
        var list = list
        if let app, let availability { list = await AppFilter(app, availability).only(list) }
        for line in changes.lines(for: list.routes) {
            guard context.options.output.isForPeople || context.options.quiet else {
                context.console.out(try Renderer.jsonLine(line))
                continue
            }
            for route in line.routes ?? line.route.map({ [$0] }) ?? [] {
                let mark =
                    switch line.event {
                    case .snapshot, .found: "+"
                    case .changed: "~"
                    case .gone: "-"
                    }
                let cells = context.options.quiet ? [route.quietValue] : route.row
                context.console.out(([mark] + cells.map(Console.clean)).joined(separator: "\t"))
            }
        }
    }
}
