import RouteBackend
import RouteModel
import Synchronization

/// Media of stated lengths and no content: what a test says exists.
public final class FakeMedia: MediaPreparing {
    private struct State {
        var lengths: [String: Double] = [:]
        var broken: [String: (error: RouterError, times: Int)] = [:]
        var breaks: [String: (seconds: Double, error: RouterError)] = [:]
        var pictures: Set<String> = []
        var said: [String: Bool] = [:]
        var folders: [String: [String]] = [:]
        var published: [MediaToken] = []
        var withdrawn: [MediaToken] = []
        var feeds: [FakeFeed] = []
        var readySeconds: Double?
        var mixes = false
        var feedGate: AsyncStream<Void>?
        var awaited = false
        var decodesOnRequest = false
        var live: Set<String> = []
        var factGates: [String: AsyncStream<Void>] = [:]
        var factsAwaited: Set<String> = []
    }

    private let state = Mutex(State())

    public init() {}

    /// A file of so many seconds.
    public func add(_ path: String, seconds: Double) { state.withLock { $0.lengths[path] = seconds } }

    /// A file that cannot be played.
    ///
    /// - Parameter times: how often it fails, before it plays for `seconds`.
    public func add(_ path: String, failing error: RouterError, times: Int = .max, seconds: Double = 0) {
        state.withLock {
            $0.lengths[path] = seconds
            $0.broken[path] = (error, times)
        }
    }

    /// This file has a picture that moves.
    public func showsVideo(_ path: String) { state.withLock { _ = $0.pictures.insert(path) } }

    /// What the place that it comes from says of its picture.
    public func says(_ shown: Bool?, ofPictureOf path: String) { state.withLock { $0.said[path] = shown } }

    /// A folder of these files.
    public func add(folder: String, of paths: [String]) { state.withLock { $0.folders[folder] = paths } }

    /// Feeds made from now on decode their first item, and then one for each `decodeNext`.
    public func decodesOnRequest() { state.withLock { $0.decodesOnRequest = true } }

    /// A file that breaks off so far into it, as it is decoded here.
    public func breaksOff(_ path: String, after seconds: Double, with error: RouterError) {
        state.withLock { $0.breaks[path] = (seconds, error) }
    }

    /// This file plays from now on.
    public func mend(_ path: String) {
        state.withLock {
            $0.broken[path] = nil
            $0.breaks[path] = nil
        }
    }

    private func failure(of name: String, counting: Bool = true) -> RouterError? {
        state.withLock { state in
            guard let broken = state.broken[name] else { return nil }
            if counting { state.broken[name] = broken.times > 1 ? (broken.error, broken.times - 1) : nil }
            return broken.error
        }
    }

    /// Feeds made from now on have so much ready, and never more.
    public func stall(after seconds: Double) { state.withLock { $0.readySeconds = seconds } }

    /// Feeds made from now on let something be heard over them, two seconds after their beginning.
    public func mixes() { state.withLock { $0.mixes = true } }
    /// The next feed is made when what this gives is finished.
    public func holdsFeed() -> AsyncStream<Void>.Continuation {
        let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
        state.withLock { $0.feedGate = gate }
        return continuation
    }

    /// This one has no end and no place to go to.
    public func isLive(_ path: String) {
        state.withLock {
            $0.live.insert(path)
            $0.lengths[path] = 100_000
        }
    }

    /// The facts of this one are known when what this gives is finished.
    public func holdsFacts(of path: String) -> AsyncStream<Void>.Continuation {
        let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
        state.withLock { $0.factGates[path] = gate }
        return continuation
    }

    /// Whether somebody has asked for facts that were held.
    public func areFactsAwaited(of path: String) -> Bool { state.withLock { $0.factsAwaited.contains(path) } }
    public func forgetsAwaited() { state.withLock { $0.factsAwaited = [] } }

    /// Whether somebody waits for a feed that is held.
    public var isFeedAwaited: Bool { state.withLock { $0.awaited } }

    public var published: [MediaToken] { state.withLock { $0.published } }
    public var withdrawn: [MediaToken] { state.withLock { $0.withdrawn } }
    public var feeds: [FakeFeed] { state.withLock { $0.feeds } }

    public func expand(_ what: [String], workingDirectory: String) async throws -> ExpandedMedia {
        let entries = try what.flatMap { name in
            if name.contains("://") { return [ExpandedMedia.Entry(source: .url(name))] }
            if let files = state.withLock({ $0.folders[name] }) {
                return try files.map { file in
                    try MediaReach.check(file)
                    return ExpandedMedia.Entry(source: .file(path: file), context: name)
                }
            }
            guard state.withLock({ $0.lengths[name] }) != nil else {
                throw RouterError(.mediaNotFound, "there is no file \(name)")
            }
            return [ExpandedMedia.Entry(source: .file(path: name))]
        }
        let said = state.withLock { $0.said }
        return ExpandedMedia(
            entries: entries.map { entry in
                var entry = entry
                entry.externalPlayback = said[name(entry.source)]
                return entry
            }, notices: [])
    }

    private func name(_ source: MediaSource) -> String {
        switch source {
        case .file(let path): path
        case .url(let url): url
        case .live(let input): input.label
        }
    }

    public func facts(_ source: MediaSource) async throws -> MediaFacts {
        let name = name(source)
        let gate = state.withLock { state in
            if state.factGates[name] != nil { state.factsAwaited.insert(name) }
            return state.factGates.removeValue(forKey: name)
        }
        if let gate { for await _ in gate {} }
        if let error = failure(of: name, counting: false) { throw error }
        let seconds = state.withLock { $0.lengths[name] } ?? 60
        let isLive = state.withLock { $0.live.contains(name) }
        return MediaFacts(
            metadata: MediaMetadata(kind: isLive ? .live : .music, title: "Title of \(name)", artist: "An artist"),
            duration: isLive ? nil : MediaTime(seconds: seconds), contentType: "audio/flac", hasAudio: true,
            hasVideo: state.withLock { $0.pictures.contains(name) },
            live: isLive, hasArtwork: false)
    }

    public func artwork(_ source: MediaSource, within limits: ArtworkLimits) async -> Artwork? { nil }

    /// How many items one feed runs through at most: a queue that goes round has no last one.
    public static let feedItemLimit = 64

    public func feed(_ first: FeedItem, events: FeedEvents) async throws -> any AudioFeed {
        let gate = state.withLock { state in
            defer { state.feedGate = nil }
            state.awaited = state.feedGate != nil
            return state.feedGate
        }
        if let gate { for await _ in gate {} }
        let (ready, mixes) = state.withLock { ($0.readySeconds, $0.mixes) }
        let feed = FakeFeed(self, first, events, ready: ready.map { Int64($0 * 44_100) } ?? .max, mixes: mixes)
        // A queue that goes round has no end, and a decoder's room has one.
        for _ in 0..<Self.feedItemLimit {
            guard await feed.decodeNext(), !state.withLock({ $0.decodesOnRequest }) else { break }
        }
        state.withLock { $0.feeds.append(feed) }
        return feed
    }

    /// How much of an item comes from its start on, in frames, and why it breaks off there. Throws where nothing does.
    fileprivate func frames(of item: FeedItem) throws -> (count: Int64, error: RouterError?) {
        let name = name(item.source)
        if let error = failure(of: name) { throw error }
        let (length, breaks) = state.withLock { ($0.lengths[name] ?? 60, $0.breaks[name]) }
        let end = min(breaks?.seconds ?? length, item.end?.seconds ?? length)
        if let breaks, end <= item.start.seconds { throw breaks.error }
        if item.start > .zero, end <= item.start.seconds {
            return (0, RouterError(.itemFailed, "“\(name)” ends before that", scope: .item))
        }
        return (Int64(max(0, end - item.start.seconds) * 44_100), breaks?.error)
    }

    public func publish(
        _ item: QueueItem, token: MediaToken, for requirements: PullRequirements
    ) async throws -> PullMedia {
        if let error = failure(of: name(item.source)) { throw error }
        state.withLock { $0.published.append(token) }
        return PullMedia(
            token: token, url: "http://127.0.0.1/\(item.source.label)", contentType: "audio/flac", live: false,
            metadata: item.metadata, start: .zero)
    }

    public func withdraw(_ tokens: [MediaToken]) async { state.withLock { $0.withdrawn += tokens } }

    public func fetches(of token: MediaToken) async -> FetchRecord? { nil }
}

/// A feed of silence.
public final class FakeFeed: AudioFeed {
    private struct Progress {
        var frames: Int64 = 0
        var last: ItemID?
        var failure: RouterError?
    }

    public let sampleRate = 44_100
    private let progress = Mutex(Progress())
    private let forgotten = Mutex<Int64>(0)
    private let ready: Int64
    private let mixes: Bool
    private let laid = Mutex<[Int64]>([])
    private let media: FakeMedia
    /// What it began with.
    public let first: FeedItem
    private let events: FeedEvents

    init(_ media: FakeMedia, _ first: FeedItem, _ events: FeedEvents, ready: Int64, mixes: Bool = false) {
        self.media = media
        self.first = first
        self.events = events
        self.ready = ready
        self.mixes = mixes
    }

    /// The lengths of what was laid over it, in frames.
    public var overlays: [Int64] { laid.withLock { $0 } }

    public func overlay(_ clip: any AudioFeed, lowering share: Double) async throws -> Range<Int64>? {
        guard mixes, let clip = clip as? FakeFeed else { return nil }
        laid.withLock { $0.append(clip.frames) }
        return 88_200..<(88_200 + clip.frames)
    }

    /// How much is decoded.
    public var frames: Int64 { progress.withLock { $0.frames } }

    /// Why nothing of it plays.
    public var failure: RouterError? { progress.withLock { $0.frames == 0 ? $0.failure : nil } }

    /// Asks for what follows what was decoded last, and decodes that. False where nothing follows.
    @discardableResult
    public func decodeNext() async -> Bool {
        let last = progress.withLock { $0.last }
        var item: FeedItem? = first
        if let last { item = await events.next(last) }
        guard let item else { return false }
        let frame = frames
        do {
            let (count, error) = try media.frames(of: item)
            await events.started(item.item, frame, item.start)
            progress.withLock {
                $0.frames += count
                $0.last = item.item
            }
            if let error { await events.ended(item.item, frame + count, error) }
        } catch {
            let error = RouterError(wrapping: error)
            progress.withLock {
                $0.failure = $0.failure ?? error
                $0.last = item.item
            }
            await events.ended(item.item, frame, error)
        }
        return true
    }

    /// Frames before this cannot be had any more.
    public func forget(before frame: Int64) { forgotten.withLock { $0 = frame } }

    public func packets(_ format: AudioPacketFormat, from frame: Int64) async throws -> any AudioPacketCursor {
        if let failure { throw failure }
        return FakeCursor(
            format: format, from: frame / Int64(format.framesPerPacket) * Int64(format.framesPerPacket), of: self,
            ready: ready)
    }

    public func retained() async -> Range<Int64> { forgotten.withLock { min($0, frames)..<frames } }
}

final class FakeCursor: AudioPacketCursor {
    private let format: AudioPacketFormat
    private let next_: Mutex<Int64>
    private let feed: FakeFeed
    private let ready: Int64

    init(format: AudioPacketFormat, from frame: Int64, of feed: FakeFeed, ready: Int64) {
        self.format = format
        self.ready = ready
        next_ = Mutex(frame)
        self.feed = feed
    }

    func next() async throws -> AudioPacket? {
        let frame = next_.withLock { next in
            defer { next += Int64(format.framesPerPacket) }
            return next
        }
        guard frame < feed.frames else { return nil }
        if frame >= ready {
            for await _ in AsyncStream(Void.self, { _ in }) {}
            try Task.checkCancellation()
        }
        return AudioPacket(
            frame: frame, frameCount: format.framesPerPacket,
            payload: [UInt8](repeating: 0, count: format.framesPerPacket * 4))
    }
}
