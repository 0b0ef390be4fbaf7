import Foundation
import Glibc
import RouteModel
import RouterAPI
import RouterTestKit
import Testing

@testable import RouterDaemon

@Suite("What clients must not do")
struct ServiceAbuseTests {
    @Test("pages of other sites are refused: by their name, their origin, and the types of their forms")
    func otherSites() async throws {
        let house = try ServiceHouse { options, _ in options.hostNames = ["Den.local"] }
        try await house.live { reached in
            let raw = reached.raw
            let port = reached.port
            for host in [
                "127.0.0.1:\(port)", "localhost:\(port)", "[::1]:\(port)", "192.168.1.9", "den.local:1", "LOCALHOST.",
            ] {
                let status = try await raw.send("GET", "/api/v1/rooms", ["Host": host]).status
                #expect(status == 200, "\(host)")
            }
            for host in [
                "evil.example", "evil.example:\(port)", "127.0.0.1.evil.example", "localhost.evil.example", "1.2.3.4.5",
                "1.2.3.400",
            ] {
                let answer = try await raw.send("GET", "/api/v1/rooms", ["Host": host])
                #expect(answer.status == 403 && answer.body.contains("\"hint\""), "\(host)")
            }
            for fields in [
                ["Origin": "http://evil.example"], ["Origin": "null"], ["Origin": "https://127.0.0.1:\(port)"],
                ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
            ] {
                let answer = try await raw.send("POST", "/api/v1/sessions", fields, body: #"{"what": ["http://h/x"]}"#)
                #expect(answer.status == 403, "\(fields)")
                #expect(answer.fields["access-control-allow-origin"] == nil)
            }
            #expect(try await raw.send("GET", "/api/v1/rooms", ["Origin": "http://127.0.0.1:\(port)"]).status == 200)
            for type in [
                "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp", "",
            ] {
                let answer = try await raw.send(
                    "POST", "/api/v1/sessions", ["Content-Type": type], body: #"{"what": ["http://h/x"]}"#)
                #expect(answer.status == 415, "\(type)")
            }
            let preflight = try await raw.send("OPTIONS", "/api/v1/sessions", ["Origin": "http://127.0.0.1:\(port)"])
            #expect(preflight.status == 405 && preflight.fields["allow"] != nil)
        }
    }

    @Test("with a token nothing is told to who does not show it")
    func token() async throws {
        let house = try ServiceHouse { options, _ in options.token = APIToken("open sesame") }
        try await house.live { reached in
            let raw = reached.raw
            for path in ["/api/v1/rooms", "/metrics", "/api/v1/events", "/api/v1/openapi.json"] {
                for value in ["", "Bearer", "Bearer no", "Basic open", "Bearer open"] {
                    let answer = try await raw.send("GET", path, value.isEmpty ? [:] : ["Authorization": value])
                    #expect(answer.status == 401 && answer.fields["www-authenticate"] == "Bearer", "\(path) \(value)")
                }
            }
            let place = RouterPlace.http(host: "127.0.0.1", port: reached.port)
            let error = await #expect(throws: RouterError.self) {
                _ = try await RouterClient(place).rooms(settle: false)
            }
            #expect(error?.code == .unauthorized)
            #expect(try await reached.client.rooms(settle: false).count == 3, "the socket's owner needs none")
        }
        let other = try ServiceHouse { options, _ in options.token = APIToken("sesame") }
        try await other.live { reached in
            let client = RouterClient(.http(host: "127.0.0.1", port: reached.port), token: APIToken("sesame"))
            let rooms = try await client.rooms(settle: false)
            #expect(rooms.count == 3)
        }
    }

    @Test("a body of 100 MiB is refused before it is read, said in advance or not")
    func largeBodies() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            let raw = reached.raw
            let announced = try await raw.send(
                "POST", "/api/v1/sessions", ["Content-Length": "104857600"], body: "{")
            #expect(announced.status == 413 && announced.body.contains("requestTooLarge"))
            let head =
                "POST /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n"
            let chunk = "100000\r\n" + String(repeating: "x", count: 0x100000) + "\r\n"
            let answer = try RawClient.parsed(
                try await raw.exchange(Array((head + String(repeating: chunk, count: 100)).utf8)))
            #expect(answer.status == 413)
            let lies = try await raw.send("GET", "/api/v1/rooms", ["Content-Length": "5"], body: "{}   ")
            #expect(lies.status == 400)
            #expect(try await reached.client.rooms(settle: false).count == 3)
        }
    }

    @Test("heads that are too large or no heads at all end their connection, and nothing else")
    func heads() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            let raw = reached.raw
            for text in [
                "GET /api/v1/rooms HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 100_000))\r\n\r\n",
                "GET /api/v1/rooms HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: 1000) + "\r\n",
                "GET /\(String(repeating: "x", count: 100_000)) HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "nonsense\r\n\r\n", "GET /api/v1/rooms HTTP/9.9\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
                "POST /api/v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
                "POST /api/v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            ] {
                let bytes = try await raw.exchange(Array(text.utf8))
                let answer = try? RawClient.parsed(bytes)
                #expect(answer.map { (400..<500).contains($0.status) } ?? bytes.isEmpty, "\(text.prefix(40))")
                #expect(answer.map { $0.body.contains("requestInvalid") } ?? true, "\(text.prefix(40))")
            }
            let answer = try await raw.send("GET", "/api/v1/rooms")
            #expect(answer.status == 200)
        }
    }

    @Test(
        "what is no request of ours is told as the client's mistake",
        arguments: [
            ("GET", "/api/v1/rooms?settle=maybe", nil, 400), ("GET", "/api/v1/rooms?setle=true", nil, 400),
            ("GET", "/api/v1/rooms?settle=true&settle=true", nil, 400), ("GET", "/api/v1/history?limit=0", nil, 400),
            ("GET", "/api/v1/history?limit=x", nil, 400), ("GET", "/api/v1/rooms?%zz", nil, 400),
            ("GET", "/api/v1/room", nil, 404), ("GET", "/", nil, 404), ("GET", "/../etc/passwd", nil, 404),
            ("GET", "/api/v1/%2e%2e/%2e%2e/etc/passwd", nil, 404), ("PATCH", "/api/v1/rooms", nil, 405),
            ("TRACE", "/api/v1/rooms", nil, 405), ("GET", "/api/v1/events?topics=all", nil, 400),
            ("POST", "/api/v1/sessions", "", 400), ("POST", "/api/v1/sessions", "{", 400),
            ("POST", "/api/v1/sessions", "[]", 400), ("POST", "/api/v1/sessions", "{}", 400),
            ("POST", "/api/v1/sessions", #"{"what": ["http://h"], "volum": 1}"#, 400),
            ("POST", "/api/v1/sessions", #"{"what": ["http://h"], "what": ["http://h"]}"#, 400),
            ("POST", "/api/v1/sessions", #"{"what": ["http://h"], "volume": "1"}"#, 400),
            ("POST", "/api/v1/sessions/current/commands", #"{"command": {"type": "explode"}}"#, 400),
            ("POST", "/api/v1/sessions/current/commands", #"{"command": {"type": "pause"}, "within": 0}"#, 400),
            ("POST", "/api/v1/sessions/current/commands", #"{"command": {"type": "pause"}, "within": 601}"#, 400),
            ("POST", "/api/v1/sessions/current/commands", #"{"command": {"type": "pause"}, "within": "2"}"#, 400),
            ("POST", "/api/v1/sessions/current/commands", #"{"command": {"type": "pause"}, "expected": ""}"#, 400),
            ("POST", "/api/v1/sessions/current/commands", #"{"command": {"type": "pause"}, "expected": 7}"#, 400),
            ("POST", "/api/v1/sessions/current/commands", #"{"command": {"type": "play"}}"#, 404),
            ("DELETE", "/api/v1/sessions/current/members", nil, 400),
        ] as [(String, String, String?, Int)])
    func mistakes(_ method: String, _ path: String, _ body: String?, _ status: Int) async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            let answer = try await reached.raw.send(method, path, body: body)
            #expect(answer.status == status, "\(answer.body)")
            #expect(answer.fields["content-type"] == "application/problem+json")
            let problem = try APIJSON.decode(Problem.self, from: answer.body.utf8)
            #expect(!problem.detail.isEmpty && problem.status == status)
        }
    }

    /// Lets who is not the owner ask three times.
    private static func slowHouse() throws -> ServiceHouse {
        try ServiceHouse { options, _ in
            options.limits.requestsPerSecond = 0.01
            options.limits.burst = 3
        }
    }

    /// One connection more is closed without an answer.
    private func closesOthers(_ raw: RawClient) async {
        let request = Array("GET /api/v1/rooms HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        var answer = ""
        let isRefused = await eventually {
            answer = (try? await raw.exchange(request)).map { String(decoding: $0, as: UTF8.self) } ?? "none"
            return answer.isEmpty
        }
        #expect(isRefused, "answered: \(answer)")
    }

    @Test("what another site's page asks again and again is not on the account of who asks from the same address")
    func refusedRates() async throws {
        let house = try Self.slowHouse()
        try await house.live { reached in
            var statuses: [Int] = []
            for _ in 0..<5 {
                statuses.append(
                    try await reached.raw.send("GET", "/api/v1/rooms", ["Sec-Fetch-Site": "cross-site"]).status)
            }
            #expect(statuses == [403, 403, 403, 429, 429])
            #expect(try await reached.raw.send("GET", "/api/v1/rooms").status == 200)
        }
    }

    @Test("no length and no place is beyond what a daemon can count with")
    func endless() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            let session = try await reached.client.play(PlayRequest(what: ["/one"], rooms: ["Den"]))
            let item = try #require(session.queue.current)
            let metadata = #"{"kind": "music", "images": [], "duration": 1e10}"#
            for (path, body) in [
                ("commands", #"{"command": {"type": "seekBy", "by": -1e300}}"#),
                ("commands", #"{"command": {"type": "seek", "to": 1e10}}"#),
                ("queue/edits", #"{"edit": {"type": "settings", "items": ["\#(item)"], "settings": {"end": 1e10}}}"#),
                (
                    "queue/edits",
                    #"{"edit": {"type": "describe", "items": [{"item": "\#(item)", "metadata": \#(metadata)}]}}"#
                ),
            ] {
                let answer = try await reached.raw.send("POST", "/api/v1/sessions/current/\(path)", body: body)
                #expect((400..<500).contains(answer.status), "\(body): \(answer)")
            }
            #expect(await reached.client.sessions().count == 1)
        }
    }

    @Test("who asks too often is told when to come again")
    func rates() async throws {
        let house = try Self.slowHouse()
        try await house.live { reached in
            var statuses: [Int] = []
            for _ in 0..<5 { statuses.append(try await reached.raw.send("GET", "/api/v1/rooms").status) }
            #expect(statuses == [200, 200, 200, 429, 429])
            let answer = try await reached.raw.send("GET", "/api/v1/rooms")
            #expect(answer.fields["retry-after"].flatMap { Int($0) } ?? 0 > 0)
            #expect(try await reached.client.rooms(settle: false).count == 3, "others are not held up")
        }
    }

    @Test("connections beyond the limit are closed at once, and there is room again when others go")
    func connections() async throws {
        let house = try ServiceHouse { options, _ in options.limits.connections = 3 }
        try await house.live { reached in
            let raw = reached.raw
            var idle: [Int32] = []
            for _ in 0..<3 { idle.append(try await raw.held()) }
            await closesOthers(raw)
            for socket in idle { close(socket) }
            #expect(await eventually { (try? await raw.send("GET", "/api/v1/rooms").status) == 200 })
        }
    }

    @Test("R4 scenes and schedules by TCP are for who is trusted; a scene that is wrong is refused with what is wrong")
    func scenes() async throws {
        var house = try ServiceHouse()
        house.parts = ServiceHouse.scenes
        try await house.live { reached in
            for (method, path, body) in [
                ("POST", "/api/v1/scene-runs", #"{"text": "version: 1"}"#), ("GET", "/api/v1/schedules", nil),
                ("DELETE", "/api/v1/scene-runs/x", nil), ("DELETE", "/api/v1/schedules/x", nil),
            ] as [(String, String, String?)] {
                let answer = try await reached.raw.send(method, path, body: body)
                #expect(answer.status == 403, "\(method) \(path): \(answer.body)")
            }
            let error = await #expect(throws: RouterError.self) {
                try await reached.client.startScene(
                    SceneRequest(text: "version: 1\nname: X\nsteps:\n  - plai: {}\n", path: "x.yaml"))
            }
            #expect(
                error?.code == .sceneInvalid && error?.message.contains("x.yaml has 1 error") == true,
                "\(String(describing: error))")
        }
    }

    @Test("who holds all connections by TCP keeps neither the owner out nor others")
    func hoarder() async throws {
        let house = try ServiceHouse { options, _ in
            options.limits.connections = 3
            options.limits.connectionsOfOne = 2
        }
        try await house.live { reached in
            let raw = reached.raw
            var idle: [Int32] = []
            for _ in 0..<2 { idle.append(try await raw.held()) }
            await closesOthers(raw)
            #expect(try await reached.client.rooms(settle: false).count == 3, "the owner comes by the socket")
            for socket in idle { close(socket) }
            #expect(await eventually { (try? await raw.send("GET", "/api/v1/rooms").status) == 200 })
        }
    }

    @Test("a body that does not come is not waited for, nor is a request")
    func slow() async throws {
        let house = try ServiceHouse { options, _ in
            options.limits.bodySeconds = 1
            options.limits.idleSeconds = 1
        }
        try await house.live { reached in
            let head =
                "POST /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: 100\r\n\r\n{"
            for text in [head, "GET /api/v1/rooms HTTP/1.1\r\nHo", ""] {
                // It returns, and not by the client's own limit.
                let bytes = try await reached.raw.exchange(Array(text.utf8))
                #expect(
                    bytes.isEmpty || String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 408"),
                    "\(text.prefix(9))")
            }
            #expect(try await reached.client.status().pid == Int(getpid()))
        }
    }

    @Test("files by TCP: those of the roots, by no link and no dots out of them")
    func paths() async throws {
        let house = try ServiceHouse { options, folder in
            let music = folder.appendingPathComponent("music/album")
            try FileManager.default.createDirectory(at: music, withIntermediateDirectories: true)
            try Data().write(to: music.appendingPathComponent("a.flac"))
            try Data().write(to: folder.appendingPathComponent("secret.flac"))
            let links = folder.appendingPathComponent("music/links")
            try FileManager.default.createDirectory(at: links, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                at: links.appendingPathComponent("out.flac"),
                withDestinationURL: folder.appendingPathComponent("secret.flac"))
            try FileManager.default.createSymbolicLink(
                at: folder.appendingPathComponent("music/in"), withDestinationURL: music)
            options.roots = [folder.appendingPathComponent("music").path]
        }
        let root = house.folder.appendingPathComponent("music").path
        house.media.add(root + "/album/a.flac", seconds: 5)
        house.media.add(house.folder.path + "/secret.flac", seconds: 5)
        try await house.live { reached in
            func status(_ what: String) async throws -> Int {
                let body = String(
                    decoding: try JSONEncoder().encode(PlayBodyText(what: [what], rooms: ["Den"])), as: UTF8.self)
                return try await reached.raw.send("POST", "/api/v1/explanations", body: body).status
            }
            for what in [
                root + "/album/a.flac", "album/a.flac", root + "/in/a.flac", "http://h/a.flac",
                root + "/album/../album/a.flac",
            ] {
                #expect(try await status(what) == 200, "\(what)")
            }
            #expect(try await status(root + "/nothing.flac") == 404)
            for what in [
                "/etc/passwd", house.folder.path + "/secret.flac", root + "/../secret.flac", "../secret.flac",
                root + "/links/out.flac", root + "/links", root + "/%2e%2e/secret.flac", root + "/%2E%2E/x",
                "album%2fa.flac",
                "file://" + root + "/album/a.flac", "file:///etc/passwd", "-", "pulse://router", "pcm:///dev/zero",
                "/no/such/file", root + "x/a.flac", "\u{0}",
            ] {
                #expect(try await status(what) == 403, "\(what)")
            }
            _ = try await reached.client.explain(
                PlayRequest(what: [house.folder.path + "/secret.flac"], rooms: ["Den"]))
            // A list in a root leads nobody out of it.
            for (place, entry) in [
                "/album/a.flac", "/../secret.flac", "/links/out.flac", "/album/../../secret.flac", "/../nothing.flac",
            ].enumerated() {
                let list = root + "/\(place).m3u"
                try Data().write(to: URL(fileURLWithPath: list))
                house.media.add(folder: list, of: [root + entry])
                #expect(try await status(list) == (place == 0 ? 200 : 403), "\(entry)")
                _ = try await reached.client.explain(PlayRequest(what: [list], rooms: ["Den"]))
            }
        }
    }

    private struct PlayBodyText: Encodable {
        var what: [String]
        var rooms: [String]
    }

    @Test("a TCP place beyond loopback needs a token")
    func wide() throws {
        for host in ["0.0.0.0", "::", "10.0.0.1"] {
            var options = ServiceOptions(http: .http(host: host, port: 0), environment: [:])
            options.token = nil
            let error = #expect(throws: RouterError.self) { try RouterService.open(options) }
            #expect(error?.code == .configuration && error?.message.contains("token") == true)
        }
        for host in ["127.0.0.1", "127.1.2.3", "localhost", "::1"] { #expect(RouterService.isLoopback(host)) }
        for host in ["127.0.0.1.evil", "127.evil.0.1", "0.0.0.0", "128.0.0.1"] {
            #expect(!RouterService.isLoopback(host))
        }
    }
}
