import RouteModel

/// Says an error: a sentence and a hint for people, one JSON object for programs; always on standard error.
struct ErrorReport {
    let console: Console
    let format: OutputFormat
    let verbose: Bool
    var quiet = false

    func say(_ error: RouterError) { for line in lines(error) { console.err(line) } }
    func say(_ notice: Notice) { for line in lines(notice) { console.err(line) } }

    func lines(_ error: RouterError) -> [String] {
        if !format.isForPeople { return (try? Renderer.jsonLine(error)).map { [$0] } ?? [] }
        // What a person asked for is no error.
        let mark = error.code == .cancelled ? "" : console.styled("error:", .red) + " "
        var lines = [mark + Console.clean(error.message)]
        for cause in error.causes where verbose || error.code != .internal {
            // A place in a document comes with its line and a caret below it.
            let parts = cause.split(separator: "\n").map { Console.clean(String($0)) }
            lines += parts.enumerated().map { $0 == 0 ? "  because: \($1)" : "    \($1)" }
        }
        return lines + candidates(error) + hint(error.hint)
    }

    func lines(_ notice: Notice) -> [String] {
        guard format.isForPeople, !quiet || notice.severity == .error else { return [] }
        let mark =
            switch notice.severity {
            case .info: console.styled("note:", .dim)
            case .warning: console.styled("warning:", .yellow)
            case .error: console.styled("error:", .red)
            }
        return ["\(mark) \(Console.clean(notice.message))"] + hint(notice.hint)
    }

    /// What could have been meant, where the sentence itself does not say so.
    private func candidates(_ error: RouterError) -> [String] {
        guard let first = error.candidates.first, !error.message.contains(first) else { return [] }
        let named = error.candidates.prefix(Self.maximumCandidates).joined(separator: ", ")
        let more = error.candidates.count - Self.maximumCandidates
        let word = error.code == .routeAmbiguous ? "one of" : "there is"
        return ["  \(word): \(Console.clean(named))\(more > 0 ? " and \(more) more" : "")"]
    }

    private static let maximumCandidates = 12

    private func hint(_ text: String?) -> [String] { text.map { ["  hint: \(Console.clean($0))"] } ?? [] }
}
