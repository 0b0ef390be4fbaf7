import ArgumentParser
import RouteModel

struct DevicesShowCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show what is known of one device, and what it can do.",
        discussion: """
              router devices show Kitchen
              router devices show Kitchen -o json
            """)

    @Argument(
        help: "The device: a name, an id or the beginning of one.",
        completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var name: String

    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        await context.router.discover(.active)
        let list = try await context.router.routes(settle: true)
        await context.router.discover(.passive)
        let route = try CastTarget.route(name, in: list.routes)
        guard context.options.output == .table, !context.options.quiet, options.format == nil, options.fields == nil
        else {
            try context.renderer.render(one: route, on: context.console) { _ in [] }
            return 0
        }
        DeviceReport(context: context).describe(route, withCapabilities: true)
        return 0
    }
}
