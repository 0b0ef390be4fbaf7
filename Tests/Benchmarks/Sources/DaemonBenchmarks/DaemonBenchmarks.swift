import Foundation
import Glibc
import Logging
import RouteBackend
import RouteModel
import RouterAPI
import RouterCore
import RouterDaemon
import RouterTestKit

/// What daemon_bench.py runs: a daemon of fake devices in this process, and its clients. Each verb prints a line of JSON.
@main
enum DaemonBenchmarks {
    static let usage = """
        usage: DaemonBenchmarks command COUNT
               DaemonBenchmarks client COUNT
               DaemonBenchmarks fanout READERS COUNT

        """

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let numbers = arguments.dropFirst().compactMap { Int($0) }
        switch (arguments.first, numbers.count, arguments.count) {
        case ("command", 1, 2): try await live { try await command($0, count: numbers[0], anew: false) }
        case ("client", 1, 2): try await live { try await command($0, count: numbers[0], anew: true) }
        case ("fanout", 2, 3): try await live { try await fanOut($0, readers: numbers[0], count: numbers[1]) }
        default:
            FileHandle.standardError.write(Data(usage.utf8))
            exit(64)
        }
    }

    static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
    static func now() -> Double { Double(SystemHostClock().now()) / 1e9 }

    static func figures(_ milliseconds: [Double]) -> String {
        let sorted = milliseconds.sorted()
        return
            #""median":\#(sorted[sorted.count / 2]),"p95":\#(sorted[sorted.count * 95 / 100]),"max":\#(sorted[sorted.count - 1])"#
    }

    /// Fifty devices, and a daemon on a socket of its own.
    static func live(_ body: @escaping @Sendable (_ path: String) async throws -> Void) async throws {
        let folder = "/tmp/bench-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let clock = SystemHostClock()
        let cast = FakeProvider(
            family: .cast, delivery: .pull(PullRequirements(receiverAddress: "127.0.0.1")), clock: clock)
        let endpoints = (0..<50).map { cast.endpoint(named: "Room \($0)", host: "10.0.0.\($0)") }
        let engine = RouterEngine(
            providers: [cast], browsing: nil, media: FakeMedia(), store: InMemoryStore(), clock: clock,
            configuration: EngineConfiguration(stated: endpoints))
        let (ready, continuation) = AsyncStream.makeStream(of: Void.self)
        var options = ServiceOptions(
            socketPath: folder + "/r.sock", environment: [:], ready: { _ in continuation.yield(()) })
        options.handlesSignals = false
        options.limits.ownRequestsPerSecond = 1e9
        try await withThrowingTaskGroup(of: Void.self) { [options] group in
            group.addTask { await engine.run() }
            group.addTask {
                try await RouterService.serve(
                    engine, options, logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }))
            }
            for await _ in ready { break }
            try await body(folder + "/r.sock")
            group.cancelAll()
            await engine.shutdown()
        }
    }

    /// From the client's call to its answer, in milliseconds: the command has been at the backend by then.
    ///
    /// - Parameter anew: by a connection for each, as one command line after the other makes; else by one that is kept, as
    ///   an app has.
    static func command(_ path: String, count: Int, anew: Bool) async throws {
        let client = RouterClient(.socket(path: path))
        _ = try await client.play(PlayRequest(what: ["http://h/one"], rooms: ["Room 0"]))
        var times: [Double] = []
        let kept = try connected(path)
        defer { close(kept) }
        for index in 0..<(count + 50) {
            let command: RemoteCommand = index % 2 == 0 ? .pause : .play
            let began = now()
            if anew {
                _ = try await client.perform(command, session: nil, origin: .api)
            } else {
                try await asked(kept, command)
            }
            if index >= 50 { times.append((now() - began) * 1000) }
        }
        say("{\(figures(times))}")
    }

    /// In a thread of its own: whoever waits in one of the pool's keeps the daemon from answering.
    private static func asked(_ socket: Int32, _ command: RemoteCommand) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            asker.async {
                let text = request(command)
                var answer = [UInt8](repeating: 0, count: 4096)
                let sent = send(socket, Array(text.utf8), text.utf8.count, Int32(MSG_NOSIGNAL))
                let got = sent > 0 ? recv(socket, &answer, answer.count, 0) : 0
                let isDone = got > 12 && String(decoding: answer[..<12], as: UTF8.self) == "HTTP/1.1 200"
                continuation.resume(with: isDone ? .success(()) : .failure(Failed()))
            }
        }
    }

    private static let asker = DispatchQueue(label: "asker")

    private static func request(_ command: RemoteCommand) -> String {
        let body = #"{"command":{"type":"\#(command == .pause ? "pause" : "play")"}}"#
        return "POST /api/v1/sessions/current/commands HTTP/1.1\r\nHost: localhost\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// From the request of a command to the last reader's having its result, in milliseconds.
    static func fanOut(_ path: String, readers: Int, count: Int) async throws {
        _ = try await RouterClient(.socket(path: path)).play(PlayRequest(what: ["http://h/one"], rooms: ["Room 0"]))
        let times = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try followers(path, readers, count) })
            }
        }
        say("{\(figures(times))}")
    }

    private static func followers(_ path: String, _ readers: Int, _ count: Int) throws -> [Double] {
        let subscription = Array("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        let sockets = try (0..<readers).map { _ in
            let socket = try connected(path)
            _ = send(socket, subscription, subscription.count, Int32(MSG_NOSIGNAL))
            return socket
        }
        defer { for one in sockets { close(one) } }
        let speaker = try connected(path)
        defer { close(speaker) }
        let result = Array("event: command.result".utf8)
        try wait(sockets, for: Array("event: snapshot".utf8))
        return try (0..<count).map { index in
            let text = request(index % 2 == 0 ? .pause : .play)
            let began = now()
            _ = send(speaker, Array(text.utf8), text.utf8.count, Int32(MSG_NOSIGNAL))
            try wait(sockets, for: result)
            let time = (now() - began) * 1000
            var answer = [UInt8](repeating: 0, count: 4096)
            _ = recv(speaker, &answer, answer.count, 0)
            return time
        }
    }

    struct Failed: Error {}

    /// Reads from one after the other until each has had this: the last of them is waited for, whichever that is.
    private static func wait(_ sockets: [Int32], for wanted: [UInt8]) throws {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        for socket in sockets {
            var rest: [UInt8] = []
            repeat {
                let count = recv(socket, &chunk, chunk.count, 0)
                guard count > 0 else { throw Failed() }
                rest = rest.suffix(wanted.count) + chunk[..<count]
            } while !contains(rest, wanted)
        }
    }

    private static func contains(_ bytes: [UInt8], _ wanted: [UInt8]) -> Bool {
        guard bytes.count >= wanted.count else { return false }
        return bytes.withUnsafeBufferPointer { bytes in
            (0...(bytes.count - wanted.count)).contains { place in
                bytes[place] == wanted[0] && bytes[place..<(place + wanted.count)].elementsEqual(wanted)
            }
        }
    }

    private static func connected(_ path: String) throws -> Int32 {
        let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let done = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard socket >= 0, done == 0 else { throw Failed() }
        return socket
    }
}
