import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("R6 pairing through the engine")
struct PairingTests {
    private func house(_ pairing: FakePairing? = FakePairing(code: "1234"), store: InMemoryStore = InMemoryStore())
        -> House
    {
        let house = House(store: store) { airplay, cast in
            var tv = airplay.endpoint(named: "TV", host: "10.0.0.1")
            tv.access = .pin
            return [tv, cast.endpoint(named: "Lounge", host: "10.0.0.2")]
        }
        if let pairing { house.airplay.asksForCode(house.airplay.endpoint(named: "TV", host: "10.0.0.1"), pairing) }
        house.media.add("one", seconds: 10)
        return house
    }

    private func failure(_ body: () async throws -> Void) async -> RouterError? {
        do { try await body() } catch { return error as? RouterError }
        return nil
    }

    @Test("one caller begins it, another finishes it; the key is kept and sessions are opened with it")
    func wholeWay() async throws {
        let store = InMemoryStore()
        try await house(store: store).live { house in
            let begun = try await house.engine.startPairing("TV")
            #expect(begun.state == .waiting && begun.kind == .pin && begun.device == "TV")
            #expect(begun.prompt.contains("3 tries"))
            let done = try await house.engine.finishPairing(begun.id, code: "1234")
            #expect(done.state == .done)
            let kept = try #require(try await house.engine.pairings().first)
            #expect(kept.name == "TV" && kept.kind == .pin && kept.madeAt > 0)
            let access = try await house.engine.routes(settle: false).routes
                .first { $0.name == "TV" }?.endpoints.first?.access
            #expect(access == .paired)
            _ = try await house.play(["one"], in: ["TV"])
            #expect(house.airplay.credentials == [DeviceCredentials(kind: .pin, secret: Array("key of TV".utf8))])
            // It is over: nobody finishes it twice.
            #expect(await failure { _ = try await house.engine.finishPairing(begun.id, code: "1234") } != nil)
        }
        // The next process knows it.
        try await house(store: store).live { house in
            #expect(try await house.engine.pairings().map(\.name) == ["TV"])
            try await house.engine.unpair("TV")
            #expect(house.airplay.unpaired.map(\.credentials?.kind) == [.pin])
            #expect(try await house.engine.pairings().isEmpty)
            let access = try await house.engine.routes(settle: false).routes
                .first { $0.name == "TV" }?.endpoints.first?.access
            #expect(access == .pin)
            #expect(await failure { try await house.engine.unpair("TV") }?.code == .routeNotFound)
        }
    }

    @Test("a wrong code may be followed by the right one, until the device has had enough")
    func wrongCodes() async throws {
        try await house(FakePairing(code: "1234", tries: 2)).live { house in
            let begun = try await house.engine.startPairing("TV")
            #expect(
                await failure { _ = try await house.engine.finishPairing(begun.id, code: "1") }?.code == .authFailed)
            #expect(try await house.engine.finishPairing(begun.id, code: "1234").state == .done)
            let second = try await house.engine.startPairing("TV")
            for _ in 1...2 {
                #expect(
                    await failure { _ = try await house.engine.finishPairing(second.id, code: "1") }?.code
                        == .authFailed)
            }
            // What was kept before stays.
            #expect(
                await failure { _ = try await house.engine.finishPairing(second.id, code: "1234") }?.code
                    == .routeNotFound)
            #expect(try await house.engine.pairings().map(\.name) == ["TV"])
        }
    }

    @Test("a pairing waits five minutes; a new one with the device takes its place; it can be called off")
    func ends() async throws {
        try await house().live { house in
            let first = try await house.engine.startPairing("TV")
            let second = try await house.engine.startPairing("TV")
            #expect(
                await failure { _ = try await house.engine.finishPairing(first.id, code: "1234") }?.code
                    == .routeNotFound)
            try await house.engine.cancelPairing(second.id)
            #expect(await failure { _ = try await house.engine.finishPairing(second.id, code: "1234") } != nil)
            for id in [second.id, "pr-nonsense"] {
                #expect(await failure { try await house.engine.cancelPairing(id) }?.code == .routeNotFound)
            }
            let third = try await house.engine.startPairing("TV")
            house.clock.advance(seconds: 200)
            await othersHaveRun()
            #expect(await house.engine.pairingsUnderWay.keys.contains(third.id))
            #expect(
                await eventually {
                    house.clock.advance(seconds: 101)
                    return await house.engine.pairingsUnderWay.isEmpty
                })
            #expect(
                await failure { _ = try await house.engine.finishPairing(third.id, code: "1234") }?.code
                    == .routeNotFound)
        }
    }

    /// What is told of pairings.
    private actor Told {
        private(set) var all: [PairingProgress] = []
        func add(_ progress: PairingProgress) { all.append(progress) }
    }

    @Test("each step of a pairing is told, and how it ended: done, taken over, called off, refused, too late")
    func told() async throws {
        try await house(FakePairing(code: "1234", tries: 1)).live { house in
            let told = Told()
            let events = await house.engine.events()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await event in events {
                        if case .pairing(let progress) = event.body { await told.add(progress) }
                    }
                }
                _ = try await house.engine.startPairing("TV")
                let second = try await house.engine.startPairing("TV")
                try await house.engine.cancelPairing(second.id)
                let third = try await house.engine.startPairing("TV")
                _ = await failure { _ = try await house.engine.finishPairing(third.id, code: "9") }
                let fourth = try await house.engine.startPairing("TV")
                _ = try await house.engine.finishPairing(fourth.id, code: "1234")
                _ = try await house.engine.startPairing("TV")
                #expect(
                    await eventually {
                        house.clock.advance(seconds: 101)
                        return await told.all.count == 10
                    })
                group.cancelAll()
            }
            let all = await told.all
            #expect(
                all.map(\.state) == [
                    .waiting, .failed, .waiting, .failed, .waiting, .failed, .waiting, .done, .waiting, .failed,
                ])
            #expect(
                all.compactMap(\.error?.code) == [.cancelled, .cancelled, .pairingDenied, .timeout], "\(all)")
            #expect(all.allSatisfy { !"\($0)".contains("1234") })
        }
    }

    @Test("a device that needs none says so, and an unknown one is not found")
    func refusals() async throws {
        try await house(nil).live { house in
            #expect(await failure { _ = try await house.engine.startPairing("Lounge") }?.code == .unsupported)
            #expect(await failure { _ = try await house.engine.startPairing("Bath") }?.code == .routeNotFound)
        }
    }

    @Test("a device is forgotten with its pairing, there or away; one that plays, or that nobody knows, is not")
    func forgetting() async throws {
        let store = InMemoryStore()
        try await house(store: store).live { house in
            let begun = try await house.engine.startPairing("TV")
            _ = try await house.engine.finishPairing(begun.id, code: "1234")
            let playing = try await house.play(["one"], in: ["TV"])
            #expect(await failure { _ = try await house.engine.forgetDevice("TV") }?.code == .routeBusy)
            try await house.engine.end(session: playing.id, reason: .stop)
            #expect(try await house.engine.forgetDevice("TV") == nil)
            #expect(house.airplay.unpaired.count == 1)
            #expect(try await house.engine.pairings().isEmpty)
            #expect(try await house.engine.routes(settle: false).routes.contains { $0.name == "TV" })
            #expect(await failure { _ = try await house.engine.forgetDevice("Cellar") }?.code == .routeNotFound)
        }
    }

    @Test("removing one that is away, or that cannot be told, says what is left to do there; twice is not found")
    func removing() async throws {
        let store = InMemoryStore()
        try await house(store: store).live { house in
            let begun = try await house.engine.startPairing("TV")
            _ = try await house.engine.finishPairing(begun.id, code: "1234")
        }
        let elsewhere = House(store: store) { _, cast in [cast.endpoint(named: "Lounge", host: "10.0.0.2")] }
        try await elsewhere.live { house in
            let notice = try await house.engine.unpair("tv")
            #expect(notice?.severity == .warning)
            #expect(notice?.message.contains("TV could not be told") == true)
            #expect(notice?.hint?.contains("settings") == true)
            #expect(try await house.engine.pairings().isEmpty)
            let again = await failure { try await house.engine.unpair("TV") }
            #expect(again?.code == .routeNotFound && again?.message.contains("was paired") == true)
        }
        // One that is there is told, and there is nothing to say.
        try await house(store: store).live { house in
            let begun = try await house.engine.startPairing("TV")
            _ = try await house.engine.finishPairing(begun.id, code: "1234")
            #expect(try await house.engine.unpair("TV") == nil)
        }
    }
}
