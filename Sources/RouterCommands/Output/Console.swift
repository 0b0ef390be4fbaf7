import Foundation

/// Standard output and error, unbuffered: what is written is there at once, also in a pipe.
///
/// A reader that has gone (`| head`) ends the writing, not the process with a crash.
struct Console: Sendable {
    let colours: Bool
    let outputIsTerminal: Bool
    let errorIsTerminal: Bool

    init(colour: ColourChoice = .auto) {
        outputIsTerminal = isatty(STDOUT_FILENO) == 1
        errorIsTerminal = isatty(STDERR_FILENO) == 1
        let environment = ProcessInfo.processInfo.environment
        colours =
            switch colour {
            case .always: true
            case .never: false
            case .auto: outputIsTerminal && environment["NO_COLOR"] == nil && environment["TERM"] != "dumb"
            }
    }

    func out(_ line: String) { Self.write(line + "\n", to: STDOUT_FILENO) }
    func err(_ line: String) { Self.write(line + "\n", to: STDERR_FILENO) }
    func raw(_ text: String) { Self.write(text, to: STDOUT_FILENO) }

    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }

    /// Columns of the terminal, or 80.
    var width: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    enum Style: String { case bold = "1", dim = "2", red = "31", green = "32", yellow = "33" }

    func styled(_ text: String, _ style: Style) -> String {
        colours ? "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m" : text
    }

    /// Text from outside (titles, names) without control characters, which could drive the terminal.
    static func clean(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.map { CharacterSet.controlCharacters.contains($0) ? " " : $0 })
        )
    }
}

enum ColourChoice: String, Sendable, CaseIterable { case auto, always, never }
