import Foundation
import Logging
import RouteBackend
import RouteModel

/// Turns what people want to hear into what sessions take: items, facts, pictures, feeds of packets and URLs.
///
/// One of these lives in a process. Everything it starts (subprocesses, the HTTP server, decoders) is its own and gone
/// when `stop` returns.
public actor MediaLibrary: MediaPreparing {
    private static let maximumFacts = 5000
    private static let maximumPictures = 16

    let configuration: MediaConfiguration
    private var sources: [SourceRule]
    let clock: any HostClock
    let logger: Logger
    private let ffmpeg: MediaTool
    private let parec: MediaTool
    private let probe: MediaProbe
    private let artworkReader: ArtworkReader
    let subtitles: SubtitleStore
    let images: any ImageCaching
    private let probing = Gate(places: 4)
    /// One at a time: rooms ask for the same one at once, and only the first has it made.
    private let picturing = Gate(places: 1)
    var server: MediaServer?
    private(set) var stopped = false

    struct Known: Sendable {
        var file: FileFacts?
        var finding: MediaProbe.Finding
        var hasArtwork: Bool
    }
    private(set) var known: [MediaSource: Known] = [:]
    private var lookups: [MediaSource: Task<MediaProbe.Finding, any Error>] = [:]
    private var pictures: [(wish: PictureWish, file: FileFacts?, picture: Artwork?)] = []

    private struct PictureWish: Sendable, Equatable {
        var source: MediaSource
        var limits: ArtworkLimits
    }

    private var feeds: [Int: Task<Void, Never>] = [:]
    private var nextFeed = 0

    /// - Parameter images: pictures of the web; nil makes an `ImageCache` of the usual size.
    public init(
        configuration: MediaConfiguration = MediaConfiguration(), clock: any HostClock, logger: Logger,
        images: (any ImageCaching)? = nil
    ) {
        self.configuration = configuration
        sources = configuration.sources
        self.clock = clock
        self.logger = logger
        ffmpeg = MediaTool(program: configuration.ffmpeg, clock: clock)
        parec = MediaTool(
            program: configuration.parec, clock: clock, package: "pulseaudio-utils",
            variables: ["XDG_RUNTIME_DIR", "PULSE_SERVER", "PULSE_COOKIE", "PULSE_RUNTIME_PATH", "XDG_CONFIG_HOME"])
        probe = MediaProbe(
            tool: MediaTool(program: configuration.ffprobe, clock: clock), seconds: configuration.probeSeconds)
        artworkReader = ArtworkReader(tool: ffmpeg, seconds: configuration.probeSeconds)
        subtitles = SubtitleStore(tool: ffmpeg, logger: logger)
        self.images = images ?? ImageCache(clock: clock, logger: logger)
    }

    /// Nothing is opened yet: the HTTP server listens from the first publication on.
    public func start() async throws { stopped = false }

    /// Ends everything: decoders and probes are killed, connections closed, tokens forgotten.
    public func stop() async {
        stopped = true
        let decoders = feeds.values
        for task in decoders { task.cancel() }
        for task in lookups.values { task.cancel() }
        for task in decoders { await task.value }
        for task in lookups.values { _ = try? await task.value }
        let server = server
        self.server = nil
        // Before the server: its answers may wait for these.
        await subtitles.stop()
        await images.stop()
        await server?.stop()
    }

    // MARK: Items

    /// What is said of places that media comes from, from now on: items that are there already stay as they are.
    public func setSources(_ rules: [SourceRule]) { sources = rules }

    public func expand(_ what: [String], workingDirectory: String) async throws -> ExpandedMedia {
        let ffmpeg = ffmpeg
        let seconds = configuration.probeSeconds
        let looker = TrackLooker(fetcher: HTTPFetcher(clock: clock), seconds: seconds)
        var expander = MediaExpander(
            workingDirectory: workingDirectory, maximumEntries: configuration.maximumEntries,
            maximumPlaylistBytes: configuration.maximumPlaylistBytes, rules: sources,
            fetch: { url, limit in
                // ffmpeg as an HTTP client: it has TLS, redirects and time limits, and keeps them in its own process.
                let input = ["-v", "level+error", "-nostdin", "-f", "data"] + (try InputArguments.of(.url(url)))
                let result = try await ffmpeg.run(
                    input + ["-map", "0", "-c", "copy", "-f", "data", "pipe:1"], outputLimit: limit, seconds: seconds)
                guard result.succeeded else { throw DecoderLog(result.diagnosis).refusal(of: .url(url)) }
                return result.output
            }, look: { try await looker.look($0, limit: $1) })
        return try await expander.expand(what)
    }

    public func facts(_ source: MediaSource) async throws -> MediaFacts {
        if case .live(let input) = source {
            // Nothing can be looked into that is heard once.
            return MediaFacts(
                metadata: MediaMetadata(kind: .music, title: input.label), duration: nil,
                contentType: ContentType.unknown, hasAudio: true, hasVideo: false, live: true, hasArtwork: false)
        }
        let known = try await finding(source)
        let finding = known.finding
        return MediaFacts(
            metadata: finding.metadata, duration: finding.duration, contentType: finding.contentType,
            hasAudio: finding.hasAudio, hasVideo: finding.hasVideo, live: finding.live, hasArtwork: known.hasArtwork,
            tracks: finding.tracks)
    }

    func finding(_ source: MediaSource) async throws -> Known {
        let file = try fileFacts(source)
        if let known = known[source], known.file == file { return known }
        let finding: MediaProbe.Finding
        if let lookup = lookups[source] {
            finding = try await lookup.value
        } else {
            guard !stopped else { throw Self.closed }
            let (probe, probing) = (probe, probing)
            let lookup = Task { try await probing.pass { try await probe.probe(source) } }
            lookups[source] = lookup
            defer { lookups[source] = nil }
            finding = try await lookup.value
        }
        let hasArtwork = finding.pictureStream != nil || ArtworkReader.companion(of: source) != nil
        let found = Known(file: file, finding: finding, hasArtwork: hasArtwork)
        if known.count >= Self.maximumFacts { known.removeAll() }
        known[source] = found
        return found
    }

    func fileFacts(_ source: MediaSource) throws -> FileFacts? {
        if case .file(let path) = source { return try FileFacts.check(path) }
        return nil
    }

    public func artwork(_ source: MediaSource, within limits: ArtworkLimits) async -> Artwork? {
        guard let known = try? await finding(source), known.hasArtwork else { return nil }
        let wish = PictureWish(source: source, limits: limits)
        return (try? await picturing.pass { await self.picture(wish, known) }) ?? nil
    }

    private func picture(_ wish: PictureWish, _ known: Known) async -> Artwork? {
        if let kept = pictures.first(where: { $0.wish == wish && $0.file == known.file }) { return kept.picture }
        let picture = await artworkReader.read(
            wish.source, pictureStream: known.finding.pictureStream, maximumBytes: wish.limits.maximumBytes,
            side: wish.limits.side)
        if pictures.count >= Self.maximumPictures { pictures.removeFirst() }
        pictures.append((wish, known.file, picture))
        return picture
    }

    // MARK: Push

    /// The closures of `events` are held until the feed has been decoded or let go of; they must not hold the feed.
    public func feed(_ first: FeedItem, events: FeedEvents) async throws -> any AudioFeed {
        guard !stopped else { throw Self.closed }
        let buffer = FeedBuffer(
            aheadSeconds: configuration.decodeAheadSeconds, retainedSeconds: configuration.retainedSeconds)
        let decoder = FeedDecoder(tool: ffmpeg, capture: parec, buffer: buffer, events: events)
        let number = nextFeed
        nextFeed += 1
        let task = Task { [weak self] in
            await decoder.run(first)
            await self?.feedEnded(number)
        }
        feeds[number] = task
        return DecodedFeed(buffer: buffer, decoding: task)
    }

    private func feedEnded(_ number: Int) { feeds[number] = nil }

    /// How many decoders run or wait.
    var activeFeeds: Int { feeds.count }

    static let closed = RouterError(.cancelled, "the media library is stopped")
}
