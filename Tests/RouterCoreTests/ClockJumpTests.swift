import RouteBackend
import RouteModel
import RouterTestKit
import Synchronization
import Testing

@testable import RouterCore

@Suite("a clock on the wall that jumps", .timeLimit(.minutes(2)))
struct ClockJumpTests {
    /// Seconds since 1970; a minute of the day is of UTC.
    private final class Wall: Sendable {
        private let seconds = Mutex(1_800_014_400.0)
        var now: Double { seconds.withLock { $0 } }
        var minute: Int { Int(now / 60) % 1440 }
        func jump(hours: Double) { seconds.withLock { $0 += hours * 3600 } }
    }

    private static func house(_ wall: Wall) throws -> House {
        var room = Room(name: "Lounge", devices: ["Lounge"], configured: true)
        room.quietHours = try QuietHours("22:00-07:00 at 30 %")
        let house = House(rooms: [room], localMinute: { wall.minute }, wallSeconds: { wall.now }) { _, cast in
            [cast.endpoint(named: "Lounge", host: "10.0.0.2")]
        }
        for name in ["one", "two"] { house.media.add(name, seconds: 7200) }
        return house
    }

    @Test("set back or forward, what plays goes on where it is, and the history's plays end no sooner than they began")
    func history() async throws {
        let wall = Wall()
        try await Self.house(wall).live { house in
            _ = try await house.play(["one", "two"], in: ["Lounge"])
            let lounge = try house.lounge()
            lounge.reports(position: .zero)
            #expect(await eventually { await house.session()?.anchor?.quality == .deviceReported })
            wall.jump(hours: -48)
            house.clock.advance(seconds: 5)
            #expect(await house.session()?.position?.seconds == 5)
            _ = try await house.engine.perform(.next, session: nil, origin: .api)
            wall.jump(hours: 24 * 365)
            house.clock.advance(seconds: 5)
            #expect(await house.session()?.media == .playing)
            _ = try await house.engine.perform(.stop, session: nil, origin: .api)
            let plays = try await house.engine.history(limit: 10)
            #expect(plays.count == 2)
            #expect(plays.allSatisfy { ($0.stopped ?? 0) >= $0.started })
            #expect(plays.last?.furthest.seconds == 5)
        }
    }

    @Test("set into the night it is quiet at once, and set back out of it it is not")
    func quietHours() async throws {
        let wall = Wall()
        // Eight in the evening.
        wall.jump(hours: Double((20 * 60 - wall.minute)) / 60)
        try await Self.house(wall).live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let lounge = try house.lounge()
            func level(_ wanted: Double) async throws {
                _ = try await house.engine.perform(
                    .setVolume(VolumePosition(wanted), room: nil), session: nil, origin: .cli)
            }
            try await level(0.6)
            #expect(lounge.state.volume?.level.value == 0.6)
            wall.jump(hours: 6)
            #expect(await house.turn(seconds: 60) { lounge.state.volume?.level.value == 0.3 })
            wall.jump(hours: -8)
            try await level(0.7)
            #expect(lounge.state.volume?.level.value == 0.7)
            // A whole year on it is the same time of day.
            wall.jump(hours: 24 * 365)
            house.clock.advance(seconds: 60)
            try await level(0.8)
            #expect(lounge.state.volume?.level.value == 0.8)
        }
    }
}
