import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("R1 one session for both kinds of room", .timeLimit(.minutes(2)))
struct PlaybackTests {
    @Test("a jump to an item that fails says so, each time")
    func jumpsToBroken() async throws {
        let house = House.kitchenAndLounge()
        house.media.add("bad", failing: RouterError(.itemFailed, "is broken", scope: .item))
        try await house.live { house in
            let items = try await house.play(["one", "bad", "two"], in: ["Kitchen"]).queue.items
            for _ in 0..<2 {
                let result = try await house.engine.perform(.jump(items[1].id), session: nil, origin: .cli)
                #expect(result.outcome.isError)
            }
        }
    }

    @Test("a pushed room plays through the queue and the session ends when it has been heard")
    func pushToTheEnd() async throws {
        try await House.kitchenAndLounge().live { house in
            let snapshot = try await house.play(["one", "two"], in: ["Kitchen"])
            #expect(snapshot.media == .playing)
            #expect(snapshot.members.map(\.name) == ["Kitchen"])
            let second = snapshot.queue.items[1].id
            // The second item begins ten seconds after the first was heard.
            #expect(await house.turn(seconds: 14) { await house.session()?.queue.current == second })
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            #expect(await eventually { kitchen.asked.contains(.present(second)) })
            kitchen.reachesEnd()
            #expect(await eventually { await house.session()?.connection == .ended })
            let end = await house.session()
            #expect(end?.stopReason == .finished)
            #expect(end?.queue.current == nil)
        }
    }

    @Test("the position is that of the timeline: nothing is heard before the lead has passed")
    func position() async throws {
        try await House.kitchenAndLounge().live { house in
            let snapshot = try await house.play(["one"], in: ["Kitchen"])
            let anchor = try #require(snapshot.anchor)
            #expect(anchor.instant == house.clock.now() + House.lead + startSlackNanoseconds)
            #expect(anchor.position(at: house.clock.now()) == .zero)
            #expect(anchor.position(at: anchor.instant + 3_000_000_000).seconds == 3)
        }
    }

    @Test("a fetching room is loaded item by item, and news of an old item does not end the new one")
    func pullSequence() async throws {
        try await House.kitchenAndLounge().live { house in
            let snapshot = try await house.play(["one", "two"], in: ["Lounge"])
            let lounge = try #require(house.cast.session(named: "Lounge"))
            lounge.reachesEnd()
            #expect(await eventually { lounge.loadedTokens.count == 2 })
            #expect(await eventually { await house.session()?.queue.current == snapshot.queue.items[1].id })
            #expect(await house.session()?.connection == .connected)
            lounge.reachesEnd()
            #expect(await eventually { await house.session()?.stopReason == .finished })
            // What was served is served no more.
            #expect(Set(house.media.withdrawn) == Set(house.media.published))
        }
    }

    @Test("R5 both kinds in one command: fetching rooms are readied first and started with the timeline")
    func together() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Lounge"])
            let lounge = try #require(house.cast.session(named: "Lounge"))
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            guard case .load(_, _, _, let autoplay)? = lounge.asked.first else {
                Issue.record("the lounge was not loaded first: \(lounge.asked)")
                return
            }
            #expect(!autoplay)
            guard case .load(_, fromFrame: 0, let timeline?, autoplay: true)? = kitchen.asked.first else {
                Issue.record("the kitchen was not started: \(kitchen.asked)")
                return
            }
            #expect(await house.turn(seconds: 3) { lounge.asked.contains(.perform(.play(timeline, fromFrame: 0))) })
        }
    }

    @Test("one room lost in the middle leaves the other playing, and is told")
    func oneLost() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Lounge"])
            house.cast.session(named: "Lounge")?.isLost()
            #expect(
                await eventually {
                    await house.session()?.members.first { $0.name == "Lounge" }?.connection == .suspended
                })
            let now = try #require(await house.session())
            #expect(now.members.first { $0.name == "Kitchen" }?.connection == .connected)
            #expect(now.connection == .connected)
            #expect(await house.turn(seconds: 5) { await house.member("Kitchen")?.media == .playing })
            house.airplay.session(named: "Kitchen")?.reachesEnd()
            #expect(await eventually { await house.session()?.connection == .ended })
            #expect(await house.session()?.stopReason == .finished)
            // Nobody saw it come back.
            let end = await house.session()
            #expect(end?.members.first { $0.name == "Lounge" }?.error?.code == .routeLost)
        }
    }

    @Test(
        "the last room lost is waited for as long as there is something to play, then the session ends with its error")
    func allLost() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            let kitchen = house.airplay.endpoint(named: "Kitchen", host: "10.0.0.1")
            house.airplay.refuse(kitchen, with: RouterError(.routeUnreachable, "off", scope: .route))
            house.airplay.session(named: "Kitchen")?.isLost()
            #expect(await eventually { await house.session()?.connection == .suspended })
            #expect(await house.session()?.media == .playing)
            // Ten seconds of music, and not the five minutes that a device has to come back.
            #expect(await house.turn(seconds: 40) { await house.session()?.stopReason == .deviceGone })
            #expect(await house.session()?.members[0].error?.code == .routeLost)
        }
    }

    @Test("an item that a fetching room cannot play is told and passed over; three in a row stop")
    func badItems() async throws {
        let house = House.kitchenAndLounge()
        for name in ["bad1", "bad2", "bad3", "bad4"] {
            house.media.add(name, failing: RouterError(.mediaUnsupported, "not a sound"))
        }
        try await house.live { house in
            let snapshot = try await house.play(["one", "bad1", "two", "bad2", "bad3", "bad4", "one"], in: ["Lounge"])
            let lounge = try #require(house.cast.session(named: "Lounge"))
            lounge.reachesEnd()
            let third = snapshot.queue.items[2].id
            #expect(
                await eventually {
                    let now = await house.session()
                    return now?.queue.current == third && now?.members[0].media == .playing
                        && lounge.loadedTokens.count == 2
                })
            lounge.reachesEnd()
            #expect(await eventually { await house.session()?.connection == .ended })
            let end = try #require(await house.session())
            #expect(end.stopReason == .error)
            #expect(end.error?.code == .mediaUnsupported)
            #expect(end.queue.items.filter { $0.failure != nil }.count == 4)
        }
    }
}

@Suite("R3 fallback before sound", .timeLimit(.minutes(2)))
struct FallbackTests {
    private func twoProtocols() -> House {
        let house = House { airplay, cast in
            [airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), cast.endpoint(named: "Kitchen", host: "10.0.0.1")]
        }
        house.media.add("one", seconds: 10)
        return house
    }

    @Test("when the first protocol fails to open, the other is tried, and it is said and remembered")
    func openFails() async throws {
        try await twoProtocols().live { house in
            let refused = house.airplay.endpoint(named: "Kitchen", host: "10.0.0.1")
            house.airplay.refuse(refused, with: RouterError(.timeout, "no answer to SETUP"))
            var events = await house.engine.events().makeAsyncIterator()
            let snapshot = try await house.play(["one"], in: ["Kitchen"])
            #expect(snapshot.members[0].protocol == .cast)
            #expect(snapshot.members[0].error == nil)
            #expect(await house.store.endpointFailures().map(\.endpoint) == [refused.id])
            var told: [String] = []
            while let event = await events.next() {
                if case .notice(let notice) = event.body { told.append(notice.message) }
                if case .session(let snapshot) = event.body, snapshot.media == .playing { break }
            }
            #expect(told.contains { $0.contains("no answer to SETUP") && $0.contains("trying Google Cast") })
        }
    }

    @Test("when the first protocol takes no media, the other is tried")
    func loadFails() async throws {
        try await twoProtocols().live { house in
            let refused = house.airplay.endpoint(named: "Kitchen", host: "10.0.0.1")
            house.airplay.refuseLoads(refused, with: RouterError(.timeout, "no answer to RECORD"))
            let snapshot = try await house.play(["one"], in: ["Kitchen"])
            #expect(snapshot.members[0].protocol == .cast)
            #expect(snapshot.media == .playing)
            #expect(house.airplay.sessions[0].asked.last == .end(.stop))
        }
    }

    @Test(
        "when every way fails, the best one's error is told, unless another says what a person can do",
        arguments: [
            (RouterError.Code.timeout, RouterError.Code.routeBusy, RouterError.Code.timeout),
            (.authRequired, .protocolViolation, .authRequired), (.protocolViolation, .authFailed, .authFailed),
            (.authRequired, .authFailed, .authRequired),
        ])
    func allFail(_ first: RouterError.Code, _ second: RouterError.Code, _ told: RouterError.Code) async throws {
        try await twoProtocols().live { house in
            house.airplay.refuse(
                house.airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), with: RouterError(first, "the first"))
            house.cast.refuse(
                house.cast.endpoint(named: "Kitchen", host: "10.0.0.1"), with: RouterError(second, "the second"))
            await #expect {
                _ = try await house.play(["one"], in: ["Kitchen"])
            } throws: { ($0 as? RouterError)?.code == told }
        }
    }

    @Test("R6 whether a room is known to be heard is part of its state, while it plays")
    func proof() async throws {
        try await twoProtocols().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            let proof = PlayingProof(.doubtful, "it never asks for our time", hint: "Open the firewall")
            kitchen.reports { $0.proof = proof }
            #expect(await eventually { await house.session()?.members.first?.proof == proof })
            kitchen.isLost()
            #expect(await eventually { await house.session()?.members.first?.proof == nil })
        }
    }

    @Test("--via is never silently replaced")
    func viaHolds() async throws {
        try await twoProtocols().live { house in
            let refused = house.airplay.endpoint(named: "Kitchen", host: "10.0.0.1")
            house.airplay.refuse(refused, with: RouterError(.routeBusy, "somebody else plays there"))
            await #expect {
                _ = try await house.play(["one"], in: ["Kitchen"], via: .airplay)
            } throws: { ($0 as? RouterError)?.code == .routeBusy }
            #expect(house.cast.sessions.isEmpty)
        }
    }

    @Test("--via of a protocol that the device lacks is an error")
    func viaImpossible() async throws {
        try await House.kitchenAndLounge().live { house in
            await #expect {
                _ = try await house.play(["one"], in: ["Kitchen"], via: .cast)
            } throws: { ($0 as? RouterError)?.code == .unsupported }
        }
    }

    @Test("a protocol that failed before goes last until the firmware changes")
    func rememberedFailure() async throws {
        try await twoProtocols().live { house in
            let refused = house.airplay.endpoint(named: "Kitchen", host: "10.0.0.1")
            await house.store.rememberFailure(
                EndpointFailure(endpoint: refused.id, firmware: nil, code: .timeout, message: "no answer"))
            let choices = try await house.engine.explain(PlayRequest(what: ["one"], rooms: ["Kitchen"]))
            #expect(choices[0].chosen?.endpoint.protocol == .cast)
            await house.store.rememberFailure(
                EndpointFailure(endpoint: refused.id, firmware: "older", code: .timeout, message: "no answer"))
            let after = try await house.engine.explain(PlayRequest(what: ["one"], rooms: ["Kitchen"]))
            #expect(after[0].chosen?.endpoint.protocol == .raop)
        }
    }
}
