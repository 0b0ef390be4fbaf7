import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("commands mean the same on both kinds", .timeLimit(.minutes(2)))
struct CommandTests {
    private func command(_ command: RemoteCommand, _ house: House) async throws -> CommandOutcome {
        try await house.engine.perform(command, session: nil, origin: .cli).outcome
    }

    @Test("pause keeps the place, and going on begins there on a new timeline")
    func pauseAndResume() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds + 3_000_000_000)
            #expect(try await command(.pause, house) == .succeeded)
            #expect(kitchen.asked.contains(.perform(.pause)))
            let paused = try #require(await house.session())
            #expect(paused.media == .paused)
            #expect(abs((paused.position?.seconds ?? 0) - 3) < 0.001)
            house.clock.advance(seconds: 60)
            #expect(try await command(.play, house) == .succeeded)
            guard
                case .perform(.play(let timeline?, let frame))? = kitchen.asked.last(where: {
                    if case .perform(.play) = $0 { true } else { false }
                })
            else {
                Issue.record("was not told to go on: \(kitchen.asked)")
                return
            }
            #expect(frame == 3 * 44_100)
            #expect(
                timeline.instant(ofFrame: frame, sampleRate: 44_100)
                    == house.clock.now() + House.lead + startSlackNanoseconds)
        }
    }

    @Test("a pause beyond the decoder's window decodes again from the same place")
    func longPause() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds + 3_000_000_000)
            _ = try await command(.pause, house)
            house.media.feeds.last?.forget(before: 1_000_000)
            _ = try await command(.play, house)
            #expect(house.media.feeds.count == 2)
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            #expect(
                await eventually {
                    kitchen.asked.filter { if case .load = $0 { true } else { false } }.count == 2
                })
        }
    }

    @Test("seek starts a new run at that place; on a fetching room it is the device's own seek")
    func seek() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Lounge"])
            _ = try await command(.seek(to: MediaTime(seconds: 4)), house)
            let now = try #require(await house.session())
            #expect(now.anchor?.time.seconds == 4)
            let lounge = try #require(house.cast.session(named: "Lounge"))
            #expect(lounge.asked.contains(.perform(.seek(to: MediaTime(seconds: 4), resume: false))))
            #expect(house.media.feeds.count == 2)
        }
    }

    @Test("a seek while paused stays paused and goes on from there")
    func seekWhilePaused() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            _ = try await command(.pause, house)
            _ = try await command(.seek(to: MediaTime(seconds: 6)), house)
            let paused = try #require(await house.session())
            #expect(paused.media == .paused)
            #expect(paused.position?.seconds == 6)
            _ = try await command(.play, house)
            #expect(await house.session()?.anchor?.time.seconds == 6)
        }
    }

    @Test(
        "a jump to what does not play says so, and so does going on where the room refuses",
        arguments: ["Lounge", "Kitchen"])
    func failedOutcomes(_ room: String) async throws {
        let house = House.kitchenAndLounge()
        house.media.add("bad", failing: RouterError(.mediaUnsupported, "not a sound"))
        try await house.live { house in
            let items = try await house.play(["one", "bad", "two"], in: [room]).queue.items
            // What was known not to play, as a decoder that runs ahead knows it, is no news.
            house.media.mend("bad")
            house.media.add("worse", failing: RouterError(.mediaUnsupported, "no sound at all"))
            _ = try await house.engine.edit(
                .append(["worse", "two"]), session: nil, ifVersion: nil, workingDirectory: "/")
            let worse = try #require(await house.session()?.queue.items.first { $0.source.label == "worse" })
            let outcome = try await command(.jump(worse.id), house)
            guard case .failed(let error) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(error.code == .mediaUnsupported)
            #expect(try await command(.jump(items[2].id), house) == .succeeded)
        }
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds + 3_000_000_000)
            #expect(try await command(.pause, house) == .succeeded)
            kitchen.failCommands(with: RouterError(.timeout, "it does not answer", scope: .route))
            #expect(try await command(.play, house).isError)
            let still = try #require(await house.session())
            #expect(
                still.media == .paused && still.anchor?.rate == 0 && abs((still.position?.seconds ?? 0) - 3) < 0.001)
            kitchen.failCommands(with: nil)
            #expect(try await command(.play, house) == .succeeded)
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("next and previous, and previous after three seconds is the beginning of the item")
    func skipping() async throws {
        try await House.kitchenAndLounge().live { house in
            let items = try await house.play(["one", "two"], in: ["Kitchen"]).queue.items
            #expect(try await command(.next, house) == .succeeded)
            #expect(await house.session()?.queue.current == items[1].id)
            #expect(try await command(.next, house) == .noSuchContent)
            house.clock.advance(nanoseconds: House.lead + 5_000_000_000)
            _ = try await command(.previous, house)
            #expect(await house.session()?.queue.current == items[1].id)
            _ = try await command(.previous, house)
            #expect(await house.session()?.queue.current == items[0].id)
        }
    }

    @Test("volume is never touched on connect, is set for all rooms, and keeps to a room's limit")
    func volume() async throws {
        let house = House(rooms: [
            Room(name: "Bedroom", devices: ["Kitchen"], volumeLimit: VolumePosition(0.4))
        ]) { airplay, _ in [airplay.endpoint(named: "Kitchen", host: "10.0.0.1")] }
        house.media.add("one", seconds: 10)
        try await house.live { house in
            _ = try await house.play(["one"], in: ["Bedroom"])
            let device = try #require(house.airplay.session(named: "Kitchen"))
            _ = try await command(.setVolume(VolumePosition(0.9), room: nil), house)
            #expect(device.asked.contains(.volume(VolumeState(level: VolumePosition(0.4)))))
        }
    }

    @Test("preserve: a room that reports its volume is told none at the start")
    func preserve() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Lounge"])
            for session in house.airplay.sessions + house.cast.sessions {
                #expect(!session.asked.contains { if case .volume = $0 { true } else { false } })
            }
        }
    }

    @Test("stop ends the session and every device is told")
    func stop() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Lounge"])
            _ = try await command(.stop, house)
            #expect(await house.session()?.stopReason == .cancelled)
            for session in house.airplay.sessions + house.cast.sessions {
                #expect(session.asked.contains(.end(.stop)))
            }
        }
    }
}
