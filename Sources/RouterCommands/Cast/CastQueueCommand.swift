import ArgumentParser
import CastBackend
import RouteModel

struct CastQueueCommand: AsyncParsableCommand {
    enum Verb: String, CaseIterable, ExpressibleByArgument {
        case list, load, insert, remove, move, jump, next, prev, shuffle, `repeat`, update
    }

    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "See and edit the queue that a Cast device keeps.",
        discussion: """
            The queue is the device's own: other senders see the edits, and theirs are seen here. Items are named by the \
            ids that “list” shows. Without --before, they go to the end; --play begins with them.

              router cast queue Kitchen                list it
              router cast queue Kitchen load URL URL   in place of what plays
              router cast queue Kitchen insert URL --before 3 --play
              router cast queue Kitchen remove 3 4
              router cast queue Kitchen move 5 --before 2
              router cast queue Kitchen jump 4
              router cast queue Kitchen next           or prev
              router cast queue Kitchen shuffle on     or off
              router cast queue Kitchen repeat all     off, single, allAndShuffle
              router cast queue Kitchen update 4 --start 0:30
            """)

    @OptionGroup var target: CastTarget

    @Argument(help: "list, load, insert, remove, move, jump, next, prev, shuffle, repeat or update.")
    var verb: Verb = .list

    @Argument(help: ArgumentHelp("Item ids or URLs, by verb.", valueName: "what"))
    var what: [String] = []

    @Option(name: .long, parsing: .unconditional, help: ArgumentHelp("Put it before this item.", valueName: "id"))
    var before: Int?

    @Flag(name: .long, help: "With insert: play the first of them now.")
    var play = false

    @Option(name: .long, parsing: .unconditional, help: "With load and update: begin the item here.")
    var start: String?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("With load: begin with this one, from 1.", valueName: "number"))
    var first: Int = 1

    @Option(name: .long, parsing: .unconditional, help: "With insert and update: fetch it so many seconds ahead.")
    var preload: Double?

    @Option(name: .long, help: ArgumentHelp("With load: the receiver app.", valueName: "id"))
    var app: String?

    @OptionGroup var item: CastItemOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if let start, ClockTime.parse(start) == nil {
            throw ValidationError("“\(start)” is not a time. Write seconds, 1:23 or 1:02:03.")
        }
        let words = "“\(verb.rawValue)”"
        switch verb {
        case .list, .next, .prev:
            guard what.isEmpty else { throw ValidationError("\(words) takes nothing after it.") }
        case .load, .insert:
            guard !what.isEmpty || item.media != nil else {
                throw ValidationError("Say what to \(verb.rawValue): URLs.")
            }
        case .remove, .move:
            guard !what.isEmpty else { throw ValidationError("Say which items to \(verb.rawValue), by their ids.") }
        case .jump, .update:
            guard what.count == 1 else { throw ValidationError("\(words) takes the id of one item.") }
        case .shuffle:
            guard what.count == 1, ["on", "off"].contains(what[0]) else { throw ValidationError("Say on or off.") }
        case .repeat:
            guard what.count == 1, ["off", "all", "single", "allandshuffle"].contains(what[0].lowercased()) else {
                throw ValidationError("Say off, all, single or allAndShuffle.")
            }
        }
        if [.remove, .move, .jump, .update].contains(verb), let odd = what.first(where: { Int($0) == nil }) {
            throw ValidationError("“\(odd)” is no item id. “list” shows the ids, which are numbers.")
        }
        if verb == .update, start == nil, preload == nil {
            throw ValidationError("Say what to change: --start, --preload.")
        }
        if let before, before < 0 { throw ValidationError("--before takes an item's id, not \(before).") }
        if let preload, !(0...86_400).contains(preload) {
            throw ValidationError("--preload takes seconds, 0 to 86400, not \(preload).")
        }
        if first < 1 { throw ValidationError("Items are counted from 1.") }
        if verb == .load, first > max(1, what.count) {
            throw ValidationError("--first is \(first), and there are \(what.count) to load.")
        }
        if verb != .list, verb != .load, verb != .insert, item.media != nil {
            throw ValidationError("--media belongs to load and insert.")
        }
    }

    func run() async throws {
        if verb == .list {
            try await list()
        } else {
            try await target.act(options) { try await edit($0) }
        }
    }

    private func list() async throws {
        try await reporting(options) {
            let queue = try await target.control(options) { try await $0.queue() }
            if options.output == .json || options.output == .yaml, !options.quiet {
                options.console.out(try Renderer.document(queue, options.output))
            } else {
                try options.renderer.render(queue.items, on: options.console)
            }
            return 0
        }
    }

    private var ids: [Int] { what.compactMap { Int($0) } }

    private func items() throws -> [CastLoadItem] {
        let urls: [String?] = what.isEmpty ? [nil] : what
        return try urls.map { url in
            var new = try item.item(url)
            new.preloadTime = preload
            return new
        }
    }

    private func edit(_ control: CastControl) async throws -> String {
        let name = control.endpoint.name
        let seconds = start.flatMap(ClockTime.parse)?.seconds
        switch verb {
        case .list: return ""
        case .load:
            try await control.loadQueue(try items(), startIndex: first - 1, position: seconds ?? 0, appID: app)
            return "\(name) plays a queue of \(what.count)"
        case .insert:
            try await control.insert(try items(), before: before, play: play)
            return "inserted \(max(1, what.count)) on \(name)"
        case .remove:
            try await control.remove(ids)
            return "removed \(ids.count) on \(name)"
        case .move:
            try await control.move(ids, before: before)
            return "moved \(ids.count) on \(name)"
        case .jump:
            try await control.jump(to: ids[0])
            return "\(name) goes to item \(ids[0])"
        case .next, .prev:
            try await control.skip(verb == .next ? 1 : -1)
            return "\(name) goes to the \(verb == .next ? "next" : "previous") item"
        case .shuffle:
            try await control.setShuffle(what[0] == "on")
            return "shuffle is \(what[0]) on \(name)"
        case .repeat:
            try await control.setRepeat(what[0])
            return "repeat is \(what[0]) on \(name)"
        case .update:
            try await control.update(item: ids[0], startTime: seconds, preloadTime: preload)
            return "changed item \(ids[0]) on \(name)"
        }
    }
}

extension CastMediaReport.Item: ListDisplayable {
    static var header: [String] { ["", "ID", "TITLE", "ARTIST", "LENGTH", "URL"] }

    var row: [String] {
        let length = duration.map { ClockTime.format(MediaTime(seconds: $0)) } ?? ""
        let sign = mark == "current" ? "▶" : mark == "loading" ? "…" : mark == "preloaded" ? "+" : ""
        return [sign, String(itemID), name, artist ?? "", length, url ?? ""]
    }

    var quietValue: String { String(itemID) }
}
