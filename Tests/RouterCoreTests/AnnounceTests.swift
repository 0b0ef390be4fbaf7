import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("announcements", .timeLimit(.minutes(2)))
struct AnnounceTests {
    private static func house(_ rooms: [Room] = [], queueOnDevice: Bool = false) -> House {
        let house = House(rooms: rooms, queueOnDevice: queueOnDevice) { airplay, cast in
            [
                airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Bath", host: "10.0.0.2"),
                cast.endpoint(named: "Lounge", host: "10.0.0.3"), cast.endpoint(named: "Den", host: "10.0.0.4"),
            ]
        }
        for name in ["one", "two"] { house.media.add(name, seconds: 600) }
        house.media.add("bell", seconds: 3)
        return house
    }

    private func device(_ name: String, _ house: House) throws -> FakeRouteSession {
        try #require(house.airplay.session(named: name) ?? house.cast.session(named: name))
    }

    /// Nil where it was never connected to.
    private func found(_ name: String, _ house: House) -> FakeRouteSession? {
        house.airplay.session(named: name) ?? house.cast.session(named: name)
    }

    private static func loads(_ session: FakeRouteSession) -> Int {
        session.asked.count { if case .load = $0 { true } else { false } }
    }

    private static func levels(_ session: FakeRouteSession) -> [Double] {
        session.asked.compactMap { if case .volume(let volume) = $0 { volume.level.value } else { nil } }
    }

    private func seconds(_ seconds: Double, _ house: House) async {
        house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds)
        house.clock.advance(seconds: seconds)
    }

    /// Says it, and does `meanwhile` once every one of these devices has the clip.
    private func announce(
        _ house: House, in rooms: [String], volume: Double? = nil, priority: AnnounceRequest.Priority = .high,
        deadline: Double = 60, heardBy devices: [String], loads: Int = 2,
        meanwhile: @escaping @Sendable () async throws -> Void
    ) async throws -> AnnounceReport {
        async let report = house.engine.announce(
            AnnounceRequest(
                what: "bell", rooms: rooms, volume: volume.map { VolumePosition($0) }, priority: priority,
                deadline: MediaTime(seconds: deadline)))
        for name in devices {
            #expect(
                await eventually { self.found(name, house).map { Self.loads($0) >= loads } ?? false },
                "\(name) has no clip")
        }
        try await meanwhile()
        return try await report
    }

    @Test("R4 what plays is interrupted and goes on exactly there, at its own volume, with its queue")
    func resumes() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one", "two"], in: ["Kitchen"])
            // What the second one is called is found out meanwhile.
            #expect(
                await eventually {
                    await house.session()?.queue.items.allSatisfy { $0.metadata.duration != nil } ?? false
                })
            let before = try #require(await house.session())
            await seconds(100, house)
            let report = try await announce(house, in: ["Kitchen"], volume: 0.8, heardBy: ["Kitchen"]) {
                let kitchen = try device("Kitchen", house)
                #expect(await eventually { Self.levels(kitchen) == [0.8] })
                let now = try #require(await house.session())
                #expect(now.announcement == "Title of bell")
                #expect(now.queue.items.map(\.id) == before.queue.items.map(\.id))
                #expect(abs((now.position?.seconds ?? 0) - 100) < 0.001)
                house.clock.advance(seconds: 5)
                kitchen.reachesEnd()
            }
            #expect(
                report
                    == AnnounceReport(
                        title: "Title of bell", rooms: [.init(room: "Kitchen", said: true, restored: .resumed)]))
            let kitchen = try device("Kitchen", house)
            #expect(Self.levels(kitchen) == [0.8, 0.5])
            let after = try #require(await house.session())
            #expect(after.media == .playing && after.announcement == nil)
            #expect(after.queue == before.queue)
            #expect(abs((after.anchor?.time.seconds ?? 0) - 100) < 0.001)
            #expect(after.volume?.level.value == 0.5)
            #expect(house.airplay.sessions.count == 1, "the same connection")
            // The volume was back before the music was.
            let calls = kitchen.asked
            let back = try #require(calls.lastIndex(of: .volume(VolumeState(level: VolumePosition(0.5)))))
            let load = try #require(calls.lastIndex { if case .load = $0 { true } else { false } })
            #expect(back < load)
        }
    }

    @Test("R4 where nothing plays nothing is started, and the room is left")
    func idle() async throws {
        try await Self.house().live { house in
            let report = try await announce(house, in: ["Lounge", "Bath"], heardBy: ["Lounge", "Bath"], loads: 1) {
                #expect(await house.engine.sessions().isEmpty)
                // The room that fetches is held for the one that is sent to.
                house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds)
                let lounge = try device("Lounge", house)
                #expect(await eventually { lounge.state.media == .playing })
                lounge.reachesEnd()
                try device("Bath", house).reachesEnd()
            }
            #expect(report.rooms.map(\.room) == ["Lounge", "Bath"])
            #expect(report.rooms.allSatisfy { $0.said && $0.restored == .nothing && $0.error == nil })
            for name in ["Lounge", "Bath"] {
                let session = try device(name, house)
                #expect(session.asked.last == .end(.stop))
                #expect(Self.loads(session) == 1)
            }
            #expect(await house.engine.sessions().isEmpty)
            #expect(await house.store.sessionsToRejoin().isEmpty)
            #expect(house.media.withdrawn.count == 1)
        }
    }

    @Test("R4 paused stays paused, at the same place")
    func paused() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let lounge = try device("Lounge", house)
            lounge.reports(position: MediaTime(seconds: 30))
            #expect(await eventually { await house.session()?.anchor?.time.seconds == 30 })
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            let report = try await announce(house, in: ["Lounge"], heardBy: ["Lounge"]) { lounge.reachesEnd() }
            #expect(report.rooms == [.init(room: "Lounge", said: true, restored: .paused)])
            let now = try #require(await house.session())
            #expect(now.media == .paused)
            #expect(now.position?.seconds == 30)
            #expect(lounge.state.media == .paused)
            _ = try await house.engine.perform(.play, session: nil, origin: .cli)
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("R4 what a device that has a queue said of the clip, and is heard late, is no other sender's item")
    func lateNews() async throws {
        try await Self.house(queueOnDevice: true).live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let lounge = try device("Lounge", house)
            let said = LatestValue(lounge.state)
            _ = try await announce(house, in: ["Lounge"], heardBy: ["Lounge"]) {
                let before = said.value.calls
                #expect(await eventually { lounge.state.calls == before + 1 })
                said.set(lounge.state)
                lounge.reachesEnd()
            }
            let before = try #require(await house.session())
            var late = said.value
            #expect(late.loaded != lounge.state.loaded && late.window?.first?.url != nil)
            late.volume = VolumeState(level: VolumePosition(0.33))
            lounge.reports { [late] in $0 = late }
            #expect(await eventually { await house.session()?.volume?.level.value == 0.33 })
            let after = try #require(await house.session())
            #expect(after.queue == before.queue && after.ownership == .ours)
        }
    }

    @Test("R4 some rooms play, some are idle, and one of a session of two goes on meanwhile")
    func mixed() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            await seconds(50, house)
            let bath = try device("Bath", house)
            let report = try await announce(house, in: ["Kitchen", "Den"], heardBy: ["Kitchen"]) {
                #expect(await eventually { self.found("Den", house).map { Self.loads($0) == 1 } ?? false })
                #expect(await house.session()?.media == .playing)
                house.clock.advance(seconds: 4)
                try device("Kitchen", house).reachesEnd()
                let den = try device("Den", house)
                #expect(await eventually { den.state.media == .playing })
                den.reachesEnd()
            }
            #expect(
                report.rooms == [
                    .init(room: "Kitchen", said: true, restored: .resumed),
                    .init(room: "Den", said: true, restored: .nothing),
                ])
            // It comes in again on the beat of the other, which was never told anything.
            #expect(Self.loads(bath) == 1)
            #expect(!bath.asked.contains(.perform(.pause)))
            let kitchen = try device("Kitchen", house)
            guard
                case .load(_, let frame?, let timeline?, true)? = kitchen.asked.last(where: {
                    if case .load = $0 { true } else { false }
                })
            else {
                Issue.record("it was not taken up: \(kitchen.asked)")
                return
            }
            #expect(timeline.frame(at: house.clock.now(), sampleRate: 44_100) <= frame)
            #expect(frame > 54 * 44_100)
        }
    }

    @Test("R4 both kinds at once: a room that fetches and one that is sent to go on together")
    func bothKinds() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Lounge"])
            await seconds(20, house)
            let (kitchen, lounge) = (try device("Kitchen", house), try device("Lounge", house))
            let report = try await announce(house, in: ["@all"], heardBy: ["Kitchen", "Lounge"]) {
                #expect(await eventually { self.found("Den", house).map { Self.loads($0) == 1 } ?? false })
                #expect(await eventually { self.found("Bath", house).map { Self.loads($0) == 1 } ?? false })
                house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds)
                for name in ["Lounge", "Den"] {
                    let session = try self.device(name, house)
                    #expect(await eventually { session.state.media == .playing })
                }
                for name in ["Kitchen", "Lounge", "Den", "Bath"] { try self.device(name, house).reachesEnd() }
            }
            #expect(report.rooms.filter { $0.restored == .resumed }.map(\.room).sorted() == ["Kitchen", "Lounge"])
            #expect(report.rooms.filter { $0.restored == .nothing }.map(\.room).sorted() == ["Bath", "Den"])
            #expect(Self.loads(kitchen) == 3 && Self.loads(lounge) == 3)
            #expect(abs((await house.session()?.anchor?.time.seconds ?? 0) - 20) < 0.001)
            house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds)
            #expect(await eventually { lounge.state.media == .playing })
            // The one that was held ready has paused nobody.
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("R4 a person's word meanwhile wins: pause ends it and stays, next goes to the next, stop ends all")
    func overruled() async throws {
        try await Self.house().live { house in
            let items = try await house.play(["one", "two"], in: ["Kitchen"]).queue.items
            await seconds(10, house)
            let first = try await announce(house, in: ["Kitchen"], heardBy: ["Kitchen"]) {
                let outcome = try await house.engine.perform(.pause, session: nil, origin: .web).outcome
                #expect(outcome == .succeeded)
            }
            #expect(first.rooms.map(\.restored) == [.overruled])
            #expect(first.rooms.map(\.said) == [false])
            let paused = try #require(await house.session())
            #expect(paused.media == .paused && paused.announcement == nil)
            #expect(abs((paused.position?.seconds ?? 0) - 10) < 0.001)
            _ = try await house.engine.perform(.play, session: nil, origin: .cli)
            let second = try await announce(house, in: ["Kitchen"], heardBy: ["Kitchen"], loads: 4) {
                let outcome = try await house.engine.perform(.next, session: nil, origin: .cli).outcome
                #expect(outcome == .succeeded)
            }
            #expect(second.rooms.map(\.restored) == [.overruled])
            #expect(await house.session()?.queue.current == items[1].id)
            #expect(await house.session()?.media == .playing)
            let third = try await announce(house, in: ["Kitchen"], heardBy: ["Kitchen"], loads: 7) {
                let outcome = try await house.engine.perform(.stop, session: nil, origin: .cli).outcome
                #expect(outcome == .succeeded)
            }
            #expect(third.rooms.map(\.restored) == [.overruled])
            #expect(await house.session()?.connection == .ended)
        }
    }

    @Test("R4 a volume that a person sets meanwhile is heard at once, and stays")
    func volumeMeanwhile() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            let kitchen = try device("Kitchen", house)
            let report = try await announce(house, in: ["Kitchen"], volume: 0.9, heardBy: ["Kitchen"]) {
                #expect(await eventually { Self.levels(kitchen) == [0.9] })
                _ = try await house.engine.perform(
                    .setVolume(VolumePosition(0.2), room: nil), session: nil, origin: .cli)
                #expect(Self.levels(kitchen) == [0.9, 0.2])
                kitchen.reachesEnd()
            }
            #expect(report.rooms.map(\.restored) == [.resumed])
            #expect(Self.levels(kitchen).last == 0.2)
            #expect(await house.session()?.volume?.level.value == 0.2)
        }
    }

    @Test("R4 the deadline always ends it, and says so")
    func deadline() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            await seconds(10, house)
            let report = try await announce(house, in: ["Kitchen", "Den"], deadline: 20, heardBy: ["Kitchen"]) {
                #expect(await eventually { self.found("Den", house).map { Self.loads($0) == 1 } ?? false })
                house.clock.advance(seconds: 20)
            }
            #expect(report.rooms.map(\.said) == [false, false])
            #expect(report.rooms.map(\.restored) == [.resumed, .nothing])
            #expect(report.rooms.allSatisfy { $0.error?.code == .timeout })
            #expect(try device("Den", house).asked.last == .end(.stop))
            #expect(await house.session()?.media == .playing)
            for wrong in [0.5, 601] {
                await #expect(throws: RouterError.self) {
                    try await house.engine.announce(
                        AnnounceRequest(what: "bell", rooms: ["Den"], deadline: MediaTime(seconds: wrong)))
                }
            }
        }
    }

    @Test("R4 a room that is lost in the middle says so, and the other is restored")
    func lostRoom() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            await seconds(10, house)
            let report = try await announce(house, in: ["Kitchen", "Bath"], heardBy: ["Kitchen", "Bath"]) {
                try device("Bath", house).isLost()
                try device("Kitchen", house).reachesEnd()
            }
            #expect(report.rooms.map(\.room) == ["Kitchen", "Bath"])
            #expect(report.rooms.map(\.said) == [true, false])
            #expect(report.rooms[0].restored == .resumed)
            #expect(report.rooms[1].restored == .failed)
            #expect(report.rooms[1].error?.code == .routeLost)
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("R4 a clip that a device refuses is told, and what played goes on")
    func refusedClip() async throws {
        try await Self.house().live { house in
            house.media.add("bad", failing: RouterError(.mediaUnsupported, "no sound that is known"))
            _ = try await house.play(["one"], in: ["Kitchen"])
            await #expect(throws: RouterError.self) {
                try await house.engine.announce(AnnounceRequest(what: "bad", rooms: ["Kitchen"]))
            }
            await #expect(throws: RouterError.self) {
                try await house.engine.announce(AnnounceRequest(what: "missing", rooms: ["Kitchen"]))
            }
            house.airplay.refuse(
                house.airplay.endpoint(named: "Bath", host: "10.0.0.2"), with: RouterError(.routeUnreachable, "off"))
            let report = try await house.engine.announce(AnnounceRequest(what: "bell", rooms: ["Bath"]))
            #expect(report.rooms.map(\.said) == [false])
            #expect(report.rooms[0].error?.code == .routeUnreachable)
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("R4 two announcements for one room are said one after the other, and what played is restored after each")
    func overlapping() async throws {
        try await Self.house().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            await seconds(10, house)
            let kitchen = try device("Kitchen", house)
            async let second = announceLater(house, after: { Self.loads(kitchen) == 2 })
            let first = try await announce(house, in: ["Kitchen"], heardBy: ["Kitchen"]) {
                #expect(await eventually { await house.engine.announcements.count == 2 })
                #expect(Self.loads(kitchen) == 2)
                kitchen.reachesEnd()
            }
            #expect(first.rooms.map(\.restored) == [.resumed])
            // What played, and the second clip.
            #expect(await eventually { Self.loads(kitchen) == 4 })
            kitchen.reachesEnd()
            #expect(try await second.rooms.map(\.said) == [true])
            #expect(await house.session()?.media == .playing)
        }
    }

    private func announceLater(_ house: House, after: @escaping @Sendable () -> Bool) async throws -> AnnounceReport {
        #expect(await eventually { after() })
        return try await house.engine.announce(AnnounceRequest(what: "bell", rooms: ["Kitchen"]))
    }

    @Test("R4 with low priority it waits for the end of the item; paused and idle rooms hear it at once")
    func lowPriority() async throws {
        try await Self.house().live { house in
            let items = try await house.play(["one", "two"], in: ["Kitchen"]).queue.items
            await seconds(10, house)
            let kitchen = try device("Kitchen", house)
            async let report = house.engine.announce(
                AnnounceRequest(
                    what: "bell", rooms: ["Kitchen", "Den"], priority: .low, deadline: MediaTime(seconds: 600)))
            #expect(await eventually { self.found("Den", house).map { Self.loads($0) == 1 } ?? false })
            try device("Den", house).reachesEnd()
            #expect(Self.loads(kitchen) == 1)
            house.clock.advance(seconds: 590)
            #expect(await eventually { Self.loads(kitchen) == 2 })
            #expect(await house.session()?.queue.current == items[1].id)
            kitchen.reachesEnd()
            let rooms = try await report.rooms
            #expect(rooms.allSatisfy { $0.said })
            #expect(rooms.map(\.restored) == [.resumed, .nothing])
            // And in vain.
            async let late = house.engine.announce(
                AnnounceRequest(what: "bell", rooms: ["Kitchen"], priority: .low, deadline: MediaTime(seconds: 5)))
            #expect(await eventually { await house.engine.announcements.count == 1 })
            #expect(await house.turn(seconds: 30) { await house.engine.announcements.count == 0 })
            #expect(try await late.rooms.map(\.said) == [false])
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("R4 with low priority, rooms whose stream is ours hear it over what plays on, and nothing is to be restored")
    func ducks() async throws {
        let house = Self.house()
        house.media.mixes()
        try await house.live { house in
            let before = try await house.play(["one", "two"], in: ["Kitchen", "Bath"])
            await seconds(10, house)
            let kitchen = try device("Kitchen", house)
            async let report = house.engine.announce(
                AnnounceRequest(what: "bell", rooms: ["Kitchen", "Bath"], priority: .low))
            let music = try #require(house.media.feeds.first)
            #expect(await eventually { music.overlays == [3 * 44_100] })
            #expect(await house.turn(seconds: 10) { await house.engine.announcements.count == 0 })
            let rooms = try await report.rooms
            #expect(rooms.map(\.said) == [true, true] && rooms.map(\.restored) == [.resumed, .resumed])
            #expect(Self.loads(kitchen) == 1)
            #expect(!kitchen.asked.contains(.perform(.pause)))
            #expect(await house.session()?.media == .playing)
            #expect(await house.session()?.queue.current == before.queue.current)
        }
    }

    @Test("R4 what is said over it goes with what a person skips, and with one of several rooms it waits as before")
    func duckedMeanwhile() async throws {
        let house = Self.house()
        house.media.mixes()
        house.media.add("gong", seconds: 500)
        try await house.live { house in
            _ = try await house.play(["one", "two"], in: ["Kitchen", "Bath"])
            await seconds(10, house)
            let music = try #require(house.media.feeds.first)
            // It would be in the stream of both.
            async let one = house.engine.announce(
                AnnounceRequest(what: "bell", rooms: ["Kitchen"], priority: .low, deadline: MediaTime(seconds: 5)))
            #expect(await eventually { await house.engine.announcements.count == 1 })
            #expect(await house.turn(seconds: 30) { await house.engine.announcements.count == 0 })
            #expect(try await one.rooms.map(\.said) == [false])
            #expect(music.overlays.isEmpty)
            async let both = house.engine.announce(
                AnnounceRequest(
                    what: "gong", rooms: ["Kitchen", "Bath"], priority: .low, deadline: MediaTime(seconds: 600)))
            #expect(await eventually { music.overlays.count == 1 })
            _ = try await house.engine.perform(.next, session: nil, origin: .api)
            #expect(await house.turn(seconds: 10) { await house.engine.announcements.count == 0 })
            #expect(try await both.rooms.map(\.restored) == [.overruled, .overruled])
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("R4 whoever plays in a room where only an announcement is heard has it at once")
    func playMeanwhile() async throws {
        try await Self.house().live { house in
            let report = try await announce(house, in: ["Bath"], heardBy: ["Bath"], loads: 1) {
                let first = try device("Bath", house)
                _ = try await house.play(["one"], in: ["Bath"])
                #expect(first.asked.last == .end(.stop))
            }
            #expect(report.rooms.map(\.said) == [false])
            #expect(house.airplay.sessions.count == 2)
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("R4 what is edited meanwhile counts after it")
    func editedMeanwhile() async throws {
        try await Self.house().live { house in
            let items = try await house.play(["one", "two"], in: ["Kitchen"]).queue.items
            await seconds(10, house)
            _ = try await announce(house, in: ["Kitchen"], heardBy: ["Kitchen"]) {
                _ = try await house.engine.edit(
                    .remove([items[0].id]), session: nil, ifVersion: nil, workingDirectory: "/")
                try device("Kitchen", house).reachesEnd()
            }
            #expect(await house.session()?.queue.items.map(\.id) == [items[1].id])
            #expect(await house.session()?.queue.current == items[1].id)
            #expect(await house.session()?.media == .playing)
            #expect(await house.session()?.anchor?.time == .zero)
        }
    }
}
