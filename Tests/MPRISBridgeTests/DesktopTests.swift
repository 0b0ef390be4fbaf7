import Foundation
import PeerSupport
import RouteModel
import RouterTestKit
import Synchronization
import Testing

@testable import MPRISBridge

/// A bus, a router of two sessions and the bridge between them.
struct Desktop {
    let bus: DesktopBus
    let clock = ManualClock(now: 0)
    let router: ScriptedPlayers
    let notices = Notices()

    static let kitchen = "router.se-kitchen"
    static let lounge = "router.se-lounge"

    final class Notices: Sendable {
        private let all = Mutex<[Notice]>([])
        var list: [Notice] { all.withLock { $0 } }
        func add(_ notice: Notice) { all.withLock { $0.append(notice) } }
    }

    init(_ bus: DesktopBus, sessions: [SessionSnapshot]? = nil) {
        self.bus = bus
        let sessions =
            sessions ?? [
                .sample("se-kitchen", rooms: ["Kitchen"], items: ["one", "two", "three"].map { .sample($0) }),
                .sample("se-lounge", rooms: ["Lounge"], items: [.sample("four")]),
            ]
        router = ScriptedPlayers(sessions, clock: clock)
    }

    func configuration(
        art: String? = nil, picture: @escaping @Sendable (QueueItem) async -> [UInt8]? = { _ in nil }
    ) -> MPRISConfiguration {
        MPRISConfiguration(
            address: bus.address, artFolder: art, now: { clock.now() }, picture: picture,
            notice: { notices.add($0) })
    }

    /// Runs the bridge for as long as `body` does.
    func live(_ configuration: MPRISConfiguration? = nil, _ body: @escaping @Sendable () async throws -> Void)
        async throws
    {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await MPRISBridge.run(router: router, configuration: configuration ?? self.configuration())
            }
            let result: Result<Void, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            group.cancelAll()
            try await group.waitForAll()
            try result.get()
        }
    }

    func player(_ name: String, _ arguments: String...) async throws -> String {
        var outcome = try await bus.run("playerctl", ["--player", name] + arguments)
        outcome.output = outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
        return outcome.output
    }

    func isThere(_ name: String = kitchen) async -> Bool {
        await eventually { (try? await player(name, "status"))?.isEmpty == false }
    }

    /// A call by dbus-send; the error's name, or nil where it was done.
    func refusal(_ member: String, _ arguments: String...) async throws -> String? {
        let outcome = try await bus.run(
            "dbus-send",
            [
                "--session", "--print-reply", "--reply-timeout=10000", "--dest=org.mpris.MediaPlayer2.\(Self.kitchen)",
                MPRISName.path, member,
            ] + arguments)
        guard outcome.status != 0 else { return nil }
        return outcome.errors.split(separator: " ").dropFirst().first.map { $0.trimmingCharacters(in: [":"]) }
    }

    func isDone(_ member: String, _ arguments: String...) async throws {
        let outcome = try await bus.run(
            "dbus-send",
            [
                "--session", "--print-reply", "--reply-timeout=10000", "--dest=org.mpris.MediaPlayer2.\(Self.kitchen)",
                MPRISName.path, member,
            ] + arguments)
        #expect(outcome.status == 0, "\(member): \(outcome.errors)")
    }

    /// The command that was told last, where it was told by MPRIS.
    func told(_ session: String) -> RemoteCommand? {
        let last = router.told.last
        return last?.session?.rawValue == session && last?.origin == .mpris ? last?.command : nil
    }
}

@Suite(.enabled(if: DesktopBus.absence == nil, "dbus-daemon, dbus-send and playerctl are needed"), .serialized)
struct DesktopTests {
    private func withDesktop(_ body: @escaping @Sendable (Desktop) async throws -> Void) async throws {
        let desktop = Desktop(try DesktopBus())
        try #require(await desktop.bus.isUp())
        try await desktop.live {
            try #require(await desktop.isThere())
            try #require(await desktop.isThere(Desktop.lounge))
            try await body(desktop)
        }
    }

    @Test("C17 R7 playerctl lists a player for each session, and each tells of its own")
    func lists() async throws {
        try await withDesktop { desktop in
            let names = try await desktop.bus.playerctl(nil, "--list-all").output.split(separator: "\n").sorted()
            #expect(names == ["router.se-kitchen", "router.se-lounge"])
            #expect(try await desktop.player(Desktop.kitchen, "metadata", "xesam:title") == "Title of one")
            #expect(try await desktop.player(Desktop.lounge, "metadata", "xesam:title") == "Title of four")
            #expect(try await desktop.player(Desktop.kitchen, "metadata", "mpris:length") == "180000000")
            #expect(
                try await desktop.player(Desktop.kitchen, "metadata", "mpris:trackid") == "'/org/router/track/one'")
            #expect(try await desktop.player(Desktop.kitchen, "metadata", "xesam:url") == "file:///music/one.flac")
        }
    }

    @Test("C17 R7 play-pause, next, previous and stop act on the session that was meant, with MPRIS as origin")
    func transport() async throws {
        try await withDesktop { desktop in
            #expect(try await desktop.player(Desktop.kitchen, "play-pause") == "")
            #expect(desktop.told("se-kitchen") == .toggle)
            #expect(try await desktop.player(Desktop.kitchen, "status") == "Paused")
            #expect(try await desktop.player(Desktop.lounge, "status") == "Playing")
            _ = try await desktop.player(Desktop.kitchen, "play")
            _ = try await desktop.player(Desktop.kitchen, "next")
            #expect(desktop.told("se-kitchen") == .next)
            #expect(try await desktop.player(Desktop.kitchen, "metadata", "title") == "Title of two")
            _ = try await desktop.player(Desktop.kitchen, "previous")
            #expect(try await desktop.player(Desktop.kitchen, "metadata", "title") == "Title of one")
            _ = try await desktop.player(Desktop.kitchen, "loop", "Playlist")
            #expect(try await desktop.player(Desktop.kitchen, "loop") == "Playlist")
            _ = try await desktop.player(Desktop.kitchen, "shuffle", "On")
            #expect(try await desktop.player(Desktop.kitchen, "shuffle") == "On")
            // Whoever stops a session is answered, though its player goes with it.
            let stopped = try await desktop.bus.playerctl(Desktop.lounge, "stop")
            #expect(stopped.status == 0, "\(stopped.errors)")
            #expect(await eventually { (try? await desktop.bus.names())?.contains("se-lounge") == false })
            #expect(await desktop.isThere())
        }
    }

    /// playerctl reads the position once and lets it go on by its own clock until it prints.
    private func isAt(_ seconds: Double, _ desktop: Desktop) async throws -> Bool {
        let told = try #require(Double(try await desktop.player(Desktop.kitchen, "position")))
        return (seconds..<seconds + 8).contains(told)
    }

    @Test("C17 the position is read as it is now, and is set by track")
    func position() async throws {
        try await withDesktop { desktop in
            desktop.clock.advance(seconds: 42)
            #expect(try await isAt(42, desktop))
            _ = try await desktop.player(Desktop.kitchen, "position", "100")
            #expect(desktop.told("se-kitchen") == .seek(to: MediaTime(seconds: 100)))
            #expect(try await isAt(100, desktop))
            _ = try await desktop.player(Desktop.kitchen, "position", "10-")
            #expect(desktop.told("se-kitchen") == .seekBy(MediaTime(seconds: -10)))
            #expect(try await isAt(90, desktop))
        }
    }

    @Test("C17 the volume is read and set, clamped to the slider, and heard again where it was muted")
    func volume() async throws {
        try await withDesktop { desktop in
            #expect(try await desktop.player(Desktop.kitchen, "volume") == "0.500000")
            _ = try await desktop.player(Desktop.kitchen, "volume", "0.25")
            #expect(desktop.told("se-kitchen") == .setVolume(VolumePosition(0.25), room: nil))
            #expect(try await desktop.player(Desktop.kitchen, "volume") == "0.250000")
            try await desktop.isDone(
                "org.freedesktop.DBus.Properties.Set", "string:\(MPRISName.player)", "string:Volume",
                "variant:double:1e9")
            #expect(desktop.told("se-kitchen") == .setVolume(VolumePosition(1), room: nil))
            desktop.router.change("se-kitchen") { $0.members[0].volume?.muted = true }
            #expect(await eventually { (try? await desktop.player(Desktop.kitchen, "volume")) == "0.000000" })
            _ = try await desktop.player(Desktop.kitchen, "volume", "0.3")
            #expect(try await desktop.player(Desktop.kitchen, "volume") == "0.300000")
            #expect(desktop.told("se-kitchen") == .mute(false, room: nil))
        }
    }

    @Test("C17 R7 playerctl follows two sessions at once, and sees jumps and changes of others")
    func follows() async throws {
        try await withDesktop { desktop in
            let format = "{{status}} {{title}}"
            let followers = try [Desktop.kitchen, Desktop.lounge].map {
                try RunningProgram(
                    desktop.bus, ["playerctl", "--player", $0, "metadata", "--follow", "--format", format])
            }
            func sees(_ number: Int, _ line: String) async -> Bool {
                await eventually { followers[number].lines.last == line }
            }
            #expect(await sees(0, "Playing Title of one"))
            #expect(await sees(1, "Playing Title of four"))
            _ = try await desktop.player(Desktop.kitchen, "next")
            #expect(await sees(0, "Playing Title of two"))
            desktop.router.change("se-lounge") {
                $0.media = .paused
                $0.anchor?.rate = 0
            }
            #expect(await sees(1, "Paused Title of four"))
            // Title changes of what goes on, as of a radio station.
            desktop.router.change("se-kitchen") { $0.queue.items[1].metadata.title = "Another title" }
            #expect(await sees(0, "Playing Another title"))
            #expect(await sees(1, "Paused Title of four"))
        }
    }

    @Test("C17 Seeked is told when there was a jump, and at no other time")
    func seeked() async throws {
        try await withDesktop { desktop in
            let monitor = try RunningProgram(
                desktop.bus,
                [
                    "dbus-monitor", "--session",
                    "type='signal',interface='org.mpris.MediaPlayer2.Player',member='Seeked'",
                ])
            // It prints what it hears of itself first.
            #expect(await eventually { monitor.output.contains("NameAcquired") })
            func count() -> Int { monitor.lines.count { $0.contains("member=Seeked") } }
            desktop.clock.advance(seconds: 5)
            _ = try await desktop.player(Desktop.kitchen, "pause")
            desktop.clock.advance(seconds: 5)
            _ = try await desktop.player(Desktop.kitchen, "play")
            _ = try await desktop.player(Desktop.kitchen, "next")
            _ = try await desktop.player(Desktop.kitchen, "position", "30")
            #expect(await eventually { count() == 1 })
            #expect(monitor.output.contains("int64 30000000"))
            _ = try await desktop.player(Desktop.kitchen, "position", "60")
            #expect(await eventually { count() == 2 })
        }
    }

    @Test("C17 an address that is opened plays in that session's rooms; one that is not there is told by name")
    func opens() async throws {
        try await withDesktop { desktop in
            _ = try await desktop.player(Desktop.kitchen, "open", "https://a.example/new.mp3")
            #expect(desktop.router.edits == [.playNext(["https://a.example/new.mp3"])])
            #expect(
                try await desktop.player(Desktop.kitchen, "metadata", "xesam:url") == "https://a.example/new.mp3")
            let open = "\(MPRISName.player).OpenUri"
            #expect(
                try await desktop.refusal(open, "string:https://a.example/missing.mp3")
                    == "org.freedesktop.DBus.Error.FileNotFound")
            #expect(
                try await desktop.refusal(open, "string:/etc/passwd") == "org.freedesktop.DBus.Error.InvalidArgs")
        }
    }

    @Test("C17 bad calls of the bus are refused by name, and the player goes on")
    func badCalls() async throws {
        try await withDesktop { desktop in
            let set = "\(MPRISName.properties).Set"
            let player = "string:\(MPRISName.player)"
            let bad: [(String, [String], String)] = [
                ("\(MPRISName.player).Fly", [], "UnknownMethod"),
                ("org.example.Nothing.Fly", [], "UnknownInterface"),
                ("\(MPRISName.player).Seek", ["string:later"], "InvalidArgs"),
                ("\(MPRISName.player).Seek", [], "InvalidArgs"),
                ("\(MPRISName.player).SetPosition", ["int64:1", "int64:1"], "InvalidArgs"),
                (set, [player, "string:Volume", "variant:string:loud"], "InvalidArgs"),
                (set, [player, "string:Volume", "variant:double:nan"], "InvalidArgs"),
                (set, [player, "string:Volume", "double:0.5"], "InvalidArgs"),
                (set, [player, "string:PlaybackStatus", "variant:string:Playing"], "PropertyReadOnly"),
                (set, [player, "string:Colour", "variant:string:red"], "UnknownProperty"),
                (set, ["string:org.example", "string:Volume", "variant:double:1"], "UnknownInterface"),
                ("\(MPRISName.properties).Get", [player, "string:Colour"], "UnknownProperty"),
                (set, [player, "string:Rate", "variant:double:64"], "InvalidArgs"),
                (
                    "\(MPRISName.trackList).GetTracksMetadata", ["array:string:a"], "InvalidArgs"
                ),
            ]
            for (member, arguments, name) in bad {
                let outcome = try await desktop.bus.run(
                    "dbus-send",
                    [
                        "--session", "--print-reply", "--reply-timeout=10000",
                        "--dest=org.mpris.MediaPlayer2.\(Desktop.kitchen)", MPRISName.path, member,
                    ] + arguments)
                #expect(outcome.status != 0, "\(member)")
                #expect(outcome.errors.contains("org.freedesktop.DBus.Error.\(name)"), "\(member): \(outcome.errors)")
            }
            // A wrong path is nobody's.
            let elsewhere = try await desktop.bus.send(
                "org.mpris.MediaPlayer2.\(Desktop.kitchen)", "/org/mpris/Other", "\(MPRISName.player).Play")
            #expect(elsewhere.errors.contains("UnknownObject") || elsewhere.errors.contains("UnknownMethod"))
            #expect(desktop.router.told.isEmpty)
            #expect(await desktop.isThere())
        }
    }

    @Test("C17 what the router refuses is an error by name, and what has no object is none")
    func refusals() async throws {
        try await withDesktop { desktop in
            desktop.router.answers([
                .denied, .unsupported, .noActionableItem, .failed(RouterError(.routeLost, "the room is gone")),
            ])
            let next = "\(MPRISName.player).Next"
            var refusals: [String?] = []
            for _ in 0..<4 { refusals.append(try await desktop.refusal(next)) }
            #expect(
                refusals == [
                    "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.NotSupported", nil,
                    "org.router.Error.routeLost",
                ])
        }
    }

    @Test("C17 of a slider that is dragged the last place counts, and a hundred commands at once are bounded")
    func flood() async throws {
        try await withDesktop { desktop in
            desktop.router.hold()
            let name = "org.mpris.MediaPlayer2.\(Desktop.kitchen)"
            let script = """
                set='dbus-send --session --type=method_call --dest=\(name) \(MPRISName.path) \(MPRISName.properties).Set'
                for i in 1 2 3 4 5 6 7 8 9; do
                    $set string:\(MPRISName.player) string:Volume variant:double:0.$i
                done
                for i in $(seq 100); do
                    dbus-send --session --type=method_call --dest=\(name) \(MPRISName.path) \(MPRISName.player).Next
                done
                """
            let flood = try await desktop.bus.run("sh", ["-c", script])
            #expect(flood.status == 0, "\(flood.errors)")
            #expect(await eventually { desktop.router.holding == 1 })
            // The limit is reached, and told to whoever waits for an answer.
            #expect(
                await eventually {
                    (try? await desktop.refusal("\(MPRISName.player).Next"))
                        == "org.freedesktop.DBus.Error.LimitsExceeded"
                })
            #expect(try await desktop.player(Desktop.lounge, "status") == "Playing")
            desktop.router.release()
            let limit = PlayerPort.maximumWaiting
            #expect(await eventually { desktop.router.told.count == limit })
            await othersHaveRun()
            let volumes = desktop.router.told.filter { if case .setVolume = $0.command { true } else { false } }
            #expect(volumes.count <= 2)
            #expect(volumes.last?.command == .setVolume(VolumePosition(0.9), room: nil))
        }
    }

    @Test("C17 the track list is given, edited and gone through")
    func trackList() async throws {
        try await withDesktop { desktop in
            let name = "org.mpris.MediaPlayer2.\(Desktop.kitchen)"
            let all = try await desktop.bus.send(
                name, MPRISName.path, "\(MPRISName.properties).GetAll", "string:\(MPRISName.trackList)")
            #expect(all.output.contains("/org/router/track/three"))
            let metadata = try await desktop.bus.send(
                name, MPRISName.path, "\(MPRISName.trackList).GetTracksMetadata",
                "array:objpath:/org/router/track/two")
            #expect(metadata.output.contains("Title of two") && !metadata.output.contains("Title of one"))
            let monitor = try RunningProgram(
                desktop.bus,
                ["dbus-monitor", "--session", "type='signal',interface='\(MPRISName.trackList)'"])
            #expect(await eventually { monitor.output.contains("NameAcquired") })
            try await desktop.isDone(
                "\(MPRISName.trackList).AddTrack", "string:https://a.example/x.mp3",
                "objpath:/org/router/track/three", "boolean:true")
            #expect(desktop.router.edits == [.append(["https://a.example/x.mp3"])])
            #expect(await eventually { monitor.output.contains("TrackListReplaced") })
            try await desktop.isDone("\(MPRISName.trackList).GoTo", "objpath:/org/router/track/two")
            #expect(desktop.told("se-kitchen") == .jump(ItemID(rawValue: "two")))
            try await desktop.isDone("\(MPRISName.trackList).RemoveTrack", "objpath:/org/router/track/three")
            #expect(desktop.router.edits.last == .remove([ItemID(rawValue: "three")]))
        }
    }

    @Test("C17 introspection is XML that names all interfaces")
    func introspection() async throws {
        try await withDesktop { desktop in
            let answer = try await desktop.bus.send(
                "org.mpris.MediaPlayer2.\(Desktop.kitchen)", MPRISName.path,
                "org.freedesktop.DBus.Introspectable.Introspect")
            #expect(answer.output.contains("<interface name=\"org.mpris.MediaPlayer2.TrackList\">"))
        }
    }
}
