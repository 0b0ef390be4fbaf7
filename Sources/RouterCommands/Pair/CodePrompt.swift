import Foundation
import RouteBackend

/// Asks for one line: on the terminal where there is a person, else from what is piped in.
enum CodePrompt {
    /// Whether there is a person at a terminal to ask.
    static var isPossible: Bool { PasswordPrompt.isPossible }

    /// Nil where there is nothing to read.
    static func ask(_ prompt: String, hidden: Bool) async -> String? {
        guard isPossible else { return await firstLine() }
        FileHandle.standardError.write(Data(prompt.utf8))
        var shown = termios()
        guard tcgetattr(STDIN_FILENO, &shown) == 0 else { return nil }
        var wanted = shown
        if hidden { wanted.c_lflag &= ~tcflag_t(ECHO) }
        wanted.c_lflag |= tcflag_t(ICANON)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &wanted)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown)
            if hidden || Task.isCancelled { FileHandle.standardError.write(Data("\n".utf8)) }
        }
        return await firstLine()
    }

    /// Whether the input is a file or a device as /dev/null: it never waits, and the system tells no news of it.
    private static var isAlwaysReady: Bool {
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0 else { return true }
        let kind = status.st_mode & S_IFMT
        return kind == S_IFREG || (kind == S_IFCHR && isatty(STDIN_FILENO) != 1)
    }

    /// Characters that a code or a password has at most.
    private static let maximum = 1024

    private static func firstLine() async -> String? {
        var line: [UInt8] = []
        if isAlwaysReady {
            var buffer = [UInt8](repeating: 0, count: maximum)
            line = Array(buffer[..<max(0, read(STDIN_FILENO, &buffer, buffer.count))])
        } else {
            for await bytes in Terminal.input() {
                line += bytes.prefix(maximum - min(maximum, line.count))
                if bytes.contains(0x0A) || line.count >= maximum { break }
            }
        }
        let text = String(decoding: line.prefix { $0 != 0x0A }, as: UTF8.self)
        return text.isEmpty ? nil : text.trimmingCharacters(in: .newlines)
    }
}
