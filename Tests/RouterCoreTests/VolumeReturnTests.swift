import RouteBackend
import RouteModel
import RouterTestKit
import Synchronization
import Testing

@testable import RouterCore

@Suite("R5 volumes of rooms that come back", .timeLimit(.minutes(2)))
struct VolumeReturnTests {
    private static func rooms(
        _ rooms: [Room] = [], store: InMemoryStore = InMemoryStore(),
        localMinute: @escaping @Sendable () -> Int = { 720 }
    ) -> House {
        let house = House(rooms: rooms, store: store, localMinute: localMinute) { airplay, cast in
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

    @discardableResult
    private func command(
        _ command: RemoteCommand, _ house: House, from origin: CommandOrigin = .cli
    ) async throws -> CommandOutcome {
        house.clock.advance(nanoseconds: CommandCoalescer.windowNanoseconds)
        return try await house.engine.perform(command, session: nil, origin: origin).outcome
    }

    private func member(_ name: String, _ house: House) async -> SessionMember? {
        await house.session()?.members.first { $0.name == name }
    }

    @Test("a speaker that says no volume is told again, after a moment's loss, how loud and how silent it was")
    func toldAgain() async throws {
        let house = Self.rooms()
        house.airplay.saysNoVolume()
        try await house.live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            #expect(try await command(.setVolume(VolumePosition(0.2), room: nil), house) == .accepted)
            _ = try await command(.mute(true, room: nil), house)
            house.airplay.session(named: "Kitchen")?.isLost()
            #expect(await house.turn(seconds: 20) { house.airplay.sessions.count == 2 })
            #expect(await eventually { !Self.volumes(house.airplay.sessions.last).isEmpty })
            #expect(Self.volumes(house.airplay.sessions.last) == [VolumeState(level: VolumePosition(0.2), muted: true)])
        }
    }

    @Test("one that has forgotten, and comes back louder, is as loud as it was; one that is softer by now stays so")
    func notLouder() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            _ = try await command(.setVolume(VolumePosition(0.2), room: nil), house)
            house.airplay.session(named: "Kitchen")?.isLost()
            #expect(await house.turn(seconds: 20) { house.airplay.sessions.count == 2 })
            #expect(await eventually { !Self.volumes(house.airplay.sessions.last).isEmpty })
            #expect(Self.volumes(house.airplay.sessions.last).map(\.level.value) == [0.2])
            #expect(await house.session()?.volume?.level.value == 0.2)
            _ = try await command(.setVolume(VolumePosition(0.8), room: nil), house)
            house.airplay.sessions.last?.isLost()
            #expect(await house.turn(seconds: 20) { house.airplay.sessions.count == 3 })
            #expect(await eventually { await house.session()?.volume?.level.value == 0.5 })
            #expect(Self.volumes(house.airplay.sessions.last).isEmpty)
        }
    }

    @Test(
        "a room that was away while all were turned down comes back no louder than that, whatever its device says",
        arguments: [(0.4, false), (0.5, false), (0.4, true)])
    func notLouderThanAll(_ before: Double, _ isSilent: Bool) async throws {
        let house = Self.rooms()
        // Else a device is at a half as it comes: as it was left, or louder.
        if isSilent { house.airplay.saysNoVolume() }
        try await house.live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            try await command(.setVolume(VolumePosition(before), room: nil), house)
            let bath = house.airplay.endpoint(named: "Bath", host: "10.0.0.2")
            house.airplay.refuse(bath, with: RouterError(.routeUnreachable, "off", scope: .route))
            house.airplay.session(named: "Bath")?.isLost()
            #expect(await eventually { await self.member("Bath", house)?.connection == .suspended })
            try await command(.setVolume(VolumePosition(0.1), room: nil), house)
            house.airplay.accept(bath)
            #expect(await house.turn(seconds: 30) { await self.member("Bath", house)?.connection == .connected })
            #expect(
                await eventually {
                    let told = Self.volumes(house.airplay.session(named: "Bath")).map(\.level.value)
                    return told.count == 1 && abs(told[0] - 0.1) < 1e-6
                })
            #expect(await house.session()?.volume?.level.value == 0.1)
        }
    }

    @Test("C5 and so it is by the next process, also where the device says it is louder", arguments: [true, false])
    func toldAfterCrash(_ isSilent: Bool) async throws {
        try await House.afterACrash(of: { Self.rooms(store: $0) }) { crashed, store in
            if isSilent { crashed.airplay.saysNoVolume() }
            let before = try await crashed.play(["one"], in: ["Kitchen"])
            _ = try await command(.setVolume(VolumePosition(0.2), room: nil), crashed)
            let house = Self.rooms(store: store)
            if isSilent { house.airplay.saysNoVolume() }
            try await house.live { house in
                _ = try await house.engine.rejoin(before.id)
                #expect(Self.volumes(house.airplay.session(named: "Kitchen")).map(\.level.value) == [0.2])
                #expect(await house.session()?.volume?.level.value == 0.2)
            }
        }
    }

    @Test(
        "a room that was away while the others were turned up has the trim of what it is, and is not made loud by a step"
    )
    func staleTrim() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            let bath = house.airplay.endpoint(named: "Bath", host: "10.0.0.2")
            house.airplay.refuse(bath, with: RouterError(.routeUnreachable, "off", scope: .route))
            house.airplay.session(named: "Bath")?.isLost()
            #expect(await eventually { await self.member("Bath", house)?.connection == .suspended })
            try await command(.setVolume(VolumePosition(0.8), room: nil), house)
            house.airplay.accept(bath)
            #expect(await house.turn(seconds: 30) { await self.member("Bath", house)?.connection == .connected })
            #expect(await eventually { abs((await self.member("Bath", house)?.trim ?? 1) - 0.625) < 1e-6 })
            try await command(.stepVolume(0.08, room: nil), house)
            let told = Self.volumes(house.airplay.session(named: "Bath")).map(\.level.value)
            #expect(told.count == 1 && abs(told[0] - 0.55) < 1e-6, "\(told)")
        }
    }

    @Test("what is heard again is no louder than it may be by now")
    func unmuteWithinLimit() async throws {
        let minute = Mutex(12 * 60)
        var room = Room(name: "Bath", devices: ["Bath"], configured: true)
        room.quietHours = try QuietHours("22:00-07:00 at 30 %")
        try await Self.rooms([room], localMinute: { minute.withLock { $0 } }).live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            try await command(.setVolume(VolumePosition(0.6), room: nil), house)
            try await command(.mute(true, room: nil), house)
            minute.withLock { $0 = 23 * 60 }
            try await command(.mute(false, room: nil), house)
            #expect(
                Self.volumes(house.airplay.session(named: "Bath")).last
                    == VolumeState(level: VolumePosition(0.3), muted: false))
        }
    }

    @Test("C17 a desktop's full volume is no more by a step that a person makes right after it")
    func mergedOrigins() async throws {
        try await Self.rooms().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            try await command(.setVolume(VolumePosition(0.4), room: nil), house, from: .mpris)
            let engine = house.engine
            func come(_ count: Int) async -> Bool {
                await eventually { await engine.running.first?.coalescer.count == count }
            }
            async let full = engine.perform(
                .setVolume(VolumePosition(1), room: nil), session: nil, origin: .mpris)
            #expect(await come(2))
            async let step = engine.perform(.stepVolume(-0.05, room: nil), session: nil, origin: .cli)
            #expect(await come(3))
            house.clock.advance(nanoseconds: CommandCoalescer.windowNanoseconds)
            _ = try await (full, step)
            let levels = Self.volumes(house.airplay.session(named: "Kitchen")).map(\.level.value)
            #expect(levels.count == 2 && abs((levels.last ?? 1) - 0.65) < 1e-6, "\(levels)")
        }
    }

    @Test("a volume is observed where the device says it, and else only taken")
    func outcomes() async throws {
        let house = Self.rooms()
        house.airplay.saysNoVolume()
        try await house.live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            #expect(try await command(.setVolume(VolumePosition(0.3), room: nil), house) == .accepted)
            let lounge = try await house.play(["one"], in: ["Lounge"])
            let result = try await house.engine.perform(
                .setVolume(VolumePosition(0.3), room: nil), session: lounge.id, origin: .cli)
            #expect(result.outcome == .succeeded)
        }
    }
}
