import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("C10 queues in an engine", .timeLimit(.minutes(2)))
struct QueueEditTests {
    private let all = ["one", "two", "three", "four", "five"]

    private func edit(_ edit: QueueEdit, _ house: House) async throws -> QueueSnapshot {
        try await house.engine.edit(edit, session: nil, ifVersion: nil, workingDirectory: "/")
    }

    private func command(_ command: RemoteCommand, _ house: House) async throws -> CommandOutcome {
        try await house.engine.perform(command, session: nil, origin: .cli).outcome
    }

    @Test("replaceUpcoming and undo reach a device that holds what comes next; clear ends it")
    func windowed() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(["one", "two"], in: ["Lounge"])
            let lounge = try house.lounge()
            #expect(await house.holds(1, in: lounge))
            let replaced = try await edit(.replaceUpcoming(["three", "four", "five"]), house)
            #expect(replaced.items.map(\.source.label) == ["one", "three", "four", "five"])
            #expect(await house.holds(2, in: lounge))
            let back = try await edit(.undo, house)
            #expect(back.items.map(\.source.label) == ["one", "two"])
            #expect(await house.holds(1, in: lounge))
            let error = await #expect(throws: RouterError.self) { try await edit(.undo, house) }
            #expect(error?.code == .unavailable)
            #expect(lounge.loadedTokens.count == 1)
            let empty = try await edit(.clear, house)
            #expect(empty.items.isEmpty && empty.current == nil)
            #expect(await house.session()?.stopReason == .cancelled)
            #expect(lounge.asked.contains(.end(.stop)))
        }
    }

    @Test("the changes of a queue are told by version, and lead a copy on")
    func changes() async throws {
        try await House.twoWithQueues().live { house in
            var copy = try await house.play(["one", "two"], in: ["Lounge"]).queue
            _ = try await edit(.append(["three"]), house)
            _ = try await command(.next, house)
            _ = try await edit(.failurePolicy(.retry(3)), house)
            let changes = try await house.engine.queueChanges(session: nil, since: copy.version)
            #expect(changes.whole == nil && changes.base == copy.version)
            copy.apply(changes)
            // But for titles that are learnt in this moment.
            let now = try #require(await house.session()?.queue)
            #expect(copy.version == now.version && copy.items.map(\.id) == now.items.map(\.id))
            #expect(copy.current == now.current)
            #expect(copy.failurePolicy == .retry(3))
            let unknown = try await house.engine.queueChanges(session: nil, since: 0)
            #expect(unknown.whole?.items.map(\.id) == now.items.map(\.id))
        }
    }

    @Test("what is added after the decoder has come to the queue's end follows it, and interrupts nothing")
    func appendAtTheEnd() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Kitchen"])
            let kitchen = try #require(house.airplay.session(named: "Kitchen"))
            let added = try await edit(.append(["two"]), house)
            #expect(house.media.feeds.count == 1)
            #expect(await house.turn(seconds: 13, onceMore: false) { false } == false)
            kitchen.reachesEnd()
            #expect(await eventually { await house.session()?.queue.current == added.items[1].id })
            #expect(await house.session()?.connection == .connected)
            #expect(await eventually { house.media.feeds.count == 2 })
            kitchen.reachesEnd()
            #expect(await eventually { await house.session()?.stopReason == .finished })
        }
    }

    @Test("an edit of what the decoder has begun begins it anew from the same place")
    func editAhead() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one", "two"], in: ["Kitchen"])
            house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds + 3_000_000_000)
            _ = try await edit(.playNext(["one"]), house)
            #expect(house.media.feeds.count == 2)
            // What comes last changes nothing of what was begun.
            _ = try await edit(.append(["two"]), house)
            #expect(house.media.feeds.count == 2)
            #expect(abs((await house.session()?.anchor?.time.seconds ?? 0) - 3) < 0.01)
        }
    }

    // MARK: Ends

    @Test("an item stops at its end and the next follows: in a feed, and in a room that fetches")
    func ends() async throws {
        try await House.kitchenAndLounge().live { house in
            let items = try await house.play(["one", "two"], in: ["Lounge"]).queue.items
            let lounge = try #require(house.cast.session(named: "Lounge"))
            _ = try await edit(.settings([items[0].id], QueueItemSettings(end: MediaTime(seconds: 4))), house)
            lounge.reports(position: .zero)
            #expect(await eventually { await house.session()?.anchor?.rate == 1 })
            #expect(await house.turn(seconds: 3, onceMore: false) { lounge.loadedTokens.count == 2 } == false)
            #expect(await house.turn(seconds: 3) { lounge.loadedTokens.count == 2 })
            #expect(await eventually { await house.session()?.queue.current == items[1].id })
            let isWritten = try await eventually {
                let plays = try await house.engine.history(limit: 10)
                return plays.last?.reason == .finished && plays.last?.furthest.seconds == 4
            }
            #expect(isWritten)
        }
        try await House.kitchenAndLounge().live { house in
            let items = try await house.play(["one", "two"], in: ["Kitchen"]).queue.items
            _ = try await edit(.settings([items[0].id], QueueItemSettings(end: MediaTime(seconds: 4))), house)
            // Begun anew, with the end.
            #expect(house.media.feeds.count == 2)
            let frames = try #require(house.media.feeds.last?.frames)
            #expect(frames == 617_400)
        }
    }

    @Test("a device with a queue of its own is taken on at an item's end too")
    func endInWindow() async throws {
        try await House.twoWithQueues().live { house in
            let items = try await house.play(["one", "two"], in: ["Lounge"]).queue.items
            let lounge = try house.lounge()
            #expect(await house.holds(1, in: lounge))
            lounge.reports(position: .zero)
            #expect(await eventually { await house.session()?.anchor?.rate == 1 })
            _ = try await edit(.settings([items[0].id], QueueItemSettings(end: MediaTime(seconds: 2))), house)
            #expect(await house.turn(seconds: 4) { await house.session()?.queue.current == items[1].id })
            #expect(await eventually { lounge.loadedTokens.count == 2 })
        }
    }

    @Test("settings out of range are refused in words")
    func badSettings() async throws {
        try await House.twoWithQueues().live { house in
            let item = try await house.play(["one"], in: ["Lounge"]).queue.items[0]
            let bad = [
                QueueItemSettings(start: MediaTime(seconds: 3), end: MediaTime(seconds: 2)),
                QueueItemSettings(start: MediaTime(seconds: -1)),
                QueueItemSettings(custom: "{not json"),
                QueueItemSettings(custom: "\"" + String(repeating: "x", count: 16 * 1024) + "\""),
            ]
            for settings in bad {
                let error = await #expect(throws: RouterError.self) {
                    try await edit(.settings([item.id], settings), house)
                }
                #expect(error?.code == .configuration && error?.hint != nil)
            }
            for times in [0, 11] {
                let error = await #expect(throws: RouterError.self) {
                    try await edit(.failurePolicy(.retry(times)), house)
                }
                #expect(error?.code == .configuration)
            }
            let whole = "\"" + String(repeating: "x", count: 16 * 1024 - 2) + "\""
            #expect(
                try await edit(.settings([item.id], QueueItemSettings(custom: whole)), house).items[0].custom == whole)
        }
    }

    @Test("A6 a picture that is not to be shown is not loaded where it would be; the item fails in words")
    func externalPlayback() async throws {
        let house = House { _, cast in
            var screen = cast.endpoint(named: "Lounge", host: "10.0.0.2")
            screen.capabilities[.video] = .available
            return [screen]
        }
        house.media.add("film", seconds: 10)
        house.media.add("two", seconds: 10)
        house.media.showsVideo("film")
        try await house.live { house in
            let played = try await house.engine.play(
                PlayRequest(what: ["film", "two"], rooms: ["Lounge"], externalPlayback: false))
            #expect(played.queue.current == played.queue.items[1].id)
            #expect(played.queue.items[0].failure?.contains("picture") == true)
            #expect(house.cast.session(named: "Lounge")?.loadedTokens.count == 1)
        }
    }

    @Test("what is known of media goes before what its playlist says, in order where one source comes twice")
    func described() async throws {
        try await House.twoWithQueues().live { house in
            func known(_ name: String, _ title: String) -> MediaDescription {
                MediaDescription(
                    source: .file(path: name),
                    metadata: MediaMetadata(title: title, duration: MediaTime(seconds: 7)), context: "List")
            }
            let session = try await house.engine.play(
                PlayRequest(
                    what: ["one", "two", "one", "three"], rooms: ["Lounge"],
                    descriptions: [known("one", "First"), known("four", "Nobody"), known("one", "Third")]))
            let items = session.queue.items
            // The second may have been looked into by now.
            #expect([items[0], items[2]].map(\.metadata.title) == ["First", "Third"])
            #expect(items[1].metadata.title.map { $0 == "Title of two" } ?? true)
            #expect(items.map(\.context) == ["List", nil, "List", nil])
            let after = try await edit(
                .describe([
                    ItemDescription(item: items[1].id, metadata: MediaMetadata(title: "Second", artist: "Who")),
                    ItemDescription(item: ItemID(rawValue: "gone"), metadata: MediaMetadata(title: "Nobody")),
                ]), house)
            // The last may have been looked into by now.
            #expect(after.items.map(\.metadata.title).prefix(3) == ["First", "Second", "Third"])
            #expect(after.items[1].metadata.artist == "Who" && after.items[1].context == nil)
            #expect(after.version > session.queue.version)
            let error = await #expect(throws: RouterError.self) { try await edit(.undo, house) }
            #expect(error?.code == .unavailable)
        }
    }

    @Test("a description that cannot be is refused, and changes nothing")
    func badDescriptions() async throws {
        try await House.twoWithQueues().live { house in
            let queue = try await house.play(["one"], in: ["Lounge"]).queue
            for metadata in [
                MediaMetadata(title: String(repeating: "x", count: 16 * 1024)),
                MediaMetadata(duration: MediaTime(seconds: -1)), MediaMetadata(duration: .zero),
            ] {
                let error = await #expect(throws: RouterError.self) {
                    try await edit(.describe([ItemDescription(item: queue.items[0].id, metadata: metadata)]), house)
                }
                #expect(error?.code == .configuration)
                let description = MediaDescription(source: .file(path: "one"), metadata: metadata)
                let refused = await #expect(throws: RouterError.self) {
                    try await house.engine.play(
                        PlayRequest(what: ["one"], rooms: ["Den"], descriptions: [description]))
                }
                #expect(refused?.code == .configuration)
            }
            let many = Array(
                repeating: ItemDescription(item: queue.items[0].id, metadata: MediaMetadata()), count: 10_001)
            await #expect(throws: RouterError.self) { try await edit(.describe(many), house) }
            #expect(await house.session()?.queue.items.map(\.metadata.title) == [queue.items[0].metadata.title])
        }
    }

    // MARK: Failures

    private static let broken = RouterError(.mediaUnsupported, "not a sound")

    @Test("stop: an item that does not play ends the session with its error, in both kinds of room")
    func stopPolicy() async throws {
        for room in ["Lounge", "Kitchen"] {
            let house = House.kitchenAndLounge()
            house.media.add("bad", failing: Self.broken)
            try await house.live { house in
                _ = try await house.engine.play(
                    PlayRequest(what: ["one", "bad", "two"], rooms: [room], failurePolicy: .stop))
                house.cast.session(named: "Lounge")?.reachesEnd()
                house.airplay.session(named: "Kitchen")?.reachesEnd()
                #expect(await eventually { await house.session()?.connection == .ended })
                let end = try #require(await house.session())
                #expect(end.stopReason == .error && end.error?.message == "not a sound", "\(room)")
                #expect(end.queue.items[2].failure == nil)
            }
        }
    }

    @Test("retry: an item is tried again so many times, and plays where it does then; else the next follows")
    func retryPolicy() async throws {
        for room in ["Lounge", "Kitchen"] {
            for times in [2, 9] {
                let house = House.kitchenAndLounge()
                house.media.add("bad", failing: Self.broken, times: times, seconds: 10)
                try await house.live { house in
                    async let playing = house.engine.play(
                        PlayRequest(what: ["bad", "two"], rooms: [room], failurePolicy: .retry(2)))
                    // Each attempt waits longer than the one before.
                    #expect(await house.turn(seconds: 8) { await house.session()?.media == .playing })
                    let played = try await playing
                    let expected = times == 2 ? 0 : 1
                    #expect(played.queue.current == played.queue.items[expected].id, "\(room) \(times)")
                    #expect((played.queue.items[0].failure == nil) == (times == 2), "\(room) \(times)")
                }
            }
        }
    }

    @Test("a device that says it could not play an item is asked again")
    func retryOnDevice() async throws {
        try await House.kitchenAndLounge().live { house in
            let items = try await house.engine.play(
                PlayRequest(what: ["one", "two"], rooms: ["Lounge"], failurePolicy: .retry(1))
            ).queue.items
            let lounge = try #require(house.cast.session(named: "Lounge"))
            lounge.cannotPlay(RouterError(.itemFailed, "broke off", scope: .item))
            #expect(await house.turn(seconds: 3) { lounge.loadedTokens.count == 2 })
            #expect(await house.session()?.queue.current == items[0].id)
            lounge.cannotPlay(RouterError(.itemFailed, "broke off", scope: .item))
            #expect(await house.turn(seconds: 3) { await house.session()?.queue.current == items[1].id })
            #expect(await house.session()?.queue.items[0].failure != nil)
        }
    }

    // MARK: Requests

    @Test("context: what follows a file in its folder follows it; not what is in folders inside, nor what comes before")
    func context() async throws {
        let house = House.kitchenAndLounge()
        let files = ["/a/1", "/a/2", "/a/3", "/a/b/4"]
        for file in files { house.media.add(file, seconds: 10) }
        house.media.add(folder: "/a", of: files)
        try await house.live { house in
            let queue = try await house.engine.play(PlayRequest(what: ["/a/2"], rooms: ["Lounge"], context: true)).queue
            #expect(queue.items.map(\.source) == [.file(path: "/a/2"), .file(path: "/a/3")])
            let two = try await house.engine.play(
                PlayRequest(what: ["/a/2", "/a/1"], rooms: ["Lounge"], context: true)
            ).queue
            #expect(two.items.count == 2)
        }
    }

    @Test("a queue is kept under a name, played again as new occurrences, and removed")
    func savedQueues() async throws {
        try await House.twoWithQueues().live { house in
            let engine = house.engine
            let first = try await house.play(["one", "two"], in: ["Lounge"])
            let saved = try await engine.saveQueue(session: nil, as: "  Evening ")
            #expect(saved.name == "Evening" && saved.items.map(\.source.label) == ["one", "two"])
            try await engine.end(session: first.id, reason: .stop)
            // Of a session that has ended too.
            _ = try await engine.saveQueue(session: first.id, as: "Again")
            #expect(try await engine.savedQueues().map(\.name) == ["Again", "Evening"])
            let played = try await engine.play(PlayRequest(what: [], rooms: ["Lounge"], savedQueue: "Evening"))
            #expect(played.queue.items.map(\.source) == first.queue.items.map(\.source))
            #expect(Set(played.queue.items.map(\.id)).isDisjoint(with: first.queue.items.map(\.id)))
            try await engine.removeSavedQueue("Again")
            for (name, action) in [("Eveninng", "play"), ("Again", "remove")] {
                let error = await #expect(throws: RouterError.self) {
                    if action == "play" {
                        _ = try await engine.play(PlayRequest(what: [], rooms: ["Lounge"], savedQueue: name))
                    } else {
                        try await engine.removeSavedQueue(name)
                    }
                }
                #expect(error?.code == .mediaNotFound && error?.candidates == ["Evening"], "\(action)")
            }
            for name in ["", "  ", String(repeating: "x", count: 65), "a\u{7}b"] {
                let error = await #expect(throws: RouterError.self) {
                    try await engine.saveQueue(session: nil, as: name)
                }
                #expect(error?.code == .configuration)
            }
        }
    }

    // MARK: History

    @Test("the history tells what was played where, how far and why it ended; previous goes back in it")
    func history() async throws {
        try await House.kitchenAndLounge().live { house in
            let engine = house.engine
            let snapshot = try await house.play(["one", "two", "one"], in: ["Kitchen", "Lounge"])
            let items = snapshot.queue.items
            house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds + 4_000_000_000)
            _ = try await command(.jump(items[2].id), house)
            _ = try await command(.previous, house)
            #expect(await house.session()?.queue.current == items[0].id)
            _ = try await command(.stop, house)
            let plays = try await engine.history(limit: 10)
            #expect(plays.map(\.item.id) == [items[0].id, items[2].id, items[0].id])
            #expect(plays.map(\.id) == plays.map(\.id).sorted(by: >))
            #expect(plays.allSatisfy { $0.session == snapshot.id && $0.rooms == ["Kitchen", "Lounge"] })
            #expect(plays.map(\.reason) == [.cancelled, .replaced, .replaced])
            #expect(abs((plays.last?.furthest.seconds ?? 0) - 4) < 0.01)
            #expect(plays.allSatisfy { $0.stopped != nil })
            #expect(plays.last?.item.metadata.title == "Title of one")
            #expect(try await engine.history(limit: 1).count == 1)
            for limit in [0, 1001] {
                let error = await #expect(throws: RouterError.self) { try await engine.history(limit: limit) }
                #expect(error?.code == .configuration)
            }
        }
    }

    @Test("an item that plays on is in the history, as far as it has come")
    func openPlay() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            house.cast.session(named: "Lounge")?.reports(position: .zero)
            #expect(await eventually { await house.session()?.anchor?.rate == 1 })
            house.clock.advance(seconds: 3)
            let play = try #require(try await house.engine.history(limit: 5).first)
            #expect(play.stopped == nil && play.reason == nil && play.furthest.seconds == 3)
        }
    }

    @Test("a full disk is told once, playing goes on, and what is there is written when there is room again")
    func fullDisk() async throws {
        try await House.twoWithQueues().live { house in
            let notices = await Notices(house.engine)
            let full = RouterError(.storage, "the disk is full", hint: "Free some space")
            await house.store.refusesQueues(with: full)
            let session = try await house.play(["one", "two"], in: ["Lounge"]).id
            for name in ["three", "four", "five"] {
                _ = try await edit(.append([name]), house)
                let writes = await house.store.queueWrites
                #expect(await house.turn(seconds: 2) { await house.store.queueWrites > writes })
            }
            _ = try await command(.next, house)
            #expect(await house.session()?.media == .playing)
            #expect(await house.session()?.queue.items.count == 5)
            #expect(await notices.count { $0.message == full.message } == 1)
            #expect(try await house.store.queue(session: session) == nil)
            await house.store.refusesQueues(with: nil)
            let last = try await edit(.undo, house)
            // Titles may be learnt meanwhile.
            #expect(
                await house.turn(seconds: 2) {
                    (try? await house.store.queue(session: session))?.version == last.version
                })
            #expect(try await house.store.queue(session: session)?.items.map(\.id) == last.items.map(\.id))
            #expect(await notices.count { $0.message == full.message } == 1)
        }
    }

    @Test("a session tells how its last item ended: left by a command, or heard to its end")
    func lastEnd() async throws {
        try await House.kitchenAndLounge().live { house in
            let items = try await house.play(["one", "two", "one"], in: ["Lounge"]).queue.items
            let lounge = try #require(house.cast.session(named: "Lounge"))
            #expect(await eventually { await house.session()?.media == .playing })
            #expect(await house.session()?.lastEnd == nil)
            _ = try await command(.next, house)
            #expect(
                await eventually {
                    await house.session()?.lastEnd == ItemEnd(item: items[0].id, play: 1, reason: .replaced)
                })
            #expect(await eventually { lounge.loadedTokens.count == 2 })
            #expect(
                await eventually {
                    // Its news count again once the load has returned.
                    if lounge.loadedTokens.count == 2 { lounge.reachesEnd() }
                    return await house.session()?.lastEnd == ItemEnd(item: items[1].id, play: 2, reason: .finished)
                })
        }
    }

    @Test("with repeat one, each round is a play")
    func repeatOne() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.engine.play(PlayRequest(what: ["one", "two"], rooms: ["Lounge"], repeatMode: .one))
            let lounge = try #require(house.cast.session(named: "Lounge"))
            lounge.reachesEnd()
            #expect(await eventually { lounge.loadedTokens.count == 2 })
            #expect(await eventually { (try? await house.engine.history(limit: 5).count) == 2 })
            #expect(try await house.engine.history(limit: 5).last?.reason == .finished)
        }
    }
}
