import Foundation
import Glibc
import RouteModel
import RouterAPI
import RouterTestKit
import Synchronization
import Testing

/// Answers each connection with the next of its texts, whatever is asked, and closes it.
private final class ScriptedServer: Sendable {
    let port: Int
    private let listener: Int32
    private let requests = Mutex<[String]>([])

    init(_ answers: [[UInt8]]) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let done = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard listener >= 0, done else { throw CocoaError(.fileReadUnknown) }
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [self] in
            for answer in answers {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                var chunk = [UInt8](repeating: 0, count: 1 << 16)
                let count = recv(connection, &chunk, chunk.count, 0)
                let text = String(decoding: chunk[..<max(0, count)], as: UTF8.self)
                requests.withLock { $0.append(text) }
                _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
                // What was sent is to arrive even where the request was not read to its end.
                shutdown(connection, Int32(SHUT_WR))
                while recv(connection, &chunk, chunk.count, 0) > 0 {}
                close(connection)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    var asked: [String] { requests.withLock { $0 } }
    var client: RouterClient { RouterClient(.http(host: "127.0.0.1", port: port)) }
}

@Suite("The client of a daemon that is none, or not well")
struct ClientTests {
    private static let broken: [(name: String, answer: String, code: RouterError.Code)] = [
        ("nothing", "", .daemonUnavailable), ("no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", .daemonUnavailable),
        ("half a head", "HTTP/1.1 200 OK\r\nContent-", .daemonUnavailable),
        ("half a body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[]", .daemonUnavailable),
        ("half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n[", .daemonUnavailable),
        ("a chunk without end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", .daemonUnavailable),
        ("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n[]", .daemonUnavailable),
        ("another program", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", .protocolViolation),
        ("JSON of something else", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}", .protocolViolation),
        ("an error that is not ours", "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno", .protocolViolation),
        (
            "a redirection", "HTTP/1.1 302 Found\r\nLocation: http://evil\r\nContent-Length: 0\r\n\r\n",
            .protocolViolation
        ),
    ]

    @Test("each gives an error with what to do, and none hangs", arguments: broken.indices)
    func badAnswers(_ index: Int) async throws {
        let (name, answer, code) = Self.broken[index]
        let server = try ScriptedServer([Array(answer.utf8)])
        let client = server.client
        let error = await #expect(throws: RouterError.self, "\(name)") { _ = try await client.rooms(settle: false) }
        #expect(error?.code == code, "\(name)")
        #expect(error?.hint != nil, "\(name)")
    }

    @Test("a head without end is given up")
    func endlessHead() async throws {
        let head =
            "HTTP/1.1 200 OK\r\n" + String(repeating: "X-Y: \(String(repeating: "z", count: 1000))\r\n", count: 2000)
        let server = try ScriptedServer([Array(head.utf8)])
        let client = server.client
        let error = await #expect(throws: RouterError.self) { _ = try await client.rooms(settle: false) }
        #expect(error?.code == .daemonUnavailable)
    }

    @Test("names go into paths and queries so that they come out as they were")
    func encoding() async throws {
        let empty = Array("HTTP/1.1 204 No Content\r\n\r\n".utf8)
        let server = try ScriptedServer([empty, empty, empty])
        let client = server.client
        try await client.removeRoom("AC/DC? 100 % é ..")
        try await client.end(session: SessionID(rawValue: "se-1"), reason: .replaced)
        _ = try? await client.leave(session: nil, rooms: ["a&b", "c d"])
        #expect(await eventually { server.asked.count == 3 })
        let lines = server.asked.map { $0.prefix { $0 != "\r\n" } }
        #expect(lines[0] == "DELETE /api/v1/rooms/AC%2FDC%3F%20100%20%25%20%C3%A9%20%2E%2E HTTP/1.1")
        #expect(lines[1] == "DELETE /api/v1/sessions/se-1?reason=stop HTTP/1.1")
        #expect(lines[2] == "DELETE /api/v1/sessions/current/members?room=a%26b&room=c%20d HTTP/1.1")
    }

    private static let streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

    private func frames(_ events: [APIEvent], from first: Int) throws -> String {
        try events.enumerated().map { String(decoding: try $1.frame(sequence: first + $0), as: UTF8.self) }.joined()
    }

    @Test("an event that fits to nothing makes it ask for the whole state anew")
    func lostTrack() async throws {
        let snapshot = APIEvent.snapshot(StateSnapshot(routes: RouteList(routes: [], discovery: []), sessions: []))
        let stray = APIEvent.positionAnchor(AnchorChange(session: SessionID(rawValue: "se-9"), anchor: nil, now: 0))
        let notice = APIEvent.notice(Notice(.info, "at last"))
        let server = try ScriptedServer([
            Array((Self.streamHead + (try frames([snapshot], from: 5))).utf8),
            Array((Self.streamHead + (try frames([stray], from: 6))).utf8),
            Array((Self.streamHead + (try frames([snapshot, notice], from: 7))).utf8),
        ])
        var names: [String] = []
        for await event in await server.client.events() {
            switch event.body {
            case .snapshot: names.append("snapshot \(event.sequence)")
            case .notice(let notice): names.append(notice.message)
            default: names.append("other")
            }
            if names.last == "at last" { break }
        }
        #expect(names.filter { $0.hasPrefix("snapshot") } == ["snapshot 5", "snapshot 7"])
        #expect(server.asked.count == 3)
        #expect(!server.asked[0].lowercased().contains("last-event-id"))
        #expect(server.asked[1].lowercased().contains("last-event-id: 5"))
        #expect(!server.asked[2].lowercased().contains("last-event-id"))
    }

    @Test("events that cannot be read are told and end the stream; those of a later version are passed over")
    func unreadable() async throws {
        let snapshot = APIEvent.snapshot(StateSnapshot(routes: RouteList(routes: [], discovery: []), sessions: []))
        let text =
            Self.streamHead + (try frames([snapshot], from: 1)) + "event: of.tomorrow\ndata: ?\n\n"
            + "event: notice\ndata: {\"no\": 1}\n\n"
        let server = try ScriptedServer([Array(text.utf8)])
        var bodies: [RouterEvent.Body] = []
        for await event in await server.client.events() { bodies.append(event.body) }
        #expect(bodies.count == 2)
        guard case .notice(let notice)? = bodies.last else {
            Issue.record("no notice")
            return
        }
        #expect(notice.severity == .error && notice.hint != nil)
    }

    @Test("a reader that goes closes its connection")
    func cancellation() async throws {
        let server = try ScriptedServer([Array((Self.streamHead + ":\n\n").utf8)])
        let client = server.client
        let reader = Task { for await _ in await client.events() {} }
        #expect(await eventually { server.asked.count == 1 })
        reader.cancel()
        await reader.value
    }
}
