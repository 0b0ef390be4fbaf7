import ArgumentParser

/// Which rooms a verb is for.
struct TargetOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "A room, device, alias, id, or the beginning of one; may be repeated.", valueName: "name"),
        completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var room: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("@active, @all, @default or @group:NAME; may be repeated.", valueName: "selector"),
        completion: .custom { _, _, _ in await DynamicCompletion.selectors() })
    var on: [String] = []

    init() {}

    /// As though a person had named these. `parse` would not do: it traps for completions that wait.
    init(on selectors: [String]) {
        room = []
        on = selectors
    }

    /// All that were given, in order.
    var selectors: [String] { room + on }

    func validate() throws {
        for selector in selectors where selector.hasPrefix("@") {
            if Selector(selector) == nil {
                throw ValidationError("“\(selector)” is no selector. Write @active, @all, @default or @group:NAME.")
            }
        }
        if selectors.contains("") { throw ValidationError("A room has a name; an empty one was given.") }
    }
}

/// One word that says where.
enum Selector: Sendable, Equatable {
    case active, all, `default`
    case group(String)
    case name(String)

    /// Nil for a word that begins with `@` and means nothing.
    init?(_ text: String) {
        switch text {
        case "@active": self = .active
        case "@all": self = .all
        case "@default": self = .default
        case let text where text.hasPrefix("@group:") && text.count > 7: self = .group(String(text.dropFirst(7)))
        case let text where text.hasPrefix("@"): return nil
        default: self = .name(text)
        }
    }
}
