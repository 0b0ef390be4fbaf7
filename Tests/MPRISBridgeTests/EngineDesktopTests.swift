import Foundation
import PeerSupport
import RouteBackend
import RouteModel
import RouterCore
import RouterTestKit
import Testing

@testable import MPRISBridge

/// The real engine with fake devices, driven by `playerctl`.
@Suite(.enabled(if: DesktopBus.absence == nil, "dbus-daemon, dbus-send and playerctl are needed"), .serialized)
struct EngineDesktopTests {
    private struct House {
        let bus: DesktopBus
        let clock = SystemHostClock()
        let airplay: FakeProvider
        let cast: FakeProvider
        let engine: RouterEngine

        init(_ bus: DesktopBus) {
            self.bus = bus
            let format = AudioPacketFormat(codec: .alac)
            airplay = FakeProvider(
                family: .airplay,
                delivery: .push(PushRequirements(format: format, leadNanoseconds: 2_000_000_000)), clock: clock)
            cast = FakeProvider(
                family: .cast, delivery: .pull(PullRequirements(receiverAddress: "127.0.0.1")), clock: clock)
            let media = FakeMedia()
            for name in ["one", "two", "three"] { media.add("/music/\(name).flac", seconds: 600) }
            let stated = [
                airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), cast.endpoint(named: "Lounge", host: "10.0.0.2"),
            ]
            engine = RouterEngine(
                providers: [airplay, cast], browsing: nil, media: media, store: InMemoryStore(), clock: clock,
                configuration: EngineConfiguration(stated: stated))
        }

        func player(_ session: SessionID, _ arguments: String...) async throws -> String {
            let name = MPRISName.bus(session).dropFirst(MPRISName.playerPrefix.count)
            let outcome = try await bus.run("playerctl", ["--player", String(name)] + arguments)
            #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
            return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        func live(_ body: @escaping @Sendable (House) async throws -> Void) async throws {
            let clock = clock
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await engine.run() }
                group.addTask {
                    await MPRISBridge.run(
                        router: engine,
                        configuration: MPRISConfiguration(address: bus.address, now: { clock.now() }))
                }
                let result: Result<Void, any Error>
                do { result = .success(try await body(self)) } catch { result = .failure(error) }
                await engine.shutdown()
                group.cancelAll()
                try await group.waitForAll()
                try result.get()
            }
        }

        func session(_ id: SessionID) async -> SessionSnapshot? { await engine.sessions().first { $0.id == id } }
    }

    @Test("C17 R7 playerctl drives an AirPlay room and a Cast room at once: list, play-pause, next, position, volume")
    func drives() async throws {
        let house = House(try DesktopBus())
        try #require(await house.bus.isUp())
        try await house.live { house in
            let files = ["one", "two", "three"].map { "/music/\($0).flac" }
            let kitchen = try await house.engine.play(PlayRequest(what: files, rooms: ["Kitchen"])).id
            let lounge = try await house.engine.play(PlayRequest(what: files, rooms: ["Lounge"])).id
            #expect(
                await eventually {
                    (try? await house.bus.playerctl(nil, "--list-all").output)?.split(separator: "\n").count == 2
                })
            for session in [kitchen, lounge] {
                #expect(try await house.player(session, "status") == "Playing")
                #expect(try await house.player(session, "metadata", "xesam:title").contains("one.flac"))
                #expect(try await house.player(session, "metadata", "mpris:length") == "600000000")
            }

            _ = try await house.player(kitchen, "play-pause")
            #expect(await house.session(kitchen)?.media == .paused)
            #expect(await house.session(lounge)?.media == .playing)
            #expect(await eventually { (try? await house.player(kitchen, "status")) == "Paused" })
            _ = try await house.player(kitchen, "play-pause")
            #expect(await house.session(kitchen)?.media == .playing)

            for session in [kitchen, lounge] {
                _ = try await house.player(session, "next")
                #expect(await house.session(session)?.currentItem?.source.label == "two.flac")
                #expect(
                    await eventually {
                        (try? await house.player(session, "metadata", "xesam:title"))?.contains("two.flac") == true
                    })
                _ = try await house.player(session, "position", "300")
                let position = try #require(Double(try await house.player(session, "position")))
                // AirPlay's sound begins a lead of two seconds later.
                #expect((297...330).contains(position))
            }

            // Quieter: louder by so much would be a step of the engine's own size.
            _ = try await house.player(lounge, "volume", "0.25")
            #expect(
                await eventually { await house.session(lounge)?.members.first?.volume?.level == VolumePosition(0.25) })
            #expect(await eventually { (try? await house.player(lounge, "volume")) == "0.250000" })
            #expect(await house.session(kitchen)?.members.first?.volume?.level != VolumePosition(0.25))

            // Another one's command is seen by the desktop.
            _ = try await house.engine.perform(.pause, session: lounge, origin: .cli)
            #expect(await eventually { (try? await house.player(lounge, "status")) == "Paused" })

            _ = try await house.player(kitchen, "stop")
            #expect(
                await eventually {
                    (try? await house.bus.playerctl(nil, "--list-all").output)?.split(separator: "\n").count == 1
                })
            #expect(house.airplay.session(named: "Kitchen")?.asked.contains(.end(.stop)) == true)
        }
    }

    @Test("C17 what the desktop opens plays in that session's rooms, in its queue")
    func opens() async throws {
        let house = House(try DesktopBus())
        try #require(await house.bus.isUp())
        try await house.live { house in
            let session = try await house.engine.play(
                PlayRequest(what: ["/music/one.flac", "/music/two.flac"], rooms: ["Lounge"])
            ).id
            #expect(
                await eventually { (try? await house.bus.playerctl(nil, "--list-all").output)?.isEmpty == false })
            _ = try await house.player(session, "open", "https://radio.example/x.mp3")
            let now = await house.session(session)
            #expect(now?.currentItem?.source == .url("https://radio.example/x.mp3"))
            #expect(now?.queue.items.map(\.source.label) == ["one.flac", "https://radio.example/x.mp3", "two.flac"])
            #expect(now?.members.map(\.name) == ["Lounge"])
        }
    }
}
