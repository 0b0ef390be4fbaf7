import RouteModel
import Testing

@testable import RouterAPI

@Suite("What changed, and what is whole again")
struct EventReplayTests {
    private func decoded(_ event: APIEvent, sequence: Int = 1) throws -> APIEvent {
        var decoder = ServerSentEventDecoder()
        let frames = try decoder.push(try event.frame(sequence: sequence))
        let frame = try #require(frames.first)
        return try #require(try APIEvent(frame))
    }

    @Test("every event survives the way over HTTP")
    func roundTrip() throws {
        for event in Samples.events { #expect(try decoded(event) == event) }
        #expect(try APIEvent(ServerSentEvent(name: "of.tomorrow", data: [])) == nil)
    }

    @Test("only what changed is told: a volume, a jump, a queue")
    func kinds() throws {
        var deriver = EventDeriver()
        let first = Samples.session()
        func told(_ body: RouterEvent.Body) -> String? { deriver.derive(body)?.name }
        #expect(told(.snapshot(routes: RouteList(routes: [], discovery: []), sessions: [])) == "snapshot")
        #expect(told(.session(first)) == "session.changed")
        #expect(told(.session(first)) == nil)
        var later = first
        later.now += 5
        #expect(told(.session(later)) == nil, "time alone is nothing new")
        later.members[0].volume = VolumeState(level: VolumePosition(0.1))
        later.volume = VolumeState(level: VolumePosition(0.1))
        #expect(told(.session(later)) == "volume.changed")
        later.anchor?.time = MediaTime(seconds: 4)
        #expect(told(.session(later)) == "position.anchor")
        later.queue.version += 1
        later.queue.items.append(Samples.item("b"))
        later.media = .paused
        guard case .queueChanged(let update)? = deriver.derive(.session(later)) else {
            Issue.record("no change of the queue")
            return
        }
        #expect(update.changes.changes == [.insert([Samples.item("b")], at: 1)])
        #expect(update.session.media == .paused)
    }

    @Test("C12 a snapshot has rooms, scenes and waiting pairings too, and tells a copy of them")
    func whole() throws {
        var deriver = EventDeriver()
        _ = deriver.derive(.snapshot(routes: RouteList(routes: [], discovery: []), sessions: []))
        let room = RouterEvent.Body.rooms([Room(name: "Kitchen")], groups: [RoomGroup(name: "All", rooms: ["Kitchen"])])
        #expect(deriver.derive(room) != nil)
        #expect(deriver.derive(room) == nil, "nothing new")
        var over = Samples.run
        over.state = .done
        for number in 0..<40 {
            over.id = "over-\(number)"
            _ = deriver.derive(.scene(over))
        }
        _ = deriver.derive(.scene(Samples.run))
        func pairing(_ state: PairingProgress.State) -> RouterEvent.Body {
            .pairing(PairingProgress(id: "p", device: "TV", kind: .pin, state: state, prompt: "Type it"))
        }
        _ = deriver.derive(pairing(.waiting))
        var replay = EventReplay()
        let told = try replay.apply(try decoded(.snapshot(deriver.snapshot)))
        #expect(told.dropFirst().first == room)
        #expect(told.contains(.scene(Samples.run)) && told.last == pairing(.waiting))
        #expect(told.count == 1 + 1 + 32 + 1, "the oldest runs that are over are let go")
        _ = deriver.derive(pairing(.done))
        #expect(deriver.snapshot.pairings.isEmpty)
    }

    @Test("a shuffle's seed and a station's title are told too")
    func seedAndTitle() throws {
        var deriver = EventDeriver()
        var replay = EventReplay()
        var session = Samples.session()
        func followed() throws -> [RouterEvent.Body]? {
            try deriver.derive(.session(session)).map { try replay.apply(try decoded($0)) }
        }
        #expect(try followed() == [.session(session)])
        session.queue.original = session.queue.items.map(\.id)
        session.queue.shuffleSeed = 7
        session.queue.version += 1
        #expect(try followed() == [.session(session)])
        session.nowPlaying = LiveMetadata(
            item: session.queue.items[0].id, metadata: MediaMetadata(title: "The news"), instant: 3)
        #expect(try followed() == [.session(session)])
    }

    @Test("C12 a copy that follows the events is at every moment what the engine has", arguments: 0..<20)
    func random(_ seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var deriver = EventDeriver()
        var replay = EventReplay()
        var routes: [Route] = []
        var session = Samples.session([], version: 0)
        var next = 0
        func item() -> QueueItem {
            next += 1
            return Samples.item("i\(next)")
        }
        let start = RouterEvent.Body.snapshot(routes: RouteList(routes: [], discovery: []), sessions: [session])
        func follow(_ body: RouterEvent.Body) throws {
            guard let event = deriver.derive(body) else { return }
            let copy = try replay.apply(try decoded(event))
            #expect(copy == [body])
        }
        try follow(start)
        for _ in 0..<300 {
            let body: RouterEvent.Body
            session.now += 1
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                let place = Int.random(in: 0...session.queue.items.count, using: &random)
                session.queue.items.insert(contentsOf: (0..<3).map { _ in item() }, at: place)
                session.queue.version += 1
                body = .session(session)
            case 1:
                session.queue.items.removeAll { _ in Bool.random(using: &random) }
                session.queue.version += 1
                body = .session(session)
            case 2:
                session.queue.items.shuffle(using: &random)
                session.queue.original = Bool.random(using: &random) ? session.queue.items.map(\.id).sorted() : nil
                session.queue.version += 1
                body = .session(session)
            case 3:
                session.queue.items = session.queue.items.shuffled(using: &random).dropLast() + [item()]
                if let index = session.queue.items.indices.randomElement(using: &random) {
                    session.queue.items[index].failure = "no"
                }
                session.queue.version += 2
                body = .session(session)
            case 4:
                // What plays goes on: the version may stay.
                session.queue.current = session.queue.items.randomElement(using: &random)?.id
                body = .session(session)
            case 5:
                session.members[0].volume?.level = VolumePosition(Double.random(in: 0...1, using: &random))
                body = .session(session)
            case 6:
                session.anchor?.time = MediaTime(seconds: Double.random(in: 0...60, using: &random).rounded())
                body = .session(session)
            case 7:
                session.media = Bool.random(using: &random) ? .playing : .paused
                if Bool.random(using: &random) { session.members.reverse() }
                body = .session(session)
            case 8:
                routes.removeAll { _ in Bool.random(using: &random) }
                routes.append(Samples.route(Int.random(in: 0..<1_000_000, using: &random)))
                routes.shuffle(using: &random)
                body = .routes(RouteList(routes: routes, discovery: []))
            default:
                if let index = routes.indices.randomElement(using: &random) { routes[index].name += "x" }
                body = .routes(RouteList(routes: routes, discovery: []))
            }
            try follow(body)
        }
    }

    @Test("what does not fit is told, and never guessed")
    func lostTrack() throws {
        var deriver = EventDeriver()
        _ = deriver.derive(.session(Samples.session()))
        var later = Samples.session([Samples.item("a"), Samples.item("b")], version: 2)
        let first = deriver.derive(.session(later))
        let change = try #require(first)
        later.volume = nil
        let second = deriver.derive(.session(later))
        let volume = try #require(second)
        for event in [change, volume, .positionAnchor(AnchorChange(session: later.id, anchor: nil, now: 0))] {
            var replay = EventReplay()
            #expect(throws: EventReplay.LostTrack.self) { try replay.apply(event) }
        }
        var behind = EventReplay()
        _ = try behind.apply(
            .snapshot(
                StateSnapshot(
                    routes: RouteList(routes: [], discovery: []), sessions: [Samples.session(version: 7)])))
        #expect(throws: EventReplay.LostTrack.self) { try behind.apply(change) }
    }
}

/// SplitMix64: the same numbers for the same seed.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
