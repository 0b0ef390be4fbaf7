import Foundation
import RouteModel
import RouterStore
import Testing

@Suite("RouterStore keeps what it is given")
struct RouterStoreRoundTripTests {
    @Test("R1 a route is found by each of its keys, in the order asked")
    func routes() async throws {
        let store = try RouterStore.inMemory()
        let kitchen = RouteID(rawValue: "rt-kitchen")
        let mac = StrongKey(.mac, "AABBCCDDEEFF")
        let cast = StrongKey(.castID, "0123")
        #expect(try await store.route(forAnyOf: [mac, cast]) == nil)
        try await store.remember(route: kitchen, name: "Kitchen", keys: [mac])
        #expect(try await store.route(forAnyOf: [cast, mac]) == kitchen)
        try await store.remember(route: kitchen, name: "Kitchen", keys: [mac, cast])
        #expect(try await store.route(forAnyOf: [cast]) == kitchen)
        // The same text as another kind of key is another key.
        #expect(try await store.route(forAnyOf: [StrongKey(.publicKey, "0123")]) == nil)
        #expect(try await store.route(forAnyOf: []) == nil)
    }

    @Test("R1 a key that turns up on another device moves to it, the others stay")
    func keyMoves() async throws {
        let store = try RouterStore.inMemory()
        let old = RouteID(rawValue: "rt-old")
        let new = RouteID(rawValue: "rt-new")
        let shared = StrongKey(.statedURI, "raop://10.0.0.2:5000")
        let own = StrongKey(.mac, "aabbccddeeff")
        try await store.remember(route: old, name: "Old", keys: [shared, own])
        try await store.remember(route: new, name: "New", keys: [shared])
        #expect(try await store.route(forAnyOf: [shared]) == new)
        #expect(try await store.route(forAnyOf: [own]) == old)
        #expect(try await store.route(forAnyOf: [own, shared]) == old)
        #expect(try await store.route(forAnyOf: [shared, own]) == new)
    }

    @Test("a device that is forgotten leaves neither keys nor volume nor the key that it was known by; others stay")
    func forgetting() async throws {
        let store = try RouterStore.inMemory()
        let old = RouteID(rawValue: "rt-old")
        let new = RouteID(rawValue: "rt-new")
        let keys = [StrongKey(.castID, "01"), StrongKey(.mac, "aabbccddeeff")]
        try await store.remember(route: old, name: "Küche", keys: keys)
        try await store.remember(route: new, name: "New", keys: [StrongKey(.castID, "02")])
        for route in [old, new] { try await store.saveVolume(VolumeState(level: VolumePosition(0.5)), of: route) }
        try await store.saveLastLevel(VolumePosition(0.5), of: old)
        try await store.savePin("aa", of: keys[0].description)
        try await store.savePin("bb", of: "castID:02")
        #expect(try await store.forgetRoute(nil, name: "Cellar") == false)
        #expect(try await store.forgetRoute(nil, name: "KÜCHE"))
        #expect(try await store.route(forAnyOf: keys) == nil)
        #expect(try await store.volume(of: old) == nil)
        #expect(try await store.lastLevel(of: old) == nil)
        #expect(try await store.pin(of: keys[0].description) == nil)
        #expect(try await store.route(forAnyOf: [StrongKey(.castID, "02")]) == new)
        #expect(try await store.volume(of: new) != nil)
        #expect(try await store.pin(of: "castID:02") == "bb")
        #expect(try await store.forgetRoute(new, name: "New"))
        #expect(try await store.forgetRoute(new, name: "New") == false)
    }

    @Test("C10 a queue comes back with its order, version and current item")
    func queue() async throws {
        let store = try RouterStore.inMemory()
        let session = SessionID(rawValue: "se-1")
        #expect(try await store.queue(session: session) == nil)
        var whole = item("01A", path: "/music/ü “quoted”.flac", title: "Ü'); DROP TABLE queue; --")
        whole.start = MediaTime(frames: 1, sampleRate: 48_000)
        whole.metadata.duration = MediaTime(milliseconds: 61_234)
        whole.metadata.images = [MediaImage(url: "http://h/a.jpg", width: 600, height: 600)]
        whole.context = "Album"
        let stream = QueueItem(id: ItemID(rawValue: "01B"), source: .url("http://h/s?token=x"), failure: "gone")
        let first = QueueSnapshot(
            version: 3, items: [whole, stream], current: stream.id, repeatMode: .all, original: [stream.id, whole.id])
        try await store.saveQueue(first, session: session)
        #expect(try await store.queue(session: session) == first)

        // The same items in another order, one less, then none.
        let third = item("01C", path: "/c.mp3")
        for items in [[stream, third, whole], [third, whole], [whole], []] {
            let next = QueueSnapshot(version: 4, items: items, current: items.first?.id)
            try await store.saveQueue(next, session: session)
            #expect(try await store.queue(session: session) == next)
        }
        #expect(try await store.queue(session: SessionID(rawValue: "se-2")) == nil)
    }

    @Test("C4 sessions to rejoin are those that were saved and not removed; their queue stays")
    func sessions() async throws {
        let store = try RouterStore.inMemory()
        var first = record("se-1")
        try await store.saveSession(first)
        try await store.saveSession(record("se-2"))
        try await store.saveQueue(
            QueueSnapshot(version: 1, items: [item("01J", path: "/a")], current: nil), session: first.session)
        first.routes = [RouteID(rawValue: "rt-c")]
        first.rejoin = [:]
        first.item = nil
        first.playing = false
        try await store.saveSession(first)
        #expect(try await store.sessionsToRejoin() == [first, record("se-2")])
        try await store.removeSession(first.session)
        try await store.removeSession(first.session)
        #expect(try await store.sessionsToRejoin() == [record("se-2")])
        #expect(try await store.queue(session: first.session)?.items.count == 1)
    }

    @Test("C4 a session is written with its queue, and goes with its last queue: both or neither")
    func sessionWithQueue() async throws {
        let store = try RouterStore.inMemory()
        var session = record("se-1")
        session.clips = [.random(), .random()]
        session.moving = session.members
        let items = [item("01J", path: "/a"), item("01K", path: "/b")]
        let queue = QueueSnapshot(version: 3, items: items, current: items[0].id)
        try await store.saveSession(session, with: queue)
        #expect(try await store.sessionsToRejoin() == [session])
        #expect(try await store.queue(session: session.session) == queue)
        // One that cannot be written takes its queue with it.
        var bad = session
        bad.rate = .nan
        let next = QueueSnapshot(version: 4, items: items, current: items[1].id)
        await #expect(throws: RouterError.self) { try await store.saveSession(bad, with: next) }
        #expect(try await store.sessionsToRejoin() == [session])
        #expect(try await store.queue(session: session.session) == queue)
        let last = QueueSnapshot(version: 5, items: items, current: nil)
        try await store.saveLastQueue(last, session: session.session)
        #expect(try await store.sessionsToRejoin().isEmpty)
        #expect(try await store.queue(session: session.session) == last)
    }

    @Test("K3 media tokens come back, and go with their items")
    func tokens() async throws {
        let store = try RouterStore.inMemory()
        let records = (0..<4).map { index in
            MediaTokenRecord(
                token: .random(), item: ItemID(rawValue: "01\(index / 2)"), path: "/music/\(index).flac")
        }
        for record in records { try await store.saveMediaToken(record) }
        #expect(Set(try await store.mediaTokens()) == Set(records))
        try await store.removeMediaTokens(items: [ItemID(rawValue: "010"), ItemID(rawValue: "nobody")])
        #expect(Set(try await store.mediaTokens()) == Set(records[2...]))
        var moved = records[2]
        moved.path = "/elsewhere.flac"
        try await store.saveMediaToken(moved)
        #expect(Set(try await store.mediaTokens()) == [moved, records[3]])
    }

    @Test("R3 a failure is kept for each endpoint, the last one counts, and it can be forgotten")
    func failures() async throws {
        let store = try RouterStore.inMemory()
        let endpoint = EndpointID(rawValue: "raop:aabb")
        var failure = EndpointFailure(endpoint: endpoint, firmware: "1.0", code: .routeBusy, message: "in use")
        try await store.rememberFailure(failure)
        failure.firmware = nil
        failure.code = RouterError.Code(rawValue: "ofTomorrow")
        try await store.rememberFailure(failure)
        let other = EndpointFailure(
            endpoint: EndpointID(rawValue: "cast:1"), firmware: nil, code: .timeout, message: "")
        try await store.rememberFailure(other)
        #expect(try await store.endpointFailures() == [other, failure])
        try await store.forgetFailure(of: endpoint)
        #expect(try await store.endpointFailures() == [other])
    }

    @Test("what was learnt of an endpoint is kept for its firmware")
    func learnt() async throws {
        let store = try RouterStore.inMemory()
        let endpoint = EndpointID(rawValue: "raop:aabb")
        try await store.learn("digest", value: "upper", endpoint: endpoint, firmware: "1.0")
        try await store.learn("digest", value: "lower", endpoint: endpoint, firmware: "1.0")
        try await store.learn("codec", value: "l16", endpoint: endpoint, firmware: "1.0")
        try await store.learn("codec", value: "alac", endpoint: endpoint, firmware: nil)
        #expect(try await store.learnt(endpoint: endpoint, firmware: "1.0") == ["digest": "lower", "codec": "l16"])
        #expect(try await store.learnt(endpoint: endpoint, firmware: nil) == ["codec": "alac"])
        #expect(try await store.learnt(endpoint: endpoint, firmware: "2.0").isEmpty)
        #expect(try await store.learnt(endpoint: EndpointID(rawValue: "x"), firmware: "1.0").isEmpty)
    }

    @Test("C17 the last volume of a route")
    func volume() async throws {
        let store = try RouterStore.inMemory()
        let route = RouteID(rawValue: "rt-1")
        #expect(try await store.volume(of: route) == nil)
        for volume in [
            VolumeState(level: VolumePosition(1.0 / 3)), VolumeState(level: VolumePosition(0), muted: true),
        ] {
            try await store.saveVolume(volume, of: route)
            #expect(try await store.volume(of: route) == volume)
        }
        #expect(try await store.volume(of: RouteID(rawValue: "rt-2")) == nil)
    }

    @Test("R5 what a route was last set to, beside how loud it is")
    func lastLevel() async throws {
        let store = try RouterStore.inMemory()
        let route = RouteID(rawValue: "rt-1")
        #expect(try await store.lastLevel(of: route) == nil)
        try await store.saveVolume(VolumeState(level: VolumePosition(0.5)), of: route)
        #expect(try await store.lastLevel(of: route) == nil)
        for level in [0.2, 1.0 / 3] {
            try await store.saveLastLevel(VolumePosition(level), of: route)
            #expect(try await store.lastLevel(of: route)?.value == level)
        }
        #expect(try await store.volume(of: route)?.level.value == 0.5)
        #expect(try await store.lastLevel(of: RouteID(rawValue: "rt-2")) == nil)
    }

    @Test("a cancelled task's write is finished")
    func cancelledWrite() async throws {
        let store = try RouterStore.inMemory()
        let session = record("se-1")
        await withTaskGroup(of: Void.self) { group in
            group.cancelAll()
            group.addTask { try? await store.saveSession(session) }
        }
        #expect(try await store.sessionsToRejoin() == [session])
    }
}
