import Foundation

/// Standard output and error, unbuffered: what is written is there at once, also in a pipe.
///
/// A reader that has gone (`| head`) ends a list at once, as the system does it, and a command that plays politely.
struct Console: Sendable {
    /// Takes what is written in place of the descriptors, with the columns that it has.
    struct Sink: Sendable {
        var columns: Int
        var take: @Sendable (_ text: String, _ descriptor: Int32) -> Void
    }

    let colours: Bool
    let outputIsTerminal: Bool
    private let sink: Sink?

    init(writingTo sink: Sink) {
        colours = false
        outputIsTerminal = false
        self.sink = sink
    }

    init(colour: ColourChoice = .auto) {
        sink = nil
        let isTerminal = isatty(STDOUT_FILENO) == 1
        outputIsTerminal = isTerminal
        let environment = ProcessInfo.processInfo.environment
        colours =
            switch colour {
            case .always: true
            case .never: false
            case .auto: isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
            }
    }

    func out(_ line: String) { raw(line + "\n") }
    func err(_ line: String) { rawError(line + "\n") }

    /// On standard error, as it is.
    func rawError(_ text: String) {
        if let sink { return sink.take(text, STDERR_FILENO) }
        _ = Self.write(text, to: STDERR_FILENO)
    }

    func raw(_ text: String) {
        if let sink { return sink.take(text, STDOUT_FILENO) }
        guard !Self.write(text, to: STDOUT_FILENO), errno == EPIPE else { return }
        // Only where SIGPIPE is ignored, which is where SIGTERM means to stop what plays and then end.
        kill(getpid(), SIGTERM)
    }

    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Columns and rows of the terminal, or 80 by 24.
    var size: (columns: Int, rows: Int) {
        if let sink { return (sink.columns, 24) }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
        return (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : 24)
    }

    enum Style: String { case bold = "1", dim = "2", red = "31", green = "32", yellow = "33" }

    func styled(_ text: String, _ style: Style) -> String {
        colours ? "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m" : text
    }

    static func clean(_ text: String) -> String { TerminalText.clean(text) }
}

enum ColourChoice: String, Sendable, CaseIterable { case auto, always, never }
