import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("R5 a room that fetches keeps step with rooms that have a timeline")
struct RoomStepTests {
    private func plays(_ step: inout RoomStep, drift: Int64, at instant: Int64, now: Int64) -> Bool {
        step.plays(drift: drift, at: instant, now: now)
    }

    @Test("what a move took is what the next one is given, and a wild one says nothing")
    func learns() {
        var step = RoomStep()
        #expect(step.lag(of: .load) == 0)
        step.begins(.load, ahead: 0, at: 100)
        // From before it was asked.
        #expect(plays(&step, drift: -2_000_000_000, at: 99, now: 100) == false)
        #expect(step.lag(of: .load) == 0)
        #expect(plays(&step, drift: -1_200_000_000, at: 200, now: 200) == true)
        #expect(step.lag(of: .load) == 1_200_000_000)
        #expect(step.lag(of: .seek) == 0)
        step.begins(.seek, ahead: 0, at: 300)
        #expect(plays(&step, drift: -300_000_000, at: 400, now: 400) == false)
        #expect(step.lag(of: .seek) == 300_000_000)
        // Given its lag it is on time, or early by what it was quicker.
        step.begins(.load, ahead: 1_200_000_000, at: 500)
        #expect(plays(&step, drift: 200_000_000, at: 600, now: 600) == false)
        #expect(step.lag(of: .load) == 1_000_000_000)
        step.begins(.load, ahead: 1_000_000_000, at: 700)
        #expect(plays(&step, drift: -30_000_000_000, at: 800, now: 800) == true)
        #expect(step.lag(of: .load) == 1_000_000_000)
    }

    @Test("a device that cannot keep step is moved twice a minute at most", arguments: [-700_000_000, 700_000_000])
    func limits(drift: Int64) {
        var step = RoomStep()
        let minute = RoomStep.windowNanoseconds
        #expect(plays(&step, drift: drift, at: 1, now: 1) == true)
        #expect(plays(&step, drift: drift, at: 2, now: 2) == true)
        #expect(plays(&step, drift: drift, at: 3, now: 3) == false)
        #expect(plays(&step, drift: drift, at: minute, now: minute) == false)
        #expect(plays(&step, drift: drift, at: minute + 2, now: minute + 2) == true)
    }
}

@Suite("R5 in step, and followed", .timeLimit(.minutes(2)))
struct InStepTests {
    private func playsMixed(_ house: House) async throws -> FakeRouteSession {
        _ = try await house.play(["one", "two"], in: ["Kitchen", "Lounge"])
        let lounge = try #require(house.cast.session(named: "Lounge"))
        #expect(await house.turn(seconds: 4) { lounge.state.media == .playing })
        return lounge
    }

    /// Where the session is now.
    private func place(_ house: House) async throws -> Double {
        try #require(await house.session()?.anchor).position(at: house.clock.now()).seconds
    }

    private func seeks(_ session: FakeRouteSession) -> [Double] {
        session.asked.compactMap { if case .perform(.seek(let place, true)) = $0 { place.seconds } else { nil } }
    }

    @Test("a Cast room that paused somewhere else than the speakers is told to have, until it is moved there")
    func pausedElsewhere() async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            let lounge = try await playsMixed(house)
            house.clock.advance(seconds: 8)
            let now = try await place(house)
            let gate = lounge.holdsCommand()
            async let pausing = house.engine.perform(.pause, session: nil, origin: .cli)
            #expect(await eventually { lounge.asked.last == .perform(.pause) })
            lounge.reports(position: MediaTime(seconds: now - 0.9), rate: 0)
            house.clock.advance(seconds: 0.1)
            gate.finish()
            _ = try await pausing
            #expect(await eventually { await house.member("Lounge")?.driftMilliseconds == -900 })
        }
    }

    @Test("R5 a Cast room that lags behind speakers is moved to where they are, given what the last move took")
    func lags() async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            let lounge = try await playsMixed(house)
            house.clock.advance(seconds: 8)
            let now = try await place(house)
            lounge.reports(position: MediaTime(seconds: now - 0.4))
            #expect(await eventually { await house.member("Lounge")?.driftMilliseconds == -400 })
            await othersHaveRun()
            #expect(seeks(lounge).isEmpty)
            house.clock.advance(seconds: 2)
            lounge.reports {
                $0.media = .buffering
                $0.position = ReportedPosition(time: MediaTime(seconds: now + 0.9), instant: house.clock.now(), rate: 0)
            }
            #expect(await eventually { await house.member("Lounge")?.media == .buffering })
            house.clock.advance(seconds: 2)
            lounge.reports {
                $0.media = .playing
                $0.position = ReportedPosition(time: MediaTime(seconds: now + 0.9), instant: house.clock.now(), rate: 1)
            }
            #expect(await eventually { seeks(lounge).count == 1 })
            #expect(abs(seeks(lounge)[0] - now - 4) < 0.001)
            // It took 0.6 s, and that is given to it the next time.
            house.clock.advance(seconds: 0.6)
            lounge.reports(position: MediaTime(seconds: now + 4))
            #expect(await eventually { seeks(lounge).count == 2 })
            #expect(abs(seeks(lounge)[1] - now - 4.6 - 0.6) < 0.001)
            house.clock.advance(seconds: 0.6)
            lounge.reports(position: MediaTime(seconds: now + 5.2))
            #expect(await eventually { await house.member("Lounge")?.driftMilliseconds == 0 })
            await othersHaveRun()
            #expect(seeks(lounge).count == 2)
        }
    }

    @Test("R5 speakers that join a Cast room while it is buffering play, and the session says so")
    func joinsWhileBuffering() async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            _ = try await house.play(["one", "two"], in: ["Lounge"])
            let lounge = try #require(house.cast.session(named: "Lounge"))
            #expect(await house.turn(seconds: 4) { lounge.state.media == .playing })
            house.clock.advance(seconds: 3)
            lounge.reports { $0.media = .buffering }
            #expect(await eventually { await house.session()?.media == .buffering })
            _ = try await house.engine.join(session: nil, rooms: ["Kitchen"])
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test(
        "R5 speakers that join a Cast room in the last seconds of an item begin with the next, and so does it",
        arguments: [(["one", "two"], RepeatMode.off), (["one"], .off), (["one", "two"], .one)])
    func joinsAtEnd(_ names: [String], _ mode: RepeatMode) async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            for name in names { house.media.add(name, seconds: 10) }
            let request = PlayRequest(what: names, rooms: ["Lounge"], repeatMode: mode)
            let items = try await house.engine.play(request).queue.items
            let lounge = try #require(house.cast.session(named: "Lounge"))
            #expect(await house.turn(seconds: 4) { lounge.state.media == .playing })
            // Two seconds are what the speakers need, and one is left.
            lounge.reports {
                $0.position = ReportedPosition(time: MediaTime(seconds: 9), instant: house.clock.now(), rate: 1)
            }
            #expect(await eventually { await house.session()?.anchor?.duration?.seconds == 10 })
            let joined = try await house.engine.join(session: nil, rooms: ["Kitchen", "Bath"])
            #expect(joined.queue.items.allSatisfy { $0.failure == nil })
            #expect(joined.members.allSatisfy { $0.error == nil })
            #expect(joined.queue.current == (names.count == 1 || mode == .one ? items[0].id : items[1].id))
            if names.count == 1 {
                #expect(house.media.feeds.isEmpty && lounge.loadedTokens.count == 1)
                lounge.reachesEnd()
                #expect(await eventually { await house.session()?.stopReason == .finished })
            } else {
                #expect(joined.members.map(\.connection) == [.connected, .connected, .connected])
                #expect(await house.turn(seconds: 3) { lounge.loadedTokens.count == 2 })
                #expect(house.media.feeds.count == 1, "one for all of them")
            }
        }
    }

    @Test("R5 at an item's border it begins later in the item by what its last load took")
    func border() async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            house.media.add("three", seconds: 60)
            _ = try await house.play(["one", "two", "three"], in: ["Kitchen", "Lounge"])
            let lounge = try #require(house.cast.session(named: "Lounge"))
            #expect(await house.turn(seconds: 4) { lounge.state.media == .playing })
            #expect(await house.turn(seconds: 70) { lounge.loadedStarts.count == 2 })
            #expect(lounge.loadedStarts == [.zero, .zero])
            let left = 1.5 - (try await place(house))
            house.clock.advance(seconds: left)
            lounge.reports(position: .zero)
            #expect(await eventually { seeks(lounge).count == 1 })
            #expect(abs(seeks(lounge)[0] - 1.5) < 0.001)
            lounge.reports(position: MediaTime(seconds: try await place(house)))
            #expect(await house.turn(seconds: 70) { lounge.loadedStarts.count == 3 })
            #expect(abs(lounge.loadedStarts[2].seconds - 1.5) < 0.001)
        }
    }

    /// Lets time pass, for what is not to happen.
    private func turns(_ house: House, seconds: Double) async {
        for _ in 0..<Int(seconds * 10) {
            house.clock.advance(seconds: 0.1)
            await othersHaveRun()
        }
    }

    /// Two Cast rooms without queues of their own, both playing.
    private func withTwoCasts(
        _ body: @escaping @Sendable (House, FakeRouteSession, FakeRouteSession) async throws -> Void
    )
        async throws
    {
        let house = House { _, cast in
            [cast.endpoint(named: "Lounge", host: "10.0.0.2"), cast.endpoint(named: "Den", host: "10.0.0.3")]
        }
        house.media.add("one", seconds: 600)
        try await house.live { house in
            _ = try await house.play(["one"], in: ["Lounge", "Den"])
            let lounge = try #require(house.cast.session(named: "Lounge"))
            let den = try #require(house.cast.session(named: "Den"))
            for room in [lounge, den] { room.reports(position: .zero) }
            #expect(await eventually { await house.session()?.media == .playing })
            for room in ["Lounge", "Den"] {
                #expect(await eventually { await house.member(room)?.media == .playing })
            }
            house.clock.advance(seconds: 5)
            try await body(house, lounge, den)
        }
    }

    @Test(
        "C17 A10 who pauses one Cast room at the device pauses all, and goes on with all", arguments: ["Lounge", "Den"])
    func pausedThere(name: String) async throws {
        try await withTwoCasts { house, lounge, den in
            let (pressed, other) = name == "Lounge" ? (lounge, den) : (den, lounge)
            for (state, wanted) in [(MediaState.paused, RouteCommand.pause), (.playing, .play(nil, fromFrame: 0))] {
                let now = house.clock.now()
                let rate = state == .playing ? 1.0 : 0
                pressed.reports {
                    $0.media = state
                    $0.position = ReportedPosition(time: MediaTime(seconds: 5), instant: now, rate: rate)
                }
                await othersHaveRun()
                #expect(other.state.media != state, "before it is known to last")
                #expect(await house.turn(seconds: 2) { other.state.media == state })
                #expect(other.asked.last == .perform(wanted))
                #expect(await eventually { await house.session()?.media == state })
                house.clock.advance(seconds: 3)
            }
        }
    }

    @Test("C17 A10 who seeks at one Cast room takes the others along; buffering, and what lasts no moment, is no seek")
    func soughtThere() async throws {
        try await withTwoCasts { house, lounge, den in
            let now = house.clock.now()
            // It stood for a while, and goes on from there.
            den.reports {
                $0.media = .buffering
                $0.position = ReportedPosition(time: MediaTime(seconds: 5), instant: now, rate: 0)
            }
            #expect(await eventually { await house.member("Den")?.media == .buffering })
            house.clock.advance(seconds: 2)
            den.reports {
                $0.media = .playing
                $0.position = ReportedPosition(time: MediaTime(seconds: 5), instant: now + 2_000_000_000, rate: 1)
            }
            #expect(await eventually { await house.member("Den")?.media == .playing })
            // And once more, without a word of why: it is only found behind.
            house.clock.advance(seconds: 10)
            den.reports(position: MediaTime(seconds: 9))
            #expect(await eventually { await house.member("Den")?.driftMilliseconds == -8000 })
            // Paused for a moment only.
            den.reports { $0.media = .paused }
            den.reports { $0.media = .playing }
            await turns(house, seconds: 1)
            #expect(seeks(lounge).isEmpty && !lounge.asked.contains(.perform(.pause)))
            house.clock.advance(seconds: 1)
            den.reports(position: MediaTime(seconds: 300))
            #expect(await house.turn(seconds: 2) { !seeks(lounge).isEmpty })
            #expect(abs((seeks(lounge).last ?? 0) - 300) < 1.1)
            #expect(await eventually { (await house.session()?.anchor?.time.seconds ?? 0) >= 300 })
        }
    }

    @Test("what a room says after a command of ours is nobody's doing at the device")
    func ourOwn() async throws {
        try await withTwoCasts { house, lounge, den in
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            _ = try await house.engine.perform(.play, session: nil, origin: .cli)
            // The pause's own news, late.
            den.reports { $0.media = .paused }
            den.reports { $0.media = .playing }
            den.reports { $0.media = .paused }
            await turns(house, seconds: 1)
            #expect(lounge.state.media == .playing)
        }
    }

    @Test("R5 a drift is mended once, however often it is told, and a seek that is refused teaches nothing")
    func mendedOnce() async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            let lounge = try await playsMixed(house)
            house.clock.advance(seconds: 8)
            let now = try await place(house)
            let gate = lounge.holdsCommand()
            lounge.reports(position: MediaTime(seconds: now - 3))
            #expect(await eventually { seeks(lounge).count == 1 })
            for level in [0.2, 0.3] {
                lounge.reports { $0.volume = VolumeState(level: VolumePosition(level)) }
                #expect(await eventually { await house.member("Lounge")?.volume?.level.value == level })
            }
            lounge.failCommands(with: RouterError(.timeout, "no answer", scope: .command))
            gate.finish()
            await othersHaveRun()
            #expect(seeks(lounge).count == 1)
            lounge.failCommands(with: nil)
            house.clock.advance(seconds: 1)
            lounge.reports(position: MediaTime(seconds: now - 2))
            #expect(await eventually { seeks(lounge).count == 2 })
            #expect(abs(seeks(lounge)[1] - now - 1) < 0.001, "not three seconds ahead of that")
        }
    }

    @Test("R5 a Cast room that is held ready for the timeline after a seek is not one that somebody has paused")
    func heldReady() async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            let lounge = try await playsMixed(house)
            house.clock.advance(seconds: 8)
            _ = try await house.engine.perform(.seek(to: MediaTime(seconds: 30)), session: nil, origin: .cli)
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            let paused = kitchen.asked.count { $0 == .perform(.pause) }
            // It fetches for a while, and then is ready: more than a second after it was asked.
            lounge.reports { $0.media = .buffering }
            #expect(await eventually { await house.member("Lounge")?.media == .buffering })
            house.clock.advance(seconds: 1.2)
            lounge.reports { $0.media = .paused }
            #expect(await eventually { await house.member("Lounge")?.media == .paused })
            await turns(house, seconds: 0.6)
            #expect(kitchen.asked.count { $0 == .perform(.pause) } == paused)
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("C17 A10 who moves about in a paused Cast room does not begin the others, which go there too")
    func scrubbedPaused() async throws {
        try await withTwoCasts { house, lounge, den in
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            house.clock.advance(seconds: 5)
            let place = ReportedPosition(time: MediaTime(seconds: 5), instant: house.clock.now(), rate: 0)
            for room in [lounge, den] { room.reports { $0.position = place } }
            await othersHaveRun()
            house.clock.advance(seconds: 5)
            let now = house.clock.now()
            den.reports {
                $0.media = .buffering
                $0.position = ReportedPosition(time: MediaTime(seconds: 200), instant: now, rate: 0)
            }
            #expect(
                await house.turn(seconds: 4) {
                    lounge.asked.contains(.perform(.seek(to: MediaTime(seconds: 200), resume: false)))
                })
            await turns(house, seconds: 1)
            #expect(lounge.state.media == .paused)
            #expect(await house.session()?.media == .paused)
        }
    }

    @Test("C17 rooms that were paused a moment apart go on from one place")
    func gathered() async throws {
        try await withTwoCasts { house, lounge, den in
            let now = house.clock.now()
            den.reports {
                $0.media = .paused
                $0.position = ReportedPosition(time: MediaTime(seconds: 5), instant: now, rate: 0)
            }
            #expect(await house.turn(seconds: 2) { lounge.state.media == .paused })
            let place = try await place(house)
            lounge.reports(position: MediaTime(seconds: place), rate: 0)
            #expect(place > 5.3)
            house.clock.advance(seconds: 3)
            _ = try await house.engine.perform(.play, session: nil, origin: .cli)
            #expect(
                den.asked.suffix(2) == [
                    .perform(.seek(to: MediaTime(seconds: place), resume: false)), .perform(.play(nil, fromFrame: 0)),
                ])
            #expect(lounge.asked.last == .perform(.play(nil, fromFrame: 0)))
        }
    }

    @Test("C17 what is paused stays so while its device buffers for a seek, and a toggle makes it play")
    func pausedWhileBuffering() async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let lounge = try #require(house.cast.session(named: "Lounge"))
            #expect(await house.turn(seconds: 4) { lounge.state.media == .playing })
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            _ = try await house.engine.perform(.seek(to: MediaTime(seconds: 30)), session: nil, origin: .cli)
            lounge.reports { $0.media = .buffering }
            #expect(await eventually { await house.member("Lounge")?.media == .buffering })
            #expect(await house.session()?.media == .paused)
            _ = try await house.engine.perform(.toggle, session: nil, origin: .cli)
            #expect(lounge.asked.last == .perform(.play(nil, fromFrame: 0)))
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("a place that is only fetched is written now and then, too: a loss of power takes the device with it")
    func placeIsKept() async throws {
        let house = House.kitchenAndLounge()
        house.media.add("long", seconds: 3600)
        try await house.live { house in
            let session = try await house.play(["long"], in: ["Lounge"])
            let lounge = try #require(house.cast.session(named: "Lounge"))
            lounge.reports(position: .zero)
            #expect(
                await house.turn(seconds: 120) {
                    let record = await house.store.sessionsToRejoin().first { $0.session == session.id }
                    return (record?.position.seconds ?? 0) > 55
                })
        }
    }
}
