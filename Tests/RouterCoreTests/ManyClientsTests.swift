import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

/// What clients at one house have found, each by hand.
@Suite("several clients at one house", .timeLimit(.minutes(1)))
struct ManyClientsTests {
    private static func kitchen(store: InMemoryStore = InMemoryStore()) -> House {
        let house = House(store: store) { airplay, _ in [airplay.endpoint(named: "Kitchen", host: "10.0.0.1")] }
        for name in ["one", "two", "three"] { house.media.add(name, seconds: 60) }
        return house
    }

    @Test("of two that begin to play in one room at once, one has it, and the other is told")
    func together() async throws {
        try await Self.kitchen().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            async let second = try? house.play(["two"], in: ["Kitchen"])
            async let third = try? house.play(["three"], in: ["Kitchen"])
            // Whoever gives way looks now and then whether its rooms are open.
            let ticking = Task {
                while !Task.isCancelled {
                    house.clock.advance(seconds: 0.01)
                    await othersHaveRun()
                }
            }
            let begun = await [second, third]
            ticking.cancel()
            await ticking.value
            let playing = await house.engine.sessions().filter { $0.connection == .connected }
            #expect(playing.count == 1, "\(playing.map { $0.queue.items.map(\.source.label) })")
            #expect(begun.contains { $0?.id == playing.first?.id })
        }
    }

    @Test("an item that is gone to in a room that is sent to has its length in the queue")
    func facts() async throws {
        try await Self.kitchen().live { house in
            let before = try await house.play(["one", "two", "three"], in: ["Kitchen"])
            let third = before.queue.items[2].id
            _ = try await house.engine.perform(.jump(third), session: nil, origin: .cli)
            #expect(
                await eventually {
                    await house.session()?.currentItem?.metadata.duration == MediaTime(seconds: 60)
                })
            #expect(await house.session()?.queue.current == third)
        }
    }

    @Test("C5 what a killed process had just begun is taken up from its own instant, with its length")
    func justBegun() async throws {
        try await House.afterACrash(of: { Self.kitchen(store: $0) }) { crashed, store in
            let before = try await crashed.engine.play(
                PlayRequest(what: ["one"], rooms: ["Kitchen"], start: MediaTime(seconds: 5)))
            #expect(try #require(before.anchor).instant > crashed.clock.now(), "it is heard a lead later")

            try await Self.kitchen(store: store).live { house in
                let after = try await house.engine.rejoin(before.id)
                #expect(after.anchor?.time.seconds == 5)
                #expect(await eventually { await house.session()?.currentItem?.metadata.duration?.seconds == 60 })
            }
        }
    }
}
