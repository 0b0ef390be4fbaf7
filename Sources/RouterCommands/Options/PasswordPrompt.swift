import Foundation
import RouteBackend

/// Asks a person for passwords on the terminal, one question at a time, without showing what is typed.
///
/// While a player has the terminal it takes the questions over, for the keys are its own.
actor PasswordPrompt {
    static let shared = PasswordPrompt()

    /// One question, to be answered exactly once; nil for no password.
    struct Question: Sendable {
        var device: String
        var answer: @Sendable (Secret?) -> Void
    }

    /// How many questions a person has answered.
    private(set) var answered = 0
    private var insists = false
    private var player: AsyncStream<Question>.Continuation?
    private var isAsking = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Whether there is a person at a terminal to ask.
    static var isPossible: Bool {
        isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp()
    }

    /// From now on devices are asked about that did not say that they want a password: one refused us for the lack of it.
    func insist() { insists = true }

    /// The questions, for a player that has the terminal, until it is gone.
    func questions() -> AsyncStream<Question> {
        let (stream, continuation) = AsyncStream.makeStream(of: Question.self)
        player = continuation
        return stream
    }

    /// The player has gone, and answers nothing any more.
    func release() { player = nil }

    func ask(_ device: String, announced: Bool) async -> Secret? {
        guard announced || insists, Self.isPossible else { return nil }
        if isAsking {
            await withCheckedContinuation { waiting.append($0) }
        }
        isAsking = true
        defer {
            if waiting.isEmpty { isAsking = false } else { waiting.removeFirst().resume() }
        }
        guard !Task.isCancelled else { return nil }
        let answer: Secret?
        if let player {
            answer = await withCheckedContinuation { continuation in
                player.yield(Question(device: device) { continuation.resume(returning: $0) })
            }
        } else {
            answer = await readLine(device)
        }
        if answer != nil { answered += 1 }
        return answer
    }

    /// Line by line from the terminal, with its own editing keys and no echo.
    private func readLine(_ device: String) async -> Secret? {
        var shown = termios()
        guard tcgetattr(STDIN_FILENO, &shown) == 0 else { return nil }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        hidden.c_lflag |= tcflag_t(ICANON)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        let console = Console()
        FileHandle.standardError.write(Data("Password of \(Console.clean(device)): ".utf8))
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown)
            console.err("")
        }
        // A source and not a blocking read: Ctrl-C ends the question with the task.
        for await bytes in Terminal.input() {
            let line = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
            return line.isEmpty ? nil : Secret(line)
        }
        return nil
    }
}

/// A line that is typed blindly, key by key, while a player has the terminal.
struct PasswordLine: Sendable, Equatable {
    private(set) var bytes: [UInt8] = []

    enum Outcome: Sendable, Equatable {
        case more
        /// Nil: nothing was typed, or the person gave up.
        case done(String?)
    }

    /// Characters typed so far.
    var count: Int { String(decoding: bytes, as: UTF8.self).count }

    mutating func take(_ input: some Sequence<UInt8>) -> Outcome {
        for byte in input {
            switch byte {
            case 0x0A, 0x0D: return .done(bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self))
            case 0x04, 0x1B: return .done(nil)
            case 0x08, 0x7F:
                // The whole of the last character: back to a byte that begins one.
                while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
            case 0x15: bytes = []
            case 0x00..<0x20: break
            default: if bytes.count < 1024 { bytes.append(byte) }
            }
        }
        return .more
    }
}
