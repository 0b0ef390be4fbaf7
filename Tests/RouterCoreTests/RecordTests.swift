import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("C5 what is written of sessions, and found after a crash", .timeLimit(.minutes(2)))
struct RecordTests {
    private static let route = RouteID(rawValue: "ro-lounge")

    private static func items(_ names: String...) -> [QueueItem] {
        names.map { QueueItem(id: ItemID(rawValue: "it-\($0)"), source: .file(path: $0)) }
    }

    /// As a process left it that is no more.
    private static func leave(
        _ id: String, in store: InMemoryStore, _ house: House, queue: QueueSnapshot?, item: ItemID?,
        position: MediaTime = .zero, anchor: PlaybackAnchor? = nil
    ) async throws {
        let session = SessionID(rawValue: id)
        if let queue { try await store.saveQueue(queue, session: session) }
        await store.saveSession(
            SessionRecord(
                session: session, routes: [route], item: item, position: position, playing: true,
                rejoin: [route: "app/Lounge"],
                members: [
                    SessionRecord.Member(route: route, name: "Lounge", room: "Lounge", endpoint: house.loungeEndpoint)
                ], anchor: anchor))
    }

    private func left(_ house: House) async throws -> [String] {
        try await house.engine.sessionsToRejoin().map(\.id.rawValue).sorted()
    }

    @Test("a session without anything to play is not offered, and is forgotten")
    func nothingToPlay() async throws {
        let store = InMemoryStore()
        try await House.twoWithQueues(store: store).live { house in
            let items = Self.items("one", "two")
            try await Self.leave(
                "se-over", in: store, house, queue: QueueSnapshot(version: 1, items: items, current: nil),
                item: items[1].id)
            try await Self.leave("se-lost", in: store, house, queue: nil, item: items[0].id)
            try await Self.leave(
                "se-good", in: store, house, queue: QueueSnapshot(version: 1, items: items, current: items[0].id),
                item: items[0].id)
            #expect(try await left(house) == ["se-good"])
            #expect(await store.sessionsToRejoin().map(\.session.rawValue) == ["se-good"])
        }
    }

    @Test("a session without anything to play can be ended", arguments: [true, false])
    func endsWithoutItem(hasQueue: Bool) async throws {
        let store = InMemoryStore()
        try await House.twoWithQueues(store: store).live { house in
            let items = Self.items("one", "two")
            try await Self.leave(
                "se-over", in: store, house,
                queue: hasQueue ? QueueSnapshot(version: 1, items: items, current: nil) : nil,
                item: items[1].id)
            house.cast.keeps(RouteSessionUpdate(loaded: .random()), on: house.loungeEndpoint)
            try await house.engine.end(session: SessionID(rawValue: "se-over"), reason: .stop)
            #expect(try house.lounge().asked == [.end(.stop)])
            #expect(await store.sessionsToRejoin().isEmpty)
        }
    }

    @Test("one queue that cannot be read hides no other session; it is told once, and can be ended")
    func unreadable() async throws {
        let store = InMemoryStore()
        try await House.twoWithQueues(store: store).live { house in
            let items = Self.items("one", "two")
            for id in ["se-bad", "se-good"] {
                try await Self.leave(
                    id, in: store, house, queue: QueueSnapshot(version: 1, items: items, current: items[0].id),
                    item: items[0].id)
            }
            await store.damagesQueue(of: SessionID(rawValue: "se-bad"))
            let notices = await Notices(house.engine)
            #expect(try await left(house) == ["se-good"])
            #expect(try await left(house) == ["se-good"])
            #expect(await notices.count { $0.message.contains("se-bad") && $0.hint != nil } == 1)
            try await house.engine.end(session: SessionID(rawValue: "se-bad"), reason: .leave)
            #expect(await store.sessionsToRejoin().map(\.session.rawValue) == ["se-good"])
        }
    }

    @Test("a place that was written of another item is not this item's")
    func placeOfAnother() async throws {
        let store = InMemoryStore()
        try await House.twoWithQueues(store: store).live { house in
            let items = Self.items("one", "two")
            let anchor = PlaybackAnchor(
                item: items[0].id, time: MediaTime(seconds: 8), instant: house.clock.now(), rate: 1, quality: .exact)
            try await Self.leave(
                "se-torn", in: store, house, queue: QueueSnapshot(version: 1, items: items, current: items[1].id),
                item: items[0].id, position: MediaTime(seconds: 8), anchor: anchor)
            #expect(try await house.engine.sessionsToRejoin().map(\.position) == [.zero])
            let after = try await house.engine.rejoin(SessionID(rawValue: "se-torn"))
            #expect(after.queue.current == items[1].id)
            #expect(after.anchor?.item == items[1].id && after.position == .zero)
        }
    }

    @Test("a session and its queue are written at once, whenever the process ends", arguments: ["Kitchen", "Lounge"])
    func atOnce(room: String) async throws {
        try await House.kitchenAndLounge().live { house in
            let items = try await house.play(["one", "two"], in: [room]).queue.items
            _ = try await house.engine.perform(.next, session: nil, origin: .cli)
            _ = try await house.engine.perform(.previous, session: nil, origin: .cli)
            _ = try await house.engine.edit(.remove([items[0].id]), session: nil, ifVersion: nil, workingDirectory: "/")
            #expect(await house.turn(seconds: 1) { await house.store.sessionsToRejoin().first?.item == items[1].id })
            (house.airplay.session(named: room) ?? house.cast.session(named: room))?.reachesEnd()
            #expect(await house.turn(seconds: 5) { await house.session()?.connection == .ended })
            #expect(await house.store.sessionsToRejoin().isEmpty)
            #expect(await house.store.torn == 0)
        }
    }
}
