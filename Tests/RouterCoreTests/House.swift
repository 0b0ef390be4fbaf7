import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

/// A house of fake devices behind a real engine, on a clock turned by hand.
struct House {
    let clock = ManualClock()
    let media = FakeMedia()
    let store: InMemoryStore
    let airplay: FakeProvider
    let cast: FakeProvider
    let engine: RouterEngine

    static let lead: Int64 = 2_000_000_000

    /// - Parameters:
    ///   - queueOnDevice: the Cast devices hold what comes next, and go on by themselves.
    ///   - startLead: what the speakers need to begin, where it is less than their lead.
    init(
        rooms: [Room] = [], store: InMemoryStore = InMemoryStore(), browsing: (any ServiceBrowsing)? = nil,
        queueOnDevice: Bool = false, startLead: Int64? = nil, localMinute: (@Sendable () -> Int)? = nil,
        wallSeconds: (@Sendable () -> Double)? = nil, recallsSessions: Bool = false,
        stated: (FakeProvider, FakeProvider) -> [Endpoint]
    ) {
        self.store = store
        airplay = FakeProvider(
            family: .airplay,
            delivery: .push(
                PushRequirements(
                    format: AudioPacketFormat(codec: .alac), leadNanoseconds: Self.lead,
                    startLeadNanoseconds: startLead)),
            clock: clock)
        cast = FakeProvider(
            family: .cast, delivery: .pull(PullRequirements(receiverAddress: "127.0.0.1")), clock: clock,
            queueOnDevice: queueOnDevice)
        var configuration = EngineConfiguration(rooms: rooms, stated: stated(airplay, cast))
        configuration.random = { 1 }
        if let localMinute { configuration.localMinute = localMinute }
        if let wallSeconds { configuration.wallSeconds = wallSeconds }
        configuration.recallsSessions = recallsSessions
        engine = RouterEngine(
            providers: [airplay, cast], browsing: browsing, media: media, store: store, clock: clock,
            configuration: configuration)
    }

    /// Runs the engine for as long as `body` does.
    @discardableResult
    func live<Value: Sendable>(_ body: @escaping @Sendable (House) async throws -> Value) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                await engine.run()
                return nil
            }
            let events = await engine.events()
            group.addTask {
                for await event in events { Self.checkAnchor(event) }
                return nil
            }
            let result: Result<Value, any Error>
            do { result = .success(try await body(self)) } catch { result = .failure(error) }
            await engine.shutdown()
            return try result.get()
        }
    }

    /// A position is never that of another item than the one it is told with (`model.md` section 7).
    private static func checkAnchor(_ event: RouterEvent) {
        guard case .session(let snapshot) = event.body, let current = snapshot.queue.current,
            let anchor = snapshot.anchor
        else { return }
        #expect(anchor.item == current, "the position is of another item")
    }

    func play(_ what: [String], in rooms: [String], via: ViaPreference = .auto) async throws -> SessionSnapshot {
        try await engine.play(PlayRequest(what: what, rooms: rooms, via: via))
    }

    /// The one session as it is now.
    func session() async -> SessionSnapshot? { await engine.sessions().last }

    /// Turns the clock in steps until the condition holds; so that whoever sleeps meanwhile gets its turn.
    func turn(
        seconds: Double, step: Double = 0.5, onceMore: Bool = true,
        until condition: @escaping @Sendable () async -> Bool
    ) async -> Bool {
        var left = seconds
        while left > 0 {
            if await eventually(within: .milliseconds(20), { await condition() }) { return true }
            clock.advance(seconds: min(step, left))
            left -= step
        }
        // What a busy machine was late to begin waiting with has its time once more.
        left = onceMore ? seconds : 0
        while left > 0 {
            if await eventually(within: .milliseconds(200), { await condition() }) { return true }
            clock.advance(seconds: min(step, left))
            left -= step
        }
        return await eventually { await condition() }
    }
}

extension House {
    /// A process that is gone without a word, with what it leaves in the store: it runs on while the next one is there,
    /// since nobody has ended it.
    @discardableResult
    static func afterACrash<Value: Sendable>(
        of make: (InMemoryStore) -> House, _ body: (_ crashed: House, _ store: InMemoryStore) async throws -> Value
    ) async throws -> Value {
        let store = InMemoryStore()
        let crashed = make(store)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await crashed.engine.run() }
            defer { group.cancelAll() }
            return try await body(crashed, store)
        }
    }

    /// Two Cast devices with queues of their own, and five files of ten seconds.
    static func twoWithQueues(store: InMemoryStore = InMemoryStore()) -> House {
        let house = House(store: store, queueOnDevice: true) { _, cast in
            [cast.endpoint(named: "Lounge", host: "10.0.0.2"), cast.endpoint(named: "Den", host: "10.0.0.3")]
        }
        for name in ["one", "two", "three", "four", "five"] { house.media.add(name, seconds: 10) }
        return house
    }

    /// The session on a device, opened anew where there was one before.
    func lounge() throws -> FakeRouteSession { try #require(cast.session(named: "Lounge")) }

    var loungeEndpoint: Endpoint { cast.endpoint(named: "Lounge", host: "10.0.0.2") }

    /// Waits until the device holds so many items after the one it plays.
    func holds(_ count: Int, in session: FakeRouteSession) async -> Bool {
        await eventually { session.held.count == count }
    }

    static func kitchenAndLounge(store: InMemoryStore = InMemoryStore()) -> House {
        let house = House(store: store) { airplay, cast in
            [airplay.endpoint(named: "Kitchen", host: "10.0.0.1"), cast.endpoint(named: "Lounge", host: "10.0.0.2")]
        }
        house.media.add("one", seconds: 10)
        house.media.add("two", seconds: 10)
        return house
    }
}
