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

    private let configuration: MediaConfiguration
    private let clock: any HostClock
    private let logger: Logger
    private let ffmpeg: MediaTool
    private let probe: MediaProbe
    private let artworkReader: ArtworkReader
    private let probing = Gate(places: 4)
    private var server: MediaServer?
    private var stopped = false

    private struct Known {
        var file: FileFacts?
        var finding: MediaProbe.Finding
        var hasArtwork: Bool
    }
    private var known: [MediaSource: Known] = [:]
    private var lookups: [MediaSource: Task<MediaProbe.Finding, any Error>] = [:]
    private var pictures: [(source: MediaSource, limit: Int, file: FileFacts?, picture: Artwork?)] = []

    private var feeds: [Int: Task<Void, Never>] = [:]
    private var nextFeed = 0

    public init(configuration: MediaConfiguration = MediaConfiguration(), clock: any HostClock, logger: Logger) {
        self.configuration = configuration
        self.clock = clock
        self.logger = logger
        ffmpeg = MediaTool(program: configuration.ffmpeg, clock: clock)
        probe = MediaProbe(
            tool: MediaTool(program: configuration.ffprobe, clock: clock), seconds: configuration.probeSeconds)
        artworkReader = ArtworkReader(tool: ffmpeg, seconds: configuration.probeSeconds)
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
        await server?.stop()
    }

    // MARK: Items

    public func expand(_ what: [String], workingDirectory: String) async throws -> ExpandedMedia {
        let ffmpeg = ffmpeg
        let seconds = configuration.probeSeconds
        var expander = MediaExpander(
            workingDirectory: workingDirectory, maximumEntries: configuration.maximumEntries,
            maximumPlaylistBytes: configuration.maximumPlaylistBytes
        ) { url, limit in
            // ffmpeg as an HTTP client: it has TLS, redirects and time limits, and keeps them in its own process.
            let input = ["-v", "level+error", "-nostdin", "-f", "data"] + (try InputArguments.of(.url(url)))
            let result = try await ffmpeg.run(
                input + ["-map", "0", "-c", "copy", "-f", "data", "pipe:1"], outputLimit: limit, seconds: seconds)
            guard result.succeeded else { throw DecoderLog(result.diagnosis).refusal(of: .url(url)) }
            return result.output
        }
        return try await expander.expand(what)
    }

    public func facts(_ source: MediaSource) async throws -> MediaFacts {
        let known = try await finding(source)
        let finding = known.finding
        return MediaFacts(
            metadata: finding.metadata, duration: finding.duration, contentType: finding.contentType,
            hasAudio: finding.hasAudio, hasVideo: finding.hasVideo, live: finding.live, hasArtwork: known.hasArtwork)
    }

    private func finding(_ source: MediaSource) async throws -> Known {
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

    private func fileFacts(_ source: MediaSource) throws -> FileFacts? {
        if case .file(let path) = source { return try FileFacts.check(path) }
        return nil
    }

    public func artwork(_ source: MediaSource, maximumBytes: Int) async -> Artwork? {
        guard let known = try? await finding(source), known.hasArtwork else { return nil }
        if let kept = pictures.first(where: {
            $0.source == source && $0.limit == maximumBytes && $0.file == known.file
        }) {
            return kept.picture
        }
        let picture = await artworkReader.read(
            source, pictureStream: known.finding.pictureStream, maximumBytes: maximumBytes)
        if pictures.count >= Self.maximumPictures { pictures.removeFirst() }
        pictures.append((source, maximumBytes, known.file, picture))
        return picture
    }

    // MARK: Push

    /// The closures of `events` are held until the feed has been decoded or let go of; they must not hold the feed.
    public func feed(_ first: FeedItem, events: FeedEvents) async throws -> any AudioFeed {
        guard !stopped else { throw Self.closed }
        let buffer = FeedBuffer(
            aheadSeconds: configuration.decodeAheadSeconds, retainedSeconds: configuration.retainedSeconds)
        let decoder = FeedDecoder(tool: ffmpeg, buffer: buffer, events: events)
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

    private static let closed = RouterError(.cancelled, "the media library is stopped")

    // MARK: Pull

    public func publish(
        _ item: QueueItem, token: MediaToken, for requirements: PullRequirements
    ) async throws -> PullMedia {
        let receiver = try await Receiver(requirements.receiverAddress)
        var media: PullMedia
        var hasArtwork = false
        switch item.source {
        case .file(let path):
            let known = try await finding(item.source)
            guard known.finding.contentType != ContentType.hls else {
                throw RouterError(
                    .mediaUnsupported, "“\(item.source.label)” is a list of segments on this machine",
                    hint: "Play it by AirPlay, or from a web server", scope: .item)
            }
            try check(known.finding.contentType, item, requirements)
            hasArtwork = known.hasArtwork
            let base = try await base(receiver)
            await registry.publish(
                .file(path: path, contentType: known.finding.contentType), token: token.rawValue, to: receiver.address)
            media = PullMedia(
                token: token, url: "\(base)/media/\(token.rawValue)/\(Self.urlName(item.source))",
                contentType: known.finding.contentType, live: known.finding.live,
                metadata: item.metadata.filled(from: known.finding.metadata), start: item.start)
        case .url(let text):
            let known = try await findingOfAddress(item.source)
            let contentType = known?.finding.contentType ?? ContentType.of(extension: item.source.fileExtension)
            try check(contentType ?? ContentType.unknown, item, requirements)
            hasArtwork = known?.hasArtwork ?? false
            media = PullMedia(
                token: token, url: await receiver.reachable(text), contentType: contentType ?? ContentType.unknown,
                live: known?.finding.live ?? false,
                metadata: known.map { item.metadata.filled(from: $0.finding.metadata) } ?? item.metadata,
                start: item.start)
        }
        // Pictures that the item names itself go before ours; a file of this machine cannot be fetched from there.
        media.metadata.images = media.metadata.images.filter { InputArguments.isWeb($0.url) }
        if media.metadata.images.isEmpty, hasArtwork {
            let base = try await base(receiver)
            await registry.publish(
                .artwork(item.source), token: PublishedRegistry.artworkKey(token.rawValue), to: receiver.address)
            media.metadata.images = [MediaImage(url: "\(base)/art/\(token.rawValue)/cover")]
        }
        return media
    }

    public func withdraw(_ tokens: [MediaToken]) async {
        guard let server else { return }
        for token in tokens {
            await server.registry.withdraw(token.rawValue)
            await server.registry.withdraw(PublishedRegistry.artworkKey(token.rawValue))
        }
    }

    public func fetches(of token: MediaToken) async -> FetchRecord? { await server?.registry.record(token.rawValue) }

    private var registry: PublishedRegistry { runningServer.registry }

    private var runningServer: MediaServer {
        if let server { return server }
        let made = MediaServer(configuration: configuration, clock: clock, logger: logger) { [weak self] source in
            await self?.artwork(source, maximumBytes: MediaResponder.maximumArtwork)
        }
        server = made
        return made
    }

    /// The beginning of our URLs for a receiver.
    private func base(_ receiver: Receiver) async throws -> String {
        guard !stopped else { throw Self.closed }
        guard let local = NetworkAddress.local(towards: receiver.text) else {
            throw RouterError(
                .mediaUnreachable, "this machine has no network address that the receiver could fetch from",
                hint: "Check the network connection", scope: .item, retry: .later)
        }
        let host = local.contains(":") ? "[\(local)]" : local
        return "http://\(host):\(try await runningServer.port())"
    }

    /// What an address is. Where only the receiver may be able to fetch it, what its name says has to do.
    private func findingOfAddress(_ source: MediaSource) async throws -> Known? {
        do {
            return try await finding(source)
        } catch let error as RouterError where error.code == .itemFailed || error.code == .timeout {
            logger.notice("publishing an address unseen: \(error.message)")
            return nil
        }
    }

    private func check(_ contentType: String, _ item: QueueItem, _ requirements: PullRequirements) throws {
        guard !requirements.contentTypes.isEmpty,
            !requirements.contentTypes.contains(where: { ContentType.canonical($0) == contentType })
        else { return }
        throw RouterError(
            .mediaUnsupported, "the receiver does not play “\(item.source.label)” (\(contentType))",
            hint: "Convert it to FLAC, MP3 or MP4, or play it by AirPlay, which is sent decoded", scope: .item)
    }

    /// A file's name as the last part of a URL: for the eyes of who reads a receiver's log.
    private static func urlName(_ source: MediaSource) -> String {
        let plain = source.label.unicodeScalars.map { scalar -> Character in
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
            return isPlain || scalar == "." || scalar == "_" ? Character(scalar) : "-"
        }
        let name = String(plain.suffix(80)).drop { $0 == "." || $0 == "-" }
        return name.isEmpty ? "media" : String(name)
    }
}

/// Where a receiver is.
private struct Receiver: Sendable {
    let text: String
    let address: NetworkAddress?

    /// - Parameter host: an address, or a name that is looked up.
    init(_ host: String) async throws {
        if let address = NetworkAddress(host) {
            text = host
            self.address = address
        } else if let found = await HostLookup.resolve(host) {
            text = found
            address = NetworkAddress(found)
        } else {
            throw RouterError(
                .routeUnreachable, "the receiver's name “\(host)” is not known", hint: "Give its address",
                scope: .route,
                retry: .later)
        }
    }

    /// A plain http URL in which a name that only this network knows is replaced by its address: Chromecasts ask a
    /// public name server. An address that is this machine's own becomes the one that the receiver can reach.
    func reachable(_ url: String) async -> String {
        guard var components = URLComponents(string: url), components.scheme?.lowercased() == "http",
            let host = components.host?.trimmingCharacters(in: ["[", "]"])
        else { return url }
        var target = host
        if NetworkAddress(host) == nil {
            guard !host.contains(".") || host.lowercased().hasSuffix(".local"),
                let found = await HostLookup.resolve(host)
            else { return url }
            target = found
        }
        if NetworkAddress(target)?.isLoopback == true, address?.isLoopback == false,
            let local = NetworkAddress.local(towards: text)
        {
            target = local
        }
        guard target != host else { return url }
        components.host = target.contains(":") ? "[\(target)]" : target
        return components.string ?? url
    }
}
