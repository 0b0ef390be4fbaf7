import Foundation
import Glibc
import Logging
import NIOCore
import RouteBackend
import RouteModel
import RouterAPI
import RouterCore
import RouterTestKit
import Synchronization
import Testing

@testable import RouterDaemon

@Suite("Events for many readers")
struct ServiceEventTests {
    private func hub(_ change: (inout ServiceLimits) -> Void = { _ in }, clock: ManualClock = ManualClock()) -> EventHub
    {
        var limits = ServiceLimits()
        change(&limits)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return EventHub(limits: limits, base: 100, logger: logger, now: { clock.now() })
    }

    private let start = RouterEvent.Body.snapshot(routes: RouteList(routes: [], discovery: []), sessions: [])
    private func notice(_ text: String, route: String? = nil) -> RouterEvent.Body {
        .notice(Notice(.info, text, route: route.map(RouteID.init(rawValue:))))
    }

    /// The events that a reader takes now, as `id name`.
    private func taken(_ hub: EventHub, _ subscription: EventHub.Subscription) async throws -> [String] {
        var decoder = ServerSentEventDecoder()
        var events: [ServerSentEvent] = []
        while let batch = await hub.next(subscription.id) { events += try decoder.push(batch.readableBytesView) }
        return events.map { "\($0.id ?? "-") \($0.name)" }
    }

    @Test("a reader gets the state, then what happens; one that comes back goes on where it was")
    func resume() async throws {
        let hub = hub()
        let early = try #require(await hub.subscribe(after: nil))
        #expect(try await taken(hub, early).isEmpty, "nothing is known yet")
        await hub.take(start)
        #expect(try await taken(hub, early) == ["101 snapshot"])
        await hub.take(notice("a"))
        await hub.take(notice("b"))
        #expect(try await taken(hub, early) == ["102 notice", "103 notice"])
        for (last, wanted) in [
            (101, ["102 notice", "103 notice"]), (103, []), (50, ["103 snapshot"]), (104, ["103 snapshot"]),
            (-5, ["103 snapshot"]), (Int.max, ["103 snapshot"]),
        ] {
            let reader = try #require(await hub.subscribe(after: last))
            #expect(try await taken(hub, reader) == wanted, "after \(last)")
        }
    }

    @Test("one that has fallen behind what is kept gets the state anew")
    func gap() async throws {
        let hub = hub { $0.keptEvents = 10 }
        await hub.take(start)
        let slow = try #require(await hub.subscribe(after: nil))
        #expect(try await taken(hub, slow) == ["101 snapshot"])
        for number in 0..<10 { await hub.take(notice("\(number)")) }
        #expect(try await taken(hub, slow).count == 10)
        for number in 0..<25 { await hub.take(notice("\(number)")) }
        #expect(try await taken(hub, slow) == ["136 snapshot"])
        await hub.take(notice("x"))
        #expect(try await taken(hub, slow) == ["137 notice"])
        let large = self.hub { $0.keptEventBytes = 1000 }
        await large.take(start)
        let reader = try #require(await large.subscribe(after: nil))
        _ = try await taken(large, reader)
        for _ in 0..<5 { await large.take(notice(String(repeating: "x", count: 900))) }
        #expect(try await taken(large, reader) == ["106 snapshot"])
    }

    @Test("topics and routes choose")
    func filters() async throws {
        let hub = hub()
        await hub.take(start)
        let scenes = try #require(await hub.subscribe(after: 101, topics: [.scenes]))
        let notices = try #require(
            await hub.subscribe(after: 101, topics: [.notices], routes: [RouteID(rawValue: "rt-1")]))
        await hub.take(notice("a", route: "rt-1"))
        await hub.take(notice("b", route: "rt-2"))
        await hub.take(notice("c"))
        await hub.take(.scene(SceneRun(id: "r", name: "n", path: "p", started: 0)))
        #expect(try await taken(hub, scenes) == ["105 scene.step"])
        #expect(try await taken(hub, notices) == ["102 notice", "104 notice"])
    }

    @Test("who follows one device is told that a session leaves it, and gets all of one that comes to it")
    func comingAndGoing() async throws {
        let hub = hub()
        await hub.take(start)
        let kitchen = RouteID(rawValue: "rt-kitchen")
        let reader = try #require(await hub.subscribe(after: 101, routes: [kitchen]))
        func session(_ id: String, on routes: [RouteID]) -> RouterEvent.Body {
            let item = QueueItem(id: ItemID(rawValue: "i"), source: .url("http://h/a"))
            return .session(
                SessionSnapshot(
                    id: SessionID(rawValue: id), connection: .connected, media: .playing, ownership: .ours,
                    members: routes.map { SessionMember(route: $0, name: "n") },
                    queue: QueueSnapshot(version: 1, items: [item], current: item.id), now: 1))
        }
        let den = RouteID(rawValue: "rt-den")
        await hub.take(session("s1", on: [kitchen, den]))
        #expect(try await taken(hub, reader) == ["102 session.changed"])
        await hub.take(session("s1", on: [den]))
        #expect(try await taken(hub, reader) == ["103 session.changed"], "it is told that it is gone")
        await hub.take(session("s2", on: [den]))
        #expect(try await taken(hub, reader).isEmpty)
        await hub.take(session("s2", on: [den, kitchen]))
        #expect(try await taken(hub, reader) == ["105 snapshot"], "it knows nothing of its queue")
        await hub.take(session("s2", on: [kitchen]))
        #expect(try await taken(hub, reader) == ["106 session.changed"])
    }

    @Test("the state that a late reader gets is of when it comes, also where nothing has happened for long")
    func lateReader() async throws {
        let clock = ManualClock()
        let hub = hub(clock: clock)
        await hub.take(start)
        await hub.take(
            .session(
                SessionSnapshot(
                    id: SessionID(rawValue: "s1"), connection: .connected, media: .playing, ownership: .ours,
                    members: [], queue: QueueSnapshot(version: 1, items: [], current: nil), now: clock.now())))
        for _ in 0..<2 {
            clock.advance(seconds: 180)
            let reader = try #require(await hub.subscribe(after: nil))
            var decoder = ServerSentEventDecoder()
            let bytes = try #require(await hub.next(reader.id))
            let event = try #require(try decoder.push(bytes.readableBytesView).first)
            let state = try APIJSON.decode(StateSnapshot.self, from: event.data)
            #expect(state.now == clock.now() && state.sessions.map { $0.now } == [clock.now()])
        }
    }

    @Test("who comes back to one device gets all of a session that was not on it when it left")
    func comingBackToARoute() async throws {
        let hub = hub()
        let (kitchen, den) = (RouteID(rawValue: "rt-kitchen"), RouteID(rawValue: "rt-den"))
        func session(_ id: String, on routes: [RouteID]) -> RouterEvent.Body {
            let item = QueueItem(id: ItemID(rawValue: "i"), source: .url("http://h/a"))
            return .session(
                SessionSnapshot(
                    id: SessionID(rawValue: id), connection: .connected, media: .playing, ownership: .ours,
                    members: routes.map { SessionMember(route: $0, name: "n") },
                    queue: QueueSnapshot(version: 1, items: [item], current: item.id), now: 1))
        }
        await hub.take(start)
        await hub.take(session("s1", on: [den]))
        await hub.take(session("s2", on: [den]))
        await hub.take(session("s3", on: [kitchen]))
        // Here it left. One comes to it before it is back, and one after.
        await hub.take(session("s1", on: [den, kitchen]))
        let early = try #require(await hub.subscribe(after: 104, routes: [kitchen]))
        #expect(try await taken(hub, early) == ["105 snapshot"])
        let late = try #require(await hub.subscribe(after: 105, routes: [kitchen]))
        await hub.take(session("s2", on: [kitchen]))
        #expect(try await taken(hub, late) == ["106 snapshot"])
        // What it was told of before goes on in small steps, and what is new is told whole.
        let told = try #require(await hub.subscribe(after: 106, routes: [kitchen]))
        await hub.take(session("s3", on: [kitchen, den]))
        await hub.take(session("s4", on: [kitchen]))
        #expect(try await taken(hub, told) == ["107 session.changed", "108 session.changed"])
        let again = try #require(await hub.subscribe(after: 107, routes: [kitchen]))
        #expect(try await taken(hub, again) == ["108 session.changed"])
    }

    @Test("C1 a device that appears later is a room for who follows events, and for who comes after")
    func laterRoom() async throws {
        let discovery = InMemoryDiscovery()
        let house = try ServiceHouse(browsing: discovery)
        try await house.live { reached in
            var rooms: [[String]] = []
            for await event in await reached.client.events() {
                guard case .rooms(let list, _) = event.body else { continue }
                rooms.append(list.map(\.name).sorted())
                if rooms.count == 1 {
                    discovery.appear(
                        ServiceRecord(
                            key: .init(type: "_fake-cast._tcp", name: "Bath"), hostName: "h", addresses: ["10.0.0.9"],
                            port: 8009, txt: [:]))
                }
                if rooms.last?.contains("Bath") == true { break }
            }
            #expect(rooms.last == ["Bath", "Den", "Kitchen", "Lounge"])
            let first = try await reached.raw.stream("/api/v1/events") { $0.contains("\n\n") && $0.contains("data:") }
            let data = try #require(first.firstMatch(of: #/data: (.*)\n\n/#)?.output.1)
            let state = try APIJSON.decode(StateSnapshot.self, from: data.utf8)
            #expect(state.rooms?.rooms.map(\.name).contains("Bath") == true)
        }
    }

    @Test("R6 one client begins a pairing, another learns of it from its events and finishes it; no event has the code")
    func pairing() async throws {
        let house = try ServiceHouse()
        house.airplay.asksForCode(
            house.airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), FakePairing(code: "73519"))
        try await house.live { reached in
            let (first, second) = (RouterClient(house.socket), RouterClient(house.socket))
            let begun = try await first.startPairing("Kitchen")
            // Who comes later finds it in its snapshot, and follows it to its end.
            var seen: [PairingProgress] = []
            for await event in await second.events() {
                guard case .pairing(let progress) = event.body else { continue }
                seen.append(progress)
                if seen.count == 1 {
                    await #expect(throws: RouterError.self) {
                        _ = try await second.finishPairing(progress.id, code: "73510")
                    }
                }
                if seen.count == 2 { _ = try await second.finishPairing(progress.id, code: "73519") }
                if progress.state != .waiting { break }
            }
            #expect(seen.map(\.state) == [.waiting, .waiting, .done])
            #expect(Set(seen.map(\.id)) == [begun.id])
            let cancelled = try await first.startPairing("Kitchen")
            let id = try await reached.client.status().sequence
            try await second.cancelPairing(cancelled.id)
            let text = try await reached.raw.stream("/api/v1/events?topics=pairings", ["Last-Event-ID": "\(id)"]) {
                $0.contains("\"failed\"")
            }
            #expect(
                text.contains("event: pairing.prompt") && text.contains("called off") && text.contains(cancelled.id))
            #expect(!text.contains("7351"))
            let state = try await reached.raw.stream("/api/v1/events") { $0.contains("\n\n") && $0.contains("data:") }
            #expect(state.contains("\"pairings\":[]") && !state.contains("7351"))
        }
    }

    @Test("what is logged is told to those who ask for it, and to nobody else")
    func logged() async throws {
        let hub = hub()
        await hub.take(start)
        let all = try #require(await hub.subscribe(after: 101))
        let (lines, writer) = AsyncStream.makeStream(of: LogLine.self)
        writer.yield(LogLine(time: 1, level: "info", component: "X", text: "before"))
        writer.finish()
        await hub.follow(lines)
        #expect(await hub.lastSequence == 101, "nobody asks")
        let logs = try #require(await hub.subscribe(after: 101, topics: [.logs]))
        let ring = LogRing()
        ring.write(
            LogEntry(
                level: .info, component: "CastV2.X", function: "f()", location: "X.swift:1", message: "said\nso",
                metadata: ["a": "b"]))
        let following = Task { await hub.follow(ring.news) }
        #expect(await eventually { await hub.lastSequence == 102 })
        following.cancel()
        #expect(try await taken(hub, logs) == ["102 log"])
        #expect(try await taken(hub, all).isEmpty)
        #expect(ring.last(1, glob: nil, level: nil).first?.text == "said so a=b")
    }

    @Test("a sign of life for who is quiet; an end for who takes nothing")
    func signs() async throws {
        let clock = ManualClock()
        let hub = hub(clock: clock)
        await hub.take(start)
        let closed = Mutex(0)
        let dead = try #require(await hub.subscribe(after: nil, close: { closed.withLock { $0 += 1 } }))
        let alive = try #require(await hub.subscribe(after: nil))
        _ = try await taken(hub, alive)
        for _ in 0..<3 {
            clock.advance(seconds: 15)
            await hub.beat()
            #expect(await hub.next(alive.id).map { String(buffer: $0) } == ":\n\n")
            #expect(await hub.next(alive.id) == nil)
        }
        clock.advance(seconds: 15)
        await hub.beat()
        #expect(closed.withLock { $0 } == 1)
        #expect(await hub.next(dead.id) == nil)
        #expect(await hub.readerCount == 1)
    }

    @Test("there is an end to readers, and to their streams")
    func limits() async throws {
        let hub = hub { $0.eventReaders = 2 }
        let first = try #require(await hub.subscribe(after: nil))
        #expect(await hub.subscribe(after: nil) != nil)
        #expect(await hub.subscribe(after: nil) == nil)
        await hub.unsubscribe(first.id)
        let last = try #require(await hub.subscribe(after: nil))
        await hub.take(start)
        await hub.finish()
        var wakes = 0
        for await _ in last.wakes { wakes += 1 }
        #expect(wakes <= 1)
        #expect(try await taken(hub, last) == ["101 snapshot"], "what was not had yet is had at the end")
    }

    @Test("over HTTP: the state, what was missed, and a hint for who asks wrongly")
    func overHTTP() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            _ = try await reached.client.play(PlayRequest(what: ["/one"], rooms: ["Den"]))
            let first = try await reached.raw.stream("/api/v1/events") { $0.contains("\n\n") && $0.contains("data:") }
            #expect(
                first.hasPrefix("HTTP/1.1 200 OK") && first.lowercased().contains("content-type: text/event-stream"))
            #expect(first.contains("event: snapshot"))
            let id = try #require(first.firstMatch(of: #/id: (\d+)/#)?.output.1)
            _ = try await reached.client.perform(.pause, session: nil, origin: .api)
            let rest = try await reached.raw.stream("/api/v1/events", ["Last-Event-ID": String(id)]) {
                $0.contains("event: command.result") && $0.hasSuffix("\n\n\r\n")
            }
            #expect(!rest.contains("event: snapshot") && rest.contains("event: session.changed"))
            let chosen = try await reached.raw.stream(
                "/api/v1/events?topics=commands,notices", ["Last-Event-ID": String(id)]
            ) {
                $0.contains("event: command.result")
            }
            #expect(!chosen.contains("session.changed"))
        }
    }

    @Test("a reader that never reads holds nobody up")
    func neverReads() async throws {
        let house = try ServiceHouse()
        try await house.live { reached in
            let raw = reached.raw
            let deaf = try await raw.onThread {
                let socket = try raw.connected(receiveBuffer: 2048)
                let request = Array("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
                _ = Glibc.send(socket, request, request.count, Int32(MSG_NOSIGNAL))
                return socket
            }
            defer { close(deaf) }
            #expect(await eventually { (try? await reached.client.status().eventReaders) == 1 })
            _ = try await reached.client.play(
                PlayRequest(what: (0..<300).map { "http://h/\($0)" }, rooms: ["Den"]))
            var events = 0
            for await event in await reached.client.events() {
                if case .snapshot = event.body {
                    for _ in 0..<100 { _ = try await reached.client.perform(.toggle, session: nil, origin: .api) }
                }
                if case .command = event.body { events += 1 }
                if events == 100 { break }
            }
            #expect(events == 100)
        }
    }

    /// A thousand in the long form.
    private static let crowd = ProcessInfo.processInfo.environment["ROUTER_LONG"] == "1" ? 1000 : 200

    @Test("a thousand readers all get the same event")
    func thousand() async throws {
        let crowd = Self.crowd
        let house = try ServiceHouse()
        try await house.live { reached in
            let raw = reached.raw
            let sockets = try await raw.onThread {
                let request = Array("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
                return try (0..<crowd).map { _ in
                    let socket = try raw.connected()
                    _ = Glibc.send(socket, request, request.count, Int32(MSG_NOSIGNAL))
                    return socket
                }
            }
            defer { for socket in sockets { close(socket) } }
            #expect(await eventually { (try? await reached.client.status().eventReaders) == crowd })
            _ = try await reached.client.play(PlayRequest(what: ["/one"], rooms: ["Den"]))
            let got = try await raw.onThread {
                var got = 0
                var chunk = [UInt8](repeating: 0, count: 1 << 16)
                for socket in sockets {
                    var text = ""
                    while !text.contains("event: session.changed") {
                        let count = recv(socket, &chunk, chunk.count, 0)
                        if count <= 0 { break }
                        text += String(decoding: chunk[..<count], as: UTF8.self)
                    }
                    if text.contains("event: session.changed") { got += 1 }
                }
                return got
            }
            #expect(got == crowd)
            #expect(try await reached.client.rooms(settle: false).count == 3)
        }
    }
}
