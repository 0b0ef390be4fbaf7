import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("C4 C5 sessions that outlive a connection", .timeLimit(.minutes(2)))
struct ResumeTests {
    /// Lets the clock run until the room is tried again, so many times in all.
    private func attempts(_ house: House, _ count: Int) async -> Bool {
        await house.turn(seconds: 120) { house.cast.opened.count >= count }
    }

    @Test("a lost room is suspended, its position goes on, and what still plays is joined: no load, same session")
    func resumes() async throws {
        try await House.twoWithQueues().live { house in
            let first = try await house.play(["one", "two", "three"], in: ["Lounge"])
            let lounge = try house.lounge()
            #expect(await house.holds(2, in: lounge))
            lounge.reports(position: .zero)
            #expect(await eventually { await house.session()?.anchor != nil })
            let notices = await Notices(house.engine)
            var state = lounge.state
            lounge.isLost()
            #expect(await eventually { await house.session()?.connection == .suspended })
            #expect(await house.session()?.media == .playing)
            #expect(await house.session()?.anchor?.quality == .estimated)
            state.position = ReportedPosition(time: MediaTime(seconds: 4), instant: house.clock.now(), rate: 1)
            state.calls = 0
            house.cast.keeps(state, on: house.loungeEndpoint)
            #expect(await attempts(house, 2))
            #expect(await eventually { await house.session()?.connection == .connected })
            #expect(house.cast.opened.last?.rejoin == "app/Lounge")
            let again = try house.lounge()
            #expect(again.loadedTokens.isEmpty)
            let now = try #require(await house.session())
            #expect(now.id == first.id && now.queue.items.map(\.id) == first.queue.items.map(\.id))
            #expect(now.anchor?.time.seconds == 4)
            #expect(now.ownership == .ours)
            // And it goes on as before.
            again.goesOn()
            #expect(await eventually { await house.session()?.queue.current == first.queue.items[1].id })
            #expect(await notices.count { $0.message.contains("connection is lost") } == 1)
            #expect(await notices.count { $0.message.contains("connected again") } == 1)
        }
    }

    @Test("a device that has forgotten us is loaded again where it would be by now")
    func reloads() async throws {
        try await House.twoWithQueues().live { house in
            let first = try await house.play(["one", "two", "three"], in: ["Lounge"])
            let lounge = try house.lounge()
            lounge.reports(position: .zero)
            #expect(await eventually { await house.session()?.anchor?.quality == .deviceReported })
            house.cast.refuse(house.loungeEndpoint, with: RouterError(.routeUnreachable, "off", scope: .route))
            lounge.isLost()
            #expect(await eventually { await house.session()?.connection == .suspended })
            house.clock.advance(seconds: 7)
            house.cast.accept(house.loungeEndpoint)
            house.clock.advance(seconds: 5)
            #expect(await house.turn(seconds: 60) { house.cast.sessions.count == 2 })
            #expect(await eventually { await house.session()?.connection == .connected })
            // Twelve seconds on is in the second item.
            #expect(await eventually { await house.session()?.queue.current == first.queue.items[1].id })
            #expect(try house.lounge().loadedTokens.count == 1)
        }
    }

    @Test("attempts come one at a time, with growing gaps, and stop when their time is over")
    func noStorm() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let notices = await Notices(house.engine)
            house.cast.refuse(house.loungeEndpoint, with: RouterError(.routeUnreachable, "off", scope: .route))
            try house.lounge().isLost()
            #expect(await eventually { await house.session()?.connection == .suspended })
            #expect(await house.turn(seconds: 400) { await house.session()?.connection == .failed })
            // 0.5, 1, 2, 4, 8, 16, then each half minute for five minutes.
            #expect((10...18).contains(house.cast.opened.count), "\(house.cast.opened.count)")
            #expect(await house.session()?.members[0].error?.code == .routeLost)
            #expect(await notices.count { $0.severity == .warning } == 1)
        }
    }

    @Test("a stop while it is suspended ends it at once, and the device when it is reached in that moment")
    func stopWhileSuspended() async throws {
        try await House.twoWithQueues().live { house in
            let id = try await house.play(["one"], in: ["Lounge"]).id
            try house.lounge().isLost()
            #expect(await eventually { await house.session()?.connection == .suspended })
            do {
                _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
                Issue.record("a pause reached nobody, and was not refused")
            } catch let error as RouterError { #expect(error.code == .unavailable) }
            try await house.engine.end(session: id, reason: .stop)
            #expect(await eventually { await house.session()?.connection == .ended || house.cast.sessions.count == 1 })
            house.clock.advance(seconds: 400)
            await othersHaveRun()
            #expect(house.cast.sessions.count == 1)
            #expect(try await house.engine.sessionsToRejoin().isEmpty)
        }
    }

    @Test("a device that somebody else has taken meanwhile is not taken back")
    func takenOver() async throws {
        try await House.twoWithQueues().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            try house.lounge().isLost()
            house.cast.keeps(RouteSessionUpdate(foreign: "A film"), on: house.loungeEndpoint)
            #expect(await eventually { await house.session()?.connection == .suspended })
            #expect(await house.turn(seconds: 30) { await house.session()?.connection == .failed })
            #expect(try house.lounge().loadedTokens.isEmpty)
            #expect(await house.session()?.members[0].error?.code == .commandSuperseded)
        }
    }

    @Test("another sender's edits while we were away are taken over too")
    func editedMeanwhile() async throws {
        try await House.twoWithQueues().live { house in
            let items = try await house.play(["one", "two", "three", "four"], in: ["Lounge"]).queue.items
            let lounge = try house.lounge()
            #expect(await house.holds(2, in: lounge))
            var state = lounge.state
            lounge.isLost()
            state.calls = 0
            state.window?.remove(at: 1)
            house.cast.keeps(state, on: house.loungeEndpoint)
            #expect(await attempts(house, 2))
            #expect(
                await eventually {
                    await house.session()?.queue.items.map(\.id) == [items[0].id, items[2].id, items[3].id]
                })
        }
    }

    @Test("a load that is cut off is made again, whatever the device still plays")
    func lostDuringLoad() async throws {
        try await House.twoWithQueues().live { house in
            let items = try await house.play(["one", "two", "three"], in: ["Lounge"]).queue.items
            let lounge = try house.lounge()
            #expect(await house.holds(2, in: lounge))
            var state = lounge.state
            state.calls = 0
            house.cast.keeps(state, on: house.loungeEndpoint)
            lounge.failLoads(with: RouterError(.routeLost, "gone", scope: .route))
            _ = try? await house.engine.perform(.jump(items[2].id), session: nil, origin: .cli)
            #expect(await eventually { await house.session()?.connection == .suspended })
            #expect(await attempts(house, 2))
            #expect(await eventually { (try? house.lounge().loadedTokens.count) == 1 })
            #expect(await house.session()?.queue.current == items[2].id)
        }
    }

    @Test("C5 after a crash the next process joins the same session: id, queue and position, nothing loaded")
    func rejoins() async throws {
        try await House.afterACrash(of: { House.twoWithQueues(store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two", "three"], in: ["Lounge"])
            let lounge = try crashed.lounge()
            #expect(await crashed.holds(2, in: lounge))
            #expect(
                await crashed.turn(seconds: 3) {
                    await store.sessionsToRejoin().first?.members.first?.window?.count == 2
                })
            let left = lounge.state

            try await House.twoWithQueues(store: store).live { house in
                var state = left
                state.calls = 0
                state.position = ReportedPosition(time: MediaTime(seconds: 6), instant: house.clock.now(), rate: 1)
                house.cast.keeps(state, on: house.loungeEndpoint)
                let list = try await house.engine.sessionsToRejoin()
                #expect(list.map(\.id) == [before.id])
                #expect(list.first?.rooms == ["Lounge"])
                let after = try await house.engine.rejoin(before.id)
                #expect(after.id == before.id)
                #expect(after.queue.items.map(\.id) == before.queue.items.map(\.id))
                #expect(after.queue.current == before.queue.current)
                #expect(after.position?.seconds == 6)
                #expect(after.members.map(\.name) == ["Lounge"])
                let again = try house.lounge()
                #expect(again.loadedTokens.isEmpty)
                #expect(Set(house.media.published).isSuperset(of: again.held))
                again.goesOn()
                #expect(await eventually { await house.session()?.queue.current == before.queue.items[1].id })
                #expect(try await house.engine.sessionsToRejoin().isEmpty)
            }
        }
    }

    @Test(
        "C5 after a crash a device that had been readied and not begun is begun; one that was paused since stays so",
        arguments: [(3.0, true), (4.5, false)])
    func rejoinsReadied(place: Double, isBegun: Bool) async throws {
        try await House.afterACrash(of: { House.twoWithQueues(store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two"], in: ["Lounge"])
            _ = try await crashed.engine.perform(.seek(to: MediaTime(seconds: 3)), session: nil, origin: .cli)
            let left = try crashed.lounge().state

            try await House.twoWithQueues(store: store).live { house in
                house.clock.advance(seconds: 2)
                var state = left
                state.calls = 0
                state.media = .paused
                state.position = ReportedPosition(time: MediaTime(seconds: place), instant: house.clock.now(), rate: 0)
                house.cast.keeps(state, on: house.loungeEndpoint)
                let after = try await house.engine.rejoin(before.id)
                let lounge = try house.lounge()
                #expect(lounge.loadedTokens.isEmpty)
                let seeks = lounge.asked.compactMap { call -> MediaTime? in
                    if case .perform(.seek(let time, true)) = call { time } else { nil }
                }
                #expect(seeks.map(\.seconds) == (isBegun ? [5] : []))
                guard isBegun else {
                    #expect(after.media == .paused && after.position?.seconds == 4.5)
                    return
                }
                lounge.reports {
                    $0.media = .playing
                    $0.position = ReportedPosition(time: MediaTime(seconds: 5), instant: house.clock.now(), rate: 1)
                }
                #expect(await eventually { await house.session()?.media == .playing })
                #expect(await house.session()?.position?.seconds == 5)
            }
        }
    }

    @Test("C5 after a crash while a device fills its buffer the next process goes on playing")
    func rejoinsBuffering() async throws {
        try await House.afterACrash(of: { House.twoWithQueues(store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two"], in: ["Lounge"])
            let lounge = try crashed.lounge()
            lounge.reports { $0.media = .buffering }
            #expect(await eventually { await crashed.session()?.media == .buffering })
            _ = try await crashed.engine.edit(.append(["three"]), session: nil, ifVersion: nil, workingDirectory: "/")
            #expect(
                await crashed.turn(seconds: 3) { (try? await store.queue(session: before.id))?.items.count == 3 })
            #expect(await store.sessionsToRejoin().first?.playing == true)
            #expect(await crashed.session()?.media == .buffering)

            try await House.twoWithQueues(store: store).live { house in
                let after = try await house.engine.rejoin(before.id)
                #expect(after.media == .playing)
            }
        }
    }

    @Test("C5 what is paused is written as paused, also while another item is readied")
    func pausedIsWritten() async throws {
        try await House.twoWithQueues().live { house in
            let items = try await house.play(["one", "two", "three"], in: ["Lounge"]).queue.items
            _ = try await house.engine.perform(.pause, session: nil, origin: .cli)
            _ = try await house.engine.edit(
                .remove([items[0].id]), session: nil, ifVersion: nil, workingDirectory: "/")
            #expect(await house.session()?.media == .paused)
            let record = try #require(await house.store.sessionsToRejoin().first)
            #expect(record.item == items[1].id && !record.playing)
        }
    }

    @Test("C5 who pauses right after a crash, while the device fills its buffer, has paused it")
    func pausedAfterACrash() async throws {
        try await House.afterACrash(of: { House.twoWithQueues(store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two"], in: ["Lounge"])
            var state = try crashed.lounge().state
            state.calls = 0
            state.media = .buffering
            state.position = ReportedPosition(time: .zero, instant: crashed.clock.now(), rate: 0)
            let left = state

            try await House.twoWithQueues(store: store).live { house in
                house.cast.keeps(left, on: house.loungeEndpoint)
                _ = try await house.engine.rejoin(before.id)
                _ = try await house.engine.perform(.pause, session: before.id, origin: .cli)
                let lounge = try house.lounge()
                lounge.reports { $0.media = .paused }
                #expect(await eventually { await house.member("Lounge")?.media == .paused })
                await othersHaveRun()
                #expect(await house.session()?.media == .paused)
                #expect(
                    !lounge.asked.contains { call in
                        if case .perform(.seek(_, true)) = call { true } else { false }
                    })
            }
        }
    }

    @Test("C5 after a crash in the midst of an edit of the device's queue nothing is lost from ours")
    func rejoinsHalfEdited() async throws {
        try await House.afterACrash(of: { House.twoWithQueues(store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two", "three"], in: ["Lounge"])
            #expect(await crashed.holds(2, in: try crashed.lounge()))
            #expect(
                await crashed.turn(seconds: 3) {
                    await store.sessionsToRejoin().first?.members.first?.window?.count == 2
                })
            let left = try crashed.lounge().state

            try await House.twoWithQueues(store: store).live { house in
                var state = left
                state.calls = 0
                state.window = state.window.map { Array($0.prefix(1)) }
                house.cast.keeps(state, on: house.loungeEndpoint)
                _ = try await house.engine.rejoin(before.id)
                let lounge = try house.lounge()
                #expect(await house.holds(2, in: lounge))
                #expect(await house.session()?.queue.items.map(\.id) == before.queue.items.map(\.id))
                #expect(lounge.loadedTokens.isEmpty)
            }
        }
    }

    @Test("C5 after a crash what the device had been given already is ours, though the queue was not written yet")
    func rejoinsUnwrittenEdit() async throws {
        try await House.afterACrash(of: { House.twoWithQueues(store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two"], in: ["Lounge"])
            #expect(await crashed.holds(1, in: try crashed.lounge()))
            #expect(
                await crashed.turn(seconds: 3) {
                    await store.sessionsToRejoin().first?.members.first?.window?.count == 1
                })
            var state = try crashed.lounge().state
            state.calls = 0
            let added = MediaTokenRecord(
                token: MediaToken(rawValue: "added"), item: ItemID(rawValue: "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
                path: "three")
            await store.saveMediaToken(added)
            state.window?.append(WindowEntry(token: added.token, url: "http://127.0.0.1/m/added/three"))
            let left = state

            try await House.twoWithQueues(store: store).live { house in
                house.cast.keeps(left, on: house.loungeEndpoint)
                let notices = await Notices(house.engine)
                _ = try await house.engine.rejoin(before.id)
                #expect(
                    await eventually {
                        await house.session()?.queue.items.map(\.id) == before.queue.items.map(\.id) + [added.item]
                    })
                let item = try #require(await house.session()?.queue.items.last)
                #expect(item.source == .file(path: "three") && item.addedBy == nil)
                #expect(await notices.count { $0.message.contains("another sender") } == 0)
            }
        }
    }

    @Test(
        "C5 after a crash a room that was readied beside a timeline is begun with it, also once its buffer is full",
        arguments: [(MediaState.paused, false), (.buffering, false), (.paused, true)])
    func rejoinsReadiedBesideTimeline(found: MediaState, isFirst: Bool) async throws {
        try await House.afterACrash(of: { House.kitchenAndLounge(store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two"], in: ["Kitchen", "Lounge"])
            let left = try #require(crashed.cast.session(named: "Lounge")).state

            try await House.kitchenAndLounge(store: store).live { house in
                house.clock.advance(seconds: 2)
                var state = left
                state.calls = 0
                state.media = found
                state.position = ReportedPosition(time: MediaTime(seconds: 1), instant: house.clock.now(), rate: 0)
                house.cast.keeps(state, on: house.loungeEndpoint)
                let kitchen =
                    isFirst
                    ? house.airplay.holdsOpening(of: house.airplay.endpoint(named: "Kitchen", host: "10.0.0.1")) : nil
                async let rejoined = house.engine.rejoin(before.id)
                #expect(await eventually { house.cast.session(named: "Lounge") != nil })
                await othersHaveRun()
                kitchen?.finish()
                let after = try await rejoined
                #expect(after.media == .playing)
                let lounge = try #require(house.cast.session(named: "Lounge"))
                if found == .buffering {
                    house.clock.advance(seconds: 3)
                    lounge.reports { $0.media = .paused }
                }
                #expect(
                    await house.turn(seconds: 3) {
                        lounge.asked.contains { call in
                            if case .perform(.seek(_, true)) = call { true } else { false }
                        }
                    })
                #expect(await house.session()?.media == .playing)
                #expect(!lounge.asked.contains(.perform(.pause)))
            }
        }
    }

    @Test(
        "C5 after a crash near an item's end speakers begin with the next; at the queue's end there is nothing for them",
        arguments: [["one", "two"], ["one"]])
    func rejoinsAtEnd(_ names: [String]) async throws {
        try await House.afterACrash(of: { House.kitchenAndLounge(store: $0) }) { crashed, store in
            let before = try await crashed.play(names, in: ["Kitchen", "Lounge"])
            let left = try #require(crashed.cast.session(named: "Lounge")).state
            let anchor = try #require(before.anchor)

            try await House.kitchenAndLounge(store: store).live { house in
                // Two seconds are what the speakers need, and one is left.
                house.clock.advance(nanoseconds: anchor.instant + 9_000_000_000 - house.clock.now())
                var state = left
                state.calls = 0
                state.media = .playing
                state.position = ReportedPosition(
                    time: anchor.time + MediaTime(seconds: 9), instant: house.clock.now(), rate: 1)
                house.cast.keeps(state, on: house.loungeEndpoint)
                let after = try await house.engine.rejoin(before.id)
                #expect(after.queue.items.allSatisfy { $0.failure == nil })
                let lounge = try #require(house.cast.session(named: "Lounge"))
                if names.count == 2 {
                    #expect(after.queue.current == before.queue.items[1].id)
                    #expect(after.members.map(\.connection) == [.connected, .connected])
                    #expect(await house.turn(seconds: 3) { lounge.loadedTokens.count == 1 }, "it is in step with them")
                } else {
                    #expect(after.media == .playing && lounge.loadedTokens.isEmpty)
                    #expect(after.members.allSatisfy { $0.error == nil })
                    lounge.reachesEnd()
                    #expect(await eventually { await house.session()?.stopReason == .finished })
                }
            }
        }
    }

    @Test("C5 after a crash a paused room that had been given another item than its speakers is given theirs")
    func rejoinsPausedBesideTimeline() async throws {
        try await House.afterACrash(of: { House.kitchenAndLounge(store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two"], in: ["Kitchen", "Lounge"])
            let left = try #require(crashed.cast.session(named: "Lounge")).state
            _ = try await crashed.engine.perform(.pause, session: nil, origin: .cli)
            _ = try await crashed.engine.perform(.next, session: nil, origin: .cli)
            #expect(await store.sessionsToRejoin().first?.item == before.queue.items[1].id)

            try await House.kitchenAndLounge(store: store).live { house in
                var state = left
                state.calls = 0
                state.media = .paused
                house.cast.keeps(state, on: house.loungeEndpoint)
                let after = try await house.engine.rejoin(before.id)
                #expect(after.media == .paused && after.queue.current == before.queue.items[1].id)
                let lounge = try #require(house.cast.session(named: "Lounge"))
                #expect(lounge.loadedTokens.count == 1 && lounge.loadedTokens.first != left.loaded)
            }
        }
    }

    @Test("C5 after a crash a device that plays nothing is loaded where it was; one that is off keeps its session")
    func rejoinReloads() async throws {
        try await House.afterACrash(of: { House.twoWithQueues(store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two"], in: ["Lounge"])
            _ = try await crashed.engine.perform(.seek(to: MediaTime(seconds: 8)), session: nil, origin: .cli)

            try await House.twoWithQueues(store: store).live { house in
                house.clock.advance(seconds: 1)
                house.cast.refuse(house.loungeEndpoint, with: RouterError(.routeUnreachable, "off", scope: .route))
                await #expect(throws: RouterError.self) { try await house.engine.rejoin(before.id) }
                let list = try await house.engine.sessionsToRejoin()
                #expect(list.map(\.id) == [before.id])
                // It has gone on since, as far as anybody knows.
                let record = try #require(await store.sessionsToRejoin().first)
                #expect(try #require(list.first).position == record.anchor?.position(at: house.clock.now()))
                #expect(try #require(list.first).position > record.position)
                house.cast.accept(house.loungeEndpoint)
                let after = try await house.engine.rejoin(before.id)
                #expect(try house.lounge().loadedTokens.count == 1)
                #expect(after.anchor?.time.seconds == 9)
                #expect(after.queue.current == before.queue.current)
            }
        }
    }

    @Test("a session that nobody runs is ended: its device is told, and it is forgotten")
    func endsForgotten() async throws {
        try await House.afterACrash(of: { House.twoWithQueues(store: $0) }) { crashed, store in
            let before = try await crashed.play(["one", "two"], in: ["Lounge"])
            let state = try crashed.lounge().state
            try await House.twoWithQueues(store: store).live { house in
                house.cast.keeps(state, on: house.loungeEndpoint)
                try await house.engine.end(session: before.id, reason: .stop)
                #expect(try house.lounge().asked == [.end(.stop)])
                #expect(try await house.engine.sessionsToRejoin().isEmpty)
                await #expect(throws: RouterError.self) { try await house.engine.rejoin(before.id) }
            }
        }
    }
}
