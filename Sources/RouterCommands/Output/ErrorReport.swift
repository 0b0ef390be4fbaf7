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
        if format == .json || format == .ndjson { return (try? Renderer.jsonLine(error)).map { [$0] } ?? [] }
        var lines = ["\(console.styled("error:", .red)) \(Console.clean(error.message))"]
        for cause in error.causes where verbose || error.code != .internal {
            lines.append("  because: \(Console.clean(cause))")
        }
        return lines + hint(error.hint)
    }

    func lines(_ notice: Notice) -> [String] {
        guard format == .table || format == .plain, !quiet || notice.severity == .error else { return [] }
        let mark =
            switch notice.severity {
            case .info: console.styled("note:", .dim)
            case .warning: console.styled("warning:", .yellow)
            case .error: console.styled("error:", .red)
            }
        return ["\(mark) \(Console.clean(notice.message))"] + hint(notice.hint)
    }

    private func hint(_ text: String?) -> [String] { text.map { ["  hint: \(Console.clean($0))"] } ?? [] }
}
