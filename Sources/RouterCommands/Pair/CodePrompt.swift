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
            if hidden { FileHandle.standardError.write(Data("\n".utf8)) }
        }
        return await firstLine()
    }

    /// Characters that a code or a password has at most.
    private static let maximum = 1024

    private static func firstLine() async -> String? {
        var line: [UInt8] = []
        for await bytes in Terminal.input() {
            line += bytes.prefix(maximum - min(maximum, line.count))
            if bytes.contains(0x0A) || line.count >= maximum { break }
        }
        let text = String(decoding: line.prefix { $0 != 0x0A }, as: UTF8.self)
        return text.isEmpty ? nil : text.trimmingCharacters(in: .newlines)
    }
}
