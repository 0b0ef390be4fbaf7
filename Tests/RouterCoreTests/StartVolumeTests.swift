import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

/// Devices of these tests are at a half when they are found.
@Suite("R5 how loud rooms begin", .timeLimit(.minutes(2)))
struct StartVolumeTests {
    private static func house(
        _ start: StartVolume?, limit: Double? = nil, store: InMemoryStore = InMemoryStore()
    ) -> House {
        let bath = Room(
            name: "Bath", devices: ["Bath"], volumeLimit: limit.map { VolumePosition($0) }, configured: true,
            startVolume: start)
        let house = House(rooms: [bath], store: store) { airplay, cast in
            [
                airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Bath", host: "10.0.0.2"),
                cast.endpoint(named: "Lounge", host: "10.0.0.3"),
            ]
        }
        house.media.add("one", seconds: 7200)
        return house
    }

    private static func volumes(_ session: FakeRouteSession?) -> [VolumeState] {
        session?.asked.compactMap { if case .volume(let volume) = $0 { volume } else { nil } } ?? []
    }

    private static func levels(_ house: House, _ name: String = "Bath") -> [Double] {
        volumes(house.airplay.session(named: name)).map(\.level.value)
    }

    private func command(_ command: RemoteCommand, _ house: House) async throws {
        // Apart from the one before: what comes in a short row is a case of its own.
        house.clock.advance(nanoseconds: CommandCoalescer.windowNanoseconds)
        #expect(try await !house.engine.perform(command, session: nil, origin: .cli).outcome.isError)
    }

    private func shown(_ house: House, _ name: String = "Bath") async -> Double? {
        await house.session()?.members.first { $0.name == name }?.volume?.level.value
    }

    @Test(
        "a device is left as it is where nothing was said, and told where a level or a lower one was",
        arguments: [
            (nil, []), (.preserve, []), (.set(VolumePosition(0.8)), [0.8]), (.set(VolumePosition(0.3)), [0.3]),
            (.cap(VolumePosition(0.3)), [0.3]), (.cap(VolumePosition(0.5)), []), (.cap(VolumePosition(0.8)), []),
            (.last, []),
        ] as [(StartVolume?, [Double])])
    func kinds(_ start: StartVolume?, _ told: [Double]) async throws {
        try await Self.house(start).live { house in
            _ = try await house.play(["one"], in: ["Bath", "Kitchen"])
            #expect(Self.levels(house) == told)
            #expect(await shown(house) == told.last ?? 0.5)
            #expect(Self.levels(house, "Kitchen").isEmpty, "the other room's device is nobody's to touch")
        }
    }

    @Test(
        "its limit holds on top of what is said for the start",
        arguments: [StartVolume.set(VolumePosition(0.9)), .cap(VolumePosition(0.45))])
    func limit(_ start: StartVolume) async throws {
        try await Self.house(start, limit: 0.4).live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            #expect(Self.levels(house) == [0.4])
        }
    }

    @Test(
        "a volume that is asked for with what is played goes before it",
        arguments: [StartVolume.last, .set(VolumePosition(0.2)), .cap(VolumePosition(0.2))])
    func asked(_ start: StartVolume) async throws {
        try await Self.house(start).live { house in
            _ = try await house.engine.play(
                PlayRequest(what: ["one"], rooms: ["Bath"], volume: VolumePosition(0.6)))
            #expect(Self.levels(house) == [0.6])
        }
    }

    @Test("a room that is turned down at the start stays so when the master moves, and one that joins begins so too")
    func inGroup() async throws {
        try await Self.house(.cap(VolumePosition(0.25))).live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            _ = try await house.engine.join(session: nil, rooms: ["Bath"])
            #expect(Self.levels(house) == [0.25])
            #expect(await eventually { await house.session()?.members.last?.trim == 0.5 })
            try await command(.setVolume(VolumePosition(1), room: nil), house)
            #expect(Self.levels(house).last == 0.5 && Self.levels(house, "Kitchen") == [1])
        }
    }

    @Test("what a room was last set to is known to the next process; a fade and a limit are nobody's setting")
    func last() async throws {
        let store = InMemoryStore()
        try await Self.house(.last, store: store).live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            try await command(.setVolume(VolumePosition(0.7), room: nil), house)
            try await command(.fade(to: VolumePosition(0), over: MediaTime(seconds: 10), room: nil), house)
            #expect(await house.turn(seconds: 20) { Self.levels(house).last == 0 })
        }
        try await Self.house(.last, store: store).live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            #expect(Self.levels(house) == [0.7])
            // Turned there, it is set as well.
            house.airplay.session(named: "Bath")?.reports { $0.volume = VolumeState(level: VolumePosition(0.35)) }
            #expect(await eventually { await shown(house) == 0.35 })
        }
        try await Self.house(.last, limit: 0.2, store: store).live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            #expect(Self.levels(house) == [0.2])
        }
        try await Self.house(.last, store: store).live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            #expect(Self.levels(house) == [0.35])
        }
    }

    @Test("a fade to a level sets it")
    func fadeTo() async throws {
        let store = InMemoryStore()
        try await Self.house(.last, store: store).live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            try await command(.fade(to: VolumePosition(0.3), over: MediaTime(seconds: 10), room: nil), house)
            #expect(await house.turn(seconds: 20) { Self.levels(house).last == 0.3 })
        }
        try await Self.house(.last, store: store).live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            #expect(Self.levels(house) == [0.3])
        }
    }

    @Test("what a device was found at is not what it was set to")
    func foundIsNotSet() async throws {
        let store = InMemoryStore()
        try await Self.house(.preserve, store: store).live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            try await command(.mute(true, room: "Bath"), house)
        }
        try await Self.house(.last, store: store).live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            #expect(Self.levels(house).isEmpty)
        }
    }

    @Test(
        "a device that does not say how loud it is is told the level, the lower one, or a third: never full",
        arguments: [
            (.preserve, nil, 1.0 / 3), (.last, nil, 1.0 / 3), (.set(VolumePosition(0.6)), 0.2, 0.6),
            (.cap(VolumePosition(0.3)), nil, 0.3), (.cap(VolumePosition(0.3)), 0.2, 0.2),
            (.cap(VolumePosition(0.3)), 0.9, 0.3), (.last, 0.9, 0.9), (.preserve, 0.9, 0.9),
        ] as [(StartVolume, Double?, Double)])
    func silentDevice(_ start: StartVolume, _ last: Double?, _ told: Double) async throws {
        let store = InMemoryStore()
        if let last {
            let before = Self.house(nil, store: store)
            before.airplay.saysNoVolume()
            try await before.live { house in
                _ = try await house.play(["one"], in: ["Bath"])
                try await command(.setVolume(VolumePosition(last), room: nil), house)
            }
        }
        let house = Self.house(start, store: store)
        house.airplay.saysNoVolume()
        try await house.live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            #expect(Self.levels(house) == [told])
        }
    }

    @Test("a room that was lost and is back is as loud as it was, not as it begins")
    func back() async throws {
        try await Self.house(.set(VolumePosition(0.3))).live { house in
            _ = try await house.play(["one"], in: ["Bath", "Kitchen"])
            try await command(.setVolume(VolumePosition(0.6), room: "Bath"), house)
            let count = house.airplay.sessions.count
            house.airplay.session(named: "Bath")?.isLost()
            #expect(await house.turn(seconds: 20) { house.airplay.sessions.count > count })
            #expect(await eventually { await house.session()?.members.first { $0.name == "Bath" }?.media == .playing })
            #expect(Self.levels(house).allSatisfy { $0 != 0.3 })
        }
    }

    @Test("a room that what plays is moved to begins as it is to")
    func moved() async throws {
        try await Self.house(.set(VolumePosition(0.3))).live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            house.clock.advance(seconds: 5)
            async let moving = house.engine.transfer(session: nil, to: ["Bath"])
            #expect(await house.turn(seconds: 20) { Self.levels(house) == [0.3] })
            _ = try await moving
        }
    }
}
