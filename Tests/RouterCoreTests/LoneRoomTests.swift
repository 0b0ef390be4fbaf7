import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

/// A room that nobody plays beside, lost in the middle.
@Suite("R5 a room all alone", .timeLimit(.minutes(2)))
struct LoneRoomTests {
    private static let off = RouterError(
        .routeUnreachable, "Kitchen does not answer", hint: "Turn it on", scope: .route)

    /// Plays `seconds` of a file for nine seconds and loses the kitchen, which is off from then on.
    private func lost(_ house: House, rooms: [String] = ["Kitchen"]) async throws -> Int64 {
        _ = try await house.play(["long"], in: rooms)
        // The feed has begun, and its length is known.
        #expect(await eventually { await house.session()?.anchor?.duration != nil })
        house.clock.advance(seconds: 9)
        let instant = house.clock.now()
        for room in rooms {
            house.airplay.refuse(house.speaker(room), with: Self.off)
            house.airplay.session(named: room)?.isLost()
            #expect(await eventually { await house.member(room)?.connection == .suspended })
        }
        return instant
    }

    private static func house(seconds: Double) -> House {
        let house = House.threeSpeakers()
        house.media.add("long", seconds: seconds)
        return house
    }

    @Test("R5 never back: it is said once that it is tried, and once, at the end of the music, that it is over")
    func playedOut() async throws {
        try await Self.house(seconds: 40).live { house in
            let notices = await Notices(house.engine)
            let instant = try await lost(house)
            #expect(await house.turn(seconds: 60) { await house.session()?.connection == .failed })
            // Not at the next attempt, which may be half a minute later.
            let after = house.clock.now() - instant
            #expect((31_000_000_000...36_000_000_000).contains(after), "\(after)")
            let error = try #require(await house.session()?.members.first?.error)
            #expect(error.code.exitStatus == 5)
            #expect(error.message.contains("did not come back by the end of the music"), "\(error.message)")
            #expect(error.message.contains("does not answer"), "\(error.message)")
            #expect(error.hint == "Turn it on")
            #expect(await notices.count { $0.severity == .warning && $0.message.contains("tried again") } == 1)
            #expect(await notices.count { $0.severity == .error && $0.message.contains("did not come back") } == 1)
            #expect(try await house.engine.sessionsToRejoin().isEmpty)
        }
    }

    @Test("R5 never back, and the music is long: five minutes are enough")
    func fiveMinutes() async throws {
        try await Self.house(seconds: 3000).live { house in
            let instant = try await lost(house)
            #expect(await house.turn(seconds: 400) { await house.session()?.connection == .failed })
            let after = house.clock.now() - instant
            #expect((300_000_000_000...302_000_000_000).contains(after), "\(after)")
            let error = try #require(await house.session()?.members.first?.error)
            #expect(error.code.exitStatus == 5)
            #expect(error.message.contains("within 5 minutes"), "\(error.message)")
            // 0.5, 1, 2, 4, 8, then each ten seconds: nobody likes to wait for a speaker that is back.
            let tried = house.airplay.opened.count - 1
            #expect((30...36).contains(tried), "\(tried)")
        }
    }

    @Test("R5 back within a minute: on the beat")
    func onTheBeat() async throws {
        try await Self.house(seconds: 3000).live { house in
            _ = try await lost(house)
            let first = try #require(house.begun("Kitchen"))
            house.clock.advance(seconds: 20)
            house.airplay.accept(house.speaker("Kitchen"))
            #expect(await house.turn(seconds: 35) { await house.plays("Kitchen") })
            let begun = try #require(house.begun("Kitchen"))
            #expect(begun.frame > 20 * 44_100)
            #expect(begun.timeline == first.timeline)
        }
    }

    @Test("R5 back after more than a minute: where it was lost, and the next room comes in beside it")
    func whereItWasLost() async throws {
        try await Self.house(seconds: 3000).live { house in
            let instant = try await lost(house, rooms: ["Kitchen", "Bath"])
            let first = try #require(house.begun("Kitchen")).timeline
            #expect(await house.turn(seconds: 90) { await house.session()?.anchor?.rate == 0 })
            #expect((60_000_000_000...62_000_000_000).contains(house.clock.now() - instant))
            let place = first.mediaTime(at: instant)
            #expect(abs((try #require(await house.session()?.anchor).time - place).seconds) < 0.001)
            #expect(await house.session()?.connection == .suspended)
            house.airplay.accept(house.speaker("Kitchen"))
            #expect(await house.turn(seconds: 35) { await house.plays("Kitchen") })
            // Another feed, which begins there.
            #expect(house.begun("Kitchen")?.frame == 0)
            let anchor = try #require(await house.session()?.anchor)
            #expect(anchor.rate == 1 && abs((anchor.time - place).seconds) < 0.001)
            // Heard by now, so that who comes in does so in the middle of it.
            house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds)
            house.clock.advance(seconds: 1)
            house.airplay.accept(house.speaker("Bath"))
            #expect(await house.turn(seconds: 35) { await house.plays("Bath") })
            let (kitchen, bath) = try #require(zip2(house.begun("Kitchen"), house.begun("Bath")))
            #expect(bath.timeline == kitchen.timeline && bath.frame > 0)
        }
    }

    @Test("R5 a receiver that still holds the lost connection is said to be busy, once, and tried until it is free")
    func busy() async throws {
        try await Self.house(seconds: 3000).live { house in
            let notices = await Notices(house.engine)
            _ = try await lost(house)
            let held = RouterError(.routeBusy, "Kitchen is busy: somebody else plays there", scope: .route)
            house.airplay.refuse(house.speaker("Kitchen"), with: held)
            let tried = house.airplay.opened.count
            #expect(await house.turn(seconds: 60) { house.airplay.opened.count >= tried + 4 })
            #expect(await notices.count { $0.message == "Kitchen: it answers again, and is busy" } == 1)
            house.airplay.accept(house.speaker("Kitchen"))
            #expect(await house.turn(seconds: 20) { await house.plays("Kitchen") })
        }
    }

    @Test("R5 lost twice: the minute begins anew")
    func twice() async throws {
        try await Self.house(seconds: 3000).live { house in
            _ = try await lost(house)
            let first = try #require(house.begun("Kitchen")).timeline
            house.clock.advance(seconds: 35)
            house.airplay.accept(house.speaker("Kitchen"))
            #expect(await house.turn(seconds: 20) { await house.plays("Kitchen") })
            house.airplay.refuse(house.speaker("Kitchen"), with: Self.off)
            house.airplay.session(named: "Kitchen")?.isLost()
            #expect(await eventually { await house.member("Kitchen")?.connection == .suspended })
            house.clock.advance(seconds: 35)
            await othersHaveRun()
            house.airplay.accept(house.speaker("Kitchen"))
            #expect(await house.turn(seconds: 20) { await house.plays("Kitchen") })
            #expect(house.begun("Kitchen")?.timeline == first)
        }
    }

    @Test("R5 a stop while it is waited for ends it at once, and it is not tried any more")
    func stopped() async throws {
        try await Self.house(seconds: 3000).live { house in
            _ = try await lost(house)
            let id = try #require(await house.session()?.id)
            try await house.engine.end(session: id, reason: .stop)
            let tried = house.airplay.opened.count
            house.clock.advance(seconds: 100)
            await othersHaveRun()
            #expect(house.airplay.opened.count == tried)
            #expect(try await house.engine.sessionsToRejoin().isEmpty)
        }
    }
}

extension House {
    fileprivate func plays(_ room: String) async -> Bool {
        let member = await member(room)
        return member?.connection == .connected && member?.media == .playing
    }
}
