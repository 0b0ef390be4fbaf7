import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("C6 kinds of transfer", .timeLimit(.minutes(2)))
struct TransferKindTests {
    private static func house() -> House {
        let house = House { airplay, cast in
            [
                airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), airplay.endpoint(named: "Bath", host: "10.0.0.2"),
                cast.endpoint(named: "Lounge", host: "10.0.0.3"),
            ]
        }
        for name in ["one", "two"] { house.media.add(name, seconds: 600) }
        return house
    }

    private func device(_ name: String, _ house: House) throws -> FakeRouteSession {
        try #require(house.airplay.session(named: name) ?? house.cast.session(named: name))
    }

    /// But for what is drawn, which comes when it is ready.
    private static func asked(_ house: House) -> [[FakeRouteSession.Call]] {
        house.airplay.sessions.map { session in
            session.asked.filter { if case .present = $0 { false } else { true } }
        }
    }

    private func plays(_ house: House) async throws -> SessionSnapshot {
        let session = try await house.play(["one", "two"], in: ["Kitchen"])
        house.clock.advance(nanoseconds: House.lead + startSlackNanoseconds)
        house.clock.advance(seconds: 100)
        return session
    }

    private func transfer(
        _ kind: TransferRequest.Kind, _ rooms: [String], _ house: House, session: SessionID? = nil,
        preflight: Bool = false
    ) async throws -> TransferResult {
        try await house.engine.transfer(
            TransferRequest(kind, session: session, rooms: rooms, preflight: preflight))
    }

    @Test(
        "a preflight tells where to, from where and what would be lost, and does nothing",
        arguments: TransferRequest.Kind.allCases)
    func preflight(_ kind: TransferRequest.Kind) async throws {
        try await Self.house().live { house in
            _ = try await plays(house)
            if kind == .shrink { _ = try await house.engine.join(session: nil, rooms: ["Bath"]) }
            // What is learnt of its items comes when it comes.
            #expect(
                await eventually {
                    guard let now = await house.session() else { return false }
                    return now.members.allSatisfy { $0.media == .playing } && now.anchor?.duration != nil
                        && now.queue.items.allSatisfy { $0.metadata.duration != nil }
                })
            let before = try #require(await house.session())
            let calls = Self.asked(house)
            let result = try await transfer(kind, [kind == .shrink ? "Bath" : "Lounge"], house, preflight: true)
            #expect(result.from == before.members.map(\.name))
            #expect(abs(result.position.seconds - 100) < 0.001)
            switch kind {
            case .move, .copy:
                #expect(result.to == ["Lounge"])
                #expect(result.losses == ["short gaps between tracks"])
            case .expand:
                #expect(result.to == ["Kitchen", "Lounge"])
                #expect(result.losses.contains("the rooms are held in time loosely"))
            case .shrink: #expect(result.to == ["Kitchen"])
            }
            #expect(Self.asked(house) == calls)
            #expect(house.cast.opened.isEmpty)
            var after = try #require(await house.session())
            after.now = before.now
            #expect(after == before)
        }
    }

    @Test("expand: it goes on in the new room as well")
    func expand() async throws {
        try await Self.house().live { house in
            _ = try await plays(house)
            let result = try await transfer(.expand, ["Bath"], house)
            #expect(result.to == ["Kitchen", "Bath"])
            #expect(result.session.members.map(\.name) == ["Kitchen", "Bath"])
            #expect(!(try device("Kitchen", house)).asked.contains(.perform(.pause)))
            await #expect(throws: RouterError.self) { try await transfer(.expand, ["Bath"], house) }
        }
    }

    @Test("expand to two rooms of which one fails: neither stays, and it plays on where it did")
    func expandFails() async throws {
        try await Self.house().live { house in
            _ = try await plays(house)
            house.cast.refuse(
                house.cast.endpoint(named: "Lounge", host: "10.0.0.3"), with: RouterError(.routeUnreachable, "off"))
            let error = await #expect(throws: RouterError.self) {
                try await transfer(.expand, ["Bath", "Lounge"], house)
            }
            #expect(error?.code == .routeUnreachable)
            let after = try #require(await house.session())
            #expect(after.media == .playing)
            #expect(after.members.filter { $0.connection == .connected }.map(\.name) == ["Kitchen"])
            #expect(try device("Bath", house).asked == [.end(.stop)])
        }
    }

    @Test("shrink: it goes on without the room; never without any")
    func shrink() async throws {
        try await Self.house().live { house in
            _ = try await plays(house)
            _ = try await house.engine.join(session: nil, rooms: ["Bath"])
            let result = try await transfer(.shrink, ["kitchen"], house)
            #expect(result.to == ["Bath"])
            #expect(result.session.members.map(\.name) == ["Bath"])
            let error = await #expect(throws: RouterError.self) { try await transfer(.shrink, ["Bath"], house) }
            #expect(error?.code == .unavailable)
            await #expect(throws: RouterError.self) { try await transfer(.shrink, ["Attic"], house) }
            #expect(await house.session()?.media == .playing)
        }
    }

    @Test("copy: a second session from the same place, with a queue of its own", arguments: [false, true])
    func copy(paused: Bool) async throws {
        try await Self.house().live { house in
            let first = try await plays(house)
            _ = try await house.engine.perform(.shuffle(true), session: nil, origin: .cli)
            if paused { _ = try await house.engine.perform(.pause, session: nil, origin: .cli) }
            for room in ["Bath", "Lounge"] {
                let result = try await transfer(.copy, [room], house, session: first.id)
                #expect(result.session.id != first.id)
                #expect(result.to == [room])
                let copy = try #require(
                    await house.engine.sessions().first { $0.members.contains { $0.name == room } })
                #expect(copy.media == (paused ? .paused : .playing))
                #expect(copy.queue.items.map(\.source) == first.queue.items.map(\.source))
                #expect(Set(copy.queue.items.map(\.id)).isDisjoint(with: first.queue.items.map(\.id)))
                #expect(copy.queue.original?.count == 2)
                #expect(abs((copy.anchor?.time.seconds ?? 0) - 100) < 0.001)
                let session = try device(room, house)
                #expect(session.state.media == (paused ? .paused : .playing))
            }
            #expect(await house.engine.sessions().count == 3)
            #expect(try device("Kitchen", house).state.media == (paused ? .paused : .playing))
        }
    }

    @Test("copy to a room that is off: the first plays on, and there is no second")
    func copyFails() async throws {
        try await Self.house().live { house in
            _ = try await plays(house)
            house.airplay.refuse(
                house.airplay.endpoint(named: "Bath", host: "10.0.0.2"), with: RouterError(.routeUnreachable, "off"))
            await #expect(throws: RouterError.self) { try await transfer(.copy, ["Bath"], house) }
            #expect(await house.engine.sessions().filter { $0.media == .playing }.count == 1)
        }
    }

    @Test("no room named, and one where it plays already, are told")
    func refusals() async throws {
        try await Self.house().live { house in
            _ = try await plays(house)
            for kind in TransferRequest.Kind.allCases {
                await #expect(throws: RouterError.self) { try await transfer(kind, [], house) }
            }
            for kind in [TransferRequest.Kind.move, .expand, .copy] {
                let error = await #expect(throws: RouterError.self) { try await transfer(kind, ["Kitchen"], house) }
                #expect(error?.code == .routeBusy)
            }
        }
    }
}
