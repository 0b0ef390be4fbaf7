import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("C10 devices with a queue of their own", .timeLimit(.minutes(2)))
struct WindowTests {
    private let all = ["one", "two", "three", "four", "five"]

    @Test("the device holds the next two, goes on by itself, and is filled up; nothing is loaded again")
    func goesOn() async throws {
        try await House.twoWithQueues().live { house in
            let items = try await house.play(all, in: ["Lounge"]).queue.items
            let lounge = try house.lounge()
            #expect(await house.holds(2, in: lounge))
            let second = lounge.held[0]
            lounge.goesOn()
            #expect(await eventually { await house.session()?.queue.current == items[1].id })
            #expect(await house.session()?.anchor?.item == items[1].id)
            #expect(await house.holds(2, in: lounge))
            #expect(lounge.state.loaded == second)
            for index in 2..<5 {
                lounge.goesOn()
                #expect(await eventually { await house.session()?.queue.current == items[index].id })
                let left = min(2, 4 - index)
                #expect(await house.holds(left, in: lounge), "\(index)")
            }
            lounge.goesOn()
            #expect(await eventually { await house.session()?.connection == .ended })
            #expect(await house.session()?.stopReason == .finished)
            #expect(lounge.loadedTokens.count == 1)
        }
    }

    @Test("a room without a queue is loaded item by item, and so are the others of its session")
    func mixed() async throws {
        let house = House(queueOnDevice: true) { airplay, cast in
            [airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), cast.endpoint(named: "Lounge", host: "10.0.0.2")]
        }
        house.media.add("one", seconds: 10)
        house.media.add("two", seconds: 10)
        try await house.live { house in
            _ = try await house.play(["one", "two"], in: ["Kitchen", "Lounge"])
            let lounge = try house.lounge()
            await othersHaveRun()
            #expect(lounge.held.isEmpty)
            #expect(!lounge.asked.contains { if case .upcoming(let list) = $0 { !list.isEmpty } else { false } })
        }
    }

    @Test("two rooms go on by themselves; the session follows the first, and waits for a late one without reloading it")
    func twoRooms() async throws {
        try await House.twoWithQueues().live { house in
            let items = try await house.play(["one", "two", "three"], in: ["Lounge", "Den"]).queue.items
            let lounge = try house.lounge()
            let den = try #require(house.cast.session(named: "Den"))
            #expect(await house.holds(2, in: lounge))
            #expect(await house.holds(2, in: den))
            den.goesOn()
            await othersHaveRun()
            #expect(await house.session()?.queue.current == items[0].id)
            lounge.goesOn()
            #expect(await eventually { await house.session()?.queue.current == items[1].id })
            // The other way round the second is followed after a while.
            den.goesOn()
            #expect(await house.turn(seconds: 3) { await house.session()?.queue.current == items[2].id })
            lounge.goesOn()
            await othersHaveRun()
            #expect(lounge.loadedTokens.count == 1 && den.loadedTokens.count == 1)
        }
    }

    @Test("C10 another sender's removal, reordering, insertion and jump are taken over, and not undone")
    func otherSender() async throws {
        try await House.twoWithQueues().live { house in
            let items = try await house.play(all, in: ["Lounge"]).queue.items
            let lounge = try house.lounge()
            #expect(await house.holds(2, in: lounge))
            lounge.otherSender { [$0[1]] }
            #expect(await eventually { await house.session()?.queue.items.map(\.id).contains(items[1].id) == false })
            #expect(await house.holds(2, in: lounge))
            // three, four: turned round, and something between them.
            let foreign = WindowEntry(
                token: MediaToken(rawValue: "theirs"), url: "http://10.0.0.9/x.mp3",
                metadata: MediaMetadata(title: "Theirs"))
            lounge.otherSender { [$0[1], foreign, $0[0]] }
            #expect(await eventually { await house.session()?.queue.items.count == 5 })
            let queue = try #require(await house.session()?.queue)
            #expect(queue.items.map(\.title).dropFirst(2).first == "Theirs")
            #expect(queue.items[1].id == items[3].id && queue.items[3].id == items[2].id)
            #expect(queue.items[2].addedBy == .otherSender)
            #expect(queue.items[2].source == .url("http://10.0.0.9/x.mp3"))
            await othersHaveRun()
            // Their longer list is not cut to our length.
            #expect(lounge.held.count == 3)
            lounge.goes(to: foreign.token)
            #expect(await eventually { await house.session()?.currentItem?.title == "Theirs" })
            #expect(lounge.loadedTokens.count == 1)
            #expect(await house.session()?.ownership == .ours)
        }
    }

    @Test("C10 what has no place in our queue makes the session shared, is told once, and ends our edits")
    func shared() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(all, in: ["Lounge"])
            let lounge = try house.lounge()
            #expect(await house.holds(2, in: lounge))
            let edits = lounge.asked.count
            let notices = await Notices(house.engine)
            lounge.otherSender { [WindowEntry(token: MediaToken(rawValue: "x"), url: nil)] + $0 }
            #expect(await eventually { await house.session()?.ownership == .shared })
            lounge.goesOn()
            lounge.goesOn()
            await othersHaveRun()
            #expect(lounge.asked.count == edits)
            #expect(await notices.count { $0.message.contains("something of its own") } == 1)
            // Left like that, it is there to be taken up.
            let session = try #require(await house.session())
            try await house.engine.end(session: session.id, reason: .leave)
            #expect(try await house.store.queue(session: session.id)?.current == session.queue.items[0].id)
        }
    }

    @Test(
        "C10 while another sender plays its own no item of ours is current; next takes the device back, and its queue")
    func takenBack() async throws {
        try await House.twoWithQueues().live { house in
            var copy = try await house.play(all, in: ["Lounge"]).queue
            let items = copy.items
            let lounge = try house.lounge()
            #expect(await house.holds(2, in: lounge))
            lounge.otherSender { [WindowEntry(token: MediaToken(rawValue: "x"), url: nil)] + $0 }
            #expect(await eventually { await house.session()?.ownership == .shared })
            #expect(await house.session()?.currentItem == nil)
            copy.apply(try await house.engine.queueChanges(session: nil, since: copy.version))
            #expect(copy.current == nil)
            await #expect(throws: RouterError.self) {
                try await house.engine.transfer(session: nil, to: ["Den"])
            }
            let outcome = try await house.engine.perform(.next, session: nil, origin: .cli).outcome
            #expect(outcome == .succeeded)
            #expect(await eventually { await house.session()?.ownership == .ours })
            #expect(await house.session()?.queue.current == items[1].id)
            #expect(await house.holds(2, in: lounge))
            _ = try await house.engine.edit(
                .playNext(["one"]), session: nil, ifVersion: nil, workingDirectory: "/")
            #expect(await eventually { lounge.asked.last == .upcoming(lounge.held) && lounge.held.count == 2 })
            async let moved = house.engine.transfer(session: nil, to: ["Den"])
            #expect(await house.turn(seconds: 20) { await house.session()?.members.map(\.name) == ["Den"] })
            _ = try await moved
        }
    }

    @Test("a disk that is away for a while costs a few items, and what a person plays is tried whatever it was")
    func manyFailures() async throws {
        let gone = (1...12).map { "gone \($0)" }
        let house = House.twoWithQueues()
        for name in gone { house.media.add(name, failing: RouterError(.mediaNotFound, "is not there", scope: .item)) }
        try await house.live { house in
            let items = try await house.play(["one", "two"] + gone, in: ["Lounge"]).queue.items
            let failed = { await house.session()?.queue.items.filter { $0.failure != nil }.count ?? 0 }
            #expect(await eventually { await failed() == 3 })
            _ = try await house.engine.edit(
                .move([items[13].id], before: items[12].id), session: nil, ifVersion: nil, workingDirectory: "/")
            await othersHaveRun()
            #expect(await failed() == 3)
            house.media.add(gone[0], seconds: 100)
            house.media.mend(gone[0])
            _ = try await house.engine.perform(.jump(items[2].id), session: nil, origin: .cli)
            #expect(await eventually { await house.session()?.media == .playing })
            #expect(await house.session()?.queue.current == items[2].id)
            #expect(await house.session()?.queue.items[2].failure == nil)
        }
    }

    @Test("C10 another sender's repeat is taken over")
    func otherRepeat() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(["one", "two"], in: ["Lounge"])
            let lounge = try house.lounge()
            #expect(await house.holds(1, in: lounge))
            lounge.reports { $0.repeatMode = .off }
            lounge.reports { $0.repeatMode = .all }
            #expect(await eventually { await house.session()?.queue.repeatMode == .all })
            // Taken back here, the device is told too.
            _ = try await house.engine.perform(.repeatMode(.off), session: nil, origin: .cli)
            #expect(lounge.asked.contains(.perform(.setRepeat(.off))))
        }
    }

    @Test("edits of ours reach the device; one made for an older version is refused")
    func edits() async throws {
        try await House.twoWithQueues().live { house in
            let first = try await house.play(["one", "two", "three"], in: ["Lounge"])
            let lounge = try house.lounge()
            #expect(await house.holds(2, in: lounge))
            // What is learnt of an item meanwhile makes nobody's edit out of date.
            let version = first.queue.version
            #expect(
                await eventually { await house.session()?.queue.items.allSatisfy { $0.metadata.title != nil } == true })
            #expect(await house.session()?.queue.version == version)
            let edited = try await house.engine.edit(
                .playNext(["four"]), session: nil, ifVersion: version, workingDirectory: "/")
            #expect(edited.items.map(\.source.label) == ["one", "four", "two", "three"])
            #expect(await eventually { lounge.asked.last == .upcoming(lounge.held) && lounge.held.count == 2 })
            do {
                _ = try await house.engine.edit(
                    .append(["five"]), session: nil, ifVersion: version, workingDirectory: "/")
                Issue.record("an edit of an old version was made")
            } catch let error as RouterError { #expect(error.code == .queueConflict) }
            let gone = ItemID(rawValue: "nowhere")
            await #expect(throws: RouterError.self) {
                try await house.engine.edit(.remove([gone]), session: nil, ifVersion: nil, workingDirectory: "/")
            }
            // The current one removed: what follows it plays.
            let rest = try await house.engine.edit(
                .remove([first.queue.items[0].id]), session: nil, ifVersion: nil, workingDirectory: "/")
            #expect(rest.current == edited.items[1].id)
            #expect(lounge.loadedTokens.count == 2)
            _ = try await house.engine.edit(.clearUpcoming, session: nil, ifVersion: nil, workingDirectory: "/")
            #expect(await house.holds(0, in: lounge))
            let moved = try await house.engine.edit(
                .append(["two", "three"]), session: nil, ifVersion: nil, workingDirectory: "/")
            let turned = try await house.engine.edit(
                .move([moved.items[2].id], before: moved.items[1].id), session: nil, ifVersion: nil,
                workingDirectory: "/")
            #expect(turned.items.map(\.source.label) == ["four", "three", "two"])
        }
    }

    @Test("an edit while a load is under way does not mistake the device's old queue for another sender's")
    func editWhileLoading() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(all, in: ["Lounge"])
            let lounge = try house.lounge()
            #expect(await house.holds(2, in: lounge))
            async let skip = house.engine.perform(.next, session: nil, origin: .cli)
            async let edit = house.engine.edit(.append(["one"]), session: nil, ifVersion: nil, workingDirectory: "/")
            // Late news, from before the load.
            lounge.reports { $0.calls = 0 }
            _ = try await (skip, edit)
            await othersHaveRun()
            #expect(await house.session()?.queue.items.count == 6)
            #expect(await house.session()?.queue.items.allSatisfy { $0.addedBy == nil } == true)
        }
    }

    @Test("a load that overtakes the answer about what comes next does not make the new queue look cut short")
    func loadWhileFilling() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(all, in: ["Lounge"])
            let lounge = try house.lounge()
            #expect(await house.holds(2, in: lounge))
            let ids = try #require(await house.session()).queue.items.map(\.id)
            let asked = lounge.asked.count
            let answer = lounge.holdsUpcoming()
            _ = try await house.engine.edit(
                .move([ids[3]], before: ids[1]), session: nil, ifVersion: nil, workingDirectory: "/")
            #expect(await eventually { lounge.asked.count > asked })
            async let skip = house.engine.perform(.next, session: nil, origin: .cli)
            await othersHaveRun()
            answer.finish()
            _ = try await skip
            await othersHaveRun()
            let queue = try #require(await house.session()).queue
            #expect(queue.items.map(\.id) == [ids[0], ids[3], ids[1], ids[2]] + ids.dropFirst(4))
            #expect(queue.current == ids[3])
            #expect(await house.holds(2, in: lounge))
        }
    }

    @Test("what a device is to hold is written before it does: a kill in between leaves all of an edit, or nothing")
    func writtenFirst() async throws {
        try await House.twoWithQueues().live { house in
            let id = try await house.play(["one"], in: ["Lounge"]).id
            let lounge = try house.lounge()
            for added in [["two", "three", "four"], ["five"], ["five"]] {
                let answer = lounge.holdsUpcoming()
                let asked = lounge.asked.count
                let queue = try await house.engine.edit(
                    .playNext(added), session: id, ifVersion: nil, workingDirectory: "/")
                // No time goes by.
                #expect(await eventually { lounge.asked.count > asked })
                #expect(try await house.store.queue(session: id)?.items.map(\.id) == queue.items.map(\.id))
                answer.finish()
                #expect(await house.holds(2, in: lounge))
            }
        }
    }

    @Test("C14 C12 C15 rate, tracks and ads: asked of the device where it can, refused in words where not")
    func features() async throws {
        try await House.twoWithQueues().live { house in
            let engine = house.engine
            _ = try await house.play(["one", "two"], in: ["Lounge"])
            let lounge = try house.lounge()
            lounge.reports(position: .zero)
            #expect(await eventually { await house.session()?.anchor?.rate == 1 })
            _ = try await engine.perform(.rate(1.5), session: nil, origin: .cli)
            #expect(lounge.asked.contains(.perform(.setRate(1.5))))
            #expect(await house.session()?.anchor?.rate == 1.5)
            await #expect(throws: RouterError.self) { try await engine.perform(.rate(3), session: nil, origin: .cli) }
            await #expect(throws: RouterError.self) {
                try await engine.perform(.selectTracks([1]), session: nil, origin: .cli)
            }
            lounge.reports { $0.tracks = [MediaTrack(id: 1, kind: .text, language: "de")] }
            #expect(await eventually { await house.session()?.members[0].tracks?.count == 1 })
            _ = try await engine.perform(.selectTracks([1]), session: nil, origin: .cli)
            #expect(lounge.asked.contains(.perform(.selectTracks([1]))))
            await #expect(throws: RouterError.self) {
                try await engine.perform(.selectTracks([7]), session: nil, origin: .cli)
            }
            #expect(try await engine.perform(.skipAd, session: nil, origin: .cli).outcome == .noActionableItem)
            let now = house.clock.now()
            lounge.reports {
                $0.adBreak = AdBreakState(breakID: "b", skippableIn: MediaTime(seconds: 5), instant: now)
            }
            #expect(await eventually { await house.session()?.members[0].adBreak != nil })
            await #expect(throws: RouterError.self) { try await engine.perform(.skipAd, session: nil, origin: .cli) }
            house.clock.advance(seconds: 5)
            _ = try await engine.perform(.skipAd, session: nil, origin: .cli)
            #expect(lounge.asked.contains(.perform(.skipAd)))
        }
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            await #expect(throws: RouterError.self) {
                try await house.engine.perform(.rate(1.5), session: nil, origin: .cli)
            }
        }
    }

    @Test("C14 a report from before a command, or of the same instant, does not undo the commanded rate")
    func staleReport() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let lounge = try house.lounge()
            lounge.reports(position: .zero)
            #expect(await eventually { await house.session()?.anchor?.rate == 1 })
            let before = house.clock.now()
            house.clock.advance(seconds: 1)
            _ = try await house.engine.perform(.rate(1.5), session: nil, origin: .cli)
            let now = house.clock.now()
            func position() async -> MediaTime? { await house.session()?.position }
            for (instant, level) in [(before, 0.1), (now, 0.2)] {
                lounge.reports {
                    $0.position = ReportedPosition(time: MediaTime(seconds: 7), instant: instant, rate: 1)
                    $0.volume = VolumeState(level: VolumePosition(level))
                }
                // Taken up: the volume of the same report is seen.
                #expect(
                    await eventually { await house.session()?.members[0].volume?.level == VolumePosition(level) })
                #expect((await position()?.seconds ?? 7) < 5)
            }
            house.clock.advance(seconds: 1)
            let later = house.clock.now()
            lounge.reports { $0.position = ReportedPosition(time: MediaTime(seconds: 7), instant: later, rate: 1.5) }
            #expect(await eventually { await position() == MediaTime(seconds: 7) })
            #expect(await house.session()?.anchor?.rate == 1.5)
        }
    }

    @Test("repeat goes round without a reload, shuffle is kept and undone, jump plays what it names")
    func order() async throws {
        try await House.twoWithQueues().live { house in
            let engine = house.engine
            let items = try await house.play(all, in: ["Lounge"]).queue.items
            let lounge = try house.lounge()
            _ = try await engine.perform(.shuffle(true), session: nil, origin: .cli)
            let shuffled = try #require(await house.session()?.queue)
            #expect(shuffled.items.first?.id == items[0].id)
            #expect(shuffled.original == items.map(\.id))
            _ = try await engine.perform(.shuffle(false), session: nil, origin: .cli)
            #expect(await house.session()?.queue.items.map(\.id) == items.map(\.id))
            _ = try await engine.perform(.jump(items[4].id), session: nil, origin: .cli)
            #expect(await house.session()?.queue.current == items[4].id)
            #expect(lounge.loadedTokens.count == 2)
            _ = try await engine.perform(.repeatMode(.all), session: nil, origin: .cli)
            #expect(await house.holds(2, in: lounge))
            lounge.goesOn()
            #expect(await eventually { await house.session()?.queue.current == items[0].id })
            #expect(lounge.loadedTokens.count == 2)
        }
    }
}

/// The notices that an engine gives.
actor Notices {
    private var notices: [Notice] = []
    private var sessions = 0
    private var follower: Task<Void, Never>?

    init(_ engine: RouterEngine) async {
        let events = await engine.events()
        follower = Task { [weak self] in
            for await event in events {
                switch event.body {
                case .notice(let notice): await self?.add(notice)
                case .session: await self?.addSession()
                default: break
                }
            }
        }
    }

    private func add(_ notice: Notice) { notices.append(notice) }

    private func addSession() { sessions += 1 }

    /// How often a session has been told of, once every other task has had its turn.
    func sessionsTold() async -> Int {
        await othersHaveRun()
        return sessions
    }

    /// Once every other task has had its turn.
    func count(_ wanted: @Sendable (Notice) -> Bool) async -> Int {
        await othersHaveRun()
        return notices.count(where: wanted)
    }

    deinit { follower?.cancel() }
}
