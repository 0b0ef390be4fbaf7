import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("Fades")
struct FadeTests {
    /// The levels that a device was told, in hundredths.
    private static func told(_ session: FakeRouteSession) -> [Int] {
        session.asked.compactMap { if case .volume(let volume) = $0 { volume.level.percent } else { nil } }
    }

    private static func house(limit: VolumePosition? = nil) -> House {
        let house = House(rooms: [Room(name: "Bath", devices: ["Bath"], volumeLimit: limit)]) { airplay, _ in
            [airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Bath", host: "10.0.0.2")]
        }
        house.media.add("one", seconds: 600)
        return house
    }

    private static func command(_ command: RemoteCommand, _ house: House) async throws -> CommandOutcome {
        try await house.engine.perform(command, session: nil, origin: .cli).outcome
    }

    @Test("a fade goes evenly to its level, from where each room is, and keeps to a room's limit")
    func evenly() async throws {
        try await Self.house(limit: VolumePosition(0.4)).live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            let bath = try #require(house.airplay.session(named: "Bath"))
            _ = try await Self.command(.setVolume(VolumePosition(0.2), room: nil), house)
            let outcome = try await Self.command(
                .fade(to: VolumePosition(0.6), over: MediaTime(seconds: 40), room: nil), house)
            #expect(outcome == .accepted)
            #expect(await house.turn(seconds: 60) { Self.told(kitchen).last == 60 && Self.told(bath).last == 40 })
            let levels = Self.told(kitchen).drop { $0 != 20 }
            #expect(zip(levels, levels.dropFirst()).allSatisfy { $0 < $1 && $1 - $0 <= 3 }, "\(levels)")
            #expect(Self.told(bath).allSatisfy { $0 <= 40 })
            #expect(await house.session()?.members.first { $0.name == "Kitchen" }?.volume?.level.percent == 60)
        }
    }

    @Test("a volume that a person sets ends a fade, and so does a turn of the device's own knob")
    func overruled() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            let bath = try #require(house.airplay.session(named: "Bath"))
            _ = try await Self.command(.setVolume(VolumePosition(0.2), room: nil), house)
            let fade = RemoteCommand.fade(to: VolumePosition(0.6), over: MediaTime(seconds: 40), room: nil)
            _ = try await Self.command(fade, house)
            #expect(await house.turn(seconds: 10) { Self.told(kitchen).count > 3 && Self.told(bath).count > 3 })
            // Ahead of where it is, on its way.
            bath.reports { $0.volume = VolumeState(level: VolumePosition(0.55)) }
            #expect(
                await eventually {
                    await house.session()?.members.first { $0.name == "Bath" }?.volume?.level.percent == 55
                })
            let (played, turned) = (Self.told(kitchen).count, Self.told(bath).count)
            #expect(await house.turn(seconds: 15) { Self.told(kitchen).count > played + 4 })
            // One step may have been on its way.
            #expect(Self.told(bath).count <= turned + 1)
            _ = try await Self.command(.setVolume(VolumePosition(0.1), room: "Kitchen"), house)
            let before = Self.told(kitchen).count
            #expect(Self.told(kitchen).last == 10)
            // The witness that time goes on: the position, which only the turned clock moves.
            let begun = try #require(await house.session()?.position)
            #expect(
                await house.turn(seconds: 20) {
                    _ = try? await Self.command(.repeatMode(.all), house)
                    return (await house.session()?.position ?? .zero) > begun + MediaTime(seconds: 8)
                })
            #expect(Self.told(kitchen).count == before)
        }
    }

    @Test("each room has a fade of its own, and one of all takes them over")
    func severalAtOnce() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            let bath = try #require(house.airplay.session(named: "Bath"))
            _ = try await Self.command(.setVolume(VolumePosition(0.5), room: nil), house)
            for (room, level) in [("Kitchen", 0.1), ("Bath", 0.9)] {
                let fade = RemoteCommand.fade(to: VolumePosition(level), over: MediaTime(seconds: 20), room: room)
                #expect(try await Self.command(fade, house) == .accepted)
            }
            #expect(await house.turn(seconds: 30) { Self.told(kitchen).last == 10 && Self.told(bath).last == 90 })
            let back = RemoteCommand.fade(to: VolumePosition(0.5), over: MediaTime(seconds: 20), room: "Bath")
            #expect(try await Self.command(back, house) == .accepted)
            #expect(await house.turn(seconds: 5) { Self.told(bath).last ?? 90 < 85 })
            let all = RemoteCommand.fade(to: VolumePosition(1), over: MediaTime(seconds: 20), room: nil)
            #expect(try await Self.command(all, house) == .accepted)
            #expect(await house.turn(seconds: 30) { Self.told(bath).last == 100 })
        }
    }

    @Test("a fade of nothing, of too long, of a room that is not there")
    func refused() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            let level = VolumePosition(0.5)
            await #expect(throws: RouterError.self) {
                try await Self.command(.fade(to: level, over: MediaTime(seconds: 3601), room: nil), house)
            }
            await #expect(throws: RouterError.self) {
                try await Self.command(.fade(to: level, over: MediaTime(seconds: -1), room: nil), house)
            }
            #expect(
                try await Self.command(.fade(to: level, over: MediaTime(seconds: 1), room: "Attic"), house)
                    == .deviceNotFound)
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            _ = try await Self.command(.fade(to: VolumePosition(0.7), over: .zero, room: nil), house)
            #expect(await house.turn(seconds: 1) { Self.told(kitchen).last == 70 })
        }
    }
}
