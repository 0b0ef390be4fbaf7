import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("C10 items that a network does not give", .timeLimit(.minutes(2)))
struct HoldingTests {
    private static let unreachable = RouterError(
        .itemFailed, "its server does not answer", scope: .item, retry: .later)

    private static func house() -> House {
        let house = House.kitchenAndLounge()
        house.media.add("far", failing: unreachable, seconds: 10)
        return house
    }

    private func command(_ command: RemoteCommand, _ house: House) async throws -> CommandOutcome {
        try await house.engine.perform(command, session: nil, origin: .cli).outcome
    }

    private func loads(_ session: FakeRouteSession) -> Int {
        session.asked.filter { if case .load = $0 { true } else { false } }.count
    }

    @Test(
        "an item whose server does not answer is waited for, and plays when it does; nobody calls it failed",
        arguments: ["Kitchen", "Lounge"])
    func waitsFor(_ room: String) async throws {
        try await Self.house().live { house in
            let items = try await house.play(["one", "far", "two"], in: [room]).queue.items
            let session = try #require(house.airplay.session(named: room) ?? house.cast.session(named: room))
            let notices = await Notices(house.engine)
            session.reachesEnd()
            #expect(await eventually { await house.session()?.media == .buffering })
            let silent = try #require(await house.session())
            #expect(silent.queue.current == items[1].id && silent.anchor?.item == items[1].id)
            #expect(silent.anchor?.rate == 0 && silent.connection == .connected)
            // Tried again, and still not there.
            for _ in 0..<6 {
                house.clock.advance(seconds: 5)
                await othersHaveRun()
            }
            #expect(await eventually { await house.session()?.media == .buffering })
            #expect(await house.session()?.queue.items.allSatisfy { $0.failure == nil } == true)
            #expect(loads(session) == 1)
            house.media.mend("far")
            #expect(await house.turn(seconds: 60) { await house.session()?.media == .playing })
            #expect(await house.session()?.queue.current == items[1].id)
            #expect(await eventually { self.loads(session) == 2 })
            // Two of them were told for the first item's decoder or load, and none for any attempt.
            #expect(await notices.count { $0.message.contains("waited for") } <= 1)
        }
    }

    @Test("where it breaks off is where it goes on")
    func place() async throws {
        let house = House.kitchenAndLounge()
        house.media.breaksOff("one", after: 4, with: Self.unreachable)
        try await house.live { house in
            let items = try await house.play(["one", "two"], in: ["Kitchen"]).queue.items
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds + 3_000_000_000)
            kitchen.reachesEnd()
            #expect(await eventually { await house.session()?.media == .buffering })
            #expect(await house.session()?.position == MediaTime(seconds: 4))
            house.media.mend("one")
            #expect(await house.turn(seconds: 10) { await house.session()?.media == .playing })
            #expect(await eventually { await house.session()?.anchor?.time == MediaTime(seconds: 4) })
            #expect(await house.session()?.queue.current == items[0].id)
            #expect(await eventually { house.media.feeds.last?.frames == 16 * 44_100 })
        }
    }

    @Test("what is begun of it meanwhile, in vain, is no end of the waiting; and nobody is busy with it")
    func begunInVain() async throws {
        try await Self.house().live { house in
            let items = try await house.play(["one", "far"], in: ["Kitchen"]).queue.items
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            kitchen.reachesEnd()
            #expect(await eventually { await house.session()?.media == .buffering })
            let told = await Notices(house.engine)
            _ = try await command(.pause, house)
            house.clock.advance(seconds: 5)
            #expect(await told.sessionsTold() < 20)
            _ = try await command(.play, house)
            #expect(await eventually { await house.session()?.queue.current == items[1].id })
            house.clock.advance(seconds: 5)
            await othersHaveRun()
            house.media.mend("far")
            #expect(await house.turn(seconds: 60) { await house.session()?.media == .playing })
            #expect(await house.session()?.queue.current == items[1].id)
        }
    }

    @Test("a short loss is over before what is decoded was heard: the same feed goes on, without a gap")
    func sameFeed() async throws {
        let house = Self.house()
        house.media.decodesOnRequest()
        try await house.live { house in
            _ = try await house.play(["one", "far", "two"], in: ["Kitchen"])
            let feed = try #require(house.media.feeds.first)
            #expect(feed.frames == 10 * 44_100)
            #expect(await feed.decodeNext())
            house.media.mend("far")
            async let again = feed.decodeNext()
            #expect(await house.turn(seconds: 3) { feed.frames == 20 * 44_100 })
            #expect(await again)
            #expect(house.media.feeds.count == 1)
            #expect(await house.session()?.media == .playing)
            #expect(await house.session()?.queue.items[1].failure == nil)
        }
    }

    @Test("what a device cannot reach and we can is passed over; where neither can, it is waited for")
    func reachedByUs() async throws {
        for isReached in [true, false] {
            let house = House.kitchenAndLounge()
            let address = "http://10.0.0.9/x.mp3"
            house.media.add(address, seconds: 10)
            if !isReached { house.media.breaksOff(address, after: 0, with: Self.unreachable) }
            try await house.live { house in
                let items = try await house.play(["one", address, "two"], in: ["Lounge"]).queue.items
                let lounge = try #require(house.cast.session(named: "Lounge"))
                lounge.failLoads(with: RouterError(.mediaUnreachable, "it could not fetch", scope: .item))
                lounge.reachesEnd()
                if isReached {
                    #expect(await eventually { await house.session()?.queue.items[1].failure != nil })
                } else {
                    #expect(await eventually { await house.session()?.media == .buffering })
                    #expect(await house.session()?.queue.items[1].failure == nil)
                    lounge.failLoads(with: nil)
                    #expect(await house.turn(seconds: 10) { await house.session()?.media == .playing })
                    #expect(await house.session()?.queue.current == items[1].id)
                }
            }
        }
    }

    @Test("what one room cannot fetch and another one plays is not waited for: the next item plays in both")
    func oneOfTwo() async throws {
        let house = House { _, cast in
            [cast.endpoint(named: "Lounge", host: "10.0.0.2"), cast.endpoint(named: "Den", host: "10.0.0.3")]
        }
        let address = "http://10.0.0.9/x.mp3"
        for name in ["one", address, "three"] { house.media.add(name, seconds: 10) }
        house.media.breaksOff(address, after: 0, with: Self.unreachable)
        try await house.live { house in
            let items = try await house.play(["one", address, "three"], in: ["Lounge", "Den"]).queue.items
            let (lounge, den) = (try house.lounge(), try #require(house.cast.session(named: "Den")))
            lounge.failLoads(with: RouterError(.mediaUnreachable, "it could not fetch", scope: .item))
            _ = try await command(.jump(items[1].id), house)
            #expect(await eventually { den.state.media == .playing && den.loadedTokens.count == 2 })
            lounge.failLoads(with: nil)
            den.reachesEnd()
            #expect(await house.turn(seconds: 10) { await house.session()?.queue.current == items[2].id })
            #expect(await eventually { Set(lounge.loadedTokens).count == 3 }, "\(lounge.asked)")
            #expect(await eventually { Set(den.loadedTokens).count == 3 }, "\(den.asked)")
            #expect(await house.session()?.queue.items[1].failure == nil)
        }
    }

    @Test("next is not kept waiting, and a pause holds; after five minutes it is an item that does not play")
    func commands() async throws {
        try await Self.house().live { house in
            let items = try await house.play(["one", "far", "two"], in: ["Kitchen"]).queue.items
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            kitchen.reachesEnd()
            #expect(await eventually { await house.session()?.media == .buffering })
            #expect(try await command(.pause, house) == .succeeded)
            house.media.mend("far")
            for _ in 0..<4 {
                house.clock.advance(seconds: 5)
                await othersHaveRun()
            }
            #expect(await house.session()?.media == .paused)
            #expect(try await command(.play, house) == .succeeded)
            #expect(await house.session()?.media == .playing)
            #expect(await house.session()?.queue.current == items[1].id)
        }
        try await Self.house().live { house in
            let items = try await house.play(["one", "far", "two"], in: ["Kitchen"]).queue.items
            house.airplay.session(named: "Kitchen")?.reachesEnd()
            #expect(await eventually { await house.session()?.media == .buffering })
            #expect(try await command(.next, house) == .succeeded)
            #expect(await house.session()?.queue.current == items[2].id)
            #expect(await house.session()?.media == .playing)
        }
        try await Self.house().live { house in
            let items = try await house.play(["one", "far", "two"], in: ["Kitchen"]).queue.items
            house.airplay.session(named: "Kitchen")?.reachesEnd()
            #expect(await eventually { await house.session()?.media == .buffering })
            #expect(await house.turn(seconds: 400) { await house.session()?.queue.current == items[2].id })
            #expect(await house.session()?.queue.items[1].failure != nil)
        }
    }

    @Test(
        "three items in a row that do not play end the session with an error that is told, in both kinds of room",
        arguments: ["Kitchen", "Lounge"])
    func givesUp(_ room: String) async throws {
        let house = House.kitchenAndLounge()
        for name in ["bad1", "bad2", "bad3"] {
            house.media.add(name, failing: RouterError(.mediaUnsupported, "not a sound"))
        }
        try await house.live { house in
            let notices = await Notices(house.engine)
            _ = try await house.play(["one", "bad1", "bad2", "bad3", "two"], in: [room])
            (house.airplay.session(named: room) ?? house.cast.session(named: room))?.reachesEnd()
            #expect(await eventually { await house.session()?.connection == .ended })
            let end = try #require(await house.session())
            #expect(end.stopReason == .error && end.error?.message == "not a sound")
            #expect(end.queue.items[4].failure == nil)
            #expect(await notices.count { $0.message.contains("in a row") } == 1)
        }
    }
}
