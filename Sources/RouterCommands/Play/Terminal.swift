@preconcurrency import Dispatch
import Foundation
import RouteModel

/// What a key means.
enum PlayerKey: Sendable, Equatable {
    case toggle, next, previous, back, forward, louder, softer, mute, quit

    /// The command it stands for by itself; muting depends on what is muted now.
    var command: RemoteCommand? {
        switch self {
        case .toggle: .toggle
        case .next: .next
        case .previous: .previous
        case .back: .seekBy(MediaTime(seconds: -10))
        case .forward: .seekBy(MediaTime(seconds: 10))
        case .louder: .stepVolume(0.05, room: nil)
        case .softer: .stepVolume(-0.05, room: nil)
        case .mute, .quit: nil
        }
    }

    /// The keys in what a terminal sent at once; unknown sequences are passed over.
    static func parse(_ bytes: some Sequence<UInt8>) -> [PlayerKey] {
        let text = String(decoding: Array(bytes), as: UTF8.self)
        var rest = Substring(text)
        let names: [(String, PlayerKey)] = [
            ("\u{1b}[A", .louder), ("\u{1b}[B", .softer), ("\u{1b}[C", .forward), ("\u{1b}[D", .back),
            ("\u{1b}OA", .louder), ("\u{1b}OB", .softer), ("\u{1b}OC", .forward), ("\u{1b}OD", .back),
            (" ", .toggle), ("n", .next), ("p", .previous), ("+", .louder), ("=", .louder), ("-", .softer),
            ("m", .mute), ("q", .quit),
        ]
        var keys: [PlayerKey] = []
        while !rest.isEmpty {
            if let (name, key) = names.first(where: { rest.hasPrefix($0.0) }) {
                keys.append(key)
                rest = rest.dropFirst(name.count)
            } else {
                rest = rest.dropFirst()
            }
        }
        return keys
    }
}

/// The terminal in the state a player needs: keys without Enter, no echo. Restored at the end.
final class Terminal: Sendable {
    private let before: termios

    /// A terminal for the player view, where there is one to show it on and to take keys from.
    static func forPlayer(format: OutputFormat) -> Terminal? {
        guard format == .table, isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1,
            ProcessInfo.processInfo.environment["TERM"] != "dumb"
        else { return nil }
        // A background job must not touch the terminal's settings: it would be stopped.
        guard tcgetpgrp(STDIN_FILENO) == getpgrp() else { return nil }
        return Terminal()
    }

    private init?() {
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        before = settings
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        guard tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0 else { return nil }
    }

    func restore() {
        var settings = before
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    func keys() -> AsyncStream<PlayerKey> {
        let (stream, continuation) = AsyncStream.makeStream(of: PlayerKey.self)
        let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .global())
        source.setEventHandler {
            var buffer = [UInt8](repeating: 0, count: 64)
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            guard count > 0 else { return continuation.finish() }
            for key in PlayerKey.parse(buffer[..<count]) { continuation.yield(key) }
        }
        continuation.onTermination = { _ in source.cancel() }
        source.resume()
        return stream
    }

    /// Draws lines over the `count` lines drawn before.
    func draw(_ lines: [String], over count: Int, console: Console) {
        let up = count > 0 ? "\u{1b}[\(count)A" : ""
        let text = lines.isEmpty ? "" : lines.joined(separator: "\n") + "\n"
        console.raw("\r" + up + "\u{1b}[J" + text)
    }
}

/// Ctrl-C and a polite kill, as a stream in place of the process's death.
enum Interrupts {
    static func stream() -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            source.resume()
            return source
        }
        continuation.onTermination = { _ in
            for source in sources { source.cancel() }
        }
        return stream
    }
}
