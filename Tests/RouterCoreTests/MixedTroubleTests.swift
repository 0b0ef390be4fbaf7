import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("R5 rooms that are slow, fail or come back beside others", .timeLimit(.minutes(2)))
struct MixedTroubleTests {
    private static let notThere = RouterError(.mediaNotFound, "it is not there", scope: .item)

    private static func isLoad(_ call: FakeRouteSession.Call) -> Bool { if case .load = call { true } else { false } }

    @Test("a room is as loud as it is to begin before it is heard, however slow the others are")
    func volumeBeforeSound() async throws {
        try await House.twoWithQueues().live { house in
            let gate = house.cast.holdsLoad(on: house.cast.endpoint(named: "Den", host: "10.0.0.3"))
            let request = PlayRequest(what: ["one"], rooms: ["Lounge", "Den"], volume: VolumePosition(0.1))
            async let started = house.engine.play(request)
            #expect(await eventually { house.cast.session(named: "Lounge")?.state.media == .playing })
            #expect(await eventually { house.cast.session(named: "Den")?.asked.contains(where: Self.isLoad) == true })
            for name in ["Lounge", "Den"] {
                let asked = try #require(house.cast.session(named: name)).asked
                let load = try #require(asked.firstIndex(where: Self.isLoad))
                #expect(asked[..<load].contains(.volume(VolumeState(level: VolumePosition(0.1)))), "\(asked)")
            }
            gate.finish()
            _ = try await started
            #expect(await house.session()?.volume?.level.value == 0.1)
            let asked = try house.lounge().asked
            #expect(asked.count { if case .volume = $0 { true } else { false } } == 1, "\(asked)")
        }
    }

    @Test("speakers do not wait without limit for a device that fetches and is slow to go on, which catches up")
    func slowToGoOn() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one", "two"], in: ["Kitchen", "Lounge"])
            let lounge = try house.lounge()
            #expect(await house.turn(seconds: 3) { lounge.state.media == .playing })
            let gate = lounge.holdsLoad()
            async let skip = house.engine.perform(.next, session: nil, origin: .cli)
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            #expect(await house.turn(seconds: 12, onceMore: false) { kitchen.asked.filter(Self.isLoad).count == 2 })
            _ = try await skip
            #expect(lounge.asked.filter(Self.isLoad).count == 2)
            // By now the speakers are heard.
            house.clock.advance(seconds: 3)
            await othersHaveRun()
            gate.finish()
            let caughtUp = await eventually {
                lounge.asked.contains {
                    if case .perform(.seek(_, resume: true)) = $0 { true } else { false }
                }
            }
            #expect(caughtUp, "\(lounge.asked)")
        }
    }

    @Test("a load that another one has overtaken is nobody's failure, and the room plays what was asked for last")
    func overtaken() async throws {
        let house = House.kitchenAndLounge()
        house.media.add("three", seconds: 10)
        try await house.live { house in
            _ = try await house.play(["one", "two", "three"], in: ["Kitchen", "Lounge"])
            let lounge = try house.lounge()
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            #expect(await house.turn(seconds: 3) { lounge.state.media == .playing })
            let notices = await Notices(house.engine)
            let gate = lounge.holdsLoad(failing: Self.notThere)
            async let first = house.engine.perform(.next, session: nil, origin: .cli)
            #expect(await house.turn(seconds: 12, onceMore: false) { kitchen.asked.filter(Self.isLoad).count == 2 })
            _ = try await first
            async let second = house.engine.perform(.next, session: nil, origin: .cli)
            #expect(await eventually { house.media.feeds.count == 3 })
            await othersHaveRun()
            gate.finish()
            _ = try await second
            #expect(lounge.loadedTokens.count == 3 && lounge.state.loaded == lounge.loadedTokens[2])
            #expect(await house.turn(seconds: 5) { lounge.state.media == .playing })
            #expect(await notices.count { $0.message.contains("does not play") } == 0)
        }
    }

    @Test("one that takes long over its first load is told it once, and catches up")
    func slowToBegin() async throws {
        try await House.kitchenAndLounge().live { house in
            let gate = house.cast.holdsLoad(on: house.loungeEndpoint)
            async let started = house.play(["one", "two"], in: ["Kitchen", "Lounge"])
            #expect(await house.turn(seconds: 12) { await house.member("Kitchen")?.media == .playing })
            _ = try await started
            let lounge = try house.lounge()
            await othersHaveRun()
            house.clock.advance(seconds: 3)
            await othersHaveRun()
            #expect(lounge.asked.filter(Self.isLoad).count == 1)
            gate.finish()
            let caughtUp = await eventually {
                lounge.asked.contains { if case .perform(.seek(_, resume: true)) = $0 { true } else { false } }
            }
            #expect(caughtUp && lounge.asked.filter(Self.isLoad).count == 1, "\(lounge.asked)")
        }
    }

    @Test("one that is ready while the speakers are being loaded begins with them")
    func readyInBetween() async throws {
        try await House.kitchenAndLounge().live { house in
            let kitchenGate = house.airplay.holdsLoad(
                on: house.airplay.endpoint(named: "Kitchen", host: "10.0.0.1"))
            let loungeGate = house.cast.holdsLoad(on: house.loungeEndpoint)
            async let started = house.play(["one", "two"], in: ["Kitchen", "Lounge"])
            #expect(
                await house.turn(seconds: 12, onceMore: false) {
                    house.airplay.session(named: "Kitchen")?.asked.contains(where: Self.isLoad) == true
                })
            let lounge = try house.lounge()
            loungeGate.finish()
            #expect(await eventually { lounge.state.media == .paused })
            await othersHaveRun()
            kitchenGate.finish()
            _ = try await started
            #expect(await house.turn(seconds: 5) { lounge.state.media == .playing })
            #expect(
                !lounge.asked.contains { if case .perform(.seek) = $0 { true } else { false } }, "\(lounge.asked)")
        }
    }

    @Test("a room that failed is brought in again, and another session that takes it leaves the others alone")
    func failedAndBack() async throws {
        try await House.threeSpeakers().live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Bath"])
            func fails() async throws {
                house.airplay.session(named: "Bath")?.reports {
                    $0.media = .stopped
                    $0.stopReason = .error
                    $0.error = RouterError(.authFailed, "a wrong password", scope: .route)
                }
                #expect(await eventually { await house.member("Bath")?.connection == .failed })
            }
            try await fails()
            // Trying in vain, it says why now.
            let bath = house.speaker("Bath")
            house.airplay.refuse(bath, with: RouterError(.routeUnreachable, "off", scope: .route))
            await #expect(throws: RouterError.self) {
                _ = try await house.engine.join(session: nil, rooms: ["Bath"])
            }
            #expect(await house.session()?.members.map(\.name).sorted() == ["Bath", "Kitchen"])
            #expect(await house.member("Bath")?.connection == .failed)
            #expect(await house.member("Bath")?.error?.code == .routeUnreachable)
            house.airplay.accept(bath)
            let session = try await house.engine.join(session: nil, rooms: ["Bath"])
            #expect(await eventually { await house.member("Bath")?.media == .playing })
            try await fails()
            let expanded = try await house.engine.transfer(TransferRequest(.expand, rooms: ["Bath"]))
            #expect(expanded.to.sorted() == ["Bath", "Kitchen"])
            try await fails()
            let other = try await house.play(["two"], in: ["Bath"])
            let all = await house.engine.sessions().filter(\.isActive)
            #expect(Set(all.map(\.id)) == [session.id, other.id])
            #expect(all.first { $0.id == session.id }?.media == .playing)
        }
    }

    @Test("with a speaker beside it a device that fetches plays at normal speed")
    func normalSpeed() async throws {
        let house = House(queueOnDevice: true) { airplay, cast in
            [airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), cast.endpoint(named: "Lounge", host: "10.0.0.2")]
        }
        house.media.add("one", seconds: 100)
        try await house.live { house in
            _ = try await house.engine.play(PlayRequest(what: ["one"], rooms: ["Lounge"], rate: 1.5))
            let lounge = try house.lounge()
            #expect(!lounge.asked.contains(.perform(.setRate(1))))
            _ = try await house.engine.join(session: nil, rooms: ["Kitchen"])
            #expect(lounge.asked.contains(.perform(.setRate(1))))
            #expect(try await house.engine.perform(.rate(1), session: nil, origin: .cli).outcome == .succeeded)
            await #expect(throws: RouterError.self) {
                _ = try await house.engine.perform(.rate(1.5), session: nil, origin: .cli)
            }
        }
    }

    @Test("a device that cannot play the last item is there for what is gone back to")
    func lastItemNotHere() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one", "two"], in: ["Kitchen", "Lounge"])
            let lounge = try house.lounge()
            #expect(await house.turn(seconds: 3) { lounge.state.media == .playing })
            lounge.failLoads(with: Self.notThere)
            _ = try await house.engine.perform(.next, session: nil, origin: .cli)
            await othersHaveRun()
            #expect(await house.session()?.queue.items.allSatisfy { $0.failure == nil } == true)
            lounge.failLoads(with: nil)
            let count = lounge.loadedTokens.count
            _ = try await house.engine.perform(.previous, session: nil, origin: .cli)
            #expect(lounge.loadedTokens.count == count + 1, "\(lounge.asked)")
            #expect(lounge.loadedTokens.first == lounge.loadedTokens.last)
            #expect(await house.turn(seconds: 3) { lounge.state.media == .playing })
        }
    }

    @Test("what one device cannot play is no fault of the first item either")
    func firstItemNotHere() async throws {
        try await House.kitchenAndLounge().live { house in
            house.cast.refuseLoads(house.loungeEndpoint, with: Self.notThere)
            let session = try await house.play(["one", "two"], in: ["Kitchen", "Lounge"])
            #expect(session.media == .playing)
            await othersHaveRun()
            #expect(await house.session()?.queue.items.allSatisfy { $0.failure == nil } == true)
        }
    }

    @Test("an item that is removed while the device goes on to it gives way to what follows")
    func removedOnTheWay() async throws {
        try await House.twoWithQueues().live { house in
            let items = try await house.play(["one", "two", "three"], in: ["Lounge"]).queue.items
            let lounge = try house.lounge()
            #expect(await house.holds(2, in: lounge))
            let two = lounge.held[0]
            _ = try await house.engine.edit(
                .remove([items[1].id]), session: nil, ifVersion: nil, workingDirectory: "/")
            lounge.goes(to: two)
            #expect(await eventually { lounge.loadedTokens.count == 2 })
            #expect(await eventually { await house.session()?.queue.current == items[2].id })
            #expect(await house.session()?.media == .playing)
            #expect(await house.session()?.ownership == .ours)
        }
    }

    /// Of the Den's two ways in the first is the better one.
    private static func twoWays() -> House {
        let house = House { airplay, cast in
            let first = airplay.endpoint(named: "Den", host: "10.0.0.3")
            var second = airplay.endpoint(named: "Den", host: "10.0.0.3", port: 2)
            second.strongKeys = first.strongKeys
            return [airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), first, second]
        }
        house.media.add("one", seconds: 100)
        return house
    }

    @Test("a room whose way in takes long is not connected to by another one beside it")
    func slowToOpen() async throws {
        let house = Self.twoWays()
        try await house.live { house in
            let first = house.airplay.endpoint(named: "Den", host: "10.0.0.3")
            let gate = house.airplay.holdsOpening(of: first)
            async let started = house.play(["one"], in: ["Kitchen", "Den"])
            #expect(await house.turn(seconds: 12) { await house.member("Kitchen")?.media == .playing })
            _ = try await started
            let opened = house.airplay.opened.count { $0.endpoint.name == "Den" }
            gate.finish()
            #expect(await house.turn(seconds: 5) { await house.member("Den")?.media == .playing })
            let sessions = house.airplay.sessions.filter { $0.descriptor.endpoint.name == "Den" && !$0.isClosed }
            #expect(opened == 1 && sessions.count == 1)
        }
    }

    @Test("one that comes up late and refuses what is played is tried by its other way")
    func lateAndRefuses() async throws {
        let house = Self.twoWays()
        try await house.live { house in
            let first = house.airplay.endpoint(named: "Den", host: "10.0.0.3")
            let gate = house.airplay.holdsOpening(of: first)
            house.airplay.refuseLoads(first, with: RouterError(.protocolViolation, "no", scope: .route))
            async let started = house.play(["one"], in: ["Kitchen", "Den"])
            #expect(await house.turn(seconds: 12) { await house.member("Kitchen")?.media == .playing })
            _ = try await started
            gate.finish()
            #expect(await house.turn(seconds: 5) { await house.member("Den")?.media == .playing })
        }
    }

    @Test("a room that leaves while the others are talked over ends nothing for them")
    func leavesInAnnouncement() async throws {
        let house = House.kitchenAndLounge()
        house.media.add("bell", seconds: 3)
        try await house.live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Lounge"])
            let lounge = try house.lounge()
            #expect(await house.turn(seconds: 3) { lounge.state.media == .playing })
            async let report = house.engine.announce(AnnounceRequest(what: "bell", rooms: ["Lounge"]))
            #expect(await eventually { lounge.loadedTokens.count == 2 })
            _ = try await house.engine.leave(session: nil, rooms: ["Kitchen"])
            lounge.reachesEnd()
            #expect(try await report.rooms.map(\.said) == [true])
            #expect(await house.turn(seconds: 5) { lounge.state.media == .playing })
            #expect(await house.session()?.isActive == true)
        }
    }

    enum Ending: CaseIterable { case stop, leave, play }

    @Test(
        "a device is as loud as it was where what plays ends in the middle of a louder announcement",
        arguments: Ending.allCases)
    func endsInAnnouncement(_ ending: Ending) async throws {
        let house = House.kitchenAndLounge()
        house.media.add("bell", seconds: 3)
        try await house.live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Lounge"])
            let lounge = try house.lounge()
            #expect(await house.turn(seconds: 3) { lounge.state.media == .playing })
            async let report = house.engine.announce(
                AnnounceRequest(what: "bell", rooms: ["Lounge"], volume: VolumePosition(0.9)))
            #expect(await eventually { lounge.loadedTokens.count == 2 })
            #expect(lounge.state.volume?.level.value == 0.9)
            switch ending {
            case .stop: _ = try await house.engine.perform(.stop, session: nil, origin: .cli)
            case .leave: _ = try await house.engine.leave(session: nil, rooms: ["Lounge"])
            case .play: _ = try await house.play(["two"], in: ["Lounge"])
            }
            _ = try await report
            let volumes = lounge.asked.compactMap {
                if case .volume(let volume) = $0 { volume.level.value } else { nil }
            }
            #expect(volumes == [0.9, 0.5], "\(lounge.asked)")
            #expect(lounge.isClosed)
        }
    }
}
