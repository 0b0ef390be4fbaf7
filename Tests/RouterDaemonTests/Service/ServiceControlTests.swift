import Foundation
import NIOCore
import RouteModel
import RouterAPI
import RouterCore
import RouterTestKit
import Testing

@testable import RouterDaemon

@Suite("The daemon's client is a router like any other")
struct ServiceControlTests {
    private func play(_ what: [String], in rooms: [String]) -> PlayRequest { PlayRequest(what: what, rooms: rooms) }

    @Test("K1 K2 what one client plays, another one sees, controls and ends")
    func control() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            let client = reached.client
            #expect(try await client.rooms(settle: true).map(\.name).sorted() == ["Den", "Kitchen", "Lounge"])
            let session = try await client.play(play(["/one", "/two"], in: ["Lounge"]))
            #expect(session.media == .playing && session.queue.items.count == 2)
            #expect(await client.sessions().map(\.id) == [session.id])
            let other = RouterClient(.http(host: "127.0.0.1", port: reached.port))
            let paused = try await other.perform(.pause, session: nil, origin: .cli)
            #expect(!paused.outcome.isError)
            #expect(await eventually { await client.sessions().first?.media == .paused })
            let joined = try await client.join(session: session.id, rooms: ["Den"])
            #expect(joined.members.map(\.name).sorted() == ["Den", "Lounge"])
            let left = try await client.leave(session: nil, rooms: ["Lounge"])
            #expect(left.members.map(\.name) == ["Den"])
            let moved = try await client.transfer(session: nil, to: ["Lounge"])
            #expect(moved.to == ["Lounge"])
            try await client.end(session: session.id, reason: .stop)
            #expect(await eventually { await client.sessions().allSatisfy { $0.connection == .ended } })
        }
    }

    @Test("C12 the queue's version is its entity tag, and a change for another one is refused")
    func queue() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            let client = reached.client
            let session = try await client.play(play(["/one"], in: ["Den"]))
            let version = session.queue.version
            let queue = try await client.edit(
                .append(["/two"]), session: nil, ifVersion: version, workingDirectory: "/")
            #expect(queue.items.count == 2 && queue.version > version)
            let error = await #expect(throws: RouterError.self) {
                _ = try await client.edit(.append(["/three"]), session: nil, ifVersion: version, workingDirectory: "/")
            }
            #expect(error?.code == .queueConflict)
            let answer = try await reached.raw.send("GET", "/api/v1/sessions/current/queue")
            #expect(answer.status == 200 && answer.fields["etag"] == "\"\(queue.version)\"")
        }
    }

    @Test("C7 a command goes with the item and the time that it is for")
    func terms() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            let client = reached.client
            let ids = try await client.play(play(["/one", "/two"], in: ["Den"])).queue.items.map(\.id)
            func pause(for item: ItemID) async throws -> CommandOutcome {
                let terms = CommandTerms(expected: item, within: MediaTime(seconds: 20))
                return try await client.perform(.pause, session: nil, origin: .api, terms: terms).outcome
            }
            #expect(try await pause(for: ids[1]) == .superseded)
            #expect(await client.sessions().first?.media == .playing)
            #expect(try await pause(for: ids[0]) == .succeeded)
            #expect(await client.sessions().first?.media == .paused)
        }
    }

    @Test("C21 errors of the engine come back as they were thrown")
    func errors() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            func both(_ body: (any RouterControlling) async throws -> Void) async throws -> (RouterError?, RouterError?)
            {
                func thrown(_ router: any RouterControlling) async -> RouterError? {
                    do { try await body(router) } catch { return RouterError(wrapping: error) }
                    return nil
                }
                return (await thrown(house.engine), await thrown(reached.client))
            }
            for body: (any RouterControlling) async throws -> Void in [
                { _ = try await $0.play(PlayRequest(what: ["/nothing"], rooms: ["Den"])) },
                { _ = try await $0.play(PlayRequest(what: ["/one"], rooms: ["Kitchn"])) },
                { _ = try await $0.play(PlayRequest(what: ["/one"], rooms: [])) },
                { _ = try await $0.perform(.play, session: nil, origin: .cli) },
                { _ = try await $0.perform(.play, session: SessionID(rawValue: "se-0"), origin: .cli) },
                { _ = try await $0.startPairing("Den") },
                { try await $0.end(session: SessionID(rawValue: "se-0"), reason: .stop) },
                { _ = try await $0.rejoin(SessionID(rawValue: "se-0")) },
            ] {
                let (own, client) = try await both(body)
                #expect(own != nil)
                #expect(own == client)
            }
        }
    }

    @Test("where no daemon answers, that is said with what to do")
    func noDaemon() async throws {
        for place in [RouterPlace.socket(path: "/tmp/no-such-\(UUID().uuidString)"), .http(host: "127.0.0.1", port: 1)]
        {
            let client = RouterClient(place)
            let error = await #expect(throws: RouterError.self) { _ = try await client.rooms(settle: false) }
            #expect(error?.code == .daemonUnavailable && error?.hint?.contains("router daemon run") == true)
            #expect(await client.sessions().isEmpty)
            var events = 0
            for await _ in await client.events() { events += 1 }
            #expect(events == 0)
        }
    }

    @Test("what is no daemon is told from one")
    func stranger() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            let (status, body) = try await reached.client.send(method: "get", path: "/api/v1/nothing")
            #expect(status == 404)
            #expect(try APIJSON.decode(Problem.self, from: body).code == .requestNotFound)
            // A write without a body is one all the same.
            #expect(try await reached.client.send(method: "post", path: "/api/v1/rejoinable/ses-no").status == 404)
        }
    }

    @Test("C12 events: the full state first, and then a copy that is at the end what the engine has")
    func events() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            let client = reached.client
            var copies: [SessionID: SessionSnapshot] = [:]
            var last = 0
            var commands = 0
            var begun = false
            for await event in await client.events() {
                #expect(event.sequence >= last)
                last = event.sequence
                switch event.body {
                case .snapshot(_, let sessions):
                    #expect(sessions.isEmpty && !begun)
                    begun = true
                    _ = try await client.play(PlayRequest(what: ["/one", "/two"], rooms: ["Lounge", "Den"]))
                    _ = try await client.edit(.append(["/three"]), session: nil, ifVersion: nil, workingDirectory: "/")
                    _ = try await client.perform(
                        .setVolume(VolumePosition(0.25), room: "Den"), session: nil, origin: .api)
                    _ = try await client.perform(.next, session: nil, origin: .api)
                    _ = try await client.perform(.pause, session: nil, origin: .api)
                case .session(let session): copies[session.id] = session
                case .command: commands += 1
                default: break
                }
                guard commands >= 3, let truth = await house.engine.sessions().first,
                    var copy = copies[truth.id]
                else { continue }
                copy.now = truth.now
                if copy == truth, truth.media == .paused { break }
            }
            #expect(commands >= 3)
            #expect(copies.values.first?.queue.items.count == 3)
        }
    }

    @Test("discovery, status, capabilities, logs and figures")
    func about() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            let client = reached.client
            await client.discover(.active)
            let status = try await client.status()
            #expect(status.pid == Int(getpid()) && status.places.count == 2)
            #expect(try await client.capabilities().operations.contains("play"))
            #expect(try await client.logs(level: "notice").contains { $0.text.contains("listening at") })
            #expect(try await client.logs(component: "Nothing*").isEmpty)
            let figures = try await reached.raw.send("GET", "/metrics")
            #expect(figures.fields["content-type"]?.hasPrefix("text/plain; version=0.0.4") == true)
            for line in figures.body.split(separator: "\n") where !line.hasPrefix("#") {
                let sample = line.prefixMatch(of: #/[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+$/#)
                #expect(sample != nil, "\(line)")
            }
            #expect(figures.body.contains("router_http_requests_total{operation=\"getStatus\",status=\"200\"} 1"))
            let document = try await reached.raw.send("GET", "/api/v1/openapi.json")
            #expect(document.status == 200 && document.body.contains("\"3.1.0\""))
        }
    }

    @Test("“respond-async” answers at once, and the work is told of until it is done")
    func preferences() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            let body = #"{"what": ["http://h/one"], "rooms": ["Den"]}"#
            let answer = try await reached.raw.send(
                "POST", "/api/v1/sessions", ["Prefer": "respond-async"], body: body)
            #expect(answer.status == 202)
            let place = try #require(answer.fields["location"])
            let done = await eventually {
                let work = try? await reached.raw.send("GET", place)
                return work?.body.contains("\"done\"") == true
            }
            #expect(done)
            // It ends with what would have been answered.
            let work = try APIJSON.decode(
                PendingWork.self, from: Array(try await reached.raw.send("GET", place).body.utf8))
            let session = try #require(await reached.client.sessions().first)
            guard case .object(let fields)? = work.result else {
                Issue.record("no result in \(work)")
                return
            }
            #expect(fields["id"] == .string(session.id.rawValue))
            let waited = try await reached.raw.send("POST", "/api/v1/sessions", ["Prefer": "wait=20"], body: body)
            #expect(waited.status == 201)
            let failed = try await reached.raw.send(
                "POST", "/api/v1/sessions", ["Prefer": "wait=20"],
                body: #"{"what": ["http://h"], "rooms": ["Nowhere"]}"#)
            #expect(failed.status == 404)
        }
    }

    @Test("what takes longer than “wait=N” goes on, and its key is in use meanwhile")
    func waiting() async throws {
        let house = try ServiceHouse()
        let hold = house.cast.holdsOpening(of: house.cast.endpoint(named: "Den", host: "10.0.0.3"))
        try await house.live { reached in
            let body = #"{"what": ["http://h/one"], "rooms": ["Den"]}"#
            let fields = ["Prefer": "wait=1", "Idempotency-Key": "k"]
            let late = try await reached.raw.send("POST", "/api/v1/sessions", fields, body: body)
            #expect(late.status == 202, "\(late.body)")
            let again = try await reached.raw.send("POST", "/api/v1/sessions", fields, body: body)
            #expect(again.status == 409 && again.body.contains("under way"), "\(again.body)")
            hold.finish()
            let place = try #require(late.fields["location"])
            #expect(
                await eventually {
                    (try? await reached.raw.send("GET", place))?.body.contains("\"done\"") ?? false
                })
            let answered = try await reached.raw.send("POST", "/api/v1/sessions", fields, body: body)
            #expect(answered.status == 201, "\(answered.body)")
            #expect(await reached.client.sessions().count == 1)
        }
    }

    @Test("a key is remembered for as long as its request is under way, however many others come")
    func keys() async throws {
        let clock = ManualClock()
        let keys = IdempotencyKeys(now: { clock.now() })
        guard case .new = await keys.begin("first", request: 1) else {
            Issue.record("it is new")
            return
        }
        for number in 0..<(2 * IdempotencyKeys.maximumKeys) {
            _ = await keys.begin("k\(number)", request: 2)
            await keys.end("k\(number)", APIAnswer(status: 204))
        }
        guard case .underWay = await keys.begin("first", request: 1) else {
            Issue.record("it was forgotten")
            return
        }
        guard case .new = await keys.begin("k0", request: 2) else {
            Issue.record("the oldest that is over is still there")
            return
        }
    }

    @Test("a request whose answer is too long to be kept is not done again either")
    func longAnswers() async throws {
        let clock = ManualClock()
        let keys = IdempotencyKeys(now: { clock.now() })
        _ = await keys.begin("first", request: 1)
        var long = APIAnswer(status: 200)
        long.body.writeRepeatingByte(UInt8(ascii: "x"), count: IdempotencyKeys.maximumBytes / 4 + 1)
        await keys.end("first", long)
        guard case .answered(let answer) = await keys.begin("first", request: 1) else {
            Issue.record("it would be done twice")
            return
        }
        #expect(answer.status == 409)
    }

    @Test("a request that is sent again with its key is done once")
    func idempotency() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            _ = try await reached.client.play(PlayRequest(what: ["/one"], rooms: ["Den"]))
            let body = #"{"edit": {"type": "append", "what": ["http://h/two"]}}"#
            let path = "/api/v1/sessions/current/queue/edits"
            let first = try await reached.raw.send("POST", path, ["Idempotency-Key": "k1"], body: body)
            let again = try await reached.raw.send("POST", path, ["Idempotency-Key": "k1"], body: body)
            #expect(first.status == 200 && first.body == again.body)
            let other = try await reached.raw.send("POST", path, ["Idempotency-Key": "k2"], body: body)
            #expect(other.status == 200 && other.body != first.body)
            let reused = try await reached.raw.send(
                "POST", path, ["Idempotency-Key": "k1"], body: #"{"edit": {"type": "clearUpcoming"}}"#)
            #expect(reused.status == 422 && reused.body.contains("keyReused"))
            #expect(await reached.client.sessions().first?.queue.items.count == 3)
        }
    }
}
