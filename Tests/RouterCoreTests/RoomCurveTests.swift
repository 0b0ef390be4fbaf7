import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

/// Devices of these tests are at a half when they are found: three quarters of the slider, by the Bath's curve.
@Suite("C17 volume curves of rooms", .timeLimit(.minutes(2)))
struct RoomCurveTests {
    private static let table = VolumeCurve.table([0, 0.05, 0.2, 0.5, 1])

    private static func house(limit: Double? = nil, start: StartVolume? = nil) -> House {
        let house = House(rooms: [bath(table, limit: limit, start: start)]) { airplay, _ in
            [airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Bath", host: "10.0.0.2")]
        }
        house.media.add("one", seconds: 7200)
        return house
    }

    private static func bath(_ curve: VolumeCurve?, limit: Double? = nil, start: StartVolume? = nil) -> Room {
        Room(
            name: "Bath", devices: ["Bath"], volumeLimit: limit.map { VolumePosition($0) }, configured: true,
            startVolume: start, volumeCurve: curve)
    }

    private static func told(_ house: House, _ name: String = "Bath") -> [Double] {
        house.airplay.session(named: name)?.asked.compactMap {
            if case .volume(let volume) = $0 { (volume.level.value * 1e6).rounded() / 1e6 } else { nil }
        } ?? []
    }

    private func command(_ command: RemoteCommand, _ house: House) async throws {
        house.clock.advance(nanoseconds: CommandCoalescer.windowNanoseconds)
        #expect(try await !house.engine.perform(command, session: nil, origin: .cli).outcome.isError)
    }

    private func shown(_ house: House) async -> Double? {
        await house.session()?.members.first { $0.name == "Bath" }?.volume?.level.value
    }

    private func close(_ one: Double?, _ other: Double) -> Bool { abs((one ?? -1) - other) < 1e-6 }

    @Test("people see positions, the device is told its own levels, and what it says back is no turn")
    func bothWays() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Bath", "Kitchen"])
            #expect(await close(shown(house), 0.75))
            #expect(Self.told(house).isEmpty)
            for level in [0.25, 0.375, 1, 0.3] {
                try await command(.setVolume(VolumePosition(level), room: "Bath"), house)
            }
            await othersHaveRun()
            #expect(Self.told(house) == [0.05, 0.125, 1, 0.08])
            #expect(await close(shown(house), 0.3))
            #expect(Self.told(house, "Kitchen").isEmpty)
            house.airplay.session(named: "Bath")?.reports { $0.volume = VolumeState(level: VolumePosition(0.2)) }
            #expect(await eventually { await close(shown(house), 0.5) })
        }
    }

    @Test("master, limit and start count in positions")
    func positions() async throws {
        try await Self.house(limit: 0.5, start: .set(VolumePosition(0.25))).live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            #expect(Self.told(house) == [0.05])
            try await command(.setVolume(VolumePosition(0.9), room: nil), house)
            #expect(Self.told(house) == [0.05, 0.2])
            #expect(await close(shown(house), 0.5))
            house.airplay.session(named: "Bath")?.reports { $0.volume = VolumeState(level: VolumePosition(0.9)) }
            #expect(await house.turn(seconds: 5) { Self.told(house).count == 3 })
            #expect(Self.told(house).last == 0.2)
        }
    }

    @Test("what a speaker asks for is in its own levels, too")
    func buttons() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            house.airplay.session(named: "Bath")?.presses(.setVolume(VolumePosition(0.2), room: nil))
            #expect(await house.turn(seconds: 3) { await close(shown(house), 0.5) })
            #expect(Self.told(house) == [0.2])
        }
    }

    @Test("another curve while it plays leaves the device alone, and shows where it is by that")
    func changed() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            await house.engine.reconfigure(rooms: [Self.bath(nil)])
            #expect(await close(shown(house), 0.5))
            #expect(Self.told(house).isEmpty)
            try await command(.setVolume(VolumePosition(0.3), room: nil), house)
            #expect(Self.told(house) == [0.3])
        }
    }

    @Test("another curve while something is announced: what played is as loud after it as it was before")
    func changedMeanwhile() async throws {
        let house = Self.house()
        house.media.add("bell", seconds: 3)
        try await house.live { house in
            _ = try await house.play(["one"], in: ["Bath"])
            house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds)
            house.clock.advance(seconds: 10)
            let saying = Task {
                try await house.engine.announce(
                    AnnounceRequest(what: "bell", rooms: ["Bath"], volume: VolumePosition(0.25)))
            }
            #expect(await eventually { Self.told(house) == [0.05] })
            await house.engine.reconfigure(rooms: [Self.bath(nil)])
            let bath = try #require(house.airplay.session(named: "Bath"))
            bath.reachesEnd()
            #expect(try await saying.value.rooms.map(\.restored) == [.resumed])
            #expect(Self.told(house) == [0.05, 0.5])
            #expect(await close(shown(house), 0.5))
        }
    }

    @Test("a room is made with a curve that has an inverse, and with no other")
    func rules() async throws {
        try await Self.house().live { house in
            let den = Room(name: "Den", devices: ["Kitchen"], volumeCurve: .decibel(range: 50, taper: 2))
            let made = try await house.engine.saveRoom(den, replacing: nil)
            #expect(made.volumeCurve == den.volumeCurve)
            for wrong in [VolumeCurve.airplay, .table([0, 0.5, 0.5]), .decibel(range: 1e300, taper: 1)] {
                let room = Room(name: "Attic", devices: ["Kitchen"], volumeCurve: wrong)
                let error = await #expect(throws: RouterError.self) {
                    try await house.engine.saveRoom(room, replacing: nil)
                }
                #expect(error?.code == .configuration)
            }
        }
    }
}
