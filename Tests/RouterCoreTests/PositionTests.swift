import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

/// `House` looks at every state that is told, too: no position is that of another item.
@Suite("C3 the position (model 7)", .timeLimit(.minutes(2)))
struct PositionTests {
    private func lounge(_ house: House) throws -> FakeRouteSession {
        try #require(house.cast.session(named: "Lounge"))
    }

    @Test("a device's report counts from 300 ms of drift on; what is nearer is the same playing")
    func drift() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let lounge = try lounge(house)
            lounge.reports(position: MediaTime(seconds: 1))
            #expect(await eventually { await house.session()?.anchor?.quality == .deviceReported })
            let first = try #require(await house.session()?.anchor)
            for drift in [0.25, -0.25, 0.299] {
                house.clock.advance(seconds: 1)
                lounge.reports(position: first.position(at: house.clock.now()) + MediaTime(seconds: drift))
                await othersHaveRun()
                #expect(await house.session()?.anchor == first)
            }
            for drift in [0.35, -0.4] {
                let before = try #require(await house.session()?.anchor)
                house.clock.advance(seconds: 1)
                let wanted = before.position(at: house.clock.now()) + MediaTime(seconds: drift)
                lounge.reports(position: wanted)
                #expect(await eventually { await house.session()?.anchor?.time == wanted })
                #expect(await house.session()?.anchor?.instant == house.clock.now())
            }
        }
    }

    @Test("while it buffers the position stands still where it had come to, and goes on from there")
    func buffering() async throws {
        try await House.kitchenAndLounge().live { house in
            _ = try await house.play(["one"], in: ["Lounge"])
            let lounge = try lounge(house)
            lounge.reports(position: MediaTime(seconds: 1))
            #expect(await eventually { await house.session()?.anchor?.time.seconds == 1 })
            house.clock.advance(seconds: 3)
            // Without a position of its own: what it reported last is of three seconds ago.
            lounge.reports { $0.media = .buffering }
            #expect(await eventually { await house.session()?.media == .buffering })
            let still = try #require(await house.session()?.anchor)
            #expect(still.rate == 0)
            #expect(still.position(at: house.clock.now()).seconds == 4)
            house.clock.advance(seconds: 2)
            #expect(await house.session()?.position?.seconds == 4)
            lounge.reports {
                $0.media = .playing
                $0.position = ReportedPosition(time: MediaTime(seconds: 4), instant: house.clock.now(), rate: 1)
            }
            #expect(await eventually { await house.session()?.anchor?.rate == 1 })
            house.clock.advance(seconds: 1)
            #expect(await house.session()?.position?.seconds == 5)
        }
    }

    @Test("another item is told with its own beginning, from the first state on", arguments: ["Kitchen", "Lounge"])
    func itemChange(room: String) async throws {
        try await House.kitchenAndLounge().live { house in
            let items = try await house.play(["one", "two"], in: [room]).queue.items
            if room == "Lounge" { try lounge(house).reports(position: MediaTime(seconds: 7)) }
            #expect(await eventually { await house.session()?.anchor != nil })
            house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds)
            house.clock.advance(seconds: 7)
            let gate = house.media.holdsFeed()
            let skipping = Task { try await house.engine.perform(.next, session: nil, origin: .cli) }
            if room == "Kitchen" {
                #expect(await eventually { house.media.isFeedAwaited })
                // News of the device is told on while the next item is being decoded.
                house.airplay.session(named: room)?.reports { $0.volume = VolumeState(level: VolumePosition(0.3)) }
            }
            #expect(await eventually { await house.session()?.queue.current == items[1].id })
            let snapshot = try #require(await house.session())
            #expect(snapshot.anchor?.item == items[1].id)
            #expect(snapshot.anchor?.time == .zero && snapshot.position == .zero)
            // And so it is written.
            #expect(
                await house.turn(seconds: MediaTime(nanoseconds: saveDelayNanoseconds).seconds + 1) {
                    let record = await house.store.sessionsToRejoin().first
                    return record?.item == items[1].id && record?.position == .zero
                })
            gate.finish()
            #expect(try await skipping.value.outcome == .succeeded)
        }
    }

    @Test("what is removed while it plays gives way to the next item's beginning", arguments: ["Kitchen", "Lounge"])
    func removal(room: String) async throws {
        try await House.kitchenAndLounge().live { house in
            let items = try await house.play(["one", "two"], in: [room]).queue.items
            house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds)
            house.clock.advance(seconds: 4)
            _ = try await house.engine.edit(.remove([items[0].id]), session: nil, ifVersion: nil, workingDirectory: "/")
            #expect(await house.session()?.anchor?.item == items[1].id)
            #expect(await house.session()?.position == .zero)
        }
    }
}
