import CastV2
import Foundation
import Logging
import RouteBackend
import SimulatedReceivers

/// What castsession_bench.py runs: each verb prints one line of JSON, or several.
@main
enum CastBenchmarks {
    static let usage = """
        usage: CastBenchmarks codec
               CastBenchmarks commands HOST PORT COUNT
               CastBenchmarks serve COUNT
               CastBenchmarks idle PORT…

        """

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch (arguments.first, arguments.count) {
        case ("codec", 1): codec()
        case ("commands", 4):
            guard let port = Int(arguments[2]), let count = Int(arguments[3]) else { return refuse() }
            try await commands(host: arguments[1], port: port, count: count)
        case ("serve", 2):
            guard let count = Int(arguments[1]) else { return refuse() }
            try await serve(count)
        case ("idle", 2...): try await idle(ports: arguments.dropFirst().compactMap(Int.init))
        default: refuse()
        }
    }

    static func refuse() {
        FileHandle.standardError.write(Data(usage.utf8))
        exit(64)
    }

    /// One line, at once.
    static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    /// Seconds of the clock that every process of the machine shares.
    static func now() -> Double { Double(SystemHostClock().now()) / 1e9 }

    static func session(host: String, port: Int) async throws -> CastSession {
        let clock = SystemHostClock()
        let session = try await CastSession.connect(
            CastSession.Configuration(host: host, port: port),
            clock: CastClock(now: { clock.now() }, sleepUntil: { try await clock.sleep(until: $0) }),
            logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }))
        _ = try CastSession.value(of: await session.receiverStatus())
        return session
    }

    /// Prints the instant just before each command of a connected session.
    static func commands(host: String, port: Int, count: Int) async throws {
        let session = try await session(host: host, port: port)
        for index in 0..<count {
            try await Task.sleep(for: .milliseconds(50))
            let began = now()
            let handle = await session.request(.receiver(.setVolume(level: Double(index % 100) / 100)))
            say(#"{"began":\#(began)}"#)
            _ = await handle.result()
        }
        await session.end(stopApp: false)
    }

    /// Microseconds for one message: to bytes, from bytes, and from a message to what is to be done about it.
    static func codec() {
        let status = CastMessage(
            sourceID: "receiver-0", destinationID: "me", namespace: CastNamespace.media,
            payload: .text(
                #"{"type":"MEDIA_STATUS","requestId":0,"status":[{"mediaSessionId":1,"playbackRate":1,"playerState":"#
                    + #""PLAYING","currentTime":12.5,"supportedMediaCommands":274447,"volume":{"level":1,"muted":false},"#
                    + #""media":{"contentId":"http://192.0.2.1:8000/a/b.flac","contentType":"audio/flac","duration":180.5,"#
                    + #""streamType":"BUFFERED","metadata":{"metadataType":3,"title":"T","artist":"A","albumName":"B","#
                    + #""images":[{"url":"http://192.0.2.1:8000/i.jpg","width":600,"height":600}]}},"currentItemId":1}]}"#
            ))
        guard let frame = try? CastFraming.encode(status) else { return }
        func measure(_ work: () -> Void) -> Double {
            let count = 5_000
            for _ in 0..<200 { work() }
            let began = now()
            for _ in 0..<count { work() }
            return (now() - began) / Double(count) * 1e6
        }
        let encode = measure { _ = try? CastFraming.encode(status) }
        var decoder = CastFrameDecoder()
        let decode = measure {
            decoder.append(frame)
            _ = try? decoder.next()
        }
        var machine = CastChannelStateMachine(
            sourceID: "me", sender: CastSender(userAgent: "bench"), now: SystemHostClock().now())
        _ = machine.opened(now: SystemHostClock().now())
        let dispatch = measure { _ = machine.received(status, now: SystemHostClock().now()) }
        say(
            #"{"bytes":\#(frame.count),"encode":\#(encode),"decode":\#(decode),"dispatch":\#(dispatch)}"#)
    }

    /// That many simulated receivers, until standard input ends. Prints their ports.
    static func serve(_ count: Int) async throws {
        var receivers: [SimulatedCastReceiver] = []
        var ports: [Int] = []
        for index in 0..<count {
            let receiver = try SimulatedCastReceiver(
                SimulatedCastConfiguration(name: "bench \(index)", port: 0, httpPort: nil))
            ports.append(try await receiver.start().port)
            receivers.append(receiver)
        }
        say(#"{"ports":\#(ports)}"#)
        await withCheckedContinuation { continuation in
            // A thread of its own: the ones that the receivers run on must not wait.
            Thread.detachNewThread {
                _ = FileHandle.standardInput.readDataToEndOfFile()
                continuation.resume()
            }
        }
        for receiver in receivers { await receiver.stop() }
    }

    /// Connects to all of them, and prints what that takes: one session first, whose cost is that of the libraries.
    static func idle(ports: [Int]) async throws {
        var sessions: [CastSession] = []
        func figures() -> String {
            #""connected":\#(sessions.count),"kilobytes":\#(statusValue("VmRSS")),"threads":\#(statusValue("Threads"))"#
        }
        for port in ports {
            sessions.append(try await session(host: "127.0.0.1", port: port))
            if sessions.count == 1 { say("{\(figures())}") }
        }
        // A heartbeat of each is over by then.
        try await Task.sleep(for: .seconds(12))
        say("{\(figures())}")
        for session in sessions { await session.end(stopApp: false) }
    }

    static func statusValue(_ field: String) -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(field + ":") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
}
