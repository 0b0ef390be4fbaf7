import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("R5 speakers and devices that fetch, of which some are lost or fail", .timeLimit(.minutes(2)))
struct MixedRoomsTests {
    private func playing(_ house: House, _ rooms: [String], _ what: [String]) async throws -> SessionSnapshot {
        let session = try await house.play(what, in: rooms)
        let lounge = try #require(house.cast.session(named: "Lounge"))
        #expect(await house.turn(seconds: 3) { lounge.state.media == .playing })
        return session
    }

    private func lose(_ name: String, _ house: House) async {
        house.airplay.refuse(house.speaker(name), with: RouterError(.routeUnreachable, "off", scope: .route))
        house.airplay.session(named: name)?.isLost()
        #expect(await eventually { await house.member(name)?.connection == .suspended })
    }

    @Test("with the last speaker lost a device that fetches goes by itself, and the speaker comes back in step with it")
    func lostTimeline() async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            let items = try await playing(house, ["Kitchen", "Lounge"], ["one", "two", "one"]).queue.items
            let lounge = try #require(house.cast.session(named: "Lounge"))
            await lose("Kitchen", house)
            _ = try await house.engine.perform(.next, session: nil, origin: .cli)
            #expect(await eventually { lounge.loadedTokens.count == 2 && lounge.state.media == .playing })
            lounge.reports(position: MediaTime(seconds: 5))
            #expect(await eventually { await house.session()?.anchor?.time.seconds == 5 })
            house.airplay.accept(house.speaker("Kitchen"))
            #expect(await house.turn(seconds: 40) { await house.plays("Kitchen") })
            #expect(house.media.feeds.map(\.first.item) == [items[0].id, items[1].id])
            #expect(await house.session()?.queue.current == items[1].id)
            #expect(lounge.loadedTokens.count == 2, "it plays on")
        }
    }

    @Test("a device that is held ready for the speakers plays also where the last of them is lost before they begin")
    func lostBeforeItBegins() async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            let items = try await playing(house, ["Kitchen", "Lounge"], ["one", "two"]).queue.items
            let lounge = try #require(house.cast.session(named: "Lounge"))
            _ = try await house.engine.perform(.next, session: nil, origin: .cli)
            #expect(await eventually { lounge.loadedTokens.count == 2 && lounge.state.media == .paused })
            await lose("Kitchen", house)
            #expect(await house.turn(seconds: 10) { lounge.state.media == .playing })
            let now = try #require(await house.session())
            #expect(now.media == .playing && now.queue.current == items[1].id)
            #expect(lounge.loadedTokens.count == 2)
        }
    }

    @Test("a room that was stopped at its device has not heard all of it: another one that is lost is tried again")
    func stoppedThere() async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            _ = try await playing(house, ["Kitchen", "Lounge"], ["one"])
            house.cast.session(named: "Lounge")?.reports {
                $0.media = .stopped
                $0.stopReason = .cancelled
            }
            #expect(await eventually { await house.member("Lounge")?.media == .stopped })
            await lose("Kitchen", house)
            #expect(await house.session()?.connection != .ended)
            house.airplay.accept(house.speaker("Kitchen"))
            #expect(await house.turn(seconds: 40) { await house.plays("Kitchen") })
        }
    }

    @Test("what one device cannot play is no fault of an item that speakers play")
    func failsInOne() async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            let items = try await playing(house, ["Kitchen", "Lounge"], ["one", "two"]).queue.items
            house.cast.session(named: "Lounge")?.reports {
                $0.media = .stopped
                $0.stopReason = .error
                $0.error = RouterError(.mediaUnsupported, "no such format", scope: .item)
            }
            #expect(await eventually { await house.member("Lounge")?.media == .stopped })
            await othersHaveRun()
            let now = try #require(await house.session())
            #expect(now.queue.items.allSatisfy { $0.failure == nil } && now.queue.current == items[0].id)
            #expect(now.members.first { $0.name == "Kitchen" }?.media == .playing)
        }
    }

    @Test("what is live is decoded from where it is, and not from how long it was heard")
    func live() async throws {
        func house(_ store: InMemoryStore) -> House {
            let house = House.threeSpeakers(store: store)
            house.media.isLive("http://h/radio")
            return house
        }
        try await House.afterACrash(of: house) { crashed, store in
            let before = try await crashed.play(["http://h/radio"], in: ["Kitchen"])
            crashed.clock.advance(seconds: 100)
            #expect(
                await crashed.turn(seconds: 20) { await store.sessionsToRejoin().first?.position.seconds ?? 0 > 90 })
            try await house(store).live { house in
                house.clock.advance(seconds: 130)
                _ = try await house.engine.rejoin(before.id)
                #expect(house.media.feeds.map(\.first.start) == [.zero])
            }
        }
    }

    @Test("a room that is late to come up is as loud as is wanted by then, and not as at the start")
    func lateAndSoft() async throws {
        try await House.threeSpeakers().live { house in
            let gate = house.airplay.holdsOpening(of: house.speaker("Bath"))
            let request = PlayRequest(what: ["one"], rooms: ["Kitchen", "Bath"], volume: VolumePosition(0.5))
            async let started = house.engine.play(request)
            #expect(await house.turn(seconds: 20) { await house.member("Kitchen")?.media == .playing })
            _ = try await started
            house.clock.advance(nanoseconds: CommandCoalescer.windowNanoseconds)
            _ = try await house.engine.perform(.setVolume(VolumePosition(0.1), room: nil), session: nil, origin: .cli)
            gate.finish()
            #expect(await house.turn(seconds: 20) { await house.member("Bath")?.media == .playing })
            #expect(await eventually { await house.member("Bath")?.volume?.level.value == 0.1 })
            // What the other room told of its start may be read as late as now, and is put right by what it tells next.
            #expect(await eventually { await house.session()?.volume?.level.value == 0.1 })
        }
    }
}

extension House {
    fileprivate func plays(_ name: String) async -> Bool {
        let member = await member(name)
        return member?.connection == .connected && member?.media == .playing
    }
}

@Suite("R4 announcements where something goes wrong meanwhile", .timeLimit(.minutes(2)))
struct AnnouncementTroubleTests {
    private func house() -> House {
        let house = House.threeSpeakers(lounge: true)
        house.media.add("bell", seconds: 3)
        return house
    }

    private func announce(
        in room: String, _ device: FakeRouteSession, _ house: House, _ meanwhile: () async -> Void
    ) async throws {
        async let report = house.engine.announce(
            AnnounceRequest(what: "bell", rooms: [room], priority: .high, deadline: MediaTime(seconds: 60)))
        #expect(await eventually { device.asked.count { if case .load = $0 { true } else { false } } >= 2 })
        await meanwhile()
        device.reachesEnd()
        _ = try await report
    }

    @Test("at the daemon's end nobody waits for what is announced, and nothing is announced any more")
    func ends() async throws {
        try await house().live { house in
            let request = AnnounceRequest(what: "bell", rooms: ["Lounge"], volume: VolumePosition(0.9))
            async let first = house.engine.announce(request)
            async let second = house.engine.announce(request)
            #expect(await eventually { house.cast.session(named: "Lounge")?.state.media == .playing })
            #expect(await eventually { await house.engine.announcements.count == 2 })
            let lounge = try #require(house.cast.session(named: "Lounge"))
            await house.engine.endAnnouncements()
            let rooms = try await [first, second].flatMap(\.rooms)
            #expect(rooms.count == 2 && rooms.allSatisfy { !$0.said })
            #expect(lounge.isClosed && lounge.state.volume?.level.value == 0.5)
            await #expect(throws: RouterError.self) { _ = try await house.engine.announce(request) }
        }
    }

    @Test("a room whose item cannot be loaded any more goes on in the queue, and ends with it")
    func cannotReload() async throws {
        try await house().live { house in
            _ = try await house.play(["one", "two"], in: ["Lounge"])
            let lounge = try #require(house.cast.session(named: "Lounge"))
            try await announce(in: "Lounge", lounge, house) {
                lounge.failLoads(with: RouterError(.mediaNotFound, "it is not there any more", scope: .item))
            }
            let isOver = await house.turn(seconds: 30) { await house.session()?.stopReason == .error }
            let now = await house.session()
            #expect(isOver, "\(String(describing: now)) \(lounge.asked)")
        }
    }

    @Test("a room that comes back while all others are lent plays with them afterwards")
    func comesBackMeanwhile() async throws {
        try await house().live { house in
            _ = try await house.play(["one", "two"], in: ["Kitchen", "Bath"])
            let kitchen = house.speaker("Kitchen")
            house.airplay.refuse(kitchen, with: RouterError(.routeUnreachable, "off", scope: .route))
            house.airplay.session(named: "Kitchen")?.isLost()
            #expect(await eventually { await house.member("Kitchen")?.connection == .suspended })
            let bath = try #require(house.airplay.session(named: "Bath"))
            try await announce(in: "Bath", bath, house) {
                house.airplay.accept(kitchen)
                #expect(await house.turn(seconds: 40) { await house.member("Kitchen")?.connection == .connected })
            }
            #expect(await house.turn(seconds: 5) { await house.session()?.media == .playing })
            for room in ["Kitchen", "Bath"] {
                #expect(await house.turn(seconds: 5) { await house.plays(room) })
            }
        }
    }
}
