import CSystemd
import Foundation
import PeerSupport
import RouteModel
import RouterTestKit
import Testing

@testable import MPRISBridge

struct ForeignPlayerTests {
    @Test("C17 what others say of themselves is read in whatever type they write it")
    func reads() {
        let (metadata, url) = PlayerMetadata.read([
            "xesam:title": .string("Song"), "xesam:artist": .strings(["A", "", "B"]),
            "xesam:album": .variant(.string("C")),
            "mpris:length": .uint64(1_500_000), "xesam:trackNumber": .double(7), "xesam:discNumber": .int32(-1),
            "mpris:artUrl": .string("https://a.example/x.png"), "xesam:url": .string("file:///a.mp3"),
            "xesam:genre": .other("(ss)"),
        ])
        #expect(metadata.title == "Song" && metadata.artist == "A, B" && metadata.album == "C")
        #expect(metadata.duration == MediaTime(seconds: 1.5))
        #expect(metadata.trackNumber == 7 && metadata.discNumber == nil && metadata.genre == nil)
        #expect(metadata.images.map(\.url) == ["https://a.example/x.png"])
        #expect(url == "file:///a.mp3" && metadata.kind == .music)
    }

    @Test(
        "C17 lengths that are none are left out",
        arguments: [BusValue.int64(-5), .double(.infinity), .double(1e300), .string("3:00"), .uint64(.max)])
    func lengths(_ value: BusValue) {
        #expect(PlayerMetadata.read(["mpris:length": value]).metadata.duration == nil)
    }

    @Test("C17 the position of another player goes on while it plays, and no further than its end")
    func position() {
        var player = ForeignPlayer(id: "x", identity: "X")
        player.take(
            [
                "PlaybackStatus": .string("Playing"), "Position": .int64(10_000_000), "Rate": .double(2),
                "Metadata": .dictionary(["xesam:title": .string("a"), "mpris:length": .int64(60_000_000)]),
                "Volume": .double(7), "CanControl": .boolean(true),
            ], at: 0)
        #expect(player.position(at: .seconds(5)) == MediaTime(seconds: 20))
        #expect(player.position(at: .seconds(500)) == MediaTime(seconds: 60))
        #expect(player.volume == VolumePosition(1) && player.canControl)
        player.take(["PlaybackStatus": .string("Paused")], at: .seconds(5))
        #expect(player.position(at: .seconds(50)) == MediaTime(seconds: 20))
        player.take(["Metadata": .dictionary(["xesam:title": .string("b")])], at: .seconds(50))
        #expect(player.position(at: .seconds(50)) == .zero && player.metadata.duration == nil)
        player.take(["PlaybackStatus": .string("Dancing"), "Rate": .double(.nan)], at: .seconds(51))
        #expect(player.media == .paused && player.rate == 2)
    }
}

/// A player of another program: answers `GetAll` as it is told, or never.
actor OtherPlayer: BusThreadClient {
    private let thread: BusThread
    private let connection: BusConnection
    private var fields: [String: BusValue]
    private var isMute = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ address: String, fields: [String: BusValue]) throws {
        thread = try BusThread(named: "other player")
        connection = try BusConnection(address: address)
        self.fields = fields
    }

    func start(_ names: [String]) throws {
        try connection.serve(MPRISName.path) { [weak self] message in
            self?.assumeIsolated { $0.answer(message) } ?? false
        }
        for name in names { try connection.request(name: MPRISName.playerPrefix + name) { _ in } }
        thread.serve(self)
    }

    var interests: BusInterests { connection.interests }
    func turn() { try? connection.process() }

    private func answer(_ message: BusMessage) -> Bool {
        guard message.member == "GetAll", let reply = try? message.reply() else { return false }
        let isPlayer = (try? message.values())?.first?.text == MPRISName.player
        try? reply.append([.dictionary(isPlayer ? fields : ["Identity": .string("The Other")])])
        try? reply.send()
        return true
    }

    func change(_ changed: [String: BusValue], invalidating names: [String] = []) throws {
        fields.merge(changed) { $1 }
        let told = changed.filter { !names.contains($0.key) }
        try connection.emit(
            MPRISName.path, MPRISName.properties, "PropertiesChanged",
            [.string(MPRISName.player), .dictionary(told), .strings(names)])
    }

    func seek(to microseconds: Int64) throws {
        fields["Position"] = .int64(microseconds)
        try connection.emit(MPRISName.path, MPRISName.player, "Seeked", [.int64(microseconds)])
    }
}

@Suite(.enabled(if: DesktopBus.absence == nil, "dbus-daemon, dbus-send and playerctl are needed"), .serialized)
struct ForeignPlayersTests {
    /// The lists as they come, and the last one.
    private actor Lists {
        private(set) var last = ForeignPlayerList()
        func take(_ list: ForeignPlayerList) { last = list }
    }

    private func watching(_ bus: DesktopBus, _ body: (Lists) async throws -> Void) async throws {
        let lists = Lists()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await list in ForeignPlayers.watch(address: bus.address, now: { 0 }) { await lists.take(list) }
            }
            try await body(lists)
            group.cancelAll()
        }
    }

    private static let fields: [String: BusValue] = [
        "PlaybackStatus": .string("Paused"), "Position": .int64(3_000_000),
        "Metadata": .dictionary(["xesam:title": .string("First")]),
    ]

    @Test("C17 other players are seen: those that are there, those that come, what they change, and that they go")
    func sees() async throws {
        let bus = try DesktopBus()
        try #require(await bus.isUp())
        let early = try OtherPlayer(bus.address, fields: Self.fields)
        // Two names of one program are one player.
        try await early.start(["early", "early.instance1"])
        try await watching(bus) { lists in
            #expect(await eventually { await lists.last.players.map(\.metadata.title) == ["First"] })
            #expect(await lists.last.players.first?.identity == "The Other")
            #expect(await lists.last.players.first?.position == MediaTime(seconds: 3))
            var late: OtherPlayer? = try OtherPlayer(bus.address, fields: Self.fields)
            try await late?.start(["late"])
            #expect(await eventually { await lists.last.players.map(\.id) == ["early", "late"] })
            try await early.change(["PlaybackStatus": .string("Playing")])
            #expect(await eventually { await lists.last.players.first?.media == .playing })
            try await early.change(
                ["Metadata": .dictionary(["xesam:title": .string("Second")])], invalidating: ["Metadata"])
            #expect(await eventually { await lists.last.players.first?.metadata.title == "Second" })
            try await early.seek(to: 90_000_000)
            #expect(await eventually { await lists.last.players.first?.position == MediaTime(seconds: 90) })
            late = nil
            #expect(await eventually { await lists.last.players.map(\.id) == ["early"] })
            _ = late
        }
    }

    @Test("C17 `router watch --desktop` prints them, one line for each change")
    func printed() async throws {
        let bus = try DesktopBus()
        try #require(await bus.isUp())
        let other = try OtherPlayer(bus.address, fields: Self.fields)
        try await other.start(["other"])
        let watch = try RouterProcess(
            ["watch", "--desktop"], environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        #expect(await eventually { watch.output.contains(#""title":"First""#) }, "\(watch.errors)")
        try await other.change(["PlaybackStatus": .string("Playing")])
        #expect(
            await eventually {
                watch.output.split(separator: "\n").last.map { $0.contains(#""media":"playing""#) } ?? false
            }, "\(watch.output)")
        watch.interrupt()
        #expect(await watch.outcome(within: .seconds(10)).status == 0)
        let wrong = try await RouterProcess.run(["watch", "--desktop", "--events", "notice"])
        #expect(wrong.status == 64 && wrong.errors.contains("--desktop has no --events"))
    }

    @Test("C17 a player that says nonsense of itself is seen without it, and our own are not seen at all")
    func nonsense() async throws {
        let bus = try DesktopBus()
        try #require(await bus.isUp())
        let odd = try OtherPlayer(
            bus.address,
            fields: [
                "PlaybackStatus": .int32(1), "Metadata": .strings(["x"]), "Position": .string("now"),
                "Rate": .double(.infinity), "Volume": .double(.nan),
            ])
        try await odd.start(["odd"])
        let ours = try OtherPlayer(bus.address, fields: Self.fields)
        try await ours.start(["router.se-1"])
        try await watching(bus) { lists in
            #expect(await eventually { await lists.last.players.map(\.id) == ["odd"] })
            let player = await lists.last.players.first
            #expect(player?.media == MediaState.none && player?.metadata == MediaMetadata() && player?.volume == nil)
        }
    }

    @Test("C17 without a bus that is told, and players are seen once there is one")
    func outage() async throws {
        let bus = try DesktopBus()
        try #require(await bus.isUp())
        try bus.stop()
        try await watching(bus) { lists in
            #expect(await eventually { await lists.last.outage != nil })
            try bus.start()
            #expect(await eventually { await lists.last.outage == nil })
            let player = try OtherPlayer(bus.address, fields: Self.fields)
            try await player.start(["one"])
            #expect(await eventually { await lists.last.players.count == 1 })
        }
    }

    @Test("C17 VLC is seen with what it plays", .enabled(if: Command.exists("vlc"), "vlc is not installed"))
    func vlc() async throws {
        let bus = try DesktopBus()
        try #require(await bus.isUp())
        let tone = bus.folder + "/tone.wav"
        try Data(Self.silence(seconds: 60)).write(to: URL(filePath: tone))
        // VLC refuses to run as root.
        let user = geteuid() == 0 ? ["setpriv", "--reuid=65534", "--clear-groups"] : []
        let vlc = try RunningProgram(
            bus, user + ["vlc", "-I", "dummy", "--control", "dbus", "--aout", "adummy", "--no-video", "--loop", tone])
        try await watching(bus) { lists in
            #expect(await eventually { await lists.last.players.first?.media == .playing })
            let player = try #require(await lists.last.players.first)
            #expect(player.identity.contains("VLC"))
            #expect(player.url == "file://\(tone)")
            #expect(await eventually { await lists.last.players.first?.metadata.duration == MediaTime(seconds: 60) })
            #expect(try await bus.playerctl(nil, "pause").status == 0)
            #expect(await eventually { await lists.last.players.first?.media == .paused })
        }
        withExtendedLifetime(vlc) {}
    }

    private static func silence(seconds: Int) -> [UInt8] {
        func little(_ value: Int, _ bytes: Int) -> [UInt8] { (0..<bytes).map { UInt8(value >> (8 * $0) & 255) } }
        let size = seconds * 8000
        return [UInt8]("RIFF".utf8) + little(36 + size, 4) + [UInt8]("WAVEfmt ".utf8) + little(16, 4) + little(1, 2)
            + little(1, 2) + little(8000, 4) + little(8000, 4) + little(1, 2) + little(8, 2) + [UInt8]("data".utf8)
            + little(size, 4) + [UInt8](repeating: 128, count: size)
    }
}
