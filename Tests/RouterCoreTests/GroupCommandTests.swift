import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("R2 volume commands that name a group", .timeLimit(.minutes(2)))
struct GroupCommandTests {
    private static func live(_ body: @escaping @Sendable (House) async throws -> Void) async throws {
        let house = House { airplay, cast in
            [
                airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Bath", host: "10.0.0.2"),
                cast.endpoint(named: "Lounge", host: "10.0.0.3"),
            ]
        }
        house.media.add("one", seconds: 600)
        try await house.live { house in
            _ = try await house.engine.saveGroup(RoomGroup(name: "Down", rooms: ["Kitchen", "Bath"]))
            _ = try await house.play(["one"], in: ["Kitchen", "Bath", "Lounge"])
            try await send(
                [
                    .setVolume(VolumePosition(0.8), room: "Kitchen"), .setVolume(VolumePosition(0.4), room: "Bath"),
                    .setVolume(VolumePosition(0.5), room: "Lounge"),
                ], house)
            try await body(house)
        }
    }

    private static func send(_ commands: [RemoteCommand], _ house: House) async throws {
        for command in commands {
            // What the devices have to say of the one before is heard first.
            await othersHaveRun()
            // One volume after another is not the last of a drag.
            house.clock.advance(seconds: 1)
            let outcome = try await house.engine.perform(command, session: nil, origin: .cli).outcome
            #expect(!outcome.isError, "\(command): \(outcome)")
        }
    }

    /// Per cent of Kitchen, Bath and Lounge.
    private static func levels(_ house: House) async -> [Int] {
        await house.session()?.members.map { Int((($0.volume?.level.value ?? 0) * 100).rounded()) } ?? []
    }

    @Test(
        "its rooms keep their proportions, and rooms that are not of it their level",
        arguments: ["Down", "@group:down"])
    func sets(_ name: String) async throws {
        try await Self.live { house in
            try await Self.send([.setVolume(VolumePosition(0.4), room: name)], house)
            #expect(await Self.levels(house) == [40, 20, 50])
            try await Self.send([.stepVolume(0.2, room: name)], house)
            #expect(await Self.levels(house) == [60, 30, 50])
            // All the way down and up is the way back.
            try await Self.send([.setVolume(VolumePosition(0), room: name)], house)
            #expect(await Self.levels(house) == [0, 0, 50])
            try await Self.send([.setVolume(VolumePosition(0.8), room: name)], house)
            #expect(await Self.levels(house) == [80, 40, 50])
            try await Self.send([.mute(true, room: name)], house)
            #expect(await house.session()?.members.map { $0.volume?.muted } == [true, true, false])
        }
    }

    @Test("a fade of it is one of its rooms, each from its own level")
    func fades() async throws {
        try await Self.live { house in
            try await Self.send([.fade(to: VolumePosition(0.4), over: MediaTime(seconds: 4), room: "Down")], house)
            // In small steps: what a device says later than half a second after it was told is somebody's hand there.
            let isThere = await house.turn(seconds: 6, step: 0.1) { await Self.levels(house) == [40, 20, 50] }
            let levels = await Self.levels(house)
            #expect(isThere, "\(levels)")
        }
    }

    @Test(
        "where all rooms are of it, it is the master; a room of its name goes first, and a group that is no more is none"
    )
    func whole() async throws {
        try await Self.live { house in
            _ = try await house.engine.saveGroup(RoomGroup(name: "All", rooms: ["Lounge", "Bath", "Kitchen"]))
            try await Self.send([.setVolume(VolumePosition(0.4), room: "all")], house)
            #expect(await Self.levels(house) == [40, 20, 25])
            #expect(await house.session()?.volume?.level.value == 0.4)
            try await house.engine.removeGroup("All")
            let outcome = try await house.engine.perform(
                .setVolume(VolumePosition(0.9), room: "All"), session: nil, origin: .cli
            ).outcome
            #expect(outcome == .deviceNotFound)
            #expect(await Self.levels(house) == [40, 20, 25])
        }
    }
}
