import RouteBackend
import RouteModel

/// What the cases are made of.
extension BackendConformance {
    /// What was loaded.
    struct Loaded: Sendable {
        var source: MediaSource
        var token: MediaToken
        var feed: (any AudioFeed)?
    }

    func open() async throws -> any RouteSession {
        try await harness.provider.open(harness.endpoint, options: OpenOptions(senderName: "conformance"))
    }

    /// A session that is ended whatever happens.
    func withSession(_ body: (any RouteSession) async throws -> Void) async throws {
        let session = try await open()
        do {
            try await body(session)
        } catch {
            await session.end(.stop)
            throw error
        }
        await session.end(.stop)
    }

    @discardableResult
    func load(
        _ session: any RouteSession, seconds: Double, autoplay: Bool = true, then following: [MediaSource] = []
    ) async throws -> Loaded {
        try await load(
            session, try await harness.tune(seconds: seconds), seconds: seconds, autoplay: autoplay, then: following)
    }

    /// As the engine does it: a URL for a session that fetches, a feed and a timeline for one that is sent packets.
    @discardableResult
    func load(
        _ session: any RouteSession, _ source: MediaSource, seconds: Double, start: MediaTime = .zero,
        autoplay: Bool = true, then following: [MediaSource] = []
    ) async throws -> Loaded {
        switch session.descriptor.delivery {
        case .pull(let requirements):
            var media = try await published(source, seconds: seconds, for: requirements)
            media.start = start
            try await session.load(.pull(media), timeline: nil, autoplay: autoplay)
            return Loaded(source: source, token: media.token)
        case .push(let requirements):
            let ids = following.indices.map { ItemID(rawValue: "next-\($0)") }
            let feed = try await harness.media.feed(
                FeedItem(item: ItemID(rawValue: "first"), source: source, start: start),
                events: FeedEvents(
                    next: { after in
                        let place = ids.firstIndex(of: after).map { $0 + 1 } ?? 0
                        return place < ids.count ? FeedItem(item: ids[place], source: following[place]) : nil
                    }, started: { _, _, _ in }, ended: { _, _, _ in }))
            try await session.load(
                .push(PushMedia(feed: feed, fromFrame: 0)),
                timeline: autoplay ? timeline(fromFrame: 0, requirements, feed) : nil, autoplay: autoplay)
            return Loaded(source: source, token: .random(), feed: feed)
        }
    }

    /// Goes on from the beginning of what is loaded: where exactly is not what the cases are about.
    func goOn(_ session: any RouteSession, _ loaded: Loaded) async throws {
        var timeline: Timeline?
        if case .push(let requirements) = session.descriptor.delivery, let feed = loaded.feed {
            timeline = self.timeline(fromFrame: 0, requirements, feed)
        }
        let outcome = try await session.perform(.play(timeline, fromFrame: 0))
        try check(!outcome.isError, "play was \(outcome)")
    }

    func published(
        _ source: MediaSource, seconds: Double, for requirements: PullRequirements
    ) async throws -> PullMedia {
        let item = QueueItem(
            id: .ulid(milliseconds: 1), source: source,
            metadata: MediaMetadata(kind: .music, title: "Conformance", duration: MediaTime(seconds: seconds)))
        return try await harness.media.publish(item, token: .random(), for: requirements)
    }

    private func timeline(fromFrame frame: Int64, _ needs: PushRequirements, _ feed: any AudioFeed) -> Timeline {
        Timeline(
            hostNanoseconds: harness.clock.now() + needs.leadNanoseconds + 100_000_000,
            mediaTime: MediaTime(frames: frame, sampleRate: feed.sampleRate))
    }

    // MARK: Looking

    func current(_ session: any RouteSession) async throws -> RouteSessionUpdate {
        for await update in session.updates() { return update }
        throw ConformanceFailure("its updates have no first element")
    }

    /// Waits for a state that is as wanted.
    @discardableResult
    func update(
        _ session: any RouteSession, _ what: String, within seconds: Double = 10,
        _ wanted: @escaping @Sendable (RouteSessionUpdate) -> Bool
    ) async throws -> RouteSessionUpdate {
        let seen = LatestValue<RouteSessionUpdate?>(nil)
        do {
            try await within(seconds, what) {
                for await update in session.updates() {
                    seen.set(update)
                    if wanted(update) { return }
                }
                throw ConformanceFailure("its updates ended before: \(what)")
            }
        } catch let failure as ConformanceFailure {
            throw ConformanceFailure("\(failure.description); the last was \(show(seen.value))")
        }
        return seen.value ?? RouteSessionUpdate()
    }

    /// Waits until the device's state or its buttons say so.
    func heard(
        _ session: any RouteSession, _ commands: AsyncStream<RemoteCommand>, _ what: String,
        _ wanted: @escaping @Sendable (RouteSessionUpdate, RemoteCommand?) -> Bool
    ) async throws {
        try await within(10, what) {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await update in session.updates() where wanted(update, nil) { return } }
                group.addTask {
                    for await command in commands where wanted(RouteSessionUpdate(), command) { return }
                    // Its buttons are not heard: its state has to say it.
                    for await _ in AsyncStream(Void.self, { _ in }) {}
                }
                await group.next()
                group.cancelAll()
            }
        }
    }

    /// Asks again and again.
    func until(
        _ what: String, within seconds: Double = 10, _ condition: @escaping @Sendable () async throws -> Bool
    ) async throws {
        let clock = harness.clock
        let deadline = clock.now() + Int64(seconds * 1e9)
        while clock.now() < deadline {
            if try await condition() { return }
            try await clock.sleep(nanoseconds: 20_000_000)
        }
        throw ConformanceFailure("waited \(Int(seconds)) s in vain: \(what)")
    }

    func within(
        _ seconds: Double, _ what: String, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let clock = harness.clock
        let deadline = clock.now() + Int64(seconds * 1e9)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await body()
                return true
            }
            group.addTask {
                try await clock.sleep(until: deadline)
                return false
            }
            let isDone = try await group.next() ?? false
            group.cancelAll()
            guard isDone else { throw ConformanceFailure("waited \(Int(seconds)) s in vain: \(what)") }
        }
    }

    func check(_ isSo: Bool, _ otherwise: @autoclosure () -> String) throws {
        guard isSo else { throw ConformanceFailure(otherwise()) }
    }

    func show(_ value: (some Any)?) -> String { value.map { "\($0)" } ?? "nothing" }
}
