import ArgumentParser
import RouteModel

/// Under which conditions a command is still wanted.
struct TermsOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only while this item plays: a place, an id, or the beginning of a title.", valueName: "item"),
        completion: .custom { _, _, _ in await DynamicCompletion.queueItems() })
    var ifItem: String?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "See its effect within this time; what is not begun by then is not done any more.",
            valueName: "seconds"))
    var within: Delay?

    init() {}

    /// As though a person had given none.
    static var none: TermsOptions {
        var options = TermsOptions()
        options.ifItem = nil
        options.within = nil
        return options
    }

    func validate() throws {
        if let within, !CommandTerms.seconds.contains(within.seconds) {
            throw ValidationError("--within is a time from 0.1 to 600 s.")
        }
        if ifItem == "" { throw ValidationError("Say which item has to play: its place, id or title.") }
    }

    /// As they are for a session. Throws `mediaNotFound` for an item that its queue never had.
    func terms(in session: SessionSnapshot) throws -> CommandTerms {
        CommandTerms(expected: try ifItem.map { try item($0, session.queue) }, within: within?.mediaTime)
    }

    private func item(_ word: String, _ queue: QueueSnapshot) throws -> ItemID {
        // What has been taken out since does not play, and is no mistake.
        let id = ItemID(rawValue: word.uppercased())
        if id.isULID, !queue.items.contains(where: { $0.id == id }) { return id }
        return try QueuePlace(queue: queue).item(word)
    }
}

extension ItemID {
    fileprivate var isULID: Bool {
        rawValue.count == 26 && rawValue.allSatisfy { "0123456789ABCDEFGHJKMNPQRSTVWXYZ".contains($0) }
    }
}
