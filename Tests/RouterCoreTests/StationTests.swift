import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

/// Media of which one source says titles, as a test does.
private struct StationMedia: MediaPreparing {
    static let station = "http://radio.example/live"

    let media = FakeMedia()
    let says = AsyncStream.makeStream(of: MediaMetadata?.self)
    /// Sources that were asked for titles, and what `heard` answered.
    let asked = AsyncStream.makeStream(of: MediaSource.self)
    let answers = AsyncStream.makeStream(of: Bool.self)

    func expand(_ what: [String], workingDirectory: String) async throws -> ExpandedMedia {
        try await media.expand(what, workingDirectory: workingDirectory)
    }
    func facts(_ source: MediaSource) async throws -> MediaFacts { try await media.facts(source) }
    func artwork(_ source: MediaSource, within limits: ArtworkLimits) async -> Artwork? { nil }
    func feed(_ first: FeedItem, events: FeedEvents) async throws -> any AudioFeed {
        try await media.feed(first, events: events)
    }
    func publish(_ item: QueueItem, token: MediaToken, for requirements: PullRequirements) async throws -> PullMedia {
        try await media.publish(item, token: token, for: requirements)
    }
    func withdraw(_ tokens: [MediaToken]) async { await media.withdraw(tokens) }
    func fetches(of token: MediaToken) async -> FetchRecord? { nil }

    func titles(of source: MediaSource, _ heard: @escaping @Sendable (MediaMetadata?) async -> Bool) async {
        asked.continuation.yield(source)
        guard source == .url(Self.station) else { return }
        for await title in says.stream {
            let goesOn = await heard(title)
            answers.continuation.yield(goesOn)
            if !goesOn { return }
        }
    }
}

struct StationTests {
    @Test("C24 a station's titles go over the item, which stays; with another item they end")
    func titles() async throws {
        let clock = ManualClock()
        let media = StationMedia()
        let cast = FakeProvider(
            family: .cast, delivery: .pull(PullRequirements(receiverAddress: "127.0.0.1")), clock: clock)
        let engine = RouterEngine(
            providers: [cast], browsing: nil, media: media, store: InMemoryStore(), clock: clock,
            configuration: EngineConfiguration(stated: [cast.endpoint(named: "Lounge", host: "10.0.0.2")]))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await engine.run() }
            var asked = media.asked.stream.makeAsyncIterator()
            var answers = media.answers.stream.makeAsyncIterator()
            let station = StationMedia.station
            let session = try await engine.play(
                PlayRequest(what: [station, "http://radio.example/other"], rooms: ["Lounge"])
            ).id
            func snapshot() async -> SessionSnapshot? { await engine.sessions().first { $0.id == session } }
            #expect(await asked.next() == .url(station))
            let item = try #require(await snapshot()?.currentItem)
            let version = await snapshot()?.queue.version

            media.says.continuation.yield(MediaMetadata(kind: .live, title: "A song", artist: "Somebody"))
            #expect(await answers.next() == true)
            #expect(await snapshot()?.nowPlaying?.item == item.id)
            #expect(await snapshot()?.shownMetadata?.title == "A song")
            #expect(await snapshot()?.currentItem?.metadata.title == item.metadata.title)
            #expect(await snapshot()?.queue.version == version)
            media.says.continuation.yield(nil)
            #expect(await answers.next() == true)
            #expect(await snapshot()?.shownMetadata?.artist == "Somebody")

            _ = try await engine.perform(.next, session: session, origin: .cli)
            #expect(await snapshot()?.nowPlaying == nil)
            media.says.continuation.yield(MediaMetadata(kind: .live, title: "Too late"))
            #expect(await answers.next() == false)
            #expect(await snapshot()?.shownMetadata?.title != "Too late")
            await engine.shutdown()
            group.cancelAll()
        }
    }
}
