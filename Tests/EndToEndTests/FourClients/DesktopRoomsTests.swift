import Foundation
import PeerSupport
import RouteModel
import RouterAPI
import RouterTestKit
import SimulatedReceivers
import Testing

/// `playerctl` and a real daemon, with an AirPlay room and a Cast room playing at once.
@Suite(
    "C17 R7 the desktop drives two rooms of a daemon", .serialized, .timeLimit(.minutes(3)),
    .enabled(if: DesktopBus.absence == nil, "dbus-daemon, dbus-send and playerctl are needed"))
struct DesktopRoomsTests {
    @Test("playerctl lists both, and does play-pause, next, position, volume, metadata and follow on each")
    func twoRooms() async throws {
        let house = try await MixedHouse()
        let daemon = try await house.startDaemon()
        do {
            try await drive(house)
        } catch {
            Issue.record(error, "\(daemon.errors)")
        }
        await house.end(daemon)
    }

    private func drive(_ house: MixedHouse) async throws {
        let kitchen = try await house.owner.play(PlayRequest(what: house.album, rooms: ["Kitchen"])).id
        let lounge = try await house.owner.play(PlayRequest(what: house.album, rooms: ["Lounge"])).id
        func player(_ session: SessionID, _ arguments: String...) async throws -> String {
            let outcome = try await house.bus.run(
                "playerctl", ["--player", MixedHouse.player(session)] + arguments)
            #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
            return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        func engine(_ session: SessionID) async -> SessionSnapshot? {
            await house.owner.sessions().first { $0.id == session }
        }
        let both = [kitchen, lounge]
        let listed = await eventually {
            let names = try? await house.bus.playerctl(nil, "--list-all").output.split(separator: "\n").map(String.init)
            return names.map(Set.init) == Set(both.map(MixedHouse.player))
        }
        try #require(listed)
        let format = "{{status}}|{{xesam:title}}|{{volume}}"
        let followers = try both.map { session in
            try RunningProgram(
                house.bus,
                ["playerctl", "--player", MixedHouse.player(session), "--follow", "metadata", "--format", format])
        }
        for (session, follower) in zip(both, followers) {
            #expect(await eventually { follower.lines.last?.hasPrefix("Playing|One|") == true }, "\(follower.lines)")
            #expect(try await player(session, "status") == "Playing")
            #expect(try await player(session, "metadata", "xesam:title") == "One")
            #expect(try await player(session, "metadata", "mpris:length") == "\(MixedHouse.itemSeconds)000000")
        }

        // One is paused, and the other plays on.
        _ = try await player(kitchen, "play-pause")
        #expect(await eventually { followers[0].lines.last?.hasPrefix("Paused|") == true }, "\(followers[0].lines)")
        #expect(await engine(kitchen)?.media == .paused)
        #expect(await house.screens["Lounge"]?.record().playerState == "PLAYING")
        _ = try await player(lounge, "play-pause")
        #expect(await eventually { await house.screens["Lounge"]?.record().playerState == "PAUSED" })
        for session in both { _ = try await player(session, "play-pause") }
        #expect(await eventually { await house.screens["Lounge"]?.record().playerState == "PLAYING" })

        for (session, follower) in zip(both, followers) {
            _ = try await player(session, "next")
            #expect(await eventually { follower.lines.last?.hasPrefix("Playing|Two|") == true }, "\(follower.lines)")
            _ = try await player(session, "position", "30")
            let position = try #require(Double(try await player(session, "position")))
            // AirPlay's sound begins a lead of two seconds later.
            #expect((27..<45).contains(position), "\(position)")
        }
        #expect(
            await eventually {
                (await house.screens["Lounge"]?.record()).map { $0.title == "Two" && $0.position > 30 } ?? false
            })
        #expect(
            await eventually {
                guard let speaker = house.speakers["Kitchen"], let mark = await speaker.heard().marks.last,
                    let tone = speaker.tone(at: mark.frame), let item = MixedHouse.item(ofTone: tone.frame)
                else { return false }
                return item.title == "Two" && item.seconds >= 30
            }, "what is heard in the kitchen is not what was asked for")

        for (session, (level, follower)) in zip(both, zip(["0.2", "0.15"], followers)) {
            _ = try await player(session, "volume", level)
            #expect(
                await eventually {
                    (try? await player(session, "volume"))
                        == "\(level.padding(toLength: 8, withPad: "0", startingAt: 0))"
                })
            #expect(
                await eventually {
                    follower.lines.last?.split(separator: "|").last.flatMap { Double($0) } == Double(level)
                }, "\(follower.lines)")
        }
        #expect(await eventually { await house.speakers["Kitchen"]?.heard().volumes.last == -24 })
        #expect(await eventually { await house.screens["Lounge"]?.record().level == 0.15 })

        // What somebody else does is followed too.
        _ = try await house.web.perform(.pause, session: lounge, origin: .web)
        #expect(await eventually { followers[1].lines.last?.hasPrefix("Paused|Two|") == true }, "\(followers[1].lines)")
        _ = try await player(kitchen, "stop")
        #expect(
            await eventually {
                (try? await house.bus.playerctl(nil, "--list-all").output) == MixedHouse.player(lounge)
            })
    }
}
