import Foundation

/// Asks a person for a password on the terminal, without showing what is typed. Nil where there is no terminal.
enum PasswordPrompt {
    static func ask(_ device: String) async -> String? {
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else { return nil }
        FileHandle.standardError.write(Data("Password of \(Console.clean(device)): ".utf8))
        var shown = termios()
        guard tcgetattr(STDIN_FILENO, &shown) == 0 else { return nil }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown)
            FileHandle.standardError.write(Data("\n".utf8))
        }
        return readLine(strippingNewline: true).flatMap { $0.isEmpty ? nil : $0 }
    }
}
