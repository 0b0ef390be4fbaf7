import Foundation
import Synchronization

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
        let error = Self.write(text, to: STDOUT_FILENO)
        if error != 0 { OutputFailure.happened(error) }
    }

    /// Gives 0, or the error's number.
    private static func write(_ text: String, to descriptor: Int32) -> Int32 {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let (count, error) = bytes.withUnsafeBytes { buffer -> (Int, Int32) in
                let count = Foundation.write(descriptor, buffer.baseAddress, buffer.count)
                return (count, count < 0 ? errno : count == 0 ? EIO : 0)
            }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if error == EAGAIN {
                // Another program has made the pipe or terminal that it shares with this one so.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if error != EINTR {
                return error
            }
        }
        return 0
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

/// Standard output cannot be written any more: what then becomes of the command.
enum OutputFailure {
    private static let told = Atomic<Bool>(false)
    private static let failed = Atomic<Bool>(false)
    private static let printsOnly = Atomic<Bool>(false)

    /// Nothing but what it prints is to be had of this command, whatever it does about SIGTERM.
    static func onlyPrints() { printsOnly.store(true, ordering: .releasing) }

    /// The exit status of a command that did all it should, where what it printed has got lost; nil where it has not.
    static var status: Int32? { failed.load(ordering: .acquiring) ? ExitStatus.outputLost : nil }

    /// Ends the process where it only prints. Where SIGTERM is read, something plays, or has to be put away first.
    static func happened(_ error: Int32) {
        // Once is enough: a second SIGTERM would cut short what is being put away.
        if told.exchange(true, ordering: .acquiringAndReleasing) { return }
        let endsAtOnce = Signals.isUsual(SIGTERM)
        guard error != EPIPE else {
            // A reader that has gone (`| head`) is no mistake.
            if endsAtOnce { endQuietly() }
            kill(getpid(), SIGTERM)
            return
        }
        Console().err("error: standard output cannot be written (\(String(cString: strerror(error))))")
        Console().err("  hint: Make room there, or send the output elsewhere")
        if endsAtOnce { exit(ExitStatus.outputLost) }
        // What plays is heard all the same, and a terminal that has gone tells so by SIGHUP.
        failed.store(true, ordering: .releasing)
        if printsOnly.load(ordering: .acquiring) { kill(getpid(), SIGTERM) }
    }

    /// As the system ends a program that writes to nobody: shells say nothing of it. The libraries ignore SIGPIPE.
    private static func endQuietly() -> Never {
        var pipe = sigset_t()
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        signal(SIGPIPE, SIG_DFL)
        pthread_sigmask(SIG_UNBLOCK, &pipe, nil)
        raise(SIGPIPE)
        exit(128 + SIGPIPE)
    }
}

enum ColourChoice: String, Sendable, CaseIterable { case auto, always, never }
