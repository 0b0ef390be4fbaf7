import RouteModel

/// Says an error: a sentence and a hint for people, one JSON object for programs; always on standard error.
struct ErrorReport {
    let console: Console
    let format: OutputFormat
    let verbose: Bool

    func say(_ error: RouterError) {
        if format == .json || format == .ndjson {
            if let line = try? Renderer.jsonLine(error) { console.err(line) }
            return
        }
        console.err("\(console.styled("error:", .red)) \(Console.clean(error.message))")
        for cause in error.causes where verbose || error.code != .internal {
            console.err("  because: \(Console.clean(cause))")
        }
        if let hint = error.hint { console.err("  hint: \(Console.clean(hint))") }
    }

    func say(_ notice: Notice) {
        guard format == .table || format == .plain else { return }
        let mark =
            switch notice.severity {
            case .info: console.styled("note:", .dim)
            case .warning: console.styled("warning:", .yellow)
            case .error: console.styled("error:", .red)
            }
        console.err("\(mark) \(Console.clean(notice.message))")
        if let hint = notice.hint { console.err("  hint: \(Console.clean(hint))") }
    }
}
