import ArgumentParser
import RouteModel

struct QueueListCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List what was played, what plays and what is to come.",
        discussion: """
            ▶ marks what plays, ✓ what was played and ✗ what did not play.

              router queue
              router queue list -r Kitchen -o json
              router queue list --format '{{number}} {{title}} {{duration|time}}'
            """)
    static let discovers = false

    @Flag(name: .long, help: "Only what is to come.")
    var upcoming = false

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let session = try await TargetFinder(context, takesStopped: true).session(target).session
        let queue = session.queue
        let isDocument = options.output == .json || options.output == .yaml
        if isDocument, !upcoming, options.fields == nil, options.format == nil, !context.options.quiet {
            try context.renderer.render(one: queue, on: context.console) { _ in [] }
            return 0
        }
        let rows = QueueRow.rows(queue).filter { !upcoming || $0.mark == .upcoming }
        if rows.isEmpty {
            context.note(
                queue.items.isEmpty ? "The queue is empty." : "Nothing is to come.",
                hint: "Add to it with “router queue add”")
        }
        try context.renderer.render(rows, on: context.console)
        var modes: [String] = []
        if queue.original != nil { modes.append("shuffled") }
        if queue.repeatMode != .off { modes.append("repeats \(queue.repeatMode == .one ? "this item" : "all")") }
        if !modes.isEmpty, context.options.output == .table { context.note("(\(modes.joined(separator: ", ")))") }
        return 0
    }
}
