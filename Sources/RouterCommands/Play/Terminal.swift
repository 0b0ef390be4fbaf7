@preconcurrency import Dispatch
import Foundation
import RouteModel

/// The terminal in the state a player needs: keys without Enter, no echo. Restored at the end.
final class Terminal: Sendable {
    private let before: termios

    /// A terminal for the player view, where there is one to show it on and to take keys from.
    static func forPlayer(_ options: GlobalOptions) -> Terminal? {
        guard options.output == .table, !options.quiet, isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1,
            ProcessInfo.processInfo.environment["TERM", default: "dumb"] != "dumb"
        else { return nil }
        // A background job must not touch the terminal's settings: it would be stopped.
        guard tcgetpgrp(STDIN_FILENO) == getpgrp() else { return nil }
        return Terminal()
    }

    private init?() {
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        before = settings
        prepare()
    }

    /// At the start, and when the process goes on after Ctrl-Z: the shell has had the terminal meanwhile.
    func prepare() {
        var settings = before
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    func restore() {
        var settings = before
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    /// What is typed, as it comes; ends with the input.
    static func input() -> AsyncStream<[UInt8]> {
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .global())
        source.setEventHandler {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            guard count > 0 else { return continuation.finish() }
            continuation.yield(Array(buffer[..<count]))
        }
        continuation.onTermination = { _ in source.cancel() }
        source.resume()
        return stream
    }

    /// Draws lines over the `rows` rows drawn before.
    func draw(_ lines: [String], over rows: Int, console: Console) {
        let up = rows > 0 ? "\u{1b}[\(rows)A" : ""
        let text = lines.isEmpty ? "" : lines.joined(separator: "\n") + "\n"
        console.raw("\r" + up + "\u{1b}[J" + text)
    }
}

/// Signals as a stream in place of what they would do to the process.
enum Signals {
    /// Ctrl-C, a polite kill and a closed terminal. The first is told; the second of its kind ends the process at once, for
    /// the polite end may hang on a device that has gone.
    static func interrupts() -> AsyncStream<Int32> {
        // A reader of the output that has gone is told by `Console`.
        signal(SIGPIPE, SIG_IGN)
        return stream([SIGINT, SIGTERM, SIGHUP], after: { signal($0, SIG_DFL) })
    }

    /// The process goes on after it was stopped (Ctrl-Z), or the window has another size.
    static func redraws() -> AsyncStream<Int32> { stream([SIGCONT, SIGWINCH], after: { _ in }) }

    /// Keeps a signal from ending the process before somebody reads it. From the first reader on Dispatch has a handler of
    /// its own, which it does not put in place again for those who come later.
    static func ignore(_ number: Int32) {
        if isUsual(number) { signal(number, SIG_IGN) }
    }

    /// Whether nobody reads a signal and nothing ignores it: it would end the process at once.
    static func isUsual(_ number: Int32) -> Bool {
        var now = sigaction()
        sigaction(number, nil, &now)
        return now.__sigaction_handler.sa_handler == nil
    }

    private static func stream(_ numbers: [Int32], after: @escaping @Sendable (Int32) -> Void) -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        let sources = numbers.map { number in
            // Those that do nothing by themselves need not be ignored.
            if number != SIGCONT, number != SIGWINCH { ignore(number) }
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                after(number)
                continuation.yield(number)
            }
            source.resume()
            return source
        }
        continuation.onTermination = { _ in
            for source in sources { source.cancel() }
        }
        return stream
    }
}
