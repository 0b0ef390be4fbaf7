import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

extension House {
    /// Three AirPlay speakers, rooms of the same names, and two files of a minute.
    static func threeSpeakers(
        offsets: [String: Int] = [:], store: InMemoryStore = InMemoryStore(), lounge: Bool = false
    ) -> House {
        let rooms = offsets.keys.sorted().map { name in
            Room(name: name, devices: [name], offsetMilliseconds: offsets[name] ?? 0, configured: true)
        }
        let house = House(rooms: rooms, store: store) { airplay, cast in
            ["Kitchen", "Bath", "Attic"].map { Self.speaker($0, airplay) }
                + (lounge ? [cast.endpoint(named: "Lounge", host: "10.0.0.9")] : [])
        }
        house.media.add("one", seconds: 60)
        house.media.add("two", seconds: 60)
        return house
    }

    private static func speaker(_ name: String, _ airplay: FakeProvider) -> Endpoint {
        airplay.endpoint(named: name, host: "10.0.1.\(name.utf8.count)")
    }

    func speaker(_ name: String) -> Endpoint { Self.speaker(name, airplay) }

    /// The timeline that a room was given last, and the frame from which on.
    func begun(_ name: String) -> (timeline: Timeline, frame: Int64)? {
        let asked = airplay.session(named: name)?.asked ?? []
        for call in asked.reversed() {
            switch call {
            case .load(_, let frame?, let timeline?, true): return (timeline, frame)
            case .perform(.play(let timeline?, let frame)): return (timeline, frame)
            default: continue
            }
        }
        return nil
    }

    /// When a room hears a frame of the session, by what it was told; before its first one never.
    func heard(_ frame: Int64, in name: String) -> Int64? {
        guard let begun = begun(name), begun.frame <= frame else { return nil }
        return begun.timeline.instant(ofFrame: frame, sampleRate: 44_100)
    }
}

@Suite("R5 rooms in time", .timeLimit(.minutes(2)))
struct GroupTests {
    @Test("R5 rooms begin by one instant, each shifted by its offset, and the slowest decides it")
    func offsets() async throws {
        try await House.threeSpeakers(offsets: ["Kitchen": 20, "Bath": -150]).live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath", "Attic"])
            let attic = try #require(house.heard(0, in: "Attic"))
            #expect(house.heard(0, in: "Kitchen") == attic + 20_000_000)
            #expect(house.heard(0, in: "Bath") == attic - 150_000_000)
            // The bath hears it first, and has its whole lead all the same.
            #expect(house.heard(0, in: "Bath") == house.clock.now() + House.lead + startSlackNanoseconds)
        }
    }

    @Test("R5 pause, going on, seek and skip keep the rooms apart by their offsets and nothing else")
    func commandsKeepOffsets() async throws {
        try await House.threeSpeakers(offsets: ["Kitchen": 20]).live { house in
            _ = try await house.play(["one", "two"], in: ["Kitchen", "Attic"])
            for command in [.pause, .play, .seek(to: MediaTime(seconds: 30)), .next] as [RemoteCommand] {
                house.clock.advance(seconds: 4)
                _ = try await house.engine.perform(command, session: nil, origin: .cli)
                guard command != .pause else { continue }
                let (kitchen, attic) = try #require(zip2(house.begun("Kitchen"), house.begun("Attic")))
                #expect(kitchen.frame == attic.frame, "\(command)")
                #expect(kitchen.timeline == attic.timeline.shifted(byNanoseconds: 20_000_000), "\(command)")
            }
        }
    }

    @Test("R5 a room that drops out comes back on the running timeline, and the others are asked nothing")
    func comesBack() async throws {
        try await House.threeSpeakers(offsets: ["Bath": 35]).live { house in
            let before = try await house.play(["one"], in: ["Kitchen", "Bath"])
            let notices = await Notices(house.engine)
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            let asked = kitchen.toldToPlay
            let first = try #require(house.heard(44_100, in: "Bath"))
            house.airplay.refuse(house.speaker("Bath"), with: RouterError(.routeBusy, "held", scope: .route))
            house.clock.advance(seconds: 9)
            house.airplay.session(named: "Bath")?.isLost()
            #expect(await eventually { await house.member("Bath")?.connection == .suspended })
            #expect(await house.session()?.connection == .connected)
            #expect(await house.turn(seconds: 3) { house.airplay.opened.count >= 4 })
            house.airplay.accept(house.speaker("Bath"))
            #expect(await house.turn(seconds: 20) { house.airplay.sessions.count == 3 })
            #expect(await eventually { await house.member("Bath")?.media == .playing })
            // Its first frame is heard when the others hear that one, but for its offset, and it had time to get there.
            let begun = try #require(house.begun("Bath"))
            #expect(begun.timeline.instant(ofFrame: 44_100, sampleRate: 44_100) == first)
            #expect(begun.frame > 9 * 44_100)
            let start = try #require(house.heard(begun.frame, in: "Bath"))
            #expect(start > house.clock.now() + House.lead - 21_000_000)
            #expect(kitchen.toldToPlay == asked)
            #expect(await house.session()?.id == before.id)
            #expect(await notices.count { $0.message.contains("connected again") } == 1)
        }
    }

    @Test("R5 a room that comes back while it is paused begins with the others when they go on")
    func comesBackPaused() async throws {
        try await House.threeSpeakers().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            house.clock.advance(seconds: 9)
            house.airplay.session(named: "Bath")?.isLost()
            #expect(await eventually { await house.member("Bath")?.connection == .suspended })
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            #expect(await house.turn(seconds: 5) { await house.member("Bath")?.connection == .connected })
            guard case .load(_, _, nil, false)? = house.airplay.session(named: "Bath")?.asked.last else {
                Issue.record("\(String(describing: house.airplay.session(named: "Bath")?.asked))")
                return
            }
            _ = try await house.engine.perform(.play, session: nil, origin: .cli)
            let (kitchen, bath) = try #require(zip2(house.begun("Kitchen"), house.begun("Bath")))
            #expect(kitchen.timeline == bath.timeline && kitchen.frame == bath.frame)
        }
    }

    @Test("R5 a room lost in the middle of a seek is tried again too, and the others have sought")
    func lostInSeek() async throws {
        try await House.threeSpeakers().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            house.airplay.session(named: "Bath")?.failLoads(with: RouterError(.timeout, "no answer", scope: .route))
            _ = try await house.engine.perform(.seek(to: MediaTime(seconds: 20)), session: nil, origin: .cli)
            #expect(await house.session()?.anchor?.time.seconds == 20)
            #expect(await house.turn(seconds: 5) { await house.member("Bath")?.media == .playing })
            let (kitchen, bath) = try #require(zip2(house.begun("Kitchen"), house.begun("Bath")))
            #expect(kitchen.timeline == bath.timeline)
        }
    }

    @Test("R5 who takes a device from us again and again is not fought: the waits go on growing")
    func noFight() async throws {
        try await House.threeSpeakers().live { house in
            _ = try await house.play(["one", "two", "one", "two"], in: ["Kitchen", "Bath"])
            var instants: [Int64] = []
            for round in 1...5 {
                let before = house.airplay.sessions.count
                house.airplay.session(named: "Bath")?.isLost()
                #expect(await eventually { await house.member("Bath")?.connection == .suspended }, "\(round)")
                let lost = house.clock.now()
                #expect(await house.turn(seconds: 60) { house.airplay.sessions.count > before }, "\(round)")
                instants.append(house.clock.now() - lost)
                #expect(await eventually { await house.member("Bath")?.media == .playing }, "\(round)")
            }
            // 0.5, 1, 2, 4, 8 seconds, to the half second that the clock is turned by.
            #expect(instants.last ?? 0 >= 8_000_000_000, "\(instants)")
        }
    }

    @Test("R5 a wrong password is not tried again, and neither is a device that somebody else has taken")
    func final() async throws {
        for code in [RouterError.Code.authFailed, .commandSuperseded] {
            try await House.threeSpeakers().live { house in
                _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
                house.airplay.session(named: "Bath")?.reports {
                    $0.connection = code == .authFailed ? .failed : .ended
                    $0.error = RouterError(code, "no", scope: .route)
                }
                #expect(await eventually { await house.member("Bath")?.connection == .failed })
                #expect(await house.session()?.connection == .connected)
            }
        }
    }
}

extension FakeRouteSession {
    /// Loads and commands, without what a display is shown.
    var toldToPlay: [Call] {
        asked.filter { if case .present = $0 { false } else { true } }
    }
}

/// Both, where both are there.
func zip2<A, B>(_ a: A?, _ b: B?) -> (A, B)? {
    guard let a, let b else { return nil }
    return (a, b)
}

extension House {
    func member(_ name: String) async -> SessionMember? { await session()?.members.last { $0.name == name } }
}

@Suite("R5 rooms that join and leave", .timeLimit(.minutes(2)))
struct MembershipTests {
    @Test("R5 a room joins on the beat of the one that plays, with its offset and its own volume")
    func joins() async throws {
        try await House.threeSpeakers(offsets: ["Bath": 40]).live { house in
            _ = try await house.engine.play(
                PlayRequest(what: ["one"], rooms: ["Kitchen"], volume: VolumePosition(0.8)))
            house.clock.advance(seconds: 7.3)
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            let asked = kitchen.toldToPlay
            let snapshot = try await house.engine.join(session: nil, rooms: ["Bath"])
            #expect(snapshot.members.map(\.name) == ["Kitchen", "Bath"])
            #expect(await eventually { await house.session()?.members.map(\.media) == [.playing, .playing] })
            let begun = try #require(house.begun("Bath"))
            #expect(
                house.heard(begun.frame, in: "Bath") == house.heard(begun.frame, in: "Kitchen").map { $0 + 40_000_000 })
            // As early as it can be: its lead from now, to a frame.
            let start = try #require(house.heard(begun.frame, in: "Bath"))
            let wanted = house.clock.now() + House.lead + startSlackNanoseconds
            #expect(abs(start - wanted) < 23_000)
            #expect(kitchen.toldToPlay == asked)
            let bath = try #require(house.airplay.session(named: "Bath"))
            #expect(!bath.asked.contains { if case .volume = $0 { true } else { false } })
            // Once more is nothing new.
            _ = try await house.engine.join(session: nil, rooms: ["Bath"])
            #expect(house.airplay.sessions.count == 2)
        }
    }

    @Test("R5 a room of another session is taken from it, and that one plays on in its others")
    func fromAnother() async throws {
        try await House.threeSpeakers().live { house in
            let first = try await house.play(["one"], in: ["Kitchen", "Bath"])
            let second = try await house.play(["two"], in: ["Attic"])
            let joined = try await house.engine.join(session: second.id, rooms: ["Bath"])
            #expect(joined.members.map(\.name) == ["Attic", "Bath"])
            let old = await house.engine.sessions().first { $0.id == first.id }
            #expect(old?.members.map(\.name) == ["Kitchen"])
            #expect(old?.connection == .connected)
            #expect(
                house.airplay.sessions.first { $0.descriptor.endpoint.name == "Bath" }?.asked.last == .end(.replaced))
            // With its last room a session ends.
            _ = try await house.engine.join(session: second.id, rooms: ["Kitchen"])
            #expect(
                await eventually {
                    await house.engine.sessions().first { $0.id == first.id }?.stopReason == .replaced
                })
        }
    }

    @Test("R5 a room that joins and does not play by its first protocol plays by its other one")
    func joinsByOther() async throws {
        let house = House { airplay, cast in
            [
                airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Den", host: "10.0.0.2"),
                cast.endpoint(named: "Den", host: "10.0.0.2", port: 2),
            ]
        }
        house.media.add("one", seconds: 60)
        try await house.live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            house.airplay.refuseLoads(
                house.airplay.endpoint(named: "Den", host: "10.0.0.2"),
                with: RouterError(.routeLost, "gone", scope: .route))
            _ = try await house.engine.join(session: nil, rooms: ["Den"])
            #expect(await house.turn(seconds: 5) { await house.member("Den")?.media == .playing })
            #expect(await house.member("Den")?.protocol == .cast)
        }
    }

    @Test("R5 a room that cannot be had leaves everything as it was, and says why")
    func refused() async throws {
        try await House.threeSpeakers().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            house.airplay.refuse(house.speaker("Bath"), with: RouterError(.routeBusy, "somebody else plays there"))
            await #expect {
                _ = try await house.engine.join(session: nil, rooms: ["Bath"])
            } throws: { ($0 as? RouterError)?.code == .routeBusy }
            #expect(await house.session()?.members.map(\.name) == ["Kitchen"])
            await #expect {
                _ = try await house.engine.join(session: nil, rooms: ["Cellar"])
            } throws: { ($0 as? RouterError)?.code == .routeNotFound }
            await #expect {
                _ = try await house.engine.leave(session: nil, rooms: ["Bath"])
            } throws: { ($0 as? RouterError)?.code == .routeNotFound }
            await #expect {
                _ = try await house.engine.leave(session: nil, rooms: [])
            } throws: { ($0 as? RouterError)?.code == .configuration }
        }
    }

    @Test("R5 a room leaves and the others play on; with the last one the session ends")
    func leaves() async throws {
        try await House.threeSpeakers().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            let asked = kitchen.toldToPlay
            let left = try await house.engine.leave(session: nil, rooms: ["bath"])
            #expect(left.members.map(\.name) == ["Kitchen"])
            #expect(house.airplay.session(named: "Bath")?.asked.last == .end(.stop))
            #expect(kitchen.toldToPlay == asked)
            // And may come back, in step.
            house.clock.advance(seconds: 3)
            _ = try await house.engine.join(session: nil, rooms: ["Bath"])
            #expect(house.begun("Bath")?.timeline == house.begun("Kitchen")?.timeline)
            _ = try await house.engine.leave(session: nil, rooms: ["Kitchen", "Bath"])
            #expect(await eventually { await house.session()?.connection == .ended })
        }
    }

    @Test("R5 with its last speaker gone, a device that fetches goes on by itself, and a speaker joins it in step")
    func mixed() async throws {
        try await House.threeSpeakers(lounge: true).live { house in
            _ = try await house.play(["one", "two"], in: ["Kitchen", "Lounge"])
            let lounge = try #require(house.cast.session(named: "Lounge"))
            #expect(await house.turn(seconds: 3) { lounge.state.media == .playing })
            _ = try await house.engine.leave(session: nil, rooms: ["Kitchen"])
            lounge.reports(position: MediaTime(seconds: 20))
            #expect(await eventually { await house.session()?.anchor?.time.seconds == 20 })
            // The speakers' timeline is forgotten once nobody is to begin by it any more.
            let session = try #require(await house.engine.runningSessions.first)
            #expect(await house.turn(seconds: 3) { await session.run == nil })
            house.clock.advance(seconds: 1)
            let now = house.clock.now()
            let wanted = now + House.lead + startSlackNanoseconds
            let place = try #require(await house.session()?.anchor?.position(at: now)).seconds
            _ = try await house.engine.join(session: nil, rooms: ["Bath"])
            let begun = try #require(house.begun("Bath"))
            #expect(begun.frame == 0)
            #expect(begun.timeline.hostNanoseconds == wanted)
            // What the lounge will be playing then.
            let at = await house.session()?.anchor?.position(at: wanted) ?? .zero
            #expect(abs(at.seconds - place - Double(House.lead + startSlackNanoseconds) / 1e9) < 0.001)
        }
    }
}

@Suite("R5 a session of speakers after a crash", .timeLimit(.minutes(2)))
struct SpeakersAfterCrashTests {
    @Test("R5 soon after, every room begins by one instant, where the music would be by then")
    func onTheBeat() async throws {
        try await House.afterACrash(of: { House.threeSpeakers(offsets: ["Bath": 25], store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two"], in: ["Kitchen", "Bath"])
            let first = try #require(crashed.begun("Kitchen")?.timeline)
            #expect(
                await crashed.turn(seconds: 3) {
                    await store.sessionsToRejoin().first.map { $0.playing && $0.anchor?.rate == 1 } ?? false
                })

            try await House.threeSpeakers(offsets: ["Bath": 25], store: store).live { house in
                // Its clock goes on from the other's.
                house.clock.advance(nanoseconds: crashed.clock.now() - house.clock.now() + 10_000_000_000)
                let after = try await house.engine.rejoin(before.id)
                // The devices' own word comes a moment after they have been begun.
                #expect(await eventually { await house.session()?.members.map(\.media) == [.playing, .playing] })
                let (kitchen, bath) = try #require(zip2(house.begun("Kitchen"), house.begun("Bath")))
                #expect(bath.timeline == kitchen.timeline.shifted(byNanoseconds: 25_000_000))
                #expect(kitchen.frame == 0 && bath.frame == 0)
                // The new feed begins in the item where the old timeline would have been at that instant.
                let anchor = try #require(after.anchor)
                #expect(anchor.instant == kitchen.timeline.hostNanoseconds)
                #expect(abs((anchor.time - first.mediaTime(at: anchor.instant)).seconds) < 1e-6)
            }
        }
    }

    @Test("R5 long after, it goes on where it was last written, which is every 15 seconds")
    func longAfter() async throws {
        try await House.afterACrash(of: { House.threeSpeakers(store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two"], in: ["Kitchen"])
            #expect(
                await crashed.turn(seconds: 40) { await store.sessionsToRejoin().first?.position.seconds ?? 0 > 20 })
            let written = try #require(await store.sessionsToRejoin().first).position

            try await House.threeSpeakers(store: store).live { house in
                house.clock.advance(nanoseconds: crashed.clock.now() - house.clock.now() + 900_000_000_000)
                let after = try await house.engine.rejoin(before.id)
                let anchor = try #require(after.anchor)
                // And the lead, for which it is estimated to have gone on.
                #expect(abs((anchor.time - written).seconds - Double(House.lead + startSlackNanoseconds) / 1e9) < 0.001)
            }
        }
    }

    @Test("R5 a room that still waits for the sender that was is tried again, and says so where it is the only one")
    func busy() async throws {
        try await House.afterACrash(of: { House.threeSpeakers(store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two"], in: ["Kitchen", "Bath"])
            let busy = RouterError(.routeBusy, "busy: somebody else plays there", scope: .route)

            try await House.threeSpeakers(store: store).live { house in
                house.airplay.refuse(house.speaker("Bath"), with: busy)
                house.airplay.refuse(house.speaker("Kitchen"), with: busy)
                let error = await #expect(throws: RouterError.self) { try await house.engine.rejoin(before.id) }
                #expect(error?.hint?.contains("two minutes") == true)
                house.airplay.accept(house.speaker("Kitchen"))
                let after = try await house.engine.rejoin(before.id)
                #expect(after.members.map(\.connection) == [.connected, .suspended])
                house.airplay.accept(house.speaker("Bath"))
                #expect(await house.turn(seconds: 5) { await house.member("Bath")?.media == .playing })
                #expect(house.begun("Bath")?.timeline == house.begun("Kitchen")?.timeline)
            }
        }
    }
}

@Suite("R5 devices that are one for people", .timeLimit(.minutes(2)))
struct StereoPairTests {
    static func pair(_ airplay: FakeProvider) -> [Endpoint] {
        ["left", "right"].enumerated().map { place, side in
            var endpoint = airplay.endpoint(named: "Den \(side)", host: "10.0.2.\(place + 1)")
            endpoint.kind = .stereoPair
            endpoint.facts = ["groupID": "A0B1", "groupName": "Den"]
            return endpoint
        }
    }

    @Test("R5 a stereo pair is one room, and both are sent to in step, and set as one")
    func both() async throws {
        let house = House { airplay, _ in Self.pair(airplay) + [airplay.endpoint(named: "Bath", host: "10.0.0.3")] }
        house.media.add("one", seconds: 10)
        try await house.live { house in
            let routes = try await house.engine.routes(settle: true).routes
            #expect(routes.map(\.name) == ["Bath", "Den"])
            #expect(routes.last?.kind == .stereoPair && routes.last?.endpoints.count == 2)
            let snapshot = try await house.play(["one"], in: ["Den"])
            #expect(snapshot.members.map(\.name) == ["Den (Den left)", "Den (Den right)"])
            #expect(house.begun("Den left")?.timeline == house.begun("Den right")?.timeline)
            _ = try await house.engine.perform(
                .setVolume(VolumePosition(0.4), room: "Den"), session: nil, origin: .cli)
            for side in ["left", "right"] {
                let volume = VolumeState(level: VolumePosition(0.4))
                #expect(house.airplay.session(named: "Den \(side)")?.asked.contains(.volume(volume)) == true)
            }
            // One of them dies, and is back.
            house.airplay.session(named: "Den left")?.isLost()
            #expect(await house.turn(seconds: 3) { house.airplay.sessions.count == 3 })
            #expect(await eventually { await house.member("Den (Den left)")?.media == .playing })
            _ = try await house.engine.leave(session: nil, rooms: ["Den"])
            #expect(await eventually { await house.session()?.connection == .ended })
        }
    }

    @Test("R5 a pair that is parted is two devices again, and one of a pair that is alone is played to")
    func parted() {
        let provider = FakeProvider(
            family: .airplay,
            delivery: .push(PushRequirements(format: AudioPacketFormat(codec: .alac), leadNanoseconds: 0)),
            clock: ManualClock())
        var registry = RouteRegistry()
        let pair = Self.pair(provider)
        registry.update(pair[0])
        #expect(registry.routes.map(\.name) == ["Den"])
        #expect(registry.parts(of: registry.routes[0].id).count == 1)
        let id = registry.routes[0].id
        // The other half is somewhere: a play by name waits for it a little.
        #expect(!registry.isWhole(id))
        registry.update(pair[1])
        #expect(registry.isWhole(id))
        #expect(registry.routes.map(\.id) == [id])
        #expect(registry.parts(of: id).map(\.name) == ["Den left", "Den right"])
        #expect(registry.parts(of: id).map(\.endpoints.count) == [1, 1])
        for endpoint in pair {
            var alone = endpoint
            alone.kind = .device
            alone.facts = [:]
            registry.update(alone)
        }
        #expect(registry.routes.map(\.name) == ["Den left", "Den right"])
        #expect(Set(registry.routes.map(\.id)).count == 2)
        #expect(registry.parts(of: id).count == 1)
    }
}
