import AirPlay
import HomeKitPairing
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

@testable import AirPlayBackend

/// Remote control beside the sound.
extension AirPlay2SessionTests {
    /// An Apple TV that shows a code.
    private static func television(_ change: (inout SimulatedAirPlay2Configuration) -> Void = { _ in }) async throws
        -> AirPlay2Room
    {
        try await AirPlay2Room(query: "&model=AppleTV14,1&osvers=18.0") {
            $0.model = "AppleTV14,1"
            $0.pairing = .code(.fixed("1234"))
            $0.dataSpeaker = SimulatedMRPDevice(name: "Room")
            change(&$0)
        }
    }

    private static func paired(_ room: AirPlay2Room) async throws -> any RouteSession {
        let flow = try await room.provider.pairing(with: room.endpoint, options: room.options())
        _ = try await flow.begin()
        guard case .done(let credentials) = try await flow.supply(Secret("1234")) else {
            throw RouterError(.internal, "the pairing is not done")
        }
        await flow.end()
        return try await room.open(credentials: credentials)
    }

    private static func device(_ room: AirPlay2Room) async -> SimulatedMRPDevice? {
        await room.receiver.speaker(as: SimulatedMRPDevice.self)
    }

    private static func first(_ count: Int, of session: any RouteSession) async -> [RemoteCommand] {
        var commands: [RemoteCommand] = []
        for await command in session.deviceCommands() {
            commands.append(command)
            if commands.count == count { break }
        }
        return commands
    }

    @Test("A10 MRP: a paired Apple TV is told what plays, and what is pressed there comes as commands of ours")
    func appleTV() async throws {
        let room = try await Self.television()
        let session = try await Self.paired(room)
        let feed = SignalFeed(frames: 44_100 * 60)
        try await ShairportSyncTests.play(feed, on: session)
        try await session.present(ShairportSyncTests.nowPlaying(feed))
        #expect(await eventually { await Self.device(room)?.shown?.title == "Title ü" })
        let shown = try #require(await Self.device(room)?.shown)
        #expect(shown.app == "Test")
        #expect(shown.artist == "Artist" && shown.album == "Album")
        #expect(shown.duration == 60)
        #expect(shown.state == 1)
        #expect(shown.artwork == ShairportSyncTests.picture)
        #expect(shown.commands.contains(5))
        #expect(await Self.device(room)?.controller == "Test")
        // A connection of its own, let in as the one that plays is, by our identity.
        let record = await room.receiver.record()
        #expect(record.sessions.map(\.isRemoteControlOnly) == [false, true])
        #expect(record.sessions.allSatisfy { $0.isEncrypted })
        #expect(Set(record.sessions.map(\.deviceID)).count == 1)
        #expect(record.streams.map(\.kind) == [.realtime, .data])

        await room.receiver.change(SimulatedMRPDevice.self) { $0.press(5) }
        await room.receiver.change(SimulatedMRPDevice.self) { $0.press(45, position: 30) }
        #expect(await Self.first(2, of: session) == [.next, .seek(to: MediaTime(seconds: 30))])
        // The answers are still on their way.
        #expect(await eventually { await Self.device(room)?.results == [0, 0] })
        #expect(try await session.perform(.pause) == .succeeded)
        #expect(await eventually { await Self.device(room)?.shown?.state == 2 })
        await session.end(.stop)
        #expect(await eventually { await room.receiver.record().teardowns == 2 })
        await room.stop()
    }

    @Test("A10 MRP: the volume turned at the device comes back, and our own is no news")
    func appleTVVolume() async throws {
        let room = try await Self.television { $0.initialVolume = -15 }
        let session = try await Self.paired(room)
        let updates = session.updates()
        try await ShairportSyncTests.play(SignalFeed(frames: 44_100 * 60), on: session)
        #expect(await eventually { await Self.device(room)?.heard.contains(16) == true })
        // Both ways say the same, as they do on a device.
        await room.receiver.turnKnob(to: -7.5)
        await room.receiver.change(SimulatedMRPDevice.self) { $0.turn(to: 0.75) }
        var levels: [Double] = []
        for await update in updates {
            if let level = update.volume?.level.value, levels.last != level { levels.append(level) }
            if levels.last == 0.75 { break }
        }
        #expect(levels == [0.5, 0.75])
        await session.end(.stop)
        await room.stop()
    }

    @Test("A10 one press that comes by the event channel and by MRP is one; two presses of one way are two")
    func onePress() async throws {
        let room = try await Self.television()
        let session = try await Self.paired(room)
        try await ShairportSyncTests.play(SignalFeed(frames: 44_100 * 60), on: session)
        #expect(await eventually { await Self.device(room)?.heard.contains(24) == true })
        #expect(await eventually { await room.receiver.record().eventConnections == 2 })
        await room.receiver.press(.next)
        await room.receiver.change(SimulatedMRPDevice.self) { $0.press(5) }
        await room.receiver.change(SimulatedMRPDevice.self) { $0.press(2) }
        await room.receiver.change(SimulatedMRPDevice.self) { $0.press(2) }
        #expect(await Self.first(3, of: session) == [.next, .pause, .pause])
        await session.end(.stop)
        await room.stop()
    }

    @Test("A10 MRP: a device that draws /command is not told twice, and one that refuses the stream plays all the same")
    func withoutStream() async throws {
        let drawing = try await Self.television { $0.drawsNowPlaying = true }
        var session = try await Self.paired(drawing)
        let feed = SignalFeed(frames: 44_100 * 60)
        try await ShairportSyncTests.play(feed, on: session)
        try await session.present(ShairportSyncTests.nowPlaying(feed))
        #expect(await eventually { await Self.device(drawing)?.heard.contains(24) == true })
        #expect(await drawing.receiver.record().commands.count == 5)
        #expect(await Self.device(drawing)?.shown == nil)
        await drawing.receiver.change(SimulatedMRPDevice.self) { $0.press(2) }
        #expect(await Self.first(1, of: session) == [.pause])
        await session.end(.stop)
        await drawing.stop()

        let refusing = try await Self.television { $0.dataSpeaker = nil }
        session = try await Self.paired(refusing)
        try await ShairportSyncTests.play(feed, on: session)
        #expect(await eventually { await refusing.receiver.record().refusals.contains("SETUP 415") })
        #expect(await eventually { await refusing.receiver.record().renderedFrames > 4000 })
        await session.end(.stop)
        await refusing.stop()
    }

    @Test("A9 What is said of an item that was paused at once is drawn all the same")
    func drawnWhilePaused() async throws {
        let room = try await AirPlay2Room { $0.drawsNowPlaying = true }
        let session = try await room.open()
        let feed = SignalFeed(frames: 44_100 * 60)
        try await ShairportSyncTests.play(feed, on: session)
        #expect(try await session.perform(.pause) == .succeeded)
        #expect(await room.receiver.record().commands.isEmpty)
        try await session.present(ShairportSyncTests.nowPlaying(feed))
        let commands = await room.receiver.record().commands
        #expect(commands.count == 5)
        #expect(commands.contains { $0["params"]?["mrPlaybackState"]?.integer == 2 })
        await session.end(.stop)
        await room.stop()
    }

    @Test("A8 A device that is read back as silent keeps the level it had")
    func muted() async throws {
        let room = try await AirPlay2Room { $0.initialVolume = -12 }
        let session = try await room.open()
        try await ShairportSyncTests.play(SignalFeed(frames: 44_100 * 60), on: session)
        await room.receiver.turnKnob(to: -144)
        let silent = VolumeState(level: VolumePosition(0.6), muted: true)
        #expect(await eventually { await Self.volume(session) == silent })
        await room.receiver.turnKnob(to: -3)
        #expect(await eventually { await Self.volume(session) == VolumeState(level: VolumePosition(0.9)) })
        #expect(await room.receiver.record().volumes.isEmpty)
        await session.end(.stop)
        await room.stop()
    }

    private static func volume(_ session: any RouteSession) async -> VolumeState? {
        for await update in session.updates() { return update.volume }
        return nil
    }
}

@Suite("A10 MRP who has a stream for remote control")
struct MediaRemoteChoiceTests {
    private static func verified() throws -> AirPlay2Admission {
        .verify(
            HomeKitCredentials(
                controller: ControllerIdentity(
                    identifier: "us", signingKey: SigningKey(seed: [UInt8](repeating: 1, count: 32))),
                accessoryIdentifier: Array("it".utf8), accessoryKey: [UInt8](repeating: 2, count: 32)))
    }

    @Test(
        "Apple TVs from tvOS 13 on for whoever is paired, HomePods for everybody, others never",
        arguments: [
            ("AppleTV6,2", "15.0", true, true), ("AppleTV6,2", nil, true, true), ("AppleTV6,2", "12.4", true, false),
            ("AppleTV6,2", "15.0", false, false), ("AudioAccessory5,1", "17.0", false, true),
            ("AudioAccessory5,1", "17.0", true, false), ("ShairportSync", "15.0", true, false), (nil, nil, true, false),
        ])
    func choice(_ model: String?, _ version: String?, _ isPaired: Bool, _ has: Bool) throws {
        var txt: [String: String] = [:]
        txt["model"] = model
        txt["osvers"] = version
        let admission = isPaired ? try Self.verified() : .transient(password: nil)
        #expect(AirPlay2Facts(txt: txt).takesMediaRemote(admission) == has)
        #expect(!AirPlay2Facts(txt: txt).takesMediaRemote(.openLegacy))
        #expect(!AirPlay2Facts(txt: txt).takesMediaRemote(.transient(password: Secret("word"))))
    }

    @Test("a press is the same one only by another way, and soon")
    func presses() {
        let first = DevicePress(command: .next, way: .events, instant: 0)
        func press(_ command: AirPlayRemoteCommand, _ way: DevicePress.Way, _ instant: Int64) -> Bool {
            DevicePress(command: command, way: way, instant: instant).repeats(first)
        }
        #expect(press(.next, .stream, 10))
        #expect(press(.next, .dacp, DevicePress.doubling - 1))
        #expect(!press(.next, .dacp, DevicePress.doubling))
        #expect(!press(.next, .events, 10))
        #expect(!press(.pause, .stream, 10))
        #expect(!first.repeats(nil))
    }
}
