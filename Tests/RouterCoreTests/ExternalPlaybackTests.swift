import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("A6 pictures that are not to be shown", .timeLimit(.minutes(2)))
struct ExternalPlaybackTests {
    /// A Cast speaker, a screen, and a screen that also is a speaker.
    private static func house() -> House {
        let house = House { airplay, cast in
            var speaker = cast.endpoint(named: "Bath", host: "10.0.0.1")
            speaker.capabilities[.video] = .unsupported
            var screen = cast.endpoint(named: "Lounge", host: "10.0.0.2")
            screen.capabilities[.video] = .available
            var both = cast.endpoint(named: "Den", host: "10.0.0.3")
            both.capabilities[.video] = .available
            return [
                speaker, screen, both, airplay.endpoint(named: "Den", host: "10.0.0.3"),
                airplay.endpoint(named: "Kitchen", host: "10.0.0.4"),
            ]
        }
        for name in ["film.mp4", "two"] { house.media.add(name, seconds: 600) }
        house.media.showsVideo("film.mp4")
        return house
    }

    @Test("what was stored on a speaker is not taken up on a screen: it plays on where it did")
    func storedState() async throws {
        let house = Self.house()
        house.cast.storesSessions()
        try await house.live { house in
            let played = try await house.engine.play(
                PlayRequest(what: ["film.mp4"], rooms: ["Bath"], externalPlayback: false))
            #expect(played.connection == .connected)
            let error = await #expect(throws: RouterError.self) {
                try await house.engine.transfer(session: nil, to: ["Lounge"])
            }
            #expect(error?.code == .mediaUnsupported)
            let lounge = try #require(house.cast.session(named: "Lounge"))
            #expect(!lounge.asked.contains { if case .resume = $0 { true } else { false } })
            #expect(lounge.loadedTokens.isEmpty)
            #expect(
                await eventually {
                    await house.session()?.members.filter { $0.media == .playing }.map(\.name) == ["Bath"]
                })
        }
    }

    @Test("a room that joins, or takes over, takes its sound alone where it can", arguments: [true, false])
    func chosenWithout(joins: Bool) async throws {
        try await Self.house().live { house in
            _ = try await house.engine.play(
                PlayRequest(what: ["film.mp4"], rooms: ["Kitchen"], externalPlayback: false))
            if joins {
                _ = try await house.engine.join(session: nil, rooms: ["Den"])
            } else {
                async let moved = house.engine.transfer(session: nil, to: ["Den"])
                #expect(await house.turn(seconds: 20) { await house.session()?.members.map(\.name) == ["Den"] })
                _ = try await moved
            }
            #expect(house.cast.opened.isEmpty)
            // The device's own word comes a moment after it has been begun.
            #expect(
                await eventually {
                    let den = await house.session()?.members.first { $0.name == "Den" }
                    return den?.protocol == .raop && den?.media == .playing
                })
        }
    }

    @Test("an item that is opted out while it is on the screen goes from it")
    func whileShown() async throws {
        try await Self.house().live { house in
            let items = try await house.play(["film.mp4", "two"], in: ["Lounge"]).queue.items
            let lounge = try #require(house.cast.session(named: "Lounge"))
            let shown = try #require(lounge.loadedTokens.first)
            #expect(lounge.state.loaded == shown)
            _ = try await house.engine.edit(
                .settings([items[0].id], QueueItemSettings(externalPlayback: false)), session: nil, ifVersion: nil,
                workingDirectory: "/")
            #expect(await eventually { lounge.state.loaded != shown })
            #expect(await eventually { await house.session()?.queue.current == items[1].id })
            #expect(await house.session()?.queue.items[0].failure?.contains("picture") == true)
        }
    }
}
