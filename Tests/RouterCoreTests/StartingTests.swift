import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("R5 how soon rooms are heard", .timeLimit(.minutes(2)))
struct StartingTests {
    static let soon: Int64 = 400_000_000

    static func house() -> House {
        let house = House(startLead: soon) { airplay, _ in
            [airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Bath", host: "10.0.0.2")]
        }
        house.media.add("one", seconds: 60)
        return house
    }

    @Test("R5 a start takes what the devices need to begin, not what their queues hold; so does playing on")
    func start() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            let wanted = house.clock.now() + Self.soon + startSlackNanoseconds
            #expect(house.heard(0, in: "Kitchen") == wanted)
            #expect(house.heard(0, in: "Bath") == wanted)
            house.clock.advance(seconds: 5)
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            house.clock.advance(seconds: 5)
            _ = try await house.engine.perform(.play, session: nil, origin: .cli)
            let begun = try #require(house.begun("Bath"))
            #expect(
                house.heard(begun.frame, in: "Bath") == house.clock.now() + Self.soon + startSlackNanoseconds)
        }
    }

    @Test("R5 a room that joins comes in as soon, on the beat")
    func join() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            house.clock.advance(seconds: 7.3)
            _ = try await house.engine.join(session: nil, rooms: ["Bath"])
            let begun = try #require(house.begun("Bath"))
            let start = try #require(house.heard(begun.frame, in: "Bath"))
            #expect(start == house.heard(begun.frame, in: "Kitchen"))
            #expect(abs(start - house.clock.now() - Self.soon - startSlackNanoseconds) < 23_000)
        }
    }

    @Test("R5 what is not read ahead has its whole queue from the start: it would never fill")
    func slowFeed() async throws {
        let house = Self.house()
        house.media.stall(after: 1.5)
        try await house.live { house in
            async let playing = house.play(["one"], in: ["Kitchen"])
            #expect(await house.turn(seconds: 10) { house.heard(0, in: "Kitchen") != nil })
            _ = try await playing
            let heard = try #require(house.heard(0, in: "Kitchen"))
            // The patience is over at some turn of the clock, and the whole lead begins then.
            #expect(heard - House.lead - startSlackNanoseconds >= readAheadPatienceNanoseconds.file)
        }
    }

    @Test("R5 a short item needs no more ready than it has")
    func shortItem() async throws {
        let house = Self.house()
        house.media.add("short", seconds: 1)
        try await house.live { house in
            _ = try await house.play(["short"], in: ["Kitchen"])
            #expect(house.heard(0, in: "Kitchen") == house.clock.now() + Self.soon + startSlackNanoseconds)
        }
    }
}
