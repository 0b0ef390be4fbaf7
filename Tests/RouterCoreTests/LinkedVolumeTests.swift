import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

/// Devices of these tests are at a half when they are found.
@Suite("R5 linked volumes", .timeLimit(.minutes(2)))
struct LinkedVolumeTests {
    private static func rooms(limit: Double? = nil) -> House {
        let bath = Room(
            name: "Bath", devices: ["Bath"], volumeLimit: limit.map { VolumePosition($0) }, configured: true)
        let house = House(rooms: [bath]) { airplay, _ in
            [airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Bath", host: "10.0.0.2")]
        }
        house.media.add("one", seconds: 7200)
        return house
    }

    private static func levels(_ session: FakeRouteSession) -> [Double] {
        session.asked.compactMap {
            if case .volume(let volume) = $0 { (volume.level.value * 1000).rounded() / 1000 } else { nil }
        }
    }

    private func device(_ name: String, _ house: House) throws -> FakeRouteSession {
        try #require(house.airplay.session(named: name))
    }

    private func command(_ command: RemoteCommand, _ house: House) async throws {
        // Apart from the one before: what comes in a short row is a case of its own.
        house.clock.advance(nanoseconds: CommandCoalescer.windowNanoseconds)
        #expect(try await !house.engine.perform(command, session: nil, origin: .cli).outcome.isError)
    }

    private func turn(_ device: FakeRouteSession, to level: Double) async {
        // What it says back of what it was told is heard by then.
        await othersHaveRun()
        device.reports { $0.volume = VolumeState(level: VolumePosition(level)) }
    }

    private func member(_ name: String, _ house: House) async -> SessionMember? {
        await house.session()?.members.first { $0.name == name }
    }

    private func close(_ one: Double?, _ other: Double) -> Bool { abs((one ?? -1) - other) < 1e-6 }

    /// Both rooms, linked, with these levels.
    private func play(_ house: House, bath: Double = 0.5) async throws -> (FakeRouteSession, FakeRouteSession) {
        _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
        if bath != 0.5 { try await command(.setVolume(VolumePosition(bath), room: "Bath"), house) }
        try await command(.linkVolumes(true), house)
        #expect(await house.session()?.volumesLinked == true)
        // What was written before is long confirmed.
        house.clock.advance(seconds: 5)
        return (try device("Kitchen", house), try device("Bath", house))
    }

    @Test("who turns one device moves the master, and no trim; the device itself is told nothing")
    func knob() async throws {
        try await Self.rooms().live { house in
            let (kitchen, bath) = try await play(house, bath: 0.25)
            await turn(bath, to: 0.3)
            #expect(await eventually { Self.levels(kitchen) == [0.6] })
            #expect(await close(house.session()?.volume?.level.value, 0.6))
            #expect(await close(member("Bath", house)?.trim, 0.5))
            await turn(kitchen, to: 0.2)
            #expect(await eventually { Self.levels(bath) == [0.25, 0.1] })
            #expect(await close(house.session()?.volume?.level.value, 0.2))
            #expect(Self.levels(kitchen) == [0.6])
            // And back again, once it is unlinked.
            try await command(.linkVolumes(false), house)
            #expect(await house.session()?.volumesLinked == nil)
            await turn(bath, to: 0.15)
            #expect(await eventually { await close(member("Bath", house)?.trim, 0.75) })
            #expect(Self.levels(kitchen) == [0.6])
        }
    }

    @Test("all the way down and up again, at the device, is the way back")
    func silence() async throws {
        try await Self.rooms().live { house in
            let (kitchen, bath) = try await play(house, bath: 0.25)
            await turn(kitchen, to: 0)
            #expect(await eventually { Self.levels(bath) == [0.25, 0] })
            await turn(kitchen, to: 0.2)
            #expect(await eventually { Self.levels(bath) == [0.25, 0, 0.1] })
            #expect(await close(member("Bath", house)?.trim, 0.5))
        }
    }

    @Test("one device that goes to full takes the others no more than a quarter along")
    func full() async throws {
        try await Self.rooms().live { house in
            let (kitchen, bath) = try await play(house)
            await turn(kitchen, to: 1)
            #expect(await eventually { Self.levels(bath) == [0.75] })
            #expect(await house.session()?.volume?.level.value == 1)
            #expect(await close(member("Bath", house)?.trim, 0.75))
            #expect(Self.levels(kitchen).isEmpty)
        }
    }

    @Test("our own writes never come back as turns, however a device rounds them")
    func rounding() async throws {
        try await Self.rooms().live { house in
            let (kitchen, bath) = try await play(house)
            kitchen.roundsVolume(to: 0.1)
            bath.roundsVolume(to: 0.15)
            await turn(kitchen, to: 0.4)
            #expect(await house.turn(seconds: 3) { await close(member("Bath", house)?.volume?.level.value, 0.45) })
            for _ in 0..<10 {
                house.clock.advance(nanoseconds: VolumeEcho.graceNanoseconds)
                await othersHaveRun()
            }
            #expect(Self.levels(bath) == [0.4] && Self.levels(kitchen).isEmpty)
            // A hand that turns it after that is believed.
            await turn(bath, to: 0.3)
            #expect(await eventually { !Self.levels(kitchen).isEmpty })
        }
    }

    @Test("what devices say back of the master is no turn of theirs")
    func echoes() async throws {
        try await Self.rooms().live { house in
            let (kitchen, bath) = try await play(house, bath: 0.25)
            for level in [0.8, 0.1, 0.33, 0.77] {
                try await command(.setVolume(VolumePosition(level), room: nil), house)
            }
            await othersHaveRun()
            house.clock.advance(seconds: 5)
            await othersHaveRun()
            #expect(Self.levels(kitchen) == [0.8, 0.1, 0.33, 0.77])
            #expect(Self.levels(bath) == [0.25, 0.4, 0.05, 0.165, 0.385])
            #expect(await close(member("Bath", house)?.trim, 0.5))
        }
    }

    @Test("a person's word for one room, and the trim of one, are that room's own")
    func oneRoom() async throws {
        try await Self.rooms().live { house in
            let (kitchen, bath) = try await play(house)
            try await command(.setVolume(VolumePosition(0.25), room: "Bath"), house)
            try await command(.trim(0.8, room: "Bath"), house)
            #expect(Self.levels(bath) == [0.25, 0.4] && Self.levels(kitchen).isEmpty)
        }
    }

    @Test("what a speaker asks for by its buttons is the same as a turn of its knob")
    func buttons() async throws {
        try await Self.rooms().live { house in
            let (kitchen, bath) = try await play(house, bath: 0.25)
            bath.presses(.setVolume(VolumePosition(0.3), room: nil))
            #expect(await house.turn(seconds: 3) { Self.levels(kitchen) == [0.6] })
            #expect(await eventually { Self.levels(bath) == [0.25, 0.3] })
            #expect(await close(member("Bath", house)?.trim, 0.5))
            kitchen.presses(.stepVolume(-0.2, room: nil))
            #expect(await house.turn(seconds: 3) { Self.levels(bath).last == 0.2 })
            #expect(await eventually { Self.levels(kitchen) == [0.6, 0.4] })
        }
    }

    @Test("a room that is kept to its limit does not pull the others down to it")
    func limited() async throws {
        try await Self.rooms(limit: 0.4).live { house in
            let (kitchen, bath) = try await play(house)
            try await command(.setVolume(VolumePosition(0.8), room: nil), house)
            #expect(Self.levels(bath).last == 0.4)
            house.clock.advance(seconds: 5)
            await turn(bath, to: 0.3)
            #expect(await eventually { await close(member("Bath", house)?.trim, 0.375) })
            #expect(Self.levels(kitchen) == [0.8])
            // Below its limit it is linked again, and its limit is the farthest that it takes the others.
            await turn(bath, to: 0.9)
            #expect(await eventually { Self.levels(kitchen).count == 2 })
            #expect(await house.turn(seconds: 5) { Self.levels(bath).last == 0.4 })
            #expect(Self.levels(kitchen).last == 1)
        }
    }

    @Test("a turn ends a fade for all")
    func fade() async throws {
        try await Self.rooms().live { house in
            let (kitchen, bath) = try await play(house)
            try await command(.fade(to: VolumePosition(0), over: MediaTime(seconds: 100), room: nil), house)
            #expect(await house.turn(seconds: 20) { Self.levels(kitchen).count >= 2 && Self.levels(bath).count >= 2 })
            house.clock.advance(nanoseconds: 1)
            await turn(kitchen, to: 0.6)
            #expect(await eventually { Self.levels(bath).last == 0.6 })
            let told = Self.levels(kitchen).count
            house.clock.advance(seconds: 30)
            await othersHaveRun()
            #expect(Self.levels(kitchen).count == told && Self.levels(bath).last == 0.6)
        }
    }
}
